/* ranges.c - the rows of a range: by binary search in what stands in the order of time, or was put so by sealing. */
#include "analysis/ranges.h"

static int lower_first(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

const uint32_t *ww_query_runs(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, uint32_t *ret_n)
{
	/* one that ends where the range begins is there, too */
	const int64_t from = WW_MAX(q->from_ts_ns, f->begin_ts_ns) - 1;
	uint32_t n = 0, first, count;

	if (q->from_ts_ns <= f->begin_ts_ns && q->to_ts_ns > f->end_ts_ns) {
		*ret_n = f->run.n;
		return NULL;
	}
	for (uint32_t cpu = 0; cpu < f->host.ncpus; cpu++) {
		ww_facts_runs(f, cpu, from, q->to_ts_ns, &first, &count);
		n += count;
	}
	uint32_t *rows = WW_ARENA_ARRAY(mem, uint32_t, (size_t)n + 1);
	*ret_n = n;
	n = 0;
	for (uint32_t cpu = 0; cpu < f->host.ncpus; cpu++) {
		ww_facts_runs(f, cpu, from, q->to_ts_ns, &first, &count);
		if (count) /* no index is made for an empty range */
			memcpy(rows + n, f->run_of_cpu + first, count * sizeof(*rows));
		n += count;
	}
	if (n)
		qsort(rows, n, sizeof(*rows), lower_first);
	return rows;
}

void ww_query_times(const struct ww_query *q, const int64_t *times, uint32_t n, uint32_t *ret_first, uint32_t *ret_end)
{
	*ret_first = ww_first_at(times, NULL, 0, n, q->from_ts_ns);
	*ret_end = WW_MAX(ww_first_at(times, NULL, 0, n, q->to_ts_ns), *ret_first);
}

static uint32_t first_seen_at(const struct ww_facts *f, int64_t ts_ns)
{
	uint32_t lo = 0, hi = f->block_io.n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (ww_facts_block_seen(f, mid) < ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void ww_block_range(const struct ww_facts *f, int64_t from_ts_ns, int64_t to_ts_ns, uint32_t *ret_first, uint32_t *ret_end)
{
	*ret_first = first_seen_at(f, from_ts_ns);
	*ret_end = WW_MAX(first_seen_at(f, to_ts_ns), *ret_first);
}

void ww_query_call_waits(const struct ww_facts *f, const struct ww_query *q, uint32_t t, ww_call_wait_fn add, void *ctx)
{
	uint32_t first, n;

	ww_facts_states(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
	for (uint32_t i = first; n && i < f->state_first[t + 1]; i++) {
		const uint32_t call = f->state.syscall[i];
		const bool later = call < f->syscall.n && f->syscall.start_ts_ns[call] >= q->to_ts_ns;

		if (i >= first + n && (later || f->state.state[i] == WW_ST_RUNNING_USER))
			break; /* behind the range, only of the call in which it ends */
		if (f->state.state[i] != WW_ST_BLOCKED || call >= f->syscall.n || !ww_query_takes_at(f, q, t, f->syscall.start_ts_ns[call]))
			continue;
		/* what a call leaves for the way back to user code is named after it, and waited behind its end */
		const bool whole = ww_call_is_whole(f, call) && ww_query_holds(q, f->syscall.start_ts_ns[call]) &&
				   f->state.start_ts_ns[i] < f->syscall.start_ts_ns[call] + f->syscall.dur_ns[call];
		const int64_t ns = whole ? f->state.dur_ns[i] : ww_query_part(q, f->state.start_ts_ns[i], f->state.dur_ns[i]);

		if (ns > 0)
			add(ctx, f, i, whole, ns);
	}
}
