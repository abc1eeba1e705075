/* plan_run.c - runs a plan over a scope's bytes, op by op. */
#include "format/ctf/plan_private.h"

static inline void put_int(const struct op *o, struct ctf_cursor *c, uint64_t x, unsigned bits)
{
	if (o->slot != CTF_NO_SLOT)
		c->slots[o->slot] = x;
	if (o->dst != NO_DST) {
		c->v[o->dst].u = x;
		c->v[o->dst].len = o->size;
		c->v[o->dst].kind = o->is_signed ? WW_V_INT : WW_V_UINT;
	}
	for (uint32_t left = o->roles; left; left &= left - 1) {
		unsigned role = (unsigned)__builtin_ctz(left);
		c->role[role] = x;
		c->role_size[role] = (uint8_t)bits;
		c->role_seen |= 1u << role;
	}
}

static inline uint64_t extend(const struct op *o, uint64_t x)
{
	return o->is_signed ? ctf_bits_extend(x, o->size) : x;
}

static inline void put_ptr(const struct op *o, struct ctf_cursor *c, const void *p, uint64_t len, uint8_t kind)
{
	if (o->dst == NO_DST)
		return;
	c->v[o->dst].p = p;
	c->v[o->dst].len = (uint32_t)WW_MIN(len, UINT32_MAX);
	c->v[o->dst].kind = kind;
}

static void run_float(const struct op *o, struct ctf_cursor *c, uint64_t seg)
{
	if (o->dst == NO_DST)
		return;
	c->v[o->dst].f = ctf_float_value(o->type, ctf_bits_get(c->base, seg + o->off, o->size, o->be));
	c->v[o->dst].kind = WW_V_FLOAT;
}

static void put_converted(const struct op *o, struct ctf_cursor *c, const uint8_t *p, uint64_t nbytes)
{
	if (o->dst != NO_DST)
		c->v[o->dst] = ctf_text_convert(c->text, o->type->enc, p, nbytes);
}

static int run_varint(const struct op *o, struct ctf_cursor *c)
{
	uint64_t x;
	unsigned bits;

	if (o->n) {
		c->v[o->dst] = c->v[o[-1].dst];
		return 0;
	}
	if (ctf_varint_get(c, o->is_signed, &x, &bits))
		return c->rc;
	put_int(o, c, x, WW_MIN(bits, 64));
	return 0;
}

static int run_sequence(const struct op *o, struct ctf_cursor *c)
{
	const struct ctf_type *e = o->type->elem;
	uint64_t n = c->slots[o->slot], bits;
	const uint8_t *p = c->base + c->pos / 8;
	bool bytes = ctf_is_byte(e) && c->pos % 8 == 0;

	if (__builtin_mul_overflow(n, o->n, &bits) || bits > c->end - c->pos)
		return ctf_decode_fail(c, WW_ETRUNC, "a sequence goes past the end of its packet");
	if (o->n)
		c->pos += bits;
	else if (bytes)
		p -= n; /* a second want of the same sequence */
	if (bytes && o->type->enc != CTF_UTF8)
		put_converted(o, c, p, n);
	else if (bytes)
		put_ptr(o, c, p, e->is_text ? strnlen((const char *)p, n) : n, e->is_text ? WW_V_STR : WW_V_BYTES);
	else
		put_ptr(o, c, NULL, n, WW_V_ARRAY);
	return 0;
}

static int run_string(const struct op *o, const struct op *prev, struct ctf_cursor *c)
{
	if (o->n) {
		c->v[o->dst] = c->v[prev->dst];
		return 0;
	}
	const uint8_t *p = c->base + c->pos / 8;
	uint64_t n = ctf_text_length(o->type->enc, p, (c->end - c->pos) / 8);
	if (n == UINT64_MAX)
		return ctf_decode_fail(c, WW_ETRUNC, "a string has no end in its packet");
	if (o->type->enc == CTF_UTF8)
		put_ptr(o, c, p, n, WW_V_STR);
	else
		put_converted(o, c, p, n);
	c->pos += (n + ctf_text_unit(o->type->enc)) * 8;
	return 0;
}

