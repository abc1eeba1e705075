/* pd_queue.c - the data section: records in the file's order -> entries by time.
 *
 * perf copies one CPU's ring after the other, and writes FINISHED_ROUND when it has been at all of
 * them. Within a round each CPU's records ascend; what was recorded while it went round may stand
 * in the next round, but never in the one after. So at the end of round n everything up to the
 * latest stamp of round n - 1 is complete and can be delivered:
 *
 *   CPU 0: 1 4 7 | CPU 1: 2 3 9 | ROUND | CPU 0: 8 11 | CPU 1: 10 | ROUND -> deliver 1 .. 9
 *
 * The queue holds the rounds that are not complete, as ascending runs in the file's order; merging
 * neighbouring runs keeps equal stamps in the file's order. Records with no stamp (perf makes them
 * up for what existed before it began) come first in their round.
 *
 * COMPRESSED records are parts of one zstd stream. Each is decompressed into a block that lives
 * until its last entry was delivered; a record cut by the block's end is carried to the next one.
 */
#include "format/perfdata/perfdata_private.h"

#include <zstd.h>

#define MAX_BLOCK_BYTES (64u << 20)
/* Over these the older half is delivered, round or not. */
#define MAX_QUEUE (4u << 20)
#define MAX_PENDING_BYTES (128u << 20) /* of decompressed blocks */

#define PREFETCH_BYTES 2048 /* prefetching past the mapping's end is harmless */
#define PREFETCH_ENTRIES 12

uint32_t pd_attr_of_id(const struct perfdata *t, uint64_t id)
{
	if (WW_LIKELY(id < PD_DENSE_IDS))
		return t->dense[id];
	const uint64_t *v = ww_u64map_find(&t->ids, id);
	return v ? (uint32_t)*v : WW_NONE;
}

uint64_t pd_entry_offset(const struct perfdata *t, const struct pd_entry *e)
{
	if (e->block != WW_NONE)
		return t->blocks.v[e->block].file_offset;
	return (uint64_t)(e->rec - t->map);
}

/* ---- ordering ---- */

static void queue_push(struct perfdata *t, int64_t ts_ns, const uint8_t *rec, uint32_t attr)
{
	ww_vec_reserve(&t->queue, t->queue.n + 1);
	if (t->queue.n == 0 || t->queue.v[t->queue.n - 1].ts_ns > ts_ns)
		*ww_vec_push(&t->runs) = (uint32_t)t->queue.n;
	t->queue.v[t->queue.n++] =
		(struct pd_entry){.ts_ns = ts_ns, .rec = rec, .attr = attr, .block = t->walk_block};
	if (t->walk_block != WW_NONE)
		t->blocks.v[t->walk_block].pending++;
}

static void merge(const struct pd_entry *a, size_t na, const struct pd_entry *b, size_t nb,
		  struct pd_entry *out)
{
	while (na && nb) {
		bool left = a->ts_ns <= b->ts_ns;
		*out++ = left ? *a : *b;
		a += left, na -= left;
		b += !left, nb -= !left;
	}
	memcpy(out, na ? a : b, (na + nb) * sizeof(*out));
}

/* Merges neighbouring runs until there is one. */
static void queue_sort(struct perfdata *t)
{
	ww_vec_reserve(&t->scratch, t->runs.n > 1 ? t->queue.n : 0);
	while (t->runs.n > 1) {
		size_t out = 0, nruns = t->runs.n;

		for (size_t i = 0; i < nruns; i += 2) {
			size_t a = t->runs.v[i];
			size_t b = i + 1 < nruns ? t->runs.v[i + 1] : t->queue.n;
			size_t end = i + 2 < nruns ? t->runs.v[i + 2] : t->queue.n;
			merge(t->queue.v + a, b - a, t->queue.v + b, end - b, t->scratch.v + a);
			t->runs.v[out++] = (uint32_t)a;
		}
		t->runs.n = out;
		size_t n = t->queue.n, cap = t->queue.cap;
		struct pd_entry *v = t->queue.v;
		t->queue.v = t->scratch.v, t->queue.cap = t->scratch.cap;
		t->scratch.v = v, t->scratch.cap = cap;
		t->queue.n = n;
	}
}

