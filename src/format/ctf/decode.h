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

/* Fields of headers and packet contexts that mean something to us. */
enum ctf_role {
	CTF_R_NONE,
	CTF_R_MAGIC,
	CTF_R_UUID,
	CTF_R_STREAM_ID,
	CTF_R_INSTANCE_ID,
	CTF_R_BEGIN,
	CTF_R_END,
	CTF_R_CONTENT,
	CTF_R_PACKET,
	CTF_R_SEQ,
	CTF_R_DISCARDED,
	CTF_R_CPU,
	CTF_R_EVENT_ID,
	CTF_R_CLOCK, /* size in roles_size: a partial time stamp */
	CTF_R_N,
};

struct ctf_cursor {
	const uint8_t *base; /* of the packet */
	uint64_t pos, end;   /* bits */
	uint64_t *slots;
	struct ww_value *v;  /* wanted values, or NULL when the plan has none */
	uint64_t role[CTF_R_N];
	uint32_t role_seen;  /* bits by role */
	uint8_t role_size[CTF_R_N];
	uint64_t budget;     /* elements that may still be walked in this packet */
	int rc;              /* negative WW_E*: why it stopped */
	const char *why;
	uint64_t bad_pos;    /* bit position of what is wrong */
};

int ctf_decode_fail(struct ctf_cursor *c, int code, const char *why);

/* ---- walk.c ---- */
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

#endif
