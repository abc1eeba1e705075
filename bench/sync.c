/* sync.c - what it costs to make the clocks of many hosts one, and how that grows.
 *
 *   sync HOSTS PACKETS prints: hosts, packets a host, seconds for reading in and for solving, peak MB,
 *                        the worst error and bound, us, and packets that arrive too early
 *
 * Hosts stand in a ring; each talks with both neighbours over 16 connections: questions and answers, one in 100
 * sent twice. The facts of one host at a time are in memory, as in `whywait sync`; making them is not counted, but
 * their memory is. Clocks have known offsets and drifts, so the answer is checked too.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "clock/sync.h"

enum { CONNECTIONS = 16, SLOT_NS = 100000, ACK = 16 };

struct clk { int64_t offset_ns, drift_ppb; };

static struct clk clock_of(uint32_t host)
{
	return (struct clk){(int64_t)host * 7919000000 - 31000000000, ((int64_t)host * 104729 % 901 - 450) * 1000};
}

static int64_t local(uint32_t host, int64_t t)
{
	struct clk c = clock_of(host);

	return t + c.offset_ns + (int64_t)((__int128)t * c.drift_ppb / 1000000000);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Time on the wire: 15 us and a long tail. */
static int64_t wire_ns(uint64_t what)
{
	uint64_t r = mix(what);

	return 15000 + (int64_t)((r & 0xff) * (r >> 8 & 0xff) / 4);
}

static void put(struct ww_facts *f, uint32_t self, uint32_t from, uint32_t to, uint16_t port, bool question, uint32_t seq,
		uint32_t ack, int64_t t)
{
	struct ww_packet p = {.ts_ns = local(self, t), .sent = self == from, .family = 4, .proto = 6, .tcp_flags = ACK,
			      .sport = question ? port : 80, .dport = question ? 80 : port, .saddr_lo = 0x0a000001 + from,
			      .daddr_lo = 0x0a000001 + to, .seq = seq, .ack = ack, .payload = 100, .thread = WW_NONE,
			      .trigger = WW_NONE, .match = WW_NONE};
	ww_packet_push(f, &p);
}

/* What host `self` sees of the question and answer of one slot. */
static void exchange(struct ww_facts *f, uint32_t self, uint32_t hosts, uint64_t slot)
{
	const uint32_t a = (uint32_t)(slot % hosts), b = (a + 1) % hosts;
	const uint64_t round = slot / hosts;
	const uint16_t port = (uint16_t)(1000 + round % CONNECTIONS);
	const uint32_t seq = (uint32_t)(round / CONNECTIONS) * 100, rsn = seq + 12345;
	const int64_t t = (int64_t)slot * SLOT_NS;
	const int64_t there = t + wire_ns(slot * 2), answer = there + 8000, back = answer + wire_ns(slot * 2 + 1);

	if (self != a && self != b)
		return;
	put(f, self, a, b, port, true, seq, rsn, self == a ? t : there);
	put(f, self, b, a, port, false, rsn, seq + 100, self == a ? back : answer);
	if (slot % 100 == 7 && self == a) /* lost by the network, if it was not that copy that arrived */
		put(f, self, a, b, port, true, seq, rsn, back + 1000);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t worst_error(const struct ww_set *set, int64_t end)
{
	int64_t worst = 0;

	for (uint32_t h = 0; h < set->nhosts; h++)
		for (int64_t t = 0; t <= end; t += end / 50) {
			int64_t got = ww_correction_apply(&set->corrections[h], local(h, t));
			int64_t off = got - local(set->reference, t);
			worst = WW_MAX(worst, off < 0 ? -off : off);
		}
	return worst;
}

int main(int argc, char **argv)
{
	const uint32_t hosts = argc > 1 ? (uint32_t)atoi(argv[1]) : 10, packets = argc > 2 ? (uint32_t)atoi(argv[2]) : 1000000;
	/* Two of the `hosts` pairs are a host's own, each exchange is two packets of it. */
	const uint64_t slots = (uint64_t)packets * hosts / (hosts > 2 ? 4 : 2);
	struct ww_sync *s = ww_sync_new();
	struct ww_arena mem;
	struct ww_set set;
	struct ww_err err = {0};
	double adding = 0;
	struct rusage ru;

	for (uint32_t h = 0; h < hosts; h++) {
		struct ww_facts f;
		ww_facts_init(&f);
		f.host = (struct ww_host){.name = "h", .trace_path = "", .clock_uuid = ""};
		for (uint64_t slot = 0; slot < slots; slot++)
			exchange(&f, h, hosts, slot);
		f.begin_ts_ns = local(h, 0);
		f.end_ts_ns = local(h, (int64_t)slots * SLOT_NS);
		double t = now_s();
		if (ww_sync_add(s, &f, &err))
			return 1;
		adding += now_s() - t;
		ww_facts_release(&f);
	}
	double t = now_s();
	ww_arena_init(&mem);
	if (ww_sync_solve(s, &mem, NULL, &set, &err))
		return 1;
	t = now_s() - t;
	getrusage(RUSAGE_SELF, &ru);
	uint64_t violations = 0;
	int64_t bound = 0;
	for (uint32_t i = 0; i < set.npairs; i++)
		violations += set.pairs[i].violations_after;
	for (uint32_t h = 0; h < hosts; h++)
		bound = WW_MAX(bound, set.corrections[h].bound_ns);
	printf("%5u %10u %8.2f %8.2f %8.0f %8.1f %8.1f %6" PRIu64 "\n", hosts, packets, adding, t, (double)ru.ru_maxrss / 1024,
	       (double)worst_error(&set, (int64_t)slots * SLOT_NS) / 1e3, (double)bound / 1e3, violations);
	ww_arena_release(&mem);
	ww_sync_free(s);
	return violations || set.nunreached;
}
