/* pd_walk.c - the data sections: finds the records, in the files' order, and says what is complete.
 *
 * Within a round (pd_queue.c) each CPU's records ascend; what was recorded while perf went round may stand in the
 * next round, but never in the one after. So at the end of round n everything up to the latest stamp of round n - 1
 * could be delivered. But a CPU that stood still (of a virtual machine) between taking a stamp and closing the
 * record is behind by more rounds than that, as rounds can be microseconds: so the last 5 ms wait, too.
 *
 * A directory of `perf record --threads` has a file for each thread of perf, and no rounds: all are walked before
 * the first record is delivered.
 *
 * COMPRESSED records are parts of one zstd stream. Each is decompressed into a block that lives until its last
 * segment was delivered; a record cut by the block's end is carried to the next one.
 */
#include "format/perfdata/perfdata_private.h"

#include <sys/mman.h>
#include <zstd.h>

#define MAX_BLOCK_BYTES (64u << 20)
/* Over these records are delivered till half of it is left, complete or not. */
#define MAX_PENDING_BYTES (128u << 20) /* of decompressed blocks */
#define WALK_BYTES (64u << 10)
#define LATE_NS 5000000
#define GIVE_BACK_BYTES (8u << 20)
#define KEEP_BYTES (2u << 20)    /* behind the record delivered: values of it may still be read */
#define PREFETCH_BYTES 2048 /* prefetching past the mapping's end is harmless */

/* ---- records ---- */

/* The trace begins with its first sample: what others tell may be older, perf itself made it up or had it recorded
 * while it got ready. Without a sample it begins with them. */
static void see_begin(struct perfdata *t, int64_t ts_ns, bool sample)
{
	struct ww_trace_stats *st = &t->pub.stats;

	if (t->oldest_ts_ns == PD_NO_TIME)
		t->oldest_ts_ns = st->begin_ts_ns = st->end_ts_ns = ts_ns;
	t->oldest_ts_ns = WW_MIN(t->oldest_ts_ns, ts_ns);
	if (sample && !t->sampled)
		st->begin_ts_ns = ts_ns;
	if (sample || !t->sampled)
		st->begin_ts_ns = WW_MIN(st->begin_ts_ns, ts_ns);
	t->sampled |= sample;
}

static inline void see_time(struct perfdata *t, struct pd_source *src, int64_t ts_ns, bool sample)
{
	struct ww_trace_stats *st = &t->pub.stats;

	if (WW_UNLIKELY(ts_ns == PD_NO_TIME))
		return;
	src->max_ts_ns = WW_MAX(src->max_ts_ns, ts_ns);
	if (WW_UNLIKELY(!t->sampled || ts_ns < st->begin_ts_ns))
		see_begin(t, ts_ns, sample);
	st->end_ts_ns = WW_MAX(st->end_ts_ns, ts_ns);
}

enum pd_look pd_look_other(const struct perfdata *t, const uint8_t *rec, uint32_t size, struct pd_entry *ret)
{
	uint32_t type = PD_TYPE(t, rec), ai = 0;
	bool loss = type == PD_REC_LOST || type == PD_REC_LOST_SAMPLES;

	if (type >= PD_REC_KERNEL_N || !t->attrs.n || (!loss && t->cls_of_rec[type] == WW_NONE))
		return PD_SKIP;
	const struct pd_attr *a = &t->attrs.v[0];
	if (a->tr_bytes && size < PD_REC_HEADER_BYTES + (uint32_t)a->tr_bytes)
		return PD_BAD;
	if (a->tr_id) {
		uint32_t known = pd_attr_of_id(t, pd_u64(t, rec + size - a->tr_id));
		if (known != WW_NONE && t->attrs.v[known].tr_bytes == a->tr_bytes)
			ai = known;
		a = &t->attrs.v[ai];
	}
	uint64_t ts = 0;
	if (a->tr_time)
		ts = pd_u64(t, rec + size - a->tr_time);
	else if ((type == PD_REC_FORK || type == PD_REC_EXIT) && size >= 32)
		ts = pd_u64(t, rec + 24);
	ret->ts_ns = ts == 0 || ts > INT64_MAX ? PD_NO_TIME : (int64_t)ts;
	ret->rec = rec;
	ret->attr = ai;
	return !loss && t->classes.v[t->cls_of_rec[type]].ignored ? PD_COUNT : PD_TAKE;
}

