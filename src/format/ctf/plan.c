/* plan.c - compiles scopes into a plan, and runs it.
 *
 * Compiling follows the types in order and keeps track of what is known about the cursor's place. All
 * that has a fixed layout goes into one step ("segment"): its size is checked once, wanted integers are
 * read at fixed offsets in it, and what is not wanted costs nothing.
 *
 *   sched_switch of LTTng, wanting prev_tid, prev_state, next_tid:
 *     SEG 480 bits / INT at 128 -> v0 / INT at 192 -> v1 / INT at 384 -> v2 / END
 */
#include <stdio.h>

#include "base/vec.h"
#include "format/ctf/decode.h"

enum op_code {
	OP_END,
	OP_SEG,   /* n bits follow that are laid out here */
	OP_ALIGN, /* to n bits */
	OP_INT,   /* at off in the segment; any bit position */
	OP_BYTES_INT, /* the same, on a byte, 8/16/32/64 bits */
	OP_U8,    /* the same, little endian and for nothing but a value */
	OP_U16,
	OP_U32,
	OP_U64,
	OP_I8,
	OP_I16,
	OP_I32,
	OP_I64,
	OP_INT_ODD,   /* the same as OP_INT, with its bits reversed, or a boolean */
	OP_VARINT,    /* LEB128 at the cursor; n: a copy of the value before */
	OP_FLOAT,
	OP_WTEXT, /* n bytes of UTF-16 or UTF-32 at off in the segment */
	OP_TEXT,  /* n characters at off in the segment */
	OP_BLOB,  /* n bytes at off in the segment */
	OP_COUNT, /* an array of n elements */
	OP_STRING,
	OP_SEQ,   /* slots[slot] elements of n bits; type says what they are */
	OP_WALK,
	OP_VARIANT, /* jumps[0 .. type->nfields): where each option begins; where they end; n slots to forget */
	OP_JUMP,
};

#define NO_DST UINT16_MAX

struct op {
	uint8_t code, size;
	bool is_signed, be;
	uint16_t dst, slot;
	uint32_t roles;
	uint32_t off; /* bits in the segment; of OP_VARIANT and OP_JUMP: index */
	uint64_t n;
	const struct ctf_type *type;
};

struct ctf_plan {
	struct op *ops;
	uint32_t *jumps;
	uint16_t *none;   /* values to be set to WW_V_NONE first: that not every event sets */
	uint32_t nnone;
	bool roles;
};

struct compiler {
	WW_VEC(struct op) ops;
	WW_VEC(uint32_t) jumps;
	const struct ctf_want *wants;
	uint32_t nwants;
	bool roles, in_context;
	struct ctf_place place; /* at the begin of the segment, or now when none is open */
	uint32_t seg;           /* index of the open segment's op, WW_NONE */
	uint64_t off;           /* bits in it */
	char path[1024];
	size_t path_len;
};

/* ---- place ---- */

static void segment_close(struct compiler *k)
{
	if (k->seg == WW_NONE)
		return;
	k->ops.v[k->seg].n = k->off;
	k->place.rem = (uint32_t)((k->place.rem + k->off) % k->place.mod);
	k->seg = WW_NONE;
	k->off = 0;
}

static struct op *emit(struct compiler *k, uint8_t code)
{
	struct op *o = ww_vec_push(&k->ops);

	o->code = code;
	o->dst = NO_DST;
	o->slot = CTF_NO_SLOT;
	return o;
}

static void segment_open(struct compiler *k)
{
	if (k->seg != WW_NONE)
		return;
	emit(k, OP_SEG);
	k->seg = (uint32_t)k->ops.n - 1;
	k->off = 0;
}

static uint32_t place_rem(const struct compiler *k)
{
	return (uint32_t)((k->place.rem + k->off) % k->place.mod);
}

static void align_place(struct compiler *k, uint32_t align)
{
	if (align == 1)
		return;
	if (k->place.mod % align == 0) {
		uint32_t rem = place_rem(k) % align;
		if (rem) {
			segment_open(k);
			k->off += align - rem;
		}
		return;
	}
	segment_close(k);
	emit(k, OP_ALIGN)->n = align;
	k->place = (struct ctf_place){align, 0};
}

