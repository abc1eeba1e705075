/* format_event.c - random CTF traces with LTTng's two headers: what of an event is wanted is what a visit finds there,
 * and the events of several streams come in the order of a merge that looks at all of them each time. */
#include "../tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "format/format.h"

#define STREAMS 5
#define EVENTS 400
#define PACKET 16 /* events */

static const char *const head = "/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; } := u8; typealias integer { size = 16; align = 8; } := u16;\n"
	"typealias integer { size = 32; align = 8; } := u32; typealias integer { size = 64; align = 8; } := u64;\n"
	"typealias integer { size = 8; align = 8; signed = true; } := i8;\n"
	"typealias integer { size = 16; align = 8; signed = true; } := i16;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := ch;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };\n"
	"clock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 27; align = 1; map = clock.c.value; } := t27;\n"
	"typealias integer { size = 32; align = 8; map = clock.c.value; } := t32;\n"
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;\n"
	"stream { id = 0; packet.context := struct { u64 content_size; u64 packet_size; u32 cpu_id; };\n";
static const char *const compact = "event.header := struct { enum : integer { size = 5; align = 1; } { compact = 0 ... 30, "
	"extended = 31 } id; variant <id> { struct { t27 timestamp; } compact; struct { u32 id; t64 timestamp; } extended; } v; } "
	"align(8); };\n";
static const char *const large = "event.header := struct { enum : u16 { compact = 0 ... 65534, extended = 65535 } id; "
	"variant <id> { struct { t32 timestamp; } compact; struct { u32 id; t64 timestamp; } extended; } v; } align(8); };\n";
/* Of the first and the last class all lies at known places; the last one's last value ends with the event. */
static const char *const events =
	"event { id = 0; name = numbers; stream_id = 0; fields := struct { u8 a; i64 b; i8 c; u16 d; ch text[13]; i16 e; u8 blob[3]; "
	"u32 f; i32 g; u64 h; u32 many[2]; }; };\n"
	"event { id = 1; name = ignored; stream_id = 0; fields := struct { u16 a; }; };\n"
	"event { id = 40; name = string; stream_id = 0; fields := struct { u8 a; string s; i16 b; }; };\n"
	"event { id = 41; name = short; stream_id = 0; fields := struct { i8 a; }; };\n";

static char dir[64];
static uint8_t bytes[1 << 16];
static size_t len;

struct one { /* an event as it was written */
	int64_t ts_ns;
	uint32_t cls;
};
static struct one written[STREAMS][EVENTS];
static uint64_t state = 1;

static uint32_t chance(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static void put(uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bytes[len++] = (uint8_t)(v >> 8 * i);
}

static void put_header(bool is_large, uint32_t id, int64_t ts, bool full)
{
	if (is_large && !full && id < 65535) {
		put(id, 2);
		put((uint32_t)ts, 4);
	} else if (!is_large && !full && id < 31) {
		put(id | (uint64_t)ts << 5, 4);
	} else {
		put(is_large ? 65535 : 31, is_large ? 2 : 1);
		put(id, 4);
		put((uint64_t)ts, 8);
	}
}

static void put_body(uint32_t cls)
{
	static const unsigned size[] = {54, 2, 1, 1}; /* before the string */

	for (unsigned i = 0; i < size[cls]; i++)
		put(chance(4) ? chance(256) : 0, 1);
	for (unsigned n = chance(20); cls == 2 && n; n--)
		put('a' + chance(26), 1);
	if (cls == 2)
		put(0, 1), put(chance(65536), 2);
}

static void write_file(const char *name, const void *p, size_t n)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "wb");
	TAP_NEED(f && fwrite(p, 1, n, f) == n && fclose(f) == 0, "write %s", name);
	tap.n--; /* not a check of ours */
}

/* Runs, and now and then the time of another stream; sometimes it goes back, which only a full stamp can tell. */
static void make_stream(uint32_t stream, bool is_large)
{
	static const uint32_t ids[] = {0, 1, 40, 41};
	int64_t ts = 1000 + chance(50);
	size_t packet = 0;

	len = 0;
	for (uint32_t i = 0; i < EVENTS; i++) {
		if (i % PACKET == 0) {
			packet = len;
			put(0xC1FC1FC1, 4), put(0, 4), put(0, 8), put(0, 8), put(stream, 4);
		}
		bool back = chance(60) == 0;
		ts = back ? ts - (int64_t)chance(900) : ts + (chance(12) ? chance(4) : chance(1000));
		struct one *e = &written[stream][i];
		*e = (struct one){ts, chance(4)};
		put_header(is_large, ids[e->cls], ts, back || i % PACKET == 0);
		put_body(e->cls);
		if (i % PACKET == PACKET - 1 || i == EVENTS - 1) {
			uint64_t bits = (len - packet) * 8;
			memcpy(bytes + packet + 8, &bits, 8);
			memcpy(bytes + packet + 16, &bits, 8);
		}
	}
	char name[16];
	snprintf(name, sizeof(name), "s_%u", stream);
	write_file(name, bytes, len);
}

