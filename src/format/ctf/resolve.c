/* resolve.c - from types as written to types that can be decoded: byte order, clock, layout, references.
 *
 * A sequence's length and a variant's tag name an integer that was decoded before: in the same or an
 * enclosing structure, else in an earlier scope of the event (header, contexts), or by its full path
 * (stream.event.header.id). The integer gets a slot; whoever decodes it stores the value there.
 * source CTF 1.8.3 specification, section 7.3 (scopes)
 */
#include "format/ctf/meta.h"

enum { R_PACKET_HEADER, R_PACKET_CONTEXT, R_EVENT_HEADER, R_STREAM_CONTEXT, R_EVENT_CONTEXT, R_PAYLOAD, R_N };

static const char *const root_names[R_N] = {"trace.packet.header", "stream.packet.context", "stream.event.header",
					    "stream.event.context", "event.context", "event.fields"};

/* An enclosing structure: fields before `at` are decoded already. */
struct frame {
	const struct ctf_type *t;
	uint32_t at;
};

struct resolver {
	struct ctf_meta *m;
	struct ww_err *err;
	struct ctf_type *root[R_N]; /* only those already decoded, and the one in work */
	struct frame frames[CTF_MAX_DEPTH + 2];
	unsigned nframes;
};

static int bad(struct resolver *r, int code, const char *what, const char *name)
{
	return ww_err_set(r->err, code, r->m->path, WW_ERR_NO_OFFSET, "%s '%s'", what, name);
}

static bool same_name(const char *raw, const char *ref, size_t len)
{
	return !strncmp(raw, ref, len) && !raw[len];
}

/* Field of a structure by a path's first step; the producer's underscore may be there or not. */
static struct ctf_type *member(const struct ctf_type *t, uint32_t before, const char *step, size_t len)
{
	if (t->kind != CTF_STRUCT && t->kind != CTF_VARIANT)
		return NULL;
	for (uint32_t i = WW_MIN(before, t->nfields); i-- > 0;)
		if (same_name(t->fields[i].raw, step, len))
			return t->fields[i].type;
	for (uint32_t i = WW_MIN(before, t->nfields); i-- > 0;)
		if (same_name(t->fields[i].name, step, len))
			return t->fields[i].type;
	return NULL;
}

static struct ctf_type *descend(struct ctf_type *t, const char *path)
{
	while (t && *path) {
		size_t len = strcspn(path, ".");
		t = member(t, UINT32_MAX, path, len);
		path += len + (path[len] == '.');
	}
	return t;
}

static struct ctf_type *find_target(struct resolver *r, const char *ref)
{
	size_t len = strcspn(ref, ".");
	const char *rest = ref + len + (ref[len] == '.');

	for (int i = 0; i < R_N; i++) {
		size_t n = strlen(root_names[i]);
		if (!strncmp(ref, root_names[i], n) && ref[n] == '.')
			return r->root[i] ? descend(r->root[i], ref + n + 1) : NULL;
	}
	for (unsigned f = r->nframes; f-- > 0;) {
		struct ctf_type *t = member(r->frames[f].t, r->frames[f].at, ref, len);
		if (t)
			return descend(t, rest);
	}
	for (int i = R_N - 2; i >= 0; i--) {
		/* the last root that is set is the one in work, searched above */
		struct ctf_type *t = r->root[i] && r->root[i] != r->frames[0].t ? descend(r->root[i], ref) : NULL;
		if (t)
			return t;
	}
	return NULL;
}

static int refer(struct resolver *r, struct ctf_type *t, struct ctf_type **ret)
{
	if (!t->ref)
		return bad(r, WW_ECORRUPT, "a variant has no tag in", r->frames[0].t ? "its structure" : "");
	struct ctf_type *target = find_target(r, t->ref);
	if (!target || target == t)
		return bad(r, WW_ECORRUPT, "no field before it is called", t->ref);
	if (target->kind != CTF_INT && target->kind != CTF_ENUM)
		return bad(r, WW_ECORRUPT, "not an integer:", t->ref);
	if (target->slot == CTF_NO_SLOT) {
		if (r->m->nslots >= CTF_MAX_SLOTS)
			return bad(r, WW_ELIMIT, "too many fields are lengths or tags; at", t->ref);
		target->slot = (uint16_t)r->m->nslots++;
	}
	t->ref_slot = target->slot;
	*ret = target;
	return 0;
}