static void place_lose(struct compiler *k, uint32_t mod)
{
	WW_DASSERT(k->seg == WW_NONE);
	k->place.mod = WW_MIN(k->place.mod, mod);
	k->place.rem %= k->place.mod;
}

static struct ctf_place place_merge(struct ctf_place a, struct ctf_place b)
{
	uint32_t mod = WW_MIN(a.mod, b.mod);

	while (a.rem % mod != b.rem % mod)
		mod /= 2;
	return (struct ctf_place){mod, a.rem % mod};
}

/* ---- which fields are wanted ---- */

static uint32_t roles_of(const struct compiler *k, const struct ctf_type *t)
{
	return k->roles ? t->roles : 0;
}

static bool wants_at(const struct compiler *k, uint32_t i)
{
	return k->wants[i].in_context == k->in_context && !strcmp(k->wants[i].path, k->path);
}

static bool any_want(const struct compiler *k)
{
	for (uint32_t i = 0; i < k->nwants; i++)
		if (wants_at(k, i))
			return true;
	return false;
}

/* The op for an integer that is only a value, where there is a short one. */
static uint8_t value_code(const struct op *o)
{
	const uint8_t first = o->is_signed ? OP_I8 : OP_U8;

	if (o->code != OP_BYTES_INT || (o->be && o->size > 8) || o->slot != CTF_NO_SLOT || o->roles)
		return o->code;
	return (uint8_t)(first + (o->size == 8 ? 0 : o->size == 16 ? 1 : o->size == 32 ? 2 : 3));
}

/* Emits `proto` once for each want of the current path, or once when it is needed in any case. */
static void emit_wanted(struct compiler *k, const struct op *proto, bool anyway)
{
	for (uint32_t i = 0; i < k->nwants; i++) {
		if (!wants_at(k, i))
			continue;
		struct op *o = ww_vec_push(&k->ops);
		*o = *proto;
		o->dst = (uint16_t)i;
		o->code = value_code(o);
		anyway = false;
	}
	if (anyway)
		*ww_vec_push(&k->ops) = *proto;
}

static struct op op_init(uint8_t code, const struct ctf_type *t)
{
	return (struct op){.code = code, .type = t, .dst = NO_DST, .slot = CTF_NO_SLOT};
}

/* ---- types ---- */

static void compile(struct compiler *k, const struct ctf_type *t, const char *name);

static void compile_number(struct compiler *k, const struct ctf_type *t)
{
	bool bytes = t->size == 8 || t->size == 16 || t->size == 32 || t->size == 64;
	struct op o = op_init(OP_INT, t);

	segment_open(k);
	bytes &= k->place.mod % 8 == 0 && place_rem(k) % 8 == 0;
	o.code = t->kind == CTF_FLOAT ? OP_FLOAT : t->reversed || t->is_bool ? OP_INT_ODD : bytes ? OP_BYTES_INT : OP_INT;
	o.size = t->size;
	o.be = t->order == CTF_BE;
	o.is_signed = t->is_signed;
	o.off = (uint32_t)k->off;
	o.slot = t->slot;
	o.roles = t->kind == CTF_FLOAT ? 0 : roles_of(k, t);
	emit_wanted(k, &o, o.slot != CTF_NO_SLOT || o.roles);
	k->off += t->size;
}

/* What moves the cursor by as much as it finds there: the first of several wants moves it. */
static void compile_moving(struct compiler *k, const struct ctf_type *t, uint8_t code)
{
	struct op o = op_init(code, t);
	uint32_t first;

	segment_close(k);
	o.is_signed = t->is_signed;
	o.slot = t->slot;
	o.roles = roles_of(k, t);
	o.size = 64;
	first = (uint32_t)k->ops.n;
	emit_wanted(k, &o, true);
	for (size_t i = k->ops.n; i-- > first + 1;)
		k->ops.v[i].n = 1; /* a copy of the value before */
	k->place = (struct ctf_place){8, 0};
}

static bool is_byte(const struct ctf_type *e)
{
	return e->kind == CTF_INT && e->size == 8 && e->align <= 8 && !e->reversed && !e->is_bool;
}

