/* format_writer.c - what the CTF writer writes, the CTF reader reads back: random records over many packets,
 * stamps that go back, records that are too large, metadata over many of its packets. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/writer.h"
#include "format/format.h"
#include "../tap.h"

#define RECORDS 60000

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

struct expected {
	uint64_t ts, u64;
	int32_t i32;
	uint32_t len;
};

static const struct ww_ctf_class classes[] = {
	{7, "one",
	 "integer { size = 64; align = 8; signed = 0; encoding = none; base = 10; } _u;\nstring _s;\n"
	 "integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _i;\n"},
	{70000, "empty", ""},
};

static void make_text(char *buf, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = (char)('a' + (i + len) % 26);
	buf[len] = 0;
}

static bool write_trace(int dirfd, struct expected *want, struct ww_err *err)
{
	struct ww_ctf_out o;
	struct ww_ctf_meta m = {.clock_uuid = "00000000-1111-2222-3333-444444444444",
				.clock_offset_ns = 1234567890123456789, .trace_name = "a \"quoted\" \\ name",
				.creation = "20261129T145118+0000", .classes = classes, .nclasses = 2};
	char text[600];

	if (ww_ctf_uuid_make(m.uuid, err) || ww_ctf_meta_write(dirfd, "metadata", &m, err) ||
	    ww_ctf_out_open(&o, dirfd, "dump_0", m.uuid, 4, 0, err))
		return false;
	uint64_t ts = 5, last = 0;
	for (int i = 0; i < RECORDS; i++) {
		ts += rnd() % 1000;
		uint64_t asked = rnd() % 8 ? ts : ts - WW_MIN(ts, 500); /* now and then back in time */
		last = WW_MAX(last, asked);
		want[i] = (struct expected){.ts = last, .u64 = rnd(), .i32 = (int32_t)rnd(),
					    .len = (uint32_t)(rnd() % 500)};
		make_text(text, want[i].len);
		if (ww_ctf_rec_begin(&o, 7, asked, err))
			return false;
		ww_ctf_rec_u64(&o, want[i].u64);
		ww_ctf_rec_str(&o, text);
		ww_ctf_rec_i32(&o, want[i].i32);
		ww_ctf_rec_end(&o);
		if (rnd() % 1000 == 0 && ww_ctf_out_flush(&o, err))
			return false;
	}
	/* Too large for a packet: counted as lost, and what comes after is not harmed. */
	static char huge[400 * 1024];
	if (ww_ctf_rec_begin(&o, 7, last, err))
		return false;
	ww_ctf_rec_bytes(&o, huge, sizeof(huge));
	ww_ctf_rec_end(&o);
	if (ww_ctf_rec_begin(&o, 70000, last + 1, err))
		return false;
	ww_ctf_rec_end(&o);
	return ww_ctf_out_close(&o, err) == 0;
}

static void read_trace(const char *dir, const struct expected *want)
{
	static const char *const fields[] = {"u", "s", "i"};
	struct ww_trace *t = NULL;
	struct ww_err err = {0};
	struct ww_event ev;
	char text[600];
	int rc, n = 0, wrong = 0, empty = 0;
	uint64_t lost = 0;

	int opened = ww_trace_open(dir, NULL, &t, &err);
	ok(!opened, "the reader opens it %s", err.message);
	if (opened)
		return;
	const struct ww_trace_info *info = ww_trace_info(t);
	ok(info->clock.offset_ns == 1234567890123456789, "the clock's offset");
	ok(info->nclasses == 2 && !strcmp(ww_trace_class(t, 0)->name, "one"), "the classes");
	ok(!ww_trace_want(t, 0, fields, 3, &err), "the fields are there");
	while ((rc = ww_trace_next(t, &ev, &err)) == 1) {
		if (ev.cls == WW_CLS_GAP) {
			lost += ev.v[0].u;
			continue;
		}
		if (ev.cls == 1) {
			empty++;
			continue;
		}
		if (n >= RECORDS)
			break;
		const struct expected *w = &want[n++];
		make_text(text, w->len);
		wrong += ev.ts_ns != (int64_t)w->ts || ev.v[0].u != w->u64 || ev.v[1].len != w->len ||
			 memcmp(ev.v[1].p, text, w->len) || ev.v[2].i != w->i32 || ev.cpu != 0;
	}
	ok(rc == 0, "read to the end %s", err.message);
	ok(n == RECORDS && !wrong, "%d records, %d wrong", n, wrong);
	ok(empty == 1, "the event after the one that was too large, its id over 16 bits");
	ok(lost == 1 && ww_trace_stats(t)->lost_events == 1, "one lost event (%" PRIu64 ")", lost);
	ok(!ww_trace_stats(t)->bad_packets && !ww_trace_stats(t)->out_of_order, "no bad packet, none out of order");
	ww_trace_close(t);
}

int main(void)
{
	char dir[] = "/tmp/ww-writer-XXXXXX", cmd[64];
	struct expected *want = ww_xcalloc(RECORDS, sizeof(*want));
	struct ww_err err = {0};

	ok(mkdtemp(dir) != NULL, "a directory");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(write_trace(fd, want, &err), "written %s", err.message);
	struct ww_ctf_out o;
	ok(ww_ctf_out_open(&o, fd, "dump_0", (const uint8_t[16]){0}, 0, 0, &err) < 0, "a file is not overwritten");
	read_trace(dir, want);
	close(fd);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	ok(!system(cmd), "cleaned up");
	free(want);
	return done_testing();
}
