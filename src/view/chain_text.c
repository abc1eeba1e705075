/* chain_text.c - one wait and its tree of waits, after lttngreport's notation:
 *
 *   --> Blocked in SYSCALL read(3 pipe) 2.668 ms [+0.102000 .. +0.104668 s] pipe, from producer (7)
 *       producer (7) RUNNING 0.6 ms: user 0.5 ms, write 0.1 ms
 *       --> producer (7) Blocked in SYSCALL nanosleep 2.000 ms [...] timer: sleep
 *       --- Woken up by timer hrtimer_wakeup
 *   --- Woken up in context of producer (7), in RUNNING write(4 pipe)
 *
 * Short steps are summed up in one line, unless verbose; struct ww_text_opts says which are short.
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

/* Where a thread spent a stretch of running. */
struct run_sum {
	int64_t user, kernel, irq, any, most_ns;
	const char *most; /* the call in the kernel that took most */
};

static void sum_calls(struct ww_text *t, const struct ww_link *l, uint32_t n, struct run_sum *s)
{
	struct { const char *name; int64_t ns; } part[24];
	uint32_t np = 0;

	for (uint32_t i = 0; i < n; i++) {
		const char *name = l[i].syscall ? l[i].call : !strncmp(l[i].detail, "page fault", 10) ? "page faults" : NULL;
		if (l[i].state != WW_ST_RUNNING_KERNEL || !name)
			continue;
		uint32_t k = 0;
		while (k < np && strcmp(part[k].name, name))
			k++;
		if (k == WW_ARRAY_SIZE(part))
			continue; /* many kinds: none of them stands out */
		if (k == np) {
			part[np].name = name;
			part[np++].ns = 0;
		}
		part[k].ns += l[i].dur_ns;
		if (part[k].ns > s->most_ns) {
			s->most_ns = part[k].ns;
			s->most = part[k].name;
		}
	}
}

/* A stretch of running: how long in user space and in the kernel, and in which call most. */
static void put_running(struct ww_text *t, const struct ww_link *l, uint32_t n, unsigned indent)
{
	struct run_sum s = {.most = ""};
	const char *line = "";

	for (uint32_t i = 0; i < n; i++)
		*(l[i].state == WW_ST_RUNNING_USER ? &s.user : l[i].state == WW_ST_RUNNING_KERNEL ? &s.kernel :
		  l[i].state == WW_ST_INTERRUPTED ? &s.irq : &s.any) += l[i].dur_ns;
	sum_calls(t, l, n, &s);
	int64_t sum = s.user + s.kernel + s.irq + s.any;
	const struct { const char *name; int64_t ns; } parts[] = {
		{"user", s.user}, {"kernel", s.kernel}, {"user or kernel", s.any}, {"interrupts", s.irq}};
	for (size_t i = 0; i < WW_ARRAY_SIZE(parts); i++)
		if (parts[i].ns * 50 >= sum && parts[i].ns > 0) {
			line = ww_arena_printf(&t->mem, "%s%s%s %s", line, *line ? ", " : "", parts[i].name,
					       ww_text_dur(t, parts[i].ns));
			if (parts[i].ns == s.kernel && s.most_ns * 5 >= sum)
				line = ww_arena_printf(&t->mem, "%s (%s %s)", line, ww_text_fit(t, s.most, 40),
						       ww_text_dur(t, s.most_ns));
		}
	const char *who = ww_text_fit(t, ww_name_thread_at(&t->mem, t->f, l->thread, ww_link_named_at(&l[n - 1])), 30);
	size_t left = room(t, indent + (unsigned)strlen(who) + 20);
	put_indent(t, indent);
	fprintf(t->out, "%s%s RUNNING%s %s: %s\n", ww_paint_on(t, WW_P_RUN), who, ww_paint_off(t, WW_P_RUN),
		ww_text_dur(t, sum), ww_text_fit(t, line, left));
}

