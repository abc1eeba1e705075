/* agree.c - Agmon, "The relaxation method for linear inequalities", Canad. J. Math. 6, 1954; Motzkin and
 * Schoenberg, ibid. A limit's slack is linear in the shifts of both ends of both clocks:
 *
 *   slack = slack_ns + shift(to, to_at) - shift(from, from_at),   shift(h, at) = begin + at * (end - begin)
 */
#include "clock/agree.h"

static double shift_at(const struct ww_shift *s, double at)
{
	return s->begin_ns + at * (s->end_ns - s->begin_ns);
}

static void move(struct ww_shift *s, double at, double by)
{
	s->begin_ns += by * (1 - at);
	s->end_ns += by * at;
}

static double norm(double at)
{
	return (1 - at) * (1 - at) + at * at;
}

bool ww_agree(const struct ww_limit *limits, size_t nlimits, struct ww_shift *shift, uint32_t fixed, double margin_ns,
	      uint32_t rounds)
{
	for (uint32_t round = 0; round < rounds; round++) {
		bool kept = true;
		for (size_t i = 0; i < nlimits; i++) {
			const struct ww_limit *l = &limits[i];
			double slack = l->slack_ns + shift_at(&shift[l->to], l->to_at) - shift_at(&shift[l->from], l->from_at);
			if (l->from == l->to || slack >= margin_ns)
				continue;
			double size = (l->to != fixed ? norm(l->to_at) : 0) + (l->from != fixed ? norm(l->from_at) : 0);
			double by = (margin_ns - slack) / size * 1.5; /* a little beyond: it ends sooner */
			kept = false;
			if (l->to != fixed)
				move(&shift[l->to], l->to_at, by);
			if (l->from != fixed)
				move(&shift[l->from], l->from_at, -by);
		}
		if (kept)
			return true;
	}
	return false;
}
