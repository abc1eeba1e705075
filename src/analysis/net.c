/* net.c - connections: packets, bytes, retransmissions, round trips, and how long somebody waited for them.
 *
 * A connection's two directions are one row; "here" is the end that opened it, as far as the trace
 * shows, whatever the range. One over the ports of another that has ended (FIN, RST) begins with its SYN. A packet seen twice inside one host (sent and received over loopback) counts once, as sent. A segment whose
 * bytes were sent before in the same direction is a retransmission. The round trip is the time from a
 * segment with data, sent from this host, to the first packet back that acknowledges its end; of segments
 * sent once only (Karn). Where threads are asked for (--tid, --comm, ...), the rows are the connections on which one of
 * them sent, or for which one waited.
 */

#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_net;

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };
enum { PROTO, HERE, THERE, PACKETS, SENT, RECEIVED, RETRANS, RTT, RTT_MAX, BEGIN, DUR, BLOCKED, USER, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[PROTO] = {"proto", "protocol", WW_T_STR, "tcp, udp, icmp, or its number"},
	[HERE] = {"local", "from", WW_T_STR, "the end that opened the connection: that of its first SYN in the trace, else of its first packet there"},
	[THERE] = {"remote", "to", WW_T_STR, ""},
	[PACKETS] = {"packets", "packets", WW_T_COUNT, "both directions; over loopback once each"},
	[SENT] = {"sent_bytes", "sent", WW_T_BYTES, "payload, from that end"},
	[RECEIVED] = {"received_bytes", "received", WW_T_BYTES, "payload, to that end"},
	[RETRANS] = {"retransmits", "again", WW_T_COUNT, "TCP segments with data that had been sent before; of what came in, those whose data come behind later data: sent "
						"again, or overtaken on the way"},
	[RTT] = {"rtt_p50_ns", "round trip", WW_T_DUR, "median, data to acknowledgement; null: none seen"},
	[RTT_MAX] = {"rtt_max_ns", "longest", WW_T_DUR, ""},
	[BEGIN] = {"ts_ns", "at", WW_T_TIME, "first packet"},
	[DUR] = {"dur_ns", "for", WW_T_DUR, "to the last packet"},
	[BLOCKED] = {"blocked_ns", "waited for", WW_T_DUR, "threads' waits that its packets ended, together"},
	[USER] = {"waiter", "by", WW_T_STR, "who waited longest for it"},
};

struct way { /* one direction */
	uint32_t sent_end; /* TCP: end of what was sent */
	uint32_t open_end; /* end of the segment whose acknowledgement is waited for */
	int64_t open_ts;
	bool any, open;
};

struct connection {
	bool asked; /* a thread that is asked for sent on it, or waited for it */
	uint32_t first, packets, retransmits, waiter;
	uint64_t bytes[2];
	struct way way[2];
	int64_t begin, end, rtt_max, blocked, waiter_ns;
};

static uint64_t end_hash(uint64_t hi, uint64_t lo, uint16_t port)
{
	return ww_hash_mix(ww_hash_mix(hi, lo), port);
}

/* Both directions give the same key. */
static uint64_t key_of(const struct ww_packet_cols *p, uint32_t i)
{
	uint64_t s = end_hash(p->saddr_hi[i], p->saddr_lo[i], p->sport[i]);
	uint64_t d = end_hash(p->daddr_hi[i], p->daddr_lo[i], p->dport[i]);

	return ww_hash_mix(ww_hash_mix(WW_MIN(s, d), WW_MAX(s, d)), p->proto[i]);
}

/* Two ends: the connections between them, one after the other. */
struct ends {
	uint32_t before; /* so many have ended and were followed by another */
	bool over;       /* the last one has ended */
};

/* Of the connections' two ends: rows of struct ends, and of struct connection. */
struct net {
	struct ww_rows ends, rows;
	struct ww_samples rtts;
};

static struct connection *connection_of(struct net *n, uint64_t key, uint32_t nth)
{
	return ww_rows_get(&n->rows, nth ? ww_hash_mix(key, nth) : key);
}

static struct connection *connection_at(struct net *n, const struct ww_packet_cols *p, uint32_t i)
{
	const uint64_t key = key_of(p, i);
	struct ends *e = ww_rows_get(&n->ends, key);

	if (p->proto[i] == 6 && e->over && (p->tcp_flags[i] & (TCP_SYN | TCP_ACK)) == TCP_SYN) {
		e->before++;
		e->over = false;
	}
	e->over |= p->proto[i] == 6 && p->tcp_flags[i] & (TCP_FIN | TCP_RST);
	return connection_of(n, key, e->before);
}

/* Of a packet that has been added; NULL: it is not in the range. */
static struct connection *connection_with(struct net *n, const struct ww_packet_cols *p, uint32_t i)
{
	const uint64_t key = key_of(p, i), *at = ww_u64map_find(&n->ends.places, key);

	if (!at)
		return NULL;
	uint32_t nth = ((const struct ends *)ww_rows_at(&n->ends, (uint32_t)*at))->before;
	while (nth && connection_of(n, key, nth)->first > i)
		nth--;
	return connection_of(n, key, nth);
}

static void add_tcp(const struct ww_packet_cols *p, uint32_t i, struct connection *c, uint32_t dir, uint32_t row,
		    struct ww_samples *rtts)
{
	struct way *w = &c->way[dir], *back = &c->way[!dir];
	uint32_t end = p->seq[i] + p->payload[i];

