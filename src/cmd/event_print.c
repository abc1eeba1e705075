/* event_print.c - events as text and JSON. */
#include "cmd/event_print.h"

#include <time.h>

#include "base/units.h"
#include "cmd/commands.h"

int64_t ww_event_offset_ns(const struct ww_trace_info *info)
{
	return info->clock.epoch_known ? info->clock.offset_ns : 0;
}

void ww_event_print_time(FILE *out, const struct ww_trace_info *info, int64_t ts_ns)
{
	/* The local time of the last second that was asked for: it costs more than the rest of a line. */
	static time_t last = -1;
	static char text[16];

	if (ww_clock_counts_cycles(&info->clock)) {
		fprintf(out, "%" PRId64, ts_ns);
		return;
	}
	int64_t ns = ts_ns + ww_event_offset_ns(info), s = ns / WW_NS_PER_S, frac = ns % WW_NS_PER_S;

	if (frac < 0) {
		frac += WW_NS_PER_S;
		s--;
	}
	if (!info->clock.epoch_known) {
		fprintf(out, "%" PRId64 ".%09" PRId64, s, frac);
		return;
	}
	if (s != last) {
		struct tm tm;
		last = (time_t)s;
		localtime_r(&last, &tm);
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	}
	fprintf(out, "%s.%09" PRId64, text, frac);
}

const char *ww_event_dur_format(const struct ww_trace_info *info, int64_t dur_ns, char *buf, size_t size)
{
	if (!ww_clock_counts_cycles(&info->clock))
		return ww_dur_format(dur_ns, buf, size);
	snprintf(buf, size, "%" PRId64 " cycles", dur_ns);
	return buf;
}

/* ---- text ---- */

struct text {
	FILE *out;
	int depth;      /* of structures below the event's own fields */
	bool first;     /* no separator before the next item */
	int skip_from;  /* depth at which the packet's context began; -1: print */
	bool array[64];
};

static void text_escaped(FILE *out, const char *p, uint32_t len)
{
	putc_unlocked('"', out);
	for (uint32_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];
		if (c == '"' || c == '\\') {
			putc_unlocked('\\', out);
			putc_unlocked(c, out);
		} else if (c == '\n') {
			fputs_unlocked("\\n", out);
		} else if (c < 0x20 || c == 0x7f) {
			fprintf(out, "\\x%02x", c);
		} else {
			putc_unlocked(c, out);
		}
	}
	putc_unlocked('"', out);
}

static void text_item(struct text *x, const char *name)
{
	if (!x->first)
		putc_unlocked(' ', x->out);
	x->first = false;
	if (name) {
		fputs_unlocked(name, x->out);
		putc_unlocked('=', x->out);
	}
}

static void text_begin(void *ctx, const char *name, bool array)
{
	struct text *x = ctx;

	x->depth++;
	if (x->skip_from >= 0)
		return;
	if (x->depth == 1 && name && !strcmp(name, "pkt")) {
		x->skip_from = x->depth;
		return;
	}
	text_item(x, name);
	putc_unlocked(array ? '[' : '{', x->out);
	if (x->depth < 64)
		x->array[x->depth] = array;
	x->first = true;
}

static void text_end(void *ctx)
{
	struct text *x = ctx;

	if (x->skip_from < 0)
		putc_unlocked(x->depth < 64 && x->array[x->depth] ? ']' : '}', x->out);
	if (x->skip_from == x->depth)
		x->skip_from = -1;
	x->first = false;
	x->depth--;
}

static void text_number(FILE *out, const struct ww_value *v, int base)
{
	if (base == 16) /* as wide as the field, not as the sign extension */
		fprintf(out, "0x%" PRIx64, v->kind == WW_V_INT && v->len && v->len < 64 ?
			v->u & (((uint64_t)1 << v->len) - 1) : v->u);
	else if (base == 8)
		fprintf(out, "0%" PRIo64, v->u);
	else if (v->kind == WW_V_INT)
		fprintf(out, "%" PRId64, v->i);
	else
		fprintf(out, "%" PRIu64, v->u);
}

static void text_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct text *x = ctx;

	if (x->skip_from >= 0)
		return;
	text_item(x, name);
	switch (v->kind) {
	case WW_V_UINT:
	case WW_V_INT:
		text_number(x->out, v, base);
		break;
	case WW_V_FLOAT:
		fprintf(x->out, "%.17g", v->f);
		break;
	case WW_V_STR:
		text_escaped(x->out, v->p, v->len);
		break;
	case WW_V_BYTES:
		putc_unlocked('<', x->out);
		for (uint32_t i = 0; i < v->len; i++)
			fprintf(x->out, "%s%02x", i ? " " : "", (unsigned char)v->p[i]);
		putc_unlocked('>', x->out);
		break;
	default:
		putc_unlocked('-', x->out);
	}
	if (label)
		fprintf(x->out, "(%s)", label);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *file_name(const struct ww_trace *t, const struct ww_origin *from)
{
	const struct ww_trace_stats *st = ww_trace_stats(t);

	return from->file < st->nfiles ? st->files[from->file] : "?";
}

static const char *event_name(const struct ww_trace *t, const struct ww_event *ev)
{
	return ev->cls == WW_CLS_GAP ? "(lost)" : ww_trace_class(t, ev->cls)->name;
}

