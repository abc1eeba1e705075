/* match.c - packets of many hosts into streams; match_stream.c matches two of them.
 *
 * Hosts come one after the other. A host's packets are numbered by stream first, then sorted by it (a
 * counting sort, so that each stream stays in time order); only then does anything depend on other hosts.
 */
#include "clock/match_private.h"
#include "clock/set.h"

struct ww_matcher *ww_matcher_new(void)
{
	struct ww_matcher *m = ww_xcalloc(1, sizeof(*m));

	m->count = ww_xcalloc(WW_MATCH_MAX_HOSTS * WW_MATCH_MAX_HOSTS, sizeof(*m->count));
	return m;
}

void ww_matcher_free(struct ww_matcher *m)
{
	if (!m)
		return;
	for (size_t h = 0; h < m->host.n; h++) {
		struct ww_match_host *host = &m->host.v[h];
		free(host->ts_ns);
		free(host->seq);
		free(host->ack);
		free(host->shape);
		free(host->partner);
		free(host->sent);
		free(host->order);
	}
	ww_vec_free(&m->host);
	ww_vec_free(&m->flow);
	ww_vec_free(&m->stream);
	ww_u64map_release(&m->flows);
	ww_u64map_release(&m->by_isn);
	free(m->count);
	free(m);
}

static bool is_loopback(const struct ww_packet_cols *c, uint32_t i)
{
	if (c->family[i] == 4)
		return c->saddr_lo[i] >> 24 == 127 || c->daddr_lo[i] >> 24 == 127;
	return (!c->saddr_hi[i] && c->saddr_lo[i] == 1) || (!c->daddr_hi[i] && c->daddr_lo[i] == 1);
}

static bool of_flow(const struct ww_match_flow *fl, const struct ww_packet_cols *c, uint32_t i)
{
	return fl->saddr_hi == c->saddr_hi[i] && fl->saddr_lo == c->saddr_lo[i] && fl->daddr_hi == c->daddr_hi[i] &&
	       fl->daddr_lo == c->daddr_lo[i] && fl->sport == c->sport[i] && fl->dport == c->dport[i] &&
	       fl->proto == c->proto[i];
}

static uint32_t flow_get(struct ww_matcher *m, const struct ww_packet_cols *c, uint32_t i)
{
	uint64_t key = ww_hash_mix(ww_hash_mix(c->saddr_hi[i], c->saddr_lo[i]),
				   ww_hash_mix(c->daddr_hi[i], c->daddr_lo[i]));

	key = ww_hash_mix(key, (uint64_t)c->proto[i] << 32 | (uint32_t)c->sport[i] << 16 | c->dport[i]);
	for (;; key++) {
		bool fresh;
		uint64_t at = *ww_u64map_get(&m->flows, key, m->flow.n, &fresh);
		if (fresh) {
			*ww_vec_push(&m->flow) = (struct ww_match_flow){
				c->saddr_hi[i], c->saddr_lo[i], c->daddr_hi[i], c->daddr_lo[i], c->sport[i], c->dport[i],
				c->proto[i], 0, 0, WW_NONE, {WW_NONE, WW_NONE}};
			return (uint32_t)at;
		}
		if (of_flow(&m->flow.v[at], c, i))
			return (uint32_t)at;
	}
}

uint64_t ww_match_isn_key(uint32_t flow, uint32_t isn)
{
	return (uint64_t)flow << 32 | isn;
}

static uint32_t stream_new(struct ww_matcher *m, uint32_t flow, bool sent, bool has_isn, uint32_t seq)
{
	uint32_t i = (uint32_t)m->stream.n;
	struct ww_match_flow *fl = &m->flow.v[flow];
	struct ww_match_stream *s = ww_vec_push(&m->stream);

	*s = (struct ww_match_stream){.flow = flow, .host = (uint32_t)m->host.n - 1, .sent = sent, .has_isn = has_isn,
				      .isn = seq, .lo = WW_SEQ_BASE + seq, .hi = WW_SEQ_BASE + seq,
				      .next_of_flow = fl->first_stream, .next_of_isn = WW_NONE};
	fl->first_stream = i;
	fl->current[sent] = i;
	if (sent && has_isn) {
		bool fresh;
		uint64_t *head = ww_u64map_get(&m->by_isn, ww_match_isn_key(flow, seq), i, &fresh);
		if (!fresh) {
			s->next_of_isn = (uint32_t)*head;
			*head = i;
		}
	}
	*(sent ? &fl->sent_on : &fl->received_on) |= 1ull << s->host;
	return i;
}

