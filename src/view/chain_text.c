/* chain_text.c - one wait and its tree of waits, after lttngreport's notation:
 *
 *   --> Blocked in SYSCALL read(3 pipe) 2.668 ms [+0.102000 .. +0.104668 s] pipe, from producer (7)
 *       producer (7) RUNNING 0.6 ms: user 0.5 ms, write 0.1 ms
 *       --> producer (7) Blocked in SYSCALL nanosleep 2.000 ms [...] timer: sleep
 *       --- Woken up by timer hrtimer_wakeup
 *   --- Woken up in context of producer (7), in RUNNING write(4 pipe)
 *
 * Steps shorter than 1 % of the wait are summed up in one line, unless verbose.
 */
#include "analysis/names.h"
#include "view/text.h"

static void put_indent(struct ww_text *t, unsigned indent)
{
	fprintf(t->out, "%*s", (int)WW_MIN(indent, 60u), "");
}

static size_t room(const struct ww_text *t, unsigned used)
{
	return t->o->width > used + 20 ? t->o->width - used : 20;
}

static bool runs(const struct ww_link *l)
{
	return l->state == WW_ST_RUNNING_USER || l->state == WW_ST_RUNNING_KERNEL ||
	       l->state == WW_ST_RUNNING || l->state == WW_ST_INTERRUPTED;
}

/* A stretch of running of one thread: how long in user space, and in which calls most. */
static void put_running(struct ww_text *t, const struct ww_link *l, uint32_t n, unsigned indent)
{
	struct { const char *name; int64_t ns; } part[32];
	int64_t sum = 0;
	uint32_t np = 0;
	char line[512] = "";

	for (uint32_t i = 0; i < n; i++) {
		const char *name = l[i].state == WW_ST_RUNNING_USER ? "user" : *l[i].detail ? l[i].detail :
				   l[i].state == WW_ST_INTERRUPTED ? "interrupts" :
				   l[i].state == WW_ST_RUNNING ? "user or kernel" : "kernel";
		uint32_t k = 0;
		while (k < np && strcmp(part[k].name, name))
			k++;
		if (k == WW_ARRAY_SIZE(part))
			k = (uint32_t)WW_ARRAY_SIZE(part) - 1; /* the last one takes the rest */
		else if (k == np) {
			part[np].name = np == WW_ARRAY_SIZE(part) - 1 ? "others" : name;
			part[np++].ns = 0;
		}
		part[k].ns += l[i].dur_ns;
		sum += l[i].dur_ns;
	}
	const char *who = ww_text_fit(t, ww_name_thread(&t->mem, t->f, l->thread), 30);
	size_t left = room(t, indent + (unsigned)strlen(who) + 22);
	for (uint32_t shown = 0; shown < 3; shown++) {
		uint32_t best = 0;
		for (uint32_t k = 1; k < np; k++)
			if (part[k].ns > part[best].ns)
				best = k;
		const char *p = ww_arena_printf(&t->mem, "%s%s %s", shown ? ", " : "", ww_text_fit(t, part[best].name, 40),
						ww_text_dur(t, part[best].ns));
		if (part[best].ns * 50 < sum || part[best].ns <= 0 || (shown && strlen(line) + strlen(p) > left) ||
		    strlen(line) + strlen(p) >= sizeof(line))
			break;
		strcat(line, p);
		part[best].ns = 0;
	}
	put_indent(t, indent);
	fprintf(t->out, "%s%s RUNNING%s %s: %s\n", ww_paint_on(t, WW_P_RUN), who, ww_paint_off(t, WW_P_RUN),
		ww_text_dur(t, sum), line);
}

static void put_other(struct ww_text *t, const struct ww_link *l, unsigned indent)
{
	enum ww_paint p = ww_paint_of(l->state);
	const char *who = ww_text_fit(t, ww_name_thread(&t->mem, t->f, l->thread), 30);
	const char *what = ww_text_state(t, l->state, l->cause);

	if (l->state == WW_ST_BLOCKED) /* a device, a timer, the network */
		what = l->cause == WW_CA_UNKNOWN && *l->brief ? l->brief : ww_cause_name(l->cause);

	put_indent(t, indent);
	fprintf(t->out, "%s%s%s%s%s %s%s%s\n", ww_paint_on(t, p), who, *who ? " " : "", what, ww_paint_off(t, p),
		ww_text_dur(t, l->dur_ns), *l->detail ? ": " : "",
		ww_text_fit(t, l->detail, room(t, indent + 14 + (unsigned)(strlen(who) + strlen(what)))));
}

static void put_chain(struct ww_text *t, const struct ww_link *wait, unsigned indent, unsigned depth);

/* The detail without the file's name when the call has just named it. */
static const char *rest_of_detail(struct ww_text *t, const struct ww_link *l)
{
	const char *file = l->row != WW_NONE ? ww_name_file(t->f, t->f->state.file[l->row]) : "", *d = l->detail;

	if (*file && l->call && strstr(l->call, file) && !strncmp(d, file, strlen(file))) {
		d += strlen(file);
		d += strspn(d, ", ");
	}
	if (l->call && strstr(l->call, d)) /* nanosleep: "sleep" */
		d = "";
	return ww_text_fit(t, d, SIZE_MAX / 2);
}

