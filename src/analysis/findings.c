/* findings.c - in one sentence each, what is worth looking at; only what the facts say. */
#include "analysis/names.h"
#include "analysis/report.h"
#include "base/units.h"
#include "base/vec.h"

#define WORTH_PERCENT 5.0
#define MAX_FINDINGS 6

struct findings {
	struct ww_arena *mem;
	const struct ww_report *r;
	WW_VEC(struct ww_finding) list;
};

static double percent(const struct findings *s, int64_t ns)
{
	return s->r->main.wall_ns ? 100.0 * (double)ns / (double)s->r->main.wall_ns : 0;
}

/* "62 % of the wall time (47.2 ms)". */
static const char *share(struct findings *s, int64_t ns)
{
	char dur[24];

	return ww_arena_printf(s->mem, "%.0f %% of the wall time (%s)", percent(s, ns),
			       ww_dur_format(ns, dur, sizeof(dur)));
}

static void add(struct findings *s, int64_t ns, const char *text)
{
	*ww_vec_push(&s->list) = (struct ww_finding){ns, text, false};
}

static const char *plural(struct ww_arena *mem, uint32_t n, const char *what)
{
	return ww_arena_printf(mem, "%u %s%s", n, what, n == 1 ? "" : "s");
}

static const char *const doing[WW_ST_N] = {
	[WW_ST_UNKNOWN] = "doing what the trace does not show",
	[WW_ST_RUNNING_USER] = "computing in user space",
	[WW_ST_RUNNING_KERNEL] = "running in the kernel",
	[WW_ST_INTERRUPTED] = "interrupted",
	[WW_ST_STOLEN] = "without a CPU, taken by the hypervisor",
	[WW_ST_PREEMPTED] = "ready to run but preempted",
	[WW_ST_RUNQUEUE] = "ready to run but without a CPU",
	[WW_ST_THROTTLED] = "throttled by its cgroup",
	[WW_ST_STOPPED] = "stopped",
	[WW_ST_BLOCKED] = "blocked for ",
	[WW_ST_RUNNING] = "running",
};

/* Merged rows say "(9 of them)" behind the names. */
static bool is_of_row(struct findings *s, uint32_t state, const struct ww_breakdown_row *row)
{
	const char *end = strstr(row->detail, " of them)"), *detail = row->detail;

	if (end) {
		while (end > detail && *end != '(')
			end--;
		detail = ww_arena_strndup(s->mem, detail, end > detail ? (size_t)(end - detail - 1) : 0);
	}
	return ww_breakdown_alike(s->mem, ww_name_state(s->mem, s->r->facts, state, false), detail);
}

/* What the chains of this row's waits, or of all of its cause, come down to: "; behind that: 80 % writer (7) computing ...". */
static const char *meanwhile_of(struct findings *s, const struct ww_breakdown_row *row, bool all)
{
	const struct ww_thread_report *m = &s->r->main;
	WW_VEC(uint32_t) waits = {0};
	const struct ww_facts *f = s->r->facts;
	int64_t sum = 0;

	for (uint32_t i = 0; i < m->nwaits; i++) {
		const struct ww_link *l = &m->waits[i];
		const char *sc = ww_name_syscall_only(f, f->state.syscall[l->row]);
		if (l->cause == row->cause && (all || (!strcmp(sc ? sc : "", row->syscall) && is_of_row(s, l->row, row)))) {
			*ww_vec_push(&waits) = i;
			sum += l->nchain ? l->dur_ns : 0;
		}
	}
	const char *text = "";
	struct ww_blame_row *blame;
	uint32_t n = ww_blame_of(s->mem, m, waits.v, (uint32_t)waits.n, &blame);
	ww_vec_free(&waits);
	n = ww_blame_merge(s->mem, f, blame, n, &blame);
	for (uint32_t i = 0, shown = 0; i < n && shown < 3 && blame[i].ns * 10 >= sum; i++) {
		const struct ww_blame_row *b = &blame[i];
		/* that the disk was waited for in a wait for the disk is no news */
		if (b->thread == m->thread || b->thread == WW_NONE)
			continue;
		text = ww_arena_printf(s->mem, "%s%s %.0f %% %s %s%s%s%s%s", text, shown++ ? "," : "; behind that:",
				       100.0 * (double)b->ns / (double)sum, b->who, doing[b->state],
				       b->cause == WW_CA_NONE ? "" : ww_cause_name(b->cause),
				       *b->detail ? " (" : "", b->detail, *b->detail ? ")" : "");
	}
	return text;
}

