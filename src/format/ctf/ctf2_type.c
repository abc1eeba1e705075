/* ctf2_type.c - a field class of CTF 2 -> struct ctf_type.
 *
 *   {"type": "fixed-length-unsigned-integer", "length": 5, "byte-order": "little-endian"}
 * Strings of a given length are arrays of characters here, blobs arrays of bytes that are one value.
 * source CTF2-SPEC-2.0, section 5.3
 */
#include "format/ctf/ctf2.h"
#include "format/ctf/decode.h"

static struct ctf_type *type_new(struct ctf2 *p, enum ctf_kind kind, const struct ctf2_json *j)
{
	if (p->m->nnodes >= CTF_MAX_NODES)
		ctf2_fail(p, j->off, WW_ELIMIT, "over %u field classes", CTF_MAX_NODES);
	return ctf_type_new(p->m, kind, j->off);
}

static void read_align(struct ctf2 *p, const struct ctf2_json *j, const char *key, struct ctf_type *t)
{
	uint64_t a = ctf2_unsigned(p, j, key, 1);

	if (!a || (a & (a - 1)) || a > CTF_MAX_ALIGN)
		ctf2_fail(p, j->off, WW_ECORRUPT, "`%s` is no power of two up to %u", key, CTF_MAX_ALIGN);
	else
		t->align = WW_MAX(t->align, (uint32_t)a);
}

/* ---- names and ranges of integers ---- */

/* [lo, hi]; false after an error. */
static bool range(struct ctf2 *p, const struct ctf2_json *j, struct ctf_choice *ret)
{
	const struct ctf2_json *lo = j->first, *hi = lo ? lo->next : NULL;

	if (j->kind != J_ARRAY || j->n != 2 || lo->kind != J_INT || hi->kind != J_INT) {
		ctf2_fail(p, j->off, WW_ECORRUPT, "a range is an array of two integers");
		return false;
	}
	*ret = (struct ctf_choice){.lo = lo->u, .hi = hi->u, .lo_neg = lo->negative, .hi_neg = hi->negative};
	if (lo->negative != hi->negative ? hi->negative : lo->negative ? (int64_t)lo->u > (int64_t)hi->u : lo->u > hi->u) {
		ctf2_fail(p, j->off, WW_ECORRUPT, "a range that ends before it begins");
		return false;
	}
	return true;
}

static bool range_set(struct ctf2 *p, const struct ctf2_json *j, const char *of)
{
	if (j && (j->kind != J_ARRAY || !j->n)) {
		ctf2_fail(p, j->off, WW_ECORRUPT, "the ranges of `%.60s` are no array of ranges", of);
		return false;
	}
	return j && !p->failed;
}

/* {"name": [[lo, hi], ...], ...} -> maps; ranges that the type cannot reach are left out. */
static void read_maps(struct ctf2 *p, const struct ctf2_json *o, struct ctf_type *t, uint64_t below)
{
	uint32_t n = 0;

	for (const struct ctf2_json *c = o ? o->first : NULL; c; c = c->next)
		n += c->n;
	t->maps = WW_ARENA_ARRAY(&p->m->mem, struct ctf_map, n + 1);
	for (const struct ctf2_json *c = o ? o->first : NULL; c; c = c->next) {
		if (!range_set(p, c, c->key))
			return;
		for (const struct ctf2_json *r = c->first; r; r = r->next) {
			struct ctf_choice k;
			if (!range(p, r, &k))
				return;
			if (k.hi >= below || k.lo_neg) {
				if (below != UINT64_MAX) {
					ctf2_fail(p, r->off, WW_ECORRUPT, "`%.60s` names a bit that is not there", c->key);
					return;
				}
			}
			if (t->is_signed ? (!k.lo_neg && k.lo > INT64_MAX) : k.hi_neg)
				continue;
			if (t->is_signed && !k.hi_neg)
				k.hi = WW_MIN(k.hi, (uint64_t)INT64_MAX);
			if (!t->is_signed && k.lo_neg)
				k.lo = 0;
			t->maps[t->nmaps++] = (struct ctf_map){c->key, k.lo, k.hi};
		}
	}
}

