/* format_ctf.c - TSDL that must be read, TSDL and packets that must be refused with a code and a place, and
 * a small trace cut off at every byte. */
#include "../tap.h"

#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/meta.h"
#include "format/format.h"

#define HEAD "/* CTF 1.8 */\ntypealias integer { size = 8; } := u8;\ntypealias integer { size = 32; } := u32;\n" \
	     "typealias integer { size = 64; } := u64;\n"
#define TRACE "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };\n"
#define CLOCK "clock { name = c; freq = 1000000000; offset = 5; };\n"
#define STREAM "stream { id = 0; packet.context := struct { u64 timestamp_begin; u64 timestamp_end; u64 content_size; " \
	       "u64 packet_size; u64 events_discarded; u32 cpu_id; }; event.header := struct { u8 id; " \
	       "integer { size = 64; align = 8; map = clock.c.value; } timestamp; }; };\n"
#define EVENT(fields) "event { id = 1; name = e; stream_id = 0; fields := struct { " fields " }; };\n"
#define ALL(fields) HEAD TRACE CLOCK STREAM EVENT(fields)

static struct ctf_meta *parse(const char *text, struct ww_err *err)
{
	struct ctf_meta *m = NULL;

	*err = (struct ww_err){0};
	(void)ctf_meta_parse("metadata", text, strlen(text), &m, err);
	return m;
}

static const struct {
	const char *what, *text;
	uint64_t fixed_bits; /* of the payload; 0: not fixed */
} good[] = {
	{"integers of odd sizes", ALL("integer { size = 3; } a; integer { size = 61; signed = true; base = hex; } b;"), 64},
	{"size in bytes means align 8", ALL("integer { size = 3; } a; integer { size = 16; } b;"), 24},
	{"align() of a structure", ALL("u8 a; struct { u8 x; } align(64) b;"), 72},
	{"two dimensions", ALL("u8 a[3][5];"), 120},
	{"several declarators", ALL("u8 a, b[2], c;"), 32},
	{"typealias inside a structure", ALL("typealias integer { size = 24; align = 8; } := u24; u24 a;"), 24},
	{"typedef", HEAD "typedef u32 word, pair[2];" TRACE CLOCK STREAM EVENT("word a; pair b;"), 96},
	{"C type names of several words",
	 HEAD "typealias integer { size = 64; } := unsigned long int;" TRACE CLOCK STREAM EVENT("unsigned long int a;"), 64},
	{"named structure, used twice", HEAD "struct s { u8 a; u32 b; };" TRACE CLOCK STREAM EVENT("struct s x; struct s y;"), 80},
	{"enumeration: ranges, quotes, trailing comma",
	 ALL("enum : u8 { a, \"b c\" = 5 ... 7, d, f = 0x20, } e;"), 8},
	{"signed enumeration", ALL("enum : integer { size = 8; signed = true; } { m = -3 ... -1, z = 0 } e;"), 8},
	{"an enumeration's integer, then the same alone",
	 ALL("enum : integer { size = 8; } { m = 3 } e; integer { size = 8; } a; integer { size = 8; align = 64; } b; "
	     "integer { size = 8; } c;"), 80},
	{"sequence with a length in a context", HEAD TRACE CLOCK STREAM
	 "event { id = 1; name = e; stream_id = 0; context := struct { u8 n; }; fields := struct { u8 a[event.context.n]; }; };", 0},
	{"a length's underscore may be missing", ALL("u8 __n; u8 a[_n];"), 0},
	{"variant by a tag of an outer structure",
	 ALL("enum : u8 { x = 0, y = 1 } t; struct { variant <t> { u8 x; string y; } v; } s;"), 0},
	{"named variant with its tag later",
	 HEAD "variant v { u8 x; u32 y; };" TRACE CLOCK STREAM EVENT("enum : u8 { x, y } t; variant v <t> f;"), 0},
	{"comments, // and /* */", HEAD "// one\n/* two\n*/" TRACE CLOCK STREAM EVENT("u8 a; // b\n"), 8},
	{"float, both sizes", ALL("floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f; "
				   "floating_point { exp_dig = 11; mant_dig = 53; align = 64; byte_order = be; } g;"), 128},
	{"callsite and env blocks", HEAD TRACE "env { a = 1; b = \"x\"; }; callsite { name = \"e\"; line = 3; };" CLOCK STREAM
	 EVENT("u8 a;"), 8},
};

