/* decode.h - bytes of one scope -> values.
 *
 * Two decoders of the same types: a *plan* is a short program, compiled once per event class, that steps
 * over a scope and keeps only the fields that are wanted (plan.c: all that has a fixed layout becomes one
 * step); the *walker* (walk.c) visits everything and is what a plan falls back on for rare shapes.
 */
#ifndef WW_CTF_DECODE_H
#define WW_CTF_DECODE_H

#include "format/ctf/bits.h"
#include "format/ctf/meta.h"

struct ctf_cursor {
	const uint8_t *base; /* of the packet */
	uint64_t pos, end;   /* bits */
	uint64_t *slots;
	struct ww_value *v;  /* wanted values, or NULL when the plan has none */
	struct ww_arena *text; /* strings that had to be converted to UTF-8; the owner resets it */
	uint64_t role[CTF_R_N];
	uint32_t role_seen;  /* bits by role */
	uint8_t role_size[CTF_R_N];
	uint64_t budget;     /* elements that may still be walked in this packet */
	int rc;              /* negative WW_E*: why it stopped */
	const char *why;
	uint64_t bad_pos;    /* bit position of what is wrong */
};

int ctf_decode_fail(struct ctf_cursor *c, int code, const char *why);

/* ---- text.c ---- */
/* Characters of UTF-16 or UTF-32 until the first NUL, as UTF-8 in mem. Surrogates that stand alone and numbers
 * over U+10FFFF become U+FFFD. */
struct ww_value ctf_text_convert(struct ww_arena *mem, uint8_t enc, const uint8_t *p, uint64_t nbytes);
/* Bytes of the string before its NUL; UINT64_MAX: it has none in nbytes. */
uint64_t ctf_text_length(uint8_t enc, const uint8_t *p, uint64_t nbytes);
static inline unsigned ctf_text_unit(uint8_t enc)
{
	return enc == CTF_UTF8 ? 1 : enc <= CTF_UTF16BE ? 2 : 4;
}

/* ---- walk.c ---- */
/* LEB128 at the cursor, which moves on; bits: 7 a byte. Negative when it is cut off or over 64 bits. */
int ctf_varint_get(struct ctf_cursor *c, bool is_signed, uint64_t *ret, unsigned *ret_bits);
/* Bits of an integer as its value: order of bits, sign, boolean. */
uint64_t ctf_number_value(const struct ctf_type *t, uint64_t raw);
double ctf_float_value(const struct ctf_type *t, uint64_t raw);
/* A variant's or optional field's parts are about to be decoded, or not: who refers to one that is not must
 * not find the last event's value. UINT64_MAX is longer than any packet and tags no option. */
void ctf_slots_forget(const struct ctf_type *t, uint64_t *slots);
/* Visits (vis) or skips (vis NULL) a type under a name (NULL: none). 0 or negative, with c->why. */
int ctf_walk(struct ctf_cursor *c, const struct ctf_type *t, const char *name, const struct ww_visitor *vis,
	     void *ctx);
/* Option index of a variant by its tag's value, or -1. */
int64_t ctf_variant_choice(const struct ctf_type *t, uint64_t tag);

/* ---- plan.c ---- */
struct ctf_plan;

struct ctf_want {
	const char *path; /* payload path, or after "ctx." */
	bool in_context;
};

/* What is statically known about the cursor's place: pos % mod == rem. */
struct ctf_place {
	uint32_t mod, rem;
};

/* ctf_plan_new - compiles scopes that follow one another.
 * in   types  ntypes of them, NULL ones are skipped; contexts first
 *      ctxs   which of them are contexts ("ctx." wants)
 *      wants  nwants paths; value i of the cursor's v is for want i
 *      roles  look for the names that have a role (headers, packet contexts)
 *      place  where it begins; on return where it ends */
struct ctf_plan *ctf_plan_new(const struct ctf_type *const *types, const bool *ctxs, uint32_t ntypes,
			      const struct ctf_want *wants, uint32_t nwants, bool roles, struct ctf_place *place);
void ctf_plan_free(struct ctf_plan *p);
int ctf_plan_run(const struct ctf_plan *p, struct ctf_cursor *c);

/* Where all values lie at known places of one segment, as they do in most events, the plan is a list of steps, one for
 * each value, in their order. Without values it only moves the cursor. */
enum ctf_step_code {
	CTF_STEP_UINT, /* whole bytes, of the host's byte order */
	CTF_STEP_INT,
	CTF_STEP_TEXT, /* `max` characters, or fewer and a NUL */
	CTF_STEP_BLOB,
	CTF_STEP_NONE, /* the value is its kind */
};

struct ctf_step {
	uint64_t kind;  /* the second half of struct ww_value */
	uint32_t at;    /* bytes from the segment's begin */
	uint32_t max;
	uint8_t code;   /* enum ctf_step_code */
	uint8_t unused; /* an integer's bits that 64 has more */
};

struct ctf_steps {
	uint64_t bits;      /* of the segment */
	uint64_t need_bits; /* that are looked at: integers are loaded 8 bytes at a time */
	uint32_t n;
	bool plain;         /* no value points anywhere */
	struct ctf_step step[];
};

/* NULL: the plan has to be run. */
const struct ctf_steps *ctf_plan_steps(const struct ctf_plan *p);

static inline uint32_t ctf_text_short(const char *p, uint32_t max)
{
	const uint64_t ones = 0x0101010101010101u;
	uint32_t i = 0;

	for (; i + 8 <= max; i += 8) {
		uint64_t w;
		memcpy(&w, p + i, 8);
		if ((w = (w - ones) & ~w & ones << 7))
			return i + (uint32_t)__builtin_ctzll(w) / 8;
	}
	while (i < max && p[i])
		i++;
	return i;
}

static WW_ALWAYS_INLINE void ctf_steps_run(const struct ctf_steps *s, const uint8_t *base, struct ww_value *v)
{
	for (const struct ctf_step *st = s->step, *end = st + s->n; st < end; st++, v++) {
		const uint8_t *p = base + st->at;
		uint64_t kind = st->kind;

		if (WW_LIKELY(st->code <= CTF_STEP_INT)) {
			memcpy(&v->u, p, 8);
			v->u <<= st->unused;
			v->u = st->code == CTF_STEP_INT ? (uint64_t)(v->i >> st->unused) : v->u >> st->unused;
		} else {
			v->p = st->code == CTF_STEP_NONE ? NULL : (const char *)p;
		}
		memcpy((char *)v + sizeof(v->u), &kind, sizeof(kind));
		if (st->code == CTF_STEP_TEXT)
			v->len = ctf_text_short(v->p, st->max);
	}
}

#endif