static void put_other(struct ww_text *t, const struct ww_link *l, unsigned indent)
{
	enum ww_paint p = ww_paint_of(l->state);
	const char *who = ww_text_fit(t, ww_name_thread_at(&t->mem, t->f, l->thread, ww_link_named_at(l)), 30);
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
	const char *who = depth ? ww_text_fit(t, ww_name_thread_at(&t->mem, t->f, l->thread, ww_link_named_at(l)), 30) : "";
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

/* Links that are printed as one line, or as one wait with its lines. */
struct step {
	uint32_t first, n;
	int64_t ns;
};

static int longest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Of n steps: those shorter than this are not worth a line. */
static int64_t shortest_shown(struct ww_text *t, const struct step *steps, uint32_t n)
{
	if (t->o->verbose || !t->o->steps || n <= t->o->steps)
		return t->least_ns;
	int64_t *ns = ww_xmalloc(sizeof(*ns) * n), least;
	for (uint32_t i = 0; i < n; i++)
		ns[i] = steps[i].ns;
	qsort(ns, n, sizeof(*ns), longest_first);
	least = WW_MAX(t->least_ns, ns[t->o->steps - 1]);
	free(ns);
	return least;
}

/* "732 shorter steps, together 6.994 ms: running 3.1 ms, blocked 2.9 ms". */
static void put_shorter(struct ww_text *t, const struct ww_link *chain, const struct step *steps, uint32_t n,
			int64_t least, unsigned indent)
{
	static const char *const names[] = {"running", "ready", "blocked", "unknown"};
	int64_t ns[WW_ARRAY_SIZE(names)] = {0}, sum = 0;
	uint32_t count = 0;
	char parts[200] = "";

	for (uint32_t i = 0; i < n; i++) {
		if (steps[i].ns >= least)
			continue;
		count += steps[i].n;
		sum += steps[i].ns;
		const struct ww_link *l = &chain[steps[i].first];
		ns[runs(l) ? 0 : l->state == WW_ST_BLOCKED ? 2 : l->state == WW_ST_UNKNOWN ? 3 : 1] += steps[i].ns;
	}
	if (!count)
		return;
	for (size_t k = 0; k < WW_ARRAY_SIZE(names); k++)
		if (ns[k] * 10 >= sum && strlen(parts) < sizeof(parts) - 40)
			snprintf(parts + strlen(parts), 40, "%s%s %s", *parts ? ", " : ": ", names[k],
				 ww_text_dur(t, ns[k]));
	put_indent(t, indent);
	fprintf(t->out, "%s%u shorter step%s, together %s%s%s\n", ww_paint_on(t, WW_P_DIM), count,
		count == 1 ? "" : "s", ww_text_dur(t, sum), count == 1 ? "" : parts, ww_paint_off(t, WW_P_DIM));
}

static void put_chain(struct ww_text *t, const struct ww_link *wait, unsigned indent, unsigned depth)
{
	struct step *steps;
	uint32_t nsteps = 0;

	if (!wait->nchain || (is_plain(wait) && !t->o->verbose))
		return;
	if (t->o->depth && depth > t->o->depth) {
		put_indent(t, indent);
		fputs("... (deeper: --depth)\n", t->out);
		return;
	}
	steps = ww_xmalloc(sizeof(*steps) * wait->nchain);
	for (uint32_t i = 0; i < wait->nchain; i += steps[nsteps++].n) {
		const struct ww_link *l = &wait->chain[i];
		struct step *s = &steps[nsteps];
		*s = (struct step){i, 1, l->dur_ns};
		/* computing, calls and interrupts in turn are one stretch of running */
		while (runs(l) && i + s->n < wait->nchain && l[s->n].thread == l->thread && runs(&l[s->n]))
			s->ns += l[s->n++].dur_ns;
	}
	int64_t least = shortest_shown(t, steps, nsteps);
	for (uint32_t i = 0; i < nsteps; i++) {
		const struct ww_link *l = &wait->chain[steps[i].first];
		if (steps[i].ns < least)
			continue;
		if (runs(l))
			put_running(t, l, steps[i].n, indent);
		else if (l->state == WW_ST_BLOCKED && l->thread != WW_NONE)
			put_wait(t, l, indent, depth);
		else
			put_other(t, l, indent);
	}
	put_shorter(t, wait->chain, steps, nsteps, least, indent);
	free(steps);
}

void ww_text_wait(struct ww_text *t, const struct ww_link *wait, unsigned indent, int64_t least_ns)
{
	t->least_ns = t->o->verbose ? 0 : WW_MAX(least_ns, wait->dur_ns * (int64_t)t->o->permille / 1000);
	put_wait(t, wait, indent, 0);
}
