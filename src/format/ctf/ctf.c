/* ctf.c - CTF 1.8 and 2 behind struct ww_format: set up, answer. The events come from merge.c. */
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
			*ww_vec_push(&r->classes) = (struct ctf_class){.ev = m->events.v[i], .need_bits = UINT64_MAX};
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
	const struct ctf_stream *s = t->from.priv;
	struct ctf_cursor c;

	if (ev->cls == WW_CLS_GAP) {
		v->value(ctx, "lost", &ev->v[0], NULL, 10);
		v->value(ctx, "begin_ts_ns", &ev->v[1], NULL, 10);
		return 0;
	}
	if (visit(r, s, ev->cls, v, ctx, &c))
		return ww_err_set(err, -c.rc, r->files.v[t->from.file].path, t->from.offset, "%s", c.why);
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
