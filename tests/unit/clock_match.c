/* clock_match.c - matching against a naive one that looks at every byte and every pair of packets, on random
 * connections with loss, repetition, duplicates, reordering, merged and split segments and wrapping numbers. */
#include "../packets.h"
#include "../tap.h"
#include "clock/match.h"

enum { A, B, BYTES = 6000, SYN = 2, FIN = 1, ACK = 16, PSH = 8 };

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* One direction of a connection: A sends `BYTES` bytes from isn + 1 on, B answers with bare ACKs. Tags of rows:
 * relative begin << 32 | payload of data; of a bare ACK its number in order of sending. */
struct world {
	struct net_host h[3];
	uint32_t isn, rsn;
	int64_t first_sent[BYTES]; /* local time of A; INT64_MAX: that byte's sending is not in the trace */
	int nacks;
};

static void data(struct world *w, uint32_t at, uint32_t len, uint32_t ack, int64_t sent, int64_t arrived)
{
	struct net_packet p = {.from = A, .to = B, .sport = 1000, .dport = 80, .proto = 6, .flags = ACK,
			       .seq = w->isn + 1 + at, .ack = w->rsn + ack, .payload = len};
	uint64_t tag = (uint64_t)at << 32 | len;

	if (sent >= 0) {
		net_add(&w->h[A], &p, sent, true, tag);
		for (uint32_t i = at; i < at + len; i++)
			w->first_sent[i] = WW_MIN(w->first_sent[i], net_local(&w->h[A], sent));
	}
	if (arrived >= 0)
		net_add(&w->h[B], &p, arrived, false, tag);
}

/* Sent [at, at + len) arrives in other pieces: of what was sent since `from`, `pieces` of them. */
static void merged(struct world *w, uint32_t from, uint32_t to, uint32_t pieces, uint32_t ack, int64_t t)
{
	for (uint32_t i = 0; i < pieces && from < to; i++) {
		uint32_t len = i + 1 == pieces ? to - from : WW_MIN(to - from, 1 + rnd(to - from));
		data(w, from, len, ack, -1, t + i);
		from += len;
	}
}

static void ack(struct world *w, uint32_t upto, int64_t sent, int64_t arrived)
{
	struct net_packet p = {.from = B, .to = A, .sport = 80, .dport = 1000, .proto = 6, .flags = ACK,
			       .seq = w->rsn, .ack = w->isn + 1 + upto};
	uint64_t tag = (uint64_t)w->nacks++;

	net_add(&w->h[B], &p, sent, true, tag);
	if (arrived >= 0)
		net_add(&w->h[A], &p, arrived, false, tag);
}

static void make(struct world *w, bool syn)
{
	int64_t t = 1000;
	uint32_t at = 0;

	net_host_init(&w->h[A], "a", 0, 0);
	net_host_init(&w->h[B], "b", -5000000, 0);
	for (int i = 0; i < BYTES; i++)
		w->first_sent[i] = INT64_MAX;
	w->nacks = 0;
	w->isn = rnd(2) ? 0u - rnd(BYTES) : rnd(UINT32_MAX);
	w->rsn = rnd(UINT32_MAX);
	if (syn) {
		struct net_packet p = {.from = A, .to = B, .sport = 1000, .dport = 80, .proto = 6, .flags = SYN, .seq = w->isn};
		net_add(&w->h[A], &p, 500, true, UINT64_MAX);
		net_add(&w->h[B], &p, 600, false, UINT64_MAX);
	}
	while (at < BYTES - 300) {
		uint32_t len = 1 + rnd(100), kind = rnd(8);
		int64_t wire = 50 + rnd(400);
		if (kind == 0) { /* lost, then again, perhaps in another shape */
			uint32_t again = rnd(2) ? len : len + rnd(50);
			data(w, at, len, t % 7, t, -1);
			data(w, at, again, t % 7, t + 2000, t + 2000 + wire);
			at += again;
		} else if (kind == 1) { /* the network made two of it */
			data(w, at, len, t % 7, t, t + wire);
			data(w, at, len, t % 7, -1, t + wire + 30);
			at += len;
		} else if (kind == 2) { /* repeated though it arrived */
			data(w, at, len, 1, t, t + wire);
			data(w, at, len, 1, t + 1000, t + 1000 + wire);
			at += len;
		} else if (kind < 5) { /* segments merged or split */
			uint32_t from = at, n = 1 + rnd(3);
			for (uint32_t i = 0; i < n; i++, at += len)
				data(w, at, len, 2, t + i, -1);
			merged(w, from, at, 1 + rnd(3), 2, t + n + wire);
		} else { /* on its way it may be overtaken */
			data(w, at, len, t % 5, t, t + wire + rnd(5000));
			at += len;
		}
		if (rnd(2))
			ack(w, at, t + 500, rnd(5) ? t + 500 + wire : -1);
		if (rnd(6) == 0) /* the same again: a window update */
			ack(w, at, t + 700, t + 700 + wire);
		t += 3000;
	}
	net_host_seal(&w->h[A], 0, t + 10000);
	net_host_seal(&w->h[B], 0, t + 10000);
}