static void good_texts(void)
{
	struct ww_err err;
	char buf[1200];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct ctf_meta *m = parse(good[i].text, &err);
		bool pass = m && m->events.n == 1 && m->events.v[0]->payload->fixed == (good[i].fixed_bits != 0) &&
			    m->events.v[0]->payload->bits == good[i].fixed_bits;
		ok(pass, "TSDL: %s", good[i].what);
		ww_err_format(&err, buf, sizeof(buf));
		if (!pass)
			printf("# %s; %" PRIu64 " bits\n", m ? "read" : buf, m && m->events.n ? m->events.v[0]->payload->bits : 0);
		ctf_meta_free(m);
	}
}

/* Integers that were described in the same words before are not read again; these are more than are remembered. */
static void many_integers(void)
{
	char text[16384];
	struct ww_err err;
	int n = snprintf(text, sizeof(text), "%s", HEAD TRACE CLOCK STREAM "event { id = 1; name = e; stream_id = 0; fields := struct { ");
	uint64_t bits = 0;

	for (unsigned i = 0; i < 192; i++) {
		const unsigned size = i % 2 ? 8 : i / 2 % 64 + 1;

		n += snprintf(text + n, sizeof(text) - (size_t)n, "integer { size = %u; align = 1; } f%u; ", size, i);
		bits += size;
	}
	snprintf(text + n, sizeof(text) - (size_t)n, "}; };");
	struct ctf_meta *m = parse(text, &err);
	ok(m && m->events.n == 1 && m->events.v[0]->payload->bits == bits, "integers of all sizes, and one of them between any two");
	ctf_meta_free(m);
}

/* `mark` is a text that stands at the offset which the error must name; NULL: no offset is known. */
static const struct {
	const char *what, *text;
	int code;
	const char *mark;
} bad[] = {
	{"empty", "", WW_ECORRUPT, ""},
	{"no trace block", HEAD, WW_ECORRUPT, ""},
	{"a comment without end", "/* CTF 1.8 ", WW_ECORRUPT, "/*"},
	{"a string without end", HEAD TRACE "env { a = \"x; };", WW_ECORRUPT, NULL},
	{"a block without end", HEAD "trace { major = 1;", WW_ETRUNC, ""},
	{"unknown type", ALL("nosuch a;"), WW_ECORRUPT, NULL},
	{"a structure inside itself", HEAD "struct s { struct s x; };" TRACE, WW_ECORRUPT, NULL},
	{"integer of 0 bits", HEAD "typealias integer { size = 0; } := z;" TRACE, WW_ECORRUPT, "} := z"},
	{"integer of 65 bits", HEAD "typealias integer { size = 65; } := z;" TRACE, WW_ECORRUPT, "} := z"},
	{"alignment of 3", HEAD "typealias integer { size = 8; align = 3; } := z;" TRACE, WW_ECORRUPT, NULL},
	{"number over 64 bits", HEAD "env { a = 99999999999999999999; };", WW_ECORRUPT, NULL},
	{"no such length", ALL("u8 a[n];"), WW_ECORRUPT, NULL},
	{"a length that comes later", ALL("u8 a[n]; u8 n;"), WW_ECORRUPT, NULL},
	{"a signed length", ALL("integer { size = 8; signed = true; } n; u8 a[n];"), WW_ECORRUPT, NULL},
	{"a length that is a string", ALL("string n; u8 a[n];"), WW_ECORRUPT, NULL},
	{"a variant without a tag", ALL("variant { u8 x; } v;"), WW_ECORRUPT, NULL},
	{"a tag that is a plain integer", ALL("u8 t; variant <t> { u8 x; } v;"), WW_ECORRUPT, NULL},
	{"two events with one id", ALL("u8 a;") EVENT("u8 b;"), WW_ECORRUPT, NULL},
	{"two streams with one id", ALL("u8 a;") STREAM, WW_ECORRUPT, NULL},
	{"an event of no stream", HEAD TRACE CLOCK STREAM "event { id = 1; name = e; stream_id = 7; };", WW_ECORRUPT, NULL},
	{"clock of 0 Hz", HEAD TRACE "clock { name = c; freq = 0; };", WW_ECORRUPT, NULL},
	{"no such clock", HEAD TRACE STREAM, WW_ECORRUPT, NULL},
	{"CTF 9.9", HEAD "trace { major = 9; minor = 9; };", WW_EUNSUPPORTED, NULL},
	{"range that ends before it begins", ALL("enum : u8 { a = 5 ... 4 } e;"), WW_ECORRUPT, NULL},
	{"a float of 128 bits", ALL("floating_point { exp_dig = 15; mant_dig = 113; } f;"), WW_EUNSUPPORTED, "} f"},
	{"a float of 24 bits", ALL("floating_point { exp_dig = 7; mant_dig = 17; } f;"), WW_EUNSUPPORTED, "} f"},
	{"an array over 2^32", ALL("u8 a[4294967296];"), WW_ELIMIT, NULL},
	{"a stray byte", HEAD "@" TRACE, WW_ECORRUPT, "@"},
	{"a clock's offset of 300 years", HEAD TRACE "clock { name = c; offset_s = 9467280000; };", WW_EUNSUPPORTED, NULL},
	{"a clock's offset of 2^63 cycles below", HEAD TRACE "clock { name = c; offset = -9223372036854775808; freq = 1; };",
	 WW_EUNSUPPORTED, NULL},
};

