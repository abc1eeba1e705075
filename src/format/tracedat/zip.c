/* zip.c - compressed sections and chunks: see "COMPRESSION FORMAT" in trace-cmd.dat.v7(5). */
#include <zlib.h>
#include <zstd.h>

#include "format/tracedat/private.h"

bool td_unzip(struct td_file *f, const void *in, size_t n, void *ret, size_t out)
{
	if (f->compression == TD_ZSTD) {
		if (!f->dctx)
			f->dctx = ZSTD_createDCtx();
		if (!f->dctx)
			return false;
		size_t got = ZSTD_decompressDCtx(f->dctx, ret, out, in, n);
		return !ZSTD_isError(got) && got == out;
	}
	if (f->compression == TD_ZLIB) {
		uLongf got = out;
		return uncompress(ret, &got, in, n) == Z_OK && got == out;
	}
	return false;
}

int td_section(struct td_file *f, uint64_t offset, uint16_t want_id, struct ww_span *ret, void **ret_heap,
	       struct ww_err *err)
{
	*ret_heap = NULL;
	if (offset >= f->bytes)
		return ww_err_set(err, WW_ETRUNC, f->path, offset,
				  "section %u is said to be at %" PRIu64 ", behind the end of the file",
				  want_id, offset);
	struct ww_span s = ww_span_of(f->map + offset, f->bytes - offset);
	s.swap = f->swap;
	uint16_t id = ww_span_u16(&s), flags = ww_span_u16(&s);
	ww_span_u32(&s); /* description: an index into the strings */
	uint64_t size = ww_span_u64(&s);
	if (s.bad)
		return ww_err_set(err, WW_ETRUNC, f->path, offset, "the file ends in a section's header");
	if (id != want_id)
		return ww_err_set(err, WW_ECORRUPT, f->path, offset, "section %u where %u should be", id,
				  want_id);
	if (size > ww_span_left(&s))
		return ww_err_set(err, WW_ETRUNC, f->path, offset + 8,
				  "section %u has %" PRIu64 " bytes, the file only %zu more", id, size,
				  ww_span_left(&s));
	struct ww_span body = ww_span_sub(&s, size);
	if (!(flags & 1)) {
		*ret = body;
		return 0;
	}
	uint32_t packed = ww_span_u32(&body), plain = ww_span_u32(&body);
	if (body.bad || packed > ww_span_left(&body))
		return ww_err_set(err, WW_ECORRUPT, f->path, offset + 16,
				  "compressed section %u is shorter than it says", id);
	if (plain > TD_MAX_SECTION_BYTES)
		return ww_err_set(err, WW_ELIMIT, f->path, offset + 20,
				  "section %u would have %u bytes, the limit is %u", id, plain,
				  TD_MAX_SECTION_BYTES);
	void *heap = ww_xmalloc(plain ? plain : 1);
	if (!td_unzip(f, body.p + body.pos, packed, heap, plain)) {
		free(heap);
		return ww_err_set(err, WW_ECORRUPT, f->path, offset + 24, "section %u does not decompress",
				  id);
	}
	*ret = ww_span_of(heap, plain);
	ret->swap = f->swap;
	*ret_heap = heap;
	return 0;
}