static const char *meanwhile(struct findings *s, const struct ww_breakdown_row *row)
{
	return meanwhile_of(s, row, false);
}

static const char *blocked_text(struct findings *s, const struct ww_breakdown_row *r)
{
	const char *waits = plural(s->mem, r->count, "wait"), *in = "", *sh = share(s, r->ns);

	if (*r->syscall)
		in = ww_arena_printf(s->mem, " in %s", r->syscall);
	switch (r->cause) {
	case WW_CA_DISK:
		return ww_arena_printf(s->mem, "%s went to %s%s for the disk: %s%s.", sh, waits, in,
				       *r->detail ? r->detail : "which file is not known", meanwhile(s, r));
	case WW_CA_TIMER:
		return ww_arena_printf(s->mem, "%s was spent waiting for its own timer: %s%s (%s).", sh, waits, in,
				       *r->detail ? r->detail : "timeout");
	case WW_CA_FUTEX:
		if (!strncmp(r->detail, "the end of thread ", 18))
			return ww_arena_printf(s->mem, "%s went to %s for %s%s.", sh, waits, r->detail, meanwhile(s, r));
		return ww_arena_printf(s->mem, "%s went to %s for the futex (user-space lock or condition) %s%s.", sh,
				       waits, r->detail, meanwhile(s, r));
	case WW_CA_CHILD:
		return ww_arena_printf(s->mem, "%s went to %s%s for a child process: %s%s.", sh, waits, in, r->detail,
				       meanwhile(s, r));
	case WW_CA_SIGNAL:
		if (*r->detail) /* what the sender had done before explains the signal, not the wait */
			return ww_arena_printf(s->mem, "%s went to %s%s that a signal ended: %s.", sh, waits, in, r->detail);
		return ww_arena_printf(s->mem, "%s went to %s%s that a signal ended%s.", sh, waits, in, meanwhile(s, r));
	case WW_CA_FAULT:
		return ww_arena_printf(s->mem, "%s went to %s for page faults: %s%s.", sh, waits,
				       *r->detail ? r->detail : "of which file is not known", meanwhile(s, r));
	case WW_CA_IDLE:
		return ww_arena_printf(s->mem, "%s it was idle: %s%s that nothing ended.", sh, waits, in);
	case WW_CA_UNKNOWN:
	case WW_CA_NONE:
		if (strstr(r->detail, WW_NAME_OPEN))
			return ww_arena_printf(s->mem, "%s it was blocked%s: %s.", sh, in, r->detail);
		return ww_arena_printf(s->mem, "%s it was blocked%s and the trace does not show on what%s%s.", sh, in,
				       *r->detail ? ": " : "", r->detail);
	default:
		return ww_arena_printf(s->mem, "%s went to %s%s (%s)%s%s%s.", sh, waits, in, ww_cause_name(r->cause),
				       *r->detail ? ": " : "", r->detail, meanwhile(s, r));
	}
}

struct had_cpu {
	const char *who;
	int64_t ns;
};

static int most_cpu_first(const void *a, const void *b)
{
	const struct had_cpu *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->who, y->who);
}

