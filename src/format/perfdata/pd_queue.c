/* pd_queue.c - orders the records that pd_walk.c finds: by time, of equal stamps as they stand in the file,
 * of several files by their numbers.
 *
 * perf copies one CPU's ring after the other, and writes FINISHED_ROUND when it has been at all of them. The
 * records of one CPU ascend, so nothing has to be sorted, only merged, and not even copied: a segment is a row of
 * records that ascend and stand one behind the other, a run is a list of segments that ascend too. A heap has the
 * runs by their first records:
 *
 *   CPU 0: 1 4 7 | CPU 1: 2 3 9 | ROUND | CPU 0: 8 11 | CPU 1: 10 | ROUND
 *   segments [1 4 7] [2 3 9] [8 11] [10]; runs [1 4 7] [8 11] and [2 3 9] [10]
 *
 * A record is thus looked at twice: when it is walked over, and when it is its run's first. Records without a stamp
 * (perf makes them up for what existed before it began) come before all others that wait. What may be delivered
 * already pd_walk.c knows: everything up to `limit`.
 */
#include "format/perfdata/perfdata_private.h"

#define PREFETCH_BYTES 768 /* prefetching past a mapping's end is harmless */
#define MAX_LOOKED_AT 256 /* runs, for one whose end a segment can follow */

/* ---- segments ---- */

static uint32_t seg_new(struct perfdata *t)
{
	uint32_t i = t->free_seg;

	if (i == WW_NONE) {
		ww_vec_push(&t->segs);
		i = (uint32_t)t->segs.n - 1;
	} else {
		t->free_seg = t->segs.v[i].next;
	}
	t->nsegs++;
	return i;
}

static void seg_free(struct perfdata *t, uint32_t i)
{
	struct pd_seg *s = &t->segs.v[i];

	pd_block_unuse(t, s->block);
	s->next = t->free_seg;
	t->free_seg = i;
	t->nsegs--;
}

/* ---- the heap ---- */

static inline bool before(const struct pd_head *a, const struct pd_head *b)
{
	return a->ts_ns < b->ts_ns || (a->ts_ns == b->ts_ns && a->order < b->order);
}

static void sift_down(struct perfdata *t)
{
	struct pd_head *h = t->heap.v, top = h[0];
	size_t i = 0;

	for (size_t n = t->heap.n;;) {
		size_t c = 2 * i + 1;
		if (c >= n)
			break;
		if (c + 1 < n && before(&h[c + 1], &h[c]))
			c++;
		if (!before(&h[c], &top))
			break;
		h[i] = h[c];
		i = c;
	}
	h[i] = top;
}

static void heap_push(struct perfdata *t, struct pd_head head)
{
	size_t i = t->heap.n;

	ww_vec_push(&t->heap);
	for (; i && before(&head, &t->heap.v[(i - 1) / 2]); i = (i - 1) / 2)
		t->heap.v[i] = t->heap.v[(i - 1) / 2];
	t->heap.v[i] = head;
}

/* ---- runs ---- */

/* The run that such a record may follow: the one that ends last before it. WW_NONE: none. */
static uint32_t run_find(const struct perfdata *t, int64_t ts_ns, uint32_t source)
{
	uint32_t best = WW_NONE;

	for (size_t i = 0; i < t->heap.n && i < MAX_LOOKED_AT; i++) {
		uint32_t r = t->heap.v[i].run;
		int64_t tail = t->runs.v[r].tail_ts_ns;
		if (tail == ts_ns && t->segs.v[t->runs.v[r].tail].source > source)
			continue; /* a tie that the other file would win */
		if (tail <= ts_ns && (best == WW_NONE || tail > t->runs.v[best].tail_ts_ns))
			best = r;
	}
	return best;
}

static uint32_t run_new(struct perfdata *t, const struct pd_entry *first, uint64_t order)
{
	uint32_t i = t->free_run;

	if (i == WW_NONE) {
		ww_vec_push(&t->runs);
		i = (uint32_t)t->runs.n - 1;
	} else {
		t->free_run = t->runs.v[i].head;
	}
	t->runs.v[i] = (struct pd_run){.first = *first, .head = WW_NONE, .tail = WW_NONE};
	heap_push(t, (struct pd_head){first->ts_ns, order, i});
	return i;
}

