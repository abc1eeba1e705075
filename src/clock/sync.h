/* sync.h - the clocks of many hosts, from their packets, one host after the other.
 *
 *   struct ww_sync *s = ww_sync_new();
 *   for each host: ww_sync_add(s, facts);                facts may be released then; or, several hosts at once,
 *                  part = ww_sync_part_new(), ww_sync_part_end(part, facts) by any thread, then in order
 *                  ww_sync_join(s, part); packets that are taken away from the facts before the end are
 *                  given by ww_sync_part_take(part, facts, n)
 *   ww_sync_solve(s, &mem, &opts, &set, &err);           set.corrections, set.pairs; set.hosts is NULL
 *   ... ww_sync_match(s, host, packet) ...
 *   ww_sync_free(s);
 *
 * Every pair of hosts has a hull (hull.h). Pairs with the same clock by its uuid need none. A spanning tree of
 * the best pairs (class first, then bound) leads from every host to the reference; a host's correction is its
 * path's fits, one after the other, and its bound the sum of theirs over the host's own range.
 *
 * A pair that no steady clocks satisfy is tried with a line that bends (pieces.h: a slewed clock), WW_AC_APPROXIMATE;
 * where that fails too (a clock that was set), the pair is WW_AC_FAIL and right until the clock was set.
 */
#ifndef WW_SYNC_H
#define WW_SYNC_H

#include "clock/set.h"

struct ww_sync;

struct ww_sync *ww_sync_new(void);
void ww_sync_free(struct ww_sync *s);
void ww_sync_add(struct ww_sync *s, const struct ww_facts *f);
struct ww_sync_part;
struct ww_sync_part *ww_sync_part_new(void);
/* The first n of the packets. */
void ww_sync_part_take(struct ww_sync_part *p, const struct ww_facts *f, uint32_t n);
/* All packets that are there, and the host; no more come. */
void ww_sync_part_end(struct ww_sync_part *p, const struct ww_facts *f);
/* Takes the part over. */
void ww_sync_join(struct ww_sync *s, struct ww_sync_part *p);
void ww_sync_part_free(struct ww_sync_part *p);
/* The hosts' numbers are the order in which they came, on which nothing else depends but which of equally good references is taken.
 * error -WW_ELIMIT too many hosts or packets; -WW_EUSAGE no host is called opts->reference; two traces are the same recording. `ret` is in mem. */
int ww_sync_solve(struct ww_sync *s, struct ww_arena *mem, const struct ww_set_opts *opts, struct ww_set *ret,
		  struct ww_err *err);
/* The other end of a packet on another host. */
struct ww_packet_ref ww_sync_match(const struct ww_sync *s, uint32_t host, uint32_t packet);

#endif
