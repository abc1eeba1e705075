/* state_key.h - what makes the words of two states the same (ww_name_state, not exact; who had the CPU), as numbers:
 * words are then made once for all that are alike, not once a state.
 *
 *   struct ww_state_key k = ww_state_key_make(f, row, from, to);  equal keys (as bytes): equal words
 * Different keys may have the same words.
 */
#ifndef WW_STATE_KEY_H
#define WW_STATE_KEY_H

#include "analysis/analysis.h"

struct ww_state_key {
	uint8_t state, cause;
	uint8_t in_call, by_end, by_key; /* the call that it is in may have no name */
	uint32_t syscall_name, file, io_file, other, peer, dev, detail, other_name, peer_name;
	uint64_t object;
};

/* Of what lies of it in [from, to): that may be another's doing than the rest. */
struct ww_state_key ww_state_key_make(const struct ww_facts *f, uint32_t state, int64_t from_ts_ns, int64_t to_ts_ns);
uint64_t ww_state_key_hash(const struct ww_state_key *k);
/* An interrupt or a taken CPU has nothing to do with the call that it came in. */
static inline bool ww_state_has_call(enum ww_thread_state s)
{
	return s == WW_ST_BLOCKED || s == WW_ST_RUNNING_KERNEL || s == WW_ST_RUNNING;
}

#endif
