/* tsdl_type.c - the basic types of TSDL: integer, floating_point, string, enum. */
#include "format/ctf/tsdl.h"

static bool value_bool(struct tsdl *p, const struct tsdl_value *v)
{
	if (v->is_int)
		return v->u != 0;
	if (!strcmp(v->s, "true") || !strcmp(v->s, "TRUE"))
		return true;
	if (strcmp(v->s, "false") && strcmp(v->s, "FALSE"))
		tsdl_fail(p, WW_ECORRUPT, "'%s' is neither true nor false", v->s);
	return false;
}

static uint8_t value_order(struct tsdl *p, const struct tsdl_value *v)
{
	if (!strcmp(v->s, "le"))
		return CTF_LE;
	if (!strcmp(v->s, "be") || !strcmp(v->s, "network"))
		return CTF_BE;
	if (strcmp(v->s, "native"))
		tsdl_fail(p, WW_ECORRUPT, "'%s' is no byte order", v->s);
	return CTF_NATIVE;
}

static uint32_t value_align(struct tsdl *p, const struct tsdl_value *v)
{
	if (!v->is_int || !v->u || (v->u & (v->u - 1)) || v->u > CTF_MAX_ALIGN) {
		tsdl_fail(p, WW_ECORRUPT, "an alignment is a power of two up to %u", CTF_MAX_ALIGN);
		return 1;
	}
	return (uint32_t)v->u;
}

static uint8_t value_base(struct tsdl *p, const struct tsdl_value *v)
{
	static const struct {
		const char *name;
		uint8_t base;
	} names[] = {{"decimal", 10}, {"dec", 10}, {"d", 10}, {"i", 10}, {"u", 10}, {"hexadecimal", 16}, {"hex", 16},
		     {"x", 16},       {"X", 16},   {"p", 16}, {"octal", 8}, {"oct", 8}, {"o", 8},        {"binary", 2},
		     {"b", 2}};
	for (size_t i = 0; i < WW_ARRAY_SIZE(names); i++)
		if (v->is_int ? v->u == names[i].base : tsdl_same(v->s, names[i].name))
			return names[i].base;
	tsdl_fail(p, WW_ECORRUPT, "not a base of numbers");
	return 10;
}

static bool value_text(struct tsdl *p, const struct tsdl_value *v)
{
	if (!strcmp(v->s, "none"))
		return false;
	if (strcmp(v->s, "UTF8") && strcmp(v->s, "ASCII") && strcmp(v->s, "utf8") && strcmp(v->s, "ascii"))
		tsdl_fail(p, WW_ECORRUPT, "'%s' is no encoding", v->s);
	return true;
}

/* map = clock.NAME.value */
static const char *value_clock(struct tsdl *p, const struct tsdl_value *v)
{
	const char *s = v->s, *dot;

	if (strncmp(s, "clock.", 6) || !(dot = strchr(s + 6, '.')) || strcmp(dot, ".value")) {
		tsdl_fail(p, WW_ECORRUPT, "'%s' is not clock.NAME.value", s);
		return NULL;
	}
	return ww_arena_strndup(&p->m->mem, s + 6, (size_t)(dot - s) - 6);
}

/* The '{' is read. The same letters are the same tokens, whatever is around them. */
static const struct tsdl_integer_body *known_integer(const struct tsdl *p)
{
	const char *text = p->m->text;

	if (p->tok.kind != '{')
		return NULL;
	for (uint32_t i = 0; i < WW_MIN(p->nintegers, TSDL_INTEGER_BODIES); i++) {
		const struct tsdl_integer_body *b = &p->integers[i];

		if (b->len <= p->m->text_len - p->pos && !memcmp(text + b->at, text + p->pos, b->len))
			return b;
	}
	return NULL;
}

static void keep_integer(struct tsdl *p, size_t at, size_t end, const struct ctf_type *t)
{
	p->integers[p->nintegers++ % TSDL_INTEGER_BODIES] = (struct tsdl_integer_body){at, end - at, *t};
}

struct ctf_type *tsdl_integer(struct tsdl *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_INT);
	const struct tsdl_integer_body *known = known_integer(p);
	const size_t at = p->pos;
	uint64_t size = 0;
	uint32_t align = 0;

	if (known) {
		const uint32_t off = t->off;

		*t = known->type;
		t->off = off;
		p->pos += known->len;
		tsdl_next(p);
		return t;
	}
	tsdl_expect(p, '{');
	while (!p->failed && p->tok.kind != '}') {
		const char *key = tsdl_ident(p);
		tsdl_expect(p, '=');
		struct tsdl_value v = tsdl_value(p);
		tsdl_expect(p, ';');
		if (tsdl_same(key, "size"))
			size = v.is_int ? v.u : 0;
		else if (tsdl_same(key, "align"))
			align = value_align(p, &v);
		else if (tsdl_same(key, "signed"))
			t->is_signed = value_bool(p, &v);
		else if (tsdl_same(key, "byte_order"))
			t->order = value_order(p, &v);
		else if (tsdl_same(key, "base"))
			t->base = value_base(p, &v);
		else if (tsdl_same(key, "encoding"))
			t->is_text = value_text(p, &v);
		else if (tsdl_same(key, "map"))
			t->clock_name = value_clock(p, &v);
	}
	if (!p->failed && (size < 1 || size > 64))
		tsdl_fail(p, WW_ECORRUPT, "an integer of %" PRIu64 " bits; 1 to 64 are possible", size);
	const size_t end = p->pos;
	tsdl_expect(p, '}');
	t->size = (uint8_t)size;
	/* Without align: a byte when the size is in bytes, else a bit (section 4.1.2). */
	t->align = align ? align : size % 8 ? 1 : 8;
	if (!p->failed)
		keep_integer(p, at, end, t);
	return t;
}