static void read_base(struct ctf2 *p, const struct ctf2_json *j, struct ctf_type *t)
{
	uint64_t b = ctf2_unsigned(p, j, "preferred-display-base", 10);

	if (b != 2 && b != 8 && b != 10 && b != 16)
		ctf2_fail(p, j->off, WW_ECORRUPT, "a base of %" PRIu64 "; 2, 8, 10 and 16 are possible", b);
	else
		t->base = (uint8_t)b;
}

static void read_roles(struct ctf2 *p, const struct ctf2_json *j, struct ctf_type *t)
{
	static const struct {
		const char *name;
		enum ctf_role role;
	} roles[] = {{"packet-magic-number", CTF_R_MAGIC},
		     {"metadata-stream-uuid", CTF_R_UUID},
		     {"data-stream-class-id", CTF_R_STREAM_ID},
		     {"data-stream-id", CTF_R_INSTANCE_ID},
		     {"default-clock-timestamp", CTF_R_CLOCK},
		     {"packet-end-default-clock-timestamp", CTF_R_END},
		     {"packet-content-length", CTF_R_CONTENT},
		     {"packet-total-length", CTF_R_PACKET},
		     {"packet-sequence-number", CTF_R_SEQ},
		     {"discarded-event-record-counter-snapshot", CTF_R_DISCARDED},
		     {"event-record-class-id", CTF_R_EVENT_ID}};
	const struct ctf2_json *a = ctf2_get(p, j, "roles", J_ARRAY);

	for (const struct ctf2_json *r = a ? a->first : NULL; r; r = r->next) {
		size_t i = 0;
		while (i < WW_ARRAY_SIZE(roles) && (r->kind != J_STRING || strcmp(r->s, roles[i].name)))
			i++;
		if (i == WW_ARRAY_SIZE(roles)) {
			ctf2_fail(p, r->off, WW_ECORRUPT, "no field can have the role '%.60s'", r->s);
			return;
		}
		if ((roles[i].role == CTF_R_UUID) != (t->kind == CTF_ARRAY) || t->is_signed ||
		    (roles[i].role == CTF_R_UUID && t->length != 16) ||
		    (roles[i].role == CTF_R_MAGIC && (t->kind == CTF_VARINT || t->size != 32))) {
			ctf2_fail(p, r->off, WW_ECORRUPT, "a field of this class cannot have the role '%s'", r->s);
			return;
		}
		t->roles |= 1u << roles[i].role;
	}
}

/* ---- fixed and variable length ---- */

enum bits { B_ARRAY, B_MAP, B_BOOL, B_UNSIGNED, B_SIGNED, B_FLOAT, B_VAR_UNSIGNED, B_VAR_SIGNED };

static void read_orders(struct ctf2 *p, const struct ctf2_json *j, struct ctf_type *t)
{
	const struct ctf2_json *order = ctf2_need(p, j, "byte-order", J_STRING), *bit = ctf2_get(p, j, "bit-order", J_STRING);

	if (p->failed)
		return;
	bool be = !strcmp(order->s, "big-endian"), last = bit && !strcmp(bit->s, "last-to-first");
	if (!be && strcmp(order->s, "little-endian"))
		ctf2_fail(p, order->off, WW_ECORRUPT, "'%.60s' is no byte order", order->s);
	if (bit && !last && strcmp(bit->s, "first-to-last"))
		ctf2_fail(p, bit->off, WW_ECORRUPT, "'%.60s' is no order of bits", bit->s);
	t->order = be ? CTF_BE : CTF_LE;
	t->reversed = bit && last != be;
}

static struct ctf_type *bits_type(struct ctf2 *p, const struct ctf2_json *j, int which)
{
	struct ctf_type *t = type_new(p, which == B_FLOAT ? CTF_FLOAT : CTF_INT, j);
	const struct ctf2_json *len = ctf2_need(p, j, "length", J_INT);
	uint64_t size = len ? ctf2_unsigned(p, j, "length", 0) : 1;