static void bad_texts(void)
{
	struct ww_err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ctf_meta *m = parse(bad[i].text, &err);
		const char *at = bad[i].mark ? *bad[i].mark ? strstr(bad[i].text, bad[i].mark) :
							      bad[i].text + strlen(bad[i].text) : NULL;
		bool pass = !m && err.code == bad[i].code && *err.message &&
			    (!at || err.offset == (uint64_t)(at - bad[i].text));
		ok(pass, "refused: %s", bad[i].what);
		if (!pass)
			printf("# %s code %d offset %" PRIu64 ": %s\n", m ? "read" : "refused", err.code, err.offset, err.message);
		ctf_meta_free(m);
	}
}

/* struct a { struct b x; struct b y; }; ... doubles at each step: the limit ends it, not the memory. */
static void explosion(void)
{
	char text[8192];
	struct ww_err err;
	int n = snprintf(text, sizeof(text), HEAD "struct s0 { u8 a; u8 b; };");

	for (int i = 1; i < 40; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "struct s%d { struct s%d a; struct s%d b; };", i, i - 1, i - 1);
	struct ctf_meta *m = parse(text, &err);
	ok(!m && err.code == WW_ELIMIT, "types that double 40 times end at a limit");
	ctf_meta_free(m);

	n = snprintf(text, sizeof(text), HEAD);
	for (int i = 0; i < 500; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "struct { ");
	m = parse(text, &err);
	ok(!m && err.code == WW_ELIMIT, "500 nested structures end at a limit");
	ctf_meta_free(m);
}

/* ---- packets ---- */

static uint8_t stream[4096];
static size_t stream_len;
static char dir[64];

static void put(uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		stream[stream_len++] = (uint8_t)(v >> 8 * i);
}

#define PACKET_HEAD 52

/* A packet of n events with one u8 each, ts apart by 10; `lost` is the counter at its end. */
static void put_packet(uint64_t begin, unsigned n, uint64_t lost)
{
	uint64_t bits = (PACKET_HEAD + n * 10u) * 8u;

	put(0xC1FC1FC1, 4);
	put(0, 4);
	put(begin, 8);
	put(begin + n * 10, 8);
	put(bits, 8);
	put(bits, 8);
	put(lost, 8);
	put(3, 4);
	for (unsigned i = 0; i < n; i++) {
		put(1, 1);
		put(begin + i * 10, 8);
		put(i, 1);
	}
}