static void release(struct world *w)
{
	net_host_release(&w->h[A]);
	net_host_release(&w->h[B]);
}

/* What the naive matcher says of a received data packet: the first sending of its last byte, but if the packet
 * itself was sent as it came, the first time that it was. */
static int64_t naive_data(const struct world *w, const struct ww_packet_cols *c, uint32_t i, uint32_t at, uint32_t len)
{
	const struct ww_packet_cols *s = &w->h[A].facts.packet;
	int64_t last = INT64_MIN;

	for (uint32_t k = 0; k < s->n; k++)
		if (s->sent[k] && s->seq[k] == c->seq[i] && s->ack[k] == c->ack[i] && s->payload[k] == len &&
		    s->tcp_flags[k] == c->tcp_flags[i])
			return s->ts_ns[k];
	for (uint32_t b = at; b < at + len; b++)
		last = WW_MAX(last, w->first_sent[b]);
	return last;
}

/* A bare ACK of this number's shape was sent once and arrived once. */
static bool is_unique(const struct ww_packet_cols *c, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < c->n; k++)
		n += c->sent[k] == c->sent[i] && c->seq[k] == c->seq[i] && c->ack[k] == c->ack[i] &&
		     c->payload[k] == c->payload[i] && c->tcp_flags[k] == c->tcp_flags[i];
	return n == 1;
}

static int check_data(const struct world *w, const struct ww_matcher *m)
{
	const struct ww_packet_cols *c = &w->h[B].facts.packet;
	int bad = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t tag = w->h[B].tags.v[i];
		uint32_t p = m->host.v[B].partner[i];
		if (c->sent[i] || tag == UINT64_MAX) {
			bad += tag == UINT64_MAX && p == WW_NONE;
			continue;
		}
		int64_t want = naive_data(w, c, i, (uint32_t)(tag >> 32), (uint32_t)tag);
		bad += p == WW_NONE || w->h[A].facts.packet.ts_ns[p] != want;
	}
	return bad;
}

static int check_acks(const struct world *w, const struct ww_matcher *m, bool refined)
{
	const struct ww_packet_cols *c = &w->h[A].facts.packet;
	const uint32_t base = m->host.v[B].base;
	int bad = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t p = m->host.v[A].partner[i], sent = WW_NONE;
		if (c->sent[i])
			continue;
		for (uint32_t k = 0; k < w->h[B].tags.n; k++)
			if (w->h[B].facts.packet.sent[k] && w->h[B].tags.v[k] == w->h[A].tags.v[i])
				sent = k;
		bool sure = is_unique(c, i) && is_unique(&w->h[B].facts.packet, sent);
		if (sure || refined)
			bad += p != base + sent;
		else
			bad += p != WW_NONE;
	}
	return bad;
}

static int64_t real_time(void *ctx, uint32_t host, int64_t ts_ns)
{
	return ts_ns - ((struct world *)ctx)->h[host].offset_ns;
}

static void test_random(void)
{
	int data_bad = 0, ack_bad = 0, refined_bad = 0;

	for (int round = 0; round < 200; round++) {
		struct world w;
		struct ww_matcher *m = ww_matcher_new();
		make(&w, round % 2);
		ww_matcher_add(m, &w.h[A].facts, NULL);
		ww_matcher_add(m, &w.h[B].facts, NULL);
		ww_matcher_run(m);
		data_bad += check_data(&w, m);
		ack_bad += check_acks(&w, m, false);
		ww_matcher_refine(m, real_time, &w, UINT64_MAX);
		refined_bad += check_acks(&w, m, true);
		ww_matcher_free(m);
		release(&w);
	}
	ok(!data_bad, "data: the first transmission of the last byte (%d differ)", data_bad);
	ok(!ack_bad, "bare ACKs: only what is there once (%d differ)", ack_bad);
	ok(!refined_bad, "with the clocks known, repeated ACKs too (%d differ)", refined_bad);
}

