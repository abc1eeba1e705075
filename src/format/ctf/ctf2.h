/* ctf2.h - CTF 2's metadata: the JSON reader, field classes, fragments; for each other only.
 *
 *   ctf2_json.c  one JSON text -> a tree whose nodes know where they stand
 *   ctf2_type.c  a field class -> struct ctf_type
 *   ctf2.c       the fragments
 *
 * JSON is read here and not by a library because an error must say at which byte it is, and because integers
 * have all 64 bits without sign (the last value of an enumeration).
 *
 * After the first error everything is NULL or 0, so no function has to pass the error on.
 * source CTF2-SPEC-2.0
 */
#ifndef WW_CTF2_H
#define WW_CTF2_H

#include "format/ctf/meta.h"

#define CTF2_MAX_JSON_NODES 1000000u /* of one fragment */
#define CTF2_MAX_JSON_DEPTH 256u

enum ctf2_kind { J_NULL, J_BOOL, J_INT, J_REAL, J_STRING, J_ARRAY, J_OBJECT };

struct ctf2_json {
	uint8_t kind;
	bool negative;    /* of an integer that is below zero */
	uint32_t n;       /* elements or members */
	size_t off;       /* in the metadata's text */
	const char *key;  /* of a member; in meta->mem, as strings are */
	uint64_t u;       /* integer, two's complement; boolean */
	const char *s;
	struct ctf2_json *first, *next;
};

struct ctf2_alias {
	const char *name;
	const struct ctf_type *type;
};

struct ctf2 {
	struct ctf_meta *m;
	struct ww_err *err;
	struct ww_arena tree; /* JSON nodes of the fragment at hand */
	uint32_t nnodes;
	size_t pos, end;      /* in the text */
	bool failed;
	int rc;
	bool has_preamble, has_stream;
	WW_VEC(struct ctf2_alias) aliases;
};

void ctf2_fail(struct ctf2 *p, size_t off, int code, const char *fmt, ...) WW_PRINTF(4, 5);

/* ---- ctf2_json.c ---- */
/* The JSON text that fills [p->pos, p->end), white space aside; NULL after an error. */
struct ctf2_json *ctf2_json_parse(struct ctf2 *p);
/* Members of an object; NULL: it has none of the name. The kind is checked, the value of _need must exist. */
struct ctf2_json *ctf2_get(struct ctf2 *p, const struct ctf2_json *o, const char *key, enum ctf2_kind kind);
struct ctf2_json *ctf2_need(struct ctf2 *p, const struct ctf2_json *o, const char *key, enum ctf2_kind kind);
struct ctf2_json *ctf2_find(const struct ctf2_json *o, const char *key); /* of any kind */
const char *ctf2_string(struct ctf2 *p, const struct ctf2_json *o, const char *key, const char *otherwise);
uint64_t ctf2_unsigned(struct ctf2 *p, const struct ctf2_json *o, const char *key, uint64_t otherwise);
/* No extension is known, and none may be used without having been declared. */
void ctf2_no_extensions(struct ctf2 *p, const struct ctf2_json *o);

/* ---- ctf2_type.c ---- */
/* A field class, or the name of an alias; depth: of the structures around it. */
struct ctf_type *ctf2_type(struct ctf2 *p, const struct ctf2_json *j, unsigned depth);
void ctf2_alias_add(struct ctf2 *p, const struct ctf2_json *fragment);

#endif