static int bad_record(struct perfdata *t, const uint8_t *rec, uint32_t size, uint64_t offset, struct ww_err *err)
{
	if (PD_TYPE(t, rec) != PD_REC_SAMPLE)
		return pd_damage(t, WW_ECORRUPT, offset, err, "a record of %u bytes is too short", size);
	if (!t->attrs.n)
		return pd_damage(t, WW_ECORRUPT, offset, err, "a sample, but no event was described");
	if (pd_sample_attr(t, rec, size, t->swap) == WW_NONE)
		return pd_damage(t, WW_ECORRUPT, offset, err, "a sample of an event that was not described");
	return pd_damage(t, WW_ECORRUPT, offset, err, "a sample of %u bytes is too short", size);
}

static void round_ended(struct perfdata *t, struct pd_source *src)
{
	if (t->sources.n == 1 && src->max_ts_ns != PD_NO_TIME)
		t->limit_ts_ns = WW_MAX(t->limit_ts_ns, WW_MIN(src->flush_ts_ns, src->max_ts_ns - LATE_NS));
	src->flush_ts_ns = src->max_ts_ns;
}

/* What waits is worth a turn of delivering: not every round of a few records, and not before it is known where the
 * trace begins. */
static bool enough(const struct perfdata *t, size_t walked)
{
	return walked >= WALK_BYTES && t->heap.n && t->sampled && t->limit_ts_ns != PD_NO_TIME && t->heap.v[0].ts_ns <= t->limit_ts_ns;
}

/* Of samples that stand behind the last one taken and are not older, which are nearly all, only the first and the
 * last have to be looked at closely. Returns where that ends. */
static const uint8_t *walk_samples(struct perfdata *t, struct pd_source *src, const uint8_t *p, const uint8_t *end)
{
	const bool swap = t->swap;
	int64_t first = PD_NO_TIME, last = t->open_ts_ns;
	struct pd_entry e;

	while (end - p >= PD_REC_HEADER_BYTES && pd_get_u32(p, swap) == PD_REC_SAMPLE) {
		const uint32_t size = pd_get_u16(p + 6, swap);

		if (size < PD_REC_HEADER_BYTES || size > end - p || pd_look(t, p, size, &e, swap) != PD_TAKE ||
		    e.ts_ns == PD_NO_TIME || e.ts_ns < last)
			break;
		__builtin_prefetch(p + PREFETCH_BYTES);
		first = first == PD_NO_TIME ? e.ts_ns : first;
		last = e.ts_ns;
		p += size;
	}
	if (first != PD_NO_TIME) {
		t->open_end = p;
		t->open_ts_ns = last;
		see_time(t, src, first, true);
		see_time(t, src, last, true);
	}
	return p;
}

/* Walks over the kernel's records from *pos on: to one of perf's own that is more than the end of a round, to a
 * damaged one, to where some can be delivered, or to the end. */
static int walk_kernel(struct perfdata *t, struct pd_source *src, uint32_t block, const uint8_t **pos,
		       const uint8_t *end, struct ww_err *err)
{
	struct pd_entry e = {.block = block, .source = (uint32_t)(src - t->sources.v)};
	const uint8_t *p = *pos;
	int rc = 0;

	pd_queue_cut(t);
	while (!rc && end - p >= PD_REC_HEADER_BYTES && t->nsegs < PD_MAX_SEGS) {
		uint32_t size = PD_SIZE(t, p);

		if (size < PD_REC_HEADER_BYTES || size > end - p)
			break;
		if (PD_TYPE(t, p) >= PD_REC_HEADER_ATTR) {
			if (PD_TYPE(t, p) != PD_REC_FINISHED_ROUND)
				break;
			round_ended(t, src);
			p += size;
			if (enough(t, (size_t)(p - *pos)))
				break;
			continue;
		}
		__builtin_prefetch(p + PREFETCH_BYTES);
		enum pd_look look = pd_look(t, p, size, &e, t->swap);
		if (WW_LIKELY(look == PD_TAKE))
			pd_queue_add(t, &e, size);
		else if (look == PD_COUNT)
			t->pub.stats.events++;
		else if (look == PD_BAD)
			rc = bad_record(t, p, size, pd_entry_offset(t, &(struct pd_entry){
				.rec = p, .block = block, .source = e.source}), err);
		if (look <= PD_COUNT)
			see_time(t, src, e.ts_ns, PD_TYPE(t, p) == PD_REC_SAMPLE);
		p += size;
		if (WW_LIKELY(look == PD_TAKE))
			p = walk_samples(t, src, p, end);
	}
	*pos = p;
	return rc;
}

/* ---- decompression ---- */

static uint32_t block_new(struct perfdata *t)
{
	for (size_t i = 0; i < t->blocks.n; i++)
		if (!t->blocks.v[i].data)
			return (uint32_t)i;
	ww_vec_push(&t->blocks);
	return (uint32_t)t->blocks.n - 1;
}

static void block_free(struct perfdata *t, struct pd_block *b)
{
	t->block_bytes -= b->len;
	free(b->data);
	*b = (struct pd_block){0};
}

