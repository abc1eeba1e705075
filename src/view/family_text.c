/* family_text.c - a report's table of the target's other threads and children.
 *
 *   thread                        wall   running     ready   blocked  most of it
 *   true (2000 of them)        13.21 s   3.301 s   9.903 s      0 ns  preempted; the longest took 235.7 ms
 *   sh (7)                    137.8 ms  2.356 ms  146.7 us  135.3 ms  child, git-upload-pack (9)
 *
 * Few of them have a line each. A build or a script starts thousands, nearly all alike: many of one name are one line.
 */
#include "analysis/names.h"
#include "view/text.h"

#define FAMILY_SHOWN 12u /* lines */
#define ALIKE 4u         /* so many of one name are one line, when there are more than those lines */

/* Threads that are told in one line. */
struct line {
	const struct ww_thread_report *longest;
	const char *comm;
	uint32_t n;
	int64_t wall_ns, by_group_ns[WW_TG_N];
	int64_t (*by_cause_ns)[WW_CA_N]; /* [WW_ST_N]; only of several */
};

/* The largest row in a few words: "user", "pipe, from bash (20865)", "preempted, by cc1 (7)". */
static const char *most_of(struct ww_text *t, const struct ww_thread_report *r)
{
	if (!r->nrows)
		return "";
	const struct ww_breakdown_row *b = &r->rows[0];
	const char *state = ww_text_state(t, b->state, b->cause), *what = strchr(state, ':'), *d = b->detail;

	what = what ? what + 2 : state;
	if (!strncmp(d, what, strlen(what))) {
		d += strlen(what); /* "pipe" is both the cause and how a nameless one is called */
		d += strspn(d, ", ");
	}
	return ww_arena_printf(&t->mem, "%s%s%s", what, *d ? ", " : "", d);
}

/* The same of several: what they have in common. */
static const char *most_of_all(struct ww_text *t, const struct line *l)
{
	uint32_t state = 0, cause = 0;

	for (uint32_t s = 0; s < WW_ST_N; s++)
		for (uint32_t c = 0; c < WW_CA_N; c++)
			if (l->by_cause_ns[s][c] > l->by_cause_ns[state][cause])
				state = s, cause = c;
	const char *words = ww_text_state(t, (enum ww_thread_state)state, (enum ww_cause)cause), *what = strchr(words, ':');
	return ww_arena_printf(&t->mem, "%s; the longest took %s", what ? what + 2 : words, ww_text_dur(t, l->longest->wall_ns));
}

static void line_add(struct ww_text *t, struct line *l, const struct ww_thread_report *r)
{
	if (!l->n++ || r->wall_ns > l->longest->wall_ns)
		l->longest = r;
	l->wall_ns += r->wall_ns;
	for (uint32_t s = 0; s < WW_ST_N; s++)
		l->by_group_ns[ww_text_group((enum ww_thread_state)s)] += r->by_state_ns[s];
	if (!l->by_cause_ns) {
		l->by_cause_ns = ww_arena_alloc(&t->mem, sizeof(*l->by_cause_ns) * WW_ST_N);
		memset(l->by_cause_ns, 0, sizeof(*l->by_cause_ns) * WW_ST_N);
	}
	for (uint32_t i = 0; i < r->nrows; i++)
		l->by_cause_ns[r->rows[i].state][r->rows[i].cause] += r->rows[i].ns;
}

static int by_comm(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = strcmp(x->comm, y->comm);

	return c ? c : x->longest < y->longest ? -1 : x->longest > y->longest;
}

static int most_time_first(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? 1 : -1;
	return x->longest->from_ts_ns < y->longest->from_ts_ns ? -1 : x->longest->from_ts_ns > y->longest->from_ts_ns;
}

/* Lines of one thread each, n; those of one name become one where they are many. Returns how many are left. */
static uint32_t merge(struct ww_text *t, struct line *lines, uint32_t n)
{
	uint32_t left = 0;

	qsort(lines, n, sizeof(*lines), by_comm);
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && !strcmp(lines[k].comm, lines[i].comm); k++)
			;
		if (k - i < ALIKE) {
			memmove(&lines[left], &lines[i], sizeof(*lines) * (k - i));
			left += k - i;
			continue;
		}
		struct line all = {.comm = lines[i].comm};
		for (uint32_t m = i; m < k; m++)
			line_add(t, &all, lines[m].longest);
		lines[left++] = all;
	}
	return left;
}

static void put_line(struct ww_text *t, const struct line *l)
{
	const char *who = l->n == 1 ? ww_name_thread(&t->mem, t->f, l->longest->thread)
				    : ww_arena_printf(&t->mem, "%s (%u of them)", l->comm, l->n);
	const char *most = l->n == 1 ? most_of(t, l->longest) : most_of_all(t, l);

	fprintf(t->out, "  %-24s %9s %9s %9s %9s  %s\n", ww_text_fit(t, who, 24), ww_text_dur(t, l->wall_ns),
		ww_text_dur(t, l->by_group_ns[WW_TG_RUNNING]), ww_text_dur(t, l->by_group_ns[WW_TG_READY]),
		ww_text_dur(t, l->by_group_ns[WW_TG_BLOCKED]),
		ww_text_fit(t, most, t->o->width > 90 ? t->o->width - 72 : 20));
}

void ww_text_family(struct ww_text *t, const struct ww_report *r)
{
	struct line *lines = WW_ARENA_ARRAY(&t->mem, struct line, r->nfamily + 1);
	const bool all = t->o->verbose || t->o->family;
	uint32_t n = r->nfamily;

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct ww_thread_report *c = &r->family[i];
		lines[i] = (struct line){.longest = c, .comm = ww_name_comm(t->f, c->thread), .n = 1, .wall_ns = c->wall_ns};
		for (uint32_t s = 0; s < WW_ST_N; s++)
			lines[i].by_group_ns[ww_text_group((enum ww_thread_state)s)] += c->by_state_ns[s];
	}
	if (n > FAMILY_SHOWN && !all)
		n = merge(t, lines, n);
	qsort(lines, n, sizeof(*lines), most_time_first);
	ww_text_title(t, "Its other threads and children, the longest lived first");
	fprintf(t->out, "  %-24s %9s %9s %9s %9s  %s\n", "thread", "wall", "running", "ready", "blocked", "most of it");
	for (uint32_t i = 0; i < n; i++) {
		if (i == FAMILY_SHOWN && !all) {
			uint32_t more = 0;
			for (uint32_t k = i; k < n; k++)
				more += lines[k].n;
			fprintf(t->out, "  and %u more (-v, or --threads for each in full)\n", more);
			break;
		}
		put_line(t, &lines[i]);
	}
}
