/* sched.c - how threads got the CPU: run delay per thread with its percentiles, and who preempted whom.
 *
 * Run delay is what perf calls it: the time from being ready (woken, or preempted) to having a CPU. A
 * stretch of ready states that follow one another is one delay.
 */
#include "analysis/histogram.h"
#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_sched, ww_analysis_sched_histogram, ww_analysis_sched_pairs,
	ww_analysis_sched_numa;

enum { TID, PID, COMM, RUNS, RUNNING, DELAYS, TOTAL, AVG, P50, P95, P99, MAX, MAX_AT, PREEMPTED, MIGRATED, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[TID] = {"tid", "tid", WW_T_INT, "thread id"},
	[PID] = {"pid", "process", WW_T_ID, "process id; -1 unknown"},
	[COMM] = {"comm", "name", WW_T_STR, "last name of the thread"},
	[RUNS] = {"runs", "runs", WW_T_COUNT, "times it was given a CPU in the range"},
	[RUNNING] = {"running_ns", "on a CPU", WW_T_DUR, "interrupts, and what the hypervisor took, included"},
	[DELAYS] = {"delays", "delays", WW_T_COUNT, "times it was ready and got a CPU"},
	[TOTAL] = {"delay_ns", "delay", WW_T_DUR, "ready without a CPU, together"},
	[AVG] = {"avg_ns", "mean", WW_T_DUR, ""},
	[P50] = {"p50_ns", "median", WW_T_DUR, ""},
	[P95] = {"p95_ns", "95 %", WW_T_DUR, ""},
	[P99] = {"p99_ns", "99 %", WW_T_DUR, ""},
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[MAX_AT] = {"max_ts_ns", "then", WW_T_TIME, "when the longest one ended"},
	[PREEMPTED] = {"preempted", "preempted", WW_T_COUNT, "times the CPU was taken from it in the range"},
	[MIGRATED] = {"migrations", "migrations", WW_T_COUNT, "times it ran on another CPU than the time before"},
};

struct sum {
	uint32_t thread, runs, delays, preempted, migrated;
	int64_t running, delay, max, max_at;
};

static bool is_ready(uint8_t s)
{
	return s == WW_ST_PREEMPTED || s == WW_ST_RUNQUEUE || s == WW_ST_THROTTLED;
}

static bool is_on_cpu(uint8_t s)
{
	return s == WW_ST_RUNNING_USER || s == WW_ST_RUNNING_KERNEL || s == WW_ST_RUNNING || s == WW_ST_INTERRUPTED;
}

static void add_delay(struct sum *s, struct ww_samples *samples, uint32_t row, int64_t ns, int64_t end)
{
	s->delays++;
	s->delay += ns;
	if (ns > s->max) {
		s->max = ns;
		s->max_at = end;
	}
	ww_samples_push(samples, row, ns);
}

/* Delays that end within the range, whole. */
static void add_states(const struct ww_facts *f, const struct ww_query *q, uint32_t t, struct ww_rows *rows,
		       struct ww_samples *samples)
{
	int64_t waited = 0;
	uint32_t first, n;

