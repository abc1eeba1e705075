/* path_bars.c - who the critical path was on: a line each with the time, the share and a bar over the time.
 *
 * A bar's cell is a slice of the time; its letter is what that one did longest in it while the path was on
 * him, a space when the path was elsewhere for the whole slice.
 */
#include "analysis/names.h"
#include "view/path_bars.h"

#define CELLS 44 /* at most: fewer where lines are short */
#define LINES 20
/* time, share, the bar's frame: with the bar what comes before the name */
#define BEFORE_NAME (2 + 10 + 8 + 2 + 2 + 1)
#define NAME 31 /* columns that are left for it */

static const char letters[WW_PC_N] = {' ', '#', '=', 'D', 'T', 'N', 'w', '?'};

struct line {
	uint32_t host, thread;
	const char *name;
	int64_t ns;
	uint32_t depth; /* of its first visit */
	int64_t cell[CELLS][WW_PC_N];
};

struct lines {
	struct line v[LINES + 1]; /* the last: all others */
	uint32_t n;
	bool others;
};

const uint8_t ww_path_class_of_state[WW_ST_N] = {
	[WW_ST_RUNNING] = WW_PC_RUN,      [WW_ST_RUNNING_USER] = WW_PC_RUN,  [WW_ST_RUNNING_KERNEL] = WW_PC_RUN,
	[WW_ST_INTERRUPTED] = WW_PC_RUN,  [WW_ST_PREEMPTED] = WW_PC_READY,   [WW_ST_RUNQUEUE] = WW_PC_READY,
	[WW_ST_THROTTLED] = WW_PC_READY,  [WW_ST_STOLEN] = WW_PC_READY,      [WW_ST_STOPPED] = WW_PC_WAIT,
	[WW_ST_UNKNOWN] = WW_PC_UNKNOWN,  [WW_ST_BLOCKED] = WW_PC_NONE,
};

enum ww_path_class ww_path_class_of_cause(uint8_t cause)
{
	switch (cause) {
	case WW_CA_DISK:
	case WW_CA_FAULT:
		return WW_PC_DISK;
	case WW_CA_TIMER:
		return WW_PC_TIMER;
	case WW_CA_TCP:
	case WW_CA_UDP:
		return WW_PC_NET;
	case WW_CA_UNKNOWN:
	case WW_CA_NONE:
		return WW_PC_UNKNOWN;
	default:
		return WW_PC_WAIT;
	}
}

char ww_path_class_letter(enum ww_path_class c)
{
	return letters[c];
}

/* The threads with the largest shares, and what is no thread's, host by host. */
static void choose_lines(struct ww_text *t, const struct ww_path *p, const struct ww_path_sum *sum, struct lines *l)
{
	uint32_t first = sum->first[WW_SH_THREAD], n = sum->first[WW_SH_THREAD + 1] - first;
	uint32_t most = WW_MIN(t->o->top ? t->o->top : LINES, (uint32_t)LINES);

	l->others = n > most;
	n = WW_MIN(n, most);
	for (uint32_t h = 0; h < p->set->nhosts; h++)
		for (uint32_t i = first; i < first + n; i++)
			if (sum->shares[i].host == h) {
				struct line *k = &l->v[l->n++];
				k->host = h;
				k->thread = sum->shares[i].thread;
				k->name = sum->shares[i].name;
				k->depth = UINT32_MAX;
			}
}

static struct line *find_line(struct lines *l, const struct ww_segment *s)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct line *at = &l->v[i];

		if (at->host != s->host || at->thread != s->thread)
			continue;
		if (s->thread == WW_NONE && strcmp(at->name, s->thing == WW_WK_PACKET ? "network" :
							     s->thing == WW_WK_TIMER ? "timer" : "unknown"))
			continue;
		return &l->v[i];
	}
	return &l->v[LINES];
}

/* Where the cells begin; a segment's cells are found by going on from the one before, as time goes on. */
struct axis {
	int64_t at[CELLS + 1];
	int cells, now;
};

static struct axis make_axis(const struct ww_path *p, int cells)
{
	struct axis x = {.cells = cells};

	for (int i = 0; i <= cells; i++)
		x.at[i] = p->from_ns + (int64_t)((__int128)(p->to_ns - p->from_ns) * i / cells);
	return x;
}

