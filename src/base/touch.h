/* touch.h - a thread that has the kernel make pages before another thread writes to them.
 *
 *   struct ww_touch *t = ww_touch_new();  ww_touch_ask(t, p, bytes);  ...  ww_touch_free(t);
 * What is asked for is only made earlier, never changed; a thread that comes first makes it itself. Where pages are
 * moved or given back, ww_touch_hold before and ww_touch_release after it: in between nothing is touched, and what
 * was asked for before is forgotten. All take NULL, which touches nothing.
 */
#ifndef WW_TOUCH_H
#define WW_TOUCH_H

#include "base/base.h"

struct ww_touch;

/* NULL where the process has one CPU, or the kernel (before 5.14) cannot. */
struct ww_touch *ww_touch_new(void);
void ww_touch_ask(struct ww_touch *t, void *p, size_t bytes);
void ww_touch_hold(struct ww_touch *t);
void ww_touch_release(struct ww_touch *t);
void ww_touch_free(struct ww_touch *t);

#endif
