/* touch.h - a thread that has the kernel make pages before another thread writes to them.
 *
 *   struct ww_touch *t = ww_touch_new();  ww_touch_ask(t, p, bytes);  ...  ww_touch_free(t);
 * What is asked for is only made earlier, never changed; a thread that comes first makes it itself. Where pages are
 * moved, ww_touch_hold before and ww_touch_release after it, and in between, when nothing is touched, ww_touch_moved
 * for each range that is elsewhere now. Pages are given back after ww_touch_free. All take NULL, which touches nothing.
 */
#ifndef WW_TOUCH_H
#define WW_TOUCH_H

#include "base/base.h"

struct ww_touch;

/* NULL where the process has one CPU, or the kernel (before 5.14) cannot. */
struct ww_touch *ww_touch_new(void);
/* p: at the begin of a page, else nothing is done. */
void ww_touch_ask(struct ww_touch *t, void *p, size_t bytes);
void ww_touch_hold(struct ww_touch *t);
void ww_touch_moved(struct ww_touch *t, const void *from, size_t bytes, void *to);
void ww_touch_release(struct ww_touch *t);
void ww_touch_free(struct ww_touch *t);

#endif
