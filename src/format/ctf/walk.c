/* walk.c - the decoder that visits every field. */
#include "format/ctf/decode.h"

int ctf_decode_fail(struct ctf_cursor *c, int code, const char *why)
{
	if (!c->rc) {
		c->rc = -code;
		c->why = why;
		c->bad_pos = c->pos;
	}
	return c->rc;
}

int64_t ctf_variant_choice(const struct ctf_type *t, uint64_t tag)
{
	for (uint32_t i = 0; i < t->nchoices; i++) {
		const struct ctf_choice *k = &t->choices[i];
		if (t->tag_signed ? (int64_t)tag >= (int64_t)k->lo && (int64_t)tag <= (int64_t)k->hi :
				    tag >= k->lo && tag <= k->hi)
			return k->field;
	}
	return -1;
}

static int align_to(struct ctf_cursor *c, uint32_t align)
{
	uint64_t pos = (c->pos + align - 1) & ~(uint64_t)(align - 1);

	if (pos > c->end)
		return ctf_decode_fail(c, WW_ETRUNC, "an event goes past the end of its packet");
	c->pos = pos;
	return 0;
}

static bool take(struct ctf_cursor *c, uint64_t bits)
{
	if (WW_LIKELY(bits <= c->end - c->pos))
		return true;
	ctf_decode_fail(c, WW_ETRUNC, "an event goes past the end of its packet");
	return false;
}

static const char *enum_label(const struct ctf_type *t, uint64_t v)
{
	for (uint32_t i = 0; i < t->nmaps; i++) {
		const struct ctf_map *m = &t->maps[i];
		if (t->is_signed ? (int64_t)v >= (int64_t)m->lo && (int64_t)v <= (int64_t)m->hi :
				   v >= m->lo && v <= m->hi)
			return m->label;
	}
	return NULL;
}

/* Names of the bits that are set, "read|write", as many as fit. */
static const char *flags_label(const struct ctf_type *t, uint64_t v, char *buf, size_t size)
{
	size_t n = 0;
	const char *last = NULL;

	buf[0] = 0;
	for (uint32_t i = 0; i < t->nmaps; i++) {
		const struct ctf_map *m = &t->maps[i];
		uint64_t mask = (m->hi < 63 ? ((uint64_t)2 << m->hi) - 1 : UINT64_MAX) & ~(((uint64_t)1 << m->lo) - 1);
		size_t len = strlen(m->label);
		if (!(v & mask) || m->label == last || n + len + 2 > size)
			continue;
		if (n)
			buf[n++] = '|';
		memcpy(buf + n, m->label, len + 1);
		n += len;
		last = m->label; /* all ranges of a flag have the one string */
	}
	return n ? buf : NULL;
}

uint64_t ctf_number_value(const struct ctf_type *t, uint64_t raw)
{
	if (t->reversed)
		raw = ctf_bits_reverse(raw, t->size);
	if (t->is_bool)
		return raw != 0;
	return t->is_signed ? ctf_bits_extend(raw, t->size) : raw;
}

static double half_value(uint16_t h)
{
	int exp = h >> 10 & 31;
	double m = h & 0x3ff, v;

	if (exp == 31)
		v = m ? __builtin_nan("") : __builtin_inf();
	else /* 2^-24 is the last bit of a number without exponent */
		v = (exp ? m + 1024 : m) * (double)((uint64_t)1 << (exp ? exp - 1 : 0)) / 16777216.0;
	return h >> 15 ? -v : v;
}

double ctf_float_value(const struct ctf_type *t, uint64_t raw)
{
	uint32_t u;
	float f;
	double d;

	if (t->reversed)
		raw = ctf_bits_reverse(raw, t->size);
	u = (uint32_t)raw;
	memcpy(&f, &u, 4);
	memcpy(&d, &raw, 8);
	return t->size == 16 ? half_value((uint16_t)raw) : t->size == 32 ? (double)f : d;
}