/* What is up to the limit may be delivered. */
static void queue_release_until(struct perfdata *t, int64_t limit_ts_ns)
{
	queue_sort(t);
	size_t lo = 0, hi = t->queue.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->queue.v[mid].ts_ns <= limit_ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	t->head = 0;
	t->ready = lo;
}

/* ---- records -> entries ---- */

static void see_time(struct perfdata *t, int64_t ts_ns)
{
	struct ww_trace_stats *st = &t->pub.stats;

	if (ts_ns == PD_NO_TIME)
		return;
	if (!t->any || ts_ns < st->begin_ts_ns)
		st->begin_ts_ns = ts_ns;
	if (!t->any || ts_ns > st->end_ts_ns)
		st->end_ts_ns = ts_ns;
	t->any = true;
	t->round_max_ts = WW_MAX(t->round_max_ts, ts_ns);
}

static int add_sample(struct perfdata *t, const uint8_t *rec, uint32_t size, uint64_t offset,
		      struct ww_err *err)
{
	uint32_t ai = t->attrs.n == 1 || !t->nids ? 0 : WW_NONE;

	if (!t->attrs.n)
		return pd_damage(t, WW_ECORRUPT, offset, err, "a sample, but no event was described");
	if (ai == WW_NONE) {
		uint32_t off = t->attrs.v[0].off_id;
		if (off == PD_ABSENT)
			ai = 0;
		else if (off + 8u <= size)
			ai = pd_attr_of_id(t, pd_u64(t, rec + off));
		if (ai == WW_NONE && off + 8u <= size && !pd_u64(t, rec + off))
			ai = 0;
	}
	if (WW_UNLIKELY(ai == WW_NONE))
		return pd_damage(t, WW_ECORRUPT, offset, err, "a sample of an event that was not described");
	const struct pd_attr *a = &t->attrs.v[ai];
	if (WW_UNLIKELY(size < a->off_rest))
		return pd_damage(t, WW_ECORRUPT, offset, err, "a sample of %u bytes is too short", size);
	uint64_t ts = a->off_time ? pd_u64(t, rec + a->off_time) : UINT64_MAX;
	int64_t ts_ns = ts > INT64_MAX ? PD_NO_TIME : (int64_t)ts;
	see_time(t, ts_ns);
	if (t->classes.v[a->cls].ignored)
		t->pub.stats.events++;
	else
		queue_push(t, ts_ns, rec, ai);
	return 0;
}

static int add_record(struct perfdata *t, const uint8_t *rec, uint32_t size, uint64_t offset,
		      struct ww_err *err)
{
	uint32_t type = PD_TYPE(t, rec), ai = 0;
	bool loss = type == PD_REC_LOST || type == PD_REC_LOST_SAMPLES;

	if (type == PD_REC_SAMPLE)
		return add_sample(t, rec, size, offset, err);
	if (type >= PD_REC_KERNEL_N || !t->attrs.n || (!loss && t->cls_of_rec[type] == WW_NONE))
		return 0;
	const struct pd_attr *a = &t->attrs.v[0];
	if (a->tr_bytes && size < PD_REC_HEADER_BYTES + (uint32_t)a->tr_bytes)
		return pd_damage(t, WW_ECORRUPT, offset, err, "a record of %u bytes is too short", size);
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
	int64_t ts_ns = ts == 0 || ts > INT64_MAX ? PD_NO_TIME : (int64_t)ts;
	see_time(t, ts_ns);
	if (!loss && t->classes.v[t->cls_of_rec[type]].ignored) {
		t->pub.stats.events++;
		return 0;
	}
	queue_push(t, ts_ns, rec, ai);
	return 0;
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

static void block_unuse(struct perfdata *t, uint32_t i)
{
	if (i == WW_NONE)
		return;
	struct pd_block *b = &t->blocks.v[i];
	if (--b->pending == 0 && i != t->walk_block)
		block_free(t, b);
}

/* Leaves the block that was walked; what is left of it, the beginning of a record, is copied to *b. */
static void block_leave(struct perfdata *t, struct pd_block *b, size_t *ret_cap)
{
	size_t left = 0;
	const uint8_t *rest = NULL;
	uint32_t old = t->walk_block;

	if (old != WW_NONE) {
		left = t->blocks.v[old].len - t->walk_pos;
		rest = t->blocks.v[old].data + t->walk_pos;
	}
	*ret_cap = left + (256u << 10);
	b->data = ww_xmalloc(*ret_cap);
	b->len = left;
	if (left)
		memcpy(b->data, rest, left);
	t->walk_block = WW_NONE;
	t->walk_pos = 0;
	if (old != WW_NONE && !t->blocks.v[old].pending)
		block_free(t, &t->blocks.v[old]);
}

static int block_open(struct perfdata *t, const uint8_t *p, size_t len, uint64_t offset,
		      struct ww_err *err)
{
	struct pd_block b = {.file_offset = offset};
	ZSTD_inBuffer in = {p, len, 0};
	size_t cap;

