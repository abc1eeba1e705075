/* merge.c - the events of all streams by time; or only counted, stream by stream.
 *
 * The merge is a tree of losers: each inner node holds the stream that lost there, tree[0] the winner; when the winner
 * moves on, it plays again up its path: log2(streams) comparisons. While it stays before the runner-up, whose time is
 * known, it need not: events of one CPU come in runs.
 */
#include "format/ctf/event.h"

static void set_key(struct ctf_reader *r, uint32_t i)
{
	const struct ctf_stream *s = r->streams.v[i];

	r->keys[i] = s->cls == WW_NONE ? INT64_MAX : s->ts_ns;
}

static bool ended(const struct ctf_reader *r, uint32_t i)
{
	return i >= r->streams.n || r->streams.v[i]->cls == WW_NONE;
}

static inline bool before(const struct ctf_reader *r, uint32_t a, uint32_t b)
{
	int64_t x = r->keys[a], y = r->keys[b];

	if (WW_LIKELY(x != y))
		return x < y;
	if (WW_UNLIKELY(x == INT64_MAX) && ended(r, a) != ended(r, b))
		return ended(r, b);
	return a < b;
}

static uint32_t play(struct ctf_reader *r, uint32_t node)
{
	if (node >= r->nleaves)
		return node - r->nleaves;
	uint32_t a = play(r, node * 2), b = play(r, node * 2 + 1);
	bool first = before(r, a, b);
	r->tree[node] = first ? b : a;
	return first ? a : b;
}

/* The runner-up lost to the winner, somewhere on its path. */
static void find_first(struct ctf_reader *r)
{
	int64_t ts_ns = INT64_MAX;

	for (uint32_t n = (r->tree[0] + r->nleaves) / 2; n >= 1; n /= 2)
		ts_ns = WW_MIN(ts_ns, r->keys[r->tree[n]]);
	r->first = r->streams.n ? r->streams.v[r->tree[0]] : NULL;
	r->second_ts_ns = ts_ns;
}

static void replay(struct ctf_reader *r, uint32_t w)
{
	for (uint32_t n = (w + r->nleaves) / 2; n >= 1; n /= 2) {
		if (before(r, r->tree[n], w)) {
			uint32_t loser = w;
			w = r->tree[n];
			r->tree[n] = loser;
		}
	}
	r->tree[0] = w;
	find_first(r);
}

static int strict_damage(const struct ctf_reader *r, struct ww_err *err)
{
	if (!r->opts.strict || !r->damage.n)
		return 0;
	if (err && !err->code)
		*err = r->damage.v[0].err;
	return -r->damage.v[0].err.code;
}

static void values_make(struct ctf_reader *r)
{
	if (!r->values)
		r->values = ww_xcalloc(r->nvalues + 1, sizeof(*r->values));
}

/* What a stream lacks at its begin, it lacks since the trace began; the one that begins the trace lacks nothing. */
static void begin_gaps(struct ctf_reader *r)
{
	struct ctf_stream *first = r->streams.n ? r->streams.v[r->tree[0]] : NULL;

	if (first && first->cls == WW_CLS_GAP && first->gap[2].u) {
		ctf_stream_advance(first);
		set_key(r, first->index);
	}
	r->tree[0] = play(r, 1);
	for (uint32_t i = 0; i < r->streams.n; i++)
		if (r->streams.v[i]->cls == WW_CLS_GAP)
			r->streams.v[i]->gap[1].i = WW_MIN(r->streams.v[i]->gap[1].i, r->keys[r->tree[0]]);
}

static void start(struct ctf_reader *r)
{
	r->started = true;
	values_make(r);
	for (r->nleaves = 1; r->nleaves < r->streams.n; r->nleaves *= 2)
		;
	r->tree = ww_xcalloc(r->nleaves + 1, sizeof(*r->tree));
	r->keys = ww_xmalloc(r->nleaves * sizeof(*r->keys));
	for (uint32_t i = 0; i < r->nleaves; i++)
		r->keys[i] = INT64_MAX;
	for (uint32_t i = 0; i < r->streams.n; i++) {
		ctf_stream_advance(r->streams.v[i]);
		set_key(r, i);
	}
	r->tree[0] = play(r, 1);
	begin_gaps(r);
	find_first(r);
}

/* The first event of all, or one out of order. */
static void count_odd(struct ctf_reader *r, int64_t ts_ns)
{
	struct ww_trace_stats *st = &r->t.stats;

	if (!st->events) {
		st->begin_ts_ns = st->end_ts_ns = ts_ns;
		return;
	}
	st->out_of_order++;
	st->begin_ts_ns = WW_MIN(st->begin_ts_ns, ts_ns);
}

static inline void count(struct ctf_reader *r, int64_t ts_ns)
{
	struct ww_trace_stats *st = &r->t.stats;

	if (WW_UNLIKELY(!st->events) || WW_UNLIKELY(ts_ns < r->last_ts_ns))
		count_odd(r, ts_ns);
	st->events++;
	st->end_ts_ns = WW_MAX(st->end_ts_ns, ts_ns);
	r->last_ts_ns = ts_ns;
}

/* The winner's event was delivered: its next one, and whose turn is it then? */
static inline void advance(struct ctf_reader *r)
{
	struct ctf_stream *s = r->first;

	if (!WW_LIKELY(ctf_event_advance(s)))
		ctf_stream_advance(s);
	else if (WW_LIKELY(s->ts_ns < r->second_ts_ns))
		return;
	set_key(r, s->index);
	replay(r, s->index);
}

