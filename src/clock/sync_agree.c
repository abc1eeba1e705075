/* sync_agree.c - pairs beside the tree: small changes to the clocks that keep all their messages in order. */
#include "clock/sync_private.h"
#include "clock/agree.h"

enum { AGREE_MARGIN_NS = 4, AGREE_ROUNDS = 2000 };

/* The host whose clock a host's is, and what its x is beside that one's. */
static uint32_t leader_of(const struct ww_sync *s, uint32_t h, int64_t *ret_offset)
{
	for (uint32_t l = 0; l < h; l++)
		if (ww_sync_pair(s, l, h)->accuracy == WW_AC_SHARED) {
			*ret_offset = ww_sync_fit(s, h, l).offset_ns;
			return l;
		}
	*ret_offset = 0;
	return h;
}

static double part_of_range(const struct ww_sync *s, uint32_t leader, int64_t x)
{
	int64_t range = s->clk.v[leader].end_ns - s->clk.v[leader].t0_ns;

	return (double)x / (double)WW_MAX(range, 1);
}

typedef WW_VEC(struct ww_limit) limits;

static void add_limits(const struct ww_sync *s, limits *v, uint32_t a, uint32_t b)
{
	const struct ww_hull *h = &ww_sync_pair(s, a, b)->hull;
	int64_t off_a, off_b;
	uint32_t lead_a = leader_of(s, a, &off_a), lead_b = leader_of(s, b, &off_b);

	for (int below = 0; below < 2; below++) {
		const ww_points *p = below ? &h->below : &h->above;
		for (size_t i = 0; i < p->n; i++) {
			int64_t late = ww_fit_apply(&s->clk.v[b].fit, p->v[i].y) - ww_fit_apply(&s->clk.v[a].fit, p->v[i].x);
			double at_a = part_of_range(s, lead_a, p->v[i].x + off_a),
			       at_b = part_of_range(s, lead_b, p->v[i].y + off_b);
			*ww_vec_push(v) = below ? (struct ww_limit){lead_b, lead_a, at_b, at_a, (double)-late}
						: (struct ww_limit){lead_a, lead_b, at_a, at_b, (double)late};
		}
	}
}

static void apply_shift(struct ww_sync *s, uint32_t h, const struct ww_shift *shift)
{
	struct sync_clk *c = &s->clk.v[h];
	int64_t off, range = WW_MAX(c->end_ns - c->t0_ns, 1);
	uint32_t lead = leader_of(s, h, &off);
	double at = part_of_range(s, lead, off), to = part_of_range(s, lead, off + range);
	double begin = shift[lead].begin_ns + at * (shift[lead].end_ns - shift[lead].begin_ns);
	double end = shift[lead].begin_ns + to * (shift[lead].end_ns - shift[lead].begin_ns);

	if (begin == 0 && end == 0)
		return;
	c->fit.offset_ns += (int64_t)begin;
	c->fit.drift_e15 += (int64_t)((end - begin) / (double)range * (double)WW_DRIFT_ONE);
	if (c->bound_ns >= 0)
		c->bound_ns += (int64_t)WW_MAX(begin < 0 ? -begin : begin, end < 0 ? -end : end) + 1;
}

void ww_sync_agree(struct ww_sync *s, uint32_t reference)
{
	const uint32_t n = (uint32_t)s->clk.n;
	struct ww_shift *shift = ww_xcalloc(n, sizeof(*shift));
	limits v = {0};
	int64_t off;
	bool kept = true;

	for (uint32_t h = 0; h < n; h++)
		if (s->clk.v[h].bent.n) { /* a change at both ends would not keep what is between */
			free(shift);
			return;
		}
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++)
			if (s->clk.v[a].reached && s->clk.v[b].reached && !ww_sync_pair(s, a, b)->hull.failed)
				add_limits(s, &v, a, b);
	for (size_t i = 0; i < v.n; i++)
		kept = kept && v.v[i].slack_ns >= 0;
	if (!kept && ww_agree(v.v, v.n, shift, leader_of(s, reference, &off), AGREE_MARGIN_NS, AGREE_ROUNDS))
		for (uint32_t h = 0; h < n; h++)
			if (s->clk.v[h].reached)
				apply_shift(s, h, shift);
	ww_vec_free(&v);
	free(shift);
}