static int walk_number(struct ctf_cursor *c, const struct ctf_type *t, const char *name,
		       const struct ww_visitor *vis, void *ctx)
{
	struct ww_value v = {.len = t->size};
	char flags[256];
	unsigned bits;

	if (t->kind == CTF_VARINT) {
		if (ctf_varint_get(c, t->is_signed, &v.u, &bits))
			return c->rc;
		v.len = 64;
	} else {
		if (!take(c, t->size))
			return c->rc;
		v.u = ctf_bits_get(c->base, c->pos, t->size, t->order == CTF_BE);
		c->pos += t->size;
		if (t->kind == CTF_FLOAT)
			v.f = ctf_float_value(t, v.u);
		else
			v.u = ctf_number_value(t, v.u);
	}
	v.kind = t->kind == CTF_FLOAT ? WW_V_FLOAT : t->is_signed ? WW_V_INT : WW_V_UINT;
	if (t->slot != CTF_NO_SLOT)
		c->slots[t->slot] = v.u;
	if (vis)
		vis->value(ctx, name, &v, t->is_flags ? flags_label(t, v.u, flags, sizeof(flags)) :
			   t->is_bool ? v.u ? "true" : "false" : enum_label(t, v.u), t->base);
	return 0;
}

int ctf_varint_get(struct ctf_cursor *c, bool is_signed, uint64_t *ret, unsigned *ret_bits)
{
	const uint8_t *p = c->base + c->pos / 8;
	uint64_t left = (c->end - c->pos) / 8, v = 0;
	unsigned n = 0, shift = 0;

	for (;; n++, shift += 7) {
		if (n >= left)
			return ctf_decode_fail(c, WW_ETRUNC, "an integer of variable length has no end in its packet");
		if (shift < 64)
			v |= (uint64_t)(p[n] & 0x7f) << shift;
		/* What goes past bit 63 may only repeat the sign. */
		uint8_t over = shift == 63 ? (uint8_t)((p[n] & 0x7f) >> 1) : shift > 63 ? p[n] & 0x7f : 0;
		uint8_t want = is_signed && v >> 63 ? shift == 63 ? 0x3f : 0x7f : 0;
		if (shift >= 63 && over != want)
			return ctf_decode_fail(c, WW_EUNSUPPORTED, "an integer of variable length is over 64 bits");
		if (!(p[n] & 0x80))
			break;
	}
	if (is_signed && shift + 7 < 64)
		v = ctf_bits_extend(v, shift + 7);
	c->pos += ((uint64_t)n + 1) * 8;
	*ret = v;
	*ret_bits = (n + 1) * 7;
	return 0;
}

void ctf_slots_forget(const struct ctf_type *t, uint64_t *slots)
{
	if (!t->has_slot)
		return;
	if (t->slot != CTF_NO_SLOT)
		slots[t->slot] = UINT64_MAX;
	if (t->elem)
		ctf_slots_forget(t->elem, slots);
	for (uint32_t i = 0; i < t->nfields; i++)
		ctf_slots_forget(t->fields[i].type, slots);
}

/* Tells a string that stands in UTF-16 or UTF-32. */
static void tell_converted(uint8_t enc, const uint8_t *p, uint64_t nbytes, const char *name, const struct ww_visitor *vis,
			   void *ctx)
{
	struct ww_arena mem;

	ww_arena_init(&mem);
	struct ww_value v = ctf_text_convert(&mem, enc, p, nbytes);
	vis->value(ctx, name, &v, NULL, 10);
	ww_arena_release(&mem);
}

static int walk_string(struct ctf_cursor *c, const struct ctf_type *t, const char *name, const struct ww_visitor *vis,
		       void *ctx)
{
	const uint8_t *p = c->base + c->pos / 8;
	uint64_t n = ctf_text_length(t->enc, p, (c->end - c->pos) / 8);

	if (n == UINT64_MAX)
		return ctf_decode_fail(c, WW_ETRUNC, "a string has no end in its packet");
	c->pos += (n + ctf_text_unit(t->enc)) * 8;
	if (vis && t->enc != CTF_UTF8) {
		tell_converted(t->enc, p, n, name, vis, ctx);
	} else if (vis) {
		struct ww_value v = {.p = (const char *)p, .len = (uint32_t)n, .kind = WW_V_STR};
		vis->value(ctx, name, &v, NULL, 10);
	}
	return 0;
}

