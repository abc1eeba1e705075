/* format_ctf2.c - CTF 2: metadata that must be refused with a code and a place, and field classes whose values are
 * known here, above all those that babeltrace2 is no judge of (time stamps and lengths of variable length, floats of
 * 16 bits, damaged text, lengths in an event's own context).
 */
#include "../tap.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/meta.h"
#include "format/format.h"

#define RS "\x1e"
#define PRE RS "{\"type\":\"preamble\",\"version\":2}\n"
#define CLOCK RS "{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":1000000000}\n"
#define U(bits) "{\"type\":\"fixed-length-unsigned-integer\",\"length\":" #bits ",\"byte-order\":\"little-endian\"}"
#define ROLE(bits, role) \
	"{\"type\":\"fixed-length-unsigned-integer\",\"length\":" #bits ",\"byte-order\":\"little-endian\",\"roles\":[\"" role "\"]}"
#define F(name, fc) "{\"name\":\"" name "\",\"field-class\":" fc "}"
#define STRUCT(members) "{\"type\":\"structure\",\"member-classes\":[" members "]}"
#define VARINT "{\"type\":\"variable-length-unsigned-integer\"}"
#define STREAM(header) RS "{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"c\"," \
	"\"event-record-header-field-class\":" STRUCT(header) "}\n"
#define EVENT(members) RS "{\"type\":\"event-record-class\",\"name\":\"e\",\"payload-field-class\":" STRUCT(members) "}\n"
/* No headers at all: the stream is one packet whose events are the payload. */
#define PLAIN(members) PRE RS "{\"type\":\"data-stream-class\"}\n" EVENT(members)

static char dir[64];

static void write_file(const char *name, const void *p, size_t n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	TAP_NEED(f && fwrite(p, 1, n, f) == n && fclose(f) == 0, "write %s", name);
	tap.n--; /* not a check of ours */
}

/* ---- an event as text: a=1 s={b="x"} ---- */

static char text[2048];

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
}

static void name_of(const char *name)
{
	size_t n = strlen(text);

	if (n && !strchr("{[ ", text[n - 1]))
		add(" ");
	if (name)
		add("%s=", name);
}

static void begin(void *ctx, const char *name, bool array)
{
	char *closing = ctx;

	name_of(name);
	add(array ? "[" : "{");
	memmove(closing + 1, closing, strlen(closing) + 1);
	closing[0] = array ? ']' : '}';
}

static void end(void *ctx)
{
	char *closing = ctx;

	add("%c", closing[0]);
	memmove(closing, closing + 1, strlen(closing));
}

static void value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	name_of(name);
	if (v->kind == WW_V_UINT)
		add("%" PRIu64, v->u);
	else if (v->kind == WW_V_INT)
		add("%" PRId64, v->i);
	else if (v->kind == WW_V_FLOAT)
		add("%.17g", v->f);
	else if (v->kind == WW_V_STR)
		add("'%.*s'", (int)v->len, v->p);
	else if (v->kind == WW_V_BYTES)
		for (uint32_t i = 0; i < v->len; i++)
			add("%s%02x", i ? ":" : "<", (uint8_t)v->p[i]);
	if (v->kind == WW_V_BYTES)
		add(v->len ? ">" : "<>");
	if (label)
		add("(%s)", label);
}

/* Events as text, "; " between them, with their times when `times`; then the first damage. */
static const char *read_text(const char *metadata, const void *stream, size_t n, bool times)
{
	static const struct ww_visitor v = {begin, end, value};
	struct ww_trace *t = NULL;
	struct ww_event ev;
	struct ww_err err = {0};
	const struct ww_damage *d;
	char closing[64] = "";

	text[0] = 0;
	write_file("metadata", metadata, strlen(metadata));
	write_file("s", stream, n);
	if (ww_trace_open(dir, NULL, &t, &err)) {
		add("refused at %" PRIu64 ": %s", err.offset, err.message);
		return text;
	}
	while (ww_trace_next(t, &ev, &err) == 1) {
		if (ev.cls == WW_CLS_GAP)
			continue;
		if (*text)
			add("; ");
		if (times)
			add("@%" PRId64 " ", ev.ts_ns);
		ww_trace_visit(t, &ev, &v, closing, &err);
	}
	if (ww_trace_damage(t, &d))
		add(" | %s at %" PRIu64, ww_code_name(d[0].err.code), d[0].err.offset);
	ww_trace_close(t);
	return text;
}

