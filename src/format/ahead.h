/* ahead.h - reading ahead in a thread; between format.c and ahead.c only. */
#ifndef WW_FORMAT_AHEAD_H
#define WW_FORMAT_AHEAD_H

#include "format/format.h"

/* As ww_trace_batch and ww_trace_visit, for a trace with t->ahead. */
int ww_ahead_batch(struct ww_trace *t, const struct ww_event **ret, struct ww_err *err);
int ww_ahead_visit(struct ww_trace *t, const struct ww_event *ev, const struct ww_visitor *v, void *ctx,
		   struct ww_err *err);
/* Ends the thread wherever it is; nothing to do without one. */
void ww_ahead_stop(struct ww_trace *t);

#endif
