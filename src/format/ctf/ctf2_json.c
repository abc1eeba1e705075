/* ctf2_json.c - one JSON text (RFC 8259) -> a tree.
 *
 * Strings are UTF-8 and hold no NUL; integers have up to 64 bits; a number with a point or an exponent is
 * J_REAL, whose value nobody asks for. Of members with one name the last counts.
 */
#include <stdarg.h>
#include <stdio.h>

#include "format/ctf/ctf2.h"

void ctf2_fail(struct ctf2 *p, size_t off, int code, const char *fmt, ...)
{
	char msg[300];
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	p->failed = true;
	p->rc = ww_err_set(p->err, code, p->m->path, ctf_meta_file_offset(p->m, off), "%s", msg);
}

static char peek(const struct ctf2 *p)
{
	return p->pos < p->end ? p->m->text[p->pos] : 0;
}

static void blank(struct ctf2 *p)
{
	while (p->pos < p->end && strchr(" \t\r\n", p->m->text[p->pos]) && p->m->text[p->pos])
		p->pos++;
}

static bool accept(struct ctf2 *p, char c)
{
	blank(p);
	if (p->failed || peek(p) != c || p->pos >= p->end)
		return false;
	p->pos++;
	return true;
}

static void expect(struct ctf2 *p, char c)
{
	if (!accept(p, c))
		ctf2_fail(p, p->pos, p->pos >= p->end ? WW_ETRUNC : WW_ECORRUPT, "JSON: '%c' is expected here", c);
}

static unsigned hex4(struct ctf2 *p)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++, p->pos++) {
		char c = peek(p);
		unsigned d = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
			     c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
		if (d > 15) {
			ctf2_fail(p, p->pos, WW_ECORRUPT, "JSON: \\u needs four hexadecimal digits");
			return 0;
		}
		v = v << 4 | d;
	}
	return v;
}

static char *put_utf8(char *o, unsigned c)
{
	if (c < 0x80) {
		*o++ = (char)c;
		return o;
	}
	unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	*o++ = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | c >> 6 * more);
	while (more--)
		*o++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return o;
}

/* What stands after a backslash. */
static char *escape(struct ctf2 *p, char *o)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	size_t at = p->pos - 1;
	char c = peek(p);
	const char *f = c ? strchr(from, c) : NULL;

	p->pos++;
	if (f) {
		*o++ = to[f - from];
		return o;
	}
	if (c != 'u') {
		ctf2_fail(p, at, WW_ECORRUPT, "JSON: no such escape in a string");
		return o;
	}
	unsigned u = hex4(p);
	if (u >= 0xd800 && u < 0xdc00 && peek(p) == '\\' && p->pos + 1 < p->end && p->m->text[p->pos + 1] == 'u') {
		p->pos += 2;
		unsigned d = hex4(p);
		u = d >= 0xdc00 && d < 0xe000 ? 0x10000 + ((u - 0xd800) << 10) + (d - 0xdc00) : 0;
	}
	if (!u || (u >= 0xd800 && u < 0xe000))
		ctf2_fail(p, at, WW_ECORRUPT, "JSON: \\u names no character that a string can have");
	return put_utf8(o, u);
}

static const char *string(struct ctf2 *p)
{
	const char *t = p->m->text;
	size_t begin = p->pos, e;

	expect(p, '"');
	for (e = p->pos; e < p->end && t[e] != '"' && (unsigned char)t[e] >= 0x20; e++)
		if (t[e] == '\\')
			e++;
	if (p->failed)
		return "";
	if (e >= p->end || t[e] != '"') {
		ctf2_fail(p, WW_MIN(begin, p->end), e >= p->end ? WW_ETRUNC : WW_ECORRUPT, "JSON: a string does not end");
		return "";
	}
	/* No escape is longer in UTF-8 than it is written. */
	char *s = ww_arena_alloc(&p->m->mem, e - p->pos + 1), *o = s;
	while (p->pos < e && !p->failed) {
		char c = t[p->pos++];
		if (c == '\\')
			o = escape(p, o);
		else
			*o++ = c;
	}
	*o = 0;
	p->pos = e + 1;
	return s;
}

static void number(struct ctf2 *p, struct ctf2_json *j)
{
	const char *t = p->m->text;
	bool over = false, whole = true;
	size_t digits;

	j->kind = J_INT;
	j->negative = peek(p) == '-';
	p->pos += j->negative;
	digits = p->pos;
	for (; p->pos < p->end && t[p->pos] >= '0' && t[p->pos] <= '9'; p->pos++)
		over |= __builtin_mul_overflow(j->u, (uint64_t)10, &j->u) ||
			__builtin_add_overflow(j->u, (uint64_t)(t[p->pos] - '0'), &j->u);
	if (p->pos == digits || (t[digits] == '0' && p->pos - digits > 1)) {
		ctf2_fail(p, j->off, WW_ECORRUPT, "JSON: not a value");
		return;
	}
	for (; p->pos < p->end && t[p->pos] && strchr("+-.eE0123456789", t[p->pos]); p->pos++)
		whole = false;
	if (!whole) {
		j->kind = J_REAL;
		return;
	}
	if (over || (j->negative && j->u > (uint64_t)INT64_MAX + 1))
		ctf2_fail(p, j->off, WW_EUNSUPPORTED, "a number of over 64 bits");
	if (j->negative)
		j->u = -j->u;
	j->negative &= j->u != 0;
}

