/* u64map.h - open-addressing hash map from uint64_t to uint64_t.
 *
 * Linear probing, grows at 3/4; deletion by backward shift, so no tombstones. Any key is allowed.
 */
#ifndef WW_U64MAP_H
#define WW_U64MAP_H

#include "base/base.h"

struct ww_u64map {
	struct ww_u64map_slot {
		uint64_t key, value;
	} *slots;       /* key 0: a free one */
	size_t n, cap;  /* keys; slots: 0 or a power of two */
	uint64_t zero;  /* the value of key 0, which has no slot */
	bool has_zero;
};

/* A zeroed struct is an empty map. */
void ww_u64map_release(struct ww_u64map *m);
void ww_u64map_clear(struct ww_u64map *m);
/* NULL when absent; the pointer is valid until the next put or del. */
uint64_t *ww_u64map_find(const struct ww_u64map *m, uint64_t key);
/* Inserts or overwrites. */
void ww_u64map_put(struct ww_u64map *m, uint64_t key, uint64_t value);
/* The slot of the key, created with `init` when absent; *ret_new (may be NULL) says which. */
uint64_t *ww_u64map_get(struct ww_u64map *m, uint64_t key, uint64_t init, bool *ret_new);
bool ww_u64map_del(struct ww_u64map *m, uint64_t key);
/* The same where ww_u64map_find has found it. */
void ww_u64map_del_found(struct ww_u64map *m, uint64_t *value);
/* Mixes two keys into one, for pairs such as (pid, fd). */
uint64_t ww_hash_mix(uint64_t a, uint64_t b);

#endif
