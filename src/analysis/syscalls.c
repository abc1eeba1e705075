/* syscalls.c - system calls by name: how many, how long, how much of it waiting, how many failed; of all, and of each
 * process.
 */
#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_syscalls, ww_analysis_syscalls_process;

/* What both tables have, behind the columns that say of what. */
enum { NAME, COUNT, RECORDED, ERRORS, TOTAL, WAITED, OTHER, MIN, AVG, P50, P95, P99, MAX, OPEN, LATE, NSUMS };

#define SUM_COLUMNS(at)                                                                                                  \
	[(at) + NAME] = {"name", "system call", WW_T_STR, ""},                                                           \
	[(at) + COUNT] = {"count", "calls", WW_T_COUNT,                                                                  \
			  "entered in the range; null: of threads whose calls were not all recorded, which have rows of their own"}, \
	[(at) + RECORDED] = {"recorded", "recorded", WW_T_COUNT, "so many of these the trace has; count, where that is known"}, \
	[(at) + ERRORS] = {"errors", "errors", WW_T_COUNT, "returned an error, of those whose return was recorded; null: of none"}, \
	[(at) + TOTAL] = {"total_ns", "together", WW_T_DUR, "from entry to exit, of those that have both; null: none has"}, \
	[(at) + WAITED] = {"blocked_ns", "blocked", WW_T_DUR, "of that its thread was blocked"},                         \
	[(at) + OTHER] = {"other_blocked_ns", "blocked otherwise", WW_T_DUR,                                             \
			  "in the range, threads were blocked in calls that began before it, or of which begin or end is not in the trace"}, \
	[(at) + MIN] = {"min_ns", "shortest", WW_T_DUR, ""},                                                             \
	[(at) + AVG] = {"avg_ns", "mean", WW_T_DUR, ""},                                                                 \
	[(at) + P50] = {"p50_ns", "median", WW_T_DUR, ""},                                                               \
	[(at) + P95] = {"p95_ns", "95 %", WW_T_DUR, ""},                                                                 \
	[(at) + P99] = {"p99_ns", "99 %", WW_T_DUR, ""},                                                                 \
	[(at) + MAX] = {"max_ns", "longest", WW_T_DUR, ""},                                                              \
	[(at) + OPEN] = {"unfinished", "unfinished", WW_T_COUNT, "of these, whose return is not in the trace"},          \
	[(at) + LATE] = {"entered_before", "entered before", WW_T_COUNT,                                                 \
			 "besides: returned, but entered before the trace or by the parent (fork)"}

static const struct ww_column columns[NSUMS] = {SUM_COLUMNS(0)};

enum { PID, COMM, P_SUMS, P_NCOLUMNS = P_SUMS + NSUMS };

static const struct ww_column process_columns[P_NCOLUMNS] = {
	[PID] = {"pid", "process", WW_T_ID, "process id; -1 unknown"},
	[COMM] = {"comm", "name", WW_T_STR, "name of its main thread"},
	SUM_COLUMNS(P_SUMS),
};

struct sum {
	bool in_full; /* its calls were all recorded */
	uint32_t name, thread, count, returned, errors, open, late, done;
	int64_t total, min, max, blocked, other;
};

/* Of which calls a row is: those of a name, or those of a name that a process made; and of threads whose calls were all
 * recorded, or not, since a count of the ones is none of the others. */
struct sums {
	struct ww_rows rows, processes; /* a row of `processes` is a place alone: its number is in the key in `rows` */
	struct ww_samples samples;
	bool by_process;
};

static struct sum *sum_of(const struct ww_facts *f, struct sums *all, uint32_t thread, uint32_t name)
{
	uint64_t who = all->by_process ? ww_rows_index(&all->processes, ww_rows_get(&all->processes, ww_process_key(f, thread))) : 0;
	const bool in_full = f->thread.flags[thread] & WW_TF_CALLS;
	struct sum *s = ww_rows_get(&all->rows, who << 33 | (uint64_t)in_full << 32 | name);

	s->in_full = in_full;
	s->name = name;
	s->thread = thread;
	return s;
}

