/* clock_hull.c - the incremental hull against all pairs of points: a line of slope s keeps all limits if and
 * only if s <= slope(l, u) for every received point l left of a sent point u, s >= slope(u, l) for every u left
 * of an l, and of points at one time the received ones are not above the sent ones. */
#include "../tap.h"
#include "clock/hull.h"

static uint64_t seed = 88172645463325252u;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % n;
}

struct all { struct ww_point p[400]; enum ww_direction d[400]; int n; };

static int cmp_slope(struct ww_line a, struct ww_line b)
{
	__int128 x = (__int128)(a.r.y - a.l.y) * (b.r.x - b.l.x), y = (__int128)(b.r.y - b.l.y) * (a.r.x - a.l.x);

	return x < y ? -1 : x > y;
}

/* The extreme lines of the first n points; false: no line. */
static bool naive(const struct all *a, struct ww_line *max, struct ww_line *min)
{
	bool fits = true;

	*max = *min = (struct ww_line){0};
	for (int i = 0; i < a->n; i++)
		for (int k = 0; k < a->n; k++) {
			if (a->d[i] != WW_RECEIVED || a->d[k] != WW_SENT)
				continue;
			struct ww_point l = a->p[i], u = a->p[k];
			struct ww_line lu = {l, u, true}, ul = {u, l, true};
			if (l.x == u.x)
				fits = fits && l.y <= u.y;
			else if (l.x < u.x && (!max->known || cmp_slope(lu, *max) < 0))
				*max = lu;
			else if (l.x > u.x && (!min->known || cmp_slope(ul, *min) > 0))
				*min = ul;
		}
	return fits && !(max->known && min->known && cmp_slope(*max, *min) < 0);
}

static bool keeps_limits(const struct all *a, const struct ww_fit *f, int64_t slack)
{
	for (int i = 0; i < a->n; i++) {
		int64_t y = ww_fit_apply(f, a->p[i].x);
		if (a->d[i] == WW_SENT ? y > a->p[i].y + slack : y < a->p[i].y - slack)
			return false;
	}
	return true;
}

/* What the k-th test's points are like: small numbers with ties, or ns with a drift. */
static struct ww_point next_point(int kind, enum ww_direction d, int64_t *x, double slope)
{
	int64_t y;

	if (kind == 0) {
		*x += (int64_t)rnd(3);
		y = *x + (d == WW_SENT ? (int64_t)rnd(6) - !rnd(10) : -(int64_t)rnd(6));
	} else if (kind == 1) { /* a straight line, touched by many */
		*x += (int64_t)rnd(3);
		y = 2 * *x + (d == WW_SENT ? (int64_t)rnd(2) : -(int64_t)rnd(2));
	} else {
		*x += (int64_t)rnd(20000000);
		y = (int64_t)((double)*x * slope) + (d == WW_SENT ? 1 : -1) * (int64_t)(20000 + rnd(3000) * rnd(3000));
	}
	return (struct ww_point){*x, y};
}

static int run(int kind, int *fails)
{
	struct ww_hull h = {0};
	struct all a = {.n = 0};
	int bad = 0, n = kind == 2 ? 400 : 60;
	double slope = 1 + ((double)rnd(800) - 400) * 1e-6;
	int64_t x = -(int64_t)rnd(1000);

	for (int i = 0; i < n && !bad; i++) {
		struct ww_line max, min;
		enum ww_direction d = rnd(2) ? WW_SENT : WW_RECEIVED;
		struct ww_point p = next_point(kind, d, &x, slope);
		a.p[a.n] = p;
		a.d[a.n++] = d;
		ww_hull_add(&h, d, p.x, p.y);
		if (kind == 2 && i + 1 < n && i % 50)
			continue;
		bool fits = naive(&a, &max, &min);
		bad += fits == h.failed;
		if (!fits || bad) {
			*fails += !fits;
			break;
		}
		bad += max.known != h.max.known || min.known != h.min.known;
		bad += max.known && h.max.known && cmp_slope(max, h.max) != 0;
		bad += min.known && h.min.known && cmp_slope(min, h.min) != 0;
		struct ww_fit f = ww_hull_fit(&h);
		bad += f.bounded && !keeps_limits(&a, &f, 1);
	}
	ww_hull_release(&h);
	return bad;
}