/* The stream that packet i belongs to. A SYN with another number than the stream's begins a new connection. */
static uint32_t stream_of(struct ww_matcher *m, const struct ww_packet_cols *c, uint32_t i)
{
	uint32_t flow = flow_get(m, c, i), at = m->flow.v[flow].current[c->sent[i]];
	const uint32_t host = (uint32_t)m->host.n - 1;
	const bool tcp = c->proto[i] == WW_PROTO_TCP, syn = tcp && (c->tcp_flags[i] & WW_TCP_SYN);

	if (at == WW_NONE || m->stream.v[at].host != host ||
	    (syn && (!m->stream.v[at].has_isn || m->stream.v[at].isn != c->seq[i])))
		at = stream_new(m, flow, c->sent[i], syn, tcp ? c->seq[i] : 0);
	struct ww_match_stream *s = &m->stream.v[at];
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
	h->partner = ww_xmalloc(sizeof(*h->partner) * ((size_t)c->n + 1));
	h->sent = ww_xcalloc((size_t)c->n / 64 + 1, sizeof(*h->sent));
	h->order = ww_xmalloc(sizeof(*h->order) * ((size_t)c->n + 1));
	for (uint32_t i = 0; i < c->n; i++) {
		h->ts_ns[i] = c->ts_ns[i] + offset;
		h->seq[i] = c->seq[i];
		h->ack[i] = c->ack[i];
		h->shape[i] = WW_MIN(c->payload[i], WW_SHAPE_MAX_PAYLOAD) << 8 | c->tcp_flags[i];
		h->partner[i] = WW_NONE;
		h->sent[i / 64] |= (uint64_t)!!c->sent[i] << (i % 64);
	}
}

int ww_matcher_add(struct ww_matcher *m, const struct ww_facts *f, struct ww_err *err)
{
	const struct ww_packet_cols *c = &f->packet;
	const uint32_t first_stream = (uint32_t)m->stream.n;

	if (m->host.n == WW_MATCH_MAX_HOSTS || c->n >= WW_NONE - 1 - m->packets)
		return ww_err_set(err, WW_ELIMIT, f->host.trace_path, WW_ERR_NO_OFFSET,
				  "at most %d hosts and 2^32 packets are matched at a time", WW_MATCH_MAX_HOSTS);
	struct ww_match_host *h = ww_vec_push(&m->host);
	h->base = m->packets;
	m->packets += c->n;
	take_columns(h, f);

	uint32_t *stream = ww_xmalloc(sizeof(*stream) * ((size_t)c->n + 1));
	for (uint32_t i = 0; i < c->n; i++) {
		bool wanted = (c->proto[i] == WW_PROTO_TCP || c->proto[i] == WW_PROTO_UDP) &&
			      c->match[i] == WW_NONE && !is_loopback(c, i);
		stream[i] = wanted ? stream_of(m, c, i) : WW_NONE;
	}
	uint32_t at = 0;
	for (size_t s = first_stream; s < m->stream.n; s++) {
		m->stream.v[s].first = at;
		at += m->stream.v[s].n;
		m->stream.v[s].n = 0;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		if (stream[i] == WW_NONE)
			continue;
		struct ww_match_stream *s = &m->stream.v[stream[i]];
		h->order[s->first + s->n++] = i;
	}
	free(stream);
	return 0;
}

uint32_t ww_matcher_host_of(const struct ww_matcher *m, uint32_t number)
{
	uint32_t h = (uint32_t)m->host.n - 1;

	while (h && m->host.v[h].base > number)
		h--;
	return h;
}

/* ---- which streams belong together ---- */

/* A host that passes a flow on both received and sent it. Of two such hosts nothing says which came first. */
static bool may_be_sender(const struct ww_match_flow *fl, const struct ww_match_stream *s, const struct ww_match_stream *r)
{
	return s->sent && s->host != r->host &&
	       (!(fl->received_on & 1ull << s->host) || !(fl->sent_on & 1ull << r->host));
}

struct candidate {
	uint32_t stream; /* WW_NONE: none yet */
	uint64_t shared; /* sequence numbers in both */
	int64_t shift;
	bool passes_on;  /* its host received the flow too: nearer to the receiver than who only sent it */
};

