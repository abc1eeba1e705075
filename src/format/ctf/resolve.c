/* resolve.c - from types as written to types that can be decoded: byte order, clock, layout, references.
 *
 * A sequence's length and a variant's tag name an integer that was decoded before: in the same or an
 * enclosing structure, else in an earlier scope of the event (header, contexts), or by its full path
 * (stream.event.header.id). The integer gets a slot; whoever decodes it stores the value there.
 * In CTF 2 a location can lead into a variant, whose options then all hold the field: they share one slot.
 * source CTF 1.8.3 specification, section 7.3 (scopes); CTF2-SPEC-2.0, section 6.4.2 (field location procedure)
 */
#include "format/ctf/meta.h"

static const char *const root_names[CTF_SCOPES] = {"trace.packet.header", "stream.packet.context", "stream.event.header",
						   "stream.event.context", "event.context", "event.fields"};

/* An enclosing type: of a structure the fields before `at` are decoded already, and `at` is in work. */
struct frame {
	struct ctf_type *t;
	uint32_t at;
};

struct resolver {
	struct ctf_meta *m;
	struct ww_err *err;
	struct ctf_type *root[CTF_SCOPES]; /* only those already decoded, and the one in work */
	struct frame frames[CTF_MAX_DEPTH + 2];
	unsigned nframes;
	/* Fields that a location can mean, and what they have in common. */
	uint16_t slot;
	unsigned nfound;
	bool found_signed, found_unsigned, found_bool, found_other, found_plain;
	struct ctf_type *found;
	WW_VEC(uint16_t) same; /* slot -> the one that it is the same as */
};

static int bad(struct resolver *r, int code, uint32_t off, const char *what, const char *name)
{
	return ww_err_set(r->err, code, r->m->path, ctf_meta_file_offset(r->m, off), "%s '%s'", what, name);
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

	for (int i = 0; i < CTF_SCOPES; i++) {
		size_t n = strlen(root_names[i]);
		if (!strncmp(ref, root_names[i], n) && ref[n] == '.')
			return r->root[i] ? descend(r->root[i], ref + n + 1) : NULL;
	}
	for (unsigned f = r->nframes; f-- > 0;) {
		/* A variant's options do not see one another. */
		struct ctf_type *t = r->frames[f].t->kind != CTF_STRUCT ? NULL :
				     member(r->frames[f].t, r->frames[f].at, ref, len);
		if (t)
			return descend(t, rest);
	}
	for (int i = CTF_SCOPES - 2; i >= 0; i--) {
		/* the last root that is set is the one in work, searched above */
		struct ctf_type *t = r->root[i] && r->root[i] != r->frames[0].t ? descend(r->root[i], ref) : NULL;
		if (t)
			return t;
	}
	return NULL;
}

static int slot_new(struct resolver *r, const struct ctf_type *t)
{
	if (r->m->nslots >= CTF_MAX_SLOTS)
		return bad(r, WW_ELIMIT, t->off, "too many fields are lengths or tags; at", t->ref);
	*ww_vec_push(&r->same) = (uint16_t)r->m->nslots;
	r->slot = (uint16_t)r->m->nslots++;
	return 0;
}

static uint16_t slot_root(const struct resolver *r, uint16_t slot)
{
	while (r->same.v[slot] != slot)
		slot = r->same.v[slot];
	return slot;
}

static void found(struct resolver *r, struct ctf_type *t)
{
	bool integer = t->kind == CTF_INT || t->kind == CTF_ENUM || t->kind == CTF_VARINT;

	r->nfound++;
	r->found = t;
	r->found_other |= !integer;
	r->found_bool |= integer && t->is_bool;
	r->found_signed |= integer && t->is_signed;
	r->found_unsigned |= integer && !t->is_signed && !t->is_bool;
	r->found_plain |= t->kind != CTF_ENUM;
	if (!integer || t->slot == r->slot)
		return;
	if (t->slot == CTF_NO_SLOT)
		t->slot = r->slot;
	else
		r->same.v[slot_root(r, t->slot)] = slot_root(r, r->slot);
}

static int frame_of(const struct resolver *r, const struct ctf_type *t)
{
	for (unsigned f = r->nframes; f-- > 0;)
		if (r->frames[f].t == t)
			return (int)f;
	return -1;
}

