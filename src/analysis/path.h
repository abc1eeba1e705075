/* path.h - the critical path: the chain of activity that decided when the target finished.
 *
 *   struct ww_path p;  ww_path_make(&mem, &set, host, &query, &p, &err);
 *   for (i..) ... p.segments[i], ww_segment_detail(&mem, &p, &p.segments[i]) ...
 *
 * Backward from the end (Giraldeau & Dagenais, "Wait analysis of distributed systems using kernel tracing",
 * TPDS 27(8), 2016), over the same edges as the chains of chain.h, on one host or a set of hosts: while the
 * thread that the path is on runs or is ready, the time is that thread's; where it was blocked, the path goes
 * over to what ended the wait, and follows that back to the begin of the wait; there it comes back to the
 * thread that waited. So the path is the wait tree with every wait replaced by what explains it, down to the
 * bottom, and its sums agree with report and tree.
 *
 * Example: A blocks in read of a pipe 0..10 and computes until 12; B writes at 10, but sleeps 2..7:
 *   A blocked pipe 0..10, A running 10..12  ->  B running 0..2, B timer 2..7, B running 7..10, A running 10..12
 *
 * in     set    facts of all hosts with their corrections (src/clock/set.h); must outlive the path
 * out    segments oldest first, contiguous, never empty; durations sum to to - from exactly; what the traces
 *        do not show is a segment `unknown`
 * owner  mem
 * error  -WW_ENOTHREAD no target
 * loss   segments that overlap a gap of their host, or whose wait does, are uncertain
 * cost   O(rows on the path + its edges * log rows); no recursion
 */
#ifndef WW_PATH_H
#define WW_PATH_H

#include "analysis/target.h"
#include "clock/set.h"

/* Why the path came to where it is, seen backward in time. */
enum ww_via_kind {
	WW_VIA_END,     /* the target's end, or that of the asked range */
	WW_VIA_WOKE,    /* it woke the one that waited */
	WW_VIA_WAIT,    /* its wait, which the path has explained, began here */
	WW_VIA_FORKED,  /* it created the thread */
	WW_VIA_SUBMIT,  /* it submitted the block request */
	WW_VIA_ARMED,   /* it armed the timer */
	WW_VIA_SENT,    /* it sent the packet */
	WW_VIA_QUEUED,  /* it queued the work */
	WW_VIA_ENDED,   /* the trace does not show who woke, but the call's result says whose doing it was */
	WW_VIA_N
};
const char *ww_via_name(enum ww_via_kind k); /* "woke", "fork" ... */

/* The path goes over from one to another. `from` acted, `to` was let go by it; of WW_VIA_WAIT: `from` went to
 * wait for `to`. WW_NONE: no thread. */
struct ww_arrow {
	int64_t ts_ns; /* the set's time */
	uint32_t from_host, from_thread, to_host, to_thread;
	uint32_t fact; /* wakeup, block_io, timer, packet or work row by kind, of from_host (WOKE, SENT: of to_host
			* and from_host); of WW_VIA_WAIT the state row of from's wait; WW_NONE */
	uint8_t kind;  /* enum ww_via_kind */
};

/* A thread that the path is on, because of a wait of another (`up`). One visit may come in pieces: between
 * them it waits itself, for visits below it. */
struct ww_visit {
	uint32_t host, thread;
	uint32_t up;       /* visit whose wait this one explains; WW_NONE: the target's */
	uint32_t wait_row; /* state row of that wait, of up's host */
	uint32_t depth;    /* 0: the target */
};