static void make_trace(bool is_large)
{
	char meta[8192];

	snprintf(meta, sizeof(meta), "%s%s%s", head, is_large ? large : compact, events);
	write_file("metadata", meta, strlen(meta));
	for (uint32_t s = 0; s < STREAMS; s++)
		make_stream(s, is_large);
}

/* ---- against a visit ---- */

struct visited {
	struct ww_value v[16];
	uint32_t n, depth;
	bool array;
};

static void on_begin(void *ctx, const char *name, bool array)
{
	struct visited *s = ctx;

	s->array = array; /* else it is the packet's context */
	if (!s->depth++ && array)
		s->v[s->n++] = (struct ww_value){.kind = WW_V_ARRAY};
}

static void on_end(void *ctx)
{
	((struct visited *)ctx)->depth--;
}

static void on_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct visited *s = ctx;

	if (!s->depth)
		s->v[s->n++] = *v;
	else if (s->array)
		s->v[s->n - 1].len++;
}

static bool same(const struct ww_value *a, const struct ww_value *b)
{
	if (b->kind == WW_V_ARRAY) /* of bytes: they are wanted in place, and visited one by one */
		return (a->kind == WW_V_BYTES || a->kind == WW_V_ARRAY) && a->len == b->len;
	if (a->kind != b->kind || a->len != b->len)
		return false;
	return a->kind == WW_V_STR ? !memcmp(a->p, b->p, a->len) : a->u == b->u;
}

/* The fields are asked for in their order, then one that is not there. */
static bool as_visited(struct ww_trace *t, const struct ww_event *ev)
{
	static const struct ww_visitor v = {on_begin, on_end, on_value};
	struct visited s = {.n = 0};
	const uint32_t n = ww_trace_class(t, ev->cls)->nfields;

	if (ww_trace_visit(t, ev, &v, &s, NULL) || s.n != n || ev->nval != n + 1 || ev->v[n].kind != WW_V_NONE)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!same(&ev->v[i], &s.v[i]))
			return false;
	return true;
}

static void ask(struct ww_trace *t)
{
	static const char *want[4][16];

	for (uint32_t c = 0; c < 4; c++) {
		const struct ww_class *k = ww_trace_class(t, c);
		uint32_t n = 0;

		for (; n < k->nfields; n++)
			want[c][n] = k->field_names[n];
		want[c][n++] = "no_such_field";
		ww_trace_want(t, c, want[c], n, NULL);
	}
	ww_trace_ignore(t, 1);
}

/* ---- against a merge ---- */

struct merge {
	uint32_t at[STREAMS];
	int64_t last_ts_ns;
	uint64_t out_of_order;
};

/* The stream of the next event; STREAMS: none. */
static uint32_t merge_next(struct merge *m)
{
	uint32_t best = STREAMS;

	for (uint32_t s = 0; s < STREAMS; s++)
		if (m->at[s] < EVENTS && (best == STREAMS || written[s][m->at[s]].ts_ns < written[best][m->at[best]].ts_ns))
			best = s;
	if (best < STREAMS) {
		const int64_t ts_ns = written[best][m->at[best]++].ts_ns;
		m->out_of_order += ts_ns < m->last_ts_ns;
		m->last_ts_ns = ts_ns;
	}
	return best;
}

static void compare(const char *what)
{
	struct ww_trace *t;
	struct merge m = {.last_ts_ns = INT64_MIN};
	struct ww_event ev;
	uint32_t stream, wrong_order = 0, wrong_values = 0;

	TAP_NEED(ww_trace_open(dir, NULL, &t, NULL) == 0, "%s: opened", what);
	ask(t);
	while ((stream = merge_next(&m)) < STREAMS) {
		const struct one *e = &written[stream][m.at[stream] - 1];
		if (e->cls == 1)
			continue;
		bool got = ww_trace_next(t, &ev, NULL) == 1;
		wrong_order += !got || ev.ts_ns != e->ts_ns || ev.cls != e->cls || ev.cpu != (int32_t)stream;
		wrong_values += got && !as_visited(t, &ev);
	}
	is_i64(wrong_order, 0, "each event is the one that is first of all streams");
	is_i64(wrong_values, 0, "what is wanted is what a visit finds");
	ok(ww_trace_next(t, &ev, NULL) == 0 && ww_trace_stats(t)->events == STREAMS * EVENTS, "and nothing comes after them");
	is_i64((int64_t)ww_trace_stats(t)->out_of_order, (int64_t)m.out_of_order, "out of order are as many");
	ww_trace_close(t);
}

int main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/ww-event-XXXXXX");
	TAP_NEED(mkdtemp(dir), "a directory for traces");
	for (int i = 0; i < 4; i++) {
		make_trace(i % 2);
		compare(i % 2 ? "large headers" : "compact headers");
	}
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	ok(system(cmd) == 0, "clean up");
	return done_testing();
}
