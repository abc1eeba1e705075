/* model_packets.c - packets that are given away while the trace is read are the same as when they are all kept.
 *
 * Judged by the model itself with everything kept: row for row, and whether the other end was on this host, which
 * may be known as late as thousands of packets after. And what an skb's address, which is used again, tells.
 */
#include "../tap.h"
#include "fake_trace.h"
#include "model/model.h"

enum { PACKETS = 60000, BACK = 8000 };

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* Of `sends` in 100 packets: the others come in, half of them from this host, sent up to BACK sends ago. */
static void put_packets(struct fake *k, uint32_t sends)
{
	static uint32_t skb[PACKETS];
	uint32_t nsent = 0;
	char buf[96];

	seed = 88172645463325252ull + sends;
	for (uint32_t i = 0; i < PACKETS; i++) {
		bool sent = rnd(100) < sends;
		uint32_t id = i + 1;

		if (sent)
			skb[nsent++] = id;
		else if (nsent && rnd(2))
			id = skb[nsent - 1 - rnd(WW_MIN(nsent, (uint32_t)BACK))];
		snprintf(buf, sizeof(buf), "skbaddr=%u len=%u", id, 100 + id % 1300);
		fake_event(k, 1000 + i, 0, sent ? "net_dev_queue" : "net_if_receive_skb", buf);
	}
}

struct taken {
	WW_VEC(struct ww_packet) rows;
	uint32_t times, most; /* rows in memory at once */
};

static void take(void *ctx, const struct ww_facts *f, uint32_t n)
{
	struct taken *t = ctx;

	for (uint32_t i = 0; i < n; i++)
		*ww_vec_push(&t->rows) = ww_packet_get(f, i);
	t->times++;
	t->most = WW_MAX(t->most, f->packet.n);
}

static void test_given_away(uint32_t sends, uint32_t most)
{
	struct ww_model_opts kept = {.packets_only = true}, given = {.packets_only = true, .packets = take};
	struct taken t = {0};
	struct ww_facts a, b;
	uint32_t bad = 0, here = 0;

	given.packets_ctx = &t;
	for (int i = 0; i < 2; i++) {
		struct fake *k = fake_new("lttng");
		struct ww_facts *f = i ? &b : &a;
		put_packets(k, sends);
		ww_facts_init(f);
		ww_model_run(fake_open(k), i ? &given : &kept, f, NULL);
		fake_free(k);
	}
	ok(t.rows.n + b.packet.n == a.packet.n && a.packet.n == PACKETS, "%u %% sent: all packets come", sends);
	take(&t, &b, b.packet.n);
	for (uint32_t i = 0; i < a.packet.n && i < t.rows.n; i++) {
		const struct ww_packet x = ww_packet_get(&a, i), *y = &t.rows.v[i];
		here += x.match != WW_NONE;
		bad += x.ts_ns != y->ts_ns || x.sent != y->sent || x.skb != y->skb || x.len != y->len ||
		       (x.match == WW_NONE) != (y->match == WW_NONE);
	}
	ok(!bad, "  as if they were kept (%u differ; %u with their other end here)", bad, here);
	ok(t.times > 1 && t.most <= most, "  and are not all there at once: %u times, at most %u of %u", t.times, t.most,
	   a.packet.n);
	ww_vec_free(&t.rows);
	ww_facts_release(&a);
	ww_facts_release(&b);
}

