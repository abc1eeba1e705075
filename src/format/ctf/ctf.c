/* ctf.c - CTF 1.8 and 2 behind struct ww_format: set up, merge the streams by time, answer.
 *
 * The merge is a tree of losers: each inner node holds the stream that lost there, tree[0] the winner;
 * when the winner moves on, it plays again up its path: log2(streams) comparisons an event.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "format/ctf/ctf.h"

static int64_t clock_offset_ns(const struct ctf_clock *c)
{
	return c ? c->offset_s * 1000000000 + ctf_cycles_to_ns(c, c->offset_cycles) : 0;
}

/* ---- set up ---- */

static bool is_int(const struct ctf_type *t, unsigned size, uint32_t max_align)
{
	return t->kind == CTF_INT && t->size == size && t->align <= max_align && !t->is_signed && t->order == CTF_LE &&
	       t->slot == CTF_NO_SLOT && !t->reversed;
}

/* Is it one of LTTng's two event headers? 1 compact, 2 large. */
static uint8_t fast_header(const struct ctf_type *h)
{
	if (!h || h->kind != CTF_STRUCT || h->nfields != 2 || h->align != 8 || strcmp(h->fields[0].name, "id"))
		return 0;
	const struct ctf_type *id = h->fields[0].type, *v = h->fields[1].type;
	bool large = id->size == 16;
	uint64_t last = large ? 65535 : 31;
	const uint32_t is_id = 1u << CTF_R_EVENT_ID, is_clock = 1u << CTF_R_CLOCK;
	if (id->kind != CTF_ENUM || id->reversed || !(id->roles & is_id) || (id->size != 5 && !large) || id->order != CTF_LE || id->is_signed ||
	    id->align > 8 || v->kind != CTF_VARIANT || v->nfields != 2 || v->ref_slot != id->slot || v->nchoices != 2 ||
	    v->choices[0].lo != 0 || v->choices[0].hi != last - 1 || v->choices[1].lo != last ||
	    v->choices[1].hi != last || v->choices[0].field != 0 || v->choices[1].field != 1)
		return 0;
	const struct ctf_type *a = v->fields[0].type, *b = v->fields[1].type;
	if (a->kind != CTF_STRUCT || a->nfields != 1 || b->kind != CTF_STRUCT || b->nfields != 2 || b->align > 8)
		return 0;
	if (!is_int(a->fields[0].type, large ? 32 : 27, large ? 8 : 1) || !(a->fields[0].type->roles & is_clock) ||
	    a->align > (large ? 8u : 1u) || b->align != 8)
		return 0;
	if (!is_int(b->fields[0].type, 32, 8) || !(b->fields[0].type->roles & is_id) || !is_int(b->fields[1].type, 64, 8) ||
	    !(b->fields[1].type->roles & is_clock))
		return 0;
	return large ? 2 : 1;
}

static void sclass_ids(struct ctf_reader *r, struct ctf_sclass *sc, const struct ctf_meta *m)
{
	uint64_t max = 0;

	for (size_t i = 0; i < m->events.n; i++)
		if (m->events.v[i]->stream_id == sc->c->id && m->events.v[i]->pub.id < CTF_MAX_CLASSES)
			max = WW_MAX(max, m->events.v[i]->pub.id);
	sc->nby_id = (uint32_t)max + 1;
	sc->by_id = ww_xmalloc(sc->nby_id * sizeof(*sc->by_id));
	memset(sc->by_id, 0xff, sc->nby_id * sizeof(*sc->by_id));
	for (size_t i = 0; i < m->events.n; i++) {
		struct ctf_event_class *e = m->events.v[i];
		if (e->stream_id != sc->c->id)
			continue;
		r->classes.v[sc->class_base + i].sc = sc;
		if (e->pub.id < sc->nby_id)
			sc->by_id[e->pub.id] = sc->class_base + (uint32_t)i;
	}
}