struct ww_segment {
	int64_t start_ns, dur_ns; /* the set's time */
	uint32_t thread;    /* index in the host's facts: who ran, was ready, or whose wait ends the chain here;
			     * WW_NONE: the wire, a timer of the network, or nobody known */
	uint32_t visit, arrow; /* indexes: the visit that it belongs to; why the path came here */
	uint32_t row;       /* state row of `thread`; of what is no thread's: of the wait that it ended, which is the
			     * visit's; WW_NONE */
	uint32_t fact;      /* what had the matter in hand: row of block_io, timer, packet or work; WW_NONE */
	uint32_t other;     /* preempted, runqueue: who had the CPU; WW_NONE */
	uint16_t host;
	uint8_t thing;      /* enum ww_waker: kind of `fact`; WW_WK_UNKNOWN none */
	uint8_t state;      /* enum ww_thread_state; WW_ST_BLOCKED: `cause` ends the chain here */
	uint8_t cause;      /* enum ww_cause, of a blocked one */
	uint8_t certainty;  /* enum ww_certainty */
	uint8_t note;       /* enum ww_path_note */
};

enum ww_path_note {
	WW_PN_NONE,
	WW_PN_UNBORN,    /* before the thread was there, and nobody knows who made it */
	WW_PN_NO_ROW,    /* nothing recorded of the thread */
	WW_PN_NO_SENDER, /* a packet of which the trace does not show who or what sent it */
	WW_PN_NO_ARMER,  /* the same of a timer */
	WW_PN_CIRCLE,    /* the waits point at each other */
	WW_PN_DELACK,    /* the timer that sends a delayed ACK */
	WW_PN_NAGLE,     /* ... and data of the other side waited for that ACK (Nagle's algorithm) */
};

struct ww_path {
	const struct ww_set *set;
	uint32_t host;           /* the target's */
	struct ww_target target;
	int64_t from_ns, to_ns;  /* the set's time */
	struct ww_segment *segments;
	struct ww_visit *visits;
	struct ww_arrow *arrows; /* latest first */
	uint32_t nsegments, nvisits, narrows;
};

/* `host` is the target's host; the query's times are in that host's clock. */
int ww_path_make(struct ww_arena *mem, const struct ww_set *set, uint32_t host, const struct ww_query *q,
		 struct ww_path *ret, struct ww_err *err);

/* ---- a segment in words; strings in `mem` or in the facts ---- */
/* The token: the state of a thread that ran or was ready; the cause of a wait that ends the chain; "unknown". */
const char *ww_segment_kind(const struct ww_segment *s);
/* "vda read 64 KiB, sector 8; queued 1 ms, device 2 ms", "by X (7)", "". `exact` adds what differs each time. */
const char *ww_segment_detail(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s, bool exact);
/* The system call that it is in: "fsync(4 /tmp/x)" or, not exact, "fsync"; NULL none. */
const char *ww_segment_call(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s, bool exact);
/* Why the path came here: "woke consumer (202) in write(4 pipe)", "the end of consumer (202)". */
const char *ww_segment_via(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s);

/* ---- who and what owns how much of the path ---- */
enum ww_share_kind {
	WW_SH_KIND,   /* sums to the whole: "running-user", "disk" */
	WW_SH_HOST,   /* sums to the whole; the wire is its sender's host's */
	WW_SH_THREAD, /* sums to the whole; what is no thread's has thread WW_NONE and a name */
	/* The others overlap: time on the path while a wait for it was being explained, on any level. */
	WW_SH_FILE, WW_SH_LOCK, WW_SH_DEVICE,
	WW_SH_N
};

struct ww_path_share {
	uint8_t kind;        /* enum ww_share_kind */
	uint32_t host, thread;
	const char *name;    /* kind's token, host, file, "futex 0x7f..", device */
	int64_t ns;
	uint32_t count;      /* segments */
};

struct ww_path_sum {
	struct ww_path_share *shares; /* by kind, in each the longest first */
	uint32_t first[WW_SH_N + 1]; /* shares of kind k: first[k] .. first[k + 1] - 1 */
	int64_t nagle_ns;        /* Nagle's algorithm against delayed ACKs */
	uint32_t nagle_count;
	int64_t uncertain_ns;
};

void ww_path_sum(struct ww_arena *mem, const struct ww_path *p, struct ww_path_sum *ret);

#endif