/* The kernel uses an skb's memory again: what comes in at the address of one that was sent need not be that one. */
static void test_same_address(void)
{
	static const struct { const char *sent, *received, *what; bool same; } cases[] = {
		{"skbaddr=5 len=42", "skbaddr=5 len=28", "no headers: without what was before them on the wire", true},
		{"skbaddr=5 len=28", "skbaddr=5 len=42", "longer than it was sent", false},
		{"skbaddr=5 len=600", "skbaddr=5 len=28", "much shorter", false},
		{"skbaddr=5 len=110 network_header.ipv6.nexthdr=0 network_header.ipv6.payload_len=56", "skbaddr=5 len=28",
		 "IPv6 was sent, ARP comes", false},
		{"skbaddr=5 len=84 network_header.ipv4.protocol=1 network_header.ipv4.tot_len=70",
		 "skbaddr=5 len=70 network_header.ipv4.protocol=17 network_header.ipv4.tot_len=70", "ICMP was sent, UDP comes", false},
		{"skbaddr=5 len=84 network_header.ipv4.protocol=1 network_header.ipv4.tot_len=70",
		 "skbaddr=5 len=70 network_header.ipv4.protocol=1 network_header.ipv4.tot_len=70", "ICMP", true},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(cases); i++) {
		static const struct ww_model_opts opts = {.packets_only = true};
		struct fake *k = fake_new("lttng");
		struct ww_facts f;

		fake_event(k, 10, 0, "net_dev_queue", cases[i].sent);
		fake_event(k, 20, 0, "net_if_receive_skb", cases[i].received);
		ww_facts_init(&f);
		ww_model_run(fake_open(k), &opts, &f, NULL);
		ok(f.packet.n == 2 && f.packet.match[1] == (cases[i].same ? 0 : WW_NONE) &&
		   f.packet.match[0] == (cases[i].same ? 1 : WW_NONE), "%s: %s", cases[i].what, cases[i].same ? "the same" : "another");
		ww_facts_release(&f);
		fake_free(k);
	}
}

#define TCP(sport, dport, seq, payload) \
	"network_header.ipv4.protocol=6 network_header.ipv4.saddr=#7f000001 network_header.ipv4.daddr=#7f000001 " \
	"network_header.ipv4.transport_header.tcp.source_port=" #sport " network_header.ipv4.transport_header.tcp.dest_port=" #dport \
	" network_header.ipv4.transport_header.tcp.seq=" #seq " network_header.ipv4.transport_header.tcp.ack_seq=1" \
	" network_header.ipv4.transport_header.tcp.data_offset=8 network_header.ipv4.transport_header.tcp.flags=24" \
	" network_header.ipv4.tot_len=" #payload

/* A segment that is cut up before it is received (lengths here are of the payload and 52 bytes of headers). */
static void test_cut(void)
{
	static const struct { const char *event, *fields; uint32_t match; const char *what; } rows[] = {
		{"net_dev_queue", "skbaddr=1 len=1 " TCP(80, 90, 1000, 20052), 4, "a large segment: its last piece"},
		{"net_dev_queue", "skbaddr=2 len=1 " TCP(80, 90, 21000, 10052), 5, "the next"},
		{"net_if_receive_skb", "skbaddr=7 len=1 " TCP(80, 90, 1000, 8052), 0, "the first piece"},
		{"net_if_receive_skb", "skbaddr=8 len=1 " TCP(90, 80, 1000, 8052), WW_NONE, "the other direction's is none of it"},
		{"net_if_receive_skb", "skbaddr=9 len=1 " TCP(80, 90, 9000, 12052), 0, "the second piece"},
		{"net_if_receive_skb", "skbaddr=2 len=1 " TCP(80, 90, 21000, 10052), 1, "whole, by its address"},
		{"net_if_receive_skb", "skbaddr=9 len=1 " TCP(80, 90, 30000, 2052), WW_NONE, "more than was sent"},
		{"net_if_receive_skb", "skbaddr=9 len=1 " TCP(80, 91, 1000, 8052), WW_NONE, "another port"},
	};
	static const struct ww_model_opts opts = {.packets_only = true};
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	for (size_t i = 0; i < WW_ARRAY_SIZE(rows); i++)
		fake_event(k, 10 + (int64_t)i, 0, rows[i].event, rows[i].fields);
	ww_facts_init(&f);
	ww_model_run(fake_open(k), &opts, &f, NULL);
	for (uint32_t i = 0; i < WW_ARRAY_SIZE(rows) && i < f.packet.n; i++)
		is_i64(f.packet.match[i], rows[i].match, rows[i].what);
	is_i64(f.packet.n, WW_ARRAY_SIZE(rows), "all packets");
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	test_cut();
	test_given_away(50, 40000);
	test_given_away(100, 40000);
	test_given_away(0, 40000);
	test_given_away(30, 60000); /* the last sends reach far back */
	test_same_address();
	return done_testing();
}