/* "by cc1 (5 of them)" and "behind cc1 (7)" are about the same: cc1. NULL: nobody is known. */
static const char *who_had_cpu(struct findings *s, const char *detail)
{
	if (!strncmp(detail, "by ", 3) || !strncmp(detail, "behind ", 7)) {
		const char *who = strchr(detail, ' ') + 1, *end = strstr(who, " (");
		return end ? ww_arena_strndup(s->mem, who, (size_t)(end - who)) : who;
	}
	return *detail ? "an idle CPU (the time that waking up takes)" : NULL;
}

/* "; behind cc1 for 54 % of that, behind meson for 21 %": each wait is laid to one. */
static const char *others_had_cpu(struct findings *s, const struct ww_breakdown_row *rows, uint32_t nrows, int64_t sum)
{
	struct had_cpu *had = WW_ARENA_ARRAY(s->mem, struct had_cpu, nrows + 1);
	const char *text = "";
	uint32_t n = 0;

	for (uint32_t i = 0; i < nrows; i++) {
		if (rows[i].state != WW_ST_PREEMPTED && rows[i].state != WW_ST_RUNQUEUE)
			continue;
		const char *who = who_had_cpu(s, rows[i].detail);
		uint32_t k = 0;
		while (who && k < n && strcmp(had[k].who, who))
			k++;
		if (!who)
			continue;
		if (k == n)
			had[n++].who = who;
		had[k].ns += rows[i].ns;
	}
	if (n)
		qsort(had, n, sizeof(*had), most_cpu_first);
	for (uint32_t i = 0; i < n && i < 3 && had[i].ns * 10 >= sum; i++)
		text = ww_arena_printf(s->mem, "%s%sbehind %s for %.0f %%%s", text, i ? ", " : "; ", had[i].who,
				       100.0 * (double)had[i].ns / (double)sum, i ? "" : " of that");
	return text;
}

/* Ready to run and without a CPU: both states together, and who had the CPU meanwhile. */
static void add_cpu_wait(struct findings *s, const struct ww_breakdown_row *rows, uint32_t nrows)
{
	const struct ww_thread_report *m = &s->r->main;
	int64_t ns = m->by_state_ns[WW_ST_PREEMPTED] + m->by_state_ns[WW_ST_RUNQUEUE];

	if (percent(s, ns) < WORTH_PERCENT)
		return;
	add(s, ns, ww_arena_printf(s->mem, "%s it was ready to run but had no CPU%s.", share(s, ns),
				   others_had_cpu(s, rows, nrows, ns)));
}

/* Where in the kernel: "openat 12.3 ms, page faults 1.6 ms". */
static const char *kernel_parts(struct findings *s, const struct ww_breakdown_row *rows, uint32_t nrows, int64_t run)
{
	struct had_cpu *part = WW_ARENA_ARRAY(s->mem, struct had_cpu, nrows + 1);
	const char *text = "";
	char dur[24];
	uint32_t n = 0;

	for (uint32_t i = 0; i < nrows; i++) {
		if (rows[i].state != WW_ST_RUNNING_KERNEL)
			continue;
		const char *name = *rows[i].syscall ? rows[i].syscall : !strncmp(rows[i].detail, "page fault", 10) ? "page faults" : NULL;
		uint32_t k = 0;
		while (name && k < n && strcmp(part[k].who, name))
			k++;
		if (!name)
			continue;
		if (k == n)
			part[n++].who = name;
		part[k].ns += rows[i].ns;
	}
	if (n)
		qsort(part, n, sizeof(*part), most_cpu_first);
	for (uint32_t i = 0; i < n && i < 3 && part[i].ns * 20 >= run; i++)
		text = ww_arena_printf(s->mem, "%s%s%s %s", text, i ? ", " : ": most in ", part[i].who,
				       ww_dur_format(part[i].ns, dur, sizeof(dur)));
	return text;
}

