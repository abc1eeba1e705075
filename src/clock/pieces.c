/* pieces.c - greedy: each piece is a hull of its own that begins at the point where the one before bends, with that
 * point on both sides, so that every line of it passes there. See pieces.h.
 */
#include "clock/pieces.h"

typedef __int128 wide;

enum { MAX_PIECES = 64 };
#define BELIEVABLE_E15 (WW_DRIFT_ONE / 100)

static wide div_floor(wide a, wide b) /* b > 0 */
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* On the line through l and r, l.x < r.x. */
static int64_t between(struct ww_point l, struct ww_point r, int64_t x)
{
	return (int64_t)(l.y + div_floor(((wide)x - l.x) * ((wide)r.y - l.y), (wide)r.x - l.x));
}

int64_t ww_bent_apply(const ww_points *line, int64_t x)
{
	size_t lo = 0, hi = line->n - 2;

	while (lo < hi) { /* the last piece that begins at x or before; the first one also before it */
		size_t mid = lo + (hi - lo + 1) / 2;

		if (line->v[mid].x <= x)
			lo = mid;
		else
			hi = mid - 1;
	}
	return between(line->v[lo], line->v[lo + 1], x);
}

void ww_bent_invert(const ww_points *line, ww_points *ret)
{
	for (size_t i = 0; i < line->n; i++)
		*ww_vec_push(ret) = (struct ww_point){line->v[i].y, line->v[i].x};
}

static void push_rising(ww_points *line, struct ww_point p)
{
	if (!line->n || (p.x > line->v[line->n - 1].x && p.y > line->v[line->n - 1].y))
		*ww_vec_push(line) = p;
}

void ww_bent_compose(const ww_points *first, const ww_points *second, ww_points *ret)
{
	ww_points back = {0};
	size_t i = 0, j = 0;

	ww_bent_invert(first, &back);
	while (i < first->n || j < second->n) { /* second's bends by first's x, in between first's own */
		bool own = j == second->n || (i < first->n && first->v[i].y <= second->v[j].x);
		struct ww_point p;

		if (own)
			p = (struct ww_point){first->v[i].x, ww_bent_apply(second, first->v[i].y)}, i++;
		else
			p = (struct ww_point){ww_bent_apply(&back, second->v[j].x), second->v[j].y}, j++;
		push_rising(ret, p);
	}
	ww_vec_free(&back);
}

static int64_t drift_between(struct ww_point l, struct ww_point r)
{
	wide dx = (wide)r.x - l.x;

	return (int64_t)div_floor((((wide)r.y - l.y) - dx) * WW_DRIFT_ONE, dx);
}

static bool is_believable(const struct ww_line *line)
{
	if (!line->known || line->r.x <= line->l.x || line->r.y <= line->l.y)
		return false;
	int64_t drift = drift_between(line->l, line->r);
	return drift > -BELIEVABLE_E15 && drift < BELIEVABLE_E15;
}

/* The last piece, to x = to: between the steepest and the flattest line that are left. */
static bool end_line(const struct ww_hull *h, int64_t to, ww_points *line)
{
	const bool max = is_believable(&h->max), min = is_believable(&h->min);
	int64_t y;

	if (!max && !min)
		return false;
	int64_t up = between(max ? h->max.l : h->min.l, max ? h->max.r : h->min.r, to);
	int64_t down = between(min ? h->min.l : h->max.l, min ? h->min.r : h->max.r, to);
	y = down + (up - down) / 2;
	const struct ww_point last = line->v[line->n - 1];
	if (to <= last.x || y <= last.y) /* its last bend is the end */
		return line->n > 1;
	push_rising(line, (struct ww_point){to, y});
	return true;
}