void pd_block_unuse(struct perfdata *t, uint32_t i)
{
	if (i == WW_NONE)
		return;
	struct pd_block *b = &t->blocks.v[i];
	if (--b->pending == 0 && !b->walked)
		block_free(t, b);
}

/* Leaves the block that was walked; what is left of it, the beginning of a record, is copied to *b. */
static void block_leave(struct perfdata *t, struct pd_source *src, struct pd_block *b, size_t *ret_cap)
{
	struct pd_block *old = src->block == WW_NONE ? NULL : &t->blocks.v[src->block];
	size_t left = old ? old->len - src->block_pos : 0;

	*ret_cap = left + (256u << 10);
	b->data = ww_xmalloc(*ret_cap);
	b->len = left;
	if (left)
		memcpy(b->data, old->data + src->block_pos, left);
	src->block = WW_NONE;
	src->block_pos = 0;
	if (old) {
		old->walked = false;
		if (!old->pending)
			block_free(t, old);
	}
}

static int block_open(struct perfdata *t, struct pd_source *src, const uint8_t *p, size_t len, uint64_t offset,
		      struct ww_err *err)
{
	struct pd_block b = {.file_offset = offset, .walked = true};
	ZSTD_inBuffer in = {p, len, 0};
	size_t cap;

	if (!src->zstd)
		src->zstd = ZSTD_createDStream();
	if (src->zstd_broken || !src->zstd)
		return 0;
	t->pub.converts = true; /* blocks go when their events were delivered */
	pd_queue_cut(t);
	block_leave(t, src, &b, &cap);
	for (;;) {
		ZSTD_outBuffer out = {b.data, cap, b.len};
		size_t rc = ZSTD_decompressStream(src->zstd, &out, &in);

		bool stuck = out.pos == b.len && in.pos == in.size;
		b.len = out.pos;
		if (ZSTD_isError(rc) || b.len > MAX_BLOCK_BYTES) {
			/* One stream runs through all of them, so that nothing behind can be read. */
			src->zstd_broken = true;
			free(b.data);
			return pd_damage(t, ZSTD_isError(rc) ? WW_ECORRUPT : WW_ELIMIT, offset, err,
					 "compressed events: %s",
					 ZSTD_isError(rc) ? ZSTD_getErrorName(rc) : "over 64 MB in one record");
		}
		if (stuck || (in.pos == in.size && b.len < cap))
			break;
		if (b.len == cap) {
			cap *= 2;
			b.data = ww_xrealloc(b.data, cap);
		}
	}
	b.data = ww_xrealloc(b.data, b.len + 1);
	t->block_bytes += b.len;
	src->block = block_new(t);
	t->blocks.v[src->block] = b;
	src->block_pos = 0;
	return 0;
}

/* ---- the walk ---- */

/* The next step in the block that is walked: 1, or 0 when it holds no whole record any more. */
static int walk_block(struct perfdata *t, struct pd_source *src, struct ww_err *err)
{
	const struct pd_block b = t->blocks.v[src->block];
	const uint8_t *p = b.data + src->block_pos, *end = b.data + b.len;

	int rc = walk_kernel(t, src, src->block, &p, end, err);
	src->block_pos = (size_t)(p - b.data);
	if (rc)
		return rc;
	if (end - p < PD_REC_HEADER_BYTES)
		return 0;
	uint32_t size = PD_SIZE(t, p), type = PD_TYPE(t, p);
	if (size < PD_REC_HEADER_BYTES || type == PD_REC_COMPRESSED || type == PD_REC_COMPRESSED2) {
		src->block_pos = b.len;
		src->zstd_broken = t->rest_lost = true;
		rc = pd_damage(t, WW_ECORRUPT, b.file_offset, err, "compressed events: a record of %u bytes", size);
		return rc ? rc : 1;
	}
	if (size > end - p)
		return 0;
	if (type >= PD_REC_HEADER_ATTR)
		src->block_pos += size;
	return 1;
}

/* One of perf's own records. */
static int walk_own(struct perfdata *t, struct pd_source *src, const uint8_t *p, uint32_t size, struct ww_err *err)
{
	uint64_t offset = (uint64_t)(p - src->map);

	switch (PD_TYPE(t, p)) {
	case PD_REC_COMPRESSED:
		return block_open(t, src, p + PD_REC_HEADER_BYTES, size - PD_REC_HEADER_BYTES, offset, err);
	case PD_REC_COMPRESSED2: {
		uint64_t n = size >= 16 ? pd_u64(t, p + 8) : 0;
		if (size < 16 || n > size - 16)
			return pd_damage(t, WW_ECORRUPT, offset, err, "compressed record is damaged");
		return block_open(t, src, p + 16, (size_t)n, offset, err);
	}
	default:
		return 0;
	}
}

