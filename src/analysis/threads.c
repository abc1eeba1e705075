/* threads.c - every thread of the trace: how long it lived, ran, was ready, waited, and for what most. */
#include "analysis/names.h"
#include "analysis/report.h"
#include "analysis/ranges.h"
#include "base/par.h"

extern const struct ww_analysis ww_analysis_threads;

enum { TID, PID, COMM, BEGIN, WALL, RUNNING, READY, BLOCKED, UNKNOWN, WAITS, CAUSE, CAUSE_NS, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[TID] = {"tid", "tid", WW_T_INT, "thread id"},
	[PID] = {"pid", "process", WW_T_ID, "process id; -1 unknown"},
	[COMM] = {"comm", "name", WW_T_STR, "last name of the thread"},
	[BEGIN] = {"begin_ns", "from", WW_T_TIME, "begin of its life in the range"},
	[WALL] = {"wall_ns", "wall", WW_T_DUR, "its life in the range"},
	[RUNNING] = {"running_ns", "running", WW_T_DUR, "on a CPU, its interrupts included"},
	[READY] = {"ready_ns", "ready", WW_T_DUR, "wanted a CPU and had none: preempted, queued, throttled, stolen by the hypervisor"},
	[BLOCKED] = {"blocked_ns", "blocked", WW_T_DUR, "waited, or was stopped"},
	[UNKNOWN] = {"unknown_ns", "unknown", WW_T_DUR, "not in the trace"},
	[WAITS] = {"waits", "waits", WW_T_COUNT, "blocked intervals"},
	[CAUSE] = {"cause", "most for", WW_T_STR, "the cause for which it waited longest"},
	[CAUSE_NS] = {"cause_ns", "of that", WW_T_DUR, "how long for that cause"},
};

static void fill(const struct ww_facts *f, uint32_t t, int64_t from, int64_t to, union ww_cell *c)
{
	int64_t state[WW_ST_N] = {0}, cause[WW_CA_N] = {0}, seen = 0;
	uint32_t first, n, waits = 0, top = WW_CA_NONE;

	ww_facts_states(f, t, from, to, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		int64_t ns = WW_MIN(f->state.start_ts_ns[i] + f->state.dur_ns[i], to) -
			     WW_MAX(f->state.start_ts_ns[i], from);
		if (ns <= 0)
			continue;
		seen += ns;
		state[f->state.state[i]] += ns;
		if (f->state.state[i] != WW_ST_BLOCKED)
			continue;
		cause[ww_state_cause(f, i)] += ns;
		waits++;
	}
	for (uint32_t i = 1; i < WW_CA_N; i++)
		if (cause[i] > cause[top])
			top = i;
	c[TID].i = f->thread.tid[t];
	c[PID].i = f->thread.pid[t];
	c[COMM].s = ww_facts_str(f, f->thread.comm[t]);
	c[BEGIN].i = from;
	c[WALL].i = to - from;
	c[RUNNING].i = state[WW_ST_RUNNING_USER] + state[WW_ST_RUNNING_KERNEL] + state[WW_ST_RUNNING] +
		       state[WW_ST_INTERRUPTED];
	c[READY].i = state[WW_ST_PREEMPTED] + state[WW_ST_RUNQUEUE] + state[WW_ST_THROTTLED] + state[WW_ST_STOLEN];
	c[BLOCKED].i = state[WW_ST_BLOCKED] + state[WW_ST_STOPPED];
	c[UNKNOWN].i = state[WW_ST_UNKNOWN] + (to - from - seen);
	c[WAITS].i = waits;
	c[CAUSE].s = ww_cause_name(top);
	c[CAUSE_NS].i = cause[top];
}

static int longest_running(const void *a, const void *b)
{
	const union ww_cell *x = a, *y = b;

	if (x[RUNNING].i != y[RUNNING].i)
		return x[RUNNING].i < y[RUNNING].i ? 1 : -1;
	return x[TID].i < y[TID].i ? -1 : x[TID].i > y[TID].i;
}

static bool is_asked(const struct ww_facts *f, const struct ww_query *q, uint32_t t)
{
	int64_t from, to;

	return ww_query_meets(f, q, t) && !(f->thread.flags[t] & WW_TF_IDLE) && ww_query_takes(f, q, t) &&
	       ww_thread_range(f, t, q->from_ts_ns, q->to_ts_ns, &from, &to);
}

/* Of so many threads each: one may have most of the states. */
#define SHARE 32u

struct rows {
	const struct ww_facts *f;
	const struct ww_query *q;
	const uint32_t *thread; /* of each row */
	union ww_cell *cells;
	uint32_t n;
};

static void fill_share(void *ctx, uint32_t share)
{
	const struct rows *r = ctx;
	int64_t from, to;

	for (uint32_t i = share * SHARE; i < r->n && i < (share + 1) * SHARE; i++)
		if (ww_thread_range(r->f, r->thread[i], r->q->from_ts_ns, r->q->to_ts_ns, &from, &to))
			fill(r->f, r->thread[i], from, to, r->cells + (size_t)i * NCOLUMNS);
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	uint32_t *thread = WW_ARENA_ARRAY(mem, uint32_t, f->thread.n + 1);
	struct rows r = {.f = f, .q = q, .thread = thread};

	for (uint32_t t = 0; t < f->thread.n; t++)
		if (is_asked(f, q, t))
			thread[r.n++] = t;
	r.cells = WW_ARENA_ARRAY(mem, union ww_cell, ((size_t)r.n + 1) * NCOLUMNS);
	ww_par_run((r.n + SHARE - 1) / SHARE, fill_share, &r);
	qsort(r.cells, r.n, sizeof(*r.cells) * NCOLUMNS, longest_running);
	*ret = (struct ww_table){.analysis = &ww_analysis_threads, .facts = f, .cells = r.cells,
				 .nrows = q->top ? WW_MIN(r.n, q->top) : r.n};
	return 0;
}

const struct ww_analysis ww_analysis_threads = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "threads", .summary = "every thread: how long it ran, was ready, waited, and for what most",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run, .whole_threads = true,
};
