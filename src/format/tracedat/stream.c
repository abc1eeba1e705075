/* stream.c - the ring-buffer pages of one CPU -> records, in the stream's own order.
 *
 * A page: u64 time stamp, long commit (bits 0-26: bytes of data; bit 31: events were lost before this
 * page; bit 30: their number stands behind the data), data. The data is a row of records, each
 * beginning with a 32-bit word, 5 bits of type and 27 of time delta (the low 5 bits are the type in a
 * little-endian file, the high 5 in a big-endian one):
 *   0      a record whose length is in the next word (which counts itself)
 *   1..28  a record of type * 4 bytes
 *   29     padding: delta 0, to the end of the page; else a discarded record, length in the next word
 *   30     time extend: delta |= next word << 27
 *   31     absolute time stamp: the low 59 bits of the clock
 * e.g. 0x00000bc3 (little endian) = type 3, delta 94 ns: 12 bytes follow. */
#include <stdarg.h>
#include <stdio.h>

#include "format/tracedat/private.h"

#define COMMIT_MASK    ((1u << 27) - 1)
#define MISSED         (1u << 31)
#define MISSED_STORED  (1u << 30)
#define DELTA_BITS     27
#define ABS_HIGH_BITS  (0xf8ull << 56) /* what an absolute stamp cannot hold */