static int variant_choices(struct resolver *r, struct ctf_type *t, const struct ctf_type *tag)
{
	if (tag->kind != CTF_ENUM)
		return bad(r, WW_ECORRUPT, "a variant's tag is not an enumeration:", t->ref);
	t->tag_signed = tag->is_signed;
	t->choices = WW_ARENA_ARRAY(&r->m->mem, struct ctf_choice, tag->nmaps + 1);
	for (uint32_t i = 0; i < tag->nmaps; i++) {
		const char *label = tag->maps[i].label;
		for (uint32_t f = 0; f < t->nfields; f++) {
			if (strcmp(t->fields[f].raw, label) && strcmp(t->fields[f].name, label))
				continue;
			t->choices[t->nchoices++] = (struct ctf_choice){tag->maps[i].lo, tag->maps[i].hi, f};
			break;
		}
	}
	return 0;
}

static int clock_of(struct resolver *r, struct ctf_type *t)
{
	for (size_t i = 0; i < r->m->clocks.n; i++)
		if (!strcmp(r->m->clocks.v[i]->name, t->clock_name))
			t->clock = r->m->clocks.v[i];
	return t->clock ? 0 : bad(r, WW_ECORRUPT, "no clock is called", t->clock_name);
}

static int resolve_type(struct resolver *r, struct ctf_type *t);

static int resolve_fields(struct resolver *r, struct ctf_type *t)
{
	unsigned f = r->nframes;

	r->frames[f].t = t;
	r->nframes++;
	for (uint32_t i = 0; i < t->nfields; i++) {
		/* A variant's options do not see one another. */
		r->frames[f].at = t->kind == CTF_STRUCT ? i : 0;
		int rc = resolve_type(r, t->fields[i].type);
		if (rc)
			return rc;
		if (t->kind == CTF_STRUCT)
			t->align = WW_MAX(t->align, t->fields[i].type->align);
	}
	r->nframes--;
	return 0;
}

static int resolve_type(struct resolver *r, struct ctf_type *t)
{
	struct ctf_type *target;
	int rc = 0;

	WW_ASSERT(r->nframes <= CTF_MAX_DEPTH);
	if (t->order == CTF_NATIVE)
		t->order = (uint8_t)r->m->order;
	switch (t->kind) {
	case CTF_INT:
	case CTF_ENUM:
		return t->clock_name ? clock_of(r, t) : 0;
	case CTF_VARIANT:
		if ((rc = refer(r, t, &target)) || (rc = variant_choices(r, t, target)))
			return rc;
		return resolve_fields(r, t);
	case CTF_STRUCT:
		return resolve_fields(r, t);
	case CTF_SEQUENCE:
		if ((rc = refer(r, t, &target)))
			return rc;
		if (target->is_signed)
			return bad(r, WW_ECORRUPT, "a length is a signed integer:", t->ref);
		/* fall through */
	case CTF_ARRAY:
		rc = resolve_type(r, t->elem);
		t->align = WW_MAX(t->align, t->elem->align);
		return rc;
	default:
		return 0;
	}
}

/* Sizes and marks, bottom up; after all references are known. A fixed size counts from a place that is
 * aligned as the type asks. */
static void lay_out(struct ctf_type *t)
{
	uint64_t pos = 0;

	t->fixed = true;
	t->bytewise = t->align % 8 == 0 || t->kind == CTF_VARIANT;
	switch (t->kind) {
	case CTF_INT:
	case CTF_ENUM:
	case CTF_FLOAT:
		t->bits = t->size;
		t->has_slot = t->slot != CTF_NO_SLOT;
		t->bytewise &= t->size % 8 == 0;
		return;
	case CTF_STRING:
		t->fixed = false;
		return;
	case CTF_STRUCT:
	case CTF_VARIANT:
		for (uint32_t i = 0; i < t->nfields; i++) {
			struct ctf_type *f = t->fields[i].type;
			lay_out(f);
			pos = (pos + f->align - 1) & ~(uint64_t)(f->align - 1);
			t->fixed &= f->fixed && !__builtin_add_overflow(pos, f->bits, &pos);
			t->has_slot |= f->has_slot;
			t->bytewise &= f->bytewise;
		}
		t->fixed &= t->kind == CTF_STRUCT;
		if (!t->nfields)
			t->bytewise = true;
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		lay_out(t->elem);
		t->has_slot = t->elem->has_slot;
		t->bytewise = t->elem->bytewise;
		t->fixed = t->kind == CTF_ARRAY && t->elem->fixed;
		if (t->fixed && t->length) {
			uint64_t stride = (t->elem->bits + t->elem->align - 1) & ~(uint64_t)(t->elem->align - 1);
			t->fixed = !__builtin_mul_overflow(stride, t->length - 1, &pos) &&
				   !__builtin_add_overflow(pos, t->elem->bits, &pos);
		}
		break;
	}
	/* Larger than any packet that can be mapped: let the walker find that out. */
	if (pos > (uint64_t)1 << 48)
		t->fixed = false;
	t->bits = t->fixed ? pos : 0;
}

