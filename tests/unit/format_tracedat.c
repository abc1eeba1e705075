/* The trace.dat reader on files made here: both versions, byte orders and compressions; every time
 * encoding; known-bad files with the code and the byte offset that they must give. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"
#include "../tap.h"
#include "../tracedat_file.h"

static char path[64];
static int fd = -1;

static void put(const uint8_t *p, size_t n)
{
	if (fd < 0) {
		fd = memfd_create("trace.dat", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, p, n, 0) != (ssize_t)n) {
		printf("Bail out! cannot write %zu bytes\n", n);
		exit(1);
	}
}

struct result {
	struct ww_err err; /* of open or next */
	uint32_t events, gaps, ndamage;
	uint64_t lost;
	struct ww_err damage; /* the first */
	int64_t ts[32], a[32];
	char s[32][32];
	bool endless;
};

static void nothing_begin(void *ctx, const char *name, bool array) {}
static void nothing_end(void *ctx) {}
static void count_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	++*(uint32_t *)ctx;
}
static const struct ww_visitor counter = {nothing_begin, nothing_end, count_value};

static struct result run(const uint8_t *p, size_t n, bool strict)
{
	static const char *const fields[] = {"a", "s", "n[2]", "nothing"};
	const struct ww_format *f = &ww_format_tracedat;
	struct ww_open_opts opts = {.strict = strict};
	struct result r = {0};
	struct ww_trace *t = NULL;
	const struct ww_damage *d = NULL;
	struct ww_event ev;

	put(p, n);
	if (!f->probe(path)) {
		r.err.code = WW_EFORMAT;
		return r;
	}
	if (f->open(path, &opts, &t, &r.err))
		return r;
	for (uint32_t i = 0; i < t->info.nclasses; i++)
		f->want(t, i, fields, 4, NULL);
	while (f->next(t, &ev, &r.err) == 1) {
		if (ev.cls == WW_CLS_GAP) {
			r.gaps++;
			if (r.gaps > 100000 && (r.endless = true))
				break;
			continue;
		}
		uint32_t i = WW_MIN(r.events, 31), values = 0;
		r.ts[i] = ev.ts_ns;
		r.a[i] = ev.nval == 4 && ev.v[0].kind == WW_V_INT ? ev.v[0].i : INT64_MIN;
		if (ev.nval == 4 && ev.v[1].kind == WW_V_STR)
			snprintf(r.s[i], sizeof(r.s[i]), "%.*s", (int)ev.v[1].len, ev.v[1].p);
		f->visit(t, &ev, &counter, &values, NULL);
		if (++r.events > 100000 && (r.endless = true))
			break;
	}
	r.lost = t->stats.lost_events;
	r.ndamage = f->damage(t, &d);
	if (r.ndamage)
		r.damage = d[0].err;
	f->close(t);
	return r;
}

static void test_good(int version, bool big, enum tdf_zip zip)
{
	static const int64_t ts[] = {900, 1000, 1005, 134218743, 134218754, 1073741824, 5000000000, 6000000000,
				     6000000001};
	static const int64_t a[] = {6, 1, 2, 3, 4, 7, 5, 8, -9};
	struct tdf f;
	tdf_make(&f, version, big, zip);
	struct result r = run(f.p, f.n, true);
	bool same = r.events == TDF_EVENTS;

	for (uint32_t i = 0; i < TDF_EVENTS && same; i++)
		same = r.ts[i] == ts[i] && r.a[i] == a[i];
	ok(same && !r.err.code && !r.ndamage, "version %d, %s endian, compression %d: %u events: %s", version,
	   big ? "big" : "little", zip, r.events, r.err.message);
	ok(r.gaps == 2 && r.lost == 3, "two gaps, 2 events and an unknown number lost: %u, %" PRIu64, r.gaps, r.lost);
	is_str(r.s[2], "two and more", "a string behind __data_loc");
	free(f.p);
}

