/* load.h - opens a trace and makes facts of it, or takes those that were kept (cache.h), with progress, notes and
 * messages for the person.
 *
 *   struct ww_loaded l;  int rc = ww_load(opts->traces[0], opts, &l);  if (rc) return rc;
 *   ... l.facts, l.query ...   rc = ww_load_status(&l);  ww_load_release(&l);  return rc;
 */
#ifndef WW_LOAD_H
#define WW_LOAD_H

#include "analysis/analysis.h"
#include "clock/set.h"
#include "cmd/opts.h"

struct ww_cache;

struct ww_loaded { /* stays where it is until ww_load_release: the facts may still be being written to their file */
	struct ww_facts facts;
	struct ww_query query; /* from opts; times resolved against this trace */
	char *path;            /* the trace's path */
	struct ww_cache *cache;
};

/* 0, or the exit status after the message was printed on stderr; then nothing is to be released. */
int ww_load(const char *path, const struct ww_opts *opts, struct ww_loaded *ret);
void ww_load_release(struct ww_loaded *l);
/* WW_EXIT_DONE, or WW_EXIT_PARTIAL when events were lost or parts are damaged. */
int ww_load_status(const struct ww_loaded *l);

/* Says on stderr what the trace does not tell; WW_EXIT_PARTIAL when that is all that is asked for. */
int ww_load_note_lacks(const struct ww_lack *lacks, uint32_t n, bool quiet);

struct ww_facts_notes;
/* The facts of a trace, read now, with progress; f is initialised. notes: its damage, to be released. */
int ww_load_model(const char *path, const struct ww_opts *opts, struct ww_facts *f, struct ww_facts_notes *notes,
		  struct ww_err *err);

/* Says on stderr when the recording of the trace at `path` goes on, or did not come to its end. */
void ww_load_note_state(const char *path, const struct ww_opts *o);

struct ww_trace;
/* What a person should know of damage and loss, as -q and -v say. */
void ww_load_notes(FILE *to, const struct ww_trace *t, const struct ww_facts *f, const struct ww_opts *o);

/* Several hosts' traces, one trace each, in one time (clock/set.h). n is at least 1.
 *   struct ww_loaded_set s;  rc = ww_load_set(opts->traces, opts->ntraces, opts, NULL, &s);  if (rc) return rc;
 *   ... s.set, s.host[h].facts, s.host[h].query ...   ww_load_set_release(&s);
 * The times of --from and --to are the set's: of the reference's trace. In host[h].query they are in h's own clock. */
struct ww_loaded_set {
	struct ww_loaded *host; /* of n */
	uint32_t n;
	struct ww_set set;
	struct ww_arena mem;
	const struct ww_facts **facts;
};
/* reference: path as written or host's name of the trace that shall be it; NULL: the one whose clock is known best.
 * 0, or the exit status after the message was printed. */
int ww_load_set(const char *const *paths, uint32_t n, const struct ww_opts *opts, const char *reference,
		struct ww_loaded_set *ret);
void ww_load_set_release(struct ww_loaded_set *s);
int ww_load_set_status(const struct ww_loaded_set *s);

#endif
