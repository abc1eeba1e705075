/* facts.c - life of the facts, sealing and the look-ups by time. */
#include <pthread.h>
#include <stdlib.h>

#include "base/par.h"
#include "facts/facts.h"
#include "facts/facts_private.h"

void ww_facts_init(struct ww_facts *f)
{
	memset(f, 0, sizeof(*f));
	ww_strtab_init(&f->strs);
	ww_arena_init(&f->mem);
	f->target = WW_NONE;
	f->target_status = -1;
	f->host.name = f->host.clock_name = f->host.clock_uuid = "";
	f->host.kernel_release = f->host.trace_path = f->host.tracer = "";
	const struct ww_state_more none = WW_STATE_MORE_NONE;
	ww_state_more_push(f, &none);
}

#define WW_X(type, col, none)                                                       \
	void ww_state_set_##col(struct ww_facts *f, uint32_t row, type v)           \
	{                                                                           \
		if (ww_state_##col(f, row) == v)                                    \
			return;                                                     \
		if (!f->state.more[row]) {                                          \
			const struct ww_state_more nothing = WW_STATE_MORE_NONE;    \
			f->state.more[row] = ww_state_more_push(f, &nothing);       \
		}                                                                   \
		f->state_more.col[f->state.more[row]] = v;                          \
	}
WW_STATE_MORE(WW_X)
#undef WW_X

void ww_facts_release(struct ww_facts *f)
{
	if (!f)
		return;
	ww_facts_columns_release(f);
	free(f->state_first);
	free(f->run_first);
	free(f->syscall_first);
	ww_marks_release(&f->state_marks);
	ww_marks_release(&f->run_marks);
	ww_strtab_release(&f->strs);
	ww_arena_release(&f->mem);
	memset(f, 0, sizeof(*f));
}

/* What is done last, side by side: the longest come first. */
enum { INTERRUPTS, PACKETS, LAST };

static void seal_rows(void *ctx, uint32_t which)
{
	struct ww_facts *f = ctx;

	if (which == INTERRUPTS)
		ww_facts_sort_interrupts(f);
	else
		ww_facts_find_openers(f);
}

/* The same of the indices. */
enum { SYSCALLS, STATES, RUNS, INDICES };

static void index_rows(void *ctx, uint32_t which)
{
	struct ww_facts *f = ctx;
	struct ww_pages *runs = &f->pages[WW_COLUMN_RUN_OF_CPU], *calls = &f->pages[WW_COLUMN_SYSCALL_OF_THREAD];

	switch (which) {
	case SYSCALLS:
		f->syscall_first = ww_facts_group(calls, f->syscall.thread, f->syscall.start_ts_ns, f->syscall.n,
						  f->thread.n);
		f->syscall_of_thread = calls->p;
		break;
	case STATES:
		ww_facts_mark_states(f);
		break;
	default:
		f->run_first = ww_facts_group(runs, f->run.cpu, f->run.start_ts_ns, f->run.n, f->host.ncpus);
		f->run_of_cpu = runs->p;
		ww_facts_mark_runs(f);
		break;
	}
}

void ww_facts_index(const struct ww_facts *facts)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
	struct ww_facts *f = (struct ww_facts *)(uintptr_t)facts;

	WW_DASSERT(f->sealed);
	if (WW_LIKELY(atomic_load_explicit(&f->indexed, memory_order_acquire)))
		return;
	pthread_mutex_lock(&making);
	if (!f->indexed) {
		ww_par_run(INDICES, index_rows, f);
		f->indexed = true;
	}
	pthread_mutex_unlock(&making);
}

static bool are_below(const uint32_t *v, uint32_t n, uint32_t end)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		most = WW_MAX(most, v[i]);
	return !n || most < end;
}

int ww_facts_seal(struct ww_facts *f, struct ww_err *err)
{
	uint32_t ncpus = f->host.ncpus;

	if (f->sealed)
		return 0;
	for (uint32_t i = 0; i < f->run.n; i++)
		if (f->run.cpu[i] >= ncpus)
			ncpus = f->run.cpu[i] + 1;
	f->host.ncpus = ncpus;
	ww_touch_free(f->touch);
	f->touch = NULL;
	if (ncpus > (1u << 20) || !are_below(f->syscall.thread, f->syscall.n, f->thread.n) || !ww_facts_sort_states(f))
		return ww_err_set(err, WW_EINTERNAL, NULL, WW_ERR_NO_OFFSET,
				  "a fact names a thread or CPU that does not exist");
	ww_facts_sort_cgroup_moves(f);
	ww_par_run(LAST, seal_rows, f);
	f->sealed = true;
	return 0;
}

static uint32_t first_call_at(const struct ww_facts *f, uint32_t lo, uint32_t hi, int64_t ts_ns)
{
	return ww_first_at(f->syscall.start_ts_ns, f->syscall_of_thread, lo, hi, ts_ns);
}

