/* format_perfdata.c - unit test of src/format/perfdata on files built here: both byte orders, file and
 * pipe mode, order across rounds, losses, and damage of every kind with its code and byte offset. */
#include <stdio.h>
#include <unistd.h>

#include "../tap.h"
#include "base/vec.h"
#include "format/format.h"
#include "format/perfdata/perf_wire.h"

#define SAMPLE_TYPE (PD_SAMPLE_IDENTIFIER | PD_SAMPLE_IP | PD_SAMPLE_TID | PD_SAMPLE_TIME | PD_SAMPLE_CPU | \
		     PD_SAMPLE_PERIOD | PD_SAMPLE_CALLCHAIN | PD_SAMPLE_RAW)
#define ATTR_BYTES 64
#define TEP_ID 300

struct file {
	WW_VEC(uint8_t) b;
	bool big, pipe, dir;
	size_t data_at, data_len;  /* the data section */
	size_t rec[32], nrec;      /* where its records begin */
	char path[64];
};

static void put(struct file *f, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*ww_vec_push(&f->b) = (uint8_t)(v >> 8 * (f->big ? bytes - 1 - i : i));
}

static void put_bytes(struct file *f, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*ww_vec_push(&f->b) = ((const uint8_t *)p)[i];
}

static void patch(struct file *f, size_t at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		f->b.v[at + i] = (uint8_t)(v >> 8 * (f->big ? bytes - 1 - i : i));
}

static size_t rec_begin(struct file *f, uint32_t type, uint16_t misc)
{
	size_t at = f->b.n;

	f->rec[f->nrec++] = at;
	put(f, type, 4);
	put(f, misc, 2);
	put(f, 0, 2);
	return at;
}

static void rec_end(struct file *f, size_t at)
{
	patch(f, at + 6, f->b.n - at, 2);
}

static void put_attr(struct file *f)
{
	uint64_t flags = 1ull << (f->big ? 63 - PD_FLAG_SAMPLE_ID_ALL : PD_FLAG_SAMPLE_ID_ALL);

	put(f, PD_TYPE_TRACEPOINT, 4);
	put(f, ATTR_BYTES, 4);
	put(f, TEP_ID, 8);
	put(f, 1, 8);
	put(f, SAMPLE_TYPE, 8);
	put(f, 0, 8);
	put(f, flags, 8);
	put(f, 0, 8);
	put(f, 0, 8);
}

static void put_formats(struct file *f)
{
	static const char text[] = "name: tick\nID: 300\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:int value;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] what;\toffset:20;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

	put_bytes(f, "\x17\x08\x44tracing0.6", 14);
	put(f, f->big, 1);
	put(f, 8, 1);
	put(f, 4096, 4);
	put_bytes(f, "header_page", 12);
	put(f, 0, 8);
	put_bytes(f, "header_event", 13);
	put(f, 0, 8);
	put(f, 0, 4);
	put(f, 1, 4);
	put_bytes(f, "unit", 5);
	put(f, 1, 4);
	put(f, sizeof(text) - 1, 8);
	put_bytes(f, text, sizeof(text) - 1);
	put(f, 0, 8); /* kallsyms, printk */
	put(f, 0, 8); /* cmdlines */
}

static void put_sample(struct file *f, uint64_t ts, uint32_t cpu, int32_t value)
{
	size_t at = rec_begin(f, PD_REC_SAMPLE, 0);

	put(f, 7, 8);      /* identifier */
	put(f, 0xffffffff81000000, 8);
	put(f, 10, 4);
	put(f, 11, 4);
	put(f, ts, 8);
	put(f, cpu, 4);
	put(f, 0, 4);
	put(f, 1, 8);
	put(f, 2, 8);      /* call chain */
	put(f, 0x1000, 8);
	put(f, 0x2000, 8);
	put(f, 36, 4);     /* raw */
	put(f, TEP_ID, 2);
	put(f, 0, 2);
	put(f, 11, 4);
	put_bytes(f, "abc\0junk", 8);
	put(f, (uint32_t)value, 4);
	put(f, 5u << 16 | 24, 4);
	put_bytes(f, "what\0\0\0\0\0\0\0\0", 12);
	rec_end(f, at);
}