	if (!size)
		ctf2_fail(p, len->off, WW_ECORRUPT, "a field of 0 bits");
	if (which == B_FLOAT && size != 16 && size != 32 && size != 64)
		ctf2_fail(p, j->off, size % 32 ? WW_ECORRUPT : WW_EUNSUPPORTED,
			  "a float of %" PRIu64 " bits; 16, 32 and 64 are read", size);
	if (size > 64)
		ctf2_fail(p, len->off, WW_EUNSUPPORTED, "a field of %" PRIu64 " bits; up to 64 are read", size);
	read_orders(p, j, t);
	read_align(p, j, "alignment", t);
	if (p->failed)
		return NULL;
	t->size = (uint8_t)size;
	t->is_signed = which == B_SIGNED;
	t->is_bool = which == B_BOOL;
	t->is_flags = which == B_MAP;
	if (which == B_MAP) {
		read_maps(p, ctf2_need(p, j, "flags", J_OBJECT), t, size);
	} else if (which == B_SIGNED || which == B_UNSIGNED) {
		read_base(p, j, t);
		read_maps(p, ctf2_get(p, j, "mappings", J_OBJECT), t, UINT64_MAX);
		read_roles(p, j, t);
	}
	if (t->nmaps && !t->is_flags)
		t->kind = CTF_ENUM;
	return t;
}

static struct ctf_type *varint_type(struct ctf2 *p, const struct ctf2_json *j, int which)
{
	struct ctf_type *t = type_new(p, CTF_VARINT, j);

	t->align = 8;
	t->order = CTF_LE;
	t->is_signed = which == B_VAR_SIGNED;
	read_base(p, j, t);
	read_maps(p, ctf2_get(p, j, "mappings", J_OBJECT), t, UINT64_MAX);
	read_roles(p, j, t);
	return t;
}

/* ---- where another field is ---- */

static void read_location(struct ctf2 *p, const struct ctf2_json *j, const char *key, struct ctf_type *t)
{
	static const char *const origins[CTF_SCOPES] = {"packet-header", "packet-context", "event-record-header",
							"event-record-common-context", "event-record-specific-context",
							"event-record-payload"};
	const struct ctf2_json *l = ctf2_need(p, j, key, J_OBJECT), *origin = ctf2_get(p, l, "origin", J_STRING),
			       *path = ctf2_need(p, l, "path", J_ARRAY);
	struct ctf_location *loc = WW_ARENA_NEW(&p->m->mem, struct ctf_location);
	const char *text = "";

	if (p->failed)
		return;
	for (loc->origin = CTF_SCOPES - 1; origin && loc->origin >= 0; loc->origin--)
		if (!strcmp(origin->s, origins[loc->origin]))
			break;
	if (!origin)
		loc->origin = -1;
	else if (loc->origin < 0)
		ctf2_fail(p, origin->off, WW_ECORRUPT, "no place is called '%.60s'", origin->s);
	if (!path->n || path->n > 4 * CTF_MAX_DEPTH) {
		ctf2_fail(p, path->off, WW_ECORRUPT, "a path of %u steps", path->n);
		return;
	}
	loc->path = WW_ARENA_ARRAY(&p->m->mem, const char *, path->n);
	for (const struct ctf2_json *s = path->first; s; s = s->next) {
		if (s->kind != J_STRING && (s->kind != J_NULL || !s->next)) {
			ctf2_fail(p, s->off, WW_ECORRUPT, "a step of a path is a name, or null before another one");
			return;
		}
		loc->path[loc->npath++] = s->kind == J_STRING ? s->s : NULL;
		text = ww_arena_printf(&p->m->mem, "%s%s%.100s", text, *text ? "." : "", s->kind == J_STRING ? s->s : "^");
	}
	t->loc = loc;
	t->ref = origin ? ww_arena_printf(&p->m->mem, "%s:%s", origin->s, text) : text;
}

/* ---- strings, blobs, arrays ---- */