/* All running in one sentence: it is no waiting, but a large part of it says that there is little to wait for. */
static void add_running(struct findings *s, const struct ww_breakdown_row *rows, uint32_t nrows)
{
	const int64_t *by = s->r->main.by_state_ns;
	int64_t user = by[WW_ST_RUNNING_USER], kernel = by[WW_ST_RUNNING_KERNEL];
	int64_t run = user + kernel + by[WW_ST_RUNNING];
	const char *text = "";

	if (percent(s, run) < WORTH_PERCENT)
		return;
	if (percent(s, user) >= 1)
		text = ww_arena_printf(s->mem, ", %.0f %% in user space%s", percent(s, user),
				       user * 2 > run ? " (a profiler says where)" : "");
	if (percent(s, kernel) >= 1)
		text = ww_arena_printf(s->mem, "%s, %.0f %% in the kernel%s", text, percent(s, kernel),
				       kernel_parts(s, rows, nrows, run));
	add(s, run, ww_arena_printf(s->mem, "%s it was running, not waiting%s.", share(s, run), text));
	s->list.v[s->list.n - 1].running = true;
}

/* Blocked for one cause in several ways of which none stands for all: "26 % ... went to 40 waits for the disk: 19 % in
 * fsync (/a on vda), 5 % in read (/b on vda)". */
static const char *cause_text(struct findings *s, const struct ww_breakdown_row *rows, uint32_t nrows,
			      const struct ww_breakdown_row *top, int64_t ns, uint32_t count)
{
	static const char *const words[WW_CA_N] = {
		[WW_CA_DISK] = " for the disk", [WW_CA_TIMER] = " for its own timers",
		[WW_CA_FUTEX] = " for futexes (user-space locks or conditions)", [WW_CA_CHILD] = " for child processes",
		[WW_CA_FAULT] = " for page faults", [WW_CA_IDLE] = " that nothing ended", [WW_CA_SIGNAL] = " that a signal ended",
		[WW_CA_UNKNOWN] = " of which the trace does not show on what",
	};
	const char *text = "", *what = words[top->cause];
	uint32_t shown = 0;

	for (uint32_t i = 0; i < nrows && shown < 3; i++) {
		const struct ww_breakdown_row *r = &rows[i];
		if (r->state != WW_ST_BLOCKED || r->cause != top->cause || r->ns * 20 < ns)
			continue;
		text = ww_arena_printf(s->mem, "%s%s%.0f %%%s%s%s%s%s", text, shown++ ? ", " : ": ", percent(s, r->ns),
				       *r->syscall ? " in " : "", r->syscall, *r->detail ? " (" : "", r->detail, *r->detail ? ")" : "");
	}
	bool own = top->cause == WW_CA_TIMER || top->cause == WW_CA_IDLE || top->cause == WW_CA_UNKNOWN || top->cause == WW_CA_SIGNAL;
	return ww_arena_printf(s->mem, "%s went to %s%s%s%s.", share(s, ns), plural(s->mem, count, "wait"),
			       what ? what : ww_arena_printf(s->mem, " (%s)", ww_cause_name(top->cause)), text, own ? "" : meanwhile_of(s, top, true));
}

/* What it was blocked for, each cause once, however many rows it has. */
static void add_causes(struct findings *s, const struct ww_breakdown_row *rows, uint32_t nrows)
{
	const struct ww_breakdown_row *top[WW_CA_N] = {NULL};
	int64_t ns[WW_CA_N] = {0};
	uint32_t count[WW_CA_N] = {0};

	for (uint32_t i = 0; i < nrows; i++) { /* longest first */
		enum ww_cause c = rows[i].cause;
		if (rows[i].state != WW_ST_BLOCKED || c >= WW_CA_N)
			continue;
		if (!top[c])
			top[c] = &rows[i];
		ns[c] += rows[i].ns;
		count[c] += rows[i].count;
	}
	for (int c = 0; c < WW_CA_N; c++) {
		if (!top[c] || percent(s, ns[c]) < WORTH_PERCENT)
			continue;
		bool stands = top[c]->ns * 5 >= ns[c] * 4; /* one row for nearly all of it */
		add(s, ns[c], stands ? blocked_text(s, top[c]) : cause_text(s, rows, nrows, top[c], ns[c], count[c]));
	}
}

