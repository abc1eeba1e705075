/* sync_pairs.c - the hulls of all pairs of hosts, and the line, or the bent one, that each pair allows. */
#include "clock/sync_private.h"
#include "base/par.h"

/* The messages of a with the hosts after it, in a's time order: pairs that no other host feeds. */
static void feed_hulls(void *ctx, uint32_t a)
{
	struct ww_sync *s = ctx;
	const struct ww_match_host *h = &s->m->host.v[a];

	for (uint32_t i = 0; i < h->n; i++) {
		struct ww_packet_ref r = ww_sync_other_end(s, a, i);
		if (r.host == WW_NONE || r.host <= a)
			continue;
		ww_hull_add(&ww_sync_pair(s, a, r.host)->hull, ww_match_is_sent(h, i) ? WW_SENT : WW_RECEIVED,
			    h->ts_ns[i] - s->clk.v[a].t0_ns,
			    s->m->host.v[r.host].ts_ns[r.packet] - s->clk.v[r.host].t0_ns);
	}
}

/* A pair that no steady clocks satisfy. */
static void bend_pair(struct ww_sync *s, uint32_t a, uint32_t b, struct sync_pair *p)
{
	const struct ww_match_host *h = &s->m->host.v[a];
	WW_VEC(struct ww_message) m = {0};

	for (uint32_t i = 0; i < h->n; i++) {
		struct ww_packet_ref r = ww_sync_other_end(s, a, i);
		if (r.host == b)
			*ww_vec_push(&m) = (struct ww_message){h->ts_ns[i] - s->clk.v[a].t0_ns,
							       s->m->host.v[b].ts_ns[r.packet] - s->clk.v[b].t0_ns,
							       !ww_match_is_sent(h, i)};
	}
	if (ww_pieces_find(m.v, m.n, 0, s->clk.v[a].end_ns - s->clk.v[a].t0_ns, &p->bent, &p->bound_ns)) {
		p->fit = ww_bent_chord(&p->bent);
		p->accuracy = WW_AC_APPROXIMATE;
	}
	ww_vec_free(&m);
}

static void fit_pair(struct ww_sync *s, uint32_t a, uint32_t b)
{
	const struct sync_clk *ca = &s->clk.v[a], *cb = &s->clk.v[b];
	struct sync_pair *p = ww_sync_pair(s, a, b);

	if (*ca->uuid && !strcmp(ca->uuid, cb->uuid)) {
		p->accuracy = WW_AC_SHARED;
		p->fit = (struct ww_fit){.known = true, .bounded = true,
					 .offset_ns = (ca->t0_ns - ca->epoch_offset_ns) - (cb->t0_ns - cb->epoch_offset_ns)};
		return;
	}
	p->fit = ww_hull_fit(&p->hull);
	p->bound_ns = ww_hull_bound(&p->hull, &p->fit, 0, ca->end_ns - ca->t0_ns);
	p->accuracy = !p->fit.known ? WW_AC_NONE : p->hull.failed ? WW_AC_FAIL :
		      p->fit.bounded ? WW_AC_ACCURATE : WW_AC_APPROXIMATE;
	if (p->accuracy == WW_AC_FAIL)
		bend_pair(s, a, b, p);
}

void ww_sync_fit_pairs(struct ww_sync *s)
{
	const uint32_t n = (uint32_t)s->clk.n;

	ww_par_run(n, feed_hulls, s);
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++)
			fit_pair(s, a, b);
}

int64_t ww_sync_bound(const struct ww_sync *s, uint32_t a, uint32_t b, uint32_t of, int64_t from, int64_t to,
			  const struct ww_fit *to_a)
{
	const struct sync_pair *p = ww_sync_pair(s, a, b);

	if (p->accuracy == WW_AC_SHARED)
		return 0;
	if (p->bent.n)
		return p->bound_ns;
	if (of != WW_MIN(a, b)) {
		from = ww_fit_apply(to_a, from);
		to = ww_fit_apply(to_a, to);
	}
	return ww_hull_bound(&p->hull, &p->fit, from, to);
}

struct ww_fit ww_sync_fit(const struct ww_sync *s, uint32_t from, uint32_t to)
{
	const struct ww_fit *f = &ww_sync_pair(s, from, to)->fit;

	return from < to ? *f : ww_fit_inverse(f);
}

int ww_sync_rank(uint8_t accuracy)
{
	static const int rank[WW_AC_N] = {[WW_AC_REFERENCE] = 0, [WW_AC_SHARED] = 1, [WW_AC_ACCURATE] = 2,
					  [WW_AC_APPROXIMATE] = 3, [WW_AC_FAIL] = 4, [WW_AC_NONE] = 5};
	return rank[accuracy];
}
