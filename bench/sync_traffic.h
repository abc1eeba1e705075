/* sync_traffic.h - packets of hosts in a ring, each of which talks with both neighbours over 16 connections:
 * questions and answers, one in 100 sent twice. Clocks have known offsets and drifts. The same for every call.
 */
#ifndef WW_SYNC_TRAFFIC_H
#define WW_SYNC_TRAFFIC_H

#include "facts/facts.h"

enum { CONNECTIONS = 16, SLOT_NS = 100000, ACK = 16 };

typedef void (*sync_sink)(void *ctx, const struct ww_packet *p);

struct clk { int64_t offset_ns, drift_ppb; };

static struct clk clock_of(uint32_t host)
{
	return (struct clk){(int64_t)host * 7919000000, ((int64_t)host * 104729 % 901 - 450) * 1000};
}

static int64_t sync_local(uint32_t host, int64_t t)
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

static void put(sync_sink sink, void *ctx, uint32_t self, uint32_t from, uint32_t to, uint16_t port, bool question, uint32_t seq,
		uint32_t ack, int64_t t)
{
	struct ww_packet p = {.ts_ns = sync_local(self, t), .sent = self == from, .family = 4, .proto = 6, .tcp_flags = ACK,
			      .sport = question ? port : 80, .dport = question ? 80 : port, .saddr_lo = 0x0a000001 + from,
			      .daddr_lo = 0x0a000001 + to, .seq = seq, .ack = ack, .payload = 100, .thread = WW_NONE,
			      .trigger = WW_NONE, .match = WW_NONE};
	sink(ctx, &p);
}

/* What host `self` sees of the question and answer of one slot. */
static void exchange(sync_sink sink, void *ctx, uint32_t self, uint32_t hosts, uint64_t slot)
{
	const uint32_t a = (uint32_t)(slot % hosts), b = (a + 1) % hosts;
	const uint64_t round = slot / hosts;
	const uint16_t port = (uint16_t)(1000 + round % CONNECTIONS);
	const uint32_t seq = (uint32_t)(round / CONNECTIONS) * 100, rsn = seq + 12345;
	const int64_t t = (int64_t)slot * SLOT_NS;
	const int64_t there = t + wire_ns(slot * 2), answer = there + 8000, back = answer + wire_ns(slot * 2 + 1);

	if (self != a && self != b)
		return;
	put(sink, ctx, self, a, b, port, true, seq, rsn, self == a ? t : there);
	put(sink, ctx, self, b, a, port, false, rsn, seq + 100, self == a ? back : answer);
	if (slot % 100 == 7 && self == a) /* lost by the network, if it was not that copy that arrived */
		put(sink, ctx, self, a, b, port, true, seq, rsn, back + 1000);
}

/* Two of the pairs are a host's own, and each exchange is two packets of it. */
static uint64_t slots_of(uint32_t hosts, uint32_t packets)
{
	return (uint64_t)packets * hosts / (hosts > 2 ? 4 : 2);
}

/* True time after the last packet, ns; all begin at 0. */
static inline int64_t sync_traffic_end(uint32_t hosts, uint32_t packets)
{
	return (int64_t)slots_of(hosts, packets) * SLOT_NS;
}

/* What host `self` sees, about `packets` packets, in its own time. */
static void sync_traffic(uint32_t self, uint32_t hosts, uint32_t packets, sync_sink sink, void *ctx)
{
	for (uint64_t slot = 0; slot < slots_of(hosts, packets); slot++)
		exchange(sink, ctx, self, hosts, slot);
}

#endif