static void put_trailer(struct file *f, uint64_t ts, uint32_t cpu)
{
	put(f, 10, 4);
	put(f, 11, 4);
	put(f, ts, 8);
	put(f, cpu, 4);
	put(f, 0, 4);
	put(f, 7, 8);
}

static void put_round(struct file *f)
{
	rec_end(f, rec_begin(f, PD_REC_FINISHED_ROUND, 0));
}

static void put_data(struct file *f)
{
	size_t at = rec_begin(f, PD_REC_COMM, PD_MISC_COMM_EXEC); /* 0: made up, no stamp */
	put(f, 10, 4);
	put(f, 11, 4);
	put_bytes(f, "wl\0\0\0\0\0\0", 8);
	put_trailer(f, 0, 0);
	rec_end(f, at);
	put_sample(f, 100, 0, 1);  /* 1 */
	put_sample(f, 300, 0, -3); /* 2 */
	put_sample(f, 200, 1, 2);  /* 3 */
	put_round(f);
	put_sample(f, 400, 0, 5);  /* 5 */
	put_sample(f, 250, 1, 4);  /* 6: was recorded while perf went round */
	at = rec_begin(f, PD_REC_LOST, 0); /* 7 */
	put(f, 7, 8);
	put(f, 9, 8);
	put_trailer(f, 350, 1);
	rec_end(f, at);
	put_round(f);
	put_sample(f, 400, 1, 6);  /* 9: of equal stamps the file's order */
}

static void build(struct file *f, bool big, bool pipe, void (*records)(struct file *))
{
	f->big = big;
	f->pipe = pipe;
	f->b.n = f->nrec = 0;
	put_bytes(f, big ? PD_MAGIC_SWAPPED : PD_MAGIC, 8);
	put(f, pipe ? PD_PIPE_HEADER_BYTES : PD_FILE_HEADER_BYTES, 8);
	if (pipe) {
		size_t at = rec_begin(f, PD_REC_HEADER_ATTR, 0);
		put_attr(f);
		put(f, 7, 8);
		rec_end(f, at);
		at = rec_begin(f, PD_REC_HEADER_TRACING_DATA, 0);
		put(f, 0, 4);
		rec_end(f, at);
		size_t begin = f->b.n;
		put_formats(f);
		while ((f->b.n - begin) % 8)
			put(f, 0, 1);
		patch(f, at + 8, f->b.n - begin, 4);
		f->nrec = 0;
		f->data_at = f->b.n;
		records(f);
		f->data_len = f->b.n - f->data_at;
		return;
	}
	put(f, ATTR_BYTES + 16, 8);
	for (int i = 0; i < 10; i++)
		put(f, 0, 8);
	size_t ids = f->b.n;
	put(f, 7, 8);
	patch(f, 24, f->b.n, 8);
	patch(f, 32, ATTR_BYTES + 16, 8);
	put_attr(f);
	put(f, ids, 8);
	put(f, 8, 8);
	f->data_at = f->b.n;
	records(f);
	f->data_len = f->b.n - f->data_at;
	patch(f, 40, f->data_at, 8);
	patch(f, 48, f->data_len, 8);
	patch(f, 72, 1u << PD_FEAT_TRACING_DATA | 1u << PD_FEAT_HOSTNAME | (uint64_t)f->dir << PD_FEAT_DIR_FORMAT, 8);
	size_t table = f->b.n;
	for (int i = 0; i < (f->dir ? 6 : 4); i++)
		put(f, 0, 8);
	patch(f, table, f->b.n, 8);
	size_t begin = f->b.n;
	put_formats(f);
	patch(f, table + 8, f->b.n - begin, 8);
	patch(f, table + 16, f->b.n, 8);
	patch(f, table + 24, 12, 8);
	put(f, 8, 4);
	put_bytes(f, "host\0\0\0\0", 8);
}

