/* usage.c - who had the CPUs: by thread, by process, by cgroup, by CPU, and over time.
 *
 * A thread has a CPU from the switch to it until the switch from it, as the kernel itself accounts it: with interrupts,
 * and with what the hypervisor took meanwhile, which `threads` and `report` tell apart as stolen. A CPU is busy when its
 * idle task does not have it. Per CPU run + idle + what is not known (before its first switch, gaps) is the range
 * exactly. percent is of the range's length, so a process of several threads may have more than 100. Where threads are asked for (--tid, --comm, ...), a CPU is
 * busy with those, and what the others had is `other`.
 */
#include "analysis/names.h"
#include "analysis/ranges.h"
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
	{"comm", "name", WW_T_STR, "last name of its main thread"},
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
static void sum_threads(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_rows *r)
{
	uint32_t n;
	const uint32_t *runs = ww_query_runs(mem, f, q, &n);

	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = ww_row_at(runs, k), t = f->run.thread[i];
		int64_t ns = ww_query_part(q, f->run.start_ts_ns[i], f->run.dur_ns[i]);
		const bool begins = ww_query_holds(q, f->run.start_ts_ns[i]);
		if ((!ns && !begins) || (f->thread.flags[t] & WW_TF_IDLE) || !ww_query_takes(f, q, t))
			continue;
		const int64_t from = WW_MAX(f->run.start_ts_ns[i], q->from_ts_ns), part = ww_query_cgroup_part(f, q, t, from, from + ns);
		if (!part && !ww_query_takes_at(f, q, t, from))
			continue; /* it was in another cgroup */
		struct sum *s = ww_rows_get(r, t);
		s->thread = t;
		s->ns += part;
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
	sum_threads(mem, f, q, &r);
	return fill(mem, f, q, ret, &ww_analysis_usage, &r, most_first, put_thread);
}

static bool put_process(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[0].i = x->f->thread.pid[s->thread];
	c[1].s = ww_name_comm(x->f, ww_process_main(x->f, s->thread));
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
	sum_threads(mem, f, q, &threads);
	for (uint32_t i = 0; i < threads.n; i++) {
		const struct sum *t = ww_rows_at(&threads, i);
		const uint64_t key = ww_process_key(f, t->thread);
		/* The command's main thread is the same one after its exec. */
		const bool again = ww_thread_is_launcher(f, t->thread) && ww_u64map_find(&threads.places, f->target) &&
				   ww_process_key(f, f->target) == key;
		struct sum *s = ww_rows_get(&r, key);
		s->thread = t->thread;
		s->count += !again;
		s->ns += t->ns;
	}
	ww_rows_release(&threads);
	return fill(mem, f, q, ret, &ww_analysis_usage_process, &r, most_first, put_process);
}

/* Is told of each part of a run in which the thread was in one cgroup. */
typedef void (*piece_fn)(void *ctx, uint32_t cgroup, uint32_t thread, int64_t from, int64_t to);

