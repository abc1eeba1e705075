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

static int walk_number(struct ctf_cursor *c, const struct ctf_type *t, const char *name,
		       const struct ww_visitor *vis, void *ctx)
{
	struct ww_value v = {0};

	if (!take(c, t->size))
		return c->rc;
	v.u = ctf_bits_get(c->base, c->pos, t->size, t->order == CTF_BE);
	v.len = t->size;
	c->pos += t->size;
	if (t->kind == CTF_FLOAT) {
		v.kind = WW_V_FLOAT;
		if (t->size == 32) {
			uint32_t u = (uint32_t)v.u;
			float f;
			memcpy(&f, &u, 4);
			v.f = (double)f;
		}
	} else {
		if (t->is_signed)
			v.u = ctf_bits_extend(v.u, t->size);
		v.kind = t->is_signed ? WW_V_INT : WW_V_UINT;
		if (t->slot != CTF_NO_SLOT)
			c->slots[t->slot] = v.u;
	}
	if (vis)
		vis->value(ctx, name, &v, t->kind == CTF_ENUM ? enum_label(t, v.u) : NULL, t->base);
	return 0;
}

static int walk_string(struct ctf_cursor *c, const char *name, const struct ww_visitor *vis, void *ctx)
{
	const uint8_t *p = c->base + c->pos / 8, *e = memchr(p, 0, (c->end - c->pos) / 8);

	if (!e)
		return ctf_decode_fail(c, WW_ETRUNC, "a string has no end in its packet");
	c->pos += ((uint64_t)(e - p) + 1) * 8;
	if (vis) {
		struct ww_value v = {.p = (const char *)p, .len = (uint32_t)(e - p), .kind = WW_V_STR};
		vis->value(ctx, name, &v, NULL, 10);
	}
	return 0;
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
	if (e->kind == CTF_INT && e->size == 8 && e->is_text && c->pos % 8 == 0 && e->align <= 8) {
		const char *p = (const char *)c->base + c->pos / 8;
		c->pos += n * 8;
		if (vis) {
			struct ww_value v = {.p = p, .len = (uint32_t)strnlen(p, n), .kind = WW_V_STR};
			vis->value(ctx, name, &v, NULL, 10);
		}
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

	if (t->kind != CTF_VARIANT && align_to(c, t->align))
		return c->rc;
	switch (t->kind) {
	case CTF_INT:
	case CTF_ENUM:
	case CTF_FLOAT:
		return walk_number(c, t, name, vis, ctx);
	case CTF_STRING:
		return walk_string(c, name, vis, ctx);
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		return walk_elements(c, t, name, vis, ctx);
	case CTF_STRUCT:
		return walk_members(c, t, name, vis, ctx);
	}
	option = ctf_variant_choice(t, c->slots[t->ref_slot]);
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