/* Of a repeated segment the copy that arrived, once the clocks tell. */
static void test_retransmission(void)
{
	struct world w = {.isn = 5};
	struct ww_matcher *m = ww_matcher_new();

	net_host_init(&w.h[A], "a", 0, 0);
	net_host_init(&w.h[B], "b", 7000, 0);
	data(&w, 0, 10, 0, 100, -1);
	data(&w, 0, 10, 0, 5000, 5100);
	net_host_seal(&w.h[A], 0, 6000);
	net_host_seal(&w.h[B], 0, 6000);
	ww_matcher_add(m, &w.h[A].facts, NULL);
	ww_matcher_add(m, &w.h[B].facts, NULL);
	ww_matcher_run(m);
	ok(m->host.v[B].partner[0] == 0 && m->count[A * WW_MATCH_MAX_HOSTS + B].matched == 1, "before: the first copy");
	ww_matcher_refine(m, real_time, &w, UINT64_MAX);
	ok(m->host.v[B].partner[0] == 1 && m->host.v[A].partner[0] == WW_NONE && m->host.v[A].partner[1] == 2,
	   "after: the second, and the first has no other end");
	ok(m->count[A * WW_MATCH_MAX_HOSTS + B].unmatched == 1, "and is counted");
	ww_matcher_free(m);
	release(&w);
}

/* A large packet is split on its way; its last part is sent again, and looks just like that part. tail: when that arrived, if
 * it did; the repetition is sent at 20. */
static void split_and_sent_again(int64_t tail, int64_t again, uint32_t want_before, uint32_t want_after, const char *what)
{
	struct net_host h[2];
	struct ww_matcher *m = ww_matcher_new();
	struct net_packet p = {.from = A, .to = B, .sport = 1, .dport = 2, .proto = 6, .flags = ACK, .ack = 9, .seq = 1000, .payload = 3000};

	net_host_init(&h[A], "a", 0, 0);
	net_host_init(&h[B], "b", 0, 0);
	net_add(&h[A], &p, 5, true, 0);
	p.payload = 1000;
	net_add(&h[B], &p, 6, false, 0);
	p.seq = 2000;
	net_add(&h[B], &p, 7, false, 0);
	p.seq = 3000;
	net_add(&h[A], &p, 20, true, 0);
	if (tail)
		net_add(&h[B], &p, tail, false, 0);
	if (again)
		net_add(&h[B], &p, again, false, 0);
	net_host_seal(&h[A], 0, 100);
	net_host_seal(&h[B], 0, 100);
	ww_matcher_add(m, &h[A].facts, NULL);
	ww_matcher_add(m, &h[B].facts, NULL);
	ww_matcher_run(m);
	const uint32_t *partner = m->host.v[B].partner, last = m->host.v[B].n - 1;
	bool parts = partner[0] == 0 && partner[1] == 0, before = partner[2] == 0 && partner[last] == want_before;
	ww_matcher_refine(m, real_time, &(struct world){0}, UINT64_MAX);
	ok(parts && before && partner[0] == 0 && partner[1] == 0 && partner[2] == (tail ? 0 : want_after) && partner[last] == want_after,
	   "split, the last part sent again: %s", what);
	ww_matcher_free(m);
	net_host_release(&h[A]);
	net_host_release(&h[B]);
}

static void test_split_again(void)
{
	split_and_sent_again(8, 22, 0, 1, "both arrive");
	split_and_sent_again(8, 0, 0, 0, "the first arrives");
	split_and_sent_again(0, 22, 0, 1, "the repetition arrives");
}

/* More than 4 GiB in one direction, and a receiver that began to record a turn of the numbers later. */
static void test_wrap(void)
{
	struct net_host h[2];
	struct ww_matcher *m = ww_matcher_new();
	struct net_packet p = {.from = A, .to = B, .sport = 1, .dport = 2, .proto = 6, .flags = ACK, .payload = 1u << 20};
	int bad = 0;

	net_host_init(&h[A], "a", 0, 0);
	net_host_init(&h[B], "b", 0, 0);
	for (uint64_t i = 0, seq = 77; i < 10000; i++, seq += p.payload) { /* 2.4 turns; every shape comes again */
		p.seq = (uint32_t)seq;
		net_add(&h[A], &p, (int64_t)i * 1000, true, i);
		if (i >= 4100)
			net_add(&h[B], &p, (int64_t)i * 1000 + 100, false, i);
	}
	net_host_seal(&h[A], 0, 10000000);
	net_host_seal(&h[B], 0, 10000000);
	ww_matcher_add(m, &h[A].facts, NULL);
	ww_matcher_add(m, &h[B].facts, NULL);
	ww_matcher_run(m);
	for (uint32_t i = 0; i < m->host.v[B].n; i++) /* which turn it was cannot be known, but it is one */
		bad += m->host.v[B].partner[i] == WW_NONE || (h[A].tags.v[m->host.v[B].partner[i]] - h[B].tags.v[i]) % 4096 != 0;
	ok(!bad, "numbers that wrap, one side from the middle on");
	ww_matcher_free(m);
	net_host_release(&h[A]);
	net_host_release(&h[B]);
}

