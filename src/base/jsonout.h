/* jsonout.h - a small streaming JSON writer: commas, escaping and nesting are its business.
 *
 *   struct ww_json j; ww_json_init(&j, stdout, true);
 *   ww_json_obj(&j, NULL); ww_json_i64(&j, "wall_ns", 12); ww_json_end(&j); ww_json_finish(&j);
 * `key` is NULL inside arrays and at the top. Invalid UTF-8 is written as U+FFFD. What is written is gathered in the
 * writer: nothing else may be written to `out` before ww_json_finish.
 */
#ifndef WW_JSONOUT_H
#define WW_JSONOUT_H

#include <stdio.h>

#include "base/base.h"

#define WW_JSON_MAX_DEPTH 256

struct ww_json {
	FILE *out;
	bool pretty;
	int depth, row_depth; /* deeper than row_depth nothing begins a line */
	uint32_t n;           /* of buf */
	char close[WW_JSON_MAX_DEPTH]; /* ']' or '}' */
	bool first[WW_JSON_MAX_DEPTH];
	char buf[4096];
};

void ww_json_init(struct ww_json *j, FILE *out, bool pretty);
void ww_json_obj(struct ww_json *j, const char *key);
void ww_json_arr(struct ww_json *j, const char *key);
/* An array of very many elements: each stands on a line of its own. Not inside another. */
void ww_json_rows(struct ww_json *j, const char *key);
void ww_json_end(struct ww_json *j);
void ww_json_i64(struct ww_json *j, const char *key, int64_t v);
void ww_json_u64(struct ww_json *j, const char *key, uint64_t v);
void ww_json_f64(struct ww_json *j, const char *key, double v); /* null when not finite */
void ww_json_bool(struct ww_json *j, const char *key, bool v);
void ww_json_null(struct ww_json *j, const char *key);
void ww_json_str(struct ww_json *j, const char *key, const char *v); /* NULL: null */
void ww_json_strn(struct ww_json *j, const char *key, const char *v, size_t len);
/* Writes the last newline; returns 0, or -1 when the stream had an error. */
int ww_json_finish(struct ww_json *j);

#endif