/* Follows the path from v; everywhere that it can lead goes to found(). */
static void locate(struct resolver *r, struct ctf_type *v, const char *const *path, uint32_t n)
{
	int f = frame_of(r, v);

	switch (v->kind) {
	case CTF_STRUCT:
		if (!n || !*path) {
			/* null: the structure around this one */
			for (n -= n != 0; f > 0; f--)
				if (r->frames[f - 1].t->kind == CTF_STRUCT) {
					locate(r, r->frames[f - 1].t, path + 1, n);
					break;
				}
			return;
		}
		for (uint32_t i = 0; i < v->nfields; i++) {
			/* What comes later is not there yet; what is in work can only be gone through. */
			bool in_work = f >= 0 && i == r->frames[f].at;
			if (strcmp(v->fields[i].name, *path) || (f >= 0 && i > r->frames[f].at) || (in_work && n == 1))
				continue;
			locate(r, v->fields[i].type, path + 1, n - 1);
		}
		return;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		if (f >= 0)
			locate(r, v->elem, path, n);
		return;
	case CTF_VARIANT:
	case CTF_OPTIONAL:
		for (uint32_t i = 0; i < v->nfields; i++)
			if (f < 0 || i == r->frames[f].at)
				locate(r, v->fields[i].type, path, n);
		return;
	default:
		if (!n)
			found(r, v);
	}
}

static int refer_location(struct resolver *r, struct ctf_type *t)
{
	const struct ctf_location *l = t->loc;
	struct ctf_type *from = NULL;
	int rc = slot_new(r, t);

	if (rc)
		return rc;
	if (l->origin >= 0)
		from = r->root[l->origin];
	for (unsigned f = r->nframes; l->origin < 0 && !from && f-- > 0;)
		if (r->frames[f].t->kind == CTF_STRUCT)
			from = r->frames[f].t;
	r->nfound = 0;
	r->found_signed = r->found_unsigned = r->found_bool = r->found_other = r->found_plain = false;
	if (from)
		locate(r, from, l->path, l->npath);
	if (!r->nfound)
		return bad(r, WW_ECORRUPT, t->off, "no field before it is at", t->ref);
	t->ref_slot = r->slot;
	return 0;
}

/* Finds the field that a length or tag is in, and agrees on a slot with it. */
static int refer(struct resolver *r, struct ctf_type *t)
{
	if (t->loc) {
		int rc = refer_location(r, t);
		if (rc)
			return rc;
	} else {
		if (!t->ref)
			return bad(r, WW_ECORRUPT, t->off, "a variant has no tag in", "its structure");
		struct ctf_type *target = find_target(r, t->ref);
		if (!target || target == t)
			return bad(r, WW_ECORRUPT, t->off, "no field before it is called", t->ref);
		r->found_signed = r->found_unsigned = r->found_bool = r->found_other = r->found_plain = false;
		r->slot = target->slot;
		if (r->slot == CTF_NO_SLOT && (target->kind == CTF_INT || target->kind == CTF_ENUM)) {
			int rc = slot_new(r, t);
			if (rc)
				return rc;
		}
		found(r, target);
		t->ref_slot = r->slot;
	}
	if (r->found_other)
		return bad(r, WW_ECORRUPT, t->off, "not an integer:", t->ref);
	return 0;
}

/* CTF 2: ranges as written -> in the tag's own sign. */
static int clip_choices(struct resolver *r, struct ctf_type *t)
{
	uint32_t n = 0;

	if (r->found_signed + r->found_unsigned + r->found_bool != 1)
		return bad(r, WW_ECORRUPT, t->off, "integers with and without sign are at", t->ref);
	t->tag_signed = r->found_signed;
	if (r->found_bool != (t->kind == CTF_OPTIONAL && !t->nchoices))
		return bad(r, WW_ECORRUPT, t->off, r->found_bool ? "a boolean needs no ranges:" : "no ranges for", t->ref);
	if (r->found_bool) {
		t->choices = WW_ARENA_NEW(&r->m->mem, struct ctf_choice);
		*t->choices = (struct ctf_choice){1, UINT64_MAX - 1, 0, false, false};
		t->nchoices = 1;
		return 0;
	}
	for (uint32_t i = 0; i < t->nchoices; i++) {
		struct ctf_choice c = t->choices[i];
		if (t->tag_signed ? (!c.lo_neg && c.lo > INT64_MAX) : c.hi_neg)
			continue;
		if (t->tag_signed && !c.hi_neg)
			c.hi = WW_MIN(c.hi, (uint64_t)INT64_MAX);
		if (!t->tag_signed && c.lo_neg)
			c.lo = 0;
		t->choices[n++] = c;
	}
	t->nchoices = n;
	return 0;
}

