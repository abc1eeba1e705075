/* analysis_net.c - what counts as sent again: laid by hand, packet by packet. */
#include "../packets.h"
#include "../tap.h"

#include "analysis/analysis.h"

enum { SYN = 2, ACK = 16 };

/* One direction of one connection on one host. */
static void put(struct net_host *h, bool sent, uint8_t flags, uint32_t seq, uint32_t payload)
{
	static int64_t at;
	struct ww_packet p = {.ts_ns = at += 10, .sent = sent, .family = 4, .proto = 6, .tcp_flags = flags, .sport = 1000, .dport = 80,
			      .saddr_lo = 0x0a000001, .daddr_lo = 0x0a000002, .seq = seq, .payload = payload, .thread = WW_NONE,
			      .trigger = WW_NONE, .match = WW_NONE};
	ww_packet_push(&h->facts, &p);
}

static int64_t again(struct net_host *h)
{
	const struct ww_query q = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	const struct ww_analysis *a = ww_analysis_find("net");
	struct ww_table t;
	struct ww_arena mem;
	int64_t r = -1;

	ww_arena_init(&mem);
	net_host_seal(h, 0, 10000);
	if (!a->run(&mem, &h->facts, &q, &t, NULL) && t.nrows == 1)
		for (uint32_t c = 0; c < a->ncolumns; c++)
			if (!strcmp(a->columns[c].name, "retransmits"))
				r = t.cells[c].i;
	ww_arena_release(&mem);
	return r;
}

/* Who is said to have opened the connection of ports 1000 and 80, in [from, to), and what is said to be sent by it. */
static void opened_by(struct net_host *h, int64_t from, int64_t to, const char *end, int64_t sent, const char *name)
{
	const struct ww_query q = {.tid = -1, .pid = -1, .from_ts_ns = from, .to_ts_ns = to};
	const struct ww_analysis *a = ww_analysis_find("net");
	struct ww_table t;
	struct ww_arena mem;

	ww_arena_init(&mem);
	TAP_NEED(!a->run(&mem, &h->facts, &q, &t, NULL) && t.nrows == 1, "%s: one connection", name);
	for (uint32_t c = 0; c < a->ncolumns; c++)
		if (!strcmp(a->columns[c].name, "local"))
			is_str(t.cells[c].s, end, name);
		else if (!strcmp(a->columns[c].name, "sent_bytes"))
			is_i64(t.cells[c].i, sent, "and what it sent");
	ww_arena_release(&mem);
}

static void test_openers(void)
{
	enum { OUT = 1000, IN = 80 };
	static const struct {
		int64_t at;
		uint16_t from;
		uint8_t flags;
		uint32_t payload;
	} opened[] = {{10, IN, ACK, 5}, {20, OUT, SYN, 0}, {30, IN, SYN | ACK, 0}, {40, OUT, ACK, 100}, {50, IN, ACK, 7}, {60, OUT, ACK, 1},
		      {70, IN, SYN, 0}},
	  half[] = {{10, IN, SYN | ACK, 0}, {20, OUT, ACK, 100}, {30, IN, ACK, 7}}, late[] = {{10, IN, ACK, 7}, {20, OUT, ACK, 100}};
	struct net_host h[3];

	for (int i = 0; i < 3; i++) {
		const size_t n = i == 0 ? WW_ARRAY_SIZE(opened) : i == 1 ? WW_ARRAY_SIZE(half) : WW_ARRAY_SIZE(late);
		net_host_init(&h[i], "a", 0, 0);
		for (size_t k = 0; k < n; k++) {
			const __typeof__(*opened) *e = i == 0 ? &opened[k] : i == 1 ? &half[k] : &late[k];
			const bool out = e->from == OUT;
			struct net_packet p = {.from = out ? 0 : 1, .to = out ? 1 : 0, .sport = e->from, .dport = out ? IN : OUT, .proto = 6,
					       .flags = e->flags, .payload = e->payload};
			net_send(&h[i], &p, e->at);
		}
		net_host_seal(&h[i], 0, 100);
		TAP_NEED(!ww_facts_seal(&h[i].facts, NULL), "sealed");
	}
	opened_by(&h[0], INT64_MIN, INT64_MAX, "10.0.0.1:1000", 101, "who sent the SYN, though another's packet is older");
	opened_by(&h[0], 25, 35, "10.0.0.1:1000", 0, "also where only an answer is in the range");
	opened_by(&h[0], 45, 55, "10.0.0.1:1000", 0, "or what came");
	opened_by(&h[0], 65, 75, "10.0.0.1:1000", 0, "and of a later one of the same ports");
	opened_by(&h[1], 5, 15, "10.0.0.1:1000", 0, "who got the SYN's answer");
	opened_by(&h[2], INT64_MIN, INT64_MAX, "10.0.0.2:80", 7, "without a SYN, who sent first");
	opened_by(&h[2], 15, 25, "10.0.0.2:80", 0, "also where only the other one sends");
	for (int i = 0; i < 3; i++)
		net_host_release(&h[i]);
}

int main(void)
{
	struct net_host h;

	test_openers();

	net_host_init(&h, "a", 0, 0);
	put(&h, true, SYN, 4999, 0), put(&h, true, ACK, 5000, 100), put(&h, true, ACK, 5100, 100), put(&h, true, ACK, 5000, 100);
	put(&h, true, ACK, 5000, 300), put(&h, true, ACK, 5300, 0), put(&h, true, ACK, 5250, 50);
	is_i64(again(&h), 2, "a segment of bytes that were sent before; one that goes beyond them, and a bare ACK, are not");
	net_host_release(&h);

	net_host_init(&h, "a", 0, 0);
	put(&h, true, SYN, 0xfffffff0u, 0), put(&h, true, ACK, 0xfffffff1u, 100), put(&h, true, ACK, 85, 100);
	is_i64(again(&h), 0, "numbers that begin at 0 again are no repetition");
	net_host_release(&h);

	net_host_init(&h, "a", 0, 0);
	put(&h, true, SYN, 900000, 0), put(&h, true, ACK, 900001, 1000);
	put(&h, true, SYN, 1000, 0), put(&h, true, ACK, 1001, 500), put(&h, true, ACK, 1501, 500), put(&h, true, ACK, 1501, 500);
	is_i64(again(&h), 1, "nor are those of a later connection of the same ports");
	net_host_release(&h);
	return done_testing();
}
