/* tsdl_lex.c - TSDL text -> tokens. C's lexical rules, less the preprocessor. */
#include <stdarg.h>
#include <stdio.h>

#include "format/ctf/tsdl.h"

void tsdl_fail(struct tsdl *p, int code, const char *fmt, ...)
{
	char msg[300];
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	p->rc = ww_err_set(p->err, code, p->m->path, ctf_meta_file_offset(p->m, p->tok.off), "%s", msg);
	p->failed = true;
	p->tok.kind = T_EOF;
}

enum { BLANK = 1, LETTER = 2, DIGIT = 4, SIGN = 8 };
static const uint8_t kinds[256] = {
	[' '] = BLANK, ['\t' ... '\r'] = BLANK, ['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['_'] = LETTER,
	['0' ... '9'] = DIGIT, ['{'] = SIGN, ['}'] = SIGN, ['('] = SIGN, [')'] = SIGN, ['['] = SIGN, [']'] = SIGN,
	['<'] = SIGN, ['>'] = SIGN, [';'] = SIGN, [':'] = SIGN, [','] = SIGN, ['='] = SIGN, ['.'] = SIGN, ['*'] = SIGN,
	['+'] = SIGN, ['-'] = SIGN, ['~'] = SIGN,
};

static bool is_a(char c, unsigned kind)
{
	return kinds[(uint8_t)c] & kind;
}

/* The text ends with a NUL, which is of no kind. */
static size_t behind(const char *t, size_t pos, unsigned kind)
{
	while (is_a(t[pos], kind))
		pos++;
	return pos;
}

/* Past white space and comments; false: a comment does not end. */
static bool skip_blank(struct tsdl *p)
{
	const char *t = p->m->text;
	size_t n = p->m->text_len;

	for (;;) {
		p->pos = behind(t, p->pos, BLANK);
		if (p->pos + 1 >= n || t[p->pos] != '/')
			return true;
		if (t[p->pos + 1] == '/') {
			while (p->pos < n && t[p->pos] != '\n')
				p->pos++;
		} else if (t[p->pos + 1] == '*') {
			const char *e = memmem(t + p->pos + 2, n - p->pos - 2, "*/", 2);
			if (!e)
				return false;
			p->pos = (size_t)(e - t) + 2;
		} else {
			return true;
		}
	}
}

static unsigned hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 99;
}

static void lex_number(struct tsdl *p, struct tsdl_tok *k)
{
	const char *t = p->m->text;
	size_t n = p->m->text_len;
	unsigned base = 10, digits = 0;

	if (t[p->pos] == '0') {
		base = 8;
		digits = 1;
		p->pos++;
		if (p->pos < n && (t[p->pos] == 'x' || t[p->pos] == 'X')) {
			base = 16;
			digits = 0;
			p->pos++;
		} else if (p->pos < n && (t[p->pos] == 'b' || t[p->pos] == 'B')) {
			base = 2;
			digits = 0;
			p->pos++;
		}
	}
	for (; p->pos < n && hex_digit(t[p->pos]) < base; p->pos++, digits++) {
		if (__builtin_mul_overflow(k->val, (uint64_t)base, &k->val) ||
		    __builtin_add_overflow(k->val, (uint64_t)hex_digit(t[p->pos]), &k->val)) {
			tsdl_fail(p, WW_ECORRUPT, "a number is over 64 bits");
			return;
		}
	}
	while (p->pos < n && (t[p->pos] == 'u' || t[p->pos] == 'U' || t[p->pos] == 'l' || t[p->pos] == 'L'))
		p->pos++;
	if (!digits || is_a(t[p->pos], LETTER | DIGIT))
		tsdl_fail(p, WW_ECORRUPT, "not a number");
	k->kind = T_INT;
}

/* One character of a string or character constant, escapes undone. */
static char lex_escape(struct tsdl *p)
{
	const char *t = p->m->text;
	size_t n = p->m->text_len;
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	char c = t[p->pos++];
	unsigned v = 0;

	if (c != '\\' || p->pos >= n)
		return c;
	c = t[p->pos];
	if (c == 'x') {
		p->pos++;
		for (int i = 0; i < 2 && p->pos < n && hex_digit(t[p->pos]) < 16; i++)
			v = v * 16 + hex_digit(t[p->pos++]);
		return (char)v;
	}
	if (c >= '0' && c <= '7') {
		for (int i = 0; i < 3 && p->pos < n && hex_digit(t[p->pos]) < 8; i++)
			v = v * 8 + hex_digit(t[p->pos++]);
		return (char)v;
	}
	p->pos++;
	const char *f = c ? strchr(from, c) : NULL;
	return f ? to[f - from] : c;
}