static inline void tell(struct ctf_reader *r, const struct ww_value *v, uint32_t n, struct ww_event *ret)
{
	const struct ctf_stream *s = r->first;

	r->advance = true;
	ret->ts_ns = s->ts_ns;
	ret->v = v;
	ret->cls = s->cls;
	ret->cpu = s->pk->cpu;
	ret->nval = n;
	r->t.from.offset = s->pk->off + s->event_pos / 8;
	r->t.from.file = s->pk->file;
	r->t.from.stream = s->index;
	r->t.from.priv = s;
}

int ctf_next(struct ww_trace *t, struct ww_event *ret, struct ww_err *err)
{
	struct ctf_reader *r = (struct ctf_reader *)t;

	if (WW_UNLIKELY(!r->started))
		start(r);
	if (WW_UNLIKELY(!r->streams.n))
		return strict_damage(r, err);
	struct ww_value *to = t->values_to ? t->values_to : r->values;
	for (;; r->advance = true) {
		if (WW_LIKELY(r->advance))
			advance(r);
		r->advance = false; /* until it is delivered, or passed over */
		struct ctf_stream *s = r->first;
		if (WW_UNLIKELY(r->opts.strict) && r->damage.n)
			return strict_damage(r, err);
		if (WW_UNLIKELY(s->cls >= WW_CLS_GAP)) {
			if (s->cls == WW_NONE)
				return 0;
			tell(r, s->gap, WW_GAP_VALUES, ret);
			t->stats.lost_events += s->gap[0].u;
			return 1;
		}
		const struct ctf_class *k = &r->classes.v[s->cls];
		if (!WW_LIKELY(ctf_event_decode(s, k, to)) && !ctf_stream_decode(s, to))
			continue;
		count(r, s->ts_ns);
		if (k->ignored)
			continue;
		t->plain = k->plain;
		tell(r, to, k->nwants, ret);
		return 1;
	}
}

/* ---- counting ---- */

struct counted {
	uint64_t *per_class, n;
	int64_t last, begin, end; /* ns: the stream's last event, or gap; of those counted */
	bool hidden; /* behind a gap or a damaged event */
};

/* Those that follow one another as nearly all do: only how long they are is looked at. */
static void count_run(struct ctf_stream *s, struct counted *c)
{
	const struct ctf_class *classes = s->r->classes.v;
	uint64_t pos = s->c.pos, clock = s->clock, n = 0;
	int64_t last = c->last, first = INT64_MAX;
	struct ctf_head h;

	while (WW_LIKELY(ctf_event_head(s, pos, clock, &h))) {
		const struct ctf_class *k = &classes[h.cls];
		const int64_t ts_ns = ctf_head_ts_ns(s, &h);
		if (WW_UNLIKELY(s->c.end - h.body_pos < k->need_bits) || WW_UNLIKELY(ts_ns < last))
			break;
		pos = h.body_pos + k->bits;
		clock = h.clock;
		first = n++ ? first : ts_ns;
		last = ts_ns;
		c->per_class[h.cls]++;
	}
	if (!n)
		return;
	s->c.pos = pos;
	s->clock = clock;
	s->seen_event = true;
	s->last_ts_ns = c->last = last;
	c->begin = WW_MIN(c->begin, first);
	c->end = WW_MAX(c->end, last);
	c->n += n;
	c->hidden = false;
}

/* One stream to its end, without the others. An event is out of order in the merge if and only if it is before the
 * one that its stream had just before it; but behind a gap or a damaged event the other streams decide. False: so
 * it is here. */
static bool count_stream(struct ctf_reader *r, struct ctf_stream *s, uint64_t *per_class)
{
	struct ww_trace_stats *st = &r->t.stats;
	struct counted c = {.per_class = per_class, .last = INT64_MIN, .begin = INT64_MAX, .end = INT64_MIN};

	for (;;) {
		count_run(s, &c);
		ctf_stream_advance(s);
		bool event = s->cls < WW_CLS_GAP;
		if (WW_UNLIKELY(s->cls == WW_NONE))
			break;
		if (WW_UNLIKELY(s->ts_ns < c.last)) {
			if (c.hidden)
				return false;
			st->out_of_order++;
		}
		c.last = s->ts_ns;
		if (WW_UNLIKELY(!event))
			st->lost_events += s->gap[0].u;
		c.hidden = !event || !ctf_stream_decode(s, r->values);
		if (WW_UNLIKELY(c.hidden))
			continue;
		c.begin = WW_MIN(c.begin, c.last);
		c.end = WW_MAX(c.end, c.last);
		per_class[s->cls]++;
		c.n++;
	}
	if (c.n) {
		st->begin_ts_ns = st->events ? WW_MIN(st->begin_ts_ns, c.begin) : c.begin;
		st->end_ts_ns = st->events ? WW_MAX(st->end_ts_ns, c.end) : c.end;
		st->events += c.n;
	}
	return true;
}

/* Stream by stream; where that is not enough it starts anew, as if nothing had been read. */
int ctf_count(struct ww_trace *t, uint64_t *per_class, struct ww_err *err)
{
	struct ctf_reader *r = (struct ctf_reader *)t;
	const struct ww_trace_stats before = t->stats;
	const size_t damage = r->damage.n;
	uint64_t *counts = ww_xcalloc(r->classes.n + 1, sizeof(*counts));
	bool ok = !r->opts.strict && !r->started;

	values_make(r);
	for (size_t i = 0; ok && i < r->streams.n; i++)
		ok = count_stream(r, r->streams.v[i], counts);
	for (size_t i = 0; ok && i < r->classes.n; i++)
		per_class[i] += counts[i];
	free(counts);
	if (ok || r->started)
		return ok ? 0 : 1;
	for (size_t i = 0; i < r->streams.n; i++)
		ctf_stream_rewind(r->streams.v[i]);
	t->stats = before;
	r->damage.n = damage;
	return 1;
}
