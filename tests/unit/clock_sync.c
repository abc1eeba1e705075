/* clock_sync.c - sets of hosts whose clocks are known: errors within the bounds, the tree, names, times there and
 * back. */
#include <sys/stat.h>
#include <unistd.h>

#include "../packets.h"
#include "../tap.h"
#include "clock/stored.h"

enum { MAX = 12, ACK = 16 };

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

static const char *const names[MAX] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "h10", "h11"};
static const int64_t second = 1000000000;

/* ---- talk ---- */

/* n messages from a to b over [from, to), on the wire for 20 us and up to `more`. */
static void talk(struct net_host *h, uint32_t a, uint32_t b, int64_t from, int64_t to, uint32_t n, uint32_t more, uint32_t isn)
{
	struct net_packet p = {.from = a, .to = b, .sport = (uint16_t)(1000 + a), .dport = (uint16_t)(1000 + b), .proto = 6,
			       .flags = ACK, .payload = 10, .seq = isn};

	for (uint32_t i = 0; i < n; i++, p.seq += 10) {
		int64_t t = from + (to - from) / n * i + rnd(100000);
		net_send(&h[a], &p, t);
		net_arrive(&h[b], &p, t + 20000 + rnd(more));
	}
}

static void both_ways(struct net_host *h, uint32_t a, uint32_t b, uint32_t n)
{
	talk(h, a, b, 0, 4 * second, n, 50000, 7);
	talk(h, b, a, 0, 4 * second, n, 50000, 9);
}

/* A pair on a network of its own: near or far, and not the same there and back. */
static void some_ways(struct net_host *h, uint32_t a, uint32_t b)
{
	talk(h, a, b, 0, 4 * second, 3 + rnd(100), 1 + rnd(100) * rnd(100) * rnd(100), 7);
	talk(h, b, a, 0, 4 * second, 3 + rnd(100), 1 + rnd(100) * rnd(100) * rnd(100), 9);
}

struct world {
	struct net_host h[MAX];
	const struct ww_facts *facts[MAX];
	uint32_t n;
	struct ww_arena mem;
	struct ww_set set;
};

static void begin(struct world *w, uint32_t n)
{
	w->n = n;
	for (uint32_t i = 0; i < n; i++)
		net_host_init(&w->h[i], names[i], ((int64_t)rnd(400) - 200) * second, ((double)rnd(1000) - 500) * 1e-6);
	ww_arena_init(&w->mem);
}

static int make(struct world *w, const char *reference)
{
	const struct ww_set_opts o = {.reference = reference};

	for (uint32_t i = 0; i < w->n; i++) {
		if (!w->h[i].facts.end_ts_ns)
			net_host_seal(&w->h[i], 0, 4 * second);
		w->facts[i] = &w->h[i].facts;
	}
	return ww_set_make(&w->mem, w->facts, w->n, &o, &w->set, NULL);
}

static void end(struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		net_host_release(&w->h[i]);
	ww_arena_release(&w->mem);
}

/* The largest error of a host over the recording; *ret_bound its own claim. */
static int64_t error_of(const struct world *w, uint32_t host)
{
	int64_t worst = 0;

	for (int64_t t = 0; t <= 4 * second; t += second / 10) {
		int64_t e = ww_set_time(&w->set, host, net_local(&w->h[host], t)) - net_local(&w->h[w->set.reference], t);
		worst = WW_MAX(worst, e < 0 ? -e : e);
	}
	return worst;
}

static uint64_t violations(const struct ww_set *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->npairs; i++)
		n += s->pairs[i].violations_after;
	return n;
}

/* ---- tests ---- */