int ww_event_print_text(FILE *out, struct ww_trace *t, const struct ww_event *ev, bool with_offset, struct ww_err *err)
{
	static const struct ww_visitor v = {text_begin, text_end, text_value};
	const struct ww_origin *from = ww_trace_origin(t);
	struct text x = {.out = out, .skip_from = -1};

	if (with_offset)
		fprintf(out, "%s:%" PRIu64 " ", base_name(file_name(t, from)), from->offset);
	ww_event_print_time(out, ww_trace_info(t), ev->ts_ns);
	if (ev->cpu >= 0)
		fprintf(out, " cpu%d", ev->cpu);
	putc_unlocked(' ', out);
	fputs_unlocked(event_name(t, ev), out);
	if (ev->cls == WW_CLS_GAP) {
		char dur[32];
		ww_event_dur_format(ww_trace_info(t), ev->ts_ns - ev->v[1].i, dur, sizeof(dur));
		if (ev->v[0].u)
			fprintf(out, ": %" PRIu64 " events in %s\n", ev->v[0].u, dur);
		else
			fprintf(out, ": an unknown number of events in %s\n", dur);
		return 0;
	}
	putc_unlocked(':', out);
	int rc = ww_trace_visit(t, ev, &v, &x, err);
	putc_unlocked('\n', out);
	return rc;
}

/* ---- JSON ---- */

struct json {
	struct ww_json *j;
	int depth, skip_from;
	bool in_fields; /* "fields" is open; contexts come after it */
};

static void json_begin(void *ctx, const char *name, bool array)
{
	struct json *x = ctx;

	x->depth++;
	if (x->skip_from >= 0)
		return;
	bool top = x->depth == 1 && name && !array;
	if (top && !strcmp(name, "pkt")) {
		x->skip_from = x->depth;
		return;
	}
	if (top && !strcmp(name, "ctx") && x->in_fields) {
		ww_json_end(x->j);
		x->in_fields = false;
		name = "context";
	}
	(array ? ww_json_arr : ww_json_obj)(x->j, name);
}

static void json_end(void *ctx)
{
	struct json *x = ctx;

	if (x->skip_from < 0)
		ww_json_end(x->j);
	if (x->skip_from == x->depth)
		x->skip_from = -1;
	x->depth--;
}

static void json_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct json *x = ctx;

	if (x->skip_from >= 0)
		return;
	switch (v->kind) {
	case WW_V_UINT:
		ww_json_u64(x->j, name, v->u);
		break;
	case WW_V_INT:
		ww_json_i64(x->j, name, v->i);
		break;
	case WW_V_FLOAT:
		ww_json_f64(x->j, name, v->f);
		break;
	case WW_V_STR:
		ww_json_strn(x->j, name, v->p, v->len);
		break;
	case WW_V_BYTES:
		ww_json_arr(x->j, name);
		for (uint32_t i = 0; i < v->len; i++)
			ww_json_u64(x->j, NULL, (unsigned char)v->p[i]);
		ww_json_end(x->j);
		break;
	default:
		ww_json_null(x->j, name);
	}
}

int ww_event_print_json(struct ww_json *j, struct ww_trace *t, const struct ww_event *ev, bool with_offset,
			struct ww_err *err)
{
	static const struct ww_visitor v = {json_begin, json_end, json_value};
	const int64_t offset = ww_event_offset_ns(ww_trace_info(t));
	const struct ww_origin *from = ww_trace_origin(t);
	struct json x = {.j = j, .skip_from = -1, .in_fields = true};
	int rc = 0;

	ww_json_obj(j, NULL);
	ww_json_i64(j, "time_ns", ev->ts_ns + offset);
	if (ev->cpu >= 0)
		ww_json_i64(j, "cpu", ev->cpu);
	else
		ww_json_null(j, "cpu");
	ww_json_u64(j, "stream", from->stream);
	ww_json_str(j, "name", event_name(t, ev));
	if (with_offset) {
		ww_json_str(j, "file", file_name(t, from));
		ww_json_u64(j, "offset", from->offset);
	}
	if (ev->cls == WW_CLS_GAP) {
		ww_json_u64(j, "lost", ev->v[0].u);
		ww_json_i64(j, "begin_ns", ev->v[1].i + offset);
	} else {
		ww_json_obj(j, "fields");
		rc = ww_trace_visit(t, ev, &v, &x, err);
		if (x.in_fields)
			ww_json_end(j);
	}
	ww_json_end(j);
	return rc;
}

int ww_trace_note_damage(const struct ww_trace *t, bool quiet, int verbose)
{
	const struct ww_trace_stats *st = ww_trace_stats(t);
	const struct ww_damage *d;
	uint32_t n = ww_trace_damage(t, &d);
	char buf[1200];

	for (uint32_t i = 0; i < n && !quiet && (verbose || i < 3); i++) {
		ww_err_format(&d[i].err, buf, sizeof(buf));
		fprintf(stderr, "whywait: damaged: %s\n", buf);
	}
	if (!quiet && !verbose && st->bad_packets > 3)
		fprintf(stderr, "whywait: damaged: %" PRIu64 " more places (-v)\n", st->bad_packets - 3);
	if (!quiet && st->lost_events)
		fprintf(stderr, "whywait: %" PRIu64 " events were lost while recording\n", st->lost_events);
	return st->lost_events || st->bad_packets ? WW_EXIT_PARTIAL : WW_EXIT_DONE;
}
