/* ranges.h - the rows that a query's range needs, found without looking at the others.
 *
 *   for (uint32_t t = 0; t < f->thread.n; t++)
 *           if (ww_query_meets(f, q, t)) { ww_facts_states(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n); ... }
 *   rows = ww_query_runs(mem, f, q, &n);  ... ww_row_at(rows, k) ...
 *   ww_query_times(q, f->packet.ts_ns, f->packet.n, &first, &end);
 *
 * Of a facts file, a row that is looked at costs the 4096 around it: so a search goes by threads that live in the
 * range alone, and what it finds is put into the order in which the facts have it.
 */
#ifndef WW_RANGES_H
#define WW_RANGES_H

#include "analysis/rows.h"

/* Does the thread live in the range, with some of its states? Its last instant counts. */
static inline bool ww_query_meets(const struct ww_facts *f, const struct ww_query *q, uint32_t thread)
{
	return f->thread.start_ts_ns[thread] < q->to_ts_ns && f->thread.end_ts_ns[thread] >= q->from_ts_ns;
}

/* Runs of which an instant, or the end, is in the range: numbers of rows, as they stand in the facts; in `mem`. NULL: all
 * of them, which is 0 .. *ret_n - 1; ww_row_at reads both. */
const uint32_t *ww_query_runs(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, uint32_t *ret_n);

static inline uint32_t ww_row_at(const uint32_t *rows, uint32_t k)
{
	return rows ? rows[k] : k;
}

/* A call of which entry and exit are in the trace, of the same thread. */
static inline bool ww_call_is_whole(const struct ww_facts *f, uint32_t call)
{
	return f->syscall.dur_ns[call] >= 0 && f->syscall.known[call] & (WW_SK_ENTRY | WW_SK_REGS);
}

/* Of the waits of a thread in system calls, for each that the query is about: whole, it is in a call of which both ends are
 * in the trace and the entry in the range, and ns is all of it, as the call's own time is; else what of it is in the range. */
typedef void (*ww_call_wait_fn)(void *ctx, const struct ww_facts *f, uint32_t state, bool whole, int64_t ns);
void ww_query_call_waits(const struct ww_facts *f, const struct ww_query *q, uint32_t thread, ww_call_wait_fn add, void *ctx);

/* Of n times, which rise, those in the range: *ret_first .. *ret_end - 1. */
void ww_query_times(const struct ww_query *q, const int64_t *times, uint32_t n, uint32_t *ret_first, uint32_t *ret_end);
/* The same of block requests that were first seen in [from, to). */
void ww_block_range(const struct ww_facts *f, int64_t from_ts_ns, int64_t to_ts_ns, uint32_t *ret_first, uint32_t *ret_end);

#endif
