/* hull.c - two hulls and their common tangents, updated point by point.
 *
 * `max` is the steepest line with all of `below` under it and all of `above` over it: it touches `below` on
 * the left and `above` on the right. A later point of `above` changes it only when it lies under it; then
 * the new line goes through that point, and touches `below` at the same place or further right. `min` is
 * the same with the sides exchanged. A point of `above` under `min`, or of `below` over `max`, cannot be
 * satisfied: the clocks are not steady, or a message was matched wrongly.
 *
 * Everything is written once, for `above` and `max`; the other side is its mirror image (y -> -y).
 */
#include "clock/hull.h"

typedef __int128 wide;

#define LIMIT ((int64_t)1 << 61)
#define BELIEVABLE_E15 (WW_DRIFT_ONE / 100) /* a percent: steeper lines come from points that are too close */

/* > 0 when c lies left of (above) the line from a to b. Exact: differences have 63 bits. */
static int side(struct ww_point a, struct ww_point b, struct ww_point c)
{
	wide p = (wide)(b.x - a.x) * (c.y - a.y), q = (wide)(b.y - a.y) * (c.x - a.x);

	return p > q ? 1 : p < q ? -1 : 0;
}

static struct ww_point mirror(struct ww_point p, int sign)
{
	return (struct ww_point){p.x, sign * p.y};
}

static bool goes_back(const ww_points *hull, int64_t x)
{
	return hull->n && x < hull->v[hull->n - 1].x;
}

/* Appends p to a lower hull (sign 1) or an upper hull (sign -1). What lies on a line between its neighbours
 * stays, so that a tangent's touching point is never taken away. Returns false when p says nothing new. */
static bool hull_push(ww_points *hull, struct ww_point p, int sign)
{
	struct ww_point q = mirror(p, sign);

	if (hull->n && hull->v[hull->n - 1].x == p.x) {
		if (sign * hull->v[hull->n - 1].y <= q.y)
			return false;
		hull->n--;
	}
	while (hull->n >= 2 && side(mirror(hull->v[hull->n - 2], sign), mirror(hull->v[hull->n - 1], sign), q) < 0)
		hull->n--;
	*ww_vec_push(hull) = p;
	return true;
}

/* The tangent from a new point p of one hull to the other hull, seen as sign 1: p above, `other` below, the
 * line as flat as `other` allows. Points of `other` at p's own time only limit it in height. */
static void tangent(struct ww_line *line, size_t *at, const ww_points *other, struct ww_point p, int sign)
{
	size_t i = line->known ? WW_MIN(*at, other->n - 1) : 0;
	struct ww_point q = mirror(p, sign);

	if (!other->n || other->v[i].x >= p.x)
		return;
	while (i + 1 < other->n && other->v[i + 1].x < p.x &&
	       side(mirror(other->v[i], sign), q, mirror(other->v[i + 1], sign)) >= 0)
		i++;
	*line = (struct ww_line){other->v[i], p, true};
	*at = i;
}

/* p against a line; beyond its right end a line is only its slope. */
static int side_of(const struct ww_line *line, struct ww_point p, int sign)
{
	return side(mirror(line->l, sign), mirror(line->r, sign), mirror(p, sign));
}

void ww_hull_add(struct ww_hull *h, enum ww_direction d, int64_t t_a, int64_t t_b)
{
	const struct ww_point p = {t_a, t_b};
	const int sign = d == WW_SENT ? 1 : -1;
	ww_points *own = d == WW_SENT ? &h->above : &h->below, *other = d == WW_SENT ? &h->below : &h->above;
	struct ww_line *line = d == WW_SENT ? &h->max : &h->min;
	const struct ww_line *limit = d == WW_SENT ? &h->min : &h->max;
	size_t *at = d == WW_SENT ? &h->max_at : &h->min_at;

	if (t_a <= -LIMIT || t_a >= LIMIT || t_b <= -LIMIT || t_b >= LIMIT || goes_back(own, t_a) ||
	    goes_back(other, t_a))
		return;
	h->points[d]++;
	if ((limit->known && side_of(limit, p, sign) < 0) ||
	    (other->n && other->v[other->n - 1].x == p.x && sign * other->v[other->n - 1].y > sign * p.y)) {
		h->refused++;
		h->failed = true;
	}
	if (h->failed)
		return;
	if (!hull_push(own, p, sign))
		return;
	if (!line->known || side_of(line, p, sign) < 0)
		tangent(line, at, other, p, sign);
}

void ww_hull_release(struct ww_hull *h)
{
	ww_vec_free(&h->above);
	ww_vec_free(&h->below);
}

/* ---- from the two lines to one ---- */

static wide div_floor(wide a, wide b) /* b > 0 */
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static wide clamp(wide v, wide limit)
{
	return v > limit ? limit : v < -limit ? -limit : v;
}

/* A line's drift in 10^-15, at most 1000 times the speed either way. */
static int64_t drift_of(struct ww_point l, struct ww_point r)
{
	wide dx = (wide)r.x - l.x, d = ((wide)r.y - l.y) - dx;

	/* 62 bits times 10^15 fit in 128. */
	return (int64_t)clamp(div_floor(d * WW_DRIFT_ONE, dx), (wide)WW_DRIFT_ONE * 1000);
}

