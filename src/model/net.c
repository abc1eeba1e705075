/* net.c - packets sent and received, with their headers where the producer has them.
 *
 * Inside one host a received packet is the sent one with the same skb address (loopback) or the same
 * headers (through a virtual device). Both ends point to each other.
 */
#include "model/model_private.h"

enum { MAX_PENDING = 1 << 13, GIVE_ROWS = 1 << 15, PROTO_TCP = 6, PROTO_UDP = 17, ETHERNET_HEADER = 14 };

static uint64_t be_bytes(const struct ww_event *ev, uint32_t slot, uint32_t from, uint32_t n)
{
	uint64_t v = 0;

	if (slot >= ev->nval || ev->v[slot].kind != WW_V_BYTES || ev->v[slot].len < from + n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		v = v << 8 | (uint8_t)ev->v[slot].p[from + i];
	return v;
}

static void tcp_header(const struct ww_event *ev, struct ww_packet *p, uint32_t sport, uint32_t ip_payload)
{
	uint32_t header = (uint32_t)ww_v_u64(ev, sport + 4) * 4;

	p->sport = (uint16_t)ww_v_u64(ev, sport);
	p->dport = (uint16_t)ww_v_u64(ev, sport + 1);
	p->seq = (uint32_t)ww_v_u64(ev, sport + 2);
	p->ack = (uint32_t)ww_v_u64(ev, sport + 3);
	p->tcp_flags = (uint8_t)ww_v_u64(ev, sport + 5);
	p->payload = ip_payload > header ? ip_payload - header : 0;
}

static void udp_header(const struct ww_event *ev, struct ww_packet *p, uint32_t sport, uint32_t dport,
		       uint32_t check, uint32_t ip_payload)
{
	p->sport = (uint16_t)ww_v_u64(ev, sport);
	p->dport = (uint16_t)ww_v_u64(ev, dport);
	p->seq = (uint32_t)(p->family == 4 ? ww_v_u64(ev, S_NET_ID4) & 0xffff : 0) << 16 |
		 (uint32_t)(ww_v_u64(ev, check) & 0xffff);
	p->payload = ip_payload > 8 ? ip_payload - 8 : 0;
}

static void headers(const struct ww_event *ev, struct ww_packet *p)
{
	const uint32_t skb_len = p->len;

	if (ww_v_has(ev, S_NET_PROTO4)) {
		p->family = 4;
		p->proto = (uint8_t)ww_v_u64(ev, S_NET_PROTO4);
		p->saddr_lo = be_bytes(ev, S_NET_SADDR4, 0, 4);
		p->daddr_lo = be_bytes(ev, S_NET_DADDR4, 0, 4);
		p->len = (uint32_t)ww_v_u64(ev, S_NET_TOTLEN4);
		if (!p->len) /* segments of more than 64 KiB ("BIG TCP") have no room for it */
			p->len = skb_len > ETHERNET_HEADER && p->sent ? skb_len - ETHERNET_HEADER : skb_len;
		uint32_t payload = p->len > 20 ? p->len - 20 : 0;
		if (p->proto == PROTO_TCP) {
			tcp_header(ev, p, S_NET_T4_SPORT, payload);
		} else if (p->proto == PROTO_UDP) {
			udp_header(ev, p, S_NET_U4_SPORT, S_NET_U4_DPORT, S_NET_U4_CHECK, payload);
		}
	} else if (ww_v_has(ev, S_NET_PROTO6)) {
		p->family = 6;
		p->proto = (uint8_t)ww_v_u64(ev, S_NET_PROTO6);
		p->saddr_hi = be_bytes(ev, S_NET_SADDR6, 0, 8);
		p->saddr_lo = be_bytes(ev, S_NET_SADDR6, 8, 8);
		p->daddr_hi = be_bytes(ev, S_NET_DADDR6, 0, 8);
		p->daddr_lo = be_bytes(ev, S_NET_DADDR6, 8, 8);
		p->len = (uint32_t)ww_v_u64(ev, S_NET_PLEN6) + 40;
		if (p->proto == PROTO_TCP)
			tcp_header(ev, p, S_NET_T6_SPORT, p->len - 40);
		else if (p->proto == PROTO_UDP)
			udp_header(ev, p, S_NET_U6_SPORT, S_NET_U6_DPORT, S_NET_U6_CHECK, p->len - 40);
	}
}

/* Of one direction of a connection. */
static uint64_t direction_key(const struct ww_packet *p)
{
	uint64_t k = ww_hash_mix(ww_hash_mix(p->saddr_hi, p->saddr_lo), ww_hash_mix(p->daddr_hi, p->daddr_lo));

	return ww_hash_mix(k, (uint64_t)p->sport << 16 | p->dport | (uint64_t)p->proto << 32);
}

static uint64_t flow_key(const struct ww_packet *p)
{
	uint64_t k = direction_key(p);

	return ww_hash_mix(ww_hash_mix(k, (uint64_t)p->seq << 32 | p->ack), (uint64_t)p->len << 8 | p->tcp_flags);
}

static struct ww_packet packet_of(struct ww_model *m, const struct ww_event *ev, bool sent)
{
	struct ww_cpu *c = m->cpu;
	struct ww_thr *t = ww_thr_current(m);
	struct ww_packet p = {.ts_ns = m->now, .sent = sent, .len = (uint32_t)ww_v_u64(ev, S_NET_LEN),
			      .ifname = ww_v_str(m, ev, S_NET_IF), .skb = ww_v_u64(ev, S_NET_SKB),
			      .cpu = m->cpu_nr, .context = (uint8_t)ww_cpu_context(c),
			      .thread = WW_NONE, .trigger = WW_NONE, .match = WW_NONE};

	headers(ev, &p);
	if (!c->depth) {
		if (t && !t->idle)
			p.thread = sent ? t->index : WW_NONE;
	} else if (sent) {
		const struct ww_frame *fr = &c->frame[c->depth - 1];

		if (fr->done.kind == WW_WK_PACKET) {
			p.trigger = fr->done.fact;
			p.trigger_kind = WW_WK_PACKET;
		} else if (fr->timer != WW_NONE) {
			p.trigger = fr->timer;
			p.trigger_kind = WW_WK_TIMER;
		}
	}
	return p;
}

struct ww_sent {
	uint64_t skb, flow;
	uint32_t row;
};

static void forget(struct ww_u64map *map, uint64_t key, uint32_t row)
{
	uint64_t *i = ww_u64map_find(map, key);

	if (i && *i == row)
		ww_u64map_del(map, key);
}

/* What left the host never comes back, and what stays is received soon: only the last sends are known. Few
 * enough that the maps stay in the cache. */
static void remember(struct ww_model *m, uint64_t skb, uint64_t flow, uint32_t row)
{
	if (!m->sent_ring) {
		m->sent_ring = WW_ARENA_ARRAY(&m->mem, struct ww_sent, MAX_PENDING);
		for (uint32_t i = 0; i < MAX_PENDING; i++)
			m->sent_ring[i].row = WW_NONE;
	}
	struct ww_sent *s = &m->sent_ring[m->sent_at++ % MAX_PENDING];
	if (s->row != WW_NONE) {
		forget(&m->skb_sent, s->skb, s->row);
		forget(&m->flow_sent, s->flow, s->row);
	}
	*s = (struct ww_sent){skb, flow, row};
	ww_u64map_put(&m->skb_sent, skb, row);
	ww_u64map_put(&m->flow_sent, flow, row);
}

/* Those that were there before the sends that are still known: nothing becomes their other end any more. */
static void give(struct ww_model *m)
{
	struct ww_packet_cols *c = &m->f->packet;
	uint32_t oldest = m->sent_ring ? m->sent_ring[m->sent_at % MAX_PENDING].row : m->given + c->n;
	uint32_t n = oldest == WW_NONE ? 0 : oldest - m->given;

	if (n) {
		m->give->packets(m->give->packets_ctx, m->f, n);
		ww_facts_drop_packets(m->f, n);
		m->given += n;
	}
	m->give_at = WW_MAX(c->n * 2, (uint32_t)GIVE_ROWS);
}

static uint32_t push(struct ww_model *m, const struct ww_packet *p)
{
	if (WW_UNLIKELY(m->give && m->f->packet.n >= m->give_at))
		give(m);
	return m->given + ww_packet_push(m->f, p);
}

static bool is_large(const struct ww_packet *p)
{
	enum { FRAME = 1500 };

	return p->proto == PROTO_TCP && p->len > FRAME;
}

static void remember_large(struct ww_model *m, const struct ww_packet *p, uint32_t row)
{
	enum { MAX_FLOWS = 1 << 14 };
	bool isnew;

	if (!is_large(p))
		return;
	if (m->large_sent.n >= MAX_FLOWS) {
		ww_u64map_clear(&m->large_sent);
		ww_vec_clear(&m->large);
	}
	const uint64_t i = *ww_u64map_get(&m->large_sent, direction_key(p), m->large.n, &isnew);
	if (isnew)
		*ww_vec_push(&m->large) = (struct ww_large){0};
	struct ww_large *x = &m->large.v[i];
	x->row[x->n++ % WW_ARRAY_SIZE(x->row)] = row;
}

/* A segment of more than the device takes at once is cut up before it is received: of which send is this a piece? The
 * last one, if it was sent again. */
static uint32_t cut_from(const struct ww_model *m, const struct ww_packet *p)
{
	const struct ww_packet_cols *c = &m->f->packet;
	const uint64_t *i = p->proto == PROTO_TCP && p->payload && m->large_sent.n ? ww_u64map_find(&m->large_sent, direction_key(p)) : NULL;

	if (!i)
		return WW_NONE;
	const struct ww_large *x = &m->large.v[*i];
	for (uint32_t n = x->n, seen = 0; n-- > 0 && seen < WW_ARRAY_SIZE(x->row); seen++) {
		const uint32_t row = x->row[n % WW_ARRAY_SIZE(x->row)], k = row - m->given;

		if (row < m->given)
			break;
		if (p->seq - c->seq[k] < c->payload[k] && p->seq + p->payload - c->seq[k] <= c->payload[k])
			return row;
	}
	return WW_NONE;
}

void ww_on_net_send(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_packet p = packet_of(m, ev, true);
	uint32_t row = push(m, &p);

	remember(m, p.skb, flow_key(&p), row);
	remember_large(m, &p, row);
}

/* An skb's address is used again: what came is the packet that was sent only if the headers agree, or, where the trace has
 * none of it (ARP, old producers), the length, but for what stands before the headers on the wire. */
static bool is_same(const struct ww_packet_cols *c, uint32_t sent, const struct ww_packet *p)
{
	enum { LINK_HEADERS = 64 };

	if (c->family[sent] != p->family || c->proto[sent] != p->proto)
		return false;
	if (!p->family)
		return c->len[sent] >= p->len && c->len[sent] - p->len <= LINK_HEADERS;
	return c->seq[sent] == p->seq && c->sport[sent] == p->sport;
}

void ww_on_net_recv(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_packet p = packet_of(m, ev, false);
	uint64_t *i = ww_u64map_find(&m->skb_sent, p.skb), key = flow_key(&p);
	uint64_t match = i ? *i : WW_NONE;

	if (i && !is_same(&m->f->packet, (uint32_t)(match - m->given), &p))
		match = WW_NONE;
	if (i)
		ww_u64map_del(&m->skb_sent, p.skb);
	if (p.proto == PROTO_TCP && (i = ww_u64map_find(&m->flow_sent, key))) {
		if (match == WW_NONE)
			match = *i;
		ww_u64map_del(&m->flow_sent, key);
	}
	if (match == WW_NONE)
		match = cut_from(m, &p);
	p.match = (uint32_t)match;
	if (match != WW_NONE) /* the next row's; it is not given away yet */
		m->f->packet.match[match - m->given] = m->given + m->f->packet.n;
	uint32_t row = push(m, &p);
	ww_cpu_done(m, WW_WK_PACKET, row);
}

/* Packets may be received several at a time and only then be delivered: the one whose socket has its data now is
 * what the wakeup that follows is for. */
void ww_on_own_sk_ready(struct ww_model *m, const struct ww_event *ev)
{
	enum { INO, SPORT, DPORT, PROTO, FAR = 256 };
	const struct ww_packet_cols *p = &m->f->packet;
	uint64_t here = ww_v_u64(ev, SPORT), there = ww_v_u64(ev, DPORT);

	if (!m->cpu->depth || !here)
		return;
	int64_t since = m->cpu->frame[0].start;
	for (uint32_t i = p->n, n = 0; i-- > 0 && n < FAR && p->ts_ns[i] >= since; n++) {
		if (p->sent[i] || p->cpu[i] != m->cpu_nr || p->proto[i] != ww_v_u64(ev, PROTO) || p->dport[i] != here ||
		    (there && p->sport[i] != there))
			continue;
		ww_cpu_done(m, WW_WK_PACKET, i);
		return;
	}
}
