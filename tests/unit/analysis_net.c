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

int main(void)
{
	struct net_host h;

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