static void save(struct file *f, size_t len)
{
	FILE *out = fopen(f->path, "w");

	if (!out || fwrite(f->b.v, 1, len, out) != len || fclose(out)) {
		perror(f->path);
		exit(1);
	}
}

struct result {
	int code;         /* of open or next; 0 read to the end */
	uint64_t offset;
	int damage_code;  /* of the first damage, 0 none */
	uint64_t damage_offset;
	uint64_t events, lost;
};

static struct result read_all(struct file *f, size_t len, bool strict)
{
	struct ww_open_opts opts = {.strict = strict};
	struct result r = {0};
	struct ww_err err = {0};
	const struct ww_damage *d;
	struct ww_trace *t;
	struct ww_event ev;
	static const char *const fields[] = {"value", "comm", "what", "ctx.tid", "callchain", "common_pid"};

	save(f, len);
	int rc = ww_format_perfdata.open(f->path, &opts, &t, &err);
	if (!rc) {
		for (uint32_t c = 0; c < t->info.nclasses; c++)
			t->fmt->want(t, c, fields, WW_ARRAY_SIZE(fields), NULL);
		while ((rc = t->fmt->next(t, &ev, &err)) > 0)
			;
		if (t->fmt->damage(t, &d)) {
			r.damage_code = d->err.code;
			r.damage_offset = d->err.offset;
		}
		r.events = t->stats.events;
		r.lost = t->stats.lost_events;
		t->fmt->close(t);
	}
	r.code = -rc;
	r.offset = err.offset;
	return r;
}

static void test_values(struct file *f, const char *what)
{
	static const struct {
		int64_t ts, value;
		int32_t cpu;
	} want[] = {{100, 1, 0}, {200, 2, 1}, {250, 4, 1}, {300, -3, 0}, {350, 9, 1}, {400, 5, 0}, {400, 6, 1}};
	static const char *const comm_fields[] = {"comm", "exec", "tid", "ctx.pid", "nothing"};
	static const char *const fields[] = {"value", "comm", "what", "ctx.tid", "callchain", "common_pid", "ctx.x"};
	struct ww_err err = {0};
	struct ww_event ev;
	struct ww_trace *t;

	save(f, f->b.n);
	if (!ok(ww_format_perfdata.probe(f->path), "%s: found by content", what) ||
	    !ok(ww_format_perfdata.open(f->path, NULL, &t, &err) == 0, "%s: opens %s", what, err.message))
		return;
	for (uint32_t c = 0; c < t->info.nclasses; c++) {
		const struct ww_class *cls = t->fmt->get_class(t, c);
		if (!strcmp(cls->name, "perf_comm"))
			t->fmt->want(t, c, comm_fields, 5, NULL);
		else if (!strcmp(cls->name, "tick"))
			t->fmt->want(t, c, fields, 7, NULL);
	}
	if (!f->pipe)
		is_str(t->info.hostname, "host", "host name");
	ok(t->fmt->next(t, &ev, &err) == 1 && ev.ts_ns == 100 && ev.nval == 5, "%s: a made-up record comes "
	   "first, stamped like the first event", what);
	ok(ev.v[0].kind == WW_V_STR && ev.v[0].len == 2 && !memcmp(ev.v[0].p, "wl", 2) && ev.v[1].u == 1 &&
	   ev.v[2].i == 11 && ev.v[3].i == 10 && ev.v[4].kind == WW_V_NONE, "%s: its fields", what);
	for (size_t i = 0; i < WW_ARRAY_SIZE(want); i++) {
		if (!ok(t->fmt->next(t, &ev, &err) == 1, "%s: event %zu", what, i))
			break;
		is_i64(ev.ts_ns, want[i].ts, "time");
		is_i64(ev.cpu, want[i].cpu, "cpu");
		if (want[i].ts == 350) {
			ok(ev.cls == WW_CLS_GAP && ev.nval == 2 && ev.v[0].u == 9 && ev.v[1].i == 250,
			   "%s: a loss since its CPU's last event", what);
			continue;
		}
		is_i64(ev.v[0].i, want[i].value, "value");
		ok(ev.v[1].kind == WW_V_STR && ev.v[1].len == 3 && !memcmp(ev.v[1].p, "abc", 3), "string to its NUL");
		ok(ev.v[2].kind == WW_V_STR && ev.v[2].len == 4 && !memcmp(ev.v[2].p, "what", 4), "__data_loc string");
		ok(ev.v[3].i == 11 && ev.v[5].i == 11 && ev.v[6].kind == WW_V_NONE, "tid, common_pid, no ctx.x");
		ok(ev.v[4].kind == WW_V_ARRAY && ev.v[4].len == 2, "callchain");
	}
	ok(t->fmt->next(t, &ev, &err) == 0, "%s: the end", what);
	is_i64((int64_t)t->stats.events, 7, "events counted");
	is_i64((int64_t)t->stats.out_of_order, 0, "none out of order");
	is_i64((int64_t)t->stats.bad_packets, 0, "no damage");
	t->fmt->close(t);
}

