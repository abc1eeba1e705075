/* barectf_write.c - records a few hundred events with the tracer that barectf generated from barectf.yaml:
 * `barectf_write DIR` writes the streams. ctf_barectf.py compiles and runs it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barectf.h"

enum { PACKET_BYTES = 512, EVENTS = 400 };

struct sink {
	void *ctx;
	FILE *to;
	uint64_t now;
	unsigned packets;
	int bare;
};

static uint64_t now(void *p)
{
	struct sink *s = p;

	/* at times more than the 23 bits of a stamp, which the next packet's begin makes up for */
	s->now += s->packets % 5 == 4 && barectf_packet_is_empty(s->ctx) ? 9000000 : 137;
	return s->now;
}

/* Each third time it is asked, so that events are discarded. */
static int is_full(void *p)
{
	struct sink *s = p;

	return !s->bare && s->packets++ % 3 == 2;
}

static void open_packet(void *p)
{
	struct sink *s = p;

	if (s->bare)
		barectf_bare_open_packet(s->ctx);
	else
		barectf_main_open_packet(s->ctx, (uint8_t)(s->packets % 3));
}

static void close_packet(void *p)
{
	struct sink *s = p;

	if (s->bare)
		barectf_bare_close_packet(s->ctx);
	else
		barectf_main_close_packet(s->ctx);
	if (fwrite(barectf_packet_buf(s->ctx), 1, barectf_packet_buf_size(s->ctx), s->to) != PACKET_BYTES)
		abort();
}

static void begin(struct sink *s, const char *dir, const char *name, uint8_t *buf)
{
	const struct barectf_platform_callbacks calls = {now, is_full, open_packet, close_packet};
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	s->to = fopen(path, "wb");
	if (!s->to)
		abort();
	barectf_init(s->ctx, buf, PACKET_BYTES, calls, s);
	open_packet(s);
}

static void end(struct sink *s)
{
	if (barectf_packet_is_open(s->ctx) && !barectf_packet_is_empty(s->ctx))
		close_packet(s);
	if (fclose(s->to))
		abort();
}

int main(int argc, char **argv)
{
	static uint8_t buf[2][PACKET_BYTES];
	struct barectf_main_ctx m;
	struct barectf_bare_ctx b;
	struct sink to_main = {.ctx = &m}, to_bare = {.ctx = &b, .bare = 1};

	if (argc != 2)
		return 2;
	begin(&to_main, argv[1], "main", buf[0]);
	begin(&to_bare, argv[1], "bare", buf[1]);
	for (int i = 0; i < EVENTS; i++) {
		const uint16_t v[3] = {(uint16_t)i, (uint16_t)(4095 - i), 7};
		uint16_t n[9];
		char text[32];

		for (int k = 0; k < 9; k++)
			n[k] = (uint16_t)(i * 331 + k);
		snprintf(text, sizeof(text), "%.*s", i % 20, "twenty characters, or so");
		if (i % 3 == 0)
			barectf_main_trace_plain(&m, (int16_t)(i - 200), (uint8_t)i & 7, (int64_t)i * -123456789, (float)i / 3,
						 i / -7., text);
		else if (i % 3 == 1)
			barectf_main_trace_nested(&m, (int16_t)i, text, (uint8_t)(i % 32), v, (uint32_t)(i % 10), n);
		else
			barectf_main_trace_empty(&m, (int16_t)-i);
		if (i % 4 == 0)
			barectf_bare_trace_only(&b, (uint64_t)i << 40 | 9, text);
	}
	end(&to_main);
	end(&to_bare);
	return 0;
}
