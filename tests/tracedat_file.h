/* tracedat_file.h - makes small trace.dat files in memory: for the unit test and the fuzzer's corpus.
 *
 * Two CPUs, pages of 256 bytes, one event "probe" of system "t" (u64 a, __data_loc char[] s, int n[3]).
 */
#ifndef WW_TRACEDAT_FILE_H
#define WW_TRACEDAT_FILE_H

#include <stdarg.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

#include "base/base.h"

#define TDF_PAGE     256
#define TDF_ROOM     (TDF_PAGE - 16)
#define TDF_PROBE_ID 777

enum tdf_zip { TDF_NONE, TDF_ZSTD, TDF_ZLIB };

struct tdf {
	uint8_t *p;
	size_t n, cap;
	bool big;
	int version;
	enum tdf_zip zip;
	/* where things are, for tests that change them */
	size_t at_page_size, at_options, at_header_page, at_ftrace, at_events, at_cmdlines, at_buffer, at_cpu0,
		at_options2, at_data0;
};

static inline void tdf_bytes(struct tdf *f, const void *p, size_t n)
{
	if (f->n + n > f->cap) {
		f->cap = (f->n + n) * 2;
		f->p = ww_xrealloc(f->p, f->cap);
	}
	memcpy(f->p + f->n, p, n);
	f->n += n;
}

static inline void tdf_poke(const struct tdf *f, size_t at, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		f->p[at + (f->big ? size - 1 - i : i)] = (uint8_t)(v >> (8 * i));
}

static inline void tdf_int(struct tdf *f, uint64_t v, unsigned size)
{
	static const uint8_t zero[8];

	tdf_bytes(f, zero, size);
	tdf_poke(f, f->n - size, v, size);
}

static inline void tdf_str(struct tdf *f, const char *s)
{
	tdf_bytes(f, s, strlen(s) + 1);
}

/* ---- pages ---- */

struct tdf_page {
	struct tdf *f;
	size_t begin, data;
	uint64_t flags;
};

static inline struct tdf_page tdf_page_begin(struct tdf *f, uint64_t ts)
{
	struct tdf_page p = {.f = f, .begin = f->n, .data = f->n + 16};

	tdf_int(f, ts, 8);
	tdf_int(f, 0, 8);
	return p;
}

static inline void tdf_page_end(struct tdf_page *p)
{
	uint8_t zero[TDF_PAGE] = {0};

	tdf_poke(p->f, p->begin + 8, (p->f->n - p->data) | p->flags, 8);
	tdf_bytes(p->f, zero, TDF_PAGE - (p->f->n - p->begin));
}

static inline void tdf_word(struct tdf *f, unsigned type, uint32_t delta)
{
	tdf_int(f, f->big ? type << 27 | delta : delta << 5 | type, 4);
}

/* One record: 4 bytes, with `extra` of them 8. */
static inline void tdf_probe(struct tdf *f, uint32_t delta, uint64_t a, const char *s, bool long_form)
{
	size_t len = 32 + strlen(s) + 1, pad = -len & 3;

	tdf_word(f, long_form ? 0 : (unsigned)((len + pad) / 4), delta);
	if (long_form)
		tdf_int(f, len + pad + 4, 4);
	tdf_int(f, TDF_PROBE_ID, 2);
	tdf_int(f, 0, 2);
	tdf_int(f, 42, 4); /* common_pid */
	tdf_int(f, a, 8);
	tdf_int(f, (strlen(s) + 1) << 16 | 32, 4);
	for (uint32_t i = 0; i < 3; i++)
		tdf_int(f, (uint64_t)(a - i), 4);
	tdf_bytes(f, s, strlen(s) + 1);
	tdf_bytes(f, "\0\0\0", pad);
}

#define TDF_EVENTS 9 /* what tdf_cpu0 and tdf_cpu1 hold together */

/* t=1000 a=1 | +5 a=2 (long form) | extend | a=3 | discarded | padding to the end || t=5000000000, two
 * events lost before, their number stored: a=4 */
static inline void tdf_cpu0(struct tdf *f)
{
	struct tdf_page p = tdf_page_begin(f, 1000);

	tdf_probe(f, 0, 1, "one", false);
	tdf_probe(f, 5, 2, "two and more", true);
	tdf_word(f, 30, 3); /* + (1 << 27) + 3 */
	tdf_int(f, 1, 4);
	tdf_probe(f, 7, 3, "", false);
	tdf_word(f, 29, 10); /* a discarded record of 12 bytes; its delta counts */
	tdf_int(f, 8, 4);
	tdf_int(f, 0, 4);
	tdf_probe(f, 1, 4, "x", false);
	tdf_word(f, 29, 0);
	tdf_page_end(&p);

	p = tdf_page_begin(f, 5000000000ull);
	tdf_probe(f, 0, 5, "after a loss", false);
	p.flags = 1u << 31 | 1u << 30;
	size_t n = f->n;
	tdf_page_end(&p);
	tdf_poke(f, n, 2, 8);
}