static void test_chain(void)
{
	int outside = 0, far = 0, early = 0, inaccurate = 0;

	for (int round = 0; round < 40; round++) {
		struct world w;
		begin(&w, 2 + rnd(MAX - 1));
		for (uint32_t i = 0; i + 1 < w.n; i++)
			both_ways(w.h, i, i + 1, 100);
		make(&w, round % 2 ? NULL : names[w.n - 1]);
		for (uint32_t i = 0; i < w.n; i++) {
			const struct ww_correction *c = &w.set.corrections[i];
			outside += error_of(&w, i) > c->bound_ns + 2;
			far += error_of(&w, i) > 50000;
			inaccurate += c->accuracy != WW_AC_ACCURATE && i != w.set.reference;
		}
		early += violations(&w.set) > 0;
		end(&w);
	}
	ok(!outside, "chains of 2 to 12 hosts: no clock outside its bound");
	ok(!far, "nor more than 50 us off, over up to 11 hops (%d are)", far);
	ok(!inaccurate && !early, "all accurate, nothing too early");
}

/* Everybody talks to everybody; the tree need not be a chain, and no pair may be violated. */
static void test_mesh(void)
{
	int outside = 0, early = 0;

	for (int round = 0; round < 200; round++) {
		struct world w;
		begin(&w, 3 + rnd(5));
		for (uint32_t a = 0; a < w.n; a++)
			for (uint32_t b = a + 1; b < w.n; b++)
				some_ways(w.h, a, b);
		make(&w, NULL);
		for (uint32_t i = 0; i < w.n; i++)
			outside += error_of(&w, i) > w.set.corrections[i].bound_ns + 2;
		early += (int)violations(&w.set);
		end(&w);
	}
	ok(!outside, "meshes: no clock outside its bound");
	ok(!early, "and nothing too early on any pair (%d packets)", early);
}

static void test_parts(void)
{
	struct world w;

	begin(&w, 5);
	both_ways(w.h, 0, 1, 100);
	both_ways(w.h, 1, 2, 100);
	make(&w, NULL);
	ok(w.set.nunreached == 2 && w.set.unreached[0] == 3 && w.set.unreached[1] == 4, "who shares no packets is said");
	ok(w.set.corrections[3].accuracy == WW_AC_NONE && w.set.corrections[3].offset_ns == 0 &&
	   w.set.corrections[3].bound_ns == -1, "and left as it is");
	is_i64(w.set.reference, 1, "the reference is in the middle of the others");
	is_i64(w.set.corrections[0].via, 1, "who go over it");
	ok(!strcmp(ww_accuracy_name(w.set.corrections[0].accuracy), "accurate"), "accurately");
	end(&w);
}

static void test_shared(void)
{
	struct world w;

	begin(&w, 3);
	w.h[2].facts.host.clock_uuid = w.h[0].facts.host.clock_uuid;
	w.h[0].facts.host.clock_offset_ns = 5000000000;
	w.h[2].facts.host.clock_offset_ns = 5000000777; /* each session measures anew how far the epoch is */
	for (int i = 0; i < 3; i++)
		w.h[i].facts.host.epoch_known = true;
	w.h[2].offset_ns = w.h[0].offset_ns;
	w.h[2].drift = w.h[0].drift;
	both_ways(w.h, 0, 1, 100);
	make(&w, "h0");
	ok(w.set.corrections[2].accuracy == WW_AC_SHARED && w.set.corrections[2].bound_ns == 0, "one clock by its uuid");
	is_i64(ww_set_time(&w.set, 2, 123456), ww_set_time(&w.set, 0, 123456), "the same instant on it is the same time");
	w.h[0].facts.host.epoch_known = false;
	end(&w);

	begin(&w, 3);
	w.h[2].facts.host.clock_uuid = w.h[0].facts.host.clock_uuid;
	w.h[2].offset_ns = w.h[0].offset_ns;
	w.h[2].drift = w.h[0].drift;
	both_ways(w.h, 0, 1, 100);
	make(&w, "h1");
	ok(w.set.corrections[2].accuracy == WW_AC_ACCURATE && error_of(&w, 2) <= w.set.corrections[2].bound_ns + 2,
	   "over a shared clock to a third host: as accurate as that one");
	end(&w);
}

