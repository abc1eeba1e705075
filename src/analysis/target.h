/* target.h - which thread a question is about, over which time, and who belongs to it. */
#ifndef WW_TARGET_H
#define WW_TARGET_H

#include "analysis/analysis.h"

struct ww_target {
	uint32_t thread;       /* thread index */
	int64_t from_ts_ns, to_ts_ns; /* its wall time: life of the thread, cut to the query's range */
	const char *why;       /* how it was found, for people: "the recorded command", "the busiest ..." */
};

/* ww_target_find - the query's thread; without one the recorded command's main thread, else what
 * looks like the workload: the user-space thread that with its descendants ran longest; of its tree
 * the lowest that still has four fifths of that time (so not the shell or the recorder above it).
 * error  -WW_ENOTHREAD no such thread, or none at all in the range */
int ww_target_find(const struct ww_facts *f, const struct ww_query *q, struct ww_target *ret, struct ww_err *err);

/* ww_target_family - the other threads of its process, and its descendants that live in the range,
 * by start. out: indexes in `mem`. */
void ww_target_family(struct ww_arena *mem, const struct ww_facts *f, const struct ww_target *t,
		      uint32_t **ret_threads, uint32_t *ret_n);

/* Is there anything that the query can be about: a thread that it names, a time within the trace?
 * error  -WW_ENOTHREAD no such thread in the trace, or the asked time does not touch the trace */
int ww_query_check(const struct ww_facts *f, const struct ww_query *q, struct ww_err *err);

/* The thread's wall time within the query's range; false when it does not live in it. */
bool ww_thread_range(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		     int64_t *ret_from, int64_t *ret_to);

#endif
