/* slices.h - what a window of any width shows: in which state a thread was longest in each of its pixels, how long a
 * CPU was busy.
 *
 * Exact, and as fast for a window over the whole trace as for a millisecond: indexing leaves a mark every so many rows,
 * with the time spent in each state before it. The end of a slice is found between two marks, and what was spent up
 * to there is the mark's sum and the rows from the mark on; a slice is the difference of its two ends.
 *   rows   run 5 | blocked 20 | run 10 | ...   mark at row 2: run 5, blocked 20
 *   up to 3 ns after row 2's start: run 5 + 3, blocked 20
 * Of a facts file only the packed rows around the ends are looked at.
 */
#ifndef WW_SLICES_H
#define WW_SLICES_H

#include "facts/facts.h"

struct ww_slice {
	int64_t in_ns; /* time in that state within the slice; 0: the thread was not there, and state is WW_ST_UNKNOWN */
	uint8_t state; /* enum ww_thread_state; of equal times the lower one */
};
struct ww_cpu_slice {
	int64_t idle_ns, busy_ns; /* what is missing to the slice's length is not known */
};

/* n slices of [from, to), slice i from from + i * (to - from) / n on; n up to 2^20, to - from at least 1 ns.
 * error -WW_EUSAGE no such thread or CPU, or no such window
 * cost  n times: a search among the marks, and up to 1024 rows (for CPUs, 64 of each) */
int ww_facts_slices(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns, uint32_t n,
		    struct ww_slice *ret);
int ww_facts_cpu_slices(const struct ww_facts *f, uint32_t cpu, int64_t from_ts_ns, int64_t to_ts_ns, uint32_t n,
			struct ww_cpu_slice *ret);

#endif
