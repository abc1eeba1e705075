/* meta.h - what a CTF trace's metadata says: types, clocks, stream and event classes.
 *
 * ctf_meta_read (metadata.c) reads DIR/metadata: packets or plain text -> one text. Of CTF 1.8's TSDL
 * tsdl_parse.c and tsdl_block.c make types and blocks, of CTF 2's JSON fragments ctf2.c and ctf2_type.c make
 * the same ones; resolve.c gives every type its byte order, layout and, for lengths and tags that other
 * fields refer to, a slot. All of it lives in meta->mem.
 *
 * Every field has its own type nodes (aliases are copied where they are used), so that a node can carry
 * what depends on its place: its slot. A limit on the number of nodes bounds what that can cost.
 *
 * source CTF 1.8.3 specification, sections 4 (types), 6 (event structure), 7 (metadata); CTF2-SPEC-2.0
 */
#ifndef WW_CTF_META_H
#define WW_CTF_META_H

#include "base/arena.h"
#include "base/err.h"
#include "base/u64map.h"
#include "base/vec.h"
#include "format/format.h"

#define CTF_MAX_NODES 600000u     /* type nodes in one metadata file */
#define CTF_MAX_DEPTH 48u         /* nesting of types */
#define CTF_MAX_ALIASES 16384u
#define CTF_MAX_CLASSES 65536u    /* event classes */
#define CTF_MAX_STREAMS 4096u     /* stream classes */
#define CTF_MAX_METADATA (64u << 20)
#define CTF_MAX_SLOTS 32768u
#define CTF_MAX_ALIGN (1u << 20)  /* bits */
#define CTF_NO_SLOT UINT16_MAX

/* CTF_ENUM is an integer with labels. CTF_VARINT (LEB128) and CTF_OPTIONAL exist in CTF 2 only. */
enum ctf_kind {
	CTF_INT,
	CTF_ENUM,
	CTF_FLOAT,
	CTF_STRING,
	CTF_STRUCT,
	CTF_VARIANT,
	CTF_ARRAY,
	CTF_SEQUENCE,
	CTF_VARINT,
	CTF_OPTIONAL,
};
enum ctf_order { CTF_LE, CTF_BE, CTF_NATIVE };
enum ctf_encoding { CTF_UTF8, CTF_UTF16LE, CTF_UTF16BE, CTF_UTF32LE, CTF_UTF32BE };

/* Fields of headers and packet contexts that mean something to us: CTF 1.8 says it by their names, CTF 2
 * by the property `roles`. A type has a mask of them. */
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
	CTF_R_CLOCK, /* a time stamp, of fewer bits than the clock has as a rule */
	CTF_R_N,
};

/* The scopes of an event, in the order of decoding. */
enum ctf_scope {
	CTF_PACKET_HEADER,
	CTF_PACKET_CONTEXT,
	CTF_EVENT_HEADER,
	CTF_STREAM_CONTEXT,
	CTF_EVENT_CONTEXT,
	CTF_PAYLOAD,
	CTF_SCOPES,
};

/* A range of an enumeration; lo and hi are int64_t bits when the container is signed. */
struct ctf_map {
	const char *label;
	uint64_t lo, hi;
};

struct ctf_clock {
	const char *name, *uuid;
	const char *id; /* what stream classes of CTF 2 call it */
	uint64_t freq_hz;
	int64_t offset_s;
	uint64_t offset_cycles;
	bool absolute, has_offset;
};

struct ctf_field {
	const char *raw;  /* as in the metadata: references use it */
	const char *name; /* one leading underscore removed */
	struct ctf_type *type;
};

/* CTF 2: where a length or tag is. */
struct ctf_location {
	int origin;         /* enum ctf_scope; -1: the structure that the field is in */
	uint32_t npath;
	const char **path;  /* a member's name; NULL: out to the structure around */
};

struct ctf_type {
	uint8_t kind;  /* enum ctf_kind */
	uint8_t order; /* enum ctf_order; CTF_NATIVE only before resolve */
	uint8_t size;  /* integers, floats: bits */
	uint8_t base;  /* 2, 8, 10, 16 */
	uint8_t enc;   /* enum ctf_encoding of strings, and of arrays of characters */
	bool is_signed, is_text; /* is_text: the integer is a character */
	bool reversed; /* the first bit of an integer or float is its last one */
	bool is_bool;  /* the integer is false or true */
	bool is_flags; /* maps name bits, not values */
	bool is_blob;  /* the array of bytes is one value */
	bool fixed;    /* bits is the size, whatever the data say */
	bool has_slot; /* it or something inside has a slot */
	bool bytewise; /* every part starts and ends on a byte */
	uint8_t depth;
	uint16_t slot;     /* of an integer that is a length or a tag; CTF_NO_SLOT */
	uint16_t ref_slot; /* of a sequence or variant: where its length or tag is */
	uint32_t align;    /* bits, a power of two */
	uint64_t bits;
	uint32_t roles;    /* 1 << enum ctf_role */
	uint32_t off;      /* where it is described, in the metadata's text */
	const char *ref;   /* path of length or tag, as written */
	const struct ctf_location *loc; /* the same in CTF 2 */
	const char *clock_name;
	const struct ctf_clock *clock;
	struct ctf_map *maps;
	struct ctf_field *fields; /* members or options */
	struct ctf_type *elem;
	uint32_t nmaps, nfields;
	uint64_t length;   /* arrays */
	/* variants: option of each range of the tag, in the order of the enumeration; optional fields: the ranges
	 * with which there is one */
	struct ctf_choice *choices;
	uint32_t nchoices;
	bool tag_signed;
};