static int walk_file(struct perfdata *t, struct pd_source *src, struct ww_err *err)
{
	const uint8_t *p = src->map + src->pos, *end = src->map + src->end;

	/* The rest of a block waits for the compressed record behind these. */
	int rc = walk_kernel(t, src, WW_NONE, &p, end, err);
	src->pos = (uint64_t)(p - src->map);
	if (rc)
		return rc;
	uint64_t left = src->end - src->pos;
	if (left == 0) {
		src->ended = true;
		if (src->block != WW_NONE && t->blocks.v[src->block].len > src->block_pos)
			return pd_damage(t, WW_ETRUNC, src->pos, err, "compressed events end within a record");
		return 0;
	}
	uint32_t size = left >= PD_REC_HEADER_BYTES ? PD_SIZE(t, p) : 0;
	bool own = size >= PD_REC_HEADER_BYTES && PD_TYPE(t, p) >= PD_REC_HEADER_ATTR;
	uint64_t extra = own ? pd_record_extra(t, p, size) : 0;
	if (WW_UNLIKELY(size < PD_REC_HEADER_BYTES || size > left || extra > left - size)) {
		src->ended = t->rest_lost = true;
		return pd_damage(t, left < PD_REC_HEADER_BYTES || size > left ? WW_ETRUNC : WW_ECORRUPT, src->pos,
				 err, "%" PRIu64 " bytes cannot be read: a record of %u bytes", left, size);
	}
	if (!own)
		return 0; /* it went so far that others can be delivered first */
	src->pos += size + extra;
	return walk_own(t, src, p, size, err);
}

static int walk_step(struct perfdata *t, struct pd_source *src, struct ww_err *err)
{
	t->walked_file = src->file;
	int rc = src->block != WW_NONE ? walk_block(t, src, err) : 0;

	if (rc)
		return rc < 0 ? rc : 0;
	return walk_file(t, src, err);
}

/* Of several files the one that is behind. NULL: all were walked to their ends. */
static struct pd_source *source_next(struct perfdata *t)
{
	struct pd_source *best = NULL;

	for (size_t i = 0; i < t->sources.n; i++) {
		struct pd_source *s = &t->sources.v[i];
		if (!s->ended && (!best || s->max_ts_ns < best->max_ts_ns))
			best = s;
	}
	return best;
}

/* Pages that were delivered go back: at the end they would all at once, while nobody does anything else. */
static void give_back(struct perfdata *t, struct pd_source *src)
{
	const uint64_t page = 4096;
	uint64_t low = src->pos;

	for (size_t i = 0; i < t->heap.n; i++) {
		const struct pd_entry *e = &t->runs.v[t->heap.v[i].run].first;
		if (e->block == WW_NONE)
			low = WW_MIN(low, (uint64_t)(e->rec - src->map));
	}
	if (low < src->given + GIVE_BACK_BYTES + KEEP_BYTES)
		return;
	low = (low - KEEP_BYTES) & ~(page - 1);
	madvise((void *)(src->map + src->given), low - src->given, MADV_DONTNEED);
	src->given = low;
}

bool pd_walk_pressed(struct perfdata *t)
{
	if (t->nsegs >= PD_MAX_SEGS || t->block_bytes >= MAX_PENDING_BYTES)
		t->pressed = true;
	else if (t->nsegs < PD_MAX_SEGS / 2 && t->block_bytes < MAX_PENDING_BYTES / 2)
		t->pressed = false;
	return t->pressed;
}

int pd_walk(struct perfdata *t, struct ww_err *err)
{
	int rc = 0;

	if (t->sources.n == 1)
		give_back(t, &t->sources.v[0]);
	while (!rc) {
		struct pd_source *src = source_next(t);

		if (!src) {
			t->ended = true;
			t->limit_ts_ns = INT64_MAX;
			break;
		}
		rc = walk_step(t, src, err);
		if (enough(t, WALK_BYTES) || (t->heap.n && pd_walk_pressed(t)))
			break;
	}
	pd_queue_cut(t);
	return rc;
}

void pd_walk_release(struct perfdata *t)
{
	for (size_t i = 0; i < t->blocks.n; i++)
		block_free(t, &t->blocks.v[i]);
	ww_vec_free(&t->blocks);
	for (size_t i = 0; i < t->sources.n; i++) {
		struct pd_source *s = &t->sources.v[i];
		if (s->zstd)
			ZSTD_freeDStream(s->zstd);
		if (s->map)
			munmap((void *)s->map, s->map_len);
	}
	ww_vec_free(&t->sources);
}