struct ctf_type *tsdl_float(struct tsdl *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_FLOAT);
	uint64_t exp = 0, mant = 0;

	t->align = 1;
	tsdl_expect(p, '{');
	while (!p->failed && p->tok.kind != '}') {
		const char *key = tsdl_ident(p);
		tsdl_expect(p, '=');
		struct tsdl_value v = tsdl_value(p);
		tsdl_expect(p, ';');
		if (tsdl_same(key, "exp_dig"))
			exp = v.u;
		else if (tsdl_same(key, "mant_dig"))
			mant = v.u;
		else if (tsdl_same(key, "align"))
			t->align = value_align(p, &v);
		else if (tsdl_same(key, "byte_order"))
			t->order = value_order(p, &v);
	}
	if (!p->failed && !(exp == 5 && mant == 11) && !(exp == 8 && mant == 24) && !(exp == 11 && mant == 53))
		tsdl_fail(p, WW_EUNSUPPORTED,
			  "a float of %" PRIu64 " + %" PRIu64 " bits; 5 + 11, 8 + 24 and 11 + 53 are read", exp, mant);
	tsdl_expect(p, '}');
	t->size = exp == 5 ? 16 : exp == 8 ? 32 : 64;
	return t;
}

struct ctf_type *tsdl_string(struct tsdl *p)
{
	struct ctf_type *t = tsdl_new_type(p, CTF_STRING);

	t->align = 8;
	if (!tsdl_accept(p, '{'))
		return t;
	while (!p->failed && p->tok.kind != '}') {
		const char *key = tsdl_ident(p);
		tsdl_expect(p, '=');
		struct tsdl_value v = tsdl_value(p);
		tsdl_expect(p, ';');
		if (tsdl_same(key, "encoding"))
			(void)value_text(p, &v);
	}
	tsdl_expect(p, '}');
	return t;
}

/* NAME, NAME = 3, NAME = 3 ... 7, with names in quotes too. Without a value: the last one plus one. */
static void enumerators(struct tsdl *p, struct ctf_type *t)
{
	WW_VEC(struct ctf_map) maps = {0};
	uint64_t next = 0;

	tsdl_expect(p, '{');
	while (!p->failed && p->tok.kind != '}') {
		struct ctf_map m = {.label = p->tok.str, .lo = next, .hi = next};
		if (!tsdl_accept(p, T_STRING))
			tsdl_expect(p, T_IDENT);
		if (tsdl_accept(p, '=')) {
			struct tsdl_value v = tsdl_value(p);
			m.lo = m.hi = v.u;
			if (tsdl_accept(p, T_ELLIPSIS)) {
				struct tsdl_value h = tsdl_value(p);
				m.hi = h.u;
				v.is_int &= h.is_int;
			}
			if (!v.is_int)
				tsdl_fail(p, WW_ECORRUPT, "'%s' of an enumeration needs numbers", m.label);
		}
		if (t->is_signed ? (int64_t)m.lo > (int64_t)m.hi : m.lo > m.hi)
			tsdl_fail(p, WW_ECORRUPT, "the range of '%s' ends before it begins", m.label);
		next = m.hi + 1;
		*ww_vec_push(&maps) = m;
		if (!tsdl_accept(p, ','))
			break;
	}
	tsdl_expect(p, '}');
	t->maps = WW_ARENA_ARRAY(&p->m->mem, struct ctf_map, maps.n + 1);
	if (maps.n)
		memcpy(t->maps, maps.v, maps.n * sizeof(maps.v[0]));
	t->nmaps = (uint32_t)maps.n;
	ww_vec_free(&maps);
}

/* [: INTEGER] { enumerators }; `int` is the container when none is named. */
struct ctf_type *tsdl_enum(struct tsdl *p)
{
	struct ctf_type *t = NULL;

	if (tsdl_accept(p, ':')) {
		t = tsdl_type(p);
		if (t && t->kind != CTF_INT)
			tsdl_fail(p, WW_ECORRUPT, "an enumeration is stored in an integer");
	} else {
		t = tsdl_new_type(p, CTF_INT);
		t->size = 32;
		t->align = 8;
		t->is_signed = true;
	}
	if (!t || p->failed)
		return NULL;
	t->kind = CTF_ENUM;
	enumerators(p, t);
	return p->failed ? NULL : t;
}