static void test_unsteady(void)
{
	struct world w;

	begin(&w, 2);
	talk(w.h, 0, 1, 0, 2 * second, 50, 50000, 7);
	talk(w.h, 1, 0, 0, 2 * second, 50, 50000, 9);
	int64_t t0 = w.h[1].offset_ns;
	double drift = w.h[1].drift;
	w.h[1].offset_ns += 3000000; /* somebody sets the clock */
	talk(w.h, 0, 1, 2 * second, 4 * second, 50, 50000, 1007);
	talk(w.h, 1, 0, 2 * second, 4 * second, 50, 50000, 1009);
	make(&w, "h0");
	const struct ww_correction *c = &w.set.corrections[1];
	ok(c->accuracy == WW_AC_FAIL && c->bound_ns == -1, "a clock that was set is found out");
	ok(violations(&w.set) > 20 && w.set.pairs[0].violation_max_ns > 2000000, "with what arrives too early");
	w.h[1].offset_ns = t0;
	int64_t early = ww_set_time(&w.set, 1, net_local(&w.h[1], second)) - net_local(&w.h[0], second);
	ok(early > -200000 && early < 200000 && drift, "before that it is right");
	end(&w);
}

/* h1's clock runs at another speed from `at` on, without a step. */
static void change_speed(struct net_host *h, int64_t at, double drift)
{
	h->offset_ns += (int64_t)((double)at * (h->drift - drift));
	h->drift = drift;
}

/* A chain of three, the middle one's clock slewed twice; messages in between. */
static void test_slewed(void)
{
	static const double speeds[] = {30e-6, 530e-6, -40e-6};
	struct world w;
	struct net_host middle[3];
	int64_t worst = 0;

	begin(&w, 3);
	w.h[1].drift = speeds[0];
	for (int k = 0; k < 3; k++) {
		int64_t from = (int64_t)(k + k / 2) * second, to = k == 2 ? 4 * second : from + second + (k == 1) * second; /* 0 1 3 4 */
		change_speed(&w.h[1], from, speeds[k]);
		middle[k] = w.h[1];
		for (uint32_t a = 0; a < 2; a++) {
			talk(w.h, a, a + 1, from, to, 200, 50000, (uint32_t)(7 + 10000 * k));
			talk(w.h, a + 1, a, from, to, 200, 50000, (uint32_t)(9 + 10000 * k));
		}
	}
	make(&w, "h0");
	for (int64_t t = 0; t < 4 * second; t += second / 50) {
		const struct net_host *h = &middle[t < second ? 0 : t < 3 * second ? 1 : 2];
		int64_t e = ww_set_time(&w.set, 1, net_local(h, t)) - net_local(&w.h[0], t);
		worst = WW_MAX(worst, e < 0 ? -e : e);
	}
	const struct ww_correction *c = w.set.corrections;
	ok(c[1].accuracy == WW_AC_APPROXIMATE && c[1].nbends >= 4 && c[1].nbends <= 8 && c[1].bound_ns > 0,
	   "a slewed clock is put together of %u pieces", c[1].nbends - 1);
	ok(worst <= c[1].bound_ns + 2 && worst < 100000, "right to %d us, within its bound of %d us", (int)(worst / 1000),
	   (int)(c[1].bound_ns / 1000));
	ok(c[2].accuracy == WW_AC_APPROXIMATE && error_of(&w, 2) <= c[2].bound_ns + 2 && error_of(&w, 2) < 200000,
	   "and so is who is seen through it, to %d us, bound %d", (int)(error_of(&w, 2) / 1000), (int)(c[2].bound_ns / 1000));
	ok(!violations(&w.set), "nothing arrives before it was sent (%d)", (int)violations(&w.set));
	int bad = 0;
	for (int i = 0; i < 100000; i++) {
		int64_t t = w.h[1].facts.begin_ts_ns + (int64_t)i * 40000 + rnd(100) - second / 10;
		int64_t u = ww_set_time(&w.set, 1, t);
		bad += ww_set_time(&w.set, 1, t + 1) < u;
		int64_t back = ww_set_local(&w.set, 1, u);
		bad += ww_set_time(&w.set, 1, back) > u || ww_set_time(&w.set, 1, back + 1) <= u;
	}
	ok(!bad, "there and back, and never backwards");
	end(&w);
}