static void write_file(const char *name, const void *p, size_t n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	TAP_NEED(f && fwrite(p, 1, n, f) == n && fclose(f) == 0, "write %s", name);
	tap.n--; /* not a check of ours */
}

struct got {
	int rc, open_rc;
	uint64_t events, lost, bad, gaps, out_of_order;
	uint64_t damage_at; /* of the first damage */
	int damage_code;
	int64_t values; /* sum of the field */
};

static struct got read_trace(void)
{
	static const char *const want[] = {"a"};
	struct got g = {.damage_at = WW_ERR_NO_OFFSET};
	struct ww_trace *t = NULL;
	struct ww_event ev;
	const struct ww_damage *d;

	g.open_rc = ww_trace_open(dir, NULL, &t, NULL);
	if (g.open_rc)
		return g;
	ww_trace_want(t, 0, want, 1, NULL);
	while ((g.rc = ww_trace_next(t, &ev, NULL)) == 1) {
		if (ev.cls == WW_CLS_GAP)
			g.gaps++;
		else
			g.values += (int64_t)ev.v[0].u;
	}
	g.events = ww_trace_stats(t)->events;
	g.lost = ww_trace_stats(t)->lost_events;
	g.bad = ww_trace_stats(t)->bad_packets;
	g.out_of_order = ww_trace_stats(t)->out_of_order;
	if (ww_trace_damage(t, &d)) {
		g.damage_at = d[0].err.offset;
		g.damage_code = d[0].err.code;
	}
	ww_trace_close(t);
	return g;
}

static struct got read_stream(void)
{
	write_file("s0", stream, stream_len);
	return read_trace();
}

static void cut_everywhere(void)
{
	unsigned wrong = 0;

	stream_len = 0;
	put_packet(1000, 3, 0);
	put_packet(2000, 4, 0);
	size_t all = stream_len, first = PACKET_HEAD + 30;
	for (size_t n = 0; n <= all; n++) {
		stream_len = n;
		struct got g = read_stream();
		size_t in1 = n < PACKET_HEAD ? 0 : WW_MIN((n - PACKET_HEAD) / 10, 3u),
		       in2 = n < first + PACKET_HEAD ? 0 : WW_MIN((n - first - PACKET_HEAD) / 10, 4u);
		bool whole = n == 0 || n == first || n == all;
		uint64_t at = n < first ? 0 : first;
		bool fine = !g.open_rc && g.rc == 0 && g.events == in1 + in2 && (g.bad == 0) == whole && (whole || n < PACKET_HEAD || (n > first && n < first + PACKET_HEAD) || g.gaps) &&
			    (whole || g.damage_code == WW_ETRUNC) &&
			    (whole || (g.damage_at >= at && g.damage_at <= n));
		wrong += !fine;
		if (!fine)
			printf("# cut at %zu: rc %d/%d events %" PRIu64 " bad %" PRIu64 " code %d at %" PRIu64 "\n", n, g.open_rc,
			       g.rc, g.events, g.bad, g.damage_code, g.damage_at);
	}
	ok(wrong == 0, "cut at each of %zu bytes: the events before it, the damage and where it is", all);
}

static void losses(void)
{
	stream_len = 0;
	put_packet(1000, 2, 0);
	put_packet(2000, 2, 7);
	put_packet(3000, 2, 7);
	put_packet(4000, 2, 9);
	struct got g = read_stream();
	is_i64(g.lost, 9, "lost events are the growth of the counter");
	ok(g.gaps >= 2 && g.events == 8 && g.bad == 0, "and every loss is a gap");
	is_i64(g.values, 4, "the wanted field has its values");
}

