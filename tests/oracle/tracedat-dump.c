/* tracedat-dump FILE: every event of a trace.dat as a line of JSON, for tests/oracle/tracedat_traces.py. It asks
 * the reader and nothing above it, so that a difference is the reader's. */
#include <stdio.h>

#include "base/jsonout.h"
#include "format/format.h"

static void begin(void *ctx, const char *name, bool array)
{
	if (array)
		ww_json_arr(ctx, name);
	else
		ww_json_obj(ctx, name);
}

static void end(void *ctx)
{
	ww_json_end(ctx);
}

/* A field is {"u"|"i"|"s"|"b": value, "label": symbol}; elements of arrays are bare. */
static void value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct ww_json *j = ctx;
	char hex[3];

	if (name)
		ww_json_obj(j, name);
	if (v->kind == WW_V_UINT)
		ww_json_u64(j, name ? "u" : NULL, v->u);
	else if (v->kind == WW_V_INT)
		ww_json_i64(j, name ? "i" : NULL, v->i);
	else if (v->kind == WW_V_STR)
		ww_json_strn(j, name ? "s" : NULL, v->p, v->len);
	else if (v->kind == WW_V_BYTES) {
		ww_json_arr(j, name ? "b" : NULL);
		for (uint32_t i = 0; i < v->len; i++) {
			snprintf(hex, sizeof(hex), "%02x", (uint8_t)v->p[i]);
			ww_json_str(j, NULL, hex);
		}
		ww_json_end(j);
	}
	if (label)
		ww_json_str(j, "label", label);
	if (name)
		ww_json_end(j);
}

static const struct ww_visitor visitor = {.begin = begin, .end = end, .value = value};

static int fail(const struct ww_err *err)
{
	char text[1000];

	ww_err_format(err, text, sizeof(text));
	fprintf(stderr, "tracedat-dump: %s\n", text);
	return 1;
}

int main(int argc, char **argv)
{
	const struct ww_format *f = &ww_format_tracedat;
	struct ww_open_opts opts = {.strict = true};
	struct ww_err err = {0};
	struct ww_trace *t;
	struct ww_event ev;
	int rc;

	if (argc != 2 || !f->probe(argv[1])) {
		fprintf(stderr, "tracedat-dump FILE: a trace.dat\n");
		return 2;
	}
	if (f->open(argv[1], &opts, &t, &err))
		return fail(&err);
	while ((rc = f->next(t, &ev, &err)) == 1) {
		struct ww_json j;
		bool gap = ev.cls == WW_CLS_GAP;

		ww_json_init(&j, stdout, false);
		ww_json_obj(&j, NULL);
		ww_json_i64(&j, "ts", ev.ts_ns + (t->info.clock.epoch_known ? t->info.clock.offset_ns : 0));
		ww_json_i64(&j, "cpu", ev.cpu);
		ww_json_u64(&j, "stream", t->from.stream);
		ww_json_str(&j, "name", gap ? "GAP" : f->get_class(t, ev.cls)->name);
		if (gap)
			ww_json_u64(&j, "lost", ev.v[0].u);
		ww_json_obj(&j, "payload");
		if (!gap && f->visit(t, &ev, &visitor, &j, &err))
			return fail(&err);
		ww_json_end(&j);
		ww_json_end(&j);
		if (ww_json_finish(&j))
			return 1;
	}
	f->close(t);
	return rc ? fail(&err) : 0;
}
