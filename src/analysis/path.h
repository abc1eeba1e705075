/* path.h - the critical path: the chain of activity that decided when the target finished.
 *
 * Backward from the end (Giraldeau & Dagenais, "Wait analysis of distributed systems using kernel tracing",
 * TPDS 27(8), 2016), over the same edges as the chains of chain.h, on one host or a set of hosts: while the
 * thread that the path is on runs or is ready, the time is that thread's; where it was blocked, the path goes
 * over to what ended the wait.
 *
 * in     set    facts of all hosts with their corrections (src/clock/set.h); must outlive the path
 * out    segments oldest first, contiguous, never empty; durations sum to to - from exactly; what the traces
 *        do not show is a segment `unknown`
 * owner  mem
 * error  -WW_ENOTHREAD no target
 */
#ifndef WW_PATH_H
#define WW_PATH_H

#include "analysis/target.h"
#include "clock/set.h"

struct ww_segment {
	int64_t start_ns, dur_ns; /* the set's time */
	uint32_t host;
	uint32_t thread;          /* index in the host's facts; WW_NONE: a device, a timer, the wire, nobody known */
	uint8_t state;            /* enum ww_thread_state; WW_ST_BLOCKED: `cause` ends the chain here */
	uint8_t cause;            /* enum ww_cause, of a blocked one */
	uint8_t certainty;        /* enum ww_certainty */
	const char *detail;       /* "vda read 64 KiB", "by X", "" */
	const char *syscall;      /* "fsync"; NULL none */
	const char *via;          /* why the path came here: "woke wl-consumer (202)", "the command's end", ... */
};

struct ww_path {
	const struct ww_set *set;
	uint32_t host;           /* the target's */
	struct ww_target target;
	int64_t from_ns, to_ns;  /* the set's time */
	struct ww_segment *segments;
	uint32_t nsegments;
};

/* `host` is the target's host; the query's times are in that host's clock. */
int ww_path_make(struct ww_arena *mem, const struct ww_set *set, uint32_t host, const struct ww_query *q,
		 struct ww_path *ret, struct ww_err *err);

#endif