void pd_queue_cut(struct perfdata *t)
{
	if (t->open_seg == WW_NONE)
		return;
	struct pd_run *r = &t->runs.v[t->open_run];
	t->segs.v[t->open_seg].end = t->open_end;
	if (r->head == t->open_seg)
		r->end = t->open_end;
	r->tail_ts_ns = t->open_ts_ns;
	t->open_seg = WW_NONE;
}

void pd_queue_begin(struct perfdata *t, const struct pd_entry *e, uint32_t size)
{
	pd_queue_cut(t);
	uint32_t s = seg_new(t), r = run_find(t, e->ts_ns, e->source);
	const uint8_t *end = e->rec + size;
	const uint64_t order = (uint64_t)e->source << 48 | ++t->order;

	if (e->block != WW_NONE)
		t->blocks.v[e->block].pending++;
	t->segs.v[s] = (struct pd_seg){
		.p = e->rec, .end = end, .order = order, .block = e->block, .source = e->source, .next = WW_NONE};
	if (r == WW_NONE) {
		r = run_new(t, e, order);
		t->runs.v[r].head = s;
		t->runs.v[r].p = t->runs.v[r].end = end;
	} else {
		t->segs.v[t->runs.v[r].tail].next = s;
	}
	t->runs.v[r].tail = s;
	t->open_seg = s;
	t->open_run = r;
	t->open_end = end;
	t->open_ts_ns = e->ts_ns;
}

/* The run's first segment is done with. False: it has no more, and is no more. */
static bool run_next_seg(struct perfdata *t, struct pd_run *r, struct pd_head *head)
{
	const uint32_t done = r->head;

	r->head = t->segs.v[done].next;
	seg_free(t, done);
	if (r->head == WW_NONE) {
		r->head = t->free_run;
		t->free_run = head->run;
		return false;
	}
	const struct pd_seg *s = &t->segs.v[r->head];
	r->p = s->p;
	r->end = s->end;
	r->first.block = s->block;
	r->first.source = s->source;
	head->order = s->order;
	return true;
}

/* Moves the run on to its next record; false: it has no more, and is no more. */
static inline bool run_advance(struct perfdata *t, struct pd_head *head)
{
	struct pd_run *r = &t->runs.v[head->run];
	const bool swap = t->swap;

	do {
		while (WW_LIKELY(r->p < r->end)) {
			const uint8_t *rec = r->p;
			const uint32_t size = pd_get_u16(rec + 6, swap);

			/* It was not so when it was walked over: somebody writes the file. */
			if (WW_UNLIKELY(size < PD_REC_HEADER_BYTES || size > r->end - rec))
				break;
			r->p += size;
			__builtin_prefetch(rec + PREFETCH_BYTES);
			__builtin_prefetch(rec + PREFETCH_BYTES + 64);
			if (WW_LIKELY(pd_look(t, rec, size, &r->first, swap) == PD_TAKE)) {
				head->ts_ns = r->first.ts_ns;
				return true;
			}
		}
	} while (run_next_seg(t, r, head));
	return false;
}

int pd_queue_next(struct perfdata *t, const struct pd_entry **ret, struct ww_err *err)
{
	struct pd_head *h = t->heap.v;

	if (WW_LIKELY(t->taken)) {
		t->taken = false;
		if (WW_UNLIKELY(!run_advance(t, h)))
			*h = h[--t->heap.n];
		if (t->heap.n > 1 && (before(&h[1], h) || (t->heap.n > 2 && before(&h[2], h))))
			sift_down(t);
	}
	while (WW_UNLIKELY(!t->heap.n || (t->heap.v[0].ts_ns > t->limit_ts_ns && !pd_walk_pressed(t)))) {
		if (t->ended && !t->heap.n)
			return 0;
		int rc = pd_walk(t, err);
		if (rc)
			return rc;
	}
	t->taken = true;
	*ret = &t->runs.v[t->heap.v[0].run].first;
	return 1;
}

void pd_queue_release(struct perfdata *t)
{
	ww_vec_free(&t->segs);
	ww_vec_free(&t->runs);
	ww_vec_free(&t->heap);
}
