/* sync_private.h - what the parts of the synchronisation share: hosts' clocks, pairs, and fits between them.
 *
 * Here a host's time x is ns since its own first event, so numbers are small; a fit of the pair (a, b) gives b's x from
 * a's. What leaves are corrections in epoch ns.
 *
 *   sync.c        hosts come in; the answer goes out
 *   sync_pairs.c  each pair's hull, fit and bound
 *   sync_tree.c   the tree of best pairs to a reference
 *   sync_agree.c  pairs beside the tree
 */
#ifndef WW_SYNC_PRIVATE_H
#define WW_SYNC_PRIVATE_H

#include "clock/hull.h"
#include "clock/match.h"
#include "clock/pieces.h"
#include "clock/sync.h"

struct sync_clk { /* a host's */
	char *name, *path, *uuid;
	int64_t t0_ns, end_ns; /* epoch */
	int64_t epoch_offset_ns;
	uint32_t via;          /* towards the reference */
	bool reached;
	uint8_t worst;         /* accuracy of the path so far */
	struct ww_fit fit;     /* own x -> reference's x */
	ww_points bent;        /* the same where a pair on the way is; empty: fit */
	int64_t bound_ns;
};

struct sync_pair {
	struct ww_hull hull;
	struct ww_fit fit;
	ww_points bent;        /* a's x -> b's, where no line can be; empty: fit. Then fit leads from its one end to the other */
	uint8_t accuracy;
	int64_t bound_ns;      /* over a's range; -1 unknown */
	uint64_t violations;
	int64_t violation_max_ns;
};

/* Within the synchronisation hosts have an order of their own, so that the answer does not depend on the one in which they
 * came; only what goes in and out is in that. */
struct ww_sync {
	struct ww_matcher *m;
	WW_VEC(struct ww_sync_part *) parts; /* as they came, until they are put into order */
	uint32_t *inner, *outer;    /* of the nth that came its number here, and back */
	WW_VEC(struct sync_clk) clk;
	struct sync_pair *pairs;    /* [a * n + b], a < b */
};

/* In either order. */
static inline struct sync_pair *ww_sync_pair(const struct ww_sync *s, uint32_t a, uint32_t b)
{
	return &s->pairs[a < b ? a * s->clk.n + b : b * s->clk.n + a];
}

/* The other end of a packet on another host, by their numbers here. */
static inline struct ww_packet_ref ww_sync_other_end(const struct ww_sync *s, uint32_t host, uint32_t packet)
{
	uint32_t p = s->m->host.v[host].partner[packet];

	if (p == WW_NONE)
		return (struct ww_packet_ref){WW_NONE, WW_NONE};
	uint32_t other = ww_matcher_host_of(s->m, p);
	return (struct ww_packet_ref){other, p - s->m->host.v[other].base};
}

/* ---- sync_pairs.c ---- */
/* The hulls and fits of all pairs; packets are matched. */
void ww_sync_fit_pairs(struct ww_sync *s);
/* x of `to` from x of `from`. */
struct ww_fit ww_sync_fit(const struct ww_sync *s, uint32_t from, uint32_t to);
/* A pair's possible error for b's or a's times in [from, to] of host `of`; to_a: its x -> a's. -1 unknown */
int64_t ww_sync_bound(const struct ww_sync *s, uint32_t a, uint32_t b, uint32_t of, int64_t from, int64_t to,
		      const struct ww_fit *to_a);
/* Of enum ww_accuracy, 0 best. */
int ww_sync_rank(uint8_t accuracy);

/* ---- sync_tree.c ---- */
/* Fills each clk's via, fit, bound and worst, from pairs. */
void ww_sync_grow(struct ww_sync *s, uint32_t root);
/* The reference that is asked for, or whose tree is best.
 * error -WW_EUSAGE there is no such trace, or several */
int ww_sync_root(struct ww_sync *s, const struct ww_set_host *who, const struct ww_set_opts *o, uint32_t *ret, struct ww_err *err);

/* ---- sync_agree.c ---- */
/* Where the tree leaves a pair with packets that arrive too early, all clocks give way a little. A pair that no
 * steady clocks satisfy has no say. */
void ww_sync_agree(struct ww_sync *s, uint32_t reference);

#endif