static void add_rows(struct findings *s, const struct ww_breakdown_row *rows, uint32_t nrows)
{
	for (uint32_t i = 0; i < nrows; i++) {
		const struct ww_breakdown_row *r = &rows[i];
		if (percent(s, r->ns) < WORTH_PERCENT)
			break; /* longest first */
		if (r->state == WW_ST_INTERRUPTED)
			add(s, r->ns, ww_arena_printf(s->mem, "%s its CPU was taken by interrupts (%s).",
						      share(s, r->ns), r->detail));
		else if (r->state == WW_ST_THROTTLED)
			add(s, r->ns, ww_arena_printf(s->mem, "%s its cgroup's CPU quota was used up.", share(s, r->ns)));
		else if (r->state == WW_ST_STOLEN)
			add(s, r->ns, ww_arena_printf(s->mem, "%s the hypervisor had taken its CPU away.",
						      share(s, r->ns)));
		else if (r->state == WW_ST_STOPPED)
			add(s, r->ns, ww_arena_printf(s->mem, "%s it was stopped by a signal or a tracer.",
						      share(s, r->ns)));
		else if (r->state == WW_ST_UNKNOWN)
			add(s, r->ns, ww_arena_printf(s->mem, "%s the trace does not show what it did.", share(s, r->ns)));
	}
}

/* Many calls: the recorder's work at each of them is in the times of user space and of the kernel. */
static void add_own_cost(struct findings *s)
{
	const struct ww_thread_report *m = &s->r->main;
	const int64_t run_ns = m->by_state_ns[WW_ST_RUNNING_USER] + m->by_state_ns[WW_ST_RUNNING_KERNEL];
	uint32_t calls;
	const int64_t ns = WW_MIN(ww_own_cost_bound(s->r->facts, m->thread, m->from_ts_ns, m->to_ts_ns, &calls), run_ns);
	char total[24], each[24];

	if (calls < 1000 || percent(s, ns) < WORTH_PERCENT)
		return;
	add(s, ns, ww_arena_printf(s->mem, "Up to %s of the time running (%.0f %%) may be the recording itself: %u system "
				   "calls, at most %s each.", ww_dur_format(ns, total, sizeof(total)),
				   100.0 * (double)ns / (double)run_ns, calls, ww_dur_format(ns / calls, each, sizeof(each))));
}

static int most_first(const void *a, const void *b)
{
	const struct ww_finding *x = a, *y = b;
	/* The question is why it waited: running comes behind a wait that took at least half as long. */
	int64_t xn = x->running ? x->ns / 2 : x->ns, yn = y->running ? y->ns / 2 : y->ns;

	return xn < yn ? 1 : xn > yn ? -1 : 0;
}

void ww_findings_make(struct ww_arena *mem, struct ww_report *io)
{
	struct findings s = {.mem = mem, .r = io};

	struct ww_breakdown_row *rows;
	uint32_t n = ww_breakdown_merge(mem, io->main.rows, io->main.nrows, &rows);
	add_causes(&s, rows, n);
	add_rows(&s, rows, n);
	add_cpu_wait(&s, rows, n);
	add_running(&s, rows, n);
	add_own_cost(&s);
	if (s.list.n)
		qsort(s.list.v, s.list.n, sizeof(*s.list.v), most_first);
	s.list.n = WW_MIN(s.list.n, MAX_FINDINGS);
	io->findings = WW_ARENA_ARRAY(mem, struct ww_finding, s.list.n + 1);
	if (s.list.n)
		memcpy(io->findings, s.list.v, s.list.n * sizeof(*s.list.v));
	io->nfindings = (uint32_t)s.list.n;
	ww_vec_free(&s.list);
}
