/* usage.c - who had the CPUs: by thread, by process, by cgroup, by CPU, and over time.
 *
 * A thread has a CPU from the switch to it until the switch from it, as the kernel itself accounts it: with interrupts,
 * and with what the hypervisor took meanwhile, which `threads` and `report` tell apart as stolen. A CPU is busy when its
 * idle task does not have it. Per CPU run + idle + what is not known (before its first switch, gaps) is the range
 * exactly. percent is of the range's length, so a process of several threads may have more than 100. Where threads are asked for (--tid, --comm, ...), a CPU is
 * busy with those, and what the others had is `other`.
 */
#include "analysis/names.h"
#include "analysis/rows.h"
#include "facts/slices.h"

extern const struct ww_analysis ww_analysis_usage, ww_analysis_usage_process, ww_analysis_usage_cgroup,
	ww_analysis_usage_cpu, ww_analysis_usage_time, ww_analysis_usage_thread_time, ww_analysis_usage_process_time,
	ww_analysis_usage_cgroup_time;

static const struct ww_column thread_columns[] = {
	{"tid", "tid", WW_T_INT, "thread id"},
	{"pid", "process", WW_T_ID, "process id; -1 unknown"},
	{"comm", "name", WW_T_STR, "last name of the thread"},
	{"cpu_ns", "on a CPU", WW_T_DUR, "from switch in to switch out, with interrupts and what the hypervisor took meanwhile"},
	{"percent", "%", WW_T_PERCENT, "of the range"},
	{"runs", "runs", WW_T_COUNT, "times it was given a CPU in the range"},
};

static const struct ww_column process_columns[] = {
	{"pid", "process", WW_T_ID, "process id; -1 unknown"},
	{"comm", "name", WW_T_STR, "name of its first thread in the trace"},
	{"cpu_ns", "on CPUs", WW_T_DUR, "of all its threads"},
	{"percent", "%", WW_T_PERCENT, "of the range; more than 100 on several CPUs"},
	{"threads", "threads", WW_T_COUNT, "that ran; the main thread of the recorded command once, before its exec and after"},
};

static const struct ww_column cgroup_columns[] = {
	{"cgroup", "cgroup", WW_T_TEXT, "path in the second version's hierarchy; empty: not known. Those below are not in it"},
	{"cpu_ns", "on CPUs", WW_T_DUR, "of threads while they were in it"},
	{"percent", "%", WW_T_PERCENT, "of the range; more than 100 on several CPUs"},
	{"threads", "threads", WW_T_COUNT, "that ran in it"},
};

static const struct ww_column cpu_columns[] = {
	{"cpu", "CPU", WW_T_INT, ""},
	{"busy_ns", "busy", WW_T_DUR, "a thread other than the idle one had it; one of those asked for, if some are"},
	{"other_ns", "others", WW_T_DUR, "a thread had it that was not asked for (--tid, --comm, ...)"},
	{"idle_ns", "idle", WW_T_DUR, ""},
	{"unknown_ns", "unknown", WW_T_DUR, "not in the trace: before its first switch, or lost"},
	{"percent", "%", WW_T_PERCENT, "busy, of the range"},
	{"switches", "switches", WW_T_COUNT, ""},
};

static const struct ww_column time_columns[] = {
	{"ts_ns", "from", WW_T_TIME, "begin of the slice"},
	{"dur_ns", "length", WW_T_DUR, "shorter only for the last one"},
	{"cpu", "CPU", WW_T_INT, "-1: all together"},
	{"busy_ns", "busy", WW_T_DUR, "as of a CPU: with those asked for, if some are"},
	{"percent", "%", WW_T_PERCENT, "busy, of the slice; of all CPUs together for -1"},
};

static double percent(int64_t ns, int64_t of)
{
	return of > 0 ? 100.0 * (double)ns / (double)of : 0;
}

struct sum {
	int64_t ns;
	uint32_t thread, count;
};