	ww_facts_states(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
	const uint32_t end_row = first + n;
	while (first > f->state_first[t] && is_ready(f->state.state[first - 1]))
		first--; /* a delay that ends in the range may have begun before it */
	for (uint32_t i = first; i < end_row; i++) {
		int64_t start = f->state.start_ts_ns[i], end = start + f->state.dur_ns[i];
		uint32_t w = ww_state_wakeup(f, i);
		if (is_ready(f->state.state[i])) {
			/* A new thread is ready from its first wakeup, not from its fork. */
			if (i == f->state_first[t] && w < f->wakeup.n)
				start = WW_MAX(start, WW_MIN(f->wakeup.ts_ns[w], end));
			waited += end - start;
			continue;
		}
		if (waited && is_on_cpu(f->state.state[i]) && ww_query_holds(q, start) && ww_query_takes_at(f, q, t, start)) {
			struct sum *s = ww_rows_get(rows, t);
			s->thread = t;
			add_delay(s, samples, ww_rows_index(rows, s), waited, start);
		}
		waited = 0;
	}
}

static void add_delays(const struct ww_facts *f, const struct ww_query *q, struct ww_rows *rows, struct ww_samples *samples)
{
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (!(f->thread.flags[t] & WW_TF_IDLE) && ww_query_meets(f, q, t) && ww_query_takes(f, q, t))
			add_states(f, q, t, rows, samples);
}

/* The CPU, + 1, that the thread had before; 0 none that is known. */
static uint32_t cpu_before(const struct ww_facts *f, uint32_t t, int64_t ts_ns)
{
	uint32_t first, n;

	ww_facts_states(f, t, ts_ns, INT64_MAX, &first, &n);
	for (uint32_t i = n ? first : f->state_first[t + 1]; i-- > f->state_first[t];)
		if (is_on_cpu(f->state.state[i]) && f->state.cpu[i] >= 0)
			return (uint32_t)f->state.cpu[i] + 1;
	return 0;
}

/* A run counts where it begins, a preemption where the run ends, time where it was: ranges side by side add up. */
static void add_runs(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_rows *rows)
{
	uint32_t *last_cpu = WW_ARENA_ARRAY(mem, uint32_t, f->thread.n + 1); /* + 1; 0 none */
	uint32_t n;
	const uint32_t *runs = ww_query_runs(mem, f, q, &n);

	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = ww_row_at(runs, k), t = f->run.thread[i];
		int64_t start = f->run.start_ts_ns[i], end = start + f->run.dur_ns[i];
		if (runs && !last_cpu[t])
			last_cpu[t] = cpu_before(f, t, start);
		const bool moved = last_cpu[t] && last_cpu[t] != f->run.cpu[i] + 1;
		last_cpu[t] = f->run.cpu[i] + 1;
		if (end < q->from_ts_ns || start >= q->to_ts_ns || f->thread.flags[t] & WW_TF_IDLE || !ww_query_takes(f, q, t))
			continue;
		/* In a cgroup for a part of it: that part, as `usage` has it. */
		const int64_t ns = ww_query_part(q, start, f->run.dur_ns[i]) ?
			ww_query_cgroup_part(f, q, t, WW_MAX(start, q->from_ts_ns), WW_MIN(end, q->to_ts_ns)) : 0;
		const bool begins = ww_query_holds(q, start) && ww_query_takes_at(f, q, t, start);
		const bool taken_away = f->run.end_reason[i] == WW_RE_PREEMPTED && ww_query_holds(q, end) &&
					ww_query_takes_at(f, q, t, end);
		if (!ns && !begins && !taken_away)
			continue;
		struct sum *s = ww_rows_get(rows, t);
		s->thread = t;
		s->running += ns;
		s->migrated += moved && begins;
		s->runs += begins;
		s->preempted += taken_away;
	}
}

static int longest_delay(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->delay < y->delay ? 1 : x->delay > y->delay ? -1 : 0;
}

