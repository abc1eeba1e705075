/* format_ahead.c - reading ahead in a thread, and counting without the merge, against the plain reader: on random
 * traces of several streams, whole and damaged, and on the fuzzers' seeds of the other formats, every event with
 * its values and what a visitor is told is the same, in the same order, and so are the sums and the damage. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/writer.h"
#include "format/format.h"
#include "../tap.h"

#define STREAMS 5
#define FIELD(type) "integer { size = " type "; align = 8; signed = 0; encoding = none; base = 10; } "

static uint64_t seed = 88172645463325252ull;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* ---- a trace in words ---- */

struct transcript {
	char *text;
	size_t len;
};

static void say_value(FILE *out, const char *name, const struct ww_value *v)
{
	fprintf(out, " %s:%d:", name ? name : "", v->kind);
	if (v->kind == WW_V_STR || v->kind == WW_V_BYTES)
		fwrite(v->p, 1, v->len, out);
	else if (v->kind == WW_V_FLOAT)
		fprintf(out, "%a", v->f);
	else if (v->kind == WW_V_ARRAY)
		fprintf(out, "[%u]", v->len);
	else if (v->kind != WW_V_NONE)
		fprintf(out, "%" PRIx64, v->u);
}

static void on_begin(void *ctx, const char *name, bool array)
{
	fprintf(ctx, " %s%c", name ? name : "", array ? '[' : '{');
}

static void on_end(void *ctx)
{
	fputs(" }", ctx);
}

static void on_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	say_value(ctx, name, v);
	fprintf(ctx, "(%s)%d", label ? label : "", base);
}

static void say_event(FILE *out, struct ww_trace *t, const struct ww_event *ev)
{
	static const struct ww_visitor v = {on_begin, on_end, on_value};

	fprintf(out, "%" PRIi64 " %u %d", ev->ts_ns, ev->cls, ev->cpu);
	for (uint32_t i = 0; i < ev->nval; i++)
		say_value(out, "", &ev->v[i]);
	if (ev->cls != WW_CLS_GAP && ev->cls % 2 == 0)
		fprintf(out, " visited %d", ww_trace_visit(t, ev, &v, out, NULL));
	fputc('\n', out);
}

static void say_end(FILE *out, struct ww_trace *t, int rc, const struct ww_err *err)
{
	const struct ww_trace_stats *s = ww_trace_stats(t);
	const struct ww_damage *d;
	uint32_t n = ww_trace_damage(t, &d);

	fprintf(out, "rc %d %s, %" PRIu64 " events %" PRIu64 " lost %" PRIu64 " bad %" PRIu64 " out of order %" PRIi64
		" to %" PRIi64 "\n", rc, err->message, s->events, s->lost_events, s->bad_packets, s->out_of_order,
		s->begin_ts_ns, s->end_ts_ns);
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s %" PRIu64 " %s\n", d[i].err.file, d[i].err.offset, d[i].err.message);
}

/* Half of the classes are visited; of each some fields are wanted, one class in seven is ignored. */
static void ask(struct ww_trace *t)
{
	static const char *want[8];

	for (uint32_t c = 0; c < ww_trace_info(t)->nclasses; c++) {
		const struct ww_class *k = ww_trace_class(t, c);
		uint32_t n = 0;

		for (uint32_t i = 0; i < k->nfields && n < 6; i++)
			want[n++] = k->field_names[i];
		want[n++] = "no_such_field";
		ww_trace_want(t, c, want, n, NULL);
		if (c % 7 == 6)
			ww_trace_ignore(t, c);
		if (c % 2 == 0)
			ww_trace_will_visit(t, c, false);
	}
}

static struct transcript read_trace(const char *path, bool strict, bool ahead)
{
	struct ww_open_opts opts = {.strict = strict};
	struct ww_err err = {0};
	struct transcript to = {0};
	FILE *out = open_memstream(&to.text, &to.len);
	struct ww_trace *t = NULL;
	const struct ww_event *evs;
	struct ww_event ev;
	int rc = ww_trace_open(path, &opts, &t, &err);

	if (rc) {
		fprintf(out, "open %d %s", rc, err.message);
		fclose(out);
		return to;
	}
	ask(t);
	if (ahead) {
		ww_trace_read_ahead(t);
		while ((rc = ww_trace_batch(t, &evs, &err)) > 0)
			for (int i = 0; i < rc; i++, evs = ww_event_next(evs))
				say_event(out, t, evs);
	} else {
		while ((rc = ww_trace_next(t, &ev, &err)) > 0)
			say_event(out, t, &ev);
	}
	say_end(out, t, rc, &err);
	ww_trace_close(t);
	fclose(out);
	return to;
}