/* Info, classes, names, gaps as they are delivered. */
static void test_interface(void)
{
	const struct ww_format *fmt = &ww_format_tracedat;
	struct ww_trace *t = NULL;
	struct ww_event ev;
	struct tdf f;
	static const char *const want[] = {"n[2]", "common_pid", "n[3]", "s"};

	tdf_make(&f, 7, false, TDF_ZSTD);
	put(f.p, f.n);
	TAP_NEED(fmt->open(path, NULL, &t, NULL) == 0, "it opens");
	is_str(t->info.clock.name, "monotonic", "the chosen clock");
	is_str(t->info.hostname, "host", "host name of uname");
	is_str(t->info.arch, "x86_64", "architecture of uname");
	is_i64(t->info.ncpus, 2, "CPUs");
	ok(t->info.ncomms == 2 && t->info.comms[1].tid == 7 && !strcmp(t->info.comms[1].comm, "a b"),
	   "saved thread names");
	is_str(fmt->get_class(t, 0)->name, "probe", "the class");
	is_i64(fmt->get_class(t, 0)->nfields, 3, "payload fields");
	ok(fmt->get_class(t, t->info.nclasses) == NULL, "no class behind the last");
	fmt->want(t, 0, want, 4, NULL);
	ok(fmt->next(t, &ev, NULL) == 1 && ev.cpu == 1 && ev.ts_ns == 900, "the first event is of CPU 1");
	ok(ev.v[0].kind == WW_V_INT && ev.v[0].i == 4, "an element of an array");
	ok(ev.v[1].kind == WW_V_INT && ev.v[1].i == 42, "a common field");
	ok(ev.v[2].kind == WW_V_NONE, "an element behind the array's end");
	while (fmt->next(t, &ev, NULL) == 1 && ev.cls != WW_CLS_GAP)
		;
	ok(ev.cls == WW_CLS_GAP && ev.cpu == 0 && ev.v[0].u == 2 && ev.v[1].i == 134218754 &&
		   ev.ts_ns == 5000000000,
	   "a gap comes before the event that follows it, and begins at the one before");
	fmt->close(t);
	TAP_NEED(fmt->open(path, NULL, &t, NULL) == 0, "it opens again");
	fmt->ignore(t, 0);
	uint32_t n = 0;
	while (fmt->next(t, &ev, NULL) == 1)
		n += ev.cls != WW_CLS_GAP;
	ok(n == 0 && t->stats.events == TDF_EVENTS, "ignored events are counted only");
	fmt->close(t);
	free(f.p);
}

/* A change of one integer in a good little-endian version 7 file without compression, and what it gives.
 * at: a member of struct tdf, plus add. */