static int resolve_root(struct resolver *r, int which, struct ctf_type *t)
{
	r->root[which] = t;
	for (int i = which + 1; i < R_N; i++)
		r->root[i] = NULL;
	r->nframes = 0;
	r->frames[0].t = NULL;
	return t ? resolve_type(r, t) : 0;
}

/* The clock that time stamps of a stream are of: the first one that its header or context maps. */
static const struct ctf_clock *find_clock(const struct ctf_type *t)
{
	const struct ctf_clock *c = t ? t->clock : NULL;

	for (uint32_t i = 0; t && !c && i < t->nfields; i++)
		c = find_clock(t->fields[i].type);
	return c;
}

static struct ctf_stream_class *implicit_stream(struct ctf_meta *m)
{
	struct ctf_stream_class *s = WW_ARENA_NEW(&m->mem, struct ctf_stream_class);

	*ww_vec_push(&m->streams) = s;
	return s;
}

static int resolve_event(struct resolver *r, struct ctf_event_class *e, uint32_t index)
{
	struct ctf_meta *m = r->m;
	struct ctf_stream_class *s = (struct ctf_stream_class *)ctf_meta_stream(m, e->stream_id);
	uint64_t *had;
	bool fresh;

	if (!s && !m->streams.n)
		s = implicit_stream(m);
	if (!s)
		return bad(r, WW_ECORRUPT, "no stream block for event", e->pub.name);
	had = ww_u64map_get(&s->by_id, e->pub.id, index, &fresh);
	(void)had;
	if (!fresh)
		return bad(r, WW_ECORRUPT, "two event blocks have the same id; the second is", e->pub.name);
	r->root[R_PACKET_CONTEXT] = s->packet_context;
	r->root[R_EVENT_HEADER] = s->event_header;
	r->root[R_STREAM_CONTEXT] = s->event_context;
	int rc = resolve_root(r, R_EVENT_CONTEXT, e->context);
	if (!rc)
		rc = resolve_root(r, R_PAYLOAD, e->payload);
	if (rc)
		return rc;
	e->pub.nfields = e->payload ? e->payload->nfields : 0;
	const char **names = WW_ARENA_ARRAY(&m->mem, const char *, e->pub.nfields + 1);
	for (uint32_t i = 0; i < e->pub.nfields; i++)
		names[i] = e->payload->fields[i].name;
	e->pub.field_names = names;
	return 0;
}

int ctf_resolve(struct ctf_meta *m, struct ww_err *err)
{
	struct resolver r = {.m = m, .err = err};
	int rc = resolve_root(&r, R_PACKET_HEADER, m->packet_header);

	for (size_t i = 0; !rc && i < m->streams.n; i++) {
		struct ctf_stream_class *s = m->streams.v[i];
		if (!(rc = resolve_root(&r, R_PACKET_CONTEXT, s->packet_context)) &&
		    !(rc = resolve_root(&r, R_EVENT_HEADER, s->event_header)))
			rc = resolve_root(&r, R_STREAM_CONTEXT, s->event_context);
		s->clock = find_clock(s->event_header);
		if (!s->clock)
			s->clock = find_clock(s->packet_context);
	}
	for (size_t i = 0; !rc && i < m->events.n; i++)
		rc = resolve_event(&r, m->events.v[i], (uint32_t)i);
	if (rc)
		return rc;
	if (m->packet_header)
		lay_out(m->packet_header);
	for (size_t i = 0; i < m->streams.n; i++) {
		struct ctf_type *roots[] = {m->streams.v[i]->packet_context, m->streams.v[i]->event_header,
					    m->streams.v[i]->event_context};
		for (size_t k = 0; k < WW_ARRAY_SIZE(roots); k++)
			if (roots[k])
				lay_out(roots[k]);
	}
	for (size_t i = 0; i < m->events.n; i++) {
		if (m->events.v[i]->context)
			lay_out(m->events.v[i]->context);
		if (m->events.v[i]->payload)
			lay_out(m->events.v[i]->payload);
	}
	return 0;
}
