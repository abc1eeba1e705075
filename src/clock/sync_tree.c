/* sync_tree.c - from pair to pair, the best first, to a reference; and which reference. */
#include "clock/sync_private.h"

static bool better(const struct sync_pair *a, const struct sync_pair *b)
{
	int ra = ww_sync_rank(a->accuracy), rb = ww_sync_rank(b->accuracy);

	return ra != rb ? ra < rb : (uint64_t)a->bound_ns < (uint64_t)b->bound_ns; /* -1 is the largest */
}

/* x of `to` from x of `from` as points: of a pair that does not bend, two. */
static void bent_between(const struct ww_sync *s, uint32_t from, uint32_t to, int64_t end, ww_points *ret)
{
	const struct sync_pair *p = ww_sync_pair(s, from, to);
	const struct ww_fit f = ww_sync_fit(s, from, to);

	if (p->bent.n && from > to) {
		ww_bent_invert(&p->bent, ret);
		return;
	}
	for (size_t i = 0; i < p->bent.n; i++)
		*ww_vec_push(ret) = p->bent.v[i];
	for (int i = 0; i < 2 && !p->bent.n; i++)
		*ww_vec_push(ret) = (struct ww_point){i * end, ww_fit_apply(&f, i * end)};
}

/* Along the tree, when a pair on the way bends. */
static void reach_bent(struct ww_sync *s, uint32_t host, uint32_t via)
{
	struct sync_clk *c = &s->clk.v[host], *next = &s->clk.v[via];
	ww_points step = {0}, rest = {0};

	ww_vec_clear(&c->bent);
	if (!ww_sync_pair(s, host, via)->bent.n && !next->bent.n)
		return;
	bent_between(s, host, via, WW_MAX(c->end_ns - c->t0_ns, 1000), &step);
	for (size_t i = 0; i < next->bent.n; i++)
		*ww_vec_push(&rest) = next->bent.v[i];
	for (int i = 0; i < 2 && !next->bent.n; i++) {
		int64_t x = i * WW_MAX(next->end_ns - next->t0_ns, 1000);
		*ww_vec_push(&rest) = (struct ww_point){x, ww_fit_apply(&next->fit, x)};
	}
	ww_bent_compose(&step, &rest, &c->bent);
	ww_vec_free(&step);
	ww_vec_free(&rest);
	c->fit = ww_bent_chord(&c->bent);
}

static void reach(struct ww_sync *s, uint32_t host, uint32_t via)
{
	struct sync_clk *c = &s->clk.v[host], *next = &s->clk.v[via];
	const struct sync_pair *p = ww_sync_pair(s, host, via);
	const struct ww_fit step = ww_sync_fit(s, host, via);
	int64_t from = 0, to = c->end_ns - c->t0_ns, bound = 0;

	c->reached = true;
	c->via = via;
	c->worst = ww_sync_rank(p->accuracy) > ww_sync_rank(next->worst) ? p->accuracy : next->worst;
	c->fit = ww_fit_compose(&step, &next->fit);
	reach_bent(s, host, via);
	/* The host's range walks to the reference; each step adds its error over it, and a ns of rounding. */
	for (uint32_t at = host; s->clk.v[at].via != WW_NONE; at = s->clk.v[at].via) {
		uint32_t up = s->clk.v[at].via;
		const struct ww_fit f = ww_sync_fit(s, at, up);
		int64_t b = ww_sync_bound(s, at, up, at, from, to, &f);
		bound = b < 0 || bound < 0 ? -1 : bound + b + (ww_sync_pair(s, at, up)->accuracy != WW_AC_SHARED);
		from = ww_fit_apply(&f, from);
		to = ww_fit_apply(&f, to);
	}
	c->bound_ns = bound;
}

void ww_sync_grow(struct ww_sync *s, uint32_t root)
{
	const uint32_t n = (uint32_t)s->clk.n;

	for (uint32_t h = 0; h < n; h++) {
		struct sync_clk *c = &s->clk.v[h];
		c->reached = h == root;
		c->via = WW_NONE;
		c->worst = h == root ? WW_AC_REFERENCE : WW_AC_NONE;
		c->fit = (struct ww_fit){.known = h == root, .bounded = true};
		ww_vec_clear(&c->bent);
		c->bound_ns = h == root ? 0 : -1;
	}
	for (;;) {
		uint32_t host = WW_NONE, via = WW_NONE;
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = 0; b < n; b++)
				if (s->clk.v[a].reached && !s->clk.v[b].reached && ww_sync_pair(s, a, b)->fit.known &&
				    (host == WW_NONE || better(ww_sync_pair(s, a, b), ww_sync_pair(s, host, via)))) {
					host = b;
					via = a;
				}
		if (host == WW_NONE)
			return;
		reach(s, host, via);
	}
}

/* How bad a tree is: hosts that it does not reach, then classes, then bounds. */
struct score {
	uint32_t unreached, rank;
	uint64_t bounds;
};

static struct score score_of(const struct ww_sync *s)
{
	struct score r = {0};

	for (size_t h = 0; h < s->clk.n; h++) {
		const struct sync_clk *c = &s->clk.v[h];
		r.unreached += !c->reached;
		r.rank += (uint32_t)ww_sync_rank(c->worst);
		r.bounds += c->bound_ns < 0 ? WW_DRIFT_ONE : (uint64_t)WW_MIN(c->bound_ns, WW_DRIFT_ONE);
	}
	return r;
}

static bool lower(const struct score *a, const struct score *b)
{
	if (a->unreached != b->unreached)
		return a->unreached < b->unreached;
	return a->rank != b->rank ? a->rank < b->rank : a->bounds < b->bounds;
}

int ww_sync_root(struct ww_sync *s, const struct ww_set_host *who, const struct ww_set_opts *o, uint32_t *ret, struct ww_err *err)
{
	struct score best = {UINT32_MAX, 0, 0};
	const char *name = o ? o->reference : NULL;

	*ret = o && o->host_is_reference ? o->host : WW_NONE;
	if (*ret != WW_NONE)
		return 0;
	if (name)
		return ww_set_find(who, (uint32_t)s->clk.n, name, ret, err);
	for (uint32_t i = 0; i < s->clk.n; i++) { /* of equal ones the one that came first */
		ww_sync_grow(s, s->inner[i]);
		struct score sc = score_of(s);
		if (*ret == WW_NONE || lower(&sc, &best)) {
			best = sc;
			*ret = s->inner[i];
		}
	}
	return 0;
}
