/* own_cost.c - how much of a thread's running time may be the recording itself.
 *
 * Whatever recorder wrote the trace, at each system call it works before the entry's stamp and after the return's,
 * which is counted as user space, and between the two, which is counted as the kernel. Of the first, the shortest time
 * between two calls is a bound; of the second, the shortest call: all calls together cost no more than their number
 * times both.
 */
#include "analysis/report.h"

int64_t ww_own_cost_bound(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns, uint32_t *ret_calls)
{
	int64_t between_ns = INT64_MAX, call_ns = INT64_MAX, end_ns = INT64_MIN;

	*ret_calls = 0;
	ww_facts_index(f);
	for (uint32_t k = f->syscall_first[thread]; k < f->syscall_first[thread + 1]; k++) {
		const uint32_t i = f->syscall_of_thread[k];
		const int64_t at_ns = f->syscall.start_ts_ns[i], dur_ns = f->syscall.dur_ns[i];
		const uint32_t both = WW_SK_ENTRY | WW_SK_EXIT;

		if (at_ns < from_ts_ns || at_ns >= to_ts_ns || (f->syscall.known[i] & both) != both || dur_ns < 0)
			continue;
		if (end_ns != INT64_MIN && at_ns >= end_ns)
			between_ns = WW_MIN(between_ns, at_ns - end_ns);
		call_ns = WW_MIN(call_ns, dur_ns);
		end_ns = at_ns + dur_ns;
		++*ret_calls;
	}
	return *ret_calls > 1 && between_ns < INT64_MAX ? *ret_calls * (between_ns + call_ns) : 0;
}