#define AT(member) offsetof(struct tdf, member)
static const struct bad {
	const char *what;
	size_t at, add;
	uint64_t value;
	unsigned size;
	int code;
	bool damage;     /* read past it */
	size_t where;    /* member of struct tdf that the offset is relative to; 0: no offset */
	size_t where_add;
	uint32_t events; /* with damage */
} bads[] = {
	{"page size 0", AT(at_page_size), 0, 0, 4, WW_ELIMIT, false, AT(at_page_size), 0, 0},
	{"page size 2^32-1", AT(at_page_size), 0, UINT32_MAX, 4, WW_ELIMIT, false, AT(at_page_size), 0, 0},
	{"size of long 3", AT(at_page_size), -1, 3, 1, WW_ECORRUPT, false, AT(at_page_size), -2, 0},
	{"version 8", AT(at_page_size), -4, '8', 1, WW_EUNSUPPORTED, false, AT(at_page_size), -4, 0},
	{"options behind the end", AT(at_page_size), 4 + 7, 1 << 30, 8, WW_ETRUNC, false, 0, 1 << 30, 0},
	{"options are another section", AT(at_options), 0, 5, 2, WW_ECORRUPT, false, AT(at_options), 0, 0},
	{"options longer than the file", AT(at_options), 8, UINT64_MAX, 8, WW_ETRUNC, false, AT(at_options), 8, 0},
	{"compressed options in a plain file", AT(at_options), 2, 1, 2, WW_ECORRUPT, false, AT(at_options), 16, 0},
	{"an option of 2^32-1 bytes", AT(at_options), 18, UINT32_MAX, 4, WW_ECORRUPT, false, AT(at_options), 16, 0},
	{"no header section", AT(at_header_page), 0, 99, 2, WW_ECORRUPT, false, AT(at_header_page), 0, 0},
	{"header_page of 2^64-1 bytes", AT(at_header_page), 16 + 12, UINT64_MAX, 8, WW_ETRUNC, false,
	 AT(at_header_page), 16, 0},
	{"header_page by another name", AT(at_header_page), 16, 'H', 1, WW_ECORRUPT, false, AT(at_header_page), 16, 0},
	{"2^32-1 ftrace events", AT(at_ftrace), 16, UINT32_MAX, 4, WW_ELIMIT, false, AT(at_ftrace), 16, 0},
	{"one ftrace event where none is", AT(at_ftrace), 16, 1, 4, WW_ETRUNC, false, AT(at_ftrace), 20, 0},
	{"2^32-1 systems", AT(at_events), 16, UINT32_MAX, 4, WW_ELIMIT, false, AT(at_events), 16, 0},
	{"2^32-1 events of a system", AT(at_events), 22, UINT32_MAX, 4, WW_ELIMIT, false, AT(at_events), 20, 0},
	{"a format of 2^63 bytes", AT(at_events), 26, 1ull << 63, 8, WW_ETRUNC, false, AT(at_events), 26, 0},
	{"a format without a name", AT(at_events), 34, 'N', 1, WW_ECORRUPT, true, AT(at_events), 26, TDF_EVENTS},
	{"thread names of 2^64-1 bytes", AT(at_cmdlines), 16, UINT64_MAX, 8, WW_ETRUNC, false, AT(at_cmdlines), 16, 0},
	{"a buffer with pages of 0 bytes", AT(at_buffer), 6 + 14, 0, 4, WW_ELIMIT, false, AT(at_buffer), 0, 0},
	{"a buffer of 2^32-1 CPUs", AT(at_buffer), 6 + 18, UINT32_MAX, 4, WW_ECORRUPT, false, AT(at_buffer), 0, 0},
	{"CPU 2^32-1", AT(at_cpu0), -4, UINT32_MAX, 4, WW_ELIMIT, false, AT(at_data0), 0, 0},
	{"a CPU's data behind the end", AT(at_cpu0), 0, 1ull << 62, 8, WW_ETRUNC, true, 1, 0, 4},
	{"a CPU's data of 2^64-1 bytes", AT(at_cpu0), 8, UINT64_MAX, 8, WW_ECORRUPT, false, AT(at_data0), 512, 0},
	{"a CPU's data of a page and a half", AT(at_cpu0), 8, 384, 8, WW_ETRUNC, true, AT(at_data0), 256, 8},
	{"a page that holds 2^27-1 bytes", AT(at_data0), 8, (1 << 27) - 1, 4, WW_ECORRUPT, true, AT(at_data0), 0, 5},
	{"a page from before the one before it", AT(at_data0), 256, 0, 8, WW_ECORRUPT, true, AT(at_data0), 256, 8},
	{"a record that is longer than its page", AT(at_data0), 16 + 44, 4096, 4, WW_ECORRUPT, true, AT(at_data0),
	 16 + 40, 6},
	{"a record of length 3", AT(at_data0), 16 + 44, 3, 4, WW_ECORRUPT, true, AT(at_data0), 16 + 40, 6},
	{"padding that goes past its page", AT(at_data0), 16 + 148, UINT32_MAX, 4, WW_ECORRUPT, true, AT(at_data0),
	 16 + 144, 8},
};

static size_t member(const struct tdf *f, size_t off)
{
	size_t v;
	memcpy(&v, (const char *)f + off, sizeof(v));
	return v;
}

static void test_known_bad(void)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(bads); i++) {
		const struct bad *b = &bads[i];
		struct tdf f;
		tdf_make(&f, 7, false, TDF_NONE);
		tdf_poke(&f, member(&f, b->at) + b->add, b->value, b->size);
		uint64_t where = (b->where > 1 ? member(&f, b->where) : b->where ? f.n : 0) + b->where_add;
		struct result r = run(f.p, f.n, false);
		const struct ww_err *e = b->damage ? &r.damage : &r.err;
		ok(e->code == b->code && e->offset == where, "%s: %s at %" PRIu64 ": %s", b->what,
		   ww_code_name(b->code), where, e->message);
		if (e->code != b->code || e->offset != where)
			printf("# got %s at %" PRIu64 "\n", ww_code_name(e->code), e->offset);
		if (b->damage) {
			is_i64(r.events, b->events, "the other events are there");
			struct result strict = run(f.p, f.n, true);
			is_i64(strict.err.code, b->code, "and strict reading stops at it");
		} else {
			is_i64(r.events, 0, "no events");
		}
		free(f.p);
	}
}