static void consider(const struct ww_matcher *m, const struct ww_match_stream *r, uint32_t at, struct candidate *best)
{
	const struct ww_match_stream *s = &m->stream.v[at];
	const struct ww_match_flow *fl = &m->flow.v[s->flow];
	struct candidate c = {.stream = at, .passes_on = fl->received_on >> s->host & 1};

	if (!may_be_sender(fl, s, r))
		return;
	if (fl->proto != WW_PROTO_TCP) {
		c.shared = WW_MIN(s->n, r->n);
	} else if (s->has_isn && r->has_isn) {
		if (s->isn != r->isn)
			return;
		c.shared = WW_MIN(s->hi, r->hi) - WW_MAX(s->lo, r->lo) + 1;
	} else {
		/* Without the SYN the numbers are known but for multiples of 2^32. */
		int64_t turns = (int64_t)(s->lo >> 32) - (int64_t)(r->lo >> 32) - 1;
		for (int64_t end = (int64_t)(s->hi >> 32) - (int64_t)(r->lo >> 32) + 1; turns <= end; turns++) {
			uint64_t lo = WW_MAX(s->lo, r->lo + ((uint64_t)turns << 32)),
				 hi = WW_MIN(s->hi, r->hi + ((uint64_t)turns << 32));
			if (hi >= lo && hi < UINT64_MAX / 2 && hi - lo + 1 > c.shared) {
				c.shared = hi - lo + 1;
				c.shift = turns * (1LL << 32);
			}
		}
	}
	if (c.shared && (best->stream == WW_NONE || c.passes_on > best->passes_on ||
			 (c.passes_on == best->passes_on && c.shared > best->shared)))
		*best = c;
}

static struct candidate sender_of(const struct ww_matcher *m, const struct ww_match_stream *r)
{
	struct candidate best = {.stream = WW_NONE};
	const uint64_t *head;

	if (r->has_isn && (head = ww_u64map_find(&m->by_isn, ww_match_isn_key(r->flow, r->isn))))
		for (uint32_t s = (uint32_t)*head; s != WW_NONE; s = m->stream.v[s].next_of_isn)
			consider(m, r, s, &best);
	if (best.stream != WW_NONE)
		return best;
	for (uint32_t s = m->flow.v[r->flow].first_stream; s != WW_NONE; s = m->stream.v[s].next_of_flow)
		if (!r->has_isn || !m->stream.v[s].has_isn)
			consider(m, r, s, &best);
	return best;
}

static void run(struct ww_matcher *m, struct ww_match_job *job)
{
	job->m = m;
	for (size_t i = 0; i < m->stream.n; i++) {
		struct ww_match_stream *r = &m->stream.v[i];
		const struct ww_match_flow *fl = &m->flow.v[r->flow];
		if (r->sent || !(fl->sent_on & ~(1ull << r->host)) || (job->time && !r->repeats))
			continue;
		struct candidate c = sender_of(m, r);
		if (c.stream == WW_NONE)
			continue;
		job->r = r;
		job->s = &m->stream.v[c.stream];
		job->shift = c.shift;
		job->tcp = fl->proto == WW_PROTO_TCP;
		if (job->time && !(job->known >> r->host & job->known >> job->s->host & 1))
			continue;
		if (job->tcp)
			ww_match_tcp(job);
		else
			ww_match_udp(job);
	}
	ww_match_job_release(job);
}

static void count_pairs(struct ww_matcher *m)
{
	memset(m->count, 0, WW_MATCH_MAX_HOSTS * WW_MATCH_MAX_HOSTS * sizeof(*m->count));
	for (size_t i = 0; i < m->stream.n; i++) {
		const struct ww_match_stream *s = &m->stream.v[i];
		const struct ww_match_flow *fl = &m->flow.v[s->flow];
		const struct ww_match_host *h = &m->host.v[s->host];
		uint64_t others = (s->sent ? fl->received_on : fl->sent_on) & ~(1ull << s->host);
		uint64_t alone = 0;
		for (uint32_t k = 0; k < s->n; k++) {
			uint32_t p = h->partner[h->order[s->first + k]];
			alone += p == WW_NONE;
			if (p != WW_NONE && !s->sent)
				m->count[ww_matcher_host_of(m, p) * WW_MATCH_MAX_HOSTS + s->host].matched++;
		}
		if (!others) /* the other end was not traced, or nothing arrived there */
			continue;
		uint32_t other = (uint32_t)__builtin_ctzll(others);
		m->count[s->sent ? s->host * WW_MATCH_MAX_HOSTS + other : other * WW_MATCH_MAX_HOSTS + s->host].unmatched += alone;
	}
}

void ww_matcher_run(struct ww_matcher *m)
{
	struct ww_match_job job = {0};

	run(m, &job);
	count_pairs(m);
}

void ww_matcher_refine(struct ww_matcher *m, int64_t (*time)(void *ctx, uint32_t host, int64_t ts_ns), void *ctx,
		       uint64_t known)
{
	struct ww_match_job job = {.time = time, .ctx = ctx, .known = known};

	run(m, &job);
	count_pairs(m);
}