static const struct {
	const char *what, *metadata;
	const char *bytes; /* hexadecimal */
	const char *want;
	bool times;
} reads[] = {
	{"LEB128: 0, 127, 128, 2^64-1", PLAIN(F("a", VARINT) "," F("b", VARINT) "," F("c", VARINT) "," F("d", VARINT)),
	 "00 7f 8001 ffffffffffffffffff01", "a=0 b=127 c=128 d=18446744073709551615", false},
	{"LEB128: zeros that go on", PLAIN(F("a", VARINT)), "8180808080808080808000", "a=1", false},
	{"LEB128: over 64 bits", PLAIN(F("a", VARINT)), "05 ffffffffffffffffff02", "a=5 | unsupported at 1", false},
	{"LEB128: no end", PLAIN(F("a", VARINT)), "05 8080", "a=5 | truncated at 1", false},
	{"signed LEB128",
	 PRE RS "{\"type\":\"field-class-alias\",\"name\":\"s\",\"field-class\":{\"type\":\"variable-length-signed-integer\"}}\n"
	 RS "{\"type\":\"data-stream-class\"}\n"
	 EVENT(F("a", "\"s\"") "," F("b", "\"s\"") "," F("c", "\"s\"") "," F("d", "\"s\"")),
	 "7f 3f 40 8080808080808080807f", "a=-1 b=63 c=-64 d=-9223372036854775808", false},
	{"a time stamp of 7 bits wraps", PRE CLOCK STREAM(F("t", "{\"type\":\"variable-length-unsigned-integer\","
	 "\"roles\":[\"default-clock-timestamp\"]}")) EVENT(F("a", U(8))), "05 01 8001 02 02 03 01 04",
	 "@5 a=1; @128 a=2; @130 a=3; @257 a=4", true},
	{"a packet without its time begins at 0", PRE CLOCK STREAM(F("t", ROLE(8, "default-clock-timestamp")))
	 EVENT(F("a", U(8))), "05 01 04 02", "@5 a=1; @260 a=2", true},
	{"floats of 16 bits", PLAIN(F("x", "{\"type\":\"static-length-array\",\"length\":7,\"element-field-class\":"
	 "{\"type\":\"fixed-length-floating-point-number\",\"length\":16,\"byte-order\":\"big-endian\"}}")),
	 "3c00 c000 7bff 0001 0400 7c00 8000", "x=[1 -2 65504 5.9604644775390625e-08 6.103515625e-05 inf -0]", false},
	{"bits: order, flags, a boolean", PLAIN(
	 F("a", "{\"type\":\"fixed-length-unsigned-integer\",\"length\":4,\"byte-order\":\"little-endian\",\"bit-order\":\"last-to-first\"}")
	 "," F("b", "{\"type\":\"fixed-length-boolean\",\"length\":3,\"byte-order\":\"little-endian\"}")
	 "," F("c", "{\"type\":\"fixed-length-bit-map\",\"length\":8,\"byte-order\":\"little-endian\",\"alignment\":8,"
	 "\"flags\":{\"lo\":[[0,1]],\"hi\":[[7,7],[3,4]],\"no\":[[5,5]]}}")), "41 89", "a=8 b=1(true) c=137(lo|hi)", false},
	{"names of ranges up to 2^64-1", PLAIN(F("a", "{\"type\":\"fixed-length-unsigned-integer\",\"length\":64,"
	 "\"byte-order\":\"little-endian\",\"mappings\":{\"small\":[[-5,3]],\"big\":[[4,18446744073709551615]]}}")),
	 "0300000000000000 ffffffffffffffff", "a=3(small); a=18446744073709551615(big)", false},
	{"UTF-16: surrogates, a half of one", PLAIN(F("a", "{\"type\":\"null-terminated-string\",\"encoding\":\"utf-16le\"}")),
	 "3dd800de 4100 00d8 4200 0000", "a='\xf0\x9f\x98\x80" "A\xef\xbf\xbd" "B'", false},
	{"UTF-32: over the last character", PLAIN(F("a", "{\"type\":\"static-length-string\",\"length\":8,\"encoding\":\"utf-32be\"}")),
	 "00110000 000020ac", "a='\xef\xbf\xbd\xe2\x82\xac'", false},
	{"a string in UTF-16 without end", PLAIN(F("a", "{\"type\":\"null-terminated-string\",\"encoding\":\"utf-16be\"}")),
	 "0041 0000 0041 00", "a='A' | truncated at 4", false},
	{"blobs", PLAIN(F("n", U(8)) "," F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"n\"]}}") ","
	 F("b", "{\"type\":\"static-length-blob\",\"length\":2}") "," F("c", "{\"type\":\"static-length-blob\",\"length\":0}")),
	 "03 010203 ff00", "n=3 a=<01:02:03> b=<ff:00> c=<>", false},
	{"optional: by a boolean", PLAIN(F("b", "{\"type\":\"fixed-length-boolean\",\"length\":8,\"byte-order\":\"little-endian\"}") ","
	 F("o", "{\"type\":\"optional\",\"selector-field-location\":{\"path\":[\"b\"]},\"field-class\":" U(8) "}") "," F("z", U(8))),
	 "04 05 06 00 07", "b=1(true) o=5 z=6; b=0(false) z=7", false},
	{"a length in an optional field that is not there", PLAIN(
	 F("b", U(8)) "," F("o", "{\"type\":\"optional\",\"selector-field-location\":{\"path\":[\"b\"]},\"selector-field-ranges\":[[1,1]],"
	 "\"field-class\":" U(8) "}") "," F("a", "{\"type\":\"dynamic-length-array\",\"length-field-location\":{\"path\":[\"o\"]},"
	 "\"element-field-class\":" U(8) "}")), "01 01 09 00 09", "b=1 o=1 a=[9] | truncated at 3", false},
	{"a length that is a variant", PLAIN(F("s", U(8)) ","
	 F("n", "{\"type\":\"variant\",\"selector-field-location\":{\"path\":[\"s\"]},\"options\":["
	 "{\"selector-field-ranges\":[[0,0]],\"field-class\":" U(8) "},{\"selector-field-ranges\":[[1,9]],\"field-class\":" U(16) "}]}") ","
	 F("a", "{\"type\":\"dynamic-length-string\",\"length-field-location\":{\"path\":[\"n\"]}}")),
	 "00 01 41 01 0200 4243", "s=0 n={0=1} a='A'; s=1 n={1=2} a='BC'", false},
	{"a place in each option of a variant, one of them its own", PLAIN(F("s", U(8)) ","
	 F("g", "{\"type\":\"variant\",\"selector-field-location\":{\"path\":[\"s\"]},\"options\":["
	 "{\"name\":\"p\",\"selector-field-ranges\":[[0,0]],\"field-class\":" STRUCT(F("e", U(16))) "},"
	 "{\"name\":\"q\",\"selector-field-ranges\":[[1,1]],\"field-class\":" STRUCT(F("e", VARINT) ","
	 F("l", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"origin\":\"event-record-payload\",\"path\":[\"g\",\"e\"]}}"))
	 "}]}") "," F("a", "{\"type\":\"dynamic-length-array\",\"length-field-location\":{\"path\":[\"g\",\"e\"]},\"element-field-class\":"
	 U(8) "}")), "00 0200 0708 01 01 ee 09", "s=0 g={p={e=2}} a=[7 8]; s=1 g={q={e=1 l=<ee>}} a=[9]", false},
	{"a place outside, and back in", PLAIN(F("s", STRUCT(F("n", U(8)) "," F("i", STRUCT(
	 F("a", "{\"type\":\"dynamic-length-array\",\"length-field-location\":{\"path\":[null,\"n\"]},\"element-field-class\":" U(8) "}"))) ","
	 F("b", "{\"type\":\"dynamic-length-array\",\"length-field-location\":{\"path\":[null,\"s\",\"n\"]},\"element-field-class\":" U(8) "}")))),
	 "01 02 03", "s={n=1 i={a=[2]} b=[3]}", false},
	{"two elements of an array have their own lengths", PLAIN(F("x", "{\"type\":\"static-length-array\",\"length\":2,"
	 "\"element-field-class\":" STRUCT(F("n", U(8)) ","
	 F("a", "{\"type\":\"dynamic-length-array\",\"length-field-location\":{\"origin\":\"event-record-payload\",\"path\":[\"x\",\"n\"]},"
	 "\"element-field-class\":" U(8) "}")) "}")), "01 05 02 06 07", "x=[{n=1 a=[5]} {n=2 a=[6 7]}]", false},
	{"alignment of an array and of a structure", PLAIN(F("a", U(8)) ","
	 F("x", "{\"type\":\"static-length-array\",\"length\":1,\"minimum-alignment\":32,\"element-field-class\":" U(8) "}") ","
	 F("s", "{\"type\":\"structure\",\"minimum-alignment\":64,\"member-classes\":[" F("b", U(8)) "]}")),
	 "01 000000 02 000000 03", "a=1 x=[2] s={b=3}", false},
	{"CTF 1.8: a length in an event's own context",
	 "trace { major = 1; minor = 8; byte_order = le; }; stream { }; event { name = e; context := struct { integer { size = 8; } n; "
	 "integer { size = 8; } c[n]; }; fields := struct { integer { size = 8; } a[n]; }; };",
	 "02 0102 0304", "a=[3 4] ctx={n=2 c=[1 2]}", false},
	{"CTF 1.8: variants without alignment after bits",
	 "trace { major = 1; minor = 8; byte_order = le; }; stream { }; event { name = e; fields := struct { "
	 "enum : integer { size = 3; } { x, y } t; struct { variant <t> { integer { size = 8; } x; integer { size = 8; } y; } v; } w[1]; "
	 "integer { size = 8; } z; }; };", "01 05 06", "t=1(y) w=[{v={y=5}}] z=6", false},
	{"CTF 1.8: a float of 16 bits",
	 "trace { major = 1; minor = 8; byte_order = le; }; stream { }; event { name = e; fields := struct { "
	 "floating_point { exp_dig = 5; mant_dig = 11; align = 8; } a; }; };", "0035", "a=0.3125", false},
};