static uint8_t read_encoding(struct ctf2 *p, const struct ctf2_json *j)
{
	static const char *const names[] = {[CTF_UTF8] = "utf-8", [CTF_UTF16LE] = "utf-16le", [CTF_UTF16BE] = "utf-16be",
					    [CTF_UTF32LE] = "utf-32le", [CTF_UTF32BE] = "utf-32be"};
	const char *s = ctf2_string(p, j, "encoding", "utf-8");

	for (uint8_t i = 0; i < WW_ARRAY_SIZE(names); i++)
		if (!strcmp(s, names[i])) {
			p->m->converts |= i != CTF_UTF8;
			return i;
		}
	ctf2_fail(p, j->off, WW_ECORRUPT, "'%.60s' is no encoding", s);
	return CTF_UTF8;
}

enum elements { E_STRING, E_STATIC_STRING, E_DYNAMIC_STRING, E_STATIC_BLOB, E_DYNAMIC_BLOB, E_STATIC_ARRAY, E_DYNAMIC_ARRAY };

static void read_length(struct ctf2 *p, const struct ctf2_json *j, struct ctf_type *t)
{
	if (t->kind == CTF_SEQUENCE) {
		read_location(p, j, "length-field-location", t);
		return;
	}
	if (ctf2_need(p, j, "length", J_INT))
		t->length = ctf2_unsigned(p, j, "length", 0);
	if (t->length > UINT32_MAX)
		ctf2_fail(p, j->off, WW_ELIMIT, "a `length` of over 2^32");
}

static struct ctf_type *string_type(struct ctf2 *p, const struct ctf2_json *j, int which)
{
	struct ctf_type *t;

	if (which == E_STRING) {
		t = type_new(p, CTF_STRING, j);
		t->align = 8;
		t->enc = read_encoding(p, j);
		return t;
	}
	t = type_new(p, which == E_STATIC_STRING || which == E_STATIC_BLOB ? CTF_ARRAY : CTF_SEQUENCE, j);
	t->elem = type_new(p, CTF_INT, j);
	t->elem->size = 8;
	t->elem->align = 8;
	t->elem->order = CTF_LE;
	t->align = 8;
	t->depth = 2;
	t->is_blob = which == E_STATIC_BLOB || which == E_DYNAMIC_BLOB;
	t->elem->is_text = !t->is_blob;
	if (!t->is_blob)
		t->enc = read_encoding(p, j);
	read_length(p, j, t);
	if (which == E_STATIC_BLOB)
		read_roles(p, j, t);
	else if (t->length % ctf_text_unit(t->enc))
		ctf2_fail(p, j->off, WW_ECORRUPT, "%" PRIu64 " bytes are no whole number of characters", t->length);
	return t;
}

static void set_depth(struct ctf2 *p, struct ctf_type *t, const struct ctf_type *child)
{
	if (!child)
		return;
	if (child->depth + 1u > CTF_MAX_DEPTH)
		ctf2_fail(p, t->off, WW_ELIMIT, "field classes are nested over %u deep", CTF_MAX_DEPTH);
	else
		t->depth = WW_MAX(t->depth, (uint8_t)(child->depth + 1));
}

static struct ctf_type *member_type(struct ctf2 *p, const struct ctf2_json *o, const char *key, unsigned depth)
{
	const struct ctf2_json *j = p->failed ? NULL : ctf2_find(o, key);

	if (!j && !p->failed)
		ctf2_fail(p, o->off, WW_ECORRUPT, "`%s` is missing", key);
	return ctf2_type(p, j, depth + 1);
}

static struct ctf_type *array_type(struct ctf2 *p, const struct ctf2_json *j, int which, unsigned depth)
{
	struct ctf_type *t = type_new(p, which == E_STATIC_ARRAY ? CTF_ARRAY : CTF_SEQUENCE, j);

	read_align(p, j, "minimum-alignment", t);
	read_length(p, j, t);
	t->elem = member_type(p, j, "element-field-class", depth);
	set_depth(p, t, t->elem);
	return t;
}

/* ---- structures, options ---- */

static void add_field(struct ctf2 *p, struct ctf_type *t, const char *name, struct ctf_type *f)
{
	if (!f)
		return;
	t->fields[t->nfields++] = (struct ctf_field){name, name, f};
	set_depth(p, t, f);
}