/* t=900 a=6 | absolute stamp 2^30 a=7 || an empty page || events lost, nobody knows how many: a=8 | a=9 */
static inline void tdf_cpu1(struct tdf *f)
{
	struct tdf_page p = tdf_page_begin(f, 900);

	tdf_probe(f, 0, 6, "six", false);
	tdf_word(f, 31, 0);
	tdf_int(f, 1u << 3, 4);
	tdf_probe(f, 0, 7, "seven", false);
	tdf_page_end(&p);
	p = tdf_page_begin(f, 2000000000);
	tdf_page_end(&p);
	p = tdf_page_begin(f, 6000000000ull);
	tdf_probe(f, 0, 8, "eight", false);
	tdf_probe(f, 1, (uint64_t)-9, "nine", false);
	p.flags = 1u << 31;
	tdf_page_end(&p);
}

/* ---- metadata ---- */

static const char tdf_header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:240;\tsigned:1;\n";
static const char tdf_header_event[] = "# compressed entry header\n\ttype_len    :    5 bits\n";
static const char tdf_format[] =
	"name: probe\nID: 777\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:s64 a;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:__data_loc char[] s;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:int n[3];\toffset:20;\tsize:12;\tsigned:1;\n\n"
	"print fmt: \"a=%lld s=%s\", REC->a, __get_str(s)\n";

static inline void tdf_headers(struct tdf *f)
{
	f->at_header_page = f->n;
	tdf_str(f, "header_page");
	tdf_int(f, strlen(tdf_header_page), 8);
	tdf_bytes(f, tdf_header_page, strlen(tdf_header_page));
	tdf_str(f, "header_event");
	tdf_int(f, strlen(tdf_header_event), 8);
	tdf_bytes(f, tdf_header_event, strlen(tdf_header_event));
}

static inline void tdf_events(struct tdf *f)
{
	f->at_events = f->n;
	tdf_int(f, 1, 4);
	tdf_str(f, "t");
	tdf_int(f, 1, 4);
	tdf_int(f, strlen(tdf_format), 8);
	tdf_bytes(f, tdf_format, strlen(tdf_format));
}

static inline void tdf_cmdlines(struct tdf *f)
{
	static const char names[] = "42 prog\n7 a b\n";

	f->at_cmdlines = f->n;
	tdf_int(f, strlen(names), 8);
	tdf_bytes(f, names, strlen(names));
}

static inline void tdf_start(struct tdf *f)
{
	tdf_bytes(f, "\x17\x08\x44tracing", 10);
	tdf_str(f, f->version == 6 ? "6" : "7");
	tdf_int(f, f->big, 1);
	tdf_int(f, 8, 1);
	f->at_page_size = f->n;
	tdf_int(f, TDF_PAGE, 4);
}

static inline void tdf_cpus_data(struct tdf *f, size_t table, size_t step)
{
	for (int cpu = 0; cpu < 2; cpu++) {
		struct tdf pages = {.big = f->big};
		(cpu ? tdf_cpu1 : tdf_cpu0)(&pages);
		size_t at = f->n;
		if (cpu == 0)
			f->at_data0 = at;
		if (f->zip == TDF_NONE) {
			tdf_bytes(f, pages.p, pages.n);
		} else { /* a chunk a page */
			tdf_int(f, pages.n / TDF_PAGE, 4);
			for (size_t i = 0; i < pages.n; i += TDF_PAGE) {
				uint8_t buf[TDF_PAGE * 2];
				uLongf zn = sizeof(buf);
				if (f->zip == TDF_ZSTD)
					zn = ZSTD_compress(buf, sizeof(buf), pages.p + i, TDF_PAGE, 1);
				else
					compress(buf, &zn, pages.p + i, TDF_PAGE);
				tdf_int(f, zn, 4);
				tdf_int(f, TDF_PAGE, 4);
				tdf_bytes(f, buf, zn);
			}
		}
		tdf_poke(f, table + (size_t)cpu * step, at, 8);
		/* trace-cmd leaves the number of chunks out of the size */
		tdf_poke(f, table + (size_t)cpu * step + 8, f->n - at - (f->zip == TDF_NONE ? 0 : 4), 8);
		free(pages.p);
	}
}

static inline void tdf_option(struct tdf *f, unsigned id, const char *text)
{
	tdf_int(f, id, 2);
	tdf_int(f, strlen(text) + 1, 4);
	tdf_str(f, text);
}

