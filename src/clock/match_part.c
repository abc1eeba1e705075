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
	free(p->stream_of);
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

/* Room for n packets; what is kept of one is spread over columns. */
static void make_room(struct ww_match_part *p, uint32_t n)
{
	struct ww_match_host *h = &p->host;
	const size_t room = (size_t)n + 1;

	h->ts_ns = ww_xrealloc(h->ts_ns, sizeof(*h->ts_ns) * room);
	h->seq = ww_xrealloc(h->seq, sizeof(*h->seq) * room);
	h->ack = ww_xrealloc(h->ack, sizeof(*h->ack) * room);
	h->shape = ww_xrealloc(h->shape, sizeof(*h->shape) * room);
	h->sent = ww_xrealloc(h->sent, sizeof(*h->sent) * (room / 64 + 1));
	p->stream_of = ww_xrealloc(p->stream_of, sizeof(*p->stream_of) * room);
	p->room = n;
}

struct ww_match_part *ww_match_part_new(void)
{
	return ww_xcalloc(1, sizeof(struct ww_match_part));
}

void ww_match_part_take(struct ww_match_part *p, const struct ww_facts *f, uint32_t n)
{
	const struct ww_packet_cols *c = &f->packet;
	const int64_t offset = ww_set_epoch_offset(f);
	struct ww_match_host *h = &p->host;

	if (n > p->room - h->n)
		make_room(p, h->n ? WW_MAX(h->n + n, h->n + h->n / 2) : n);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t to = h->n++;
		bool wanted = (c->proto[i] == WW_PROTO_TCP || c->proto[i] == WW_PROTO_UDP) &&
			      c->match[i] == WW_NONE && !is_loopback(c, i);

		h->ts_ns[to] = c->ts_ns[i] + offset;
		h->seq[to] = c->seq[i];
		h->ack[to] = c->ack[i];
		h->shape[to] = WW_MIN(c->payload[i], WW_SHAPE_MAX_PAYLOAD) << 8 | c->tcp_flags[i];
		if (to % 64 == 0)
			h->sent[to / 64] = 0;
		h->sent[to / 64] |= (uint64_t)!!c->sent[i] << (to % 64);
		p->stream_of[to] = wanted ? stream_of(p, c, i) : WW_NONE;
	}
}

void ww_match_part_end(struct ww_match_part *p)
{
	struct ww_match_host *h = &p->host;
	uint32_t at = 0;

	make_room(p, h->n); /* what is over goes back */
	h->order = ww_xmalloc(sizeof(*h->order) * ((size_t)h->n + 1));
	for (size_t s = 0; s < p->stream.n; s++) {
		p->stream.v[s].first = at;
		at += p->stream.v[s].n;
		p->stream.v[s].n = 0;
	}
	for (uint32_t i = 0; i < h->n; i++) {
		if (p->stream_of[i] == WW_NONE)
			continue;
		struct ww_match_stream *s = &p->stream.v[p->stream_of[i]];
		h->order[s->first + s->n++] = i;
	}
	free(p->stream_of);
	p->stream_of = NULL;
}