static struct ctf_type *struct_type(struct ctf2 *p, const struct ctf2_json *j, unsigned depth)
{
	struct ctf_type *t = type_new(p, CTF_STRUCT, j);
	const struct ctf2_json *a = ctf2_get(p, j, "member-classes", J_ARRAY);

	read_align(p, j, "minimum-alignment", t);
	t->fields = WW_ARENA_ARRAY(&p->m->mem, struct ctf_field, a ? a->n + 1 : 1);
	for (const struct ctf2_json *c = a ? a->first : NULL; c && !p->failed; c = c->next) {
		const struct ctf2_json *name = ctf2_need(p, c, "name", J_STRING);
		if (c->kind != J_OBJECT)
			ctf2_fail(p, c->off, WW_ECORRUPT, "a member class is an object");
		ctf2_no_extensions(p, c);
		if (name)
			add_field(p, t, name->s, member_type(p, c, "field-class", depth));
	}
	return t;
}

static void read_choices(struct ctf2 *p, const struct ctf2_json *set, struct ctf_type *t, uint32_t field)
{
	if (!range_set(p, set, "selector-field-ranges"))
		return;
	struct ctf_choice *all = WW_ARENA_ARRAY(&p->m->mem, struct ctf_choice, t->nchoices + set->n);
	if (t->nchoices)
		memcpy(all, t->choices, t->nchoices * sizeof(*all));
	t->choices = all;
	for (const struct ctf2_json *r = set->first; r; r = r->next) {
		if (!range(p, r, &t->choices[t->nchoices]))
			return;
		t->choices[t->nchoices++].field = field;
	}
}

static struct ctf_type *optional_type(struct ctf2 *p, const struct ctf2_json *j, unsigned depth)
{
	struct ctf_type *t = type_new(p, CTF_OPTIONAL, j);

	t->fields = WW_ARENA_NEW(&p->m->mem, struct ctf_field);
	read_location(p, j, "selector-field-location", t);
	read_choices(p, ctf2_find(j, "selector-field-ranges"), t, 0);
	add_field(p, t, "", member_type(p, j, "field-class", depth));
	return t;
}

static struct ctf_type *variant_type(struct ctf2 *p, const struct ctf2_json *j, unsigned depth)
{
	struct ctf_type *t = type_new(p, CTF_VARIANT, j);
	const struct ctf2_json *a = ctf2_need(p, j, "options", J_ARRAY);

	read_location(p, j, "selector-field-location", t);
	if (a && (!a->n || a->n > 4096))
		ctf2_fail(p, a->off, a->n ? WW_ELIMIT : WW_ECORRUPT, "a variant of %u options", a->n);
	if (p->failed)
		return NULL;
	t->fields = WW_ARENA_ARRAY(&p->m->mem, struct ctf_field, a->n);
	for (const struct ctf2_json *c = a->first; c && !p->failed; c = c->next) {
		const char *name = ctf2_string(p, c, "name", NULL);
		if (c->kind != J_OBJECT)
			ctf2_fail(p, c->off, WW_ECORRUPT, "an option is an object");
		ctf2_no_extensions(p, c);
		read_choices(p, ctf2_need(p, c, "selector-field-ranges", J_ARRAY), t, t->nfields);
		/* An option needs no name; a step of a path does. */
		add_field(p, t, name ? name : ww_arena_printf(&p->m->mem, "%u", t->nfields),
			  member_type(p, c, "field-class", depth));
	}
	return t;
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	char group; /* 'b' bits, 'v' variable length, 's' strings and blobs, 'a' arrays, or itself */
	int which;
} classes[] = {
	{"fixed-length-bit-array", 'b', B_ARRAY},
	{"fixed-length-bit-map", 'b', B_MAP},
	{"fixed-length-boolean", 'b', B_BOOL},
	{"fixed-length-unsigned-integer", 'b', B_UNSIGNED},
	{"fixed-length-signed-integer", 'b', B_SIGNED},
	{"fixed-length-floating-point-number", 'b', B_FLOAT},
	{"variable-length-unsigned-integer", 'v', B_VAR_UNSIGNED},
	{"variable-length-signed-integer", 'v', B_VAR_SIGNED},
	{"null-terminated-string", 's', E_STRING},
	{"static-length-string", 's', E_STATIC_STRING},
	{"dynamic-length-string", 's', E_DYNAMIC_STRING},
	{"static-length-blob", 's', E_STATIC_BLOB},
	{"dynamic-length-blob", 's', E_DYNAMIC_BLOB},
	{"static-length-array", 'a', E_STATIC_ARRAY},
	{"dynamic-length-array", 'a', E_DYNAMIC_ARRAY},
	{"structure", 'S', 0},
	{"optional", 'O', 0},
	{"variant", 'V', 0},
};