static void add_segment(const struct ww_path *p, struct axis *x, struct line *l, const struct ww_segment *s)
{
	int64_t to = s->start_ns + s->dur_ns;
	enum ww_path_class c = ww_path_class_of(s);

	l->ns += s->dur_ns;
	l->depth = WW_MIN(l->depth, p->visits[s->visit].depth);
	while (x->now < x->cells - 1 && x->at[x->now + 1] <= s->start_ns)
		x->now++;
	for (int i = x->now; i < x->cells && x->at[i] < to; i++)
		l->cell[i][c] += WW_MAX(0, WW_MIN(x->at[i + 1], to) - WW_MAX(x->at[i], s->start_ns));
}

static void put_bar(struct ww_text *t, const struct line *l, int cells)
{
	static const enum ww_paint paints[WW_PC_N] = {
		[WW_PC_RUN] = WW_P_RUN,  [WW_PC_READY] = WW_P_QUEUE, [WW_PC_DISK] = WW_P_WAIT, [WW_PC_TIMER] = WW_P_WAIT,
		[WW_PC_NET] = WW_P_WAIT, [WW_PC_WAIT] = WW_P_WAIT,   [WW_PC_UNKNOWN] = WW_P_UNKNOWN};
	enum ww_paint on = WW_P_NONE;

	for (int i = 0; i < cells; i++) {
		uint32_t best = WW_PC_NONE;

		for (uint32_t c = 1; c < WW_PC_N; c++)
			if (l->cell[i][c] > l->cell[i][best])
				best = c;
		if (paints[best] != on) {
			fputs(ww_paint_off(t, on), t->out);
			fputs(ww_paint_on(t, paints[best]), t->out);
			on = paints[best];
		}
		fputc(letters[best], t->out);
	}
	fputs(ww_paint_off(t, on), t->out);
}

static void put_line(struct ww_text *t, const struct ww_path *p, const struct line *l, int cells, const char *name)
{
	unsigned indent = t->o->width < 60 || l->depth == UINT32_MAX ? 0 : 2 * WW_MIN(l->depth, 4u);
	unsigned at = BEFORE_NAME + (unsigned)cells - 1;

	fprintf(t->out, "  %10s %5.1f %%  |", ww_text_dur(t, l->ns), 100.0 * (double)l->ns / (double)(p->to_ns - p->from_ns));
	put_bar(t, l, cells);
	fputc('|', t->out);
	/* the blanks before the name belong to it: it may stand on the next line */
	ww_text_wrap(t, at, at + 3 + indent, ww_arena_printf(&t->mem, "%*s%s", (int)indent + 1, "", name), WW_P_NONE);
}

void ww_path_bars(struct ww_text *t, const struct ww_path *p, const struct ww_path_sum *sum)
{
	struct lines *l = ww_xcalloc(1, sizeof(*l));
	/* where a name has no room beside a bar, the bar gives way */
	const int cells = (int)WW_MAX(WW_MIN(t->o->width, BEFORE_NAME + CELLS + NAME), BEFORE_NAME + 12 + NAME) - BEFORE_NAME - NAME;
	struct axis x = make_axis(p, cells);
	struct line *at = NULL;

	choose_lines(t, p, sum, l);
	for (uint32_t i = 0; i < p->nsegments; i++) {
		const struct ww_segment *s = &p->segments[i];

		if (!at || s->thread == WW_NONE || s->thread != s[-1].thread || s->host != s[-1].host)
			at = find_line(l, s);
		add_segment(p, &x, at, s);
	}
	fprintf(t->out, "\n%sWhere the path was%s\n", ww_paint_on(t, WW_P_BOLD), ww_paint_off(t, WW_P_BOLD));
	fputs("        time   share   ", t->out);
	ww_text_wrap(t, 23, 23, "# running  = ready  D disk  T timer  N network  w other wait  ? unknown", WW_P_NONE);
	for (uint32_t i = 0; i < l->n; i++) {
		if (p->set->nhosts > 1 && (!i || l->v[i].host != l->v[i - 1].host))
			ww_text_wrap(t, 0, 4, ww_arena_printf(&t->mem, "  host %s", p->set->who[l->v[i].host].label), WW_P_NONE);
		put_line(t, p, &l->v[i], cells, l->v[i].name);
	}
	if (l->others)
		put_line(t, p, &l->v[LINES], cells, ww_arena_printf(&t->mem, "%u others",
							     sum->first[WW_SH_THREAD + 1] - sum->first[WW_SH_THREAD] - l->n));
	free(l);
}
