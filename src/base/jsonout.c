/* jsonout.c - the streaming JSON writer (RFC 8259). */
#include "base/jsonout.h"
#include "base/units.h"

#include <math.h>

/* The buffer is not cleared: a line of output may have a writer of its own. */
void ww_json_init(struct ww_json *j, FILE *out, bool pretty)
{
	j->out = out;
	j->pretty = pretty;
	j->depth = 0;
	j->row_depth = WW_JSON_MAX_DEPTH;
	j->n = 0;
	j->first[0] = true;
}

static void flush(struct ww_json *j)
{
	fwrite(j->buf, 1, j->n, j->out);
	j->n = 0;
}

static void put(struct ww_json *j, const char *s, size_t len)
{
	if (len > sizeof(j->buf) - j->n) {
		flush(j);
		if (len > sizeof(j->buf)) {
			fwrite(s, 1, len, j->out);
			return;
		}
	}
	memcpy(j->buf + j->n, s, len);
	j->n += (uint32_t)len;
}

static void put_char(struct ww_json *j, char c)
{
	if (j->n == sizeof(j->buf))
		flush(j);
	j->buf[j->n++] = c;
}

static void put_escaped(struct ww_json *j, uint8_t c)
{
	char code[8];

	switch (c) {
	case '"': put(j, "\\\"", 2); break;
	case '\\': put(j, "\\\\", 2); break;
	case '\n': put(j, "\\n", 2); break;
	case '\t': put(j, "\\t", 2); break;
	case '\r': put(j, "\\r", 2); break;
	default: put(j, code, (size_t)snprintf(code, sizeof(code), "\\u%04x", c));
	}
}

static void put_string(struct ww_json *j, const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;

	put_char(j, '"');
	for (size_t i = 0; i < len;) {
		size_t n, from = i;

		while (i < len && p[i] >= 0x20 && p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
			i++;
		put(j, s + from, i - from);
		if (i == len)
			break;
		n = ww_utf8_len(s + i, len - i);
		if (!n)
			put(j, "\xef\xbf\xbd", 3);
		else if (n == 1)
			put_escaped(j, p[i]);
		else
			put(j, s + i, n);
		i += n ? n : 1;
	}
	put_char(j, '"');
}

static void indent(struct ww_json *j)
{
	if (!j->pretty || j->depth > j->row_depth)
		return;
	put_char(j, '\n');
	for (int i = 0; i < j->depth; i++)
		put(j, "  ", 2);
}

static bool is_row(const struct ww_json *j)
{
	return j->depth > j->row_depth;
}

static void lead(struct ww_json *j, const char *key)
{
	if (!j->first[j->depth])
		put(j, ", ", j->pretty && is_row(j) ? 2 : 1);
	if (j->depth)
		indent(j);
	j->first[j->depth] = false;
	if (key) {
		put_string(j, key, strlen(key));
		put(j, ": ", j->pretty ? 2 : 1);
	}
}

static void open_level(struct ww_json *j, const char *key, char open, char close)
{
	lead(j, key);
	WW_ASSERT(j->depth + 1 < WW_JSON_MAX_DEPTH);
	put_char(j, open);
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

void ww_json_rows(struct ww_json *j, const char *key)
{
	open_level(j, key, '[', ']');
	j->row_depth = j->depth;
}

void ww_json_end(struct ww_json *j)
{
	WW_ASSERT(j->depth > 0);
	char close = j->close[j->depth];
	bool empty = j->first[j->depth], row = is_row(j);

	j->depth--;
	if (!empty && !row)
		indent(j);
	put_char(j, close);
	if (j->depth < j->row_depth)
		j->row_depth = WW_JSON_MAX_DEPTH;
}

void ww_json_i64(struct ww_json *j, const char *key, int64_t v)
{
	char text[1 + WW_DIGITS], *end = text + sizeof(text), *from = ww_number_put(v, end);

	lead(j, key);
	put(j, from, (size_t)(end - from));
}

void ww_json_u64(struct ww_json *j, const char *key, uint64_t v)
{
	char text[WW_DIGITS], *end = text + sizeof(text), *from = ww_digits_put(v, end);

	lead(j, key);
	put(j, from, (size_t)(end - from));
}

void ww_json_f64(struct ww_json *j, const char *key, double v)
{
	char text[32];

	lead(j, key);
	if (isfinite(v))
		put(j, text, (size_t)snprintf(text, sizeof(text), "%.17g", v));
	else
		put(j, "null", 4);
}

void ww_json_bool(struct ww_json *j, const char *key, bool v)
{
	lead(j, key);
	put(j, v ? "true" : "false", v ? 4 : 5);
}

void ww_json_null(struct ww_json *j, const char *key)
{
	lead(j, key);
	put(j, "null", 4);
}

void ww_json_strn(struct ww_json *j, const char *key, const char *v, size_t len)
{
	lead(j, key);
	put_string(j, v, len);
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
	put_char(j, '\n');
	flush(j);
	return fflush(j->out) || ferror(j->out) ? -1 : 0;
}