static int most_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* Sums of runs by thread. */
static void sum_threads(const struct ww_facts *f, const struct ww_query *q, struct ww_rows *r)
{
	for (uint32_t i = 0; i < f->run.n; i++) {
		uint32_t t = f->run.thread[i];
		int64_t ns = ww_query_part(q, f->run.start_ts_ns[i], f->run.dur_ns[i]);
		const bool begins = ww_query_holds(q, f->run.start_ts_ns[i]);
		if ((!ns && !begins) || (f->thread.flags[t] & WW_TF_IDLE) || !ww_query_takes(f, q, t))
			continue;
		struct sum *s = ww_rows_get(r, t);
		s->thread = t;
		s->ns += ns;
		s->count += begins;
	}
}

/* From sums to rows: put_*() write a row each; their shares are of the range. */
static int fill(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		const struct ww_analysis *a, struct ww_rows *r, int (*order)(const void *a, const void *b),
		bool (*put)(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c))
{
	const int64_t wall = ww_query_to(f, q) - ww_query_from(f, q);
	const struct ww_fill fill = {.analysis = a, .f = f, .q = q, .mem = mem, .order = order, .put = put, .ctx = &wall};

	ww_rows_fill(&fill, r, ret);
	return 0;
}

static double share(const struct ww_fill *x, int64_t ns)
{
	return percent(ns, *(const int64_t *)x->ctx);
}

static bool put_thread(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[0].i = x->f->thread.tid[s->thread];
	c[1].i = x->f->thread.pid[s->thread];
	c[2].s = ww_name_comm(x->f, s->thread);
	c[3].i = s->ns;
	c[4].d = share(x, s->ns);
	c[5].i = s->count;
	return true;
}

static int run_threads(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		       struct ww_table *ret, struct ww_err *err)
{
	struct ww_rows r;

	ww_rows_init(&r, sizeof(struct sum));
	sum_threads(f, q, &r);
	return fill(mem, f, q, ret, &ww_analysis_usage, &r, most_first, put_thread);
}

static bool put_process(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[0].i = x->f->thread.pid[s->thread];
	c[1].s = ww_name_comm(x->f, s->thread);
	c[2].i = s->ns;
	c[3].d = share(x, s->ns);
	c[4].i = s->count;
	return true;
}

static int run_processes(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
			 struct ww_table *ret, struct ww_err *err)
{
	struct ww_rows threads, r;

	ww_rows_init(&threads, sizeof(struct sum));
	ww_rows_init(&r, sizeof(struct sum));
	sum_threads(f, q, &threads);
	for (uint32_t i = 0; i < threads.n; i++) {
		const struct sum *t = ww_rows_at(&threads, i);
		const uint64_t key = ww_process_key(f, t->thread);
		/* The command's main thread is the same one after its exec. */
		const bool again = ww_thread_is_launcher(f, t->thread) && ww_u64map_find(&threads.places, f->target) &&
				   ww_process_key(f, f->target) == key;
		struct sum *s = ww_rows_get(&r, key);
		if (!again && (!s->count++ || f->thread.tid[t->thread] == f->thread.pid[t->thread]))
			s->thread = t->thread;
		s->ns += t->ns;
	}
	ww_rows_release(&threads);
	return fill(mem, f, q, ret, &ww_analysis_usage_process, &r, most_first, put_process);
}

/* A thread's moves, found by thread; each leads to its next one (index + 1, 0 none). */
struct moves {
	struct ww_u64map first;
	uint32_t *next;
};

static void moves_make(struct ww_arena *mem, const struct ww_facts *f, struct moves *m)
{
	*m = (struct moves){.next = WW_ARENA_ARRAY(mem, uint32_t, f->cgroup_move.n + 1)};
	for (uint32_t i = f->cgroup_move.n; i-- > 0;) {
		uint64_t *first = ww_u64map_get(&m->first, f->cgroup_move.thread[i], 0, NULL);
		m->next[i] = (uint32_t)*first;
		*first = i + 1;
	}
}

