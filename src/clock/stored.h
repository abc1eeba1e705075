/* stored.h - a trace's clock correction in a file beside it, for later readers.
 *
 * TRACE.whywait-sync; where that directory cannot be written, $XDG_CACHE_HOME/whywait/sync/ (or ~/.cache/...). The
 * trace itself is never touched. The file is a few lines of text; it is believed only when clock, first and last
 * event and number of packets are still those of the trace.
 */
#ifndef WW_STORED_H
#define WW_STORED_H

#include "clock/set.h"

/* Stores the corrections of all hosts that have one. error -WW_EIO, -WW_EPERM: with the first path that failed */
int ww_stored_save(const struct ww_set *s, struct ww_err *err);
/* The corrections of all `n` traces, if all are stored and were made together; false: not. `who` from a set. */
bool ww_stored_load(const struct ww_set_host *who, uint32_t n, struct ww_correction *ret);

#endif