static void put_wait(struct ww_text *t, const struct ww_link *l, unsigned indent, unsigned depth)
{
	const char *who = depth ? ww_text_fit(t, ww_name_thread(&t->mem, t->f, l->thread), 30) : "";
	const char *sc = l->call ? ww_text_fit(t, l->call, 50) : NULL;
	const char *cause = l->cause == WW_CA_NONE ? "unknown" : ww_cause_name(l->cause);
	const char *in = sc ? ww_arena_printf(&t->mem, "SYSCALL %s", sc)
			    : l->cause == WW_CA_FAULT || (l->row != WW_NONE && t->f->state.fault[l->row] != WW_NONE)
				      ? "PAGE FAULT" : "KERNEL";
	const char *head = ww_arena_printf(&t->mem, "--> %s%sBlocked in %s", who, *who ? " " : "", in);
	const char *times = ww_arena_printf(&t->mem, " %s [%s .. %s s] ", ww_text_dur(t, l->dur_ns),
					    ww_text_at(t, l->start_ts_ns), ww_text_at(t, l->start_ts_ns + l->dur_ns));
	const char *detail = rest_of_detail(t, l);
	const char *sure = l->certainty != WW_SURE ? " (uncertain: events lost)" : "";
	unsigned used = indent + (unsigned)(strlen(head) + strlen(times) + strlen(cause) + strlen(sure)) + 2;

	put_indent(t, indent);
	fprintf(t->out, "%s%s%s%s%s%s", ww_paint_on(t, WW_P_WAIT), head, ww_paint_off(t, WW_P_WAIT), times, cause,
		sure);
	if (used + strlen(detail) <= t->o->width || !*detail) {
		fprintf(t->out, "%s%s\n", *detail ? ": " : "", detail);
	} else {
		fputc('\n', t->out);
		put_indent(t, indent + 8);
		fprintf(t->out, "%s\n", ww_text_fit(t, detail, room(t, indent + 8)));
	}
	put_chain(t, l, indent + 4, depth + 1);
	struct ww_woken by = l->woken_by;
	if (by.thread == l->thread && by.kind != WW_WK_THREAD)
		by.thread = WW_NONE; /* its own request, its own timer: no news */
	const char *woken = ww_text_woken(t, &by);
	put_indent(t, indent);
	if (*woken)
		fprintf(t->out, "--- Woken up %s\n", ww_text_fit(t, woken, room(t, indent + 14)));
	else
		fprintf(t->out, "--- %s\n", l->row != WW_NONE && t->f->state.wakeup[l->row] != WW_NONE ?
			"Woken up; the trace does not show by whom" : "No wakeup seen");
}

/* A chain of one link which only repeats how the wait ended: the line "Woken up" says it. */
static bool is_plain(const struct ww_link *wait)
{
	if (wait->nchain != 1 || wait->chain[0].thread != WW_NONE)
		return false;
	return wait->woken_by.kind == WW_WK_TIMER || wait->chain[0].state == WW_ST_UNKNOWN;
}

static void put_chain(struct ww_text *t, const struct ww_link *wait, unsigned indent, unsigned depth)
{
	int64_t least = t->o->verbose ? 0 : wait->dur_ns / 100, short_ns = 0;
	uint32_t nshort = 0;

	if (is_plain(wait) && !t->o->verbose)
		return;
	if (t->o->depth && depth > t->o->depth && wait->nchain) {
		put_indent(t, indent);
		fputs("... (deeper: --depth)\n", t->out);
		return;
	}
	for (uint32_t i = 0; i < wait->nchain;) {
		const struct ww_link *l = &wait->chain[i];
		uint32_t n = 1;
		int64_t ns = l->dur_ns;
		/* running goes on over tiny steps in between (a preemption, an interrupt) */
		while (runs(l) && i + n < wait->nchain && l[n].thread == l->thread && runs(&l[n]))
			ns += l[n++].dur_ns;
		i += n;
		if (ns < least) {
			nshort += n;
			short_ns += ns;
			continue;
		}
		if (runs(l))
			put_running(t, l, n, indent);
		else if (l->state == WW_ST_BLOCKED && l->thread != WW_NONE)
			put_wait(t, l, indent, depth);
		else
			put_other(t, l, indent);
	}
	if (nshort) {
		put_indent(t, indent);
		fprintf(t->out, "%s%u shorter step%s, together %s%s\n", ww_paint_on(t, WW_P_DIM), nshort,
			nshort == 1 ? "" : "s", ww_text_dur(t, short_ns), ww_paint_off(t, WW_P_DIM));
	}
}

void ww_text_wait(struct ww_text *t, const struct ww_link *wait, unsigned indent)
{
	put_wait(t, wait, indent, 0);
}