/* Is told of each part of a run in which the thread was in one cgroup. */
typedef void (*piece_fn)(void *ctx, uint32_t cgroup, uint32_t thread, int64_t from, int64_t to);

/* A run of a thread that was moved meanwhile is of several. */
static void each_piece(const struct ww_facts *f, const struct moves *m, uint32_t thread, int64_t from, int64_t to,
		       piece_fn piece, void *ctx)
{
	const uint64_t *first = m->first.n ? ww_u64map_find(&m->first, thread) : NULL;
	uint32_t cgroup = first ? f->cgroup_move.from[*first - 1] : f->thread.cgroup[thread];

	for (uint32_t k = first ? (uint32_t)*first : 0; k && f->cgroup_move.ts_ns[k - 1] < to; k = m->next[k - 1]) {
		int64_t at = f->cgroup_move.ts_ns[k - 1];
		if (at > from) {
			piece(ctx, cgroup, thread, from, at);
			from = at;
		}
		cgroup = f->cgroup_move.to[k - 1];
	}
	piece(ctx, cgroup, thread, from, to);
}

/* The part of a run that lies in the range, of a thread that is asked for; false: none. */
static bool taken_part(const struct ww_facts *f, const struct ww_query *q, uint32_t run, int64_t *ret_from, int64_t *ret_to)
{
	const uint32_t t = f->run.thread[run];

	*ret_from = WW_MAX(f->run.start_ts_ns[run], q->from_ts_ns);
	*ret_to = WW_MIN(f->run.start_ts_ns[run] + f->run.dur_ns[run], q->to_ts_ns);
	return *ret_to > *ret_from && !(f->thread.flags[t] & WW_TF_IDLE) && ww_query_takes(f, q, t);
}

struct cgroup_sum {
	int64_t ns;
	uint32_t cgroup, threads;
};

struct cgroup_sums {
	struct ww_rows r, pairs;
};

static void add_cgroup(void *ctx, uint32_t cgroup, uint32_t thread, int64_t from, int64_t to)
{
	struct cgroup_sums *all = ctx;
	struct cgroup_sum *s = ww_rows_get(&all->r, cgroup);
	struct ww_share *pair = ww_rows_get(&all->pairs, ((uint64_t)cgroup << 32) | thread);

	s->cgroup = cgroup;
	s->ns += to - from;
	s->threads += !pair->ns;
	pair->ns += to - from;
}