static void known_values(void)
{
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		uint8_t b[256];
		size_t n = 0;
		for (const char *h = reads[i].bytes; *h; h += *h == ' ' ? 1 : 2)
			if (*h != ' ') {
				unsigned v;
				sscanf(h, "%2x", &v);
				b[n++] = (uint8_t)v;
			}
		const char *got = read_text(reads[i].metadata, b, n, reads[i].times);
		bool pass = !strcmp(got, reads[i].want);
		ok(pass, "%s", reads[i].what);
		if (!pass)
			printf("#  got %s\n# want %s\n", got, reads[i].want);
	}
}

/* `mark` is a text that begins at the byte which the error must name; "": the end. */
static const struct {
	const char *what, *text;
	int code;
	const char *mark, *says;
} bad[] = {
	{"no preamble", RS "{\"type\":\"trace-class\"}", WW_ECORRUPT, "\"trace", "preamble"},
	{"two preambles", PRE PRE, WW_ECORRUPT, NULL, "second preamble"},
	{"version 3", RS "{\"type\":\"preamble\",\"version\":3}", WW_EUNSUPPORTED, "3}", "CTF 3"},
	{"a UUID of 15 bytes", RS "{\"type\":\"preamble\",\"version\":2,\"uuid\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}",
	 WW_ECORRUPT, "[1", "UUID"},
	{"no stream", PRE, WW_ETRUNC, "", "no data stream class"},
	{"text before the first fragment", PRE "\n" "x", WW_ECORRUPT, "x", "JSON"},
	{"an extension", RS "{\"type\":\"preamble\",\"version\":2,\"extensions\":{\"my.tracer\":{\"piano\":null}}}",
	 WW_EUNSUPPORTED, "null", "`piano` of `my.tracer`"},
	{"an extension that was not declared", PLAIN(F("a", "{\"type\":\"null-terminated-string\",\"extensions\":{\"x\":{\"y\":1}}}")),
	 WW_EUNSUPPORTED, "1}}", "`y` of `x`"},
	{"a fragment that is not known", PRE RS "{\"type\":\"music\"}", WW_EUNSUPPORTED, "\"music", "music"},
	{"a fragment that is cut off", PRE RS "{\"type\":\"trace-class\"", WW_ETRUNC, "", "JSON"},
	{"a string that is cut off", PRE RS "{\"type\":\"trace", WW_ETRUNC, "\"trace", "JSON"},
	{"a trace class after a stream", PRE RS "{\"type\":\"data-stream-class\"}" RS "{\"type\":\"trace-class\"}", WW_ECORRUPT,
	 "{\"type\":\"trace", "after"},
	{"a clock that is not there", PRE RS "{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"x\"}", WW_ECORRUPT, "\"x\"", "'x'"},
	{"a clock of 0 Hz", PRE RS "{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":0}", WW_ECORRUPT, "0}", "0 Hz"},
	{"a second of 2 seconds' cycles", PRE RS "{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":10,\"offset-from-origin\":{\"cycles\":20}}",
	 WW_ECORRUPT, "{\"cycles", "20"},
	{"an event of no stream", PRE RS "{\"type\":\"data-stream-class\"}" RS "{\"type\":\"event-record-class\",\"data-stream-class-id\":7}",
	 WW_ECORRUPT, "{\"type\":\"event", "7"},
	{"two events with one id", PLAIN("") EVENT(""), WW_ECORRUPT, NULL, "same id"},
	{"two streams with one id", PRE RS "{\"type\":\"data-stream-class\"}" RS "{\"type\":\"data-stream-class\",\"id\":0}", WW_ECORRUPT,
	 "{\"type\":\"data-stream-class\",\"id", "second data stream class"},
	{"a type that is not known", PLAIN(F("a", "{\"type\":\"quantum\"}")), WW_EUNSUPPORTED, "\"quantum", "quantum"},
	{"an alias that is not there", PLAIN(F("a", "\"nobody\"")), WW_ECORRUPT, "\"nobody", "nobody"},
	{"an alias of itself", PRE RS "{\"type\":\"field-class-alias\",\"name\":\"a\",\"field-class\":\"a\"}", WW_ECORRUPT, "\"a\"}", "'a'"},
	{"an integer of 65 bits", PLAIN(F("a", U(65))), WW_EUNSUPPORTED, "65", "65"},
	{"an integer of 0 bits", PLAIN(F("a", U(0))), WW_ECORRUPT, "0,", "0 bits"},
	{"a float of 128 bits", PLAIN(F("a", "{\"type\":\"fixed-length-floating-point-number\",\"length\":128,\"byte-order\":\"little-endian\"}")),
	 WW_EUNSUPPORTED, "{\"type\":\"fixed", "128"},
	{"an alignment of 3", PLAIN(F("a", "{\"type\":\"fixed-length-boolean\",\"length\":1,\"byte-order\":\"little-endian\",\"alignment\":3}")),
	 WW_ECORRUPT, "{\"type\":\"fixed", "power of two"},
	{"a byte order that is none", PLAIN(F("a", "{\"type\":\"fixed-length-boolean\",\"length\":1,\"byte-order\":\"pdp\"}")), WW_ECORRUPT,
	 "\"pdp", "pdp"},
	{"no length", PLAIN(F("a", "{\"type\":\"static-length-blob\"}")), WW_ECORRUPT, "{\"type\":\"static", "`length` is missing"},
	{"a length that is a string", PLAIN(F("a", "{\"type\":\"static-length-blob\",\"length\":\"9\"}")), WW_ECORRUPT, "\"9", "a string"},
	{"a length below zero", PLAIN(F("a", "{\"type\":\"static-length-blob\",\"length\":-9}")), WW_ECORRUPT, "-9", "below zero"},
	{"a length over 2^32", PLAIN(F("a", "{\"type\":\"static-length-array\",\"length\":4294967296,\"element-field-class\":" U(8) "}")),
	 WW_ELIMIT, "{\"type\":\"static", "2^32"},
	{"a number over 2^64", PLAIN(F("a", "{\"type\":\"static-length-blob\",\"length\":18446744073709551616}")), WW_EUNSUPPORTED, "184", "64 bits"},
	{"a range that ends before it begins", PLAIN(F("a", "{\"type\":\"variable-length-signed-integer\",\"mappings\":{\"x\":[[3,-3]]}}")),
	 WW_ECORRUPT, "[3,", "before it begins"},
	{"a flag of a bit that is not there", PLAIN(F("a", "{\"type\":\"fixed-length-bit-map\",\"length\":4,\"byte-order\":\"little-endian\","
	 "\"flags\":{\"x\":[[2,4]]}}")), WW_ECORRUPT, "[2,", "bit"},
	{"a role of nobody", PLAIN(F("a", ROLE(8, "king"))), WW_ECORRUPT, "\"king", "king"},
	{"a magic number of 16 bits", PRE RS "{\"type\":\"trace-class\",\"packet-header-field-class\":" STRUCT(F("m", ROLE(16, "packet-magic-number")))
	 "}", WW_ECORRUPT, "\"packet-magic", "packet-magic-number"},
	{"a length that comes later", PLAIN(F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"n\"]}}") "," F("n", U(8))),
	 WW_ECORRUPT, "{\"type\":\"dynamic", "'n'"},
	{"a length that is itself", PLAIN(F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"a\"]}}")), WW_ECORRUPT,
	 "{\"type\":\"dynamic", "'a'"},
	{"a length that is a string", PLAIN(F("n", "{\"type\":\"null-terminated-string\"}") ","
	 F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"n\"]}}")), WW_ECORRUPT, "{\"type\":\"dynamic", "not an integer"},
	{"a length with a sign", PLAIN(F("n", "{\"type\":\"variable-length-signed-integer\"}") ","
	 F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"n\"]}}")), WW_ECORRUPT, "{\"type\":\"dynamic", "signed"},
	{"a length that is a boolean", PLAIN(F("n", "{\"type\":\"fixed-length-boolean\",\"length\":8,\"byte-order\":\"little-endian\"}") ","
	 F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"n\"]}}")), WW_ECORRUPT, "{\"type\":\"dynamic", "boolean"},
	{"a place that is none", PLAIN(F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"origin\":\"moon\",\"path\":[\"a\"]}}")),
	 WW_ECORRUPT, "\"moon", "moon"},
	{"a path that ends outside", PLAIN(F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"a\",null]}}")),
	 WW_ECORRUPT, "null]", "null"},
	{"a path out of the payload", PLAIN(F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[null,\"a\"]}}")),
	 WW_ECORRUPT, "{\"type\":\"dynamic", "'^.a'"},
	{"a place inside a finished array", PLAIN(F("x", "{\"type\":\"static-length-array\",\"length\":1,\"element-field-class\":" STRUCT(F("n", U(8)))
	 "}") "," F("a", "{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"x\",\"n\"]}}")), WW_ECORRUPT, "{\"type\":\"dynamic", "x.n"},
	{"an optional without ranges", PLAIN(F("n", U(8)) "," F("a", "{\"type\":\"optional\",\"selector-field-location\":{\"path\":[\"n\"]},"
	 "\"field-class\":" U(8) "}")), WW_ECORRUPT, "{\"type\":\"optional", "no ranges"},
	{"a variant without options", PLAIN(F("n", U(8)) "," F("a", "{\"type\":\"variant\",\"selector-field-location\":{\"path\":[\"n\"]},\"options\":[]}")),
	 WW_ECORRUPT, "[]", "0 options"},
	{"a payload that is no structure", PRE RS "{\"type\":\"data-stream-class\"}" RS "{\"type\":\"event-record-class\",\"payload-field-class\":" U(8) "}",
	 WW_ECORRUPT, "{\"type\":\"fixed", "structure"},
	{"half a surrogate", PRE RS "{\"type\":\"\\ud800x\"}", WW_ECORRUPT, "\\ud800", "character"},
	{"a NUL in a name", PRE RS "{\"type\":\"\\u0000\"}", WW_ECORRUPT, "\\u0000", "character"},
};