/* An array of bytes that is one value: text or a blob. */
static void walk_bytes(struct ctf_cursor *c, const struct ctf_type *t, uint64_t n, const char *name,
		       const struct ww_visitor *vis, void *ctx)
{
	const char *p = (const char *)c->base + c->pos / 8;
	bool text = t->elem->is_text;

	c->pos += n * 8;
	if (!vis)
		return;
	if (text && t->enc != CTF_UTF8) {
		tell_converted(t->enc, (const uint8_t *)p, n, name, vis, ctx);
		return;
	}
	struct ww_value v = {.p = p, .len = (uint32_t)(text ? strnlen(p, n) : n), .kind = text ? WW_V_STR : WW_V_BYTES};
	vis->value(ctx, name, &v, NULL, 10);
}

static int walk_elements(struct ctf_cursor *c, const struct ctf_type *t, const char *name,
			 const struct ww_visitor *vis, void *ctx)
{
	const struct ctf_type *e = t->elem;
	uint64_t n = t->kind == CTF_ARRAY ? t->length : c->slots[t->ref_slot];
	int rc = 0;

	/* Elements without bits do not move the cursor; the budget ends those. */
	if (e->fixed && e->bits && n > (c->end - c->pos) / e->bits)
		return ctf_decode_fail(c, WW_ETRUNC, "an array goes past the end of its packet");
	if (e->kind == CTF_INT && e->size == 8 && (e->is_text || t->is_blob) && c->pos % 8 == 0 && e->align <= 8) {
		walk_bytes(c, t, n, name, vis, ctx);
		return 0;
	}
	if (vis)
		vis->begin(ctx, name, true);
	else if (e->fixed && !e->has_slot && e->bits && e->bits % e->align == 0)
		return c->pos += n * e->bits, 0;
	for (uint64_t i = 0; i < n && !rc; i++) {
		if (!c->budget)
			return ctf_decode_fail(c, WW_ELIMIT, "arrays with more elements than the packet has bits");
		c->budget--;
		rc = ctf_walk(c, e, NULL, vis, ctx);
	}
	if (vis)
		vis->end(ctx);
	return rc;
}

static int walk_members(struct ctf_cursor *c, const struct ctf_type *t, const char *name,
			const struct ww_visitor *vis, void *ctx)
{
	int rc = 0;

	if (vis)
		vis->begin(ctx, name, false);
	for (uint32_t i = 0; i < t->nfields && !rc; i++)
		rc = ctf_walk(c, t->fields[i].type, t->fields[i].name, vis, ctx);
	if (vis)
		vis->end(ctx);
	return rc;
}

int ctf_walk(struct ctf_cursor *c, const struct ctf_type *t, const char *name, const struct ww_visitor *vis, void *ctx)
{
	int64_t option;

	if (t->kind != CTF_VARIANT && t->kind != CTF_OPTIONAL && align_to(c, t->align))
		return c->rc;
	switch (t->kind) {
	case CTF_INT:
	case CTF_ENUM:
	case CTF_FLOAT:
	case CTF_VARINT:
		return walk_number(c, t, name, vis, ctx);
	case CTF_STRING:
		return walk_string(c, t, name, vis, ctx);
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		return walk_elements(c, t, name, vis, ctx);
	case CTF_STRUCT:
		return walk_members(c, t, name, vis, ctx);
	}
	option = ctf_variant_choice(t, c->slots[t->ref_slot]);
	ctf_slots_forget(t, c->slots);
	if (t->kind == CTF_OPTIONAL)
		return option < 0 ? 0 : ctf_walk(c, t->fields[0].type, name, vis, ctx);
	if (option < 0)
		return ctf_decode_fail(c, WW_ECORRUPT, "a variant's tag names none of its options");
	/* The choice stands in a structure of its own: { "ipv4": { ... } }. */
	if (vis)
		vis->begin(ctx, name, false);
	int rc = ctf_walk(c, t->fields[option].type, t->fields[option].name, vis, ctx);
	if (vis)
		vis->end(ctx);
	return rc;
}