/* A part of an address of IPv6: eight of these lie as they do on the wire. */
static bool is_wire(const struct ctf_type *e)
{
	return e->kind == CTF_INT && e->order == CTF_BE && e->size == 16 && e->align <= 16 && !e->reversed && !e->is_bool;
}

static void compile_walk(struct compiler *k, const struct ctf_type *t)
{
	struct op o = op_init(OP_WALK, t);

	segment_close(k);
	*ww_vec_push(&k->ops) = o;
	/* Parts that begin on a byte begin on the next one, if this is none. */
	bool on_byte = k->place.mod % 8 == 0 && k->place.rem % 8 == 0;
	k->place = (struct ctf_place){t->bytewise && on_byte ? 8 : 1, 0};
}

static void compile_array(struct compiler *k, const struct ctf_type *t)
{
	struct op o = op_init(OP_COUNT, t);

	/* Offsets in a segment are 32 bits. */
	if (!t->fixed || t->has_slot || t->bits > (1u << 28) || k->off > (1u << 28)) {
		o.n = t->length;
		if (any_want(k))
			emit_wanted(k, &o, false);
		compile_walk(k, t);
		return;
	}
	segment_open(k);
	o.n = t->length;
	o.off = (uint32_t)k->off;
	const bool on_byte = k->place.mod % 8 == 0 && place_rem(k) % 8 == 0;
	if (on_byte && is_wire(t->elem)) {
		o.code = OP_BLOB;
		o.n = t->length * 2;
	} else if (on_byte && is_byte(t->elem)) {
		o.code = !t->elem->is_text ? OP_BLOB : t->enc == CTF_UTF8 ? OP_TEXT : OP_WTEXT;
	}
	o.roles = o.code == OP_BLOB && is_byte(t->elem) && t->length == 16 ? roles_of(k, t) & 1u << CTF_R_UUID : 0;
	emit_wanted(k, &o, o.roles != 0);
	k->off += t->bits;
}

static void compile_sequence(struct compiler *k, const struct ctf_type *t)
{
	const struct ctf_type *e = t->elem;
	struct op o = op_init(OP_SEQ, t);

	o.slot = t->ref_slot;
	o.n = e->bits;
	segment_close(k);
	if (!e->fixed || e->has_slot || !e->bits || e->bits % e->align) {
		o.n = 0; /* count only: the walker moves on */
		emit_wanted(k, &o, false);
		compile_walk(k, t);
		return;
	}
	/* Only the first of several wants may move the cursor. */
	uint32_t first = (uint32_t)k->ops.n;
	emit_wanted(k, &o, true);
	for (size_t i = k->ops.n; i-- > first + 1;)
		k->ops.v[i].n = 0;
	place_lose(k, (uint32_t)(e->bits & -e->bits & 0xff ? WW_MIN(e->bits & -e->bits, 8) : 8));
}

/* As ctf_slots_forget, of which this is the list. */
static void list_slots(struct compiler *k, const struct ctf_type *t)
{
	if (!t->has_slot)
		return;
	if (t->slot != CTF_NO_SLOT)
		*ww_vec_push(&k->jumps) = t->slot;
	if (t->elem)
		list_slots(k, t->elem);
	for (uint32_t i = 0; i < t->nfields; i++)
		list_slots(k, t->fields[i].type);
}

static void compile_variant(struct compiler *k, const struct ctf_type *t)
{
	WW_VEC(uint32_t) ends = {0};
	struct ctf_place end = {0, 0};
	uint32_t jumps = (uint32_t)k->jumps.n, here;

	segment_close(k);
	struct op *o = emit(k, OP_VARIANT);
	o->slot = t->ref_slot;
	o->type = t;
	o->off = jumps;
	struct ctf_place begin = k->place;
	for (uint32_t i = 0; i <= t->nfields; i++)
		*ww_vec_push(&k->jumps) = 0;
	list_slots(k, t);
	o->n = k->jumps.n - jumps - t->nfields - 1;
	for (uint32_t i = 0; i < t->nfields; i++) {
		k->jumps.v[jumps + i] = (uint32_t)k->ops.n;
		k->place = begin;
		/* An optional field has its content's place in a path, not a step of its own. */
		compile(k, t->fields[i].type, t->kind == CTF_OPTIONAL ? NULL : t->fields[i].name);
		segment_close(k);
		end = i ? place_merge(end, k->place) : k->place;
		*ww_vec_push(&ends) = (uint32_t)k->ops.n;
		emit(k, OP_JUMP);
	}
	here = (uint32_t)k->ops.n;
	for (size_t i = 0; i < ends.n; i++)
		k->ops.v[ends.v[i]].off = here;
	ww_vec_free(&ends);
	k->jumps.v[jumps + t->nfields] = here;
	k->place = !t->nfields ? begin : t->kind == CTF_OPTIONAL ? place_merge(end, begin) : end;
}