static bool same_ahead(const char *path, bool strict)
{
	struct transcript a = read_trace(path, strict, false), b = read_trace(path, strict, true);
	size_t i = 0;
	bool same = a.len == b.len && !memcmp(a.text, b.text, a.len);

	while (!same && i < a.len && i < b.len && a.text[i] == b.text[i])
		i++;
	if (!same)
		printf("# %s: differs at %zu\n# plain %.200s\n# ahead %.200s\n", path, i, a.text + (i > 60 ? i - 60 : 0),
		       b.text + (i > 60 ? i - 60 : 0));
	free(a.text);
	free(b.text);
	return same;
}

/* ---- counting ---- */

static bool same_count(const char *path)
{
	struct ww_trace *t[2] = {0};
	struct ww_event ev;
	int rc[2];
	bool same = true;

	for (int i = 0; i < 2; i++)
		if (ww_trace_open(path, NULL, &t[i], NULL))
			return true; /* same_ahead has compared why */
	const uint32_t n = ww_trace_info(t[0])->nclasses;
	uint64_t *counts = ww_xcalloc(2 * (size_t)n + 1, sizeof(*counts));
	rc[0] = ww_trace_count(t[0], counts, NULL);
	while ((rc[1] = ww_trace_next(t[1], &ev, NULL)) > 0)
		if (ev.cls != WW_CLS_GAP)
			counts[n + ev.cls]++;
	const struct ww_trace_stats *a = ww_trace_stats(t[0]), *b = ww_trace_stats(t[1]);
	same = rc[0] == rc[1] && !memcmp(counts, counts + n, n * sizeof(*counts)) && a->events == b->events &&
	       a->lost_events == b->lost_events && a->bad_packets == b->bad_packets &&
	       a->out_of_order == b->out_of_order && a->begin_ts_ns == b->begin_ts_ns && a->end_ts_ns == b->end_ts_ns;
	if (!same)
		printf("# %s: counted %" PRIu64 " events, %" PRIu64 " lost, %" PRIu64 " bad, %" PRIu64 " out of order; merged %"
		       PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n", path, a->events, a->lost_events, a->bad_packets,
		       a->out_of_order, b->events, b->lost_events, b->bad_packets, b->out_of_order);
	free(counts);
	ww_trace_close(t[0]);
	ww_trace_close(t[1]);
	return same;
}

/* ---- random traces ---- */

static const struct ww_ctf_class classes[] = {
	{0, "numbers", FIELD("32") "_a;\n" FIELD("8") "_b;\n" FIELD("64") "_c;\n"},
	{1, "text", "string _s;\n" FIELD("32") "_a;\n"},
	{2, "list", FIELD("8") "__n_length;\n" FIELD("16") "_n[ __n_length ];\n"},
	{3, "empty", ""},
	{40000, "name", "integer { size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; } _name[16];\n"},
	{5, "more", FIELD("64") "_a;\n" FIELD("64") "_b;\n"},
	{6, "ignored", FIELD("64") "_a;\n"},
};

static int write_event(struct ww_ctf_out *o, uint64_t ts, struct ww_err *err)
{
	uint32_t c = rnd(WW_ARRAY_SIZE(classes)), n = rnd(30);
	char text[32] = {0};
	int rc = ww_ctf_rec_begin(o, classes[c].id, ts, err);

	for (uint32_t i = 0; i < n; i++)
		text[i] = (char)('a' + rnd(26));
	if (c == 0) {
		ww_ctf_rec_u32(o, rnd(1u << 30));
		ww_ctf_rec_u8(o, (uint8_t)rnd(256));
		ww_ctf_rec_u64(o, ts * 3);
	} else if (c == 1) {
		ww_ctf_rec_str(o, text);
		ww_ctf_rec_u32(o, n);
	} else if (c == 2) {
		ww_ctf_rec_u8(o, (uint8_t)n);
		for (uint32_t i = 0; i < n; i++)
			ww_ctf_rec_u16(o, (uint16_t)rnd(65536));
	} else if (c == 4) {
		ww_ctf_rec_text(o, text, 16);
	} else if (c == 5) {
		ww_ctf_rec_u64(o, n);
		ww_ctf_rec_u64(o, ts);
	} else if (c == 6) {
		ww_ctf_rec_u64(o, 1);
	}
	ww_ctf_rec_end(o);
	return rc;
}

