/* model.h - events -> facts: the kernel's state machine, for every producer's events.
 *
 *   struct ww_facts f; ww_facts_init(&f); ww_model_run(trace, NULL, &f, &err); ... ww_facts_release(&f);
 */
#ifndef WW_MODEL_H
#define WW_MODEL_H

#include "facts/facts.h"
#include "format/format.h"

struct ww_model_opts {
	/* Called every some thousand events; a true return stops reading. May be NULL. */
	bool (*progress)(void *ctx, uint64_t events);
	void *progress_ctx;
	/* Event names (canonical, vocab.h) to behave as if they were absent; for tests of `unknown`.
	 * NULL-terminated, may be NULL. */
	const char *const *without;
	/* Only facts->packet (without threads) and the time range: for traces that are only synchronised. */
	bool packets_only;
	/* With packets_only, so that the packets of a long trace need not be in memory at once: called with the first n of
	 * facts->packet, which no later event changes and which are then taken away. Their `match` says whether the other
	 * end is on this host, not where. What is left is in the facts at the end. May be NULL. */
	void (*packets)(void *ctx, const struct ww_facts *f, uint32_t n);
	void *packets_ctx;
	bool one_thread; /* no thread of its own reads ahead: several traces are read at once */
};

/* ww_model_run - reads the whole trace and appends, then seals, the facts.
 * error  what ww_trace_next returns; -WW_EUNSUPPORTED when the trace has no scheduling events (unless packets_only)
 * loss   facts->loss, facts->gap; states that overlap a gap are WW_UNCERTAIN */
int ww_model_run(struct ww_trace *trace, const struct ww_model_opts *opts, struct ww_facts *facts,
		 struct ww_err *err);

#endif
