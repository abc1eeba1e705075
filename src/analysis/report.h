/* report.h - where the wall time of a thread went, its waits, and what is worth looking at.
 *
 *   struct ww_arena mem; struct ww_report r;
 *   ww_report_make(&mem, facts, &query, &opts, &r, &err);   ... ww_report_text / ww_report_json (src/view)
 *
 * in     facts  sealed, must outlive the report
 * out    breakdown rows sum to wall_ns exactly: what no state covers is a row `unknown`
 * owner  mem
 * error  -WW_ENOTHREAD
 */
#ifndef WW_REPORT_H
#define WW_REPORT_H

#include "analysis/chain.h"
#include "analysis/target.h"

struct ww_breakdown_row {
	uint8_t state, cause;
	const char *syscall; /* "fsync", "" none */
	const char *detail;
	int64_t ns, max_ns, uncertain_ns;
	uint32_t count;      /* intervals */
};

/* Down to the bottom of the chains: what the thread in the end waited for. */
struct ww_blame_row {
	uint32_t thread;     /* WW_NONE: a device, a timer, the network or unknown; of merged rows the first one's */
	uint32_t comm;       /* str: its name at that time */
	const char *who;     /* of merged rows: "cc1 (12)", "cc1 (9 of them)", "" none; else NULL */
	uint8_t state, cause;
	const char *detail;
	int64_t ns;
	uint32_t count;
};

/* What one wait's chain adds to a row of `blame_all`. */
struct ww_blame_share {
	uint32_t row, count;
	int64_t ns;
};

struct ww_thread_report {
	uint32_t thread;
	int64_t from_ts_ns, to_ts_ns, wall_ns;
	int64_t by_state_ns[WW_ST_N]; /* sums to wall_ns */
	struct ww_breakdown_row *rows; /* longest first */
	uint32_t nrows;
	struct ww_link *waits;  /* blocked intervals >= min_dur, by time; chains as opts say */
	uint32_t nwaits;
	uint32_t nwaits_all;    /* before min_dur and top */
	struct ww_blame_row *blame;    /* longest first; sums to the duration of `waits` that have chains */
	uint32_t nblame;
	/* The same wait by wait, for ww_blame_of: wait i has shares[share_first[i] .. share_first[i + 1] - 1]. */
	struct ww_blame_row *blame_all; /* without times, as they came */
	struct ww_blame_share *shares;
	uint32_t *share_first;
};

struct ww_finding {
	int64_t ns;          /* how much time it is about */
	const char *text;    /* one sentence */
	bool running;        /* it is about running, not waiting */
};

struct ww_report {
	const struct ww_facts *facts;
	struct ww_target target;
	struct ww_thread_report main;
	struct ww_thread_report *family; /* other threads of the process and descendants, by start */
	uint32_t nfamily;
	struct ww_finding *findings;
	uint32_t nfindings;
};

struct ww_report_opts {
	bool waits;         /* collect waits and chains of the target */
	bool family_waits;  /* and of its family */
};

/* query: min_dur_ns and top choose the waits (top: the longest), max_depth bounds the chains. */
int ww_report_make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		   const struct ww_report_opts *opts, struct ww_report *ret, struct ww_err *err);

/* Parts of it, for other analyses and tests. */
void ww_breakdown_make(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns,
		       int64_t to_ts_ns, struct ww_thread_report *ret);
/* For a person: rows that differ only in threads' numbers as one ("sleep (9 of them)"), longest first. */
uint32_t ww_breakdown_merge(struct ww_arena *mem, const struct ww_breakdown_row *rows, uint32_t n,
			    struct ww_breakdown_row **ret);
/* Do two details differ in threads' numbers only? */
bool ww_breakdown_alike(struct ww_arena *mem, const char *a, const char *b);
void ww_waits_make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		   struct ww_chain_opts *copts, struct ww_thread_report *io);
void ww_blame_make(struct ww_arena *mem, const struct ww_facts *f, struct ww_thread_report *io);
/* The blame of some of the waits, by their index, rising; after ww_blame_make. */
uint32_t ww_blame_of(struct ww_arena *mem, const struct ww_thread_report *r, const uint32_t *waits, uint32_t n,
		     struct ww_blame_row **ret);
/* "cc1 (12)", by the name that it had; "" no thread. */
const char *ww_blame_who(struct ww_arena *mem, const struct ww_facts *f, const struct ww_blame_row *r);
/* For a person: threads of one name as one, all that a thread ran in the kernel as one, all the times that it was
 * preempted, and all that it queued for a CPU; the detail then says what they were, most first. Longest first. */
uint32_t ww_blame_merge(struct ww_arena *mem, const struct ww_facts *f, const struct ww_blame_row *rows, uint32_t n,
			struct ww_blame_row **ret);
/* What recording the thread's system calls in the range took at most, ns, and how many they are. own_cost.c */
int64_t ww_own_cost_bound(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
			  uint32_t *ret_calls);
void ww_findings_make(struct ww_arena *mem, struct ww_report *io);

#endif