/* The line's height at x, ns, rounded down; clamped far outside what a time can be. */
static wide line_at(const struct ww_line *l, int64_t x)
{
	wide dx = (wide)l->r.x - l->l.x, dy = (wide)l->r.y - l->l.y;

	return l->l.y + div_floor(((wide)x - l->l.x) * dy, dx);
}

static int64_t times_drift(int64_t drift_e15, int64_t t)
{
	return (int64_t)clamp(div_floor((wide)drift_e15 * t + WW_DRIFT_ONE / 2, WW_DRIFT_ONE), INT64_MAX / 4);
}

int64_t ww_fit_apply(const struct ww_fit *f, int64_t t_a)
{
	return t_a + f->offset_ns + times_drift(f->drift_e15, t_a);
}

/* The offset in the middle of what the points allow a line of this drift; from one side alone, the limit. */
static int64_t offset_for(const struct ww_hull *h, int64_t drift)
{
	int64_t hi = INT64_MAX, lo = INT64_MIN;

	for (size_t i = 0; i < h->above.n; i++)
		hi = WW_MIN(hi, h->above.v[i].y - h->above.v[i].x - times_drift(drift, h->above.v[i].x));
	for (size_t i = 0; i < h->below.n; i++)
		lo = WW_MAX(lo, h->below.v[i].y - h->below.v[i].x - times_drift(drift, h->below.v[i].x));
	if (!h->above.n)
		return lo;
	return h->below.n ? lo + (hi - lo) / 2 : hi;
}

struct ww_fit ww_hull_fit(const struct ww_hull *h)
{
	struct ww_fit f = {.known = h->above.n || h->below.n};
	int64_t max = h->max.known ? drift_of(h->max.l, h->max.r) : WW_DRIFT_ONE * 1000;
	int64_t min = h->min.known ? drift_of(h->min.l, h->min.r) : -WW_DRIFT_ONE * 1000;

	if (!f.known)
		return f;
	f.bounded = h->max.known && h->min.known && max <= BELIEVABLE_E15 && min >= -BELIEVABLE_E15;
	if (f.bounded) {
		/* The mean of both lines at zero; they are not steep, so this does not leave 64 bits. */
		f.drift_e15 = min + (max - min) / 2;
		f.offset_ns = (int64_t)div_floor(line_at(&h->max, 0) + line_at(&h->min, 0) + 1, 2);
	} else {
		f.drift_e15 = (int64_t)clamp(WW_MIN(WW_MAX(0, min), max), BELIEVABLE_E15);
		f.offset_ns = offset_for(h, f.drift_e15);
	}
	return f;
}

int64_t ww_hull_bound(const struct ww_hull *h, const struct ww_fit *f, int64_t from, int64_t to)
{
	wide worst = 0;

	if (!h->max.known || !h->min.known || h->failed)
		return -1;
	/* The possible error is convex in x, and beyond the points it is that of the two lines. */
	if (h->above.n) {
		from = WW_MIN(from, h->above.v[0].x);
		to = WW_MAX(to, h->above.v[h->above.n - 1].x);
	}
	if (h->below.n) {
		from = WW_MIN(from, h->below.v[0].x);
		to = WW_MAX(to, h->below.v[h->below.n - 1].x);
	}
	for (int i = 0; i < 2; i++) {
		int64_t x = i ? to : from, y = ww_fit_apply(f, x);
		wide up = line_at(&h->max, x) - y, down = line_at(&h->min, x) - y;
		worst = WW_MAX(worst, WW_MAX(up < 0 ? -up : up, down < 0 ? -down : down));
	}
	return (int64_t)clamp(worst + 1, INT64_MAX / 4);
}

static int64_t mul_e15(int64_t a, int64_t b)
{
	__int128 v = (__int128)a * b;

	return (int64_t)((v < 0 ? v - WW_DRIFT_ONE / 2 : v + WW_DRIFT_ONE / 2) / WW_DRIFT_ONE);
}

struct ww_fit ww_fit_inverse(const struct ww_fit *f)
{
	struct ww_fit r = *f;
	const __int128 one = (__int128)WW_DRIFT_ONE + f->drift_e15;

	if (one <= 0) /* not a clock */
		return (struct ww_fit){0};
	r.drift_e15 = (int64_t)(-(__int128)f->drift_e15 * WW_DRIFT_ONE / one);
	r.offset_ns = (int64_t)(-(__int128)f->offset_ns * WW_DRIFT_ONE / one);
	return r;
}

struct ww_fit ww_fit_compose(const struct ww_fit *first, const struct ww_fit *second)
{
	struct ww_fit r = *first;

	r.drift_e15 = first->drift_e15 + second->drift_e15 + mul_e15(first->drift_e15, second->drift_e15);
	r.offset_ns = first->offset_ns + second->offset_ns + mul_e15(first->offset_ns, second->drift_e15);
	r.known = first->known && second->known;
	return r;
}
