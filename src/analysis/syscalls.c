/* syscalls.c - system calls by name: how many, how long, how much of it waiting, how many failed. */
#include "analysis/rows.h"

extern const struct ww_analysis ww_analysis_syscalls;

enum { NAME, COUNT, ERRORS, TOTAL, WAITED, MIN, AVG, P50, P95, P99, MAX, OPEN, LATE, OTHER, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[NAME] = {"name", "system call", WW_T_STR, ""},
	[COUNT] = {"count", "calls", WW_T_COUNT, "entered in the range"},
	[ERRORS] = {"errors", "errors", WW_T_COUNT, "returned an error, of those whose return was recorded; null: of none"},
	[TOTAL] = {"total_ns", "together", WW_T_DUR, "from entry to exit, of those that have both; null: none has"},
	[WAITED] = {"blocked_ns", "blocked", WW_T_DUR, "of that its thread was blocked"},
	[MIN] = {"min_ns", "shortest", WW_T_DUR, ""},
	[AVG] = {"avg_ns", "mean", WW_T_DUR, ""},
	[P50] = {"p50_ns", "median", WW_T_DUR, ""},
	[P95] = {"p95_ns", "95 %", WW_T_DUR, ""},
	[P99] = {"p99_ns", "99 %", WW_T_DUR, ""},
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[OPEN] = {"unfinished", "unfinished", WW_T_COUNT, "of these, whose return is not in the trace"},
	[LATE] = {"entered_before", "entered before", WW_T_COUNT,
		  "besides: returned, but entered before the trace or by the parent (fork)"},
	[OTHER] = {"other_blocked_ns", "blocked in these", WW_T_DUR,
		   "threads were blocked in calls without begin or end in the range"},
};

struct sum {
	uint32_t name, count, returned, errors, open, late, done;
	int64_t total, min, max, blocked, other;
};

static void add_call(const struct ww_facts *f, uint32_t i, struct ww_rows *rows, struct ww_samples *samples)
{
	struct sum *s = ww_rows_get(rows, f->syscall.name[i]);
	int64_t ns = f->syscall.dur_ns[i], ret = f->syscall.ret[i];

	s->name = f->syscall.name[i];
	if (!(f->syscall.known[i] & (WW_SK_ENTRY | WW_SK_REGS))) {
		/* Since when it was in the call is not known, and a child did not make it. */
		s->late++;
		return;
	}
	s->count++;
	s->returned += !!(f->syscall.known[i] & WW_SK_RET);
	s->errors += (f->syscall.known[i] & WW_SK_RET) && ret < 0 && ret >= -4095;
	if (ns < 0) {
		s->open++;
		return;
	}
	s->total += ns;
	s->max = WW_MAX(s->max, ns);
	s->min = s->done++ ? WW_MIN(s->min, ns) : ns;
	ww_samples_push(samples, ww_rows_index(rows, s), ns);
}

static void add_thread(const struct ww_facts *f, const struct ww_query *q, uint32_t t, struct ww_rows *rows,
		       struct ww_samples *samples)
{
	uint32_t first, n;

	for (uint32_t k = f->syscall_first[t]; k < f->syscall_first[t + 1]; k++) {
		uint32_t i = f->syscall_of_thread[k];
		if (ww_query_holds(q, f->syscall.start_ts_ns[i]))
			add_call(f, i, rows, samples);
	}
	ww_facts_states(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t sc = f->state.syscall[i];
		if (f->state.state[i] != WW_ST_BLOCKED || sc >= f->syscall.n)
			continue;
		struct sum *s = ww_rows_get(rows, f->syscall.name[sc]);
		int64_t ns = ww_query_part(q, f->state.start_ts_ns[i], f->state.dur_ns[i]);
		bool whole = f->syscall.dur_ns[sc] >= 0 && (f->syscall.known[sc] & (WW_SK_ENTRY | WW_SK_REGS)) &&
			     ww_query_holds(q, f->syscall.start_ts_ns[sc]);
		s->name = f->syscall.name[sc];
		*(whole ? &s->blocked : &s->other) += ns;
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool put(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[NAME].s = ww_facts_str(x->f, s->name);
	c[COUNT].i = s->count;
	c[ERRORS].i = s->returned ? s->errors : WW_NO_VALUE;
	c[TOTAL].i = s->done ? s->total : WW_NO_VALUE;
	c[WAITED].i = s->done ? s->blocked : WW_NO_VALUE;
	c[MIN].i = s->done ? s->min : WW_NO_VALUE;
	ww_samples_put(x->samples, row, s->done, s->total, s->max, &c[AVG]);
	c[OPEN].i = s->open;
	c[LATE].i = s->late;
	c[OTHER].i = s->other;
	return true;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_samples samples = {0};
	struct ww_rows rows;

	ww_rows_init(&rows, sizeof(struct sum));
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (ww_query_takes(f, q, t))
			add_thread(f, q, t, &rows, &samples);
	const struct ww_fill fill = {
		.analysis = &ww_analysis_syscalls, .f = f, .q = q, .mem = mem,
		.order = longest_first, .put = put, .samples = &samples,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

const struct ww_analysis ww_analysis_syscalls = {
	.name = "syscalls", .summary = "system calls by name: how many, how long, how much of it waiting",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run, .of_command = true,
};