static void udp(struct net_host *h, uint32_t id, uint32_t check, uint32_t len, int64_t t, bool arrives)
{
	struct net_packet p = {.from = A, .to = B, .sport = 53, .dport = 54, .proto = 17, .seq = id << 16 | check, .payload = len};

	net_add(&h[A], &p, t, true, 0);
	if (arrives)
		net_add(&h[B], &p, t + 100, false, 0);
}

static int64_t same_time(void *ctx, uint32_t host, int64_t ts_ns)
{
	return ts_ns;
}

static uint32_t udp_matched(struct net_host *h, bool clocks)
{
	struct ww_matcher *m = ww_matcher_new();
	uint32_t n = 0;

	net_host_seal(&h[A], 0, 100000);
	net_host_seal(&h[B], 0, 100000);
	ww_matcher_add(m, &h[A].facts, NULL);
	ww_matcher_add(m, &h[B].facts, NULL);
	ww_matcher_run(m);
	if (clocks)
		ww_matcher_refine(m, same_time, NULL, 3);
	for (uint32_t i = 0; i < m->host.v[B].n; i++) {
		uint32_t p = m->host.v[B].partner[i];
		n += p != WW_NONE;
		if (p != WW_NONE && h[A].facts.packet.ts_ns[p] + 100 != h[B].facts.packet.ts_ns[i])
			n += 1000;
	}
	ww_matcher_free(m);
	net_host_release(&h[A]);
	net_host_release(&h[B]);
	return n;
}

static void udp_hosts(struct net_host *h)
{
	net_host_init(&h[A], "a", 0, 0);
	net_host_init(&h[B], "b", 0, 0);
}

static void test_udp(void)
{
	struct net_host h[2];

	udp_hosts(h);
	for (uint32_t i = 0; i < 20; i++)
		udp(h, 100 + i, 0xabcd, 10, i * 1000, i % 3);
	is_i64(udp_matched(h, false), 13, "UDP by its IP id, with losses");
	udp_hosts(h);
	for (uint32_t i = 0; i < 20; i++)
		udp(h, 0, i * 977, 10, i * 1000, i % 3);
	is_i64(udp_matched(h, false), 13, "UDP by its checksum");
	udp_hosts(h);
	for (uint32_t i = 0; i < 20; i++)
		udp(h, 0, 0xabcd, 10, i * 1000, i % 3);
	is_i64(udp_matched(h, false), 0, "datagrams that differ in nothing are left alone");
	udp_hosts(h);
	for (uint32_t i = 0; i < 20; i++)
		udp(h, 0, 0xabcd, 10, i * 1000, i % 3);
	is_i64(udp_matched(h, true), 13, "until the clocks tell them apart");
	udp_hosts(h);
	for (uint32_t i = 0; i < 20; i++) {
		udp(h, 50 + i, 0x1111, 10, i * 1000, true);
		h[B].rows.v[i].seq = (50 + i) << 16 | (i * 31); /* the card filled it in */
	}
	is_i64(udp_matched(h, false), 20, "a checksum that was completed by hardware");
}

/* What must not be taken for a message between hosts. */
static void test_not(void)
{
	struct net_host h[3];
	struct ww_matcher *m = ww_matcher_new();
	struct net_packet p = {.from = A, .to = B, .sport = 1, .dport = 2, .proto = 6, .flags = ACK, .payload = 5};

	for (int i = 0; i < 3; i++)
		net_host_init(&h[i], "x", 0, 0);
	net_add(&h[0], &p, 10, true, 0); /* seen at both ends of host 0: the model says so */
	net_add(&h[0], &p, 20, false, 0);
	h[0].rows.v[0].match = 1;
	h[0].rows.v[1].match = 0;
	p.seq = 100;
	for (int i = 0; i < 3; i++) { /* 127.0.0.1 is every host's own */
		net_add(&h[i], &p, 100 + i, i % 2, 0);
		h[i].rows.v[h[i].rows.n - 1].saddr_lo = h[i].rows.v[h[i].rows.n - 1].daddr_lo = 0x7f000001;
	}
	p.seq = 200; /* 1 and 2 pass it on; which was first only their clocks could say */
	for (int i = 1; i < 3; i++) {
		net_add(&h[i], &p, 200 + i, false, 0);
		net_add(&h[i], &p, 300 + i, true, 0);
	}
	for (int i = 0; i < 3; i++) {
		net_host_seal(&h[i], 0, 1000);
		ww_matcher_add(m, &h[i].facts, NULL);
	}
	ww_matcher_run(m);
	int n = 0;
	for (int i = 0; i < 3; i++)
		for (uint32_t k = 0; k < m->host.v[i].n; k++)
			n += m->host.v[i].partner[k] != WW_NONE;
	is_i64(n, 0, "inside a host, loopback, and two that pass on");
	ww_matcher_free(m);
	for (int i = 0; i < 3; i++)
		net_host_release(&h[i]);
}

