/* packets.h - hosts with known clocks that exchange packets, as facts; for tests and measurements of src/clock.
 *
 *   struct net_host h[2];  net_host_init(&h[0], "a", 0, 0);  net_host_init(&h[1], "b", 5000000, 20000);
 *   struct net_packet p = {.from = 0, .to = 1, .sport = 1, .dport = 2, .proto = 6, .payload = 100};
 *   net_send(&h[0], &p, 1000);  net_arrive(&h[1], &p, 1400);        true time, ns
 *   net_host_seal(&h[0]); ...                                       sorts; then h[0].facts is ready
 */
#ifndef WW_TEST_PACKETS_H
#define WW_TEST_PACKETS_H

#include "facts/facts.h"
#include "base/vec.h"

struct net_packet {
	uint32_t from, to; /* hosts; their addresses are 10.0.0.(n + 1) */
	uint16_t sport, dport;
	uint8_t proto, flags;
	uint32_t seq, ack, payload;
};

struct net_host {
	struct ww_facts facts;
	int64_t offset_ns;
	double drift;           /* 20e-6: gains 20 us a second */
	WW_VEC(struct ww_packet) rows;
	WW_VEC(uint64_t) tags;  /* of the test's, beside rows; moved along by net_host_seal */
};

__attribute__((unused)) static void net_host_init(struct net_host *h, const char *name, int64_t offset_ns, double drift)
{
	*h = (struct net_host){.offset_ns = offset_ns, .drift = drift};
	ww_facts_init(&h->facts);
	h->facts.host = (struct ww_host){.name = name, .trace_path = name, .clock_uuid = name, .clock_name = "", .tracer = "",
					 .kernel_release = ""};
}

static int64_t net_local(const struct net_host *h, int64_t true_ns)
{
	return true_ns + h->offset_ns + (int64_t)((double)true_ns * h->drift);
}

static struct ww_packet net_row(const struct net_packet *p, int64_t ts_ns, bool sent)
{
	return (struct ww_packet){
		.ts_ns = ts_ns, .sent = sent, .family = 4, .proto = p->proto, .tcp_flags = p->flags, .sport = p->sport,
		.dport = p->dport, .saddr_lo = 0x0a000001 + p->from, .daddr_lo = 0x0a000001 + p->to, .seq = p->seq,
		.ack = p->ack, .payload = p->payload, .thread = WW_NONE, .trigger = WW_NONE, .match = WW_NONE};
}

static void net_add(struct net_host *h, const struct net_packet *p, int64_t true_ns, bool sent, uint64_t tag)
{
	*ww_vec_push(&h->rows) = net_row(p, net_local(h, true_ns), sent);
	*ww_vec_push(&h->tags) = tag;
}

__attribute__((unused)) static void net_send(struct net_host *h, const struct net_packet *p, int64_t true_ns)
{
	net_add(h, p, true_ns, true, 0);
}

__attribute__((unused)) static void net_arrive(struct net_host *h, const struct net_packet *p, int64_t true_ns)
{
	net_add(h, p, true_ns, false, 0);
}

static const struct net_host *net_sorting;

static int net_by_time(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int64_t x = net_sorting->rows.v[i].ts_ns, y = net_sorting->rows.v[k].ts_ns;

	return x != y ? (x < y ? -1 : 1) : i < k ? -1 : 1;
}

/* The trace begins and ends with its packets, but not later or earlier than asked for (true time). */
__attribute__((unused)) static void net_host_seal(struct net_host *h, int64_t begin_ns, int64_t end_ns)
{
	const uint32_t n = (uint32_t)h->rows.n;
	uint32_t *order = ww_xmalloc(sizeof(*order) * (n + 1));
	uint64_t *tags = ww_xmalloc(sizeof(*tags) * (n + 1));

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	net_sorting = h;
	if (n)
		qsort(order, n, sizeof(*order), net_by_time);
	for (uint32_t i = 0; i < n; i++) {
		ww_packet_push(&h->facts, &h->rows.v[order[i]]);
		tags[i] = h->tags.v[order[i]];
	}
	if (n)
		memcpy(h->tags.v, tags, sizeof(*tags) * n);
	h->facts.begin_ts_ns = net_local(h, begin_ns);
	h->facts.end_ts_ns = net_local(h, end_ns);
	free(order);
	free(tags);
}

__attribute__((unused)) static void net_host_release(struct net_host *h)
{
	ww_vec_free(&h->rows);
	ww_vec_free(&h->tags);
	ww_facts_release(&h->facts);
}

#endif