/* What the next event is: its time, CPU and first value; a gap's CPU and begin. */
static void is_next(struct ww_trace *t, const char *what, int64_t ts, int32_t cpu, int64_t value)
{
	struct ww_event ev;
	struct ww_err err = {0};

	if (!ok(t->fmt->next(t, &ev, &err) == 1 && ev.nval, "%s: one more event", what))
		return;
	int64_t got = ev.cls == WW_CLS_GAP ? ev.v[1].i : ev.v[0].i;
	ok(ev.ts_ns == ts && ev.cpu == cpu && got == value, "%s: at %d of CPU %d: %d, want %d of %d: %d", what,
	   (int)ev.ts_ns, (int)ev.cpu, (int)got, (int)ts, (int)cpu, (int)value);
}

static struct ww_trace *open_values(const char *path)
{
	static const char *const fields[] = {"value"}, *const comm_fields[] = {"tid"};
	struct ww_trace *t;
	struct ww_err err = {0};

	if (!ok(ww_format_perfdata.open(path, NULL, &t, &err) == 0, "opens %s", err.message))
		exit(done_testing());
	for (uint32_t c = 0; c < t->info.nclasses; c++) {
		const char *name = t->fmt->get_class(t, c)->name;
		if (!strcmp(name, "tick") || !strcmp(name, "perf_comm"))
			t->fmt->want(t, c, name[0] == 't' ? fields : comm_fields, 1, NULL);
	}
	return t;
}

static void put_comm(struct file *f, uint64_t ts)
{
	size_t at = rec_begin(f, PD_REC_COMM, 0);

	put(f, 10, 4);
	put(f, 12, 4);
	put_bytes(f, "wl\0\0\0\0\0\0", 8);
	put_trailer(f, ts, 0);
	rec_end(f, at);
}

/* A record that is no sample is older than all samples; one event of three that were lost is told by a LOST record. */
static void put_lossy(struct file *f)
{
	put_comm(f, 0);
	put_comm(f, 50);
	put_sample(f, 100, 0, 1);
	put_sample(f, 150, 1, 2);
	size_t at = rec_begin(f, PD_REC_LOST, 0);
	put(f, 7, 8);
	put(f, 1, 8);
	put_trailer(f, 200, 1);
	rec_end(f, at);
	put_sample(f, 210, 1, 3);
	at = rec_begin(f, PD_REC_LOST_SAMPLES, 0);
	put(f, 3, 8);
	put_trailer(f, 0, 0);
	rec_end(f, at);
}

static void test_begin_and_end(struct file *f)
{
	build(f, false, false, put_lossy);
	save(f, f->b.n);
	struct ww_trace *t = open_values(f->path);
	is_next(t, "made up, without a stamp", 50, 0, 12);
	is_next(t, "older than the samples", 50, 0, 12);
	is_i64(t->stats.begin_ts_ns, 100, "the trace begins with its first sample");
	is_next(t, "the first sample", 100, 0, 1);
	is_next(t, "the second", 150, 1, 2);
	is_next(t, "a gap since its CPU's last event", 200, 1, 150);
	is_next(t, "the last sample", 210, 1, 3);
	is_next(t, "CPU 0 since its last event", 210, 0, 100);
	is_next(t, "what the counters know more than the ring told", 210, -1, 210);
	struct ww_event ev;
	ok(t->fmt->next(t, &ev, NULL) == 0, "the end");
	is_i64((int64_t)t->stats.lost_events, 3, "lost in all");
	is_i64((int64_t)t->stats.out_of_order, 0, "none out of order");
	t->fmt->close(t);
}