static void add_call(const struct ww_facts *f, uint32_t i, struct sums *all)
{
	struct sum *s = sum_of(f, all, f->syscall.thread[i], f->syscall.name[i]);
	int64_t ns = f->syscall.dur_ns[i], ret = f->syscall.ret[i];

	if (!(f->syscall.known[i] & (WW_SK_ENTRY | WW_SK_REGS))) {
		/* Since when it was in the call is not known, and a child did not make it. */
		s->late++;
		return;
	}
	s->count++;
	if (!s->in_full)
		return;
	s->returned += !!(f->syscall.known[i] & WW_SK_RET);
	s->errors += (f->syscall.known[i] & WW_SK_RET) && ret < 0 && ret >= -4095;
	if (ns < 0) {
		s->open++;
		return;
	}
	s->total += ns;
	s->max = WW_MAX(s->max, ns);
	s->min = s->done++ ? WW_MIN(s->min, ns) : ns;
	ww_samples_push(&all->samples, ww_rows_index(&all->rows, s), ns);
}

static void add_wait(void *ctx, const struct ww_facts *f, uint32_t state, bool whole, int64_t ns)
{
	struct sum *s = sum_of(f, ctx, f->state.thread[state], f->syscall.name[f->state.syscall[state]]);

	*(whole ? &s->blocked : &s->other) += ns;
}

static void add_thread(const struct ww_facts *f, const struct ww_query *q, uint32_t t, struct sums *all)
{
	uint32_t first, n;

	ww_facts_calls(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
	for (uint32_t k = first; k < first + n; k++) {
		uint32_t i = f->syscall_of_thread[k];
		if (ww_query_takes_at(f, q, t, f->syscall.start_ts_ns[i]))
			add_call(f, i, all);
	}
	ww_query_call_waits(f, q, t, add_wait, all);
}

static int longest_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->in_full != y->in_full)
		return x->in_full ? -1 : 1;
	const int64_t x_ns = x->in_full ? x->total : x->other, y_ns = y->in_full ? y->total : y->other;
	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void put_sums(const struct ww_fill *x, const struct sum *s, uint32_t row, union ww_cell *c)
{
	c[NAME].s = ww_facts_str(x->f, s->name);
	c[COUNT].i = s->in_full ? s->count : WW_NO_VALUE;
	c[RECORDED].i = s->count;
	c[ERRORS].i = s->returned ? s->errors : WW_NO_VALUE;
	c[TOTAL].i = s->done ? s->total : WW_NO_VALUE;
	c[WAITED].i = s->done && x->f->knows.switches ? s->blocked : WW_NO_VALUE;
	c[MIN].i = s->done ? s->min : WW_NO_VALUE;
	ww_samples_put(x->samples, row, s->done, s->total, s->max, &c[AVG]);
	c[OPEN].i = s->in_full ? s->open : WW_NO_VALUE;
	c[LATE].i = s->late;
	c[OTHER].i = x->f->knows.switches ? s->other : WW_NO_VALUE;
}

static bool put(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	put_sums(x, sum, row, c);
	return true;
}

static bool put_process(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[PID].i = x->f->thread.pid[s->thread];
	c[COMM].s = ww_name_comm(x->f, ww_process_main(x->f, s->thread));
	put_sums(x, s, row, c + P_SUMS);
	return true;
}

static int make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		const struct ww_analysis *a)
{
	struct sums all = {.by_process = a == &ww_analysis_syscalls_process};

	ww_rows_init(&all.rows, sizeof(struct sum));
	ww_rows_init(&all.processes, sizeof(char));
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (ww_query_meets(f, q, t) && ww_query_takes(f, q, t))
			add_thread(f, q, t, &all);
	const struct ww_fill fill = {
		.analysis = a, .f = f, .q = q, .mem = mem, .order = longest_first,
		.put = all.by_process ? put_process : put, .samples = &all.samples,
	};
	ww_rows_fill(&fill, &all.rows, ret);
	ww_rows_release(&all.processes);
	return 0;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_syscalls);
}

static int run_processes(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			 struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_syscalls_process);
}

const struct ww_analysis ww_analysis_syscalls = {
	.parts = WW_NEED(WW_NEED_SWITCHES),
	.needs = WW_NEED(WW_NEED_THREADS) | WW_NEED(WW_NEED_SYSCALLS),
	.name = "syscalls", .summary = "system calls by name: how many, how long, how much of it waiting",
	.in_full = WW_TF_CALLS, .columns = columns, .ncolumns = NSUMS, .run = run, .of_command = true,
};
const struct ww_analysis ww_analysis_syscalls_process = {
	.parts = WW_NEED(WW_NEED_SWITCHES),
	.needs = WW_NEED(WW_NEED_THREADS) | WW_NEED(WW_NEED_SYSCALLS),
	.name = "syscalls_process", .summary = "system calls by name, of each process",
	.in_full = WW_TF_CALLS, .columns = process_columns, .ncolumns = P_NCOLUMNS, .run = run_processes, .of_command = true,
};
