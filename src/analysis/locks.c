/* locks.c - waiting for locks: futexes of user space, locks in the kernel, file locks; by lock and waiter. */
#include "analysis/holders.h"
#include "analysis/names.h"
#include "analysis/ranges.h"
#include "analysis/stacks.h"

extern const struct ww_analysis ww_analysis_locks;

enum { KIND, FOR, PID, OBJECT, WAITER, HOLDER, COUNT, TOTAL, AVG, P99, MAX, MAX_AT, TIMED_OUT, INTERRUPTED, UNFINISHED, OTHER, STACK, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[KIND] = {"kind", "kind", WW_T_STR, "futex, lock (in the kernel), filelock"},
	[FOR] = {"waits_for", "for", WW_T_STR, "lock: one thread at a time has it; event: a condition, a semaphore, a thread's end, which nobody has, as it "
					       "is with a worker that waits for work"},
	[PID] = {"pid", "process", WW_T_ID, "of the waiter; an address is one of its own memory"},
	[OBJECT] = {"object", "lock", WW_T_STR, "address, or the locked file"},
	[WAITER] = {"waiter", "waiter", WW_T_STR, ""},
	[HOLDER] = {"holder", "held by", WW_T_STR, "who had it most of the time waited; of a condition, a semaphore or a thread's end, who ended most of it; empty: not known"},
	[COUNT] = {"count", "waits", WW_T_COUNT, "that began in the range"},
	[TOTAL] = {"total_ns", "waited", WW_T_DUR, "together"},
	[AVG] = {"avg_ns", "mean", WW_T_DUR, ""},
	[P99] = {"p99_ns", "99 %", WW_T_DUR, ""},
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[MAX_AT] = {"max_ts_ns", "at", WW_T_TIME, "when the longest one began"},
	[TIMED_OUT] = {"timed_out", "timed out", WW_T_COUNT, "of these: a timeout ended it"},
	[INTERRUPTED] = {"interrupted", "by a signal", WW_T_COUNT, "of these: a signal ended it, or the end of the process"},
	[UNFINISHED] = {"unfinished", "not over", WW_T_COUNT, "of these: it lasted until the end of the trace"},
	[OTHER] = {"other_ns", "in earlier ones", WW_T_DUR, "of waits that began before the range, what of them is in it"},
	[STACK] = {"stack", "called from, innermost first", WW_T_TEXT,
		   "the program's functions in the longest one; empty: not recorded (record --stacks, perf record -g, LTTng's callstack-user)"},
};

struct sum {
	uint32_t thread, file, count, timed_out, interrupted, unfinished, longest; /* longest: a state row */
	uint8_t kind; /* a cause */
	bool held;    /* one thread at a time has it */
	uint64_t object;
	int64_t ns, max, max_at, other;
};

struct waits {
	WW_VEC(uint32_t) states, rows;
};

static int longest_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	const int64_t i = x->ns + x->other, k = y->ns + y->other;

	return i < k ? 1 : i > k ? -1 : 0;
}

/* Of everybody: behind what somebody had are the waits for something to happen, of which most are idle. */
static int locks_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->held != y->held ? y->held - x->held : longest_first(a, b);
}

/* A wait that began before the range is in its row for what of it is in the range, and in no other figure. */
static void add(const struct ww_facts *f, const struct ww_query *q, uint32_t i, enum ww_cause kind, struct ww_rows *rows,
		struct waits *waits, struct ww_samples *samples)
{
	uint32_t t = f->state.thread[i];
	uint64_t object = ww_state_object(f, i) ? ww_state_object(f, i) : ww_state_file(f, i);
	struct sum *s = ww_rows_get(rows, ww_hash_mix(ww_hash_mix(object, t), kind));
	uint32_t row = ww_rows_index(rows, s);

