/* match_stream.c - the packets of one stream as it was sent and as it was received.
 *
 * Sent packets go into a hash table by key; packets of the same key are chained in time order behind the
 * first. Their bytes also make spans: where a packet goes beyond the highest byte so far, that part is sent
 * for the first time, so spans rise in bytes and in time at once and a binary search finds the send that a
 * received byte cannot be before:
 *
 *   sent      [0,1000) at 5   [1000,3000) at 6   [0,1000) again at 9
 *   received  [0,2500): not a packet that was sent, so merged; its last byte was first sent at 6
 *
 * That holds also of a packet that was sent just so, but later than its last byte was sent within another one, which was
 * split on its way: it may be of the one or a repetition.
 *
 * Of TCP, the first pass writes down what was repeated, and the second pass looks at nothing else.
 */
#include "clock/match_private.h"

static const struct ww_match_host *sender(const struct ww_match_job *j)
{
	return &j->m->host.v[j->s->host];
}

static struct ww_match_host *receiver(const struct ww_match_job *j)
{
	return &j->m->host.v[j->r->host];
}

static uint32_t sent_at(const struct ww_match_job *j, uint32_t k)
{
	return sender(j)->order[j->s->first + k];
}

static uint32_t received_at(const struct ww_match_job *j, uint32_t k)
{
	return receiver(j)->order[j->r->first + k];
}

void ww_match_job_release(struct ww_match_job *j)
{
	ww_vec_free(&j->sent);
	ww_vec_free(&j->spans);
	ww_vec_free(&j->table);
	ww_vec_free(&j->found);
}

/* The packet, on its host, of an index in `sent`. */
static uint32_t packet_of(const struct ww_match_job *j, uint32_t index)
{
	return sent_at(j, j->sent.v[index].k);
}

/* ---- the table of sent packets by key ---- */

struct key {
	uint64_t seq;
	uint32_t ack, shape;
};

static bool same_key(const struct ww_match_job *j, uint32_t index, const struct key *key)
{
	const struct ww_match_host *h = sender(j);
	uint32_t i = packet_of(j, index);

	return j->sent.v[index].seq == key->seq && h->ack[i] == key->ack && h->shape[i] == key->shape;
}

/* The slot of the key in the table: empty, or of its first packet. */
static uint32_t *slot_of(struct ww_match_job *j, const struct key *key)
{
	const size_t mask = j->table.n - 1;
	size_t at = ww_hash_mix(key->seq, (uint64_t)key->ack << 32 | key->shape) & mask;

	while (j->table.v[at] && !same_key(j, j->table.v[at] - 1, key))
		at = (at + 1) & mask;
	return &j->table.v[at];
}

static void begin(struct ww_match_job *j, size_t nsent, size_t nreceived)
{
	size_t cap = 16;

	while (cap < nsent * 2)
		cap *= 2;
	ww_vec_reserve(&j->table, cap);
	j->table.n = cap;
	memset(j->table.v, 0, cap * sizeof(*j->table.v));
	ww_vec_reserve(&j->sent, nsent);
	ww_vec_reserve(&j->found, nreceived);
	ww_vec_clear(&j->found);
	ww_vec_clear(&j->sent);
	ww_vec_clear(&j->spans);
}

/* Packet k of s. */
static void insert(struct ww_match_job *j, const struct key *key, uint32_t k)
{
	uint32_t at = (uint32_t)j->sent.n;

	*ww_vec_push(&j->sent) = (struct ww_match_sent){
		.seq = key->seq, .k = k, .next = WW_NONE, .last = at, .nsent = 1, .cursor = at, .used = WW_NONE};
	uint32_t *slot = slot_of(j, key);
	if (!*slot) {
		*slot = at + 1;
		return;
	}
	struct ww_match_sent *first = &j->sent.v[*slot - 1];
	j->sent.v[first->last].next = at;
	first->last = at;
	first->nsent++;
}

/* Counts an arrival with this key, and remembers it for the pass that pairs. */
static struct ww_match_sent *arrives(struct ww_match_job *j, const struct key *key)
{
	uint32_t at = *slot_of(j, key);