static void lex_string(struct tsdl *p, struct tsdl_tok *k, char quote)
{
	const char *t = p->m->text;
	size_t n = p->m->text_len, end, len = 0;

	p->pos++;
	for (end = p->pos; end < n && t[end] != quote && t[end] != '\n'; end++)
		if (t[end] == '\\')
			end++;
	if (end >= n || t[end] != quote) {
		tsdl_fail(p, WW_ECORRUPT, "a string does not end");
		return;
	}
	char *s = ww_arena_alloc(&p->m->mem, end - p->pos + 1);
	while (p->pos < end)
		s[len++] = lex_escape(p);
	p->pos = end + 1;
	k->kind = quote == '"' ? T_STRING : T_INT;
	k->str = s;
	if (quote == '\'')
		k->val = len == 1 ? (uint64_t)(int64_t)(signed char)s[0] : 0;
	if (quote == '\'' && len != 1)
		tsdl_fail(p, WW_ECORRUPT, "a character constant holds not one character");
}

static void lex(struct tsdl *p, struct tsdl_tok *k)
{
	const char *t = p->m->text;
	size_t n = p->m->text_len;

	*k = (struct tsdl_tok){.kind = T_EOF, .off = p->pos, .str = ""};
	if (p->failed)
		return;
	if (!skip_blank(p)) {
		p->tok.off = p->pos;
		tsdl_fail(p, WW_ECORRUPT, "a comment does not end");
		return;
	}
	k->off = p->pos;
	if (p->pos >= n)
		return;
	char c = t[p->pos];
	if (is_a(c, LETTER)) {
		p->pos = behind(t, p->pos, LETTER | DIGIT);
		k->kind = T_IDENT;
		k->str = ww_arena_strndup(&p->m->mem, t + k->off, p->pos - k->off);
	} else if (is_a(c, DIGIT)) {
		lex_number(p, k);
	} else if (c == '"' || c == '\'') {
		lex_string(p, k, c);
	} else if (c == ':' && p->pos + 1 < n && t[p->pos + 1] == '=') {
		p->pos += 2;
		k->kind = T_ASSIGN;
	} else if (n - p->pos >= 3 && !memcmp(t + p->pos, "...", 3)) {
		p->pos += 3;
		k->kind = T_ELLIPSIS;
	} else if (is_a(c, SIGN)) {
		p->pos++;
		k->kind = c;
	} else {
		p->tok.off = p->pos;
		tsdl_fail(p, WW_ECORRUPT, "byte 0x%02x has no place in TSDL", (unsigned char)c);
	}
	if (p->failed)
		k->kind = T_EOF;
}

void tsdl_next(struct tsdl *p)
{
	struct tsdl_tok k;

	lex(p, &k);
	p->tok = k;
}

bool tsdl_accept(struct tsdl *p, int kind)
{
	if (p->tok.kind != kind || p->failed)
		return false;
	tsdl_next(p);
	return true;
}

static const char *kind_name(int kind, char buf[4])
{
	switch (kind) {
	case T_EOF:
		return "the end";
	case T_IDENT:
		return "a name";
	case T_INT:
		return "a number";
	case T_STRING:
		return "a string";
	case T_ASSIGN:
		return "':='";
	case T_ELLIPSIS:
		return "'...'";
	}
	snprintf(buf, 4, "'%c'", kind);
	return buf;
}

void tsdl_expect(struct tsdl *p, int kind)
{
	char a[4], b[4];

	if (!tsdl_accept(p, kind))
		tsdl_fail(p, p->tok.kind == T_EOF ? WW_ETRUNC : WW_ECORRUPT, "%s where %s is expected",
			  kind_name(p->tok.kind, a), kind_name(kind, b));
}

const char *tsdl_ident(struct tsdl *p)
{
	const char *s = p->tok.str;

	if (p->tok.kind != T_IDENT) {
		tsdl_expect(p, T_IDENT);
		return "";
	}
	tsdl_next(p);
	return s;
}

const char *tsdl_path(struct tsdl *p)
{
	const char *s = tsdl_ident(p);

	for (unsigned n = 0; tsdl_accept(p, '.'); n++) {
		if (n > CTF_MAX_DEPTH)
			tsdl_fail(p, WW_ELIMIT, "a path has over %u steps", CTF_MAX_DEPTH);
		s = ww_arena_printf(&p->m->mem, "%s.%s", s, tsdl_ident(p));
	}
	return s;
}