/* The same ports again: a new SYN is a new connection, whatever its numbers. */
static void test_port_reuse(void)
{
	struct net_host h[2];
	struct ww_matcher *m = ww_matcher_new();
	int bad = 0;

	udp_hosts(h);
	for (uint32_t i = 0; i < 300; i++) {
		struct net_packet p = {.from = A, .to = B, .sport = 1, .dport = 2, .proto = 6, .flags = SYN,
				       .seq = i % 2 ? 4000000000u + i * 3 : 50u + i * 5};
		net_add(&h[A], &p, i * 1000, true, i);
		net_add(&h[B], &p, i * 1000 + 50, false, i);
		p.flags = ACK;
		p.seq++;
		p.payload = 100;
		net_add(&h[A], &p, i * 1000 + 100, true, i + 1000);
		net_add(&h[B], &p, i * 1000 + 150, false, i + 1000);
	}
	net_host_seal(&h[A], 0, 1000000);
	net_host_seal(&h[B], 0, 1000000);
	ww_matcher_add(m, &h[A].facts, NULL);
	ww_matcher_add(m, &h[B].facts, NULL);
	ww_matcher_run(m);
	for (uint32_t i = 0; i < m->host.v[B].n; i++) {
		uint32_t p = m->host.v[B].partner[i];
		bad += p == WW_NONE || h[A].tags.v[p] != h[B].tags.v[i];
	}
	ok(!bad && m->stream.n == 600, "300 connections on the same ports");
	ww_matcher_free(m);
	net_host_release(&h[A]);
	net_host_release(&h[B]);
}

/* Packets that make no sense: whatever comes, partners are of other hosts, and the arrival's is a sending. */
static void test_garbage(void)
{
	int bad = 0;

	for (int round = 0; round < 300; round++) {
		struct net_host h[3];
		struct ww_matcher *m = ww_matcher_new();
		for (int i = 0; i < 3; i++) {
			net_host_init(&h[i], "x", 0, 0);
			for (uint32_t k = rnd(300); k-- > 0;) {
				static const uint8_t protos[] = {6, 6, 6, 17, 1, 0};
				struct net_packet p = {.from = rnd(2), .to = rnd(2), .sport = (uint16_t)rnd(2), .dport = (uint16_t)rnd(2),
						       .proto = protos[rnd(6)], .flags = (uint8_t)rnd(32),
						       .seq = rnd(4) ? rnd(50) * 10 : rnd(UINT32_MAX), .ack = rnd(3),
						       .payload = rnd(3) ? rnd(4) * 10 : rnd(20) ? 0 : UINT32_MAX};
				net_add(&h[i], &p, rnd(100000), rnd(2), 0);
			}
			net_host_seal(&h[i], 0, 100000);
			ww_matcher_add(m, &h[i].facts, NULL);
		}
		ww_matcher_run(m);
		for (int pass = 0; pass < 2; pass++) {
			for (uint32_t i = 0; i < 3; i++)
				for (uint32_t k = 0; k < m->host.v[i].n; k++) {
					uint32_t p = m->host.v[i].partner[k];
					if (p == WW_NONE)
						continue;
					uint32_t o = ww_matcher_host_of(m, p);
					bad += o == i || ww_match_is_sent(&m->host.v[o], p - m->host.v[o].base) ==
								 ww_match_is_sent(&m->host.v[i], k);
				}
			struct world w = {.isn = 0};
			ww_matcher_refine(m, real_time, &w, UINT64_MAX);
		}
		ww_matcher_free(m);
		for (int i = 0; i < 3; i++)
			net_host_release(&h[i]);
	}
	ok(!bad, "garbage: a partner is an opposite end on another host");
}

int main(void)
{
	test_random();
	test_retransmission();
	test_split_again();
	test_wrap();
	test_udp();
	test_not();
	test_port_reuse();
	test_garbage();
	return done_testing();
}