	s->thread = t;
	s->kind = (uint8_t)kind;
	s->held |= ww_lock_has_holder(f, i);
	s->object = ww_state_object(f, i);
	s->file = ww_state_file(f, i);
	*ww_vec_push(&waits->states) = i;
	*ww_vec_push(&waits->rows) = row;
	if (!ww_query_holds(q, f->state.start_ts_ns[i])) {
		s->other += ww_query_part(q, f->state.start_ts_ns[i], f->state.dur_ns[i]);
		s->longest = s->count ? s->longest : i;
		return;
	}
	s->count++;
	s->timed_out += f->state.cause[i] == WW_CA_TIMER;
	s->interrupted += f->state.cause[i] == WW_CA_SIGNAL;
	s->unfinished += ww_lock_wait_open(f, i);
	s->ns += f->state.dur_ns[i];
	if (f->state.dur_ns[i] > s->max || s->count == 1) {
		s->max = f->state.dur_ns[i];
		s->max_at = f->state.start_ts_ns[i];
		s->longest = i;
	}
	ww_samples_push(samples, row, f->state.dur_ns[i]);
}

static bool put(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct ww_share *most = (const struct ww_share *)x->ctx + row;
	const struct ww_facts *f = x->f;
	const struct sum *s = sum;

	c[KIND].s = ww_cause_name((enum ww_cause)s->kind);
	c[FOR].s = s->held ? "lock" : "event";
	c[PID].i = f->thread.pid[s->thread];
	c[OBJECT].s = s->object ? ww_arena_printf(x->mem, "0x%" PRIx64, s->object)
				: s->file < f->file.n ? ww_name_file(f, s->file) : "";
	c[WAITER].s = ww_name_thread(x->mem, f, s->thread);
	c[COUNT].i = s->count;
	c[TOTAL].i = s->ns;
	c[AVG].i = s->count ? s->ns / s->count : WW_NO_VALUE;
	c[MAX].i = s->count ? s->max : WW_NO_VALUE;
	c[MAX_AT].i = s->count ? s->max_at : WW_NO_VALUE;
	c[OTHER].i = s->other;
	c[TIMED_OUT].i = s->timed_out;
	c[INTERRUPTED].i = s->interrupted;
	c[UNFINISHED].i = s->unfinished;
	c[STACK].s = ww_stack_text(x->mem, f, ww_stack_of_wait(f, s->longest, false));
	c[HOLDER].s = most->ns ? ww_name_thread(x->mem, f, most->thread) : "";
	c[P99].i = ww_samples_part(x->samples, row, 990);
	return true;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_samples samples = {0};
	struct ww_rows rows, holders;
	struct waits waits = {0};

	ww_rows_init(&rows, sizeof(struct sum));
	ww_rows_init(&holders, sizeof(struct ww_share));
	for (uint32_t t = 0; t < f->thread.n; t++) {
		uint32_t first, n;

		if (!ww_query_meets(f, q, t) || !ww_query_takes(f, q, t))
			continue;
		ww_facts_states(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
		for (uint32_t i = first; i < first + n; i++) {
			const enum ww_cause kind = ww_lock_wait(f, i);

			if (kind != WW_CA_NONE && ww_query_takes_at(f, q, t, f->state.start_ts_ns[i]))
				add(f, q, i, kind, &rows, &waits, &samples);
		}
	}
	ww_holders_share(f, waits.states.v, waits.rows.v, (uint32_t)waits.states.n, &holders);
	ww_vec_free(&waits.states);
	ww_vec_free(&waits.rows);
	const struct ww_share *most = ww_share_largest(mem, &holders, rows.n);
	ww_rows_release(&holders);
	const struct ww_fill fill = {
		.analysis = &ww_analysis_locks, .f = f, .q = q, .mem = mem,
		.order = q->command_only || ww_query_asks(q) ? longest_first : locks_first, .put = put, .samples = &samples, .ctx = most,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

const struct ww_analysis ww_analysis_locks = {
	.needs = WW_NEED(WW_NEED_SWITCHES) | WW_NEED(WW_NEED_LOCK_WAITS),
	.parts = WW_NEED(WW_NEED_SYSCALLS) | WW_NEED(WW_NEED_LOCKS),
	.name = "locks", .summary = "waiting for futexes and locks: which, who waited, who held it, how long",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run, .of_command = true,
};
