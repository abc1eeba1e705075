/* tsdl.h - the lexer and the parts of the TSDL parser, for each other only.
 *
 * After the first error the lexer yields T_EOF for ever, so every loop of the parser ends by itself and
 * no function has to pass the error on.
 */
#ifndef WW_CTF_TSDL_H
#define WW_CTF_TSDL_H

#include "format/ctf/meta.h"

/* Single characters are their own kind. */
enum { T_EOF = 256, T_IDENT, T_INT, T_STRING, T_ASSIGN /* := */, T_ELLIPSIS };

struct tsdl_tok {
	int kind;
	const char *str; /* identifier or string, NUL-terminated, in meta->mem */
	size_t off;      /* in the text */
	uint64_t val;
};

/* Names of types; what struct, variant and enum name is apart from aliases. */
struct tsdl_name {
	char space; /* 'a' alias, 's' struct, 'v' variant, 'e' enum */
	const char *name;
	struct ctf_type *type;
};

struct tsdl_scope {
	struct tsdl_scope *up;
	WW_VEC(struct tsdl_name) names;
};

/* An integer's body in the text, behind its '{' to its '}', and what it says: event classes have few different ones. */
struct tsdl_integer_body {
	size_t at, len;
	struct ctf_type type;
};
#define TSDL_INTEGER_BODIES 32u

struct tsdl {
	struct ctf_meta *m;
	struct ww_err *err;
	size_t pos;
	struct tsdl_tok tok;
	bool failed;
	int rc;
	unsigned depth;
	uint32_t naliases;
	struct tsdl_scope *scope;
	struct tsdl_integer_body integers[TSDL_INTEGER_BODIES]; /* the last ones that were new */
	uint32_t nintegers;                                     /* ever */
};

/* ---- tsdl_lex.c ---- */
void tsdl_next(struct tsdl *p);
void tsdl_fail(struct tsdl *p, int code, const char *fmt, ...) WW_PRINTF(3, 4);
/* Most words differ in the first letter. */
static inline bool tsdl_same(const char *a, const char *b)
{
	return *a == *b && !strcmp(a, b);
}
/* The current token is this identifier. */
static inline bool tsdl_is(const struct tsdl *p, const char *word)
{
	return p->tok.kind == T_IDENT && tsdl_same(p->tok.str, word);
}
bool tsdl_accept(struct tsdl *p, int kind);          /* moves on when it is of this kind */
void tsdl_expect(struct tsdl *p, int kind);
const char *tsdl_ident(struct tsdl *p);              /* identifier, "" after an error */
const char *tsdl_path(struct tsdl *p);               /* a.b.c */

/* ---- tsdl_parse.c ---- */
struct ctf_type *tsdl_type(struct tsdl *p);          /* a type specifier; NULL after an error */
/* `typealias`, `typedef`, or a type declaration ending in ';': true when the token began one. */
bool tsdl_type_decl(struct tsdl *p);
void tsdl_scope_push(struct tsdl *p, struct tsdl_scope *s);
void tsdl_scope_pop(struct tsdl *p);
struct ctf_type *tsdl_new_type(struct tsdl *p, enum ctf_kind kind);

/* A value after '=': integer (is_int), string, or identifier path. */
struct tsdl_value {
	bool is_int, is_string, negative;
	uint64_t u; /* two's complement */
	const char *s;
};
struct tsdl_value tsdl_value(struct tsdl *p);

/* ---- tsdl_type.c ---- */
struct ctf_type *tsdl_integer(struct tsdl *p);
struct ctf_type *tsdl_float(struct tsdl *p);
struct ctf_type *tsdl_string(struct tsdl *p);
struct ctf_type *tsdl_enum(struct tsdl *p);

/* ---- tsdl_block.c ---- */
bool tsdl_block(struct tsdl *p); /* trace, env, clock, stream, event, callsite: true when it was one */

#endif
