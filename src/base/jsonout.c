/* jsonout.c - the streaming JSON writer (RFC 8259). */
#include "base/jsonout.h"

#include <math.h>

void ww_json_init(struct ww_json *j, FILE *out, bool pretty)
{
	*j = (struct ww_json){.out = out, .pretty = pretty};
	j->first[0] = true;
}

/* Length of the valid UTF-8 sequence at s, 0 when it is not one. */
static size_t utf8_len(const uint8_t *s, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	uint32_t c;

	if (!n || n > left)
		return 0;
	if (n == 1)
		return 1;
	c = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

static void put_escaped(FILE *out, uint8_t c)
{
	switch (c) {
	case '"': fputs("\\\"", out); break;
	case '\\': fputs("\\\\", out); break;
	case '\n': fputs("\\n", out); break;
	case '\t': fputs("\\t", out); break;
	case '\r': fputs("\\r", out); break;
	default: fprintf(out, "\\u%04x", c);
	}
}

static void put_string(FILE *out, const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;

	fputc('"', out);
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(p + i, len - i);

		if (!n) {
			fputs("\xef\xbf\xbd", out);
			i++;
			continue;
		}
		if (n == 1 && (p[i] < 0x20 || p[i] == '"' || p[i] == '\\'))
			put_escaped(out, p[i]);
		else
			fwrite(p + i, 1, n, out);
		i += n;
	}
	fputc('"', out);
}

static void indent(struct ww_json *j)
{
	if (!j->pretty)
		return;
	fputc('\n', j->out);
	for (int i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

static void lead(struct ww_json *j, const char *key)
{
	if (!j->first[j->depth])
		fputc(',', j->out);
	if (j->depth)
		indent(j);
	j->first[j->depth] = false;
	if (key) {
		put_string(j->out, key, strlen(key));
		fputs(j->pretty ? ": " : ":", j->out);
	}
}

static void open_level(struct ww_json *j, const char *key, char open, char close)
{
	lead(j, key);
	WW_ASSERT(j->depth + 1 < WW_JSON_MAX_DEPTH);
	fputc(open, j->out);
	j->depth++;
	j->close[j->depth] = close;
	j->first[j->depth] = true;
}

void ww_json_obj(struct ww_json *j, const char *key)
{
	open_level(j, key, '{', '}');
}

void ww_json_arr(struct ww_json *j, const char *key)
{
	open_level(j, key, '[', ']');
}

void ww_json_end(struct ww_json *j)
{
	WW_ASSERT(j->depth > 0);
	char close = j->close[j->depth];
	bool empty = j->first[j->depth];

	j->depth--;
	if (!empty)
		indent(j);
	fputc(close, j->out);
}

void ww_json_i64(struct ww_json *j, const char *key, int64_t v)
{
	lead(j, key);
	fprintf(j->out, "%" PRId64, v);
}

void ww_json_u64(struct ww_json *j, const char *key, uint64_t v)
{
	lead(j, key);
	fprintf(j->out, "%" PRIu64, v);
}

void ww_json_f64(struct ww_json *j, const char *key, double v)
{
	lead(j, key);
	if (isfinite(v))
		fprintf(j->out, "%.17g", v);
	else
		fputs("null", j->out);
}

void ww_json_bool(struct ww_json *j, const char *key, bool v)
{
	lead(j, key);
	fputs(v ? "true" : "false", j->out);
}

void ww_json_null(struct ww_json *j, const char *key)
{
	lead(j, key);
	fputs("null", j->out);
}

void ww_json_strn(struct ww_json *j, const char *key, const char *v, size_t len)
{
	lead(j, key);
	put_string(j->out, v, len);
}

void ww_json_str(struct ww_json *j, const char *key, const char *v)
{
	if (v)
		ww_json_strn(j, key, v, strlen(v));
	else
		ww_json_null(j, key);
}

int ww_json_finish(struct ww_json *j)
{
	WW_ASSERT(j->depth == 0);
	fputc('\n', j->out);
	return fflush(j->out) || ferror(j->out) ? -1 : 0;
}