static void damaged(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint64_t value;
		int bytes, code;
		uint64_t events, where;
	} cases[] = {
		{"bad magic of the second packet", 82, 0xdeadbeef, 4, WW_ECORRUPT, 6, 82},
		{"stream that is not known", 86, 99, 4, WW_ECORRUPT, 6, 82 + 8},
		{"packet size 0", 82 + 32, 0, 8, WW_ECORRUPT, 6, 82},
		{"packet size 2^64-1", 82 + 32, UINT64_MAX, 8, WW_ECORRUPT, 6, 82},
		{"content larger than the packet", 82 + 24, 1u << 20, 8, WW_ECORRUPT, 6, 82},
		{"content smaller than the header", 82 + 24, 8, 8, WW_ECORRUPT, 6, 82},
		{"a time stamp far behind its packet's end", 82 + PACKET_HEAD + 11, 5000000000, 8, WW_ECORRUPT, 7, 82 + PACKET_HEAD + 10},
		{"event of no class", 82 + PACKET_HEAD + 10, 77, 1, WW_ECORRUPT, 7, 82 + PACKET_HEAD + 10},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stream_len = 0;
		put_packet(1000, 3, 0);
		put_packet(2000, 3, 0);
		put_packet(3000, 3, 0);
		size_t all = stream_len;
		stream_len = cases[i].at;
		put(cases[i].value, cases[i].bytes);
		stream_len = all;
		struct got g = read_stream();
		bool pass = g.rc == 0 && g.events == cases[i].events && g.bad >= 1 && g.damage_code == cases[i].code &&
			    g.damage_at == cases[i].where;
		ok(pass, "read past: %s", cases[i].what);
		if (!pass)
			printf("# events %" PRIu64 " bad %" PRIu64 " code %d at %" PRIu64 "\n", g.events, g.bad, g.damage_code, g.damage_at);
	}
	stream_len = 0;
	put_packet(3000, 3, 0);
	put_packet(1000, 3, 0);
	struct got g = read_stream();
	ok(g.events == 6 && g.out_of_order >= 1 && g.bad == 0, "time that goes back is read and counted");
}

/* ---- LTTng's index files ---- */

/* An index of the three packets of damaged(), as LTTng's consumer writes it, in big-endian words; then one of them,
 * counted from the head's first, is changed. */
static void put_index(size_t word, uint32_t value)
{
	static const uint32_t begins[] = {1000, 2000, 3000};
	const uint32_t bytes = PACKET_HEAD + 30, each = 72;
	uint32_t w[4 + 3 * 18] = {0xC1F1DCC1, 1, 1, each};
	char path[128];

	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t e[9] = {i * bytes, bytes * 8, bytes * 8, begins[i], begins[i] + 30, 0, 0, 0, i};
		for (size_t k = 0; k < 9; k++)
			w[4 + i * 18 + k * 2 + 1] = e[k]; /* the high halves are 0 */
	}
	if (word < sizeof(w) / sizeof(w[0]))
		w[word] = value;
	for (size_t i = 0; i < sizeof(w) / sizeof(w[0]); i++)
		w[i] = __builtin_bswap32(w[i]);
	snprintf(path, sizeof(path), "%s/index", dir);
	if (mkdir(path, 0700))
		TAP_NEED(access(path, W_OK) == 0, "make %s", path);
	write_file("index/s0.idx", w, sizeof(w));
}

#define INDEX_WORD(packet, field) (4 + (packet) * 18 + (field) * 2 + 1)