/* A run of a thread that was moved meanwhile is of several; those in cgroups that are not asked about are left out. */
static void each_piece(const struct ww_facts *f, const struct ww_query *q, uint32_t thread, int64_t from, int64_t to, piece_fn piece,
		       void *ctx)
{
	int64_t end;

	for (; from < to; from = end) {
		const struct ww_cgroup_stay stay = ww_cgroup_at(f, thread, from);

		end = WW_MIN(stay.end_ts_ns, to);
		if (ww_query_takes_cgroup(f, q, stay.cgroup))
			piece(ctx, stay.cgroup, thread, from, end);
	}
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

/* One of an unknown cgroup that had all the time would say that it is one. */
static int no_rows(struct ww_arena *mem, const struct ww_facts *f, struct ww_table *ret, const struct ww_analysis *a)
{
	ww_table_init(mem, ret, a, f, 0);
	return 0;
}

static int run_cgroups(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		       struct ww_err *err)
{
	struct cgroup_sums all;
	int64_t from, to;
	uint32_t n;

	if (!ww_knows_cgroups(f))
		return no_rows(mem, f, ret, &ww_analysis_usage_cgroup);
	ww_rows_init(&all.r, sizeof(struct cgroup_sum));
	ww_rows_init(&all.pairs, sizeof(struct ww_share));
	const uint32_t *runs = ww_query_runs(mem, f, q, &n);
	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = ww_row_at(runs, k);

		if (taken_part(f, q, i, &from, &to))
			each_piece(f, q, f->run.thread[i], from, to, add_cgroup, &all);
	}
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

/* Whose slice it is: a number of at most 33 bits. */
typedef uint64_t (*who_fn)(const struct ww_facts *f, uint32_t cgroup, uint32_t thread);

struct slice_sums {
	const struct ww_facts *f;
	who_fn who;
	struct ww_slicing s;
	struct ww_rows r;
};

static uint64_t by_thread(const struct ww_facts *f, uint32_t cgroup, uint32_t thread)
{
	return thread;
}

static uint64_t by_process(const struct ww_facts *f, uint32_t cgroup, uint32_t thread)
{
	return ww_process_key(f, thread);
}

static uint64_t by_cgroup(const struct ww_facts *f, uint32_t cgroup, uint32_t thread)
{
	return cgroup;
}

static void add_slices(void *ctx, uint32_t cgroup, uint32_t thread, int64_t from, int64_t to)
{
	struct slice_sums *all = ctx;
	const uint64_t who = all->who(all->f, cgroup, thread);

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

/* All but whose it is. */
static void put_slice(const struct ww_fill *x, const struct slice_sum *s, union ww_cell *c)
{
	union ww_cell *last = c + x->analysis->ncolumns - 1;

	ww_slicing_bounds(x->ctx, s->slice, &c[S_TS].i, &c[S_DUR].i);
	c[S_DUR].i -= c[S_TS].i;
	last[-1].i = s->ns;
	last->d = percent(s->ns, c[S_DUR].i);
}

static bool put_thread_slice(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct slice_sum *s = sum;

	c[S_WHO].i = x->f->thread.tid[s->thread];
	c[S_WHO + 1].i = x->f->thread.pid[s->thread];
	c[S_WHO + 2].s = ww_name_comm(x->f, s->thread);
	put_slice(x, s, c);
	return true;
}

static bool put_process_slice(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct slice_sum *s = sum;

	c[S_WHO].i = x->f->thread.pid[s->thread];
	c[S_WHO + 1].s = ww_name_comm(x->f, ww_process_main(x->f, s->thread));
	put_slice(x, s, c);
	return true;
}

static bool put_cgroup_slice(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct slice_sum *s = sum;

	c[S_WHO].s = ww_facts_str(x->f, s->cgroup);
	put_slice(x, s, c);
	return true;
}

/* `fill` has who is asked, and how its rows are filled. */
static int make_slices(struct ww_fill fill, struct ww_table *ret, who_fn who, struct ww_err *err)
{
	struct slice_sums all = {.f = fill.f, .who = who};
	int64_t from, to;
	uint32_t n;
	int rc = ww_slicing_make(fill.f, fill.q, fill.f->host.ncpus, "CPUs", &all.s, err);

	if (rc)
		return rc;
	ww_rows_init(&all.r, sizeof(struct slice_sum));
	const uint32_t *runs = ww_query_runs(fill.mem, fill.f, fill.q, &n);
	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = ww_row_at(runs, k);

		if (taken_part(fill.f, fill.q, i, &from, &to))
			each_piece(fill.f, fill.q, fill.f->run.thread[i], WW_MAX(from, all.s.from_ts_ns), to, add_slices, &all);
	}
	fill.order = earliest_first;
	fill.ctx = &all.s;
	ww_rows_fill(&fill, &all.r, ret);
	return 0;
}

static int run_thread_time(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			   struct ww_err *err)
{
	return make_slices((struct ww_fill){.analysis = &ww_analysis_usage_thread_time, .f = f, .q = q, .mem = mem, .put = put_thread_slice},
			   ret, by_thread, err);
}

static int run_process_time(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			    struct ww_err *err)
{
	return make_slices((struct ww_fill){.analysis = &ww_analysis_usage_process_time, .f = f, .q = q, .mem = mem, .put = put_process_slice},
			   ret, by_process, err);
}

static int run_cgroup_time(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			   struct ww_err *err)
{
	if (!ww_knows_cgroups(f))
		return no_rows(mem, f, ret, &ww_analysis_usage_cgroup_time);
	return make_slices((struct ww_fill){.analysis = &ww_analysis_usage_cgroup_time, .f = f, .q = q, .mem = mem, .put = put_cgroup_slice},
			   ret, by_cgroup, err);
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
		const int64_t begin = WW_MAX(f->run.start_ts_ns[i], from);
		if (f->thread.flags[t] & WW_TF_IDLE) {
			s.idle += ns;
		} else {
			const int64_t part = ww_query_takes(f, q, t) ? ww_query_cgroup_part(f, q, t, begin, begin + ns) : 0;

			s.busy += part;
			s.other += ns - part;
		}
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
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "usage", .summary = "who had the CPUs, by thread",
	.columns = thread_columns, .ncolumns = WW_ARRAY_SIZE(thread_columns), .run = run_threads,
};
const struct ww_analysis ww_analysis_usage_process = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "usage_process", .summary = "who had the CPUs, by process",
	.columns = process_columns, .ncolumns = WW_ARRAY_SIZE(process_columns), .run = run_processes,
};
const struct ww_analysis ww_analysis_usage_cgroup = {
	.needs = WW_NEED(WW_NEED_SWITCHES) | WW_NEED(WW_NEED_CGROUPS),
	.name = "usage_cgroup", .summary = "who had the CPUs, by cgroup",
	.columns = cgroup_columns, .ncolumns = WW_ARRAY_SIZE(cgroup_columns), .run = run_cgroups,
};
const struct ww_analysis ww_analysis_usage_cpu = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "usage_cpu", .summary = "how busy each CPU was",
	.columns = cpu_columns, .ncolumns = WW_ARRAY_SIZE(cpu_columns), .run = run_cpus,
};
const struct ww_analysis ww_analysis_usage_time = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "usage_time", .summary = "how busy the CPUs were, slice by slice (--every)",
	.columns = time_columns, .ncolumns = WW_ARRAY_SIZE(time_columns), .chart = &time_chart, .run = run_time,
};
const struct ww_analysis ww_analysis_usage_thread_time = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "usage_thread_time", .summary = "who had the CPUs, by thread, slice by slice (--every)",
	.columns = thread_time_columns, .ncolumns = WW_ARRAY_SIZE(thread_time_columns), .run = run_thread_time,
};
const struct ww_analysis ww_analysis_usage_process_time = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "usage_process_time", .summary = "who had the CPUs, by process, slice by slice (--every)",
	.columns = process_time_columns, .ncolumns = WW_ARRAY_SIZE(process_time_columns), .run = run_process_time,
};
const struct ww_analysis ww_analysis_usage_cgroup_time = {
	.needs = WW_NEED(WW_NEED_SWITCHES) | WW_NEED(WW_NEED_CGROUPS),
	.name = "usage_cgroup_time", .summary = "who had the CPUs, by cgroup, slice by slice (--every)",
	.columns = cgroup_time_columns, .ncolumns = WW_ARRAY_SIZE(cgroup_time_columns), .run = run_cgroup_time,
};