static const struct ctf2_alias *find_alias(const struct ctf2 *p, const char *name)
{
	for (size_t i = p->aliases.n; i-- > 0;)
		if (!strcmp(p->aliases.v[i].name, name))
			return &p->aliases.v[i];
	return NULL;
}

static struct ctf_type *use_alias(struct ctf2 *p, const struct ctf2_json *j, unsigned depth)
{
	const struct ctf2_alias *a = find_alias(p, j->s);

	if (!a)
		ctf2_fail(p, j->off, WW_ECORRUPT, "no field class is called '%.60s' here", j->s);
	else if (a->type->depth + depth > CTF_MAX_DEPTH)
		ctf2_fail(p, j->off, WW_ELIMIT, "field classes are nested over %u deep", CTF_MAX_DEPTH);
	if (p->failed)
		return NULL;
	struct ctf_type *t = ctf_type_copy(p->m, a->type);
	if (!t)
		ctf2_fail(p, j->off, WW_ELIMIT, "over %u field classes", CTF_MAX_NODES);
	return t;
}

struct ctf_type *ctf2_type(struct ctf2 *p, const struct ctf2_json *j, unsigned depth)
{
	struct ctf_type *t = NULL;

	if (p->failed || !j)
		return NULL;
	if (depth > CTF_MAX_DEPTH)
		ctf2_fail(p, j->off, WW_ELIMIT, "field classes are nested over %u deep", CTF_MAX_DEPTH);
	if (j->kind == J_STRING)
		return use_alias(p, j, depth);
	if (j->kind != J_OBJECT)
		ctf2_fail(p, j->off, WW_ECORRUPT, "a field class is an object, or an alias's name");
	const struct ctf2_json *type = ctf2_need(p, j, "type", J_STRING);
	ctf2_no_extensions(p, j);
	size_t i = 0;
	while (type && i < WW_ARRAY_SIZE(classes) && strcmp(classes[i].name, type->s))
		i++;
	if (type && i == WW_ARRAY_SIZE(classes))
		ctf2_fail(p, type->off, WW_EUNSUPPORTED, "a field class of type '%.60s' is not known", type->s);
	if (p->failed)
		return NULL;
	switch (classes[i].group) {
	case 'b':
		t = bits_type(p, j, classes[i].which);
		break;
	case 'v':
		t = varint_type(p, j, classes[i].which);
		break;
	case 's':
		t = string_type(p, j, classes[i].which);
		break;
	case 'a':
		t = array_type(p, j, classes[i].which, depth);
		break;
	case 'S':
		t = struct_type(p, j, depth);
		break;
	case 'O':
		t = optional_type(p, j, depth);
		break;
	case 'V':
		t = variant_type(p, j, depth);
		break;
	}
	return p->failed ? NULL : t;
}

void ctf2_alias_add(struct ctf2 *p, const struct ctf2_json *fragment)
{
	const struct ctf2_json *name = ctf2_need(p, fragment, "name", J_STRING);
	const struct ctf_type *t = name ? member_type(p, fragment, "field-class", 0) : NULL;

	if (!t || p->failed)
		return;
	if (find_alias(p, name->s))
		ctf2_fail(p, name->off, WW_ECORRUPT, "a second field class is called '%.60s'", name->s);
	else if (p->aliases.n >= CTF_MAX_ALIASES)
		ctf2_fail(p, name->off, WW_ELIMIT, "over %u names of field classes", CTF_MAX_ALIASES);
	else
		*ww_vec_push(&p->aliases) = (struct ctf2_alias){name->s, t};
}
