/* match_part.c - one host's packets into streams, before anything depends on other hosts: any thread may do it.
 *
 * Packets are numbered by stream first, then sorted by it: a counting sort, so that each stream stays in time order.
 */
#include "clock/match_private.h"
#include "clock/set.h"

void ww_match_host_release(struct ww_match_host *h)
{
	free(h->ts_ns);
	free(h->seq);
	free(h->ack);
	free(h->shape);
	free(h->partner);
	free(h->sent);
	free(h->order);
}

void ww_match_part_free(struct ww_match_part *p)
{
	if (!p)
		return;
	ww_match_host_release(&p->host);
	ww_vec_free(&p->flow);
	ww_vec_free(&p->stream);
	ww_u64map_release(&p->flows);
	free(p);
}

static bool is_loopback(const struct ww_packet_cols *c, uint32_t i)
{
	if (c->family[i] == 4)
		return c->saddr_lo[i] >> 24 == 127 || c->daddr_lo[i] >> 24 == 127;
	return (!c->saddr_hi[i] && c->saddr_lo[i] == 1) || (!c->daddr_hi[i] && c->daddr_lo[i] == 1);
}

bool ww_match_same_flow(const struct ww_match_flow *a, const struct ww_match_flow *b)
{
	return a->saddr_hi == b->saddr_hi && a->saddr_lo == b->saddr_lo && a->daddr_hi == b->daddr_hi &&
	       a->daddr_lo == b->daddr_lo && a->sport == b->sport && a->dport == b->dport && a->proto == b->proto;
}

uint64_t ww_match_flow_key(const struct ww_match_flow *fl)
{
	uint64_t key = ww_hash_mix(ww_hash_mix(fl->saddr_hi, fl->saddr_lo), ww_hash_mix(fl->daddr_hi, fl->daddr_lo));

	return ww_hash_mix(key, (uint64_t)fl->proto << 32 | (uint32_t)fl->sport << 16 | fl->dport);
}

static uint32_t flow_get(struct ww_match_part *p, const struct ww_packet_cols *c, uint32_t i)
{
	const struct ww_match_flow fl = {
		.saddr_hi = c->saddr_hi[i], .saddr_lo = c->saddr_lo[i], .daddr_hi = c->daddr_hi[i], .daddr_lo = c->daddr_lo[i],
		.sport = c->sport[i], .dport = c->dport[i], .proto = c->proto[i], .first_stream = WW_NONE,
		.current = {WW_NONE, WW_NONE}};

	if (p->flow.n && ww_match_same_flow(&p->flow.v[p->last_flow], &fl)) /* trains of packets are frequent */
		return p->last_flow;
	for (uint64_t key = ww_match_flow_key(&fl);; key++) {
		bool fresh;
		uint64_t at = *ww_u64map_get(&p->flows, key, p->flow.n, &fresh);
		if (fresh)
			*ww_vec_push(&p->flow) = fl;
		if (fresh || ww_match_same_flow(&p->flow.v[at], &fl))
			return p->last_flow = (uint32_t)at;
	}
}

static uint32_t stream_new(struct ww_match_part *p, uint32_t flow, bool sent, bool has_isn, uint32_t seq)
{
	uint32_t i = (uint32_t)p->stream.n;

	*ww_vec_push(&p->stream) = (struct ww_match_stream){
		.flow = flow, .sent = sent, .has_isn = has_isn, .isn = seq, .lo = WW_SEQ_BASE + seq, .hi = WW_SEQ_BASE + seq};
	p->flow.v[flow].current[sent] = i;
	return i;
}

/* The stream that packet i belongs to. A SYN with another number than the stream's begins a new connection. */
static uint32_t stream_of(struct ww_match_part *p, const struct ww_packet_cols *c, uint32_t i)
{
	uint32_t flow = flow_get(p, c, i), at = p->flow.v[flow].current[!!c->sent[i]];
	const bool tcp = c->proto[i] == WW_PROTO_TCP, syn = tcp && (c->tcp_flags[i] & WW_TCP_SYN);

	if (at == WW_NONE || (syn && (!p->stream.v[at].has_isn || p->stream.v[at].isn != c->seq[i])))
		at = stream_new(p, flow, !!c->sent[i], syn, tcp ? c->seq[i] : 0);
	struct ww_match_stream *s = &p->stream.v[at];
	s->n++;
	if (tcp) {
		uint64_t seq = ww_seq_step(&s->hi, c->seq[i], c->tcp_flags[i]);
		if (!(c->tcp_flags[i] & WW_TCP_RST))
			s->lo = WW_MIN(s->lo, seq);
	}
	return at;
}

static void take_columns(struct ww_match_host *h, const struct ww_facts *f)
{
	const struct ww_packet_cols *c = &f->packet;
	const int64_t offset = ww_set_epoch_offset(f);

	h->n = c->n;
	h->ts_ns = ww_xmalloc(sizeof(*h->ts_ns) * ((size_t)c->n + 1));
	h->seq = ww_xmalloc(sizeof(*h->seq) * ((size_t)c->n + 1));
	h->ack = ww_xmalloc(sizeof(*h->ack) * ((size_t)c->n + 1));
	h->shape = ww_xmalloc(sizeof(*h->shape) * ((size_t)c->n + 1));
	h->sent = ww_xcalloc((size_t)c->n / 64 + 1, sizeof(*h->sent));
	h->order = ww_xmalloc(sizeof(*h->order) * ((size_t)c->n + 1));
	for (uint32_t i = 0; i < c->n; i++) {
		h->ts_ns[i] = c->ts_ns[i] + offset;
		h->seq[i] = c->seq[i];
		h->ack[i] = c->ack[i];
		h->shape[i] = WW_MIN(c->payload[i], WW_SHAPE_MAX_PAYLOAD) << 8 | c->tcp_flags[i];
		h->sent[i / 64] |= (uint64_t)!!c->sent[i] << (i % 64);
	}
}

struct ww_match_part *ww_match_part_new(const struct ww_facts *f)
{
	const struct ww_packet_cols *c = &f->packet;
	struct ww_match_part *p = ww_xcalloc(1, sizeof(*p));
	uint32_t *stream = ww_xmalloc(sizeof(*stream) * ((size_t)c->n + 1)), at = 0;

	take_columns(&p->host, f);
	for (uint32_t i = 0; i < c->n; i++) {
		bool wanted = (c->proto[i] == WW_PROTO_TCP || c->proto[i] == WW_PROTO_UDP) &&
			      c->match[i] == WW_NONE && !is_loopback(c, i);
		stream[i] = wanted ? stream_of(p, c, i) : WW_NONE;
	}
	for (size_t s = 0; s < p->stream.n; s++) {
		p->stream.v[s].first = at;
		at += p->stream.v[s].n;
		p->stream.v[s].n = 0;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		if (stream[i] == WW_NONE)
			continue;
		struct ww_match_stream *s = &p->stream.v[stream[i]];
		p->host.order[s->first + s->n++] = i;
	}
	free(stream);
	return p;
}