	if (!t->zstd)
		t->zstd = ZSTD_createDStream();
	if (t->zstd_broken || !t->zstd)
		return 0;
	block_leave(t, &b, &cap);
	for (;;) {
		ZSTD_outBuffer out = {b.data, cap, b.len};
		size_t rc = ZSTD_decompressStream(t->zstd, &out, &in);

		bool stuck = out.pos == b.len && in.pos == in.size;
		b.len = out.pos;
		if (ZSTD_isError(rc) || b.len > MAX_BLOCK_BYTES) {
			/* One stream runs through all of them, so that nothing behind can be read. */
			t->zstd_broken = true;
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
	uint32_t i = block_new(t);
	t->blocks.v[i] = b;
	t->walk_block = i;
	t->walk_pos = 0;
	return 0;
}

/* ---- the walk ---- */

/* Handles the record at p. *ret_round: it ends a round. */
static int walk_record(struct perfdata *t, const uint8_t *p, uint32_t size, uint64_t offset,
		       bool *ret_round, struct ww_err *err)
{
	switch (PD_TYPE(t, p)) {
	case PD_REC_FINISHED_ROUND:
		*ret_round = true;
		return 0;
	case PD_REC_COMPRESSED:
		return block_open(t, p + PD_REC_HEADER_BYTES, size - PD_REC_HEADER_BYTES, offset, err);
	case PD_REC_COMPRESSED2: {
		uint64_t n = size >= 16 ? pd_u64(t, p + 8) : 0;
		if (size < 16 || n > size - 16)
			return pd_damage(t, WW_ECORRUPT, offset, err, "compressed record is damaged");
		return block_open(t, p + 16, (size_t)n, offset, err);
	}
	default:
		return add_record(t, p, size, offset, err);
	}
}

/* The next record of the block that is walked. Returns 1, or 0 when it holds no whole one. */
static int walk_block(struct perfdata *t, bool *ret_round, struct ww_err *err)
{
	struct pd_block *b = &t->blocks.v[t->walk_block];
	const uint8_t *p = b->data + t->walk_pos;
	size_t left = b->len - t->walk_pos;

	if (left < PD_REC_HEADER_BYTES)
		return 0;
	uint32_t size = PD_SIZE(t, p), type = PD_TYPE(t, p);
	if (size < PD_REC_HEADER_BYTES || type == PD_REC_COMPRESSED || type == PD_REC_COMPRESSED2) {
		t->walk_pos = b->len;
		t->zstd_broken = true;
		int rc = pd_damage(t, WW_ECORRUPT, b->file_offset, err,
				   "compressed events: a record of %u bytes", size);
		return rc ? rc : 1;
	}
	if (size > left)
		return 0;
	t->walk_pos += size;
	int rc = walk_record(t, p, size, b->file_offset, ret_round, err);
	return rc ? rc : 1;
}

static int walk_file(struct perfdata *t, bool *ret_round, struct ww_err *err)
{
	uint64_t pos = t->data_pos, left = t->data_end - pos;
	const uint8_t *p = t->map + pos;

	if (left == 0) {
		t->ended = true;
		if (t->walk_block != WW_NONE && t->blocks.v[t->walk_block].len > t->walk_pos)
			return pd_damage(t, WW_ETRUNC, pos, err, "compressed events end within a record");
		return 0;
	}
	uint32_t size = left >= PD_REC_HEADER_BYTES ? PD_SIZE(t, p) : 0;
	uint64_t extra = 0;
	__builtin_prefetch(p + PREFETCH_BYTES);
	if (size >= PD_REC_HEADER_BYTES && PD_TYPE(t, p) >= PD_REC_HEADER_ATTR)
		extra = pd_record_extra(t, p, size);
	if (WW_UNLIKELY(size < PD_REC_HEADER_BYTES || size > left || extra > left - size)) {
		t->ended = true;
		return pd_damage(t, left < PD_REC_HEADER_BYTES || size > left ? WW_ETRUNC : WW_ECORRUPT, pos,
				 err, "%" PRIu64 " bytes cannot be read: a record of %u bytes", left, size);
	}
	t->data_pos += size + extra;
	if (PD_TYPE(t, p) == PD_REC_COMPRESSED || PD_TYPE(t, p) == PD_REC_COMPRESSED2)
		return walk_record(t, p, size, pos, ret_round, err);
	/* The rest of a block waits for the compressed record behind this one. */
	uint32_t block = t->walk_block;
	t->walk_block = WW_NONE;
	int rc = walk_record(t, p, size, pos, ret_round, err);
	t->walk_block = block;
	return rc;
}

/* Walks to the end of a round. */
static int queue_fill(struct perfdata *t, struct ww_err *err)
{
	size_t left = t->queue.n - t->ready;

	if (left)
		memmove(t->queue.v, t->queue.v + t->ready, left * sizeof(*t->queue.v));
	t->queue.n = left;
	t->head = t->ready = 0;
	ww_vec_clear(&t->runs);
	if (left)
		*ww_vec_push(&t->runs) = 0;
	while (!t->ended) {
		bool round = false;
		int rc = t->walk_block != WW_NONE ? walk_block(t, &round, err) : 0;

		if (rc == 0)
			rc = walk_file(t, &round, err);
		if (rc < 0)
			return rc;
		if (round) {
			queue_release_until(t, t->flush_ts);
			t->flush_ts = t->round_max_ts;
			if (t->ready)
				return 0;
		}
		if (t->queue.n >= MAX_QUEUE || (t->block_bytes >= MAX_PENDING_BYTES && t->queue.n)) {
			queue_sort(t);
			queue_release_until(t, t->queue.v[t->queue.n / 2].ts_ns);
			return 0;
		}
	}
	queue_release_until(t, INT64_MAX);
	return 0;
}

int pd_queue_next(struct perfdata *t, struct pd_entry *ret, struct ww_err *err)
{
	block_unuse(t, t->out_block);
	t->out_block = WW_NONE;
	while (t->head == t->ready) {
		if (t->ended && t->ready == t->queue.n)
			return 0;
		int rc = queue_fill(t, err);
		if (rc)
			return rc;
	}
	/* Records of other CPUs and earlier rounds: not where the cache expects the next one. */
	if (t->head + PREFETCH_ENTRIES < t->ready) {
		const uint8_t *ahead = t->queue.v[t->head + PREFETCH_ENTRIES].rec;
		__builtin_prefetch(ahead);
		__builtin_prefetch(ahead + 64);
	}
	*ret = t->queue.v[t->head++];
	t->out_block = ret->block;
	return 1;
}

void pd_queue_release(struct perfdata *t)
{
	for (size_t i = 0; i < t->blocks.n; i++)
		block_free(t, &t->blocks.v[i]);
	ww_vec_free(&t->blocks);
	ww_vec_free(&t->queue);
	ww_vec_free(&t->scratch);
	ww_vec_free(&t->runs);
	if (t->zstd)
		ZSTD_freeDStream(t->zstd);
}