static void sclass_init(struct ctf_reader *r, struct ctf_sub *sub, struct ctf_sclass *sc)
{
	const struct ctf_clock *first = r->subs.v[0]->m->clocks.n ? r->subs.v[0]->m->clocks.v[0] : NULL;
	struct ctf_place place = sub->after_header;

	sc->class_base = sub->class_base;
	if (sc->c->packet_context)
		sc->context = ctf_plan_new((const struct ctf_type *const *)&sc->c->packet_context, NULL, 1, NULL, 0, true,
					   &place);
	/* The next event begins wherever the last one ended. */
	place = (struct ctf_place){1, 0};
	if (sc->c->event_header)
		sc->header = ctf_plan_new((const struct ctf_type *const *)&sc->c->event_header, NULL, 1, NULL, 0, true,
					  &place);
	sc->after_header = place;
	sc->fast = fast_header(sc->c->event_header);
	sc->clock = sc->c->clock;
	sc->ns = !sc->clock || sc->clock->freq_hz == 1000000000u;
	if (sc->clock && first && sc->clock != first &&
	    !(*first->uuid && !strcmp(first->uuid, sc->clock->uuid)))
		sc->shift_ns = clock_offset_ns(sc->clock) - clock_offset_ns(first);
	sclass_ids(r, sc, sub->m);
}

static void sub_init(struct ctf_reader *r, struct ctf_sub *sub)
{
	struct ctf_meta *m = sub->m;

	sub->after_header = (struct ctf_place){CTF_MAX_ALIGN, 0};
	if (m->packet_header)
		sub->header = ctf_plan_new((const struct ctf_type *const *)&m->packet_header, NULL, 1, NULL, 0, true,
					   &sub->after_header);
	/* Chunks that share their metadata share classes: the base of the first one. */
	sub->class_base = WW_NONE;
	for (size_t i = 0; r->subs.v[i] != sub; i++)
		if (r->subs.v[i]->m == m)
			sub->class_base = r->subs.v[i]->class_base;
	if (sub->class_base == WW_NONE) {
		sub->class_base = (uint32_t)r->classes.n;
		for (size_t i = 0; i < m->events.n; i++)
			ww_vec_push(&r->classes)->ev = m->events.v[i];
	}
	sub->sclasses = ww_xcalloc(m->streams.n + 1, sizeof(*sub->sclasses));
	for (size_t i = 0; i < m->streams.n; i++) {
		sub->sclasses[i].c = m->streams.v[i];
		sclass_init(r, sub, &sub->sclasses[i]);
	}
}

static void fill_info(struct ctf_reader *r, const char *path)
{
	struct ww_trace_info *i = &r->t.info;
	const struct ctf_meta *m = r->subs.v[0]->m;
	const struct ctf_clock *c = m->clocks.n ? m->clocks.v[0] : NULL;
	const char *name = ctf_meta_env(m, "tracer_name"), *major = ctf_meta_env(m, "tracer_major"),
		   *minor = ctf_meta_env(m, "tracer_minor"), *patch = ctf_meta_env(m, "tracer_patchlevel");

	for (size_t k = 0; k < r->subs.n; k++)
		r->t.converts |= r->subs.v[k]->m->converts;
	i->format = m->version == 2 ? "ctf 2" : "ctf 1.8";
	i->hostname = ctf_meta_env(m, "hostname");
	const char *whywait = ctf_meta_env(m, "whywait_version"); /* its tracer_name is whose events it writes */
	i->tracer = *whywait ? ww_arena_printf(&r->mem, "whywait %s", whywait) :
		    *major ? ww_arena_printf(&r->mem, "%s %s.%s%s%s", name, major, minor, *patch ? "." : "", patch) : name;
	i->kernel_release = ctf_meta_env(m, "kernel_release");
	i->arch = ctf_meta_env(m, "architecture");
	if (!*i->arch)
		i->arch = ctf_meta_env(m, "machine");
	i->env = m->env.v;
	i->nenv = (uint32_t)m->env.n;
	i->nclasses = (uint32_t)r->classes.n;
	i->nstreams = (uint32_t)r->streams.n;
	i->clock = (struct ww_clock){.name = c ? c->name : "", .uuid = c ? c->uuid : "", .freq_hz = c ? c->freq_hz : 0,
				     .offset_ns = clock_offset_ns(c), .epoch_known = c && (c->has_offset || c->absolute)};
	for (size_t f = 0; f < r->files.n; f++)
		*ww_vec_push(&r->file_names) = r->files.v[f].path;
	r->t.stats.files = r->file_names.v;
	r->t.stats.nfiles = (uint32_t)r->files.n;
}