/* ---- a directory of perf record --threads ---- */

static void save_as(struct file *f, const char *dir, const char *name)
{
	char was[sizeof(f->path)];

	memcpy(was, f->path, sizeof(was));
	snprintf(f->path, sizeof(f->path), "%.40s/%s", dir, name);
	save(f, f->b.n);
	memcpy(f->path, was, sizeof(was));
}

/* Files 2 and 10, of which the later is of the lower CPU; they have two stamps in common. */
static void test_directory(struct file *f)
{
	char dir[] = "/tmp/ww-perfdir-XXXXXX", path[64];

	if (!ok(mkdtemp(dir) != NULL, "a directory"))
		return;
	f->dir = true;
	build(f, false, false, put_round);
	save_as(f, dir, "data");
	f->b.n = f->nrec = 0;
	put_sample(f, 100, 1, 1);
	put_sample(f, 200, 1, 2);
	put_sample(f, 200, 1, 3);
	save_as(f, dir, "data.2");
	f->b.n = f->nrec = 0;
	put_sample(f, 100, 0, 4);
	put_sample(f, 150, 0, 5);
	put_sample(f, 200, 0, 6);
	save_as(f, dir, "data.10");
	snprintf(path, sizeof(path), "%s/data", dir);
	struct ww_trace *t = open_values(path);
	static const int64_t want[][3] = {{100, 1, 1}, {100, 0, 4}, {150, 0, 5}, {200, 1, 2}, {200, 1, 3}, {200, 0, 6}};
	for (size_t i = 0; i < WW_ARRAY_SIZE(want); i++)
		is_next(t, "of equal stamps the file of the lower number first", want[i][0], (int32_t)want[i][1], want[i][2]);
	struct ww_event ev;
	ok(t->fmt->next(t, &ev, NULL) == 0, "the end");
	t->fmt->close(t);
	static const char *const names[] = {"data", "data.2", "data.10"};
	for (size_t i = 0; i < WW_ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static void test_truncated(struct file *f, const char *what)
{
	struct result whole = read_all(f, f->b.n, false);
	bool fine = true;
	uint64_t last = 0;

	for (size_t len = 1; len < f->b.n; len++) {
		struct result r = read_all(f, len, false);
		bool refused = r.code == WW_ETRUNC || r.code == WW_ECORRUPT || r.code == WW_EFORMAT;
		if ((r.code && !refused) || r.events > whole.events || r.events < last ||
		    (r.code && r.offset != WW_ERR_NO_OFFSET && r.offset > f->b.n) ||
		    (!r.code && !f->pipe && !r.damage_code)) {
			printf("# %zu bytes: code %d, %d events, damage %d\n", len, r.code, (int)r.events,
			       r.damage_code);
			fine = false;
		}
		last = r.events;
	}
	ok(fine, "%s: cut at each of %zu bytes, it says so, and gives what stands before", what, f->b.n);
}

static void test_extremes(struct file *f, const char *what)
{
	static const uint64_t extremes[] = {0, 0x7fffffff, UINT64_MAX};
	size_t n = 0;

	for (size_t at = 0; at + 8 <= f->b.n; at += 4) {
		for (size_t i = 0; i < WW_ARRAY_SIZE(extremes); i++) {
			unsigned bytes = i == 0 ? 2 : i == 1 ? 4 : 8;
			uint8_t saved[8];
			memcpy(saved, f->b.v + at, 8);
			patch(f, at, extremes[i], bytes);
			struct result r = read_all(f, f->b.n, false);
			if (r.events > 64)
				ok(false, "%s: %d events with %d at %zu", what, (int)r.events, (int)i, at);
			memcpy(f->b.v + at, saved, 8);
			n++;
		}
	}
	ok(n > 500, "%s: %zu extreme values, none crashes or makes up events", what, n);
}

static void test_known_bad(struct file *f)
{
	const struct {
		const char *what;
		size_t at;
		uint64_t value;
		unsigned bytes;
		int code; /* with strict */
		uint64_t offset;
		uint64_t events; /* without strict, where it can be read at all */
		bool fatal;
	} table[] = {
		{"no magic", 0, 0, 8, WW_EFORMAT, 0, 0, true},
		{"header of 105 bytes", 8, 105, 8, WW_ECORRUPT, 8, 0, true},
		{"attributes of 0 bytes", 16, 0, 8, WW_ECORRUPT, 16, 0, true},
		{"attributes of 2^63 bytes", 16, 1ull << 63, 8, WW_ECORRUPT, 16, 0, true},
		{"attributes outside", 24, 1u << 30, 8, WW_ETRUNC, 24, 0, true},
		{"attribute's own size", 116, 1u << 30, 4, WW_ECORRUPT, 112, 0, true},
		{"ids outside", 176, UINT64_MAX, 8, WW_ECORRUPT, 176, 0, true},
		{"data outside", 40, UINT64_MAX - 7, 8, WW_ETRUNC, 40, 0, true},
		{"data longer than the file", 48, 1u << 30, 8, WW_ETRUNC, 48, 7, false},
		{"data of 0 bytes: perf was killed", 48, 0, 8, WW_ETRUNC, 48, 7, false},
		{"a record of 0 bytes", f->rec[3] + 6, 0, 2, WW_ECORRUPT, f->rec[3], 3, false},
		{"a record over the end", f->rec[9] + 6, 0xfff8, 2, WW_ETRUNC, f->rec[9], 6, false},
		{"a sample of 16 bytes", f->rec[9] + 6, 16, 2, WW_ECORRUPT, f->rec[9], 6, false},
		{"formats without magic", f->data_at + f->data_len + 32, 0, 4, WW_ECORRUPT,
		 f->data_at + f->data_len + 32, 7, false},
		{"host name outside", f->data_at + f->data_len + 16, UINT64_MAX, 8, WW_ETRUNC,
		 f->data_at + f->data_len + 16, 7, false},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(table); i++) {
		uint8_t saved[8];
		memcpy(saved, f->b.v + table[i].at, 8);
		patch(f, table[i].at, table[i].value, table[i].bytes);
		struct result strict = read_all(f, f->b.n, true), lax = read_all(f, f->b.n, false);
		memcpy(f->b.v + table[i].at, saved, 8);
		is_i64(strict.code, table[i].code, table[i].what);
		is_i64((int64_t)strict.offset, (int64_t)table[i].offset, "its byte offset");
		if (table[i].fatal) {
			is_i64(lax.code, table[i].code, "the same when damage is read past");
			continue;
		}
		is_i64(lax.code, 0, "is read past");
		is_i64((int64_t)lax.events, (int64_t)table[i].events, "the events that are left");
		ok(lax.damage_code == table[i].code && lax.damage_offset == table[i].offset, "noted as damage");
	}
}

int main(void)
{
	struct file f = {0};

	snprintf(f.path, sizeof(f.path), "/tmp/ww-perfdata-XXXXXX");
	int fd = mkstemp(f.path);
	if (fd < 0)
		return 1;
	close(fd);
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"file", "file of the other byte order", "pipe",
						    "pipe of the other byte order"};
		bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		build(&f, (i & 1) != host_big, i & 2, put_data);
		test_values(&f, names[i]);
		test_truncated(&f, names[i]);
		test_extremes(&f, names[i]);
	}
	build(&f, false, false, put_data);
	test_known_bad(&f);
	test_begin_and_end(&f);
	test_directory(&f);
	unlink(f.path);
	ww_vec_free(&f.b);
	return done_testing();
}
