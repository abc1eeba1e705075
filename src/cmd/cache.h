/* cache.h - the facts file of a trace (facts/facts_file.h) as the commands use it.
 *
 *   struct ww_cache *c = ww_cache_new(path, opts);
 *   if (!ww_cache_read(c, &facts, &notes)) {
 *           ... read the trace, fill facts and notes ...   ww_cache_keep(c, &facts, &notes);
 *   }
 *   ... the answer ...   ww_cache_wait(c);  ww_facts_release(&facts);  ww_cache_free(c);
 * Whatever goes wrong with the file, the answer comes from the trace; -v says what went wrong.
 */
#ifndef WW_CACHE_H
#define WW_CACHE_H

#include "cmd/opts.h"
#include "facts/facts_file.h"

/* A trace with fewer bytes is read as fast as its facts would be. */
#define WW_CACHE_MIN_BYTES (512u << 10)

struct ww_cache;

/* NULL: not wanted (--no-cache, WHYWAIT_NO_CACHE in the environment), or not worth it. All below take NULL. */
struct ww_cache *ww_cache_new(const char *path, const struct ww_opts *opts);
/* Fills both, which are empty, from the file; false: they are still empty. */
bool ww_cache_read(struct ww_cache *c, struct ww_facts *f, struct ww_facts_notes *notes);
/* A thread of its own writes the sealed facts, which stay where they are, and unchanged, until ww_cache_wait. */
void ww_cache_keep(struct ww_cache *c, const struct ww_facts *f, const struct ww_facts_notes *notes);
/* Waits until the file is written. */
void ww_cache_wait(struct ww_cache *c);
/* After the facts are released. */
void ww_cache_free(struct ww_cache *c);

#endif