static void ctf_close(struct ww_trace *t)
{
	struct ctf_reader *r = (struct ctf_reader *)t;

	for (size_t i = 0; i < r->subs.n; i++) {
		struct ctf_sub *sub = r->subs.v[i];
		for (size_t k = 0; sub->sclasses && k < sub->m->streams.n; k++) {
			ctf_plan_free(sub->sclasses[k].context);
			ctf_plan_free(sub->sclasses[k].header);
			free(sub->sclasses[k].by_id);
		}
		free(sub->sclasses);
		ctf_plan_free(sub->header);
	}
	for (size_t i = 0; i < r->subs.n; i++) {
		bool last = true;
		for (size_t k = i + 1; k < r->subs.n; k++)
			last &= r->subs.v[k]->m != r->subs.v[i]->m;
		if (last)
			ctf_meta_free(r->subs.v[i]->m);
	}
	for (size_t i = 0; i < r->subs.n; i++) {
		free(r->subs.v[i]->dir);
		free(r->subs.v[i]);
	}
	for (size_t i = 0; i < r->files.n; i++) {
		if (r->files.v[i].map)
			munmap((void *)r->files.v[i].map, r->files.v[i].size);
		free(r->files.v[i].path);
	}
	for (size_t i = 0; i < r->streams.n; i++) {
		free(r->streams.v[i]->c.slots);
		ww_arena_release(&r->streams.v[i]->text);
		ww_vec_free(&r->streams.v[i]->packets);
		free(r->streams.v[i]);
	}
	for (size_t i = 0; i < r->classes.n; i++) {
		ctf_plan_free(r->classes.v[i].plan);
		free(r->classes.v[i].wants);
	}
	ww_vec_free(&r->subs);
	ww_vec_free(&r->files);
	ww_vec_free(&r->file_names);
	ww_vec_free(&r->streams);
	ww_vec_free(&r->classes);
	ww_vec_free(&r->damage);
	free(r->values);
	free(r->keys);
	free(r->tree);
	ww_arena_release(&r->mem);
	free(r);
}

static int ctf_open(const char *path, const struct ww_open_opts *opts, struct ww_trace **ret, struct ww_err *err)
{
	struct ctf_reader *r = ww_xcalloc(1, sizeof(*r));
	int rc;

	r->t.fmt = &ww_format_ctf;
	r->opts = opts ? *opts : (struct ww_open_opts){0};
	ww_arena_init(&r->mem);
	rc = ctf_discover(r, path, err);
	if (!rc) {
		for (size_t i = 0; i < r->subs.n; i++)
			sub_init(r, r->subs.v[i]);
		rc = ctf_packets_index(r, err);
	}
	if (rc) {
		ctf_close(&r->t);
		return rc;
	}
	fill_info(r, path);
	*ret = &r->t;
	return 0;
}

/* ---- the merge ---- */

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

static int start(struct ctf_reader *r)
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
	return 0;
}

static void count(struct ctf_reader *r, int64_t ts_ns)
{
	struct ww_trace_stats *st = &r->t.stats;

	st->events++;
	if (WW_UNLIKELY(!r->any_event)) {
		r->any_event = true;
		st->begin_ts_ns = st->end_ts_ns = ts_ns;
		r->last_ts_ns = ts_ns;
	}
	if (WW_UNLIKELY(ts_ns < r->last_ts_ns)) {
		st->out_of_order++;
		st->begin_ts_ns = WW_MIN(st->begin_ts_ns, ts_ns);
	}
	st->end_ts_ns = WW_MAX(st->end_ts_ns, ts_ns);
	r->last_ts_ns = ts_ns;
}