	*ww_vec_push(&j->found) = at;
	if (!at)
		return NULL;
	j->sent.v[at - 1].narrived++;
	return &j->sent.v[at - 1];
}

/* Of the nth arrival. */
static struct ww_match_sent *found(struct ww_match_job *j, size_t n)
{
	return j->found.v[n] ? &j->sent.v[j->found.v[n] - 1] : NULL;
}

static bool is_repeated(const struct ww_match_sent *first)
{
	return first->nsent > 1 || first->narrived > 1 || first->again;
}

/* The packet that was sent first with this key. */
static uint32_t first_packet(const struct ww_match_job *j, const struct ww_match_sent *first)
{
	return packet_of(j, (uint32_t)(first - j->sent.v));
}

/* Packet i arrived and cannot have been sent before packet s of the sender. */
static void pair(struct ww_match_job *j, uint32_t s, uint32_t i)
{
	struct ww_match_host *a = &j->m->host.v[j->s->host], *b = receiver(j);

	b->partner[i] = a->base + s;
	if (a->partner[s] == WW_NONE)
		a->partner[s] = b->base + i;
}

/* ---- TCP ---- */

static struct key tcp_key(const struct ww_match_host *h, uint32_t i, uint64_t seq)
{
	return (struct key){seq, h->ack[i], h->shape[i]};
}

static bool is_bare(uint32_t shape)
{
	return !(shape >> 8) && !(shape & (WW_TCP_SYN | WW_TCP_FIN));
}

