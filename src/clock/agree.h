/* agree.h - small changes of clocks, so that all limits between them are kept at once.
 *
 * A spanning tree makes its own pairs right; a pair beside the tree can still have packets that arrive too early,
 * if its limits are tighter than the errors along the tree. There is a solution for all (the real clocks are
 * one), and it is near.
 */
#ifndef WW_AGREE_H
#define WW_AGREE_H

#include "base/base.h"

/* A message from host `from`, sent at the part from_at of its range, to host `to`, at to_at of its; slack_ns: how
 * much later it arrives than it was sent, before any change. */
struct ww_limit {
	uint32_t from, to;
	double from_at, to_at, slack_ns;
};

struct ww_shift { double begin_ns, end_ns; }; /* of a clock at both ends of its range, linear between */

/* ww_agree - changes `shift` (of n hosts, zero at first) until every limit has at least margin_ns of slack.
 * in     fixed   a host that does not move
 * out    true: all are kept; false: not within the number of rounds (there may be no solution)
 * cost   rounds x limits; the method is that of Agmon and Motzkin: go to the nearest point that keeps the limit
 *        in hand, one limit after the other */
bool ww_agree(const struct ww_limit *limits, size_t nlimits, struct ww_shift *shift, uint32_t fixed, double margin_ns,
	      uint32_t rounds);

#endif
