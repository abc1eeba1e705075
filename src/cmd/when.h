/* when.h - the times and events that a person names (--from, --to, --between) -> a place in a trace. */
#ifndef WW_WHEN_H
#define WW_WHEN_H

#include "base/base.h"
#include "base/err.h"

struct ww_event_place {
	int64_t ts_ns; /* the trace's clock */
	int32_t cpu;
	int32_t left_tid;  /* of a switch: who had the CPU until then */
	int32_t named_tid; /* whom the event woke, made or put on the CPU; -1: nobody (left_tid: the same) */
	char name[64];     /* the event's */
};
/* The first event after a time that has this name or, where no event of the trace has it, whose name or a string of which
 * has the text in it (reads the trace).
 * error -WW_EUSAGE there is none */
int ww_event_find(const char *path, const char *text, int64_t after_ts_ns, struct ww_event_place *ret,
		  struct ww_err *err);
/* Is it one of the times that ww_time_resolve takes, other than an event's text? */
bool ww_time_parse(int64_t begin_ts_ns, int64_t offset_ns, const char *s, int64_t *ret);
/* A time as a person writes it (--from, --to) -> the trace's clock: +1.5s after begin_ts_ns, the time of
 * day as `events` prints it (local, the day nearest to begin_ts_ns), seconds or ns since the epoch (offset_ns is the
 * clock's), or the first event with this text (reads the trace).
 * error -WW_EUSAGE none of these */
int ww_time_resolve(const char *path, int64_t begin_ts_ns, int64_t offset_ns, const char *s, int64_t *ret,
		    struct ww_err *err);

#endif