static void compile(struct compiler *k, const struct ctf_type *t, const char *name)
{
	size_t len = k->path_len;

	if (name) {
		int n = snprintf(k->path + len, sizeof(k->path) - len, "%s%s", len ? "." : "", name);
		k->path_len = WW_MIN(len + (size_t)n, sizeof(k->path) - 1);
	}
	if (t->kind != CTF_VARIANT && t->kind != CTF_OPTIONAL)
		align_place(k, t->align);
	if (k->off > (1u << 29))
		segment_close(k);
	switch (t->kind) {
	case CTF_INT:
	case CTF_ENUM:
	case CTF_FLOAT:
		compile_number(k, t);
		break;
	case CTF_VARINT:
		compile_moving(k, t, OP_VARINT);
		break;
	case CTF_STRING:
		compile_moving(k, t, OP_STRING);
		break;
	case CTF_STRUCT:
		for (uint32_t i = 0; i < t->nfields; i++)
			compile(k, t->fields[i].type, t->fields[i].name);
		break;
	case CTF_ARRAY:
		compile_array(k, t);
		break;
	case CTF_SEQUENCE:
		compile_sequence(k, t);
		break;
	case CTF_VARIANT:
	case CTF_OPTIONAL:
		compile_variant(k, t);
		break;
	}
	k->path_len = len;
	k->path[len] = 0;
}

/* Without a variant every op runs at every event, so only what no op sets needs to be reset. */
static void find_none(const struct compiler *k, struct ctf_plan *p)
{
	bool *set = ww_xcalloc(k->nwants + 1, sizeof(*set)), branches = false;

	for (size_t i = 0; i < k->ops.n; i++) {
		branches |= k->ops.v[i].code == OP_VARIANT;
		if (k->ops.v[i].dst != NO_DST)
			set[k->ops.v[i].dst] = true;
	}
	p->none = ww_xmalloc((k->nwants + 1) * sizeof(*p->none));
	for (uint32_t i = 0; i < k->nwants; i++)
		if (branches || !set[i])
			p->none[p->nnone++] = (uint16_t)i;
	free(set);
}

struct ctf_plan *ctf_plan_new(const struct ctf_type *const *types, const bool *ctxs, uint32_t ntypes,
			      const struct ctf_want *wants, uint32_t nwants, bool roles, struct ctf_place *place)
{
	struct compiler k = {.wants = wants, .nwants = nwants, .roles = roles, .seg = WW_NONE, .place = *place};
	struct ctf_plan *p = ww_xcalloc(1, sizeof(*p));

	for (uint32_t i = 0; i < ntypes; i++) {
		k.in_context = ctxs && ctxs[i];
		if (types[i])
			compile(&k, types[i], NULL);
	}
	segment_close(&k);
	emit(&k, OP_END);
	*place = k.place;
	p->ops = k.ops.v;
	p->jumps = k.jumps.v;
	find_none(&k, p);
	p->roles = roles;
	return p;
}

void ctf_plan_free(struct ctf_plan *p)
{
	if (!p)
		return;
	free(p->ops);
	free(p->jumps);
	free(p->none);
	free(p);
}

uint64_t ctf_plan_fixed_bits(const struct ctf_plan *p)
{
	if (p->ops[0].code == OP_END && !p->nnone)
		return 0;
	return p->ops[0].code == OP_SEG && p->ops[1].code == OP_END && !p->nnone ? p->ops[0].n : UINT64_MAX;
}

/* ---- running ---- */

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
	bool bytes = is_byte(e) && c->pos % 8 == 0;

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