	if (back->open && (p->tcp_flags[i] & TCP_ACK) && (int32_t)(p->ack[i] - back->open_end) >= 0) {
		int64_t rtt = p->ts_ns[i] - back->open_ts;
		back->open = false;
		c->rtt_max = WW_MAX(c->rtt_max, rtt);
		ww_samples_push(rtts, row, rtt);
	}
	if (p->tcp_flags[i] & TCP_SYN) /* perhaps of another connection with the same ports */
		w->any = w->open = false;
	if (!p->payload[i])
		return;
	if (w->any && (int32_t)(end - w->sent_end) <= 0) {
		c->retransmits++;
		w->open = false;
		return;
	}
	w->sent_end = end;
	w->any = true;
	if (p->sent[i] && !w->open) {
		w->open = true;
		w->open_end = end;
		w->open_ts = p->ts_ns[i];
	}
}

static void add_packet(const struct ww_facts *f, const struct ww_query *q, uint32_t i, struct net *n)
{
	const struct ww_packet_cols *p = &f->packet;
	struct connection *c = connection_at(n, p, i);
	uint32_t row = ww_rows_index(&n->rows, c);

	if (!c->packets++) {
		c->first = i;
		c->begin = p->ts_ns[i];
	}
	c->asked |= p->thread[i] < f->thread.n && ww_query_takes_at(f, q, p->thread[i], p->ts_ns[i]);
	uint32_t dir = !p->from_opener[i];
	c->end = p->ts_ns[i];
	c->bytes[dir] += p->payload[i];
	if (p->proto[i] == 6)
		add_tcp(p, i, c, dir, row, &n->rtts);
}

/* The thread's waits that a packet ended, to the connection of that packet. */
static void add_waits(const struct ww_facts *f, const struct ww_query *q, uint32_t t, struct net *net)
{
	uint32_t first, n;

	ww_facts_states(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t w = ww_state_wakeup(f, i);
		if (f->state.state[i] != WW_ST_BLOCKED || w >= f->wakeup.n || f->wakeup.kind[w] != WW_WK_PACKET ||
		    f->wakeup.fact[w] >= f->packet.n || !ww_query_takes_at(f, q, t, f->state.start_ts_ns[i]))
			continue;
		int64_t ns = ww_query_part(q, f->state.start_ts_ns[i], f->state.dur_ns[i]);
		struct connection *c = ns ? connection_with(net, &f->packet, f->wakeup.fact[w]) : NULL;
		if (!c)
			continue;
		c->asked = true;
		c->blocked += ns;
		if (ns > c->waiter_ns) {
			c->waiter_ns = ns;
			c->waiter = t;
		}
	}
}

static const char *proto_name(struct ww_arena *mem, uint8_t proto)
{
	return proto == 6 ? "tcp" : proto == 17 ? "udp" : proto == 1 || proto == 58 ? "icmp" : ww_arena_printf(mem, "%u", proto);
}

static int most_waited(const void *a, const void *b)
{
	const struct connection *x = a, *y = b;
	uint64_t i = x->bytes[0] + x->bytes[1], k = y->bytes[0] + y->bytes[1];

	if (x->blocked != y->blocked)
		return x->blocked < y->blocked ? 1 : -1;
	return i < k ? 1 : i > k ? -1 : 0;
}

static bool put(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct connection *k = sum;
	const struct ww_facts *f = x->f;
	struct ww_arena *mem = x->mem;
	const struct ww_packet_cols *p = &f->packet;
	uint32_t i = k->first;

	if (ww_query_asks(x->q) && !k->asked)
		return false;
	c[PROTO].s = proto_name(mem, p->proto[i]);
	c[p->from_opener[i] ? HERE : THERE].s = ww_name_end(mem, p->family[i], p->saddr_hi[i], p->saddr_lo[i], p->sport[i]);
	c[p->from_opener[i] ? THERE : HERE].s = ww_name_end(mem, p->family[i], p->daddr_hi[i], p->daddr_lo[i], p->dport[i]);
	c[PACKETS].i = k->packets;
	c[SENT].i = (int64_t)k->bytes[0];
	c[RECEIVED].i = (int64_t)k->bytes[1];
	c[RETRANS].i = k->retransmits;
	c[BEGIN].i = k->begin;
	c[DUR].i = k->end - k->begin;
	c[BLOCKED].i = x->f->knows.switches ? k->blocked : WW_NO_VALUE;
	c[USER].s = k->waiter_ns ? ww_name_thread(mem, f, k->waiter) : "";
	c[RTT].i = ww_samples_part(x->samples, row, 500);
	c[RTT_MAX].i = c[RTT].i == WW_NO_VALUE ? WW_NO_VALUE : k->rtt_max;
	return true;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct net n = {0};
	uint32_t first, end;

	ww_rows_init(&n.ends, sizeof(struct ends));
	ww_rows_init(&n.rows, sizeof(struct connection));
	ww_query_times(q, f->packet.ts_ns, f->packet.n, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		uint32_t match = f->packet.match[i];
		if (!f->packet.proto[i] || (!f->packet.sent[i] && match < f->packet.n && f->packet.sent[match]))
			continue;
		add_packet(f, q, i, &n);
	}
	for (uint32_t t = 0; t < f->thread.n && n.rows.n; t++)
		if (ww_query_meets(f, q, t) && ww_query_takes(f, q, t))
			add_waits(f, q, t, &n);
	ww_rows_release(&n.ends);
	const struct ww_fill fill = {
		.analysis = &ww_analysis_net, .f = f, .q = q, .mem = mem,
		.order = most_waited, .put = put, .samples = &n.rtts,
	};
	ww_rows_fill(&fill, &n.rows, ret);
	return 0;
}

const struct ww_analysis ww_analysis_net = {
	.parts = WW_NEED(WW_NEED_SWITCHES),
	.needs = WW_NEED(WW_NEED_PACKETS),
	.name = "net", .summary = "connections: bytes, retransmissions, round trips, who waited for them",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run,
};