static inline struct ww_event event_of(const struct ctf_stream *s)
{
	return (struct ww_event){.ts_ns = s->ts_ns, .cls = s->cls, .stream = s->index, .cpu = s->pk->cpu,
				 .offset = s->pk->off + s->event_pos / 8, .file = s->pk->file, .priv = s};
}

static int ctf_next(struct ww_trace *t, struct ww_event *ret, struct ww_err *err)
{
	struct ctf_reader *r = (struct ctf_reader *)t;

	if (WW_UNLIKELY(!r->started))
		start(r);
	if (!r->streams.n)
		return strict_damage(r, err);
	for (;;) {
		struct ctf_stream *s = r->streams.v[r->tree[0]];
		if (s->advance) {
			s->advance = false;
			ctf_stream_advance(s);
			set_key(r, s->index);
			replay(r, s->index);
			continue;
		}
		if (WW_UNLIKELY(r->opts.strict && r->damage.n))
			return strict_damage(r, err);
		if (s->cls == WW_NONE)
			return 0;
		s->advance = true;
		if (WW_UNLIKELY(s->cls == WW_CLS_GAP)) {
			*ret = event_of(s);
			ret->v = s->gap;
			ret->nval = WW_GAP_VALUES;
			t->stats.lost_events += s->gap[0].u;
			return 1;
		}
		if (!ctf_stream_decode(s))
			continue;
		count(r, s->ts_ns);
		const struct ctf_class *k = &r->classes.v[s->cls];
		if (k->ignored)
			continue;
		*ret = event_of(s);
		ret->v = s->c.v;
		ret->nval = k->nwants;
		return 1;
	}
}

/* ---- counting ---- */

/* One stream to its end, without the others. An event is out of order in the merge if and only if it is before the
 * one that its stream had just before it; but behind a gap or a damaged event the other streams decide. False: so
 * it is here. */
static bool count_stream(struct ctf_reader *r, struct ctf_stream *s, uint64_t *per_class)
{
	struct ww_trace_stats *st = &r->t.stats;
	int64_t last = INT64_MIN, begin = INT64_MAX, end = INT64_MIN;
	bool hidden = false;
	uint64_t n = 0;

	for (;;) {
		ctf_stream_advance(s);
		bool event = s->cls < WW_CLS_GAP;
		if (WW_UNLIKELY(s->cls == WW_NONE))
			break;
		if (WW_UNLIKELY(s->ts_ns < last)) {
			if (hidden)
				return false;
			st->out_of_order++;
		}
		last = s->ts_ns;
		if (WW_UNLIKELY(!event))
			st->lost_events += s->gap[0].u;
		hidden = !event || !ctf_stream_decode(s);
		if (WW_UNLIKELY(hidden))
			continue;
		begin = WW_MIN(begin, last);
		end = WW_MAX(end, last);
		per_class[s->cls]++;
		n++;
	}
	if (n) {
		st->begin_ts_ns = st->events ? WW_MIN(st->begin_ts_ns, begin) : begin;
		st->end_ts_ns = st->events ? WW_MAX(st->end_ts_ns, end) : end;
		st->events += n;
	}
	return true;
}

/* Stream by stream; where that is not enough it starts anew, as if nothing had been read. */
static int ctf_count(struct ww_trace *t, uint64_t *per_class, struct ww_err *err)
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

/* ---- questions ---- */

static const struct ww_class *ctf_get_class(const struct ww_trace *t, uint32_t cls)
{
	const struct ctf_reader *r = (const struct ctf_reader *)t;

	return cls < r->classes.n ? &r->classes.v[cls].ev->pub : NULL;
}

static uint32_t ctf_damage(const struct ww_trace *t, const struct ww_damage **ret)
{
	const struct ctf_reader *r = (const struct ctf_reader *)t;

	*ret = r->damage.v;
	return (uint32_t)r->damage.n;
}