/* The bend after `line`'s last one, or its end. Returns 1 a bend, 0 the end, -1 no such line. */
static int next_bend(const struct ww_message *m, size_t n, int64_t from, int64_t to, ww_points *line)
{
	struct ww_hull h = {0};
	enum ww_direction broke = WW_SENT;
	int rc = -1;

	if (line->n) {
		const struct ww_point p = line->v[line->n - 1];
		ww_hull_add(&h, WW_SENT, p.x, p.y);
		ww_hull_add(&h, WW_RECEIVED, p.x, p.y);
	}
	for (size_t i = 0; i < n && !h.failed; i++) {
		if (line->n && m[i].x <= line->v[line->n - 1].x)
			continue;
		broke = m[i].received ? WW_RECEIVED : WW_SENT;
		ww_hull_add(&h, broke, m[i].x, m[i].y);
	}
	const struct ww_line *limit = broke == WW_SENT ? &h.min : &h.max;
	if (!h.failed) {
		rc = line->n && end_line(&h, to, line) ? 0 : -1;
	} else if (is_believable(limit) && (!line->n || limit->r.x > line->v[line->n - 1].x)) {
		if (!line->n && limit->r.x > from)
			push_rising(line, (struct ww_point){from, between(limit->l, limit->r, from)});
		push_rising(line, limit->r);
		rc = line->n > 1 || limit->r.x <= from;
	}
	ww_hull_release(&h);
	return rc;
}

/* How far the truth can be from the line on one side, sign 1 above, -1 below: no further than a message allows, and from
 * there on it moves away by at most `rate` (in 10^-15). */
static int64_t bound_of(const struct ww_message *m, size_t n, int64_t from, int64_t to, const ww_points *line, int64_t rate,
			int sign)
{
	wide now = -1, worst = 0, at = from;

	for (size_t i = 0; i < n; i++) {
		if (m[i].received == (sign > 0))
			continue;
		wide off = (wide)sign * (m[i].y - ww_bent_apply(line, m[i].x)), moved = div_floor((m[i].x - at) * rate, WW_DRIFT_ONE) + 1;
		/* Before the first message: back from it. */
		worst = WW_MAX(worst, (now < 0 ? WW_MAX(off, 0) : now) + moved);
		now = now < 0 ? WW_MAX(off, 0) : WW_MAX(WW_MIN(now + moved, off), 0);
		at = m[i].x;
	}
	if (now < 0)
		return -1;
	worst = WW_MAX(worst, now + div_floor(WW_MAX((wide)0, to - at) * rate, WW_DRIFT_ONE) + 1);
	return (int64_t)WW_MIN(worst, (wide)INT64_MAX / 4);
}

struct ww_fit ww_bent_chord(const ww_points *line)
{
	const struct ww_point l = line->v[0], r = line->v[line->n - 1];
	__int128 dx = (__int128)r.x - l.x;
	struct ww_fit f = {.known = true};

	f.drift_e15 = (int64_t)(((__int128)r.y - l.y - dx) * WW_DRIFT_ONE / dx);
	f.offset_ns = l.y - l.x - (int64_t)((__int128)l.x * f.drift_e15 / WW_DRIFT_ONE);
	return f;
}

bool ww_pieces_find(const struct ww_message *messages, size_t n, int64_t from, int64_t to, ww_points *ret_line,
		    int64_t *ret_bound_ns)
{
	ww_points line = {0};
	int64_t slowest = INT64_MAX, fastest = INT64_MIN;
	int rc = 1;

	for (int i = 0; i < MAX_PIECES && rc > 0; i++)
		rc = next_bend(messages, n, from, to, &line);
	if (rc || line.n < 3) {
		ww_vec_free(&line);
		return false;
	}
	for (size_t i = 0; i + 1 < line.n; i++) {
		int64_t d = drift_between(line.v[i], line.v[i + 1]);
		slowest = WW_MIN(slowest, d);
		fastest = WW_MAX(fastest, d);
	}
	int64_t rate = 2 * (fastest - slowest);
	int64_t up = bound_of(messages, n, from, to, &line, rate, 1), down = bound_of(messages, n, from, to, &line, rate, -1);
	*ret_bound_ns = up < 0 || down < 0 ? -1 : WW_MAX(up, down);
	*ret_line = line;
	return true;
}