static void test_thin(void)
{
	struct world w;

	begin(&w, 3);
	talk(w.h, 0, 1, 0, 4 * second, 100, 50000, 7); /* one direction only */
	talk(w.h, 1, 2, second, second + 10, 1, 1, 7); /* one round trip */
	talk(w.h, 2, 1, second + 1000000, second + 1000010, 1, 1, 7);
	make(&w, "h1");
	ok(w.set.corrections[0].accuracy == WW_AC_APPROXIMATE && w.set.corrections[0].bound_ns == -1,
	   "one direction: approximate, without a bound");
	ok(w.set.corrections[2].accuracy == WW_AC_APPROXIMATE && w.set.corrections[2].drift_e15 == 0,
	   "one round trip: approximate, no drift made up");
	ok(!violations(&w.set), "nothing too early");
	end(&w);
}

static void test_reference(void)
{
	struct world w;

	begin(&w, 3);
	both_ways(w.h, 0, 1, 50);
	both_ways(w.h, 1, 2, 50);
	is_i64(make(&w, "nobody"), -WW_EUSAGE, "an unknown reference is a wrong argument");
	is_i64(make(&w, "h2"), 0, "a host's name");
	is_i64(w.set.reference, 2, "is found");
	end(&w);
}

/* ns there and back, and never backwards. */
static void test_time(void)
{
	int bad = 0, back = 0;

	for (int i = 0; i < 2000; i++) {
		struct ww_correction c = {.t0_ns = 1795964147986869880 + (int64_t)rnd(1000000), .offset_ns = (int64_t)rnd(2000000000) - 1000000000,
					  .drift_e15 = ((int64_t)rnd(2000000) - 1000000) * 1000000};
		int64_t t = c.t0_ns + (int64_t)rnd(2000000000) * 50, last = INT64_MIN;
		for (int k = 0; k < 20; k++, t++) {
			int64_t r = ww_correction_apply(&c, t);
			back += r < last;
			last = r;
			int64_t b = ww_correction_invert(&c, r);
			bad += ww_correction_apply(&c, b) != r || b < t || b > t + 1;
		}
	}
	ok(!bad, "there and back");
	ok(!back, "and never backwards");
}

/* A set's matches point at each other; inside a host the model's stand. */
static void test_match(void)
{
	struct world w;
	int bad = 0, n = 0;

	begin(&w, 2);
	both_ways(w.h, 0, 1, 50);
	struct net_packet p = {.from = 0, .to = 0, .sport = 5, .dport = 6, .proto = 6, .flags = ACK, .seq = 5, .payload = 3};
	net_send(&w.h[0], &p, 5 * second);
	net_arrive(&w.h[0], &p, 5 * second + 10);
	uint32_t last = (uint32_t)w.h[0].rows.n - 1;
	w.h[0].rows.v[last].match = last - 1;
	w.h[0].rows.v[last - 1].match = last;
	make(&w, NULL);
	for (uint32_t i = 0; i < w.facts[0]->packet.n; i++) {
		struct ww_packet_ref r = w.set.match[0][i];
		if (r.host == 1) {
			n++;
			bad += w.set.match[1][r.packet].host != 0 || w.set.match[1][r.packet].packet != i;
		} else {
			bad += r.host != 0 || w.set.match[0][r.packet].packet != i;
		}
	}
	ok(!bad && n == 100, "each end names the other (%d on the other host)", n);
	end(&w);
	begin(&w, 1);
	is_i64(make(&w, NULL), 0, "one host is a set too");
	ok(!w.set.match && ww_set_time(&w.set, 0, 42) == 42 && w.set.corrections[0].accuracy == WW_AC_REFERENCE, "with nothing to correct");
	end(&w);
}