static void test_random(void)
{
	static const char *const what[] = {"small numbers", "one straight line", "clocks"};

	for (int kind = 0; kind < 3; kind++) {
		int bad = 0, fails = 0, rounds = kind == 2 ? 60 : 3000;
		for (int i = 0; i < rounds; i++)
			bad += run(kind, &fails);
		ok(!bad, "%s: %d rounds agree with all pairs", what[kind], rounds);
		if (kind == 0)
			ok(fails > 50 && fails < rounds, "some of them cannot be satisfied (%d)", fails);
	}
}

/* The true line is within the bound of the fit, at both ends and between. */
static void test_bound(void)
{
	int bad = 0, wide = 0;

	for (int i = 0; i < 200; i++) {
		struct ww_hull h = {0};
		double drift = ((double)rnd(1000) - 500) * 1e-6;
		int64_t off = (int64_t)rnd(1000000000), x = 0;
		for (int k = 0; k < 100; k++) {
			x += 1000000 + (int64_t)rnd(20000000);
			int64_t y = x + off + (int64_t)((double)x * drift);
			ww_hull_add(&h, k % 2, x, k % 2 ? y - 15000 - (int64_t)rnd(200000) : y + 15000 + (int64_t)rnd(200000));
		}
		struct ww_fit f = ww_hull_fit(&h);
		int64_t b = ww_hull_bound(&h, &f, -50000000, x + 50000000);
		for (int64_t t = -50000000; t <= x + 50000000; t += x / 20)
			bad += llabs(ww_fit_apply(&f, t) - (t + off + (int64_t)((double)t * drift))) > b + 2;
		bad += b < 0;
		wide += b > 300000;
		ww_hull_release(&h);
	}
	ok(!bad, "the truth is never outside the bound");
	ok(wide < 20, "and the bound is no wider than the messages are long (%d of 200)", wide);
}

static void test_edges(void)
{
	struct ww_hull h = {0};
	struct ww_fit f = ww_hull_fit(&h);

	ok(!f.known && ww_hull_bound(&h, &f, 0, 1) == -1, "no points: nothing is known");
	ww_hull_add(&h, WW_SENT, 1000, 6000);
	f = ww_hull_fit(&h);
	ok(f.known && !f.bounded && f.offset_ns == 5000 && !f.drift_e15, "one direction: the tightest offset, no drift");
	ww_hull_add(&h, WW_RECEIVED, 2000, 6400);
	f = ww_hull_fit(&h);
	ok(!f.bounded && f.offset_ns == 4700, "one round trip: the middle");
	ww_hull_add(&h, WW_SENT, 1500, 0);
	ok(h.points[WW_SENT] == 1, "a time that goes back is left out");
	ww_hull_add(&h, WW_SENT, INT64_MAX, 0);
	ok(h.points[WW_SENT] == 1, "and one that is no time");
	ww_hull_add(&h, WW_SENT, 3000, 7900);
	ww_hull_add(&h, WW_RECEIVED, 1000000, 1004400);
	f = ww_hull_fit(&h);
	ok(!h.failed && h.max.known && h.min.known, "two in each direction have both lines");
	ww_hull_add(&h, WW_SENT, 1000001, 900000);
	ok(h.failed && h.refused == 1, "a contradiction is a failure");
	ok(ww_hull_fit(&h).offset_ns == f.offset_ns, "after which the best that was known stays");
	is_i64(ww_hull_bound(&h, &f, 0, 1000), -1, "without a bound");
	ww_hull_release(&h);
}

int main(void)
{
	test_edges();
	test_random();
	test_bound();
	return done_testing();
}