static void test_circle(void)
{
	struct tdf f;

	tdf_make(&f, 7, false, TDF_NONE);
	tdf_poke(&f, f.at_options2 - 8, f.at_options, 8);
	struct result r = run(f.p, f.n, false);
	ok(r.err.code == WW_ECORRUPT && r.err.offset == f.at_options, "options in a circle: %s", r.err.message);
	free(f.p);
}

/* A latency tracer's file has text in place of the CPUs' pages. */
static void test_latency(void)
{
	struct tdf f;

	tdf_make(&f, 6, false, TDF_NONE);
	uint8_t *fly = memmem(f.p, f.n, "flyrecord", 10);
	TAP_NEED(fly != NULL, "the table of CPUs of a version 6 file");
	memcpy(fly, "latency  ", 10);
	struct result r = run(f.p, f.n, false);
	ok(r.err.code == WW_EUNSUPPORTED && r.err.offset == (uint64_t)(fly - f.p) && *r.err.hint, "version 6: %s", r.err.message);
	free(f.p);
	tdf_make(&f, 7, false, TDF_NONE);
	tdf_poke(&f, f.at_buffer, 22, 2); /* BUFFER_TEXT in place of BUFFER */
	r = run(f.p, f.n, false);
	ok(r.err.code == WW_EUNSUPPORTED && *r.err.hint, "version 7: %s", r.err.message);
	free(f.p);
}

/* Cut anywhere: an error, or what was before the cut and the damage said. */
static void test_truncated(int version, enum tdf_zip zip)
{
	struct tdf f;
	uint32_t silent = 0, far = 0, opened = 0;
	tdf_make(&f, version, false, zip);
	for (size_t n = 0; n < f.n; n++) {
		struct result r = run(f.p, n, false);
		opened += !r.err.code;
		if (!r.err.code && (!r.ndamage || (r.events < TDF_EVENTS && !r.lost)) && !silent++)
			printf("# first silent cut: %zu, %u events\n", n, r.events);
		const struct ww_err *e = r.err.code ? &r.err : &r.damage;
		if (e->offset != WW_ERR_NO_OFFSET && r.err.code != WW_ETRUNC && e->offset > f.n)
			far++;
	}
	ok(!silent, "version %d, compression %d cut at each of %zu bytes: none is silent (%u are)", version, zip,
	   f.n, silent);
	ok(!far, "and the offsets are in the file");
	ok(opened > 100, "and %u are read up to the cut", opened);
	free(f.p);
}

/* Each 1, 2, 4 and 8 bytes set to extremes: no crash, no endless reading. */
static void test_extremes(int version, enum tdf_zip zip)
{
	static const uint64_t values[] = {0, UINT64_MAX, INT64_MAX, 1ull << 63, 0x7fffffff80000000};
	struct tdf f;
	uint32_t endless = 0;
	tdf_make(&f, version, false, zip);
	for (size_t at = 0; at < f.n; at++)
		for (size_t v = at % 3; v < WW_ARRAY_SIZE(values); v += 3) {
			uint8_t keep[8];
			size_t n = WW_MIN(8, f.n - at), size = 1u << (at * 5 + v) % 4;
			memcpy(keep, f.p + at, n);
			tdf_poke(&f, at, values[v], (unsigned)WW_MIN(size, n));
			endless += run(f.p, f.n, v & 1).endless;
			memcpy(f.p + at, keep, n);
		}
	ok(!endless, "version %d, compression %d: extremes at each of %zu bytes: all come to an end", version, zip, f.n);
	free(f.p);
}

int main(void)
{
	for (int big = 0; big < 2; big++) {
		test_good(6, big, TDF_NONE);
		for (enum tdf_zip zip = TDF_NONE; zip <= TDF_ZLIB; zip++)
			test_good(7, big, zip);
	}
	test_interface();
	test_known_bad();
	test_latency();
	test_circle();
	test_truncated(6, TDF_NONE);
	test_truncated(7, TDF_NONE);
	test_truncated(7, TDF_ZSTD);
	test_extremes(6, TDF_NONE);
	test_extremes(7, TDF_ZSTD);
	return done_testing();
}