static void bad_texts(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ctf_meta *m = NULL;
		struct ww_err err = {0};
		const char *t = bad[i].text, *mark = bad[i].mark;
		int rc = ctf_meta_parse("metadata", t, strlen(t), &m, &err);
		const char *at = !mark ? NULL : *mark ? strstr(t, mark) : t + strlen(t);
		bool pass = rc == -bad[i].code && err.code == bad[i].code && strstr(err.message, bad[i].says) && *err.hint &&
			    (at ? err.offset == (uint64_t)(at - t) : err.offset <= strlen(t));
		ok(pass, "refused: %s", bad[i].what);
		if (!pass)
			printf("# code %d, want %d; offset %" PRIu64 ", want %td: %s; %s\n", err.code, bad[i].code, err.offset, at ? at - t : -1,
			       err.message, err.hint);
		if (!rc)
			ctf_meta_free(m);
	}
}

/* A file that is cut off anywhere is refused there or, between fragments, has fewer of them. */
static void cut_everywhere(void)
{
	static const char whole[] = PRE CLOCK STREAM(F("t", ROLE(8, "default-clock-timestamp"))) EVENT(F("a", U(8)));
	size_t stream = (size_t)(strstr(whole, RS "{\"type\":\"event") - whole);
	unsigned wrong = 0;

	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		struct ctf_meta *m = NULL;
		struct ww_err err = {0};
		/* The last line feed of a fragment may be missing; a lone RS is no fragment. */
		bool good = n == stream - 1 || n == stream || n == sizeof(whole) - 2;
		int rc = ctf_meta_parse("metadata", whole, n, &m, &err);
		if (!rc)
			ctf_meta_free(m);
		if (good != !rc || (rc && (err.offset > n || !*err.hint))) {
			wrong++;
			printf("# cut at %zu: %d, offset %" PRIu64 ": %s\n", n, rc, err.offset, err.message);
		}
	}
	ok(!wrong, "metadata cut off at each of %zu bytes", sizeof(whole) - 1);
}

/* Deep and wide JSON ends at a limit, not at the stack or the memory. */
static void limits(void)
{
	const size_t n = 3u << 20;
	char *t = ww_xmalloc(n + 64);
	struct ctf_meta *m = NULL;
	struct ww_err err = {0};

	strcpy(t, PRE RS);
	size_t at = strlen(t);
	memset(t + at, '[', 100000);
	ok(ctf_meta_parse("metadata", t, at + 100000, &m, &err) == -WW_ELIMIT && err.offset == at + 257,
	   "JSON nested 100000 deep ends at a limit");
	for (size_t i = at + 1; i + 1 < n; i += 2)
		memcpy(t + i, "1,", 2);
	err = (struct ww_err){0};
	ok(ctf_meta_parse("metadata", t, n, &m, &err) == -WW_ELIMIT, "a fragment of 1.5 million numbers ends at a limit");
	free(t);
}

int main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/ww-ctf2-XXXXXX");
	TAP_NEED(mkdtemp(dir), "a directory for traces");
	bad_texts();
	cut_everywhere();
	limits();
	known_values();
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	ok(system(cmd) == 0, "clean up");
	return done_testing();
}