int td_damage(struct td_trace *t, int32_t cpu, uint64_t offset, int code, struct ww_err *err,
	      const char *fmt, ...)
{
	struct ww_damage d = {.cpu = cpu};
	char msg[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	ww_err_set(&d.err, code, t->file.path, offset, "%s", msg);
	if (t->damage.n < TD_MAX_DAMAGE)
		*ww_vec_push(&t->damage) = d;
	t->pub.stats.bad_packets++;
	if (!t->strict)
		return 0;
	return ww_err_set(err, code, t->file.path, offset, "%s", msg);
}

static inline uint32_t rd32(const struct td_trace *t, const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return t->file.swap ? __builtin_bswap32(v) : v;
}

static uint64_t rd64(const struct td_trace *t, const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return t->file.swap ? __builtin_bswap64(v) : v;
}

static uint64_t rd_long(const struct td_trace *t, const uint8_t *p, uint32_t size)
{
	return size == 4 ? rd32(t, p) : rd64(t, p);
}

/* Loads the next chunk of compressed data. 1 loaded, 0 the end; damage ends the stream, as where the
 * next chunk begins is known from this one. */
static int next_chunk(struct td_trace *t, struct td_stream *s, struct ww_err *err)
{
	struct td_file *f = &t->file;

	while (s->chunks_left) {
		uint64_t at = s->pos;
		if (s->end - at < 8) {
			s->chunks_left = 0;
			s->gap = true;
			return td_damage(t, s->where->cpu, at, WW_ETRUNC, err, "the data ends in a chunk's header");
		}
		uint32_t packed = rd32(t, f->map + at), plain = rd32(t, f->map + at + 4);
		if (packed > s->end - at - 8 || plain > TD_MAX_CHUNK_BYTES) {
			s->chunks_left = 0;
			s->gap = true;
			return td_damage(t, s->where->cpu, at, plain > TD_MAX_CHUNK_BYTES ? WW_ELIMIT : WW_ETRUNC,
					 err, "a chunk of %u bytes, %u uncompressed, where %" PRIu64 " are left",
					 packed, plain, s->end - at - 8);
		}
		s->chunks_left--;
		s->pos = at + 8 + packed;
		s->chunk_pos = s->chunk_len = 0;
		s->chunk_off = at;
		if (plain > s->chunk_cap) {
			t->chunks_bytes += plain - s->chunk_cap;
			if (t->chunks_bytes > TD_MAX_CHUNKS_BYTES) {
				t->chunks_bytes -= plain - s->chunk_cap;
				s->chunks_left = 0;
				s->gap = true;
				return td_damage(t, s->where->cpu, at, WW_ELIMIT, err,
						 "the chunks of all CPUs would need over %u bytes",
						 TD_MAX_CHUNKS_BYTES);
			}
			free(s->chunk);
			s->chunk = ww_xmalloc(plain);
			s->chunk_cap = plain;
		}
		if (!td_unzip(f, f->map + at + 8, packed, s->chunk, plain)) {
			s->gap = true;
			int rc = td_damage(t, s->where->cpu, at, WW_ECORRUPT, err, "a chunk does not decompress");
			if (rc)
				return rc;
			continue;
		}
		s->chunk_len = plain;
		return 1;
	}
	return 0;
}

/* Points *ret at the next page, whole. */
static int next_page_bytes(struct td_trace *t, struct td_stream *s, const uint8_t **ret, struct ww_err *err)
{
	uint32_t page = s->buffer->page_bytes;

	if (s->buffer->compressed) {
		while (s->chunk_len - s->chunk_pos < page) {
			int rc = next_chunk(t, s, err);
			if (rc <= 0)
				return rc;
		}
		*ret = s->chunk + s->chunk_pos;
		s->chunk_pos += page;
		s->page_off = s->chunk_off;
		return 1;
	}
	if (s->end - s->pos < page) {
		uint64_t at = s->pos, left = s->end - s->pos;
		s->pos = s->end;
		if (!left)
			return 0;
		s->gap = true;
		return td_damage(t, s->where->cpu, at, WW_ETRUNC, err,
				 "the data ends after %" PRIu64 " bytes of a page", left);
	}
	*ret = t->file.map + s->pos;
	s->page_off = s->pos;
	s->pos += page;
	return 1;
}

/* 1 a page with data, 0 the end. */
static int next_page(struct td_trace *t, struct td_stream *s, struct ww_err *err)
{
	const struct td_file *f = &t->file;

	for (;;) {
		const uint8_t *p = NULL;
		int rc = next_page_bytes(t, s, &p, err);
		if (rc <= 0)
			return rc;
		uint64_t commit = rd_long(t, p + f->commit_off, f->commit_size);
		uint32_t room = s->buffer->page_bytes - f->data_off, used = (uint32_t)(commit & COMMIT_MASK);
		if (used > room) {
			s->gap = true;
			rc = td_damage(t, s->where->cpu, s->page_off, WW_ECORRUPT, err,
				       "a page of %u bytes says that it holds %u", room, used);
			if (rc)
				return rc;
			continue;
		}
		uint64_t ts = rd64(t, p + f->ts_off);
		if (ts < s->page_ts) { /* the ring's pages follow one another; a page of zeros does not */
			s->gap = true;
			rc = td_damage(t, s->where->cpu, s->page_off, WW_ECORRUPT, err, "a page that is older than the one before it");
			if (rc)
				return rc;
			continue;
		}
		s->page_ts = ts;
		if (commit & MISSED) {
			uint64_t lost = 0;
			if ((commit & MISSED_STORED) && room - used >= f->commit_size)
				lost = rd_long(t, p + f->data_off + used, f->commit_size);
			s->gap = true;
			s->gap_lost += lost;
		}
		s->page = p;
		s->p = p + f->data_off;
		s->page_end = s->p + used;
		s->ts = ts;
		if (used)
			return 1;
	}
}

static int bad_record(struct td_trace *t, struct td_stream *s, const char *what, struct ww_err *err)
{
	uint64_t off = s->page_off + (s->buffer->compressed ? 0 : (uint64_t)(s->p - s->page));

	s->p = s->page_end;
	s->gap = true;
	return td_damage(t, s->where->cpu, off, WW_ECORRUPT, err, "%s", what);
}

/* A record at s->rec: its class, its time. */
static void take_record(struct td_trace *t, struct td_stream *s)
{
	struct ww_trace_stats *st = &t->pub.stats;
	int64_t ns = WW_LIKELY(t->plain_clock) ? (int64_t)(s->ts + (uint64_t)t->add_ns)
					       : td_clock_slow(t, s->ts, s->where->cpu);
	uint16_t type = 0;

	if (WW_LIKELY(s->rec_bytes >= t->type_off + 2)) {
		memcpy(&type, s->rec + t->type_off, 2);
		type = t->file.swap ? __builtin_bswap16(type) : type;
	}
	s->cls = t->class_of[type];
	if (WW_UNLIKELY(s->cls == WW_NONE))
		s->cls = t->unknown_class;
	if (WW_UNLIKELY(!st->events || ns < st->begin_ts_ns))
		st->begin_ts_ns = ns;
	if (!st->events || ns > st->end_ts_ns)
		st->end_ts_ns = ns;
	st->events++;
	if (WW_UNLIKELY(s->any && ns < s->last_ns))
		st->out_of_order++;
	if (WW_UNLIKELY(s->gap) && s->gap_begin_ns == INT64_MIN && s->any)
		s->gap_begin_ns = s->last_ns;
	s->ts_ns = ns;
	/* the merge keeps the stream's order even where its clock goes back */
	s->key = s->any && ns < s->key ? s->key : ns;
	s->last_ns = ns;
	s->any = true;
}

/* Time stamps and padding; the record words themselves are in td_stream_next. Returns 0 or an error. */
static int special(struct td_trace *t, struct td_stream *s, uint32_t type, uint32_t delta, struct ww_err *err)
{
	if (type == 29 && !delta) {
		s->p = s->page_end;
		return 0;
	}
	if (s->page_end - s->p < 8)
		return bad_record(t, s, "a page ends in the middle of a time stamp", err);
	uint64_t next = rd32(t, s->p + 4);
	if (type == 30) {
		s->ts += (next << DELTA_BITS) + delta;
	} else if (type == 31) {
		uint64_t abs = (next << DELTA_BITS) | delta;
		if (s->ts & ABS_HIGH_BITS) {
			abs |= s->ts & ABS_HIGH_BITS;
			if (abs < s->ts)
				abs += 1ull << 59;
		}
		s->ts = abs;
	} else {
		/* A discarded record keeps its delta; one that had none was given 1, to tell it from the
		 * end of the page. */
		if (delta != 1)
			s->ts += delta;
		if (next > (uint64_t)(s->page_end - s->p - 4))
			return bad_record(t, s, "padding goes past the end of its page", err);
		s->p += 4 + ((next + 3) & ~3ull);
		if (s->p > s->page_end)
			s->p = s->page_end;
		return 0;
	}
	s->p += 8;
	return 0;
}

int td_stream_next(struct td_trace *t, struct td_stream *s, struct ww_err *err)
{
	const bool big = t->file.big;

	for (;;) {
		if (s->page_end - s->p < 4) {
			int rc = next_page(t, s, err);
			if (rc <= 0)
				return rc;
			continue;
		}
		uint32_t word = rd32(t, s->p);
		uint32_t type = big ? word >> DELTA_BITS : word & 31;
		uint32_t delta = big ? word & ((1u << DELTA_BITS) - 1) : word >> 5;
		if (WW_UNLIKELY(type > 28)) {
			int rc = special(t, s, type, delta, err);
			if (rc)
				return rc;
			continue;
		}
		uint32_t head = 4;
		uint64_t len = type * 4;
		if (WW_UNLIKELY(!type)) {
			head = 8;
			uint32_t n = s->page_end - s->p >= 8 ? rd32(t, s->p + 4) : 0;
			len = n < 4 ? UINT32_MAX : (((uint64_t)n - 4 + 3) & ~3ull);
		}
		if (WW_UNLIKELY(head + len > (uint64_t)(s->page_end - s->p))) {
			int rc = bad_record(t, s, "a record goes past the end of its page", err);
			if (rc)
				return rc;
			continue;
		}
		s->ts += delta;
		s->rec = s->p + head;
		s->rec_bytes = (uint32_t)len;
		s->p = s->rec + len;
		take_record(t, s);
		if (!t->classes.v[s->cls].ignored || s->gap)
			return 1;
	}
}