static int most_cgroup_first(const void *a, const void *b)
{
	const struct cgroup_sum *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static bool put_cgroup(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct cgroup_sum *s = sum;

	c[0].s = ww_facts_str(x->f, s->cgroup);
	c[1].i = s->ns;
	c[2].d = share(x, s->ns);
	c[3].i = s->threads;
	return true;
}

static int run_cgroups(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		       struct ww_err *err)
{
	struct cgroup_sums all;
	struct moves moves;
	int64_t from, to;

	ww_rows_init(&all.r, sizeof(struct cgroup_sum));
	ww_rows_init(&all.pairs, sizeof(struct ww_share));
	moves_make(mem, f, &moves);
	for (uint32_t i = 0; i < f->run.n; i++)
		if (taken_part(f, q, i, &from, &to))
			each_piece(f, &moves, f->run.thread[i], from, to, add_cgroup, &all);
	ww_u64map_release(&moves.first);
	ww_rows_release(&all.pairs);
	return fill(mem, f, q, ret, &ww_analysis_usage_cgroup, &all.r, most_cgroup_first, put_cgroup);
}

/* ---- the same three, slice by slice: a row where it is not nothing. Runs of a CPU do not overlap, so that there are at
 * most as many rows as runs, and slices of CPUs. ---- */

enum { S_TS, S_DUR, S_WHO };

#define SLICE_COLUMNS {"ts_ns", "from", WW_T_TIME, "begin of the slice"}, {"dur_ns", "length", WW_T_DUR, "shorter only for the last one"}
#define SLICE_SUMS {"cpu_ns", "on CPUs", WW_T_DUR, "in the slice; who had none has no row"}, \
	{"percent", "%", WW_T_PERCENT, "of the slice; more than 100 on several CPUs"}

static const struct ww_column thread_time_columns[] = {
	SLICE_COLUMNS,
	{"tid", "tid", WW_T_INT, "thread id"},
	{"pid", "process", WW_T_ID, "process id; -1 unknown"},
	{"comm", "name", WW_T_STR, "last name of the thread"},
	SLICE_SUMS,
};
static const struct ww_column process_time_columns[] = {
	SLICE_COLUMNS,
	{"pid", "process", WW_T_ID, "process id; -1 unknown"},
	{"comm", "name", WW_T_STR, "last name of its main thread"},
	SLICE_SUMS,
};
static const struct ww_column cgroup_time_columns[] = {
	SLICE_COLUMNS,
	{"cgroup", "cgroup", WW_T_TEXT, "path in the second version's hierarchy; empty: not known. Those below are not in it"},
	SLICE_SUMS,
};

struct slice_sum {
	int64_t ns;
	uint32_t slice, thread, cgroup;
};

struct slice_sums {
	const struct ww_facts *f;
	const struct ww_analysis *a;
	struct ww_slicing s;
	struct ww_rows r;
};

static void add_slices(void *ctx, uint32_t cgroup, uint32_t thread, int64_t from, int64_t to)
{
	struct slice_sums *all = ctx;
	const uint64_t who = all->a == &ww_analysis_usage_cgroup_time	? cgroup
			     : all->a == &ww_analysis_usage_process_time ? ww_process_key(all->f, thread)
									 : thread; /* of at most 33 bits */

	for (uint32_t i = (uint32_t)((from - all->s.from_ts_ns) / all->s.every_ns); i < all->s.n && from < to; i++) {
		struct slice_sum *s = ww_rows_get(&all->r, (uint64_t)i << 33 | who);
		int64_t begin, end;
		ww_slicing_bounds(&all->s, i, &begin, &end);
		s->slice = i;
		s->thread = thread;
		s->cgroup = cgroup;
		s->ns += WW_MIN(to, end) - from;
		from = WW_MIN(to, end);
	}
}

static int earliest_first(const void *a, const void *b)
{
	const struct slice_sum *x = a, *y = b;

	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static bool put_slice(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct slice_sum *s = sum;
	union ww_cell *last = c + x->analysis->ncolumns - 1;

	ww_slicing_bounds(x->ctx, s->slice, &c[S_TS].i, &c[S_DUR].i);
	c[S_DUR].i -= c[S_TS].i;
	if (x->analysis == &ww_analysis_usage_cgroup_time) {
		c[S_WHO].s = ww_facts_str(x->f, s->cgroup);
	} else if (x->analysis == &ww_analysis_usage_process_time) {
		c[S_WHO].i = x->f->thread.pid[s->thread];
		c[S_WHO + 1].s = ww_name_comm(x->f, ww_process_main(x->f, s->thread));
	} else {
		c[S_WHO].i = x->f->thread.tid[s->thread];
		c[S_WHO + 1].i = x->f->thread.pid[s->thread];
		c[S_WHO + 2].s = ww_name_comm(x->f, s->thread);
	}
	last[-1].i = s->ns;
	last->d = percent(s->ns, c[S_DUR].i);
	return true;
}

static int make_slices(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		       const struct ww_analysis *a, struct ww_err *err)
{
	struct slice_sums all = {.f = f, .a = a};
	struct moves moves;
	int64_t from, to;
	int rc = ww_slicing_make(f, q, f->host.ncpus, "CPUs", &all.s, err);

	if (rc)
		return rc;
	ww_rows_init(&all.r, sizeof(struct slice_sum));
	moves_make(mem, f, &moves);
	for (uint32_t i = 0; i < f->run.n; i++) {
		if (!taken_part(f, q, i, &from, &to))
			continue;
		from = WW_MAX(from, all.s.from_ts_ns);
		if (a == &ww_analysis_usage_cgroup_time)
			each_piece(f, &moves, f->run.thread[i], from, to, add_slices, &all);
		else
			add_slices(&all, 0, f->run.thread[i], from, to);
	}
	ww_u64map_release(&moves.first);
	const struct ww_fill fill = {
		.analysis = a, .f = f, .q = q, .mem = mem, .order = earliest_first, .put = put_slice, .ctx = &all.s,
	};
	ww_rows_fill(&fill, &all.r, ret);
	return 0;
}

static int run_thread_time(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			   struct ww_err *err)
{
	return make_slices(mem, f, q, ret, &ww_analysis_usage_thread_time, err);
}

static int run_process_time(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			    struct ww_err *err)
{
	return make_slices(mem, f, q, ret, &ww_analysis_usage_process_time, err);
}

static int run_cgroup_time(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			   struct ww_err *err)
{
	return make_slices(mem, f, q, ret, &ww_analysis_usage_cgroup_time, err);
}

/* ---- by CPU ---- */

struct cpu_sum {
	int64_t busy, other, idle;
	uint32_t switches;
};

/* Of a CPU in [from, to). */
static struct cpu_sum sum_cpu(const struct ww_facts *f, const struct ww_query *q, uint32_t cpu, int64_t from, int64_t to)
{
	const struct ww_query range = {.from_ts_ns = from, .to_ts_ns = to};
	struct cpu_sum s = {0};
	uint32_t first, n;

	ww_facts_runs(f, cpu, from, to, &first, &n);
	for (uint32_t k = first; k < first + n; k++) {
		uint32_t i = f->run_of_cpu[k], t = f->run.thread[i];
		int64_t ns = ww_query_part(&range, f->run.start_ts_ns[i], f->run.dur_ns[i]);
		*(f->thread.flags[t] & WW_TF_IDLE ? &s.idle : ww_query_takes(f, q, t) ? &s.busy : &s.other) += ns;
		s.switches += f->run.start_ts_ns[i] >= from;
	}
	return s;
}

static int run_cpus(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		    struct ww_err *err)
{
	const int64_t from = ww_query_from(f, q), to = ww_query_to(f, q);
	union ww_cell *c = ww_table_init(mem, ret, &ww_analysis_usage_cpu, f, f->host.ncpus);

	for (uint32_t cpu = 0; cpu < f->host.ncpus; cpu++, c += WW_ARRAY_SIZE(cpu_columns)) {
		const struct cpu_sum s = sum_cpu(f, q, cpu, from, to);
		c[0].i = cpu;
		c[1].i = s.busy;
		c[2].i = s.other;
		c[3].i = s.idle;
		c[4].i = to - from - s.busy - s.other - s.idle;
		c[5].d = percent(s.busy, to - from);
		c[6].i = s.switches;
	}
	return 0;
}

/* Of each slice how long the CPU was busy, in steps of `stride` cells. Where nobody is left out, from the marks of
 * facts/slices.h: a slice costs the same however much happened in it. */
static void put_cpu(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, const struct ww_slicing *s,
		    uint32_t cpu, union ww_cell *c, size_t stride)
{
	const uint32_t whole = ww_query_asks(q) || q->command_only ? 0 : s->n - 1; /* the last one may be shorter */
	struct ww_cpu_slice *slices = WW_ARENA_ARRAY(mem, struct ww_cpu_slice, whole + 1);
	const int64_t end = s->from_ts_ns + whole * s->every_ns;
	int64_t b, e;

	const bool marked = whole && !ww_facts_cpu_slices(f, cpu, s->from_ts_ns, end, whole, slices);
	for (uint32_t i = 0; i < s->n; i++, c += stride) {
		ww_slicing_bounds(s, i, &b, &e);
		c[0].i = b;
		c[1].i = e - b;
		c[2].i = cpu;
		c[3].i = marked && i < whole ? slices[i].busy_ns : sum_cpu(f, q, cpu, b, e).busy;
		c[4].d = percent(c[3].i, e - b);
	}
}

static int run_time(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		    struct ww_err *err)
{
	const uint32_t ncpus = f->host.ncpus, series = ncpus + 1;
	const size_t width = WW_ARRAY_SIZE(time_columns);
	struct ww_slicing s;
	int rc = ww_slicing_make(f, q, series, "CPUs", &s, err);

	if (rc)
		return rc;
	union ww_cell *cells = ww_table_init(mem, ret, &ww_analysis_usage_time, f, s.n * series);
	for (uint32_t cpu = 0; cpu < ncpus && s.n; cpu++)
		put_cpu(mem, f, q, &s, cpu, cells + (cpu + 1) * width, series * width);
	for (uint32_t i = 0; i < s.n; i++) {
		union ww_cell *all = cells + (size_t)i * series * width;
		int64_t e;
		ww_slicing_bounds(&s, i, &all[0].i, &e);
		all[1].i = e - all[0].i;
		all[2].i = -1;
		for (uint32_t cpu = 0; cpu < ncpus; cpu++)
			all[3].i += all[(cpu + 1) * width + 3].i;
		all[4].d = percent(all[3].i, all[1].i * ncpus);
	}
	return 0;
}

static const struct ww_chart time_chart = {.series = 2, .value = 4, .label = "CPU %d"};

const struct ww_analysis ww_analysis_usage = {
	.name = "usage", .summary = "who had the CPUs, by thread",
	.columns = thread_columns, .ncolumns = WW_ARRAY_SIZE(thread_columns), .run = run_threads,
};
const struct ww_analysis ww_analysis_usage_process = {
	.name = "usage_process", .summary = "who had the CPUs, by process",
	.columns = process_columns, .ncolumns = WW_ARRAY_SIZE(process_columns), .run = run_processes,
};
const struct ww_analysis ww_analysis_usage_cgroup = {
	.name = "usage_cgroup", .summary = "who had the CPUs, by cgroup",
	.columns = cgroup_columns, .ncolumns = WW_ARRAY_SIZE(cgroup_columns), .run = run_cgroups,
};
const struct ww_analysis ww_analysis_usage_cpu = {
	.name = "usage_cpu", .summary = "how busy each CPU was",
	.columns = cpu_columns, .ncolumns = WW_ARRAY_SIZE(cpu_columns), .run = run_cpus,
};
const struct ww_analysis ww_analysis_usage_time = {
	.name = "usage_time", .summary = "how busy the CPUs were, slice by slice (--every)",
	.columns = time_columns, .ncolumns = WW_ARRAY_SIZE(time_columns), .chart = &time_chart, .run = run_time,
};
const struct ww_analysis ww_analysis_usage_thread_time = {
	.name = "usage_thread_time", .summary = "who had the CPUs, by thread, slice by slice (--every)",
	.columns = thread_time_columns, .ncolumns = WW_ARRAY_SIZE(thread_time_columns), .run = run_thread_time,
};
const struct ww_analysis ww_analysis_usage_process_time = {
	.name = "usage_process_time", .summary = "who had the CPUs, by process, slice by slice (--every)",
	.columns = process_time_columns, .ncolumns = WW_ARRAY_SIZE(process_time_columns), .run = run_process_time,
};
const struct ww_analysis ww_analysis_usage_cgroup_time = {
	.name = "usage_cgroup_time", .summary = "who had the CPUs, by cgroup, slice by slice (--every)",
	.columns = cgroup_time_columns, .ncolumns = WW_ARRAY_SIZE(cgroup_time_columns), .run = run_cgroup_time,
};
