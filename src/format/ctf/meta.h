/* meta.h - what a CTF trace's metadata says: types, clocks, stream and event classes.
 *
 * ctf_meta_read (metadata.c) reads DIR/metadata: packets or plain text -> TSDL text; tsdl_parse.c and
 * tsdl_block.c make types and blocks of it, resolve.c gives every type its byte order, layout and, for
 * lengths and tags that other fields refer to, a slot. All of it lives in meta->mem.
 *
 * Every field has its own type nodes (aliases are copied where they are used), so that a node can carry
 * what depends on its place: its slot. A limit on the number of nodes bounds what that can cost.
 *
 * source CTF 1.8.3 specification, sections 4 (types), 6 (event structure), 7 (metadata)
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
#define CTF_MAX_METADATA (64u << 20)
#define CTF_MAX_SLOTS 32768u
#define CTF_MAX_ALIGN (1u << 20)  /* bits */
#define CTF_NO_SLOT UINT16_MAX

enum ctf_kind { CTF_INT, CTF_ENUM, CTF_FLOAT, CTF_STRING, CTF_STRUCT, CTF_VARIANT, CTF_ARRAY, CTF_SEQUENCE };
enum ctf_order { CTF_LE, CTF_BE, CTF_NATIVE };

/* A range of an enumeration; lo and hi are int64_t bits when the container is signed. */
struct ctf_map {
	const char *label;
	uint64_t lo, hi;
};

struct ctf_clock {
	const char *name, *uuid;
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

struct ctf_type {
	uint8_t kind;  /* enum ctf_kind */
	uint8_t order; /* enum ctf_order; CTF_NATIVE only before resolve */
	uint8_t size;  /* integers, floats: bits */
	uint8_t base;  /* 2, 8, 10, 16 */
	bool is_signed, is_text; /* is_text: the integer is a character */
	bool fixed;    /* bits is the size, whatever the data say */
	bool has_slot; /* it or something inside has a slot */
	bool bytewise; /* every part starts and ends on a byte */
	uint8_t depth;
	uint16_t slot;     /* of an integer that is a length or a tag; CTF_NO_SLOT */
	uint16_t ref_slot; /* of a sequence or variant: where its length or tag is */
	uint32_t align;    /* bits, a power of two */
	uint64_t bits;
	const char *ref;   /* path of length or tag, as written */
	const char *clock_name;
	const struct ctf_clock *clock;
	struct ctf_map *maps;
	struct ctf_field *fields; /* members or options */
	struct ctf_type *elem;
	uint32_t nmaps, nfields;
	uint64_t length;   /* arrays */
	/* variants: option of each range of the tag, in the order of the enumeration */
	struct ctf_choice *choices;
	uint32_t nchoices;
	bool tag_signed;
};

struct ctf_choice {
	uint64_t lo, hi;
	uint32_t field;
};

struct ctf_event_class {
	struct ww_class pub;
	uint64_t stream_id;
	bool has_id;
	struct ctf_type *context, *payload;
	uint32_t index; /* in the whole ww_trace */
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
	bool has_trace, has_uuid;
	uint8_t uuid[16];
	uint64_t major, minor;
	struct ctf_type *packet_header;
	WW_VEC(struct ww_env) env;
	WW_VEC(struct ctf_clock *) clocks;
	WW_VEC(struct ctf_stream_class *) streams;
	WW_VEC(struct ctf_event_class *) events;
	uint32_t nslots;
};

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
size_t ctf_meta_file_offset(const struct ctf_meta *m, size_t text_off);

#endif
