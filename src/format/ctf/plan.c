/* plan.c - compiles scopes into a plan, which plan_run.c runs.
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
#include "format/ctf/plan_private.h"

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
	} else if (on_byte && ctf_is_byte(t->elem)) {
		o.code = !t->elem->is_text ? OP_BLOB : t->enc == CTF_UTF8 ? OP_TEXT : OP_WTEXT;
	}
	o.roles = o.code == OP_BLOB && ctf_is_byte(t->elem) && t->length == 16 ? roles_of(k, t) & 1u << CTF_R_UUID : 0;
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

/* ---- steps ---- */

static uint64_t kind_of(uint8_t kind, uint64_t len)
{
	const struct ww_value v = {.len = (uint32_t)WW_MIN(len, UINT32_MAX), .kind = kind};
	uint64_t w;

	memcpy(&w, (const char *)&v + sizeof(v.u), sizeof(w));
	return w;
}

/* False: the op is none that a step can do. */
static bool step_of(const struct op *o, struct ctf_step *ret)
{
	struct ctf_step s = {.at = o->off / 8};

	if (o->roles || o->slot != CTF_NO_SLOT || o->dst == NO_DST || o->off % 8)
		return false;
	switch (o->code) {
	case OP_U8: case OP_U16: case OP_U32: case OP_U64:
	case OP_I8: case OP_I16: case OP_I32: case OP_I64:
		s.code = o->is_signed ? CTF_STEP_INT : CTF_STEP_UINT;
		s.unused = (uint8_t)(64 - o->size);
		s.kind = kind_of(o->is_signed ? WW_V_INT : WW_V_UINT, o->size);
		break;
	case OP_TEXT:
		s.code = CTF_STEP_TEXT;
		s.max = (uint32_t)WW_MIN(o->n, UINT32_MAX);
		s.kind = kind_of(WW_V_STR, 0);
		break;
	case OP_BLOB:
		s.code = CTF_STEP_BLOB;
		s.kind = kind_of(WW_V_BYTES, o->n);
		break;
	case OP_COUNT:
		s.code = CTF_STEP_NONE;
		s.kind = kind_of(WW_V_ARRAY, o->n);
		break;
	default:
		return false;
	}
	*ret = s;
	return true;
}

/* The plan as steps; NULL when it is more than one segment of what steps can do. */
static struct ctf_steps *steps_new(const struct ctf_plan *p, uint32_t nwants)
{
	const struct op *o = p->ops;
	struct ctf_steps *s = ww_xcalloc(1, sizeof(*s) + nwants * sizeof(s->step[0]));

	s->n = nwants;
	s->plain = true;
	for (uint32_t i = 0; i < s->n; i++)
		s->step[i] = (struct ctf_step){.code = CTF_STEP_NONE, .kind = kind_of(WW_V_NONE, 0)};
	if (o->code == OP_SEG)
		s->bits = s->need_bits = (o++)->n;
	for (; o->code != OP_END; o++) {
		struct ctf_step *st = o->dst < s->n ? &s->step[o->dst] : NULL;
		if (!st || !step_of(o, st)) {
			free(s);
			return NULL;
		}
		if (st->code == CTF_STEP_INT || st->code == CTF_STEP_UINT)
			s->need_bits = WW_MAX(s->need_bits, (st->at + 8) * (uint64_t)8);
		else
			s->plain &= st->code == CTF_STEP_NONE;
	}
	return s;
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
	p->steps = steps_new(p, nwants);
	return p;
}

void ctf_plan_free(struct ctf_plan *p)
{
	if (!p)
		return;
	free(p->ops);
	free(p->jumps);
	free(p->none);
	free(p->steps);
	free(p);
}

const struct ctf_steps *ctf_plan_steps(const struct ctf_plan *p)
{
	return p->steps;
}
