/* plan_private.h - what a plan is made of: plan.c compiles it, plan_run.c runs it. */
#ifndef WW_CTF_PLAN_PRIVATE_H
#define WW_CTF_PLAN_PRIVATE_H

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
	struct ctf_steps *steps; /* NULL: it cannot be run as steps */
};

/* Its elements are bytes that lie as they do in memory. */
static inline bool ctf_is_byte(const struct ctf_type *e)
{
	return e->kind == CTF_INT && e->size == 8 && e->align <= 8 && !e->reversed && !e->is_bool;
}

#endif