/* An integer of the host's byte order as a value; ends its case. */
#define PUT(type, member, value_kind)                                                           \
	{                                                                                       \
		type x;                                                                         \
		memcpy(&x, c->base + ((seg + o->off) >> 3), sizeof(x));                         \
		c->v[o->dst] = (struct ww_value){.member = x, .len = sizeof(x) * 8, .kind = value_kind}; \
	}                                                                                       \
	break

int ctf_plan_run(const struct ctf_plan *p, struct ctf_cursor *c)
{
	const struct op *o = p->ops;
	uint64_t seg = c->pos, pos;
	int64_t option;

	for (uint32_t i = 0; i < p->nnone; i++)
		c->v[p->none[i]].kind = WW_V_NONE;
	for (;; o++) {
		switch (o->code) {
		case OP_END:
			return 0;
		case OP_SEG:
			seg = c->pos;
			if (WW_UNLIKELY(o->n > c->end - seg))
				return ctf_decode_fail(c, WW_ETRUNC, "an event goes past the end of its packet");
			c->pos = seg + o->n;
			break;
		case OP_ALIGN:
			pos = (c->pos + o->n - 1) & ~(o->n - 1);
			if (WW_UNLIKELY(pos > c->end))
				return ctf_decode_fail(c, WW_ETRUNC, "an event goes past the end of its packet");
			c->pos = pos;
			break;
		case OP_BYTES_INT:
			put_int(o, c, extend(o, ctf_bits_bytes(c->base + ((seg + o->off) >> 3), o->size, o->be)), o->size);
			break;
		case OP_U8: PUT(uint8_t, u, WW_V_UINT);
		case OP_U16: PUT(uint16_t, u, WW_V_UINT);
		case OP_U32: PUT(uint32_t, u, WW_V_UINT);
		case OP_U64: PUT(uint64_t, u, WW_V_UINT);
		case OP_I8: PUT(int8_t, i, WW_V_INT);
		case OP_I16: PUT(int16_t, i, WW_V_INT);
		case OP_I32: PUT(int32_t, i, WW_V_INT);
		case OP_I64: PUT(int64_t, i, WW_V_INT);
		case OP_INT:
			put_int(o, c, extend(o, ctf_bits_get(c->base, seg + o->off, o->size, o->be)), o->size);
			break;
		case OP_INT_ODD:
			put_int(o, c, ctf_number_value(o->type, ctf_bits_get(c->base, seg + o->off, o->size, o->be)), o->size);
			break;
		case OP_VARINT:
			if (WW_UNLIKELY(run_varint(o, c)))
				return c->rc;
			break;
		case OP_FLOAT:
			run_float(o, c, seg);
			break;
		case OP_TEXT: {
			const char *s = (const char *)c->base + (seg + o->off) / 8;
			put_ptr(o, c, s, strnlen(s, o->n), WW_V_STR);
			break;
		}
		case OP_WTEXT:
			put_converted(o, c, c->base + (seg + o->off) / 8, o->n);
			break;
		case OP_BLOB:
			if (o->roles) {
				c->role[CTF_R_UUID] = (seg + o->off) / 8;
				c->role_seen |= 1u << CTF_R_UUID;
			}
			put_ptr(o, c, c->base + (seg + o->off) / 8, o->n, WW_V_BYTES);
			break;
		case OP_COUNT:
			put_ptr(o, c, NULL, o->n, WW_V_ARRAY);
			break;
		case OP_STRING:
			if (WW_UNLIKELY(run_string(o, o - 1, c)))
				return c->rc;
			break;
		case OP_SEQ:
			if (WW_UNLIKELY(run_sequence(o, c)))
				return c->rc;
			break;
		case OP_WALK:
			if (ctf_walk(c, o->type, NULL, NULL, NULL))
				return c->rc;
			break;
		case OP_VARIANT:
			option = ctf_variant_choice(o->type, c->slots[o->slot]);
			for (uint64_t i = 0; i < o->n; i++)
				c->slots[p->jumps[o->off + o->type->nfields + 1 + i]] = UINT64_MAX;
			if (option < 0 && o->type->kind == CTF_OPTIONAL)
				option = 1;
			if (WW_UNLIKELY(option < 0))
				return ctf_decode_fail(c, WW_ECORRUPT, "a variant's tag names none of its options");
			o = p->ops + p->jumps[o->off + option] - 1;
			break;
		case OP_JUMP:
			o = p->ops + o->off - 1;
			break;
		}
	}
}
