/* ahead.h - what page faults read ahead of a file, and what of it the program's faults came to later.
 *
 *   ww_ahead_make(mem, f, &a, err);   a[fault].ahead_bytes ...
 *
 * A fault brings its own page into the page cache and others with it (page_in rows). When a page is asked for, the
 * kernel maps those around it too that are there already, so that they need no fault of their own (fault-around):
 * 64 KB, as the address is aligned. So of what was read ahead there are three kinds:
 *   asked    a later fault was for the page: it was used
 *   mapped   it was mapped with one that was asked for: whether it was used, nobody sees
 *   else     no recorded fault came to it: unused, but for read() and for programs that were not recorded
 * Example: a fault at page 0 reads 0..31; one at page 16 maps 16..31. Ahead 31 pages; hit 31: asked 1 (16), mapped 30
 * (1..15 with the first, 17..31 with the second).
 */
#ifndef WW_AHEAD_H
#define WW_AHEAD_H

#include "facts/facts.h"

struct ww_ahead {
	int64_t own_bytes;   /* its page */
	int64_t ahead_bytes; /* what else it brought in */
	int64_t hit_bytes;   /* of that, asked or mapped */
	int64_t asked_bytes; /* of that, asked */
};

/* One for each of n faults, row numbers that rise; in `mem`. What came into use is looked for in all faults of the trace,
 * unless these read nothing ahead.
 * error -WW_ELIMIT more pages than are believed
 * cost  O((page_in + fault) * log page_in), and 2 bits a page for the time of the call */
int ww_ahead_make(struct ww_arena *mem, const struct ww_facts *f, const uint32_t *faults, uint32_t n,
		  const struct ww_ahead **ret, struct ww_err *err);

#endif