static int variant_choices(struct resolver *r, struct ctf_type *t)
{
	const struct ctf_type *tag = r->found;

	if (t->loc)
		return clip_choices(r, t);
	if (tag->kind != CTF_ENUM)
		return bad(r, WW_ECORRUPT, t->off, "a variant's tag is not an enumeration:", t->ref);
	t->tag_signed = tag->is_signed;
	t->choices = WW_ARENA_ARRAY(&r->m->mem, struct ctf_choice, tag->nmaps + 1);
	t->nchoices = 0;
	for (uint32_t i = 0; i < tag->nmaps; i++) {
		const char *label = tag->maps[i].label;
		for (uint32_t f = 0; f < t->nfields; f++) {
			if (strcmp(t->fields[f].raw, label) && strcmp(t->fields[f].name, label))
				continue;
			t->choices[t->nchoices++] = (struct ctf_choice){tag->maps[i].lo, tag->maps[i].hi, f, false, false};
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
	return t->clock ? 0 : bad(r, WW_ECORRUPT, t->off, "no clock is called", t->clock_name);
}

static int resolve_type(struct resolver *r, struct ctf_type *t);

static int resolve_fields(struct resolver *r, struct ctf_type *t)
{
	unsigned f = r->nframes;

	r->frames[f].t = t;
	r->nframes++;
	for (uint32_t i = 0; i < t->nfields; i++) {
		r->frames[f].at = i;
		int rc = resolve_type(r, t->fields[i].type);
		if (rc)
			return rc;
		if (t->kind == CTF_STRUCT)
			t->align = WW_MAX(t->align, t->fields[i].type->align);
	}
	r->nframes--;
	return 0;
}

static int resolve_elements(struct resolver *r, struct ctf_type *t)
{
	unsigned f = r->nframes;
	int rc = 0;

	if (t->kind == CTF_SEQUENCE && !(rc = refer(r, t)) && (r->found_signed || r->found_bool))
		rc = bad(r, WW_ECORRUPT, t->off, r->found_bool ? "a length is a boolean:" : "a length is a signed integer:",
			 t->ref);
	if (rc)
		return rc;
	r->frames[f].t = t;
	r->frames[f].at = 0;
	r->nframes++;
	rc = resolve_type(r, t->elem);
	r->nframes--;
	t->align = WW_MAX(t->align, t->elem->align);
	return rc;
}

static int resolve_type(struct resolver *r, struct ctf_type *t)
{
	int rc = 0;

	WW_ASSERT(r->nframes <= CTF_MAX_DEPTH);
	if (t->order == CTF_NATIVE)
		t->order = (uint8_t)r->m->order;
	switch (t->kind) {
	case CTF_INT:
	case CTF_ENUM:
		return t->clock_name ? clock_of(r, t) : 0;
	case CTF_VARIANT:
	case CTF_OPTIONAL:
		if ((rc = refer(r, t)) || (rc = variant_choices(r, t)))
			return rc;
		return resolve_fields(r, t);
	case CTF_STRUCT:
		return resolve_fields(r, t);
	case CTF_SEQUENCE:
	case CTF_ARRAY:
		return resolve_elements(r, t);
	default:
		return 0;
	}
}

/* Sizes and marks, bottom up; after all references are known. A fixed size counts from a place that is
 * aligned as the type asks. */
static void lay_out(const struct resolver *r, struct ctf_type *t)
{
	uint64_t pos = 0;

	t->fixed = true;
	t->bytewise = t->align % 8 == 0 || t->kind == CTF_VARIANT || t->kind == CTF_OPTIONAL;
	if (t->slot != CTF_NO_SLOT)
		t->slot = slot_root(r, t->slot);
	if (t->ref_slot != CTF_NO_SLOT)
		t->ref_slot = slot_root(r, t->ref_slot);
	switch (t->kind) {
	case CTF_INT:
	case CTF_ENUM:
	case CTF_FLOAT:
		t->bits = t->size;
		t->has_slot = t->slot != CTF_NO_SLOT;
		t->bytewise &= t->size % 8 == 0;
		return;
	case CTF_VARINT:
		t->has_slot = t->slot != CTF_NO_SLOT;
		/* fall through */
	case CTF_STRING:
		t->fixed = false;
		return;
	case CTF_STRUCT:
	case CTF_VARIANT:
	case CTF_OPTIONAL:
		for (uint32_t i = 0; i < t->nfields; i++) {
			struct ctf_type *f = t->fields[i].type;
			lay_out(r, f);
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
		lay_out(r, t->elem);
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
	for (int i = which + 1; i < CTF_SCOPES; i++)
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
	bool fresh;

	if (!s && !m->streams.n)
		s = implicit_stream(m);
	if (!s)
		return bad(r, WW_ECORRUPT, e->off, "the metadata has no stream for event", e->pub.name);
	(void)ww_u64map_get(&s->by_id, e->pub.id, index, &fresh);
	if (!fresh)
		return bad(r, WW_ECORRUPT, e->off, "two events have the same id; the second is", e->pub.name);
	r->root[CTF_PACKET_CONTEXT] = s->packet_context;
	r->root[CTF_EVENT_HEADER] = s->event_header;
	r->root[CTF_STREAM_CONTEXT] = s->event_context;
	int rc = resolve_root(r, CTF_EVENT_CONTEXT, e->context);
	if (!rc)
		rc = resolve_root(r, CTF_PAYLOAD, e->payload);
	if (rc)
		return rc;
	e->pub.nfields = e->payload ? e->payload->nfields : 0;
	const char **names = WW_ARENA_ARRAY(&m->mem, const char *, e->pub.nfields + 1);
	for (uint32_t i = 0; i < e->pub.nfields; i++)
		names[i] = e->payload->fields[i].name;
	e->pub.field_names = names;
	e->pub.no_context = !s->event_context && !e->context;
	return 0;
}

static int resolve_stream(struct resolver *r, struct ctf_stream_class *s)
{
	int rc;

	if ((rc = resolve_root(r, CTF_PACKET_CONTEXT, s->packet_context)) ||
	    (rc = resolve_root(r, CTF_EVENT_HEADER, s->event_header)) ||
	    (rc = resolve_root(r, CTF_STREAM_CONTEXT, s->event_context)))
		return rc;
	if (r->m->version == 2)
		return 0; /* its roles and its clock are as written */
	ctf_type_roles_by_name(s->packet_context, CTF_PACKET_CONTEXT);
	ctf_type_roles_by_name(s->event_header, CTF_EVENT_HEADER);
	s->clock = find_clock(s->event_header);
	if (!s->clock)
		s->clock = find_clock(s->packet_context);
	return 0;
}

/* What every packet begins with: by it the next one is found after damage. */
static void find_sign(struct ctf_meta *m)
{
	const struct ctf_type *h = m->packet_header, *magic = h && h->nfields ? h->fields[0].type : NULL;

	if (!magic || !(magic->roles & 1u << CTF_R_MAGIC) || magic->size != 32)
		return;
	m->order = (enum ctf_order)magic->order;
	m->sign_bytes = 4;
	if (m->has_uuid && h->nfields > 1 && h->fields[1].type->roles & 1u << CTF_R_UUID &&
	    h->fields[1].type->align <= 8)
		m->sign_bytes = 20;
}

static void lay_out_all(const struct resolver *r)
{
	const struct ctf_meta *m = r->m;

	if (m->packet_header)
		lay_out(r, m->packet_header);
	for (size_t i = 0; i < m->streams.n; i++) {
		struct ctf_type *roots[] = {m->streams.v[i]->packet_context, m->streams.v[i]->event_header,
					    m->streams.v[i]->event_context};
		for (size_t k = 0; k < WW_ARRAY_SIZE(roots); k++)
			if (roots[k])
				lay_out(r, roots[k]);
	}
	for (size_t i = 0; i < m->events.n; i++) {
		if (m->events.v[i]->context)
			lay_out(r, m->events.v[i]->context);
		if (m->events.v[i]->payload)
			lay_out(r, m->events.v[i]->payload);
	}
}

int ctf_resolve(struct ctf_meta *m, struct ww_err *err)
{
	struct resolver r = {.m = m, .err = err};
	int rc = resolve_root(&r, CTF_PACKET_HEADER, m->packet_header);

	if (!rc && m->version != 2)
		ctf_type_roles_by_name(m->packet_header, CTF_PACKET_HEADER);
	for (size_t i = 0; !rc && i < m->streams.n; i++)
		rc = resolve_stream(&r, m->streams.v[i]);
	for (size_t i = 0; !rc && i < m->events.n; i++)
		rc = resolve_event(&r, m->events.v[i], (uint32_t)i);
	if (!rc) {
		find_sign(m);
		lay_out_all(&r);
	}
	ww_vec_free(&r.same);
	return rc;
}
