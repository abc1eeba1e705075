/* pages.h - memory for one long array: on the heap, in anonymous memory of its own, or in an unlinked temporary file.
 *
 *   struct ww_pages g = {0}; int64_t *v = ww_pages_resize(&g, n * 8); ... ww_pages_release(&g);
 * A short one is on the heap. A longer one has anonymous memory with room behind it, so that it grows where it is, and all
 * of these together no more than WW_PAGES_ANON_BYTES. What is longer still, or finds no place there, is in a file, which the
 * kernel may write out when memory is short. Files are made in $TMPDIR, else /var/tmp, else /tmp; their blocks are reserved before they are used, so that a full
 * disk is found here and not by a signal. Several arrays share one. Where no file can be had it stays on the heap.
 */
#ifndef WW_PAGES_H
#define WW_PAGES_H

#include "base/base.h"

#define WW_PAGES_HEAP_BYTES ((size_t)32 << 10)  /* an array up to this long is on the heap */
#define WW_PAGES_ANON_MOST ((size_t)4 << 20)    /* and up to this long in anonymous memory */
#define WW_PAGES_ANON_BYTES ((size_t)96 << 20)  /* of all arrays of the process */

struct ww_pages_file;

struct ww_pages { /* zeroed: empty */
	void *p;
	size_t bytes;
	size_t reserved;            /* addresses; 0: on the heap */
	struct ww_pages_file *file; /* NULL: on the heap, or anonymous */
	uint64_t offset;            /* in it */
};

/* Makes it `bytes` long, which is never less than before; what was there stays, what is new is zero. The array
 * may move. Returns where it is. Ends the process when there is neither disk nor memory, as ww_xmalloc does. */
void *ww_pages_resize(struct ww_pages *g, size_t bytes);
void ww_pages_release(struct ww_pages *g);

#endif
