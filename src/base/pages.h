/* pages.h - memory for one long array: on the heap, in anonymous memory, or in an unlinked temporary file.
 *
 *   struct ww_pages g = {0}; int64_t *v = ww_pages_resize(&g, n * 8); ... ww_pages_release(&g);
 * A short one is on the heap. A longer one is mapped, with room behind it. Its head is anonymous memory: small pages, and
 * behind them large ones, as long as all arrays have not more of these than they may. What is behind the head is in a
 * file, which the kernel may write out when memory is short. Files are made in $TMPDIR, else /var/tmp, else /tmp; their
 * blocks are reserved before they are used, so that a full disk is found here and not by a signal. Several arrays share one.
 * Where no file can be had it is on the heap.
 */
#ifndef WW_PAGES_H
#define WW_PAGES_H

#include "base/base.h"

#define WW_PAGES_HEAP_BYTES ((size_t)32 << 10)   /* an array up to this long is on the heap */
#define WW_PAGES_SMALL_BYTES ((size_t)512 << 10) /* of a longer one, in small pages */
#define WW_PAGES_LARGE_BYTES ((size_t)2 << 20)   /* of any machine */
#define WW_PAGES_HEADS_BYTES ((size_t)24 << 20)  /* anonymous large pages of all arrays, unless more are allowed */

struct ww_pages_file;

struct ww_pages { /* zeroed: empty */
	void *p;
	size_t bytes;
	size_t reserved;            /* addresses; 0: on the heap */
	size_t head;                /* bytes that are anonymous; all of them, where there is no file */
	struct ww_pages_file *file; /* NULL none */
	uint64_t offset;            /* in it, of what is behind the head */
};

/* Makes it `bytes` long, which is never less than before; what was there stays, what is new is zero. The array
 * may move. Returns where it is. Ends the process when there is neither disk nor memory, as ww_xmalloc does. */
void *ww_pages_resize(struct ww_pages *g, size_t bytes);
void ww_pages_release(struct ww_pages *g);
/* From now on, until it is said again, all arrays of the process together may have so many bytes of anonymous large pages,
 * but no more than a 32nd of the machine's memory, and no less than WW_PAGES_HEADS_BYTES. */
void ww_pages_allow(size_t bytes);

#endif