static bool put(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[TID].i = x->f->thread.tid[s->thread];
	c[PID].i = x->f->thread.pid[s->thread];
	c[COMM].s = ww_name_comm(x->f, s->thread);
	c[RUNS].i = s->runs;
	c[RUNNING].i = s->running;
	c[DELAYS].i = s->delays;
	c[TOTAL].i = s->delay;
	ww_samples_put(x->samples, row, s->delays, s->delay, s->max, &c[AVG]);
	c[MAX_AT].i = s->delays ? s->max_at : WW_NO_VALUE;
	c[PREEMPTED].i = s->preempted;
	c[MIGRATED].i = s->migrated;
	return true;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_samples samples = {0};
	struct ww_rows rows;

	ww_rows_init(&rows, sizeof(struct sum));
	add_runs(mem, f, q, &rows);
	add_delays(f, q, &rows, &samples);
	const struct ww_fill fill = {
		.analysis = &ww_analysis_sched, .f = f, .q = q, .mem = mem,
		.order = longest_delay, .put = put, .samples = &samples,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

/* ---- the histogram of delays, of all threads together ---- */

static const struct ww_column histogram_columns[WW_HISTOGRAM_NCOLUMNS] = {
	WW_HISTOGRAM_COLUMNS("delays", "that ended in the range"),
};

static int run_histogram(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			 struct ww_err *err)
{
	struct ww_histogram h = {0};
	struct ww_samples samples = {0};
	struct ww_rows rows;

	ww_rows_init(&rows, sizeof(struct sum));
	add_delays(f, q, &rows, &samples);
	for (size_t i = 0; i < samples.all.n; i++)
		ww_histogram_add(&h, samples.all.v[i].ns);
	ww_histogram_table(mem, f, &ww_analysis_sched_histogram, &h, ret);
	ww_samples_release(&samples);
	ww_rows_release(&rows);
	return 0;
}

/* ---- who took the CPU from whom ---- */

enum { BY_TID, BY_COMM, BY_PRIO, OF_TID, OF_COMM, OF_PRIO, TIMES, WAITED, INVERTED, NPAIR };

static const struct ww_column pair_columns[NPAIR] = {
	[BY_TID] = {"by_tid", "tid", WW_T_INT, "who got the CPU"},
	[BY_COMM] = {"by_comm", "preemptor", WW_T_STR, ""},
	[BY_PRIO] = {"by_prio", "prio", WW_T_INT, "kernel priority at that moment, lower is more urgent; 120 is nice 0"},
	[OF_TID] = {"of_tid", "tid", WW_T_INT, "who lost it"},
	[OF_COMM] = {"of_comm", "preempted", WW_T_STR, ""},
	[OF_PRIO] = {"of_prio", "prio", WW_T_INT, "at that moment, too: another priority of either is another row"},
	[TIMES] = {"count", "times", WW_T_COUNT, ""},
	[WAITED] = {"waited_ns", "waited", WW_T_DUR, "until it had a CPU again, together"},
	[INVERTED] = {"inversions", "inversions", WW_T_COUNT, "of these, by a less urgent one"},
};

struct pair {
	uint32_t by, of, count, inverted;
	int32_t by_prio, of_prio;
	int64_t waited;
};

/* How long the thread whose run ended at `end` was ready until its next run. */
static int64_t ready_after(const struct ww_facts *f, uint32_t thread, int64_t end)
{
	uint32_t first, n;
	int64_t ns = 0;

	ww_facts_states(f, thread, end, f->end_ts_ns, &first, &n);
	for (uint32_t i = first; i < first + n && is_ready(f->state.state[i]); i++)
		ns += f->state.dur_ns[i];
	return ns;
}

static int longest_wait(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->waited < y->waited ? 1 : x->waited > y->waited ? -1 : 0;
}

static void add_pairs(const struct ww_facts *f, const struct ww_query *q, struct ww_rows *rows)
{
	for (uint32_t cpu = 0; cpu < f->host.ncpus; cpu++) {
		uint32_t first, n;

		/* one that ends where the range begins is there, too */
		ww_facts_runs(f, cpu, WW_MAX(q->from_ts_ns, f->begin_ts_ns) - 1, q->to_ts_ns, &first, &n);
		for (uint32_t k = first; k < first + n && k + 1 < f->run_first[cpu + 1]; k++) {
			uint32_t i = f->run_of_cpu[k], j = f->run_of_cpu[k + 1], of = f->run.thread[i];
			int64_t end = f->run.start_ts_ns[i] + f->run.dur_ns[i];
			if (f->run.end_reason[i] != WW_RE_PREEMPTED || f->run.next[i] >= f->thread.n ||
			    (f->thread.flags[of] & WW_TF_IDLE) || !ww_query_holds(q, end) || !ww_query_takes_at(f, q, of, f->run.start_ts_ns[i]))
				continue;
			const uint32_t by = f->run.next[i];
			const int32_t of_prio = f->run.end_prio[i], by_prio = f->run.thread[j] == by ? f->run.prio[j] : -1;
			struct pair *p = ww_rows_get(rows, ww_hash_mix((uint64_t)by << 32 | of, (uint64_t)(uint32_t)by_prio << 32 | (uint32_t)of_prio));
			p->by = by;
			p->of = of;
			p->count++;
			p->of_prio = of_prio;
			p->by_prio = by_prio;
			p->inverted += p->by_prio > p->of_prio && p->of_prio >= 0;
			p->waited += ready_after(f, of, end);
		}
	}
}

static bool put_pair(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct pair *p = sum;

	c[BY_TID].i = x->f->thread.tid[p->by];
	c[BY_COMM].s = ww_name_comm(x->f, p->by);
	c[BY_PRIO].i = p->by_prio >= 0 ? p->by_prio : WW_NO_VALUE;
	c[OF_TID].i = x->f->thread.tid[p->of];
	c[OF_COMM].s = ww_name_comm(x->f, p->of);
	c[OF_PRIO].i = p->of_prio >= 0 ? p->of_prio : WW_NO_VALUE;
	c[TIMES].i = p->count;
	c[WAITED].i = p->waited;
	c[INVERTED].i = p->inverted;
	return true;
}

static int run_pairs(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		     struct ww_err *err)
{
	struct ww_rows rows;

	ww_rows_init(&rows, sizeof(struct pair));
	add_pairs(f, q, &rows);
	const struct ww_fill fill = {
		.analysis = &ww_analysis_sched_pairs, .f = f, .q = q, .mem = mem,
		.order = longest_wait, .put = put_pair,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

/* ---- who was brought to the node of its memory ---- */

enum { N_TID, N_PID, N_COMM, N_FROM, N_TO, N_MOVED, N_SWAPPED, N_STUCK, N_NCOLUMNS };

static const struct ww_column numa_columns[N_NCOLUMNS] = {
	[N_TID] = {"tid", "tid", WW_T_INT, "thread id"},
	[N_PID] = {"pid", "process", WW_T_ID, "process id; -1 unknown"},
	[N_COMM] = {"comm", "name", WW_T_STR, "last name of the thread"},
	[N_FROM] = {"from_node", "from node", WW_T_INT, "where it ran, away from its memory"},
	[N_TO] = {"to_node", "to node", WW_T_INT, "where most of its memory is"},
	[N_MOVED] = {"moved", "moved", WW_T_COUNT, "times the scheduler moved it there"},
	[N_SWAPPED] = {"swapped", "swapped", WW_T_COUNT, "times it changed places with another thread"},
	[N_STUCK] = {"stuck", "stuck", WW_T_COUNT, "times it had to stay"},
};

struct between {
	uint32_t thread, kinds[3];
	int32_t from, to;
};

static int most_tried(const void *a, const void *b)
{
	const struct between *x = a, *y = b;
	uint32_t i = x->kinds[0] + x->kinds[1] + x->kinds[2], k = y->kinds[0] + y->kinds[1] + y->kinds[2];

	return i < k ? 1 : i > k ? -1 : 0;
}

static void add_between(struct ww_rows *rows, uint32_t thread, int32_t from, int32_t to, uint8_t kind)
{
	struct between *b = ww_rows_get(rows, ww_hash_mix(thread, (uint64_t)(uint32_t)from << 32 | (uint32_t)to));

	b->thread = thread;
	b->from = from;
	b->to = to;
	b->kinds[WW_MIN(kind, 2)]++;
}

static bool put_between(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct between *b = sum;

	c[N_TID].i = x->f->thread.tid[b->thread];
	c[N_PID].i = x->f->thread.pid[b->thread];
	c[N_COMM].s = ww_name_comm(x->f, b->thread);
	c[N_FROM].i = b->from;
	c[N_TO].i = b->to;
	c[N_MOVED].i = b->kinds[0];
	c[N_SWAPPED].i = b->kinds[1];
	c[N_STUCK].i = b->kinds[2];
	return true;
}

static int run_numa(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		    struct ww_err *err)
{
	const struct ww_numa_move_cols *m = &f->numa_move;
	struct ww_rows rows;
	uint32_t first, end;

	ww_rows_init(&rows, sizeof(struct between));
	ww_query_times(q, m->ts_ns, m->n, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		if (m->thread[i] < f->thread.n && ww_query_takes_at(f, q, m->thread[i], m->ts_ns[i]))
			add_between(&rows, m->thread[i], m->from_node[i], m->to_node[i], m->kind[i]);
		if (m->other[i] < f->thread.n && ww_query_takes_at(f, q, m->other[i], m->ts_ns[i]))
			add_between(&rows, m->other[i], m->to_node[i], m->from_node[i], m->kind[i]);
	}
	const struct ww_fill fill = {
		.analysis = &ww_analysis_sched_numa, .f = f, .q = q, .mem = mem,
		.order = most_tried, .put = put_between,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

const struct ww_analysis ww_analysis_sched = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.parts = WW_NEED(WW_NEED_WAKEUPS),
	.name = "sched", .summary = "how long ready threads waited for a CPU",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run,
};
const struct ww_analysis ww_analysis_sched_histogram = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.parts = WW_NEED(WW_NEED_WAKEUPS),
	.name = "sched_histogram", .summary = "how long ready threads waited for a CPU, as a histogram",
	.columns = histogram_columns, .ncolumns = WW_HISTOGRAM_NCOLUMNS, .run = run_histogram,
};
const struct ww_analysis ww_analysis_sched_pairs = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "sched_pairs", .summary = "who took the CPU from whom",
	.columns = pair_columns, .ncolumns = NPAIR, .run = run_pairs,
};
const struct ww_analysis ww_analysis_sched_numa = {
	.needs = WW_NEED(WW_NEED_SWITCHES) | WW_NEED(WW_NEED_NUMA),
	.name = "sched_numa", .summary = "who was brought to the node of its memory, or could not be (sched_move_numa and the like)",
	.columns = numa_columns, .ncolumns = N_NCOLUMNS, .run = run_numa,
};
