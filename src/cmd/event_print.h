/* event_print.h - one event as a line of text or as JSON; shared by commands that show raw events. */
#ifndef WW_EVENT_PRINT_H
#define WW_EVENT_PRINT_H

#include <stdio.h>

#include "base/jsonout.h"
#include "format/format.h"

/* "15:51:23.958743628 cpu0 sched_switch: prev_comm=\"bash\" prev_tid=7 ... {vpid=7}"
 * with_offset: begins with "FILE:OFFSET ". 0, or negative when the event cannot be decoded. */
int ww_event_print_text(FILE *out, struct ww_trace *t, const struct ww_event *ev, bool with_offset,
			struct ww_err *err);
/* {"time_ns", "cpu", "stream", "name", "fields": {...}, "context": {...}}, with_offset: and "file", "offset" */
int ww_event_print_json(struct ww_json *j, struct ww_trace *t, const struct ww_event *ev, bool with_offset,
			struct ww_err *err);
/* Time of day in the local zone, to the ns; seconds when the trace does not know the date, cycles of a clock that counts
 * these. */
void ww_event_print_time(FILE *out, const struct ww_trace_info *info, int64_t ts_ns);
/* "1.5 ms"; "1500 cycles" of a clock that counts these. Returns buf. */
const char *ww_event_dur_format(const struct ww_trace_info *info, int64_t dur_ns, char *buf, size_t size);
/* The offset to be added for ns since the epoch; 0 when that is not known. */
int64_t ww_event_offset_ns(const struct ww_trace_info *info);
/* Says on stderr what is damaged and lost; WW_EXIT_DONE or WW_EXIT_PARTIAL. After the last event. */
int ww_trace_note_damage(const struct ww_trace *t, bool quiet, int verbose);

#endif
