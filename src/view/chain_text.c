/* chain_text.c - one wait and its tree of waits, after lttngreport's notation:
 *
 *   --> Blocked in SYSCALL read(3 pipe) 2.668 ms [+0.102000 .. +0.104668 s] pipe, from producer (7)
 *       producer (7) RUNNING 0.6 ms: user 0.5 ms, write 0.1 ms
 *       --> producer (7) Blocked in SYSCALL nanosleep 2.000 ms [...] timer: sleep
 *       --- Woken up by timer hrtimer_wakeup
 *   --- Woken up in context of producer (7), in RUNNING write(4 pipe)
 *
 * Short steps are summed up, unless verbose: a line for each kind that is long in all, one for the rest; struct ww_text_opts says which are short.
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
		if (l[i].state != WW_ST_RUNNING_KERNEL)
			continue;
		struct ww_link_words w;
		ww_link_words(&t->mem, t->f, &l[i], &w);
		const char *name = w.syscall ? w.call : !strncmp(w.detail, "page fault", 10) ? "page faults" : NULL;
		if (!name)
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
	struct ww_link_words w;

	ww_link_words(&t->mem, t->f, l, &w);
	if (l->state == WW_ST_BLOCKED) /* a device, a timer, the network */
		what = l->cause == WW_CA_UNKNOWN && *ww_link_said(l).brief ? ww_link_said(l).brief : ww_cause_name(l->cause);

	put_indent(t, indent);
	fprintf(t->out, "%s%s%s%s%s %s%s%s\n", ww_paint_on(t, p), who, *who ? " " : "", what, ww_paint_off(t, p),
		ww_text_dur(t, l->dur_ns), *w.detail ? ": " : "",
		ww_text_fit(t, w.detail, room(t, indent + 14 + (unsigned)(strlen(who) + strlen(what)))));
}

static void put_chain(struct ww_text *t, const struct ww_link *wait, unsigned indent, unsigned depth);

/* The detail without the file's name when the call has just named it. */
static const char *rest_of_detail(struct ww_text *t, const struct ww_link *l, const struct ww_link_words *w)
{
	const char *file = l->row != WW_NONE ? ww_name_file(t->f, ww_state_file(t->f, l->row)) : "", *d = w->detail;

	if (*file && w->call && strstr(w->call, file) && !strncmp(d, file, strlen(file))) {
		d += strlen(file);
		d += strspn(d, ", ");
	}
	if (w->call && strstr(w->call, d)) /* nanosleep: "sleep" */
		d = "";
	return ww_text_fit(t, d, SIZE_MAX / 2);
}

static void put_wait(struct ww_text *t, const struct ww_link *l, unsigned indent, unsigned depth)
{
	struct ww_link_words w;
	ww_link_words(&t->mem, t->f, l, &w);
	const char *who = depth ? ww_text_fit(t, ww_name_thread_at(&t->mem, t->f, l->thread, ww_link_named_at(l)), 30) : "";
	const char *sc = w.call ? ww_text_fit(t, w.call, 50) : NULL;
	const char *cause = l->cause == WW_CA_NONE ? "unknown" : ww_cause_name(l->cause);
	const char *in = sc ? ww_arena_printf(&t->mem, "SYSCALL %s", sc)
			    : l->cause == WW_CA_FAULT || (l->row != WW_NONE && ww_state_fault(t->f, l->row) != WW_NONE)
				      ? "PAGE FAULT" : "KERNEL";
	const char *head = ww_arena_printf(&t->mem, "--> %s%sBlocked in %s", who, *who ? " " : "", in);
	const char *times = ww_arena_printf(&t->mem, " %s [%s .. %s s] ", ww_text_dur(t, l->dur_ns),
					    ww_text_at(t, l->start_ts_ns), ww_text_at(t, l->start_ts_ns + l->dur_ns));
	const char *detail = rest_of_detail(t, l, &w);
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
	struct ww_woken by = w.woken_by;
	if (by.thread == l->thread && by.kind != WW_WK_THREAD)
		by.thread = WW_NONE; /* its own request, its own timer: no news */
	const char *woken = ww_text_woken(t, &by);
	put_indent(t, indent);
	if (*woken)
		fprintf(t->out, "--- Woken up %s\n", ww_text_fit(t, woken, room(t, indent + 14)));
	else
		fprintf(t->out, "--- %s\n", l->row != WW_NONE && ww_state_wakeup(t->f, l->row) != WW_NONE ?
			"Woken up; the trace does not show by whom" :
			strstr(w.detail, WW_NAME_OPEN) ? "Not over" : "No wakeup seen");
}