static inline void tdf_make_v6(struct tdf *f)
{
	tdf_start(f);
	tdf_headers(f);
	f->at_ftrace = f->n;
	tdf_int(f, 0, 4);
	tdf_events(f);
	tdf_int(f, 0, 4); /* kallsyms */
	tdf_int(f, 0, 4); /* printk */
	tdf_cmdlines(f);
	tdf_int(f, 2, 4); /* CPUs */
	f->at_options = f->n;
	tdf_bytes(f, "options  ", 10);
	tdf_option(f, 4, "local [mono] boot");
	tdf_option(f, 5, "Linux host 6.1.0 x86_64");
	tdf_int(f, 0, 2);
	tdf_bytes(f, "flyrecord", 10);
	f->at_cpu0 = f->n;
	for (int i = 0; i < 4; i++)
		tdf_int(f, 0, 8);
	tdf_cpus_data(f, f->at_cpu0, 16);
}

/* Wraps what `fill` writes into a section, compressed when the file is. */
static inline size_t tdf_section(struct tdf *f, unsigned id, void (*fill)(struct tdf *))
{
	struct tdf body = {.big = f->big};
	size_t at = f->n;

	if (!fill)
		tdf_int(&body, 0, 4);
	else
		fill(&body);
	tdf_int(f, id, 2);
	tdf_int(f, f->zip != TDF_NONE, 2);
	tdf_int(f, 0, 4);
	if (f->zip == TDF_NONE) {
		tdf_int(f, body.n, 8);
		tdf_bytes(f, body.p, body.n);
	} else {
		size_t cap = ZSTD_compressBound(body.n) + compressBound(body.n);
		uint8_t *buf = ww_xmalloc(cap);
		uLongf zn = cap;
		if (f->zip == TDF_ZSTD)
			zn = ZSTD_compress(buf, cap, body.p, body.n, 1);
		else
			compress(buf, &zn, body.p, body.n);
		tdf_int(f, zn + 8, 8);
		tdf_int(f, zn, 4);
		tdf_int(f, body.n, 4);
		tdf_bytes(f, buf, zn);
		free(buf);
	}
	free(body.p);
	return at;
}

static inline void tdf_option_at(struct tdf *f, unsigned id, uint64_t at)
{
	tdf_int(f, id, 2);
	tdf_int(f, 8, 4);
	tdf_int(f, at, 8);
}

static inline void tdf_make_v7(struct tdf *f)
{
	static const char *const names[] = {"none", "zstd", "zlib"};

	tdf_start(f);
	tdf_str(f, names[f->zip]);
	tdf_str(f, "1");
	size_t to_options = f->n;
	tdf_int(f, 0, 8);
	f->at_header_page = tdf_section(f, 16, tdf_headers);
	f->at_ftrace = tdf_section(f, 17, NULL);
	f->at_events = tdf_section(f, 18, tdf_events);
	f->at_cmdlines = tdf_section(f, 21, tdf_cmdlines);

	f->at_options = f->n;
	tdf_poke(f, to_options, f->n, 8);
	tdf_int(f, 0, 2), tdf_int(f, 0, 2), tdf_int(f, 0, 4), tdf_int(f, 0, 8);
	tdf_option_at(f, 16, f->at_header_page);
	tdf_option_at(f, 17, f->at_ftrace);
	tdf_option_at(f, 18, f->at_events);
	tdf_option_at(f, 21, f->at_cmdlines);
	tdf_option(f, 4, "local [mono] boot");
	tdf_option(f, 5, "Linux host 6.1.0 x86_64");
	size_t done = f->n + 6;
	tdf_option_at(f, 0, 0);
	tdf_poke(f, f->at_options + 8, f->n - f->at_options - 16, 8);

	f->at_options2 = f->n;
	tdf_poke(f, done, f->n, 8);
	tdf_int(f, 0, 2), tdf_int(f, 0, 2), tdf_int(f, 0, 4), tdf_int(f, 0, 8);
	f->at_buffer = f->n;
	tdf_int(f, 3, 2);
	tdf_int(f, 8 + 1 + 5 + 4 + 4 + 2 * 20, 4);
	size_t section = f->n;
	tdf_int(f, 0, 8);
	tdf_str(f, "");
	tdf_str(f, "mono");
	tdf_int(f, TDF_PAGE, 4);
	tdf_int(f, 2, 4);
	f->at_cpu0 = f->n + 4;
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		tdf_int(f, cpu, 4), tdf_int(f, 0, 8), tdf_int(f, 0, 8);
	tdf_option_at(f, 0, 0);
	tdf_poke(f, f->at_options2 + 8, f->n - f->at_options2 - 16, 8);

	tdf_poke(f, section, f->n, 8);
	tdf_int(f, 3, 2), tdf_int(f, f->zip != TDF_NONE, 2), tdf_int(f, 0, 4), tdf_int(f, 0, 8);
	tdf_cpus_data(f, f->at_cpu0, 20);
}

static inline void tdf_make(struct tdf *f, int version, bool big, enum tdf_zip zip)
{
	*f = (struct tdf){.version = version, .big = big, .zip = zip};
	if (version == 6)
		tdf_make_v6(f);
	else
		tdf_make_v7(f);
}

#endif
