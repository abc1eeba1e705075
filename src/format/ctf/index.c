/* index.c - reads LTTng's index files.
 *
 * A head of four big-endian 32-bit words (magic, major and minor version, bytes of an entry), then an entry a packet,
 * of big-endian 64-bit words: offset in bytes, packet and content size in bits, begin, end, events discarded, stream id;
 * since version 1.1 also the stream's instance and the packet's number, which are not needed here.
 * source lttng-tools 2.13 include/lttng/lttng-index.h as lttng-relayd and the consumer write it
 */
#include "format/ctf/index.h"

#include <stdio.h>
#include <string.h>

#include "base/span.h"

#define INDEX_MAGIC     0xC1F1DCC1u
#define HEAD_BYTES      16
#define MIN_ENTRY_BYTES 56
#define MAX_ENTRY_BYTES 4096
#define MAX_INDEX_BYTES (64u << 20)

static char *index_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? ww_xasprintf("%.*s/index%s.idx", (int)(slash - path), path, slash) : ww_xasprintf("index/%s.idx", path);
}

static uint8_t *load(const char *path, size_t *ret_n)
{
	char *name = index_path(path);
	FILE *f = fopen(name, "rbe");
	uint8_t *p = NULL;

	free(name);
	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && ftell(f) >= HEAD_BYTES && ftell(f) <= (long)MAX_INDEX_BYTES) {
		size_t n = (size_t)ftell(f);
		p = ww_xmalloc(n);
		rewind(f);
		*ret_n = fread(p, 1, n, f);
	}
	fclose(f);
	return p;
}

/* False: it is not of this file. */
static bool parse(struct ww_span *s, uint64_t size, struct ctf_index *x)
{
	uint64_t next = 0;

	s->swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	uint32_t magic = ww_span_u32(s), major = ww_span_u32(s);
	(void)ww_span_u32(s);
	uint32_t each = ww_span_u32(s);
	if (s->bad || magic != INDEX_MAGIC || major != 1 || each < MIN_ENTRY_BYTES || each > MAX_ENTRY_BYTES)
		return false;
	while (ww_span_left(s) >= each) {
		struct ww_span e = ww_span_sub(s, each);
		e.swap = s->swap;
		struct ctf_index_entry i = {.off = ww_span_u64(&e), .packet_bits = ww_span_u64(&e),
					    .content_bits = ww_span_u64(&e), .begin = ww_span_u64(&e), .end = ww_span_u64(&e),
					    .discarded = ww_span_u64(&e), .stream_id = ww_span_u64(&e)};
		if (e.bad || i.off != next || !i.packet_bits || i.packet_bits % 8 || i.content_bits > i.packet_bits ||
		    i.packet_bits / 8 > size - i.off)
			return false;
		next = i.off + i.packet_bits / 8;
		*ww_vec_push(&x->entries) = i;
	}
	return true;
}

void ctf_index_read(const char *path, uint64_t size, struct ctf_index *ret)
{
	size_t n = 0;
	uint8_t *p = load(path, &n);
	struct ww_span s = ww_span_of(p, n);

	ret->tried = true;
	if (!p || !parse(&s, size, ret))
		ww_vec_clear(&ret->entries);
	free(p);
}

const struct ctf_index_entry *ctf_index_find(const struct ctf_index *x, uint64_t off)
{
	size_t lo = 0, hi = x->entries.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (x->entries.v[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->entries.n && x->entries.v[lo].off == off ? &x->entries.v[lo] : NULL;
}

void ctf_index_release(struct ctf_index *x)
{
	ww_vec_free(&x->entries);
}