struct ctf_choice {
	uint64_t lo, hi;
	uint32_t field;
	bool lo_neg, hi_neg; /* CTF 2, before resolve: below zero, whatever the tag's sign */
};

struct ctf_event_class {
	struct ww_class pub;
	uint64_t stream_id;
	bool has_id;
	struct ctf_type *context, *payload;
	uint32_t off;   /* of its block, in the metadata's text */
};

struct ctf_stream_class {
	uint64_t id;
	struct ctf_type *packet_context, *event_header, *event_context;
	struct ww_u64map by_id; /* event id -> index in meta->events */
	const struct ctf_clock *clock; /* of the event header's or the packet's time stamps; may be NULL */
};

struct ctf_meta {
	struct ww_arena mem;
	const char *path;  /* of the metadata file */
	char *text;
	size_t text_len;
	struct ctf_origin { size_t text, file; } *origins; /* text offset -> file offset, by packet */
	size_t norigins;
	uint32_t nnodes;
	enum ctf_order order;
	uint8_t version;   /* 1: TSDL, 2: JSON */
	uint8_t sign_bytes; /* a packet begins with 4: the magic number, 20: and the UUID, 0: neither */
	bool has_trace, has_uuid;
	bool converts;      /* it has strings that are not UTF-8 */
	uint8_t uuid[16];
	uint64_t major, minor;
	struct ctf_type *packet_header;
	WW_VEC(struct ww_env) env;
	WW_VEC(struct ctf_clock *) clocks;
	WW_VEC(struct ctf_stream_class *) streams;
	WW_VEC(struct ctf_event_class *) events;
	uint32_t nslots;
};

/* Times are int64 ns: offsets of over 285 years are refused. */
static inline bool ctf_clock_fits(const struct ctf_clock *c)
{
	return c->offset_s >= -9000000000 && c->offset_s <= 9000000000 && c->offset_cycles / c->freq_hz <= 9000000000 &&
	       c->offset_s + (int64_t)(c->offset_cycles / c->freq_hz) <= 9000000000;
}

/* ctf_metadata_probe - is this file CTF metadata, by content? 1: 1.8, 2: CTF 2, 0: no. */
int ctf_metadata_probe(const char *path);

/* ctf_meta_read - reads and resolves a metadata file.
 * in    path  the metadata file
 * out   ret   to be freed with ctf_meta_free
 * error -WW_EIO, -WW_ECORRUPT (offset in the file), -WW_ETRUNC, -WW_ELIMIT, -WW_EUNSUPPORTED */
int ctf_meta_read(const char *path, struct ctf_meta **ret, struct ww_err *err);
/* The same from memory (tests, fuzzing); `path` is for messages only. */
int ctf_meta_parse(const char *path, const void *bytes, size_t len, struct ctf_meta **ret,
		   struct ww_err *err);
void ctf_meta_free(struct ctf_meta *m);

const struct ctf_stream_class *ctf_meta_stream(const struct ctf_meta *m, uint64_t id);
const char *ctf_meta_env(const struct ctf_meta *m, const char *name); /* "" when absent */

/* resolve.c: byte orders, clocks, layouts, references. */
int ctf_resolve(struct ctf_meta *m, struct ww_err *err);
/* tsdl_parse.c: text -> blocks and types. */
int ctf_tsdl_parse(struct ctf_meta *m, struct ww_err *err);
/* ctf2.c: the same for CTF 2. */
int ctf2_parse(struct ctf_meta *m, struct ww_err *err);
size_t ctf_meta_file_offset(const struct ctf_meta *m, size_t text_off);

/* ---- types.c ---- */
/* A new node; m->nnodes over CTF_MAX_NODES is the caller's to refuse. */
struct ctf_type *ctf_type_new(struct ctf_meta *m, enum ctf_kind kind, size_t off);
/* A deep copy, so that a name can be used twice; NULL: the limit is reached. */
struct ctf_type *ctf_type_copy(struct ctf_meta *m, const struct ctf_type *t);
/* Marks the members of a root scope that have a meaning, by their names (CTF 1.8). */
void ctf_type_roles_by_name(struct ctf_type *t, enum ctf_scope scope);
/* Keeps the roles that have a place in the scope (CTF 2). */
void ctf_type_roles_keep(struct ctf_type *t, enum ctf_scope scope, const struct ctf_clock *clock);

#endif