/* ---- stored beside the traces ---- */

static char *path_of(const char *dir, const char *name)
{
	return ww_xasprintf("%s/%s", dir, name);
}

/* What a set of these hosts says with what is stored; errors against the truth over the recording. */
static bool stored_is_used(struct world *w, const uint32_t *hosts, uint32_t n, int64_t *ret_error)
{
	const struct ww_set_opts o = {.stored = true};
	const struct ww_facts *facts[MAX];
	struct ww_correction c[MAX];
	struct ww_arena mem;
	struct ww_set set;

	ww_arena_init(&mem);
	for (uint32_t i = 0; i < n; i++)
		facts[i] = w->facts[hosts[i]];
	ww_set_make(&mem, facts, n, &o, &set, NULL);
	bool used = ww_stored_load(set.who, n, c);
	*ret_error = 0;
	for (uint32_t i = 0; i < n; i++) {
		for (int64_t t = 0; t <= 4 * second; t += second / 4) {
			int64_t e = ww_set_time(&set, i, net_local(&w->h[hosts[i]], t)) -
				    net_local(&w->h[hosts[set.reference]], t);
			*ret_error = WW_MAX(*ret_error, e < 0 ? -e : e);
		}
	}
	ww_arena_release(&mem);
	return used;
}

static void test_stored(void)
{
	char dir[] = "/tmp/ww-stored-XXXXXX", cache[300];
	struct world w;
	int64_t error;

	TAP_NEED(mkdtemp(dir), "a directory");
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	setenv("XDG_CACHE_HOME", cache, 1);
	begin(&w, 3);
	char *paths[3];
	for (uint32_t i = 0; i < 3; i++) {
		w.h[i].facts.host.trace_path = paths[i] = path_of(dir, names[i]);
		mkdir(paths[i], 0755);
	}
	both_ways(w.h, 0, 1, 100);
	both_ways(w.h, 1, 2, 100);
	make(&w, "h1");
	const uint32_t all[] = {0, 1, 2}, ends[] = {2, 0};
	ok(!stored_is_used(&w, all, 3, &error), "nothing is stored at first");
	is_i64(ww_stored_save(&w.set, NULL), 0, "stored");
	ok(stored_is_used(&w, all, 3, &error) && error < 50000, "and used");
	ok(stored_is_used(&w, ends, 2, &error) && error < 50000, "also for two hosts that share no packets, without the reference");
	w.h[2].facts.end_ts_ns++;
	ok(!stored_is_used(&w, all, 3, &error) && error < 50000, "not for a trace that changed");
	w.h[2].facts.end_ts_ns--;
	char *file = ww_xasprintf("%s/h0.whywait-sync", dir), *edit = ww_xasprintf("sed -i 's/^correction [-0-9]* /&5/' %s", file);
	ok(!system(edit) && !stored_is_used(&w, all, 3, &error) && error < 50000, "not one that was edited");
	free(edit);
	FILE *f = fopen(file, "w");
	fputs("whywait-sync 1\nset 99999999999999999999 trace x", f);
	fclose(f);
	ok(!stored_is_used(&w, all, 3, &error), "nor from a file that is none");
	unlink(file);
	chmod(dir, 0555);
	ww_stored_save(&w.set, NULL);
	ok(access(file, F_OK) && stored_is_used(&w, all, 3, &error), "beside read-only directories nothing is written, but in the cache");
	chmod(dir, 0755);
	free(file);
	end(&w);
	for (uint32_t i = 0; i < 3; i++)
		free(paths[i]);
	file = ww_xasprintf("rm -r %s", dir);
	ok(!system(file), "cleared away");
	free(file);
}

int main(void)
{
	test_time();
	test_chain();
	test_mesh();
	test_parts();
	test_shared();
	test_unsteady();
	test_slewed();
	test_thin();
	test_reference();
	test_match();
	test_stored();
	return done_testing();
}
