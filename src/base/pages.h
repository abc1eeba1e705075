/* pages.h - memory for one long array: small ones on the heap, large ones in an unlinked temporary file.
 *
 *   struct ww_pages g = {0}; int64_t *v = ww_pages_resize(&g, n * 8); ... ww_pages_release(&g);
 * So the kernel may write them out when memory is short, and they are not anonymous memory. Files are
 * made in $TMPDIR, else /var/tmp, else /tmp; their blocks are reserved before they are used, so that a full
 * disk is found here and not by a signal. Several arrays share one. Where no file can be had it stays on the heap.
 */
#ifndef WW_PAGES_H
#define WW_PAGES_H

#include "base/base.h"

#define WW_PAGES_HEAP_BYTES (1u << 19) /* an array up to this long is on the heap */

struct ww_pages_file;

struct ww_pages { /* zeroed: empty */
	void *p;
	size_t bytes;
	struct ww_pages_file *file; /* NULL: on the heap */
	uint64_t offset;            /* in it */
	size_t reserved;            /* addresses */
};

/* Makes it `bytes` long, which is never less than before; what was there stays, what is new is zero. The array
 * may move. Returns where it is. Ends the process when there is neither disk nor memory, as ww_xmalloc does. */
void *ww_pages_resize(struct ww_pages *g, size_t bytes);
void ww_pages_release(struct ww_pages *g);

#endif