static bool word(struct ctf2 *p, const char *w)
{
	size_t n = strlen(w);

	if (p->end - p->pos < n || memcmp(p->m->text + p->pos, w, n))
		return false;
	p->pos += n;
	return true;
}

static struct ctf2_json *value(struct ctf2 *p, unsigned depth);

static void children(struct ctf2 *p, struct ctf2_json *j, unsigned depth)
{
	bool object = j->kind == J_OBJECT;
	char close = object ? '}' : ']';
	struct ctf2_json **last = &j->first;

	p->pos++;
	if (accept(p, close))
		return;
	do {
		const char *key = NULL;
		if (object) {
			blank(p);
			key = string(p);
			expect(p, ':');
		}
		struct ctf2_json *c = value(p, depth + 1);
		if (!c)
			return;
		c->key = key;
		*last = c;
		last = &c->next;
		j->n++;
	} while (accept(p, ','));
	expect(p, close);
}

static struct ctf2_json *value(struct ctf2 *p, unsigned depth)
{
	blank(p);
	if (p->failed)
		return NULL;
	if (depth > CTF2_MAX_JSON_DEPTH || ++p->nnodes > CTF2_MAX_JSON_NODES) {
		ctf2_fail(p, p->pos, WW_ELIMIT, depth > CTF2_MAX_JSON_DEPTH ? "JSON is nested over %u deep" :
			  "a fragment of over %u JSON values", depth > CTF2_MAX_JSON_DEPTH ? CTF2_MAX_JSON_DEPTH : CTF2_MAX_JSON_NODES);
		return NULL;
	}
	struct ctf2_json *j = WW_ARENA_NEW(&p->tree, struct ctf2_json);
	char c = peek(p);
	j->off = p->pos;
	j->s = "";
	if (p->pos >= p->end) {
		ctf2_fail(p, p->pos, WW_ETRUNC, "JSON ends where a value is expected");
	} else if (c == '{' || c == '[') {
		j->kind = c == '{' ? J_OBJECT : J_ARRAY;
		children(p, j, depth);
	} else if (c == '"') {
		j->kind = J_STRING;
		j->s = string(p);
	} else if (word(p, "true")) {
		j->kind = J_BOOL;
		j->u = 1;
	} else if (word(p, "false")) {
		j->kind = J_BOOL;
	} else if (!word(p, "null")) {
		number(p, j);
	}
	return p->failed ? NULL : j;
}

struct ctf2_json *ctf2_json_parse(struct ctf2 *p)
{
	p->nnodes = 0;
	struct ctf2_json *j = value(p, 0);
	blank(p);
	if (!p->failed && p->pos < p->end)
		ctf2_fail(p, p->pos, WW_ECORRUPT, "JSON: something stands after the value");
	return p->failed ? NULL : j;
}

/* ---- members ---- */

static const char *const kind_names[] = {"null", "a boolean", "an integer", "a real number", "a string", "an array",
					 "an object"};

struct ctf2_json *ctf2_find(const struct ctf2_json *o, const char *key)
{
	struct ctf2_json *got = NULL;

	for (struct ctf2_json *c = o && o->kind == J_OBJECT ? o->first : NULL; c; c = c->next)
		if (!strcmp(c->key, key))
			got = c;
	return got;
}

struct ctf2_json *ctf2_get(struct ctf2 *p, const struct ctf2_json *o, const char *key, enum ctf2_kind kind)
{
	struct ctf2_json *c = p->failed ? NULL : ctf2_find(o, key);

	if (c && c->kind != kind) {
		ctf2_fail(p, c->off, WW_ECORRUPT, "`%.60s` is %s; it should be %s", key, kind_names[c->kind], kind_names[kind]);
		return NULL;
	}
	return c;
}

struct ctf2_json *ctf2_need(struct ctf2 *p, const struct ctf2_json *o, const char *key, enum ctf2_kind kind)
{
	struct ctf2_json *c = ctf2_get(p, o, key, kind);

	if (!c && o)
		ctf2_fail(p, o->off, WW_ECORRUPT, "`%.60s` is missing", key);
	return c;
}

const char *ctf2_string(struct ctf2 *p, const struct ctf2_json *o, const char *key, const char *otherwise)
{
	const struct ctf2_json *c = ctf2_get(p, o, key, J_STRING);

	return c ? c->s : otherwise;
}

uint64_t ctf2_unsigned(struct ctf2 *p, const struct ctf2_json *o, const char *key, uint64_t otherwise)
{
	const struct ctf2_json *c = ctf2_get(p, o, key, J_INT);

	if (c && c->negative)
		ctf2_fail(p, c->off, WW_ECORRUPT, "`%.60s` is below zero", key);
	return c ? c->u : otherwise;
}

void ctf2_no_extensions(struct ctf2 *p, const struct ctf2_json *o)
{
	const struct ctf2_json *x = ctf2_get(p, o, "extensions", J_OBJECT);

	for (const struct ctf2_json *ns = x ? x->first : NULL; ns && !p->failed; ns = ns->next) {
		if (ns->kind != J_OBJECT)
			ctf2_fail(p, ns->off, WW_ECORRUPT, "the extensions of `%.60s` are no object", ns->key);
		else if (ns->first)
			ctf2_fail(p, ns->first->off, WW_EUNSUPPORTED,
				  "the extension `%.60s` of `%.60s` can change how the trace is to be read, and is not known here",
				  ns->first->key, ns->key);
	}
}
