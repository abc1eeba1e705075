/* hull.h - the clock of b as a line over the clock of a, from messages between them, as they come.
 *
 *   struct ww_hull h = {0};
 *   ww_hull_add(&h, WW_SENT, t_a, t_b);      a sent it at t_a, b received it at t_b
 *   ww_hull_add(&h, WW_RECEIVED, t_a, t_b);  b sent it at t_b, a received it at t_a
 *   struct ww_fit f = ww_hull_fit(&h);       ... ww_hull_bound(&h, &f, from, to) ...   ww_hull_release(&h);
 *
 * Every message says that the line passes below (sent) or above (received) its point (t_a, t_b). The lines
 * that satisfy all of them lie between two hulls: the lower hull of the points above and the upper hull of
 * those below; the steepest and the flattest of them are common tangents of the two. A new point moves a
 * tangent only onwards along the hull, so a point costs O(1) amortised, and only hull points are kept.
 *
 *      t_b |          u        u: sent, above      the steepest line goes from an l to a later u,
 *          |     u    l        l: received, below  the flattest from a u to a later l
 *          |  l
 *          +---------------- t_a
 *
 * in     points by rising t_a (equal ones allowed; what goes back is left out); times less than 2^61 ns from
 *        zero
 * exact  every comparison is of 128-bit products; only the fit is rounded, to ns and 10^-15
 * source Poirier, Roy, Dagenais: Accurate offline synchronization of distributed traces using kernel-level
 *        events, OSR 44(3), 2010; Jabbarifar, Dagenais, Shameli-Sendi: Streaming mode incremental clock
 *        synchronization
 */
#ifndef WW_HULL_H
#define WW_HULL_H

#include "base/vec.h"

#define WW_DRIFT_ONE 1000000000000000LL /* drift_e15 of a clock that runs at twice the speed: 1 s/s */

enum ww_direction { WW_SENT, WW_RECEIVED, WW_DIR_N };

struct ww_point { int64_t x, y; };
typedef WW_VEC(struct ww_point) ww_points;

struct ww_line { /* through two points, left to right; known: both are there */
	struct ww_point l, r;
	bool known;
};

struct ww_hull {
	ww_points above, below;  /* lower hull of the points above the line, upper hull of those below */
	struct ww_line max, min; /* the steepest and the flattest line that satisfy all points */
	size_t max_at, min_at;   /* where `max` touches `below`, where `min` touches `above` */
	uint64_t points[WW_DIR_N];
	uint64_t refused;        /* points that no line satisfies together with the earlier ones */
	bool failed;             /* since the first of those: later points change nothing */
};

struct ww_fit { /* t_b = t_a + offset_ns + drift_e15 * t_a / 10^15 */
	int64_t offset_ns, drift_e15;
	bool known;   /* false: no points */
	bool bounded; /* max and min are both known, and their drifts believable */
};

void ww_hull_add(struct ww_hull *h, enum ww_direction d, int64_t t_a, int64_t t_b);
/* The mean of the two extreme lines; where one is missing, the line that the points allow and that is nearest
 * to no drift at all. */
struct ww_fit ww_hull_fit(const struct ww_hull *h);
/* The largest possible error of the fit for t_a in [from, to], ns, if both clocks are steady; -1 unknown. */
int64_t ww_hull_bound(const struct ww_hull *h, const struct ww_fit *f, int64_t from, int64_t to);
int64_t ww_fit_apply(const struct ww_fit *f, int64_t t_a);
/* t_a from t_b; of what cannot be a clock: unknown. */
struct ww_fit ww_fit_inverse(const struct ww_fit *f);
/* first, then second. */
struct ww_fit ww_fit_compose(const struct ww_fit *first, const struct ww_fit *second);
void ww_hull_release(struct ww_hull *h);

#endif
