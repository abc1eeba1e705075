/* packed.h - events as a run of bytes, for handing them from one thread to another.
 *
 * What another CPU is to read should be short and written once, from front to end: each cache line that goes from CPU
 * to CPU costs as much as decoding an event does. An event is 40 bytes, a byte for each value's kind beyond the first
 * five, and 8 bytes a value; texts and bytes of at most WW_PACKED_INLINE stand behind them, with a NUL.
 *
 *   sched_switch with three numbers and "cc1":  head 40 | 8 + 8 + 8 | length 8 | "cc1\0...." 8      = 80 bytes
 */
#ifndef WW_FORMAT_PACKED_H
#define WW_FORMAT_PACKED_H

#include "format/format.h"

#define WW_PACKED_INLINE 64u

/* The most that an event with so many values takes. */
static inline size_t ww_packed_most(uint32_t nval)
{
	return 48 + (size_t)nval * (1 + 8 + 8 + WW_PACKED_INLINE + 8);
}

/* Writes the event to `at`, which is a multiple of 8 with room for ww_packed_most; returns where the next one goes. Texts
 * that are too long are only pointed to. */
char *ww_packed_put(char *at, const struct ww_event *ev);
/* The event at `at`, with its values at `v`; returns where the next one is. Texts are where the run of bytes is. */
const char *ww_packed_get(const char *at, struct ww_event *ret, struct ww_value *v);

#endif