static int ctf_want(struct ww_trace *t, uint32_t cls, const char *const *fields, uint32_t n, struct ww_err *err)
{
	struct ctf_reader *r = (struct ctf_reader *)t;

	WW_ASSERT(cls < r->classes.n && !r->started);
	if (n > 1024)
		return ww_err_set(err, WW_ELIMIT, "", WW_ERR_NO_OFFSET, "over 1024 fields of one event are wanted");
	struct ctf_class *k = &r->classes.v[cls];
	free(k->wants);
	k->wants = ww_xcalloc(n + 1, sizeof(*k->wants));
	k->nwants = n;
	for (uint32_t i = 0; i < n; i++) {
		k->wants[i].in_context = !strncmp(fields[i], "ctx.", 4);
		k->wants[i].path = fields[i] + (k->wants[i].in_context ? 4 : 0);
	}
	r->nvalues = WW_MAX(r->nvalues, n);
	return 0;
}

static void ctf_ignore(struct ww_trace *t, uint32_t cls)
{
	struct ctf_reader *r = (struct ctf_reader *)t;

	WW_ASSERT(cls < r->classes.n);
	r->classes.v[cls].ignored = true;
}

static int walk_fields(struct ctf_cursor *c, const struct ctf_type *t, const struct ww_visitor *v, void *ctx)
{
	if (!t)
		return 0;
	/* The structure's own alignment, without a begin and end of its own. */
	uint64_t pos = (c->pos + t->align - 1) & ~(uint64_t)(t->align - 1);
	if (pos > c->end)
		return ctf_decode_fail(c, WW_ETRUNC, "an event goes past the end of its packet");
	c->pos = pos;
	for (uint32_t i = 0; i < t->nfields; i++)
		if (ctf_walk(c, t->fields[i].type, t->fields[i].name, v, ctx))
			return c->rc;
	return 0;
}

static int visit(struct ctf_reader *r, const struct ctf_stream *s, uint32_t cls, const struct ww_visitor *v, void *ctx,
		 struct ctf_cursor *c)
{
	const struct ctf_class *k = &r->classes.v[cls];
	int rc;

	*c = s->c;
	c->pos = s->body_pos;
	c->budget = s->pk->content_bits * 4 + (1u << 16);
	if ((rc = walk_fields(c, s->sc->c->event_context, NULL, NULL)) || (rc = walk_fields(c, k->ev->context, NULL, NULL)) ||
	    (rc = walk_fields(c, k->ev->payload, v, ctx)))
		return rc;
	c->pos = s->body_pos;
	if (s->sc->c->event_context || k->ev->context) {
		v->begin(ctx, "ctx", false);
		if (!(rc = walk_fields(c, s->sc->c->event_context, v, ctx)))
			rc = walk_fields(c, k->ev->context, v, ctx);
		v->end(ctx);
	}
	if (!rc && s->sc->c->packet_context) {
		c->pos = 0;
		if (s->sub->header)
			rc = ctf_plan_run(s->sub->header, c);
		v->begin(ctx, "pkt", false);
		if (!rc)
			rc = walk_fields(c, s->sc->c->packet_context, v, ctx);
		v->end(ctx);
	}
	return rc;
}

static int ctf_visit(struct ww_trace *t, const struct ww_event *ev, const struct ww_visitor *v, void *ctx,
		     struct ww_err *err)
{
	struct ctf_reader *r = (struct ctf_reader *)t;
	const struct ctf_stream *s = ev->priv;
	struct ctf_cursor c;

	if (ev->cls == WW_CLS_GAP) {
		v->value(ctx, "lost", &ev->v[0], NULL, 10);
		v->value(ctx, "begin_ts_ns", &ev->v[1], NULL, 10);
		return 0;
	}
	if (visit(r, s, ev->cls, v, ctx, &c))
		return ww_err_set(err, -c.rc, r->files.v[ev->file].path, ev->offset, "%s", c.why);
	return 0;
}

const struct ww_format ww_format_ctf = {
	.name = "ctf",
	.summary = "Common Trace Format 1.8 and 2 (LTTng, whywait, barectf)",
	.stable = true,
	.probe = ctf_probe,
	.open = ctf_open,
	.close = ctf_close,
	.get_class = ctf_get_class,
	.damage = ctf_damage,
	.want = ctf_want,
	.ignore = ctf_ignore,
	.next = ctf_next,
	.visit = ctf_visit,
	.count = ctf_count,
};