static void indexed(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint64_t value;
		int bytes;
		uint64_t events; /* with a right index; 6 with a wrong one or none */
	} harm[] = {
		{"packet size 0", 82 + 32, 0, 8, 9},
		{"packet size 2^64-1", 82 + 32, UINT64_MAX, 8, 9},
		{"content larger than the packet", 82 + 24, 1u << 20, 8, 9},
		{"a bad magic number", 82, 0xdeadbeef, 4, 9},
		{"a stream that is not known", 82 + 4, 99, 4, 6},
		{"a bad magic number of the first packet", 0, 0xdeadbeef, 4, 9},
	};
	static const struct {
		const char *what;
		size_t word;
		uint32_t value;
	} wrong[] = {
		{"no magic number", 0, 0}, {"version 2", 1, 2}, {"entries of 8 bytes", 3, 8}, {"entries of 2^32-1 bytes", 3, UINT32_MAX},
		{"a hole before the damaged packet", INDEX_WORD(1, 0), 90}, {"a packet of no bits", INDEX_WORD(1, 1), 0},
		{"a packet beyond the file", INDEX_WORD(2, 1), 1u << 30}, {"content beyond its packet", INDEX_WORD(1, 2), 82 * 8 + 8},
		{"another content of the packet before", INDEX_WORD(0, 2), 81 * 8},
		{"another begin of the packet before", INDEX_WORD(0, 3), 7}, {"another begin of the packet", INDEX_WORD(1, 3), 7},
	};

	for (size_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		stream_len = 0;
		put_packet(1000, 3, 0);
		put_packet(2000, 3, 0);
		put_packet(3000, 3, 0);
		size_t all = stream_len;
		stream_len = harm[i].at;
		put(harm[i].value, harm[i].bytes);
		stream_len = all;
		put_index(SIZE_MAX, 0);
		struct got g = read_stream();
		ok(g.rc == 0 && g.events == harm[i].events && g.bad == 1, "by its index it is read past: %s", harm[i].what);
	}
	/* Of three packets the second says that it has no bytes. */
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		stream_len = 0;
		put_packet(1000, 3, 0);
		put_packet(2000, 3, 0);
		put_packet(3000, 3, 0);
		size_t all = stream_len;
		stream_len = 82 + 32;
		put(0, 8);
		stream_len = all;
		put_index(wrong[i].word, wrong[i].value);
		struct got g = read_stream();
		ok(g.rc == 0 && g.events == 6 && g.bad == 1 && g.damage_at == 82, "an index is not believed: %s", wrong[i].what);
	}
	stream_len = 0;
	put_packet(1000, 3, 0);
	put_packet(2000, 3, 0);
	put_packet(3000, 3, 0);
	put_index(INDEX_WORD(1, 1), 8);
	struct got g = read_stream();
	ok(g.rc == 0 && g.events == 9 && g.bad == 0, "where nothing is damaged a wrong index does no harm");
	put_index(SIZE_MAX, 0);
	stream_len = 0;
	g = read_stream();
	ok(g.bad == 1 && g.damage_code == WW_ETRUNC, "an empty stream is missed when its index has packets");
	char path[128];
	snprintf(path, sizeof(path), "%s/s0", dir);
	unlink(path);
	g = read_trace();
	ok(g.bad == 1 && g.damage_code == WW_ETRUNC, "and so is one that is not there");
	snprintf(path, sizeof(path), "%s/index/s0.idx", dir);
	unlink(path);
}

/* A sequence of 2^32-1 elements, of 1 byte and of none at all. */
static void huge_counts(void)
{
	static const char *const fields[] = {ALL("u32 n; u8 a[n];"), ALL("u32 n; struct { } a[n];"),
					     ALL("u32 n; struct { struct { } x[4000000000]; } a[n];"),
					     ALL("u32 n; string a[n];")};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		write_file("metadata", fields[i], strlen(fields[i]));
		stream_len = 0;
		put_packet(1000, 0, 0);
		put(1, 1);
		put(1000, 8);
		put(UINT32_MAX, 4);
		put(0, 8);
		size_t all = stream_len;
		stream_len = 24;
		put(all * 8, 8);
		put(all * 8, 8);
		stream_len = all;
		struct got g = read_stream();
		ok(g.rc == 0 && g.events == 0 && g.bad == 1 && (g.damage_code == WW_ETRUNC || g.damage_code == WW_ELIMIT),
		   "a count of 2^32-1, kind %zu, is damage and ends", i);
	}
}

int main(void)
{
	static const char meta[] = ALL("u8 a;");

	good_texts();
	many_integers();
	bad_texts();
	explosion();
	snprintf(dir, sizeof(dir), "/tmp/ww-ctf-XXXXXX");
	TAP_NEED(mkdtemp(dir), "a directory for traces");
	write_file("metadata", meta, sizeof(meta) - 1);
	cut_everywhere();
	losses();
	damaged();
	indexed();
	huge_counts();
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	ok(system(cmd) == 0, "clean up");
	return done_testing();
}