static bool write_trace(const char *dir, uint32_t events)
{
	struct ww_ctf_meta m = {.clock_uuid = "00000000-1111-2222-3333-444444444444", .trace_name = "random",
				.creation = "20261129T145118+0000", .classes = classes, .nclasses = WW_ARRAY_SIZE(classes)};
	struct ww_ctf_out o[STREAMS];
	struct ww_err err = {0};
	uint64_t ts = 1000;
	char name[16];
	int fd = open(dir, O_DIRECTORY | O_RDONLY), rc = ww_ctf_uuid_make(m.uuid, &err);

	if (!rc)
		rc = ww_ctf_meta_write(fd, "metadata", &m, &err);
	for (uint32_t i = 0; i < STREAMS && !rc; i++) {
		snprintf(name, sizeof(name), "c_%u", i);
		rc = ww_ctf_out_open(&o[i], fd, name, m.uuid, i, i, &err);
	}
	for (uint32_t i = 0; i < events && !rc; i++) {
		struct ww_ctf_out *s = &o[rnd(4) ? 0 : rnd(STREAMS)];

		ts += rnd(3) ? rnd(2000) : 0; /* equal stamps, in one stream and across */
		rc = write_event(s, ts, &err);
		if (rnd(500) == 0) {
			s->discarded += rnd(3);
			rc = rc ? rc : ww_ctf_out_flush(s, &err);
		}
	}
	for (uint32_t i = 0; i < STREAMS && !rc; i++)
		rc = ww_ctf_out_close(&o[i], &err);
	close(fd);
	if (rc)
		printf("# %s\n", err.message);
	return !rc;
}

/* Some bytes of a stream become others; stamps go back, sizes are wrong, classes do not exist. */
static void damage(const char *dir)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/c_%u", dir, rnd(STREAMS));
	int fd = open(path, O_RDWR);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || st.st_size < 200) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (uint32_t i = rnd(6) + 1; i; i--) {
		uint8_t b = (uint8_t)rnd(256);
		if (pwrite(fd, &b, 1, (off_t)(rnd(3) ? rnd(200) : rnd((uint32_t)st.st_size))) != 1)
			break;
	}
	if (rnd(4) == 0 && ftruncate(fd, st.st_size - 1 - rnd(150)))
		perror("ftruncate");
	close(fd);
}

static void remove_trace(const char *dir)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	if (system(cmd))
		puts("# a folder stayed behind");
}

static void random_traces(void)
{
	unsigned whole = 0, broken = 0, counted = 0, strict = 0;

	for (int i = 0; i < 24; i++) {
		char dir[] = "/tmp/ww-ahead-XXXXXX";

		if (!mkdtemp(dir) || !write_trace(dir, 200 + rnd(i < 4 ? 12000 : 1500)))
			break;
		whole += same_ahead(dir, false);
		counted += same_count(dir);
		for (int k = 0; k < 4; k++) {
			damage(dir);
			broken += same_ahead(dir, false);
			strict += same_ahead(dir, true);
			counted += same_count(dir);
		}
		remove_trace(dir);
	}
	is_i64(whole, 24, "random traces: ahead as plain");
	is_i64(broken, 96, "damaged traces: ahead as plain");
	is_i64(strict, 96, "damaged traces, strict: ahead as plain");
	is_i64(counted, 120, "counted as merged");
}

static void seeds_of(const char *format)
{
	const char *src = getenv("WW_SRC");
	char path[1024];
	struct dirent *e;
	unsigned n = 0, same = 0;

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", src ? src : ".", format);
	DIR *d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s/%s", src ? src : ".", format, e->d_name);
		n++;
		same += same_ahead(path, false) && same_count(path);
	}
	if (d)
		closedir(d);
	ok(n > 0 && same == n, "%s: %u of %u seeds: ahead and counted as plain", format, same, n);
}

/* The thread ends wherever it is. */
static void closed_early(void)
{
	char dir[] = "/tmp/ww-ahead-XXXXXX";
	const struct ww_event *evs;
	struct ww_trace *t = NULL;
	int n = 0;

	if (!mkdtemp(dir) || !write_trace(dir, 20000))
		return;
	for (int i = 0; i < 20; i++) {
		if (ww_trace_open(dir, NULL, &t, NULL))
			break;
		ask(t);
		ww_trace_read_ahead(t);
		for (int k = rnd(8); k > 0 && ww_trace_batch(t, &evs, NULL) > 0; k--)
			;
		ww_trace_close(t);
		n++;
	}
	is_i64(n, 20, "a trace that is closed in the middle");
	remove_trace(dir);
}

int main(void)
{
	random_traces();
	seeds_of("tracedat");
	seeds_of("perfdata");
	closed_early();
	return done_testing();
}