void ww_facts_calls(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		    uint32_t *ret_first, uint32_t *ret_n)
{
	ww_facts_index(f);
	const uint32_t end = f->syscall_first[thread + 1];

	*ret_first = first_call_at(f, f->syscall_first[thread], end, from_ts_ns);
	*ret_n = first_call_at(f, *ret_first, end, WW_MAX(from_ts_ns, to_ts_ns)) - *ret_first;
}

/* Between which rows of first .. end - 1 the first one at or after ts is, as far as the marks tell: *lo .. *hi. */
static void narrow(const struct ww_marks *m, uint32_t step, int64_t ts_ns, uint32_t *lo, uint32_t *hi)
{
	const uint32_t none = (*lo + step - 1) / step, end = (*hi + step - 1) / step,
		       a = ww_first_at(m->start_ns, NULL, none, end, ts_ns);

	if (a > none)
		*lo = (a - 1) * step;
	if (a < end)
		*hi = a * step;
}

/* The first of the rows lo .. hi - 1 that starts at or after ts; hi: none does. */
static uint32_t first_state_at(const struct ww_facts *f, uint32_t lo, uint32_t hi, int64_t ts_ns)
{
	if (atomic_load_explicit(&f->indexed, memory_order_acquire))
		narrow(&f->state_marks, WW_STATE_MARK_ROWS, ts_ns, &lo, &hi);
	return ww_first_at(f->state.start_ts_ns, NULL, lo, hi, ts_ns);
}

static bool state_ends_after(const struct ww_facts *f, uint32_t i, int64_t ts_ns)
{
	return f->state.start_ts_ns[i] + f->state.dur_ns[i] > ts_ns;
}

void ww_facts_states(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		     uint32_t *ret_first, uint32_t *ret_n)
{
	*ret_first = *ret_n = 0;
	if (!f->sealed || thread >= f->thread.n || from_ts_ns >= to_ts_ns)
		return;
	const uint32_t begin = f->state_first[thread], end = f->state_first[thread + 1];
	uint32_t first = first_state_at(f, begin, end, from_ts_ns);

	/* the one before it may be there still, and be followed by some that last no time */
	while (first > begin && state_ends_after(f, first - 1, from_ts_ns))
		first--;
	while (first < end && !state_ends_after(f, first, from_ts_ns))
		first++;
	*ret_first = first;
	*ret_n = WW_MAX(first_state_at(f, first, end, to_ts_ns), first) - first;
}

/* The same for positions in run_of_cpu. */
static uint32_t first_run_at(const struct ww_facts *f, uint32_t lo, uint32_t hi, int64_t ts_ns)
{
	narrow(&f->run_marks, WW_RUN_MARK_ROWS, ts_ns, &lo, &hi);
	return ww_first_at(f->run.start_ts_ns, f->run_of_cpu, lo, hi, ts_ns);
}

static bool run_ends_after(const struct ww_facts *f, uint32_t position, int64_t ts_ns)
{
	const uint32_t row = f->run_of_cpu[position];

	return f->run.start_ts_ns[row] + f->run.dur_ns[row] > ts_ns;
}

void ww_facts_runs(const struct ww_facts *f, uint32_t cpu, int64_t from_ts_ns, int64_t to_ts_ns,
		   uint32_t *ret_first, uint32_t *ret_n)
{
	*ret_first = *ret_n = 0;
	if (!f->sealed || cpu >= f->host.ncpus || from_ts_ns >= to_ts_ns)
		return;
	ww_facts_index(f);
	const uint32_t begin = f->run_first[cpu], end = f->run_first[cpu + 1];
	uint32_t first = first_run_at(f, begin, end, from_ts_ns);

	while (first > begin && run_ends_after(f, first - 1, from_ts_ns))
		first--;
	while (first < end && !run_ends_after(f, first, from_ts_ns))
		first++;
	*ret_first = first;
	*ret_n = WW_MAX(first_run_at(f, first, end, to_ts_ns), first) - first;
}

uint32_t ww_facts_thread_find(const struct ww_facts *f, int32_t tid, int64_t ts_ns)
{
	uint32_t best = WW_NONE;

	for (uint32_t i = 0; i < f->thread.n; i++)
		if (f->thread.tid[i] == tid && f->thread.start_ts_ns[i] <= ts_ns &&
		    ts_ns <= f->thread.end_ts_ns[i] &&
		    (best == WW_NONE || f->thread.start_ts_ns[i] > f->thread.start_ts_ns[best]))
			best = i;
	return best;
}

const char *ww_facts_str(const struct ww_facts *f, uint32_t id)
{
	return id < f->strs.n ? ww_strtab_get(&f->strs, id) : "";
}