/* The span with the last byte before `to`; spans.n: that byte's sending was not seen. */
static size_t span_of(const struct ww_match_job *j, uint64_t to)
{
	size_t lo = 0, hi = j->spans.n;

	while (lo < hi) { /* the first span that ends at or after `to` */
		size_t mid = lo + (hi - lo) / 2;
		if (j->spans.v[mid].to < to)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < j->spans.n && j->spans.v[lo].from >= to ? j->spans.n : lo;
}

/* Of packet k, the last one inserted. What was sent before within other boundaries: had its packet the same ack (the parts of
 * one that is split all have its), then what arrives may be of that. */
static void add_span(struct ww_match_job *j, uint64_t from, uint64_t to, uint32_t k)
{
	const struct ww_match_host *h = sender(j);
	uint64_t highest = j->spans.n ? j->spans.v[j->spans.n - 1].to : 0;

	if (to > highest) {
		*ww_vec_push(&j->spans) = (struct ww_match_span){WW_MAX(from, highest), to, k};
		return;
	}
	size_t span = span_of(j, to);
	if (span < j->spans.n)
		j->sent.v[j->sent.n - 1].again = h->ack[sent_at(j, j->spans.v[span].at)] == h->ack[sent_at(j, k)];
}

static void read_sent(struct ww_match_job *j)
{
	const struct ww_match_host *h = sender(j);
	uint64_t hi = WW_SEQ_BASE + h->seq[sent_at(j, 0)];

	begin(j, j->s->n, j->r->n);
	for (uint32_t k = 0; k < j->s->n; k++) {
		uint32_t i = sent_at(j, k), payload = h->shape[i] >> 8;
		uint64_t seq = ww_seq_step(&hi, h->seq[i], h->shape[i]);
		struct key key = tcp_key(h, i, seq);
		insert(j, &key, k);
		seq += h->shape[i] & WW_TCP_SYN ? 1 : 0;
		if (payload && !(h->shape[i] & WW_TCP_RST))
			add_span(j, seq, seq + payload, k);
	}
}

/* By bytes: the span with the last byte of [from, to), and what else of it is in the range. */
static void pair_bytes(struct ww_match_job *j, uint64_t from, uint64_t to, uint32_t i)
{
	const struct ww_match_host *a = sender(j);
	const size_t lo = span_of(j, to);

	if (lo == j->spans.n)
		return;
	for (size_t s = lo + 1; s-- > 0 && j->spans.v[s].to > from;) {
		uint32_t p = sent_at(j, j->spans.v[s].at);
		if (s == lo || a->partner[p] == WW_NONE)
			pair(j, p, i);
		else
			break; /* it arrived earlier, and so did all before it */
	}
	receiver(j)->partner[i] = a->base + sent_at(j, j->spans.v[lo].at);
}

static int64_t sent_time(const struct ww_match_job *j, uint32_t index)
{
	return j->time(j->ctx, j->s->host, sender(j)->ts_ns[packet_of(j, index)]);
}

static void begin_refining(struct ww_match_job *j, struct ww_match_sent *first)
{
	struct ww_match_host *a = &j->m->host.v[j->s->host];

	for (uint32_t c = (uint32_t)(first - j->sent.v); c != WW_NONE; c = j->sent.v[c].next)
		a->partner[packet_of(j, c)] = WW_NONE;
	first->cleared = true;
	first->sent_left = first->nsent;
	first->arrived_left = first->narrived;
}

/* The transmission of a repeated key that arrived at i: the last one before it that has not arrived yet, but
 * later arrivals need one each too, so that of as many arrivals as transmissions each has its own. */
static void pair_refined(struct ww_match_job *j, struct ww_match_sent *first, uint32_t i)
{
	const struct ww_match_host *b = receiver(j);
	const uint32_t was = b->partner[i];
	const int64_t arrival = j->time(j->ctx, j->r->host, b->ts_ns[i]);

	receiver(j)->partner[i] = WW_NONE;
	if (!first->cleared)
		begin_refining(j, first);
	first->arrived_left--;
	uint32_t at = first->cursor, next;
	if (at != WW_NONE && sent_time(j, at) <= arrival) {
		first->sent_left--;
		while ((next = j->sent.v[at].next) != WW_NONE && first->sent_left > first->arrived_left &&
		       sent_time(j, next) <= arrival) {
			at = next;
			first->sent_left--;
		}
		first->used = at;
		first->cursor = next;
		pair(j, packet_of(j, at), i);
	} else if (was != WW_NONE && was < sender(j)->base + first_packet(j, first)) {
		receiver(j)->partner[i] = was; /* of what was sent before, within other boundaries */
	} else if (j->tcp && !is_bare(b->shape[i])) {
		/* A copy that the network made, or a violation, which must be seen. */
		pair(j, first->used != WW_NONE ? packet_of(j, first->used) : first_packet(j, first), i);
	}
}

static void note_again(ww_match_agains *v, uint64_t seq, uint32_t k)
{
	*ww_vec_push(v) = (struct ww_match_again){seq, k};
}

/* The kth arrival. */
static void pair_tcp(struct ww_match_job *j, uint32_t k, uint64_t seq)
{
	struct ww_match_host *b = receiver(j);
	const uint32_t i = received_at(j, k), payload = b->shape[i] >> 8;
	struct ww_match_sent *first = found(j, k);
	const bool data = payload && !(b->shape[i] & WW_TCP_RST);
	const uint64_t from = seq + (b->shape[i] & WW_TCP_SYN ? 1 : 0);
	const bool repeats = first && is_repeated(first);

	if (repeats)
		note_again(&j->r->again_received, seq, k);
	if (first && !first->again) {
		if (!repeats || !is_bare(b->shape[i]))
			pair(j, first_packet(j, first), i);
	} else if (data) {
		pair_bytes(j, from, from + payload, i);
	}
}

static void note_repeated(struct ww_match_job *j)
{
	j->r->repeats = j->r->again_received.n;
	for (uint32_t k = 0; j->r->repeats && k < j->sent.n; k++) {
		const struct ww_match_sent *s = &j->sent.v[k];
		struct key key = tcp_key(sender(j), sent_at(j, k), s->seq);
		/* Repeats are few; a key's first packet knows whether it is repeated, the others come after it. */
		if (s->nsent > 1 || s->narrived > 1 || is_repeated(&j->sent.v[*slot_of(j, &key) - 1]))
			note_again(&j->r->again_sent, s->seq, k);
	}
}

/* All transmissions of the keys that came twice, and all their arrivals. */
static void refine_tcp(struct ww_match_job *j)
{
	const ww_match_agains *sent = &j->r->again_sent, *received = &j->r->again_received;
	struct ww_match_host *b = receiver(j);

	begin(j, sent->n, received->n);
	for (size_t n = 0; n < sent->n; n++) {
		struct key key = tcp_key(sender(j), sent_at(j, sent->v[n].k), sent->v[n].seq);
		insert(j, &key, sent->v[n].k);
	}
	for (size_t n = 0; n < received->n; n++) {
		struct key key = tcp_key(b, received_at(j, received->v[n].k), received->v[n].seq);
		arrives(j, &key);
	}
	for (size_t n = 0; n < received->n; n++) {
		uint32_t i = received_at(j, received->v[n].k);
		pair_refined(j, found(j, n), i);
	}
}

void ww_match_tcp(struct ww_match_job *j)
{
	const struct ww_match_host *b = receiver(j);

	if (j->time) {
		refine_tcp(j);
		return;
	}
	read_sent(j);
	for (int pass = 0; pass < 2; pass++) {
		uint64_t hi = WW_SEQ_BASE + b->seq[received_at(j, 0)];
		for (uint32_t k = 0; k < j->r->n; k++) {
			uint32_t i = received_at(j, k);
			uint64_t seq = ww_seq_step(&hi, b->seq[i], b->shape[i]) + (uint64_t)j->shift;
			struct key key = tcp_key(b, i, seq);
			if (pass)
				pair_tcp(j, k, seq);
			else
				arrives(j, &key);
		}
	}
	note_repeated(j);
}

/* ---- UDP ---- */

static struct key udp_key(const struct ww_match_host *h, uint32_t i, bool with_checksum)
{
	return (struct key){with_checksum ? h->seq[i] : h->seq[i] >> 16, 0, h->shape[i]};
}

/* Fills the table; how many arrivals it has a key for. *ret_unique: keys that were sent once and arrived once. */
static uint32_t count_keys(struct ww_match_job *j, bool with_checksum, uint32_t *ret_unique)
{
	const struct ww_match_host *a = sender(j), *b = receiver(j);
	uint32_t n = 0, unique = 0;

	begin(j, j->s->n, j->r->n);
	for (uint32_t k = 0; k < j->s->n; k++) {
		struct key key = udp_key(a, sent_at(j, k), with_checksum);
		insert(j, &key, k);
	}
	for (uint32_t k = 0; k < j->r->n; k++) {
		struct key key = udp_key(b, received_at(j, k), with_checksum);
		struct ww_match_sent *first = arrives(j, &key);
		if (!first)
			continue;
		n++;
		unique += first->nsent == 1 && first->narrived == 1;
		unique -= first->nsent == 1 && first->narrived == 2;
	}
	*ret_unique = unique;
	return n;
}

/* Checksums that a network card fills in are others at the two ends; then without them. */
static bool choose_keys(struct ww_match_job *j, uint32_t *ret_unique)
{
	uint32_t with = count_keys(j, true, ret_unique);

	if (with * 2 >= j->r->n)
		return true;
	if (count_keys(j, false, ret_unique) > with * 2)
		return false;
	count_keys(j, true, ret_unique);
	return true;
}

/* Without an IP id equal datagrams may have equal checksums (or none, or the card's part of one): then most
 * of the stream must be told apart before one of it is believed. What is not told apart waits for the clocks. */
void ww_match_udp(struct ww_match_job *j)
{
	struct ww_match_host *b = receiver(j);
	uint32_t unique;
	const bool with_checksum = choose_keys(j, &unique), distinct = (uint64_t)unique * 2 >= WW_MIN(j->s->n, j->r->n);

	for (uint32_t k = 0; k < j->r->n; k++) {
		uint32_t i = received_at(j, k);
		struct ww_match_sent *first = found(j, k);
		bool id = b->seq[i] >> 16, known = id || (with_checksum && b->seq[i] && distinct);
		if (!first)
			continue;
		bool repeats = is_repeated(first);
		j->r->repeats |= repeats || !known;
		if (j->time && (repeats || !known)) {
			pair_refined(j, first, i);
		} else if (!j->time && !repeats && known) {
			pair(j, first_packet(j, first), i);
		}
	}
}
