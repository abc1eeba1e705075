/* clock_pieces.c - lines that bend: their algebra, and random slewed clocks found again from messages. */
#include "../tap.h"
#include "clock/pieces.h"

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

static const int64_t ms = 1000000, second = 1000000000;

/* A clock that bends every so often, by up to 500 ppm either way. */
static void make_clock(ww_points *line, uint32_t pieces, int64_t length)
{
	struct ww_point p = {-second, (int64_t)rnd(1000000) * 1000 - 500000000};

	*ww_vec_push(line) = p;
	for (uint32_t i = 0; i < pieces; i++) {
		int64_t dx = length / pieces, ppm = (int64_t)rnd(1000) - 500;

		p = (struct ww_point){p.x + dx, p.y + dx + dx / 1000000 * ppm};
		*ww_vec_push(line) = p;
	}
}

static void algebra(void)
{
	int bad = 0;

	for (int round = 0; round < 200; round++) {
		ww_points a = {0}, b = {0}, back = {0}, both = {0};

		make_clock(&a, 1 + rnd(5), 4 * second);
		make_clock(&b, 1 + rnd(5), 4 * second);
		ww_bent_invert(&a, &back);
		ww_bent_compose(&a, &b, &both);
		for (int i = 0; i < 200; i++) {
			int64_t x = (int64_t)rnd(8000) * ms - 3 * second + rnd(1000000), y = ww_bent_apply(&a, x);
			int64_t there = ww_bent_apply(&back, y) - x, composed = ww_bent_apply(&both, x) - ww_bent_apply(&b, y);
			bad += there < -2 || there > 2;
			/* A bend of b is a point of the composition only to a ns, and beyond the ends that grows. */
			bad += composed < -20 || composed > 20;
		}
		ww_vec_free(&a);
		ww_vec_free(&b);
		ww_vec_free(&back);
		ww_vec_free(&both);
	}
	ok(!bad, "inverse and composition are what the lines say one after the other (%d not)", bad);
}

/* Messages both ways, each 15 us and up to `more` on its way. */
static size_t talk(struct ww_message *m, const ww_points *clock, size_t n, int64_t gap, uint32_t more)
{
	int64_t x = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t wire = 15000 + rnd(more);

		x += 1 + (int64_t)rnd((uint32_t)gap) + (int64_t)rnd((uint32_t)gap);
		m[i].received = rnd(2);
		m[i].x = x;
		m[i].y = m[i].received ? ww_bent_apply(clock, x - wire) : ww_bent_apply(clock, x + wire);
	}
	return n;
}

static void slewed(void)
{
	enum { N = 4000 };
	static struct ww_message m[N];
	int found = 0, outside = 0, early = 0, many = 0, far = 0, rounds = 0;

	for (; rounds < 100; rounds++) {
		ww_points clock = {0}, line = {0};
		uint32_t pieces = 2 + rnd(4);
		int64_t bound = -1;

		make_clock(&clock, pieces, 6 * second);
		talk(m, &clock, N, ms, 1 + rnd(100000));
		int64_t end = m[N - 1].x;
		if (!ww_pieces_find(m, N, 0, end, &line, &bound)) {
			ww_vec_free(&clock);
			continue;
		}
		found++;
		many += line.n > 3 * pieces + 3;
		for (size_t i = 0; i < N; i++) {
			int64_t off = m[i].y - ww_bent_apply(&line, m[i].x);
			early += m[i].received ? off > 1 : off < -1;
		}
		for (int64_t x = 0; x <= end; x += end / 1000) {
			int64_t off = ww_bent_apply(&line, x) - ww_bent_apply(&clock, x);
			off = off < 0 ? -off : off;
			outside += bound < 0 || off > bound;
			far += off > 150000;
		}
		ww_vec_free(&clock);
		ww_vec_free(&line);
	}
	ok(found > 80, "of %d slewed clocks %d are found (others differ by less than the messages show)", rounds, found);
	ok(!early, "no message arrives before it was sent (%d do)", early);
	ok(!outside, "the truth is within the bound everywhere (%d times not)", outside);
	ok(!far, "and within 150 us (%d times not)", far);
	ok(many <= 5, "with about as many pieces as the clock had (%d times more than thrice as many)", many);
}

static void set_clock(void)
{
	enum { N = 1000 };
	static struct ww_message m[N];
	ww_points line = {0}, none = {0};
	struct ww_point ends[2] = {{0, 0}, {second, second}};
	int64_t bound;

	for (int i = 0; i < 2; i++)
		*ww_vec_push(&none) = ends[i];
	talk(m, &none, N, ms, 20000);
	for (size_t i = N / 2; i < N; i++)
		m[i].y += 50 * ms;
	ok(!ww_pieces_find(m, N, 0, m[N - 1].x, &line, &bound) && !line.n, "a clock that was set is not taken for a slewed one");
	for (size_t i = 0; i < N; i++)
		m[i].y = (int64_t)rnd(1000000) * 1000;
	ok(!ww_pieces_find(m, N, 0, m[N - 1].x, &line, &bound) && !line.n, "nor are times that are no clock's");
	ok(!ww_pieces_find(m, 0, 0, second, &line, &bound) && !line.n, "nor no messages");
	ww_vec_free(&none);
}

int main(void)
{
	algebra();
	slewed();
	set_clock();
	return done_testing();
}