/* A chain of one link which only repeats how the wait ended: the line "Woken up" says it. */
static bool is_plain(const struct ww_facts *f, const struct ww_link *wait)
{
	const uint32_t w = ww_state_wakeup(f, wait->row);

	if (wait->nchain != 1 || wait->chain[0].thread != WW_NONE)
		return false;
	return (w < f->wakeup.n && f->wakeup.kind[w] == WW_WK_TIMER) || wait->chain[0].state == WW_ST_UNKNOWN;
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

static void put_step(struct ww_text *t, const struct ww_link *chain, const struct step *s, unsigned indent, unsigned depth)
{
	const struct ww_link *l = &chain[s->first];

	if (runs(l))
		put_running(t, l, s->n, indent);
	else if (l->state == WW_ST_BLOCKED && l->thread != WW_NONE)
		put_wait(t, l, indent, depth);
	else
		put_other(t, l, indent);
}

/* Short steps of one kind: of one thread, in one state, in one call. */
struct step_kind {
	const struct ww_link *example; /* of its longest step */
	const struct step *longest;
	uint32_t n;
	int64_t ns;
};

#define STEP_KINDS 24 /* steps of more are summed up as they are */

/* "" for what is in none. */
static const char *call_of(const struct ww_facts *f, const struct ww_link *l)
{
	const char *name = l->row != WW_NONE && !l->again ? ww_name_syscall_only(f, f->state.syscall[l->row]) : NULL;

	return name ? name : "";
}

static bool same_steps(const struct ww_facts *f, const struct ww_link *a, const struct ww_link *b)
{
	if (a->thread != b->thread || runs(a) != runs(b))
		return false;
	return runs(a) || (a->state == b->state && a->cause == b->cause &&
			   (a->state != WW_ST_BLOCKED || !strcmp(call_of(f, a), call_of(f, b))));
}

static int most_steps_first(const void *a, const void *b)
{
	const struct step_kind *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static uint32_t kinds_of(const struct ww_facts *f, const struct ww_link *chain, const struct step *steps, uint32_t n,
			 int64_t least, struct step_kind *kinds)
{
	uint32_t nkinds = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct ww_link *l = &chain[steps[i].first];
		uint32_t k = 0;
		if (steps[i].ns >= least)
			continue;
		while (k < nkinds && !same_steps(f, kinds[k].example, l))
			k++;
		if (k == STEP_KINDS)
			continue;
		if (k == nkinds)
			kinds[nkinds++] = (struct step_kind){.example = l, .longest = &steps[i]};
		if (steps[i].ns > kinds[k].longest->ns) {
			kinds[k].longest = &steps[i];
			kinds[k].example = l;
		}
		kinds[k].n++;
		kinds[k].ns += steps[i].ns;
	}
	if (nkinds)
		qsort(kinds, nkinds, sizeof(*kinds), most_steps_first);
	return nkinds;
}

/* "writer (7) blocked: futex in futex 130.4 ms: 66 times, longest 2.100 ms". */
static void put_step_kind(struct ww_text *t, const struct step_kind *k, unsigned indent)
{
	const struct ww_link *l = k->example;
	enum ww_paint p = runs(l) ? WW_P_RUN : ww_paint_of(l->state);
	const char *who = ww_text_fit(t, ww_name_thread_at(&t->mem, t->f, l->thread, ww_link_named_at(l)), 30);
	const char *call = l->state == WW_ST_BLOCKED ? call_of(t->f, l) : "";

	put_indent(t, indent);
	fprintf(t->out, "%s%s%s%s%s%s%s %s: %u times, longest %s\n", ww_paint_on(t, p), who, *who ? " " : "",
		runs(l) ? "RUNNING" : ww_text_state(t, l->state, l->cause), *call ? " in " : "", call,
		ww_paint_off(t, p), ww_text_dur(t, k->ns), k->n, ww_text_dur(t, k->longest->ns));
}

/* "732 shorter steps, together 6.994 ms: running 3.1 ms, blocked 2.9 ms". */
static void put_rest(struct ww_text *t, const struct step_kind *kinds, uint32_t nkinds, uint32_t count, int64_t sum,
		     unsigned indent)
{
	static const char *const names[] = {"running", "ready", "blocked", "unknown"};
	int64_t ns[WW_ARRAY_SIZE(names)] = {0};
	const char *parts = "";

	for (uint32_t k = 0; k < nkinds; k++) {
		const struct ww_link *l = kinds[k].example;
		ns[runs(l) ? 0 : l->state == WW_ST_BLOCKED ? 2 : l->state == WW_ST_UNKNOWN ? 3 : 1] += kinds[k].ns;
	}
	for (size_t k = 0; k < WW_ARRAY_SIZE(names); k++)
		if (ns[k] * 10 >= sum)
			parts = ww_arena_printf(&t->mem, "%s%s%s %s", parts, *parts ? ", " : ": ", names[k], ww_text_dur(t, ns[k]));
	put_indent(t, indent);
	fprintf(t->out, "%s%u shorter steps, together %s%s%s\n", ww_paint_on(t, WW_P_DIM), count, ww_text_dur(t, sum), parts,
		ww_paint_off(t, WW_P_DIM));
}

/* Steps too short for a line of their own: many of one kind may be what the wait was for. A single one is shown. */
static void put_shorter(struct ww_text *t, const struct ww_link *chain, const struct step *steps, uint32_t n,
			int64_t least, unsigned indent, unsigned depth)
{
	struct step_kind kinds[STEP_KINDS];
	uint32_t nkinds = kinds_of(t->f, chain, steps, n, least, kinds), first = 0, count = 0;
	uint32_t most = t->o->steps ? t->o->steps : STEP_KINDS;
	int64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		count += steps[i].ns < least;
		sum += steps[i].ns < least ? steps[i].ns : 0;
	}
	for (; first < nkinds && first < most && (kinds[first].ns >= t->least_ns || count == 1); first++) {
		if (kinds[first].n == 1)
			put_step(t, chain, kinds[first].longest, indent, depth);
		else
			put_step_kind(t, &kinds[first], indent);
		count -= kinds[first].n;
		sum -= kinds[first].ns;
	}
	if (count == 1 && first < nkinds)
		put_step(t, chain, kinds[first].longest, indent, depth);
	else if (count)
		put_rest(t, &kinds[first], nkinds - first, count, sum, indent);
}

static void put_chain(struct ww_text *t, const struct ww_link *wait, unsigned indent, unsigned depth)
{
	struct step *steps;
	uint32_t nsteps = 0;

	if (!wait->nchain || (is_plain(t->f, wait) && !t->o->verbose))
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
		if (steps[i].ns >= least)
			put_step(t, wait->chain, &steps[i], indent, depth);
	}
	put_shorter(t, wait->chain, steps, nsteps, least, indent, depth);
	free(steps);
}

void ww_text_wait(struct ww_text *t, const struct ww_link *wait, unsigned indent, int64_t least_ns)
{
	/* Whatever is short in the whole, of this wait its tenths are to be seen. */
	least_ns = WW_MIN(WW_MAX(least_ns, wait->dur_ns * (int64_t)t->o->permille / 1000),
			  wait->dur_ns * (int64_t)WW_MAX(t->o->permille, 100u) / 1000);
	t->least_ns = t->o->verbose ? 0 : least_ns;
	put_wait(t, wait, indent, 0);
}
