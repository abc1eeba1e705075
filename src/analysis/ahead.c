/* ahead.c - the page_in rows sorted by place; every fault marks those pages that it is for or maps; then sums. */
#include "analysis/ahead.h"

#define PAGE_SHIFT 12
#define AROUND_BYTES (64u << 10) /* the kernel's default; source mm/memory.c: fault_around_pages, do_fault_around */
#define LOOK_BACK 16             /* rows that begin before a page and may reach to it */

#define MAX_PAGES (256u << 20)   /* 1 TB; 64 MB of bits */

struct places {
	const struct ww_facts *f;
	uint32_t *order;            /* page_in rows by file, offset, time */
	uint32_t *first;            /* of each row its first page in the two bit maps */
	uint64_t *asked, *mapped;   /* bits */
};

static int by_place(const void *a, const void *b, void *ctx)
{
	const struct ww_page_in_cols *p = &((const struct ww_facts *)ctx)->page_in;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (p->file[i] != p->file[k])
		return p->file[i] < p->file[k] ? -1 : 1;
	if (p->offset[i] != p->offset[k])
		return p->offset[i] < p->offset[k] ? -1 : 1;
	return i < k ? -1 : i > k;
}

static uint32_t pages_of(const struct ww_facts *f, uint32_t row)
{
	return (f->page_in.bytes[row] + (1u << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
}

/* The row by which the page at `offset` of the file had come in at `ts`, the last such; WW_NONE none. */
static uint32_t find(const struct places *x, uint32_t file, uint64_t offset, int64_t ts_ns)
{
	const struct ww_page_in_cols *p = &x->f->page_in;
	uint32_t lo = 0, hi = p->n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2, row = x->order[mid];
		if (p->file[row] < file || (p->file[row] == file && p->offset[row] <= offset))
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = lo; i-- > 0 && lo - i <= LOOK_BACK && p->file[x->order[i]] == file;) {
		const uint32_t row = x->order[i];
		if (offset - p->offset[row] < p->bytes[row] && p->fault[row] < x->f->fault.n &&
		    x->f->fault.start_ts_ns[p->fault[row]] <= ts_ns)
			return row;
	}
	return WW_NONE;
}

static bool mark(uint64_t *bits, uint32_t at)
{
	const uint64_t bit = 1ull << (at & 63), was = bits[at >> 6] & bit;

	bits[at >> 6] |= bit;
	return !was;
}

/* Fault `i` is for one page and maps those around it. own: its sums; NULL: they are not asked for. */
static void use(const struct places *x, uint32_t i, struct ww_ahead *own)
{
	const struct ww_fault_cols *c = &x->f->fault;
	const uint64_t page = c->offset[i] >> PAGE_SHIFT << PAGE_SHIFT, in_window = c->address[i] & (AROUND_BYTES - 1);
	const uint64_t before = in_window >> PAGE_SHIFT << PAGE_SHIFT;
	const uint64_t from = c->write[i] ? page : page - WW_MIN(before, page); /* who writes gets one page */
	const uint64_t to = c->write[i] ? page + 1 : page + AROUND_BYTES - before;

	for (uint64_t at = from; at < to; at += 1u << PAGE_SHIFT) {
		const uint32_t row = find(x, c->file[i], at, c->start_ts_ns[i]);
		if (row == WW_NONE)
			continue;
		const uint32_t bit = x->first[row] + (uint32_t)((at - x->f->page_in.offset[row]) >> PAGE_SHIFT);
		if (at != page)
			mark(x->mapped, bit);
		else if (x->f->page_in.fault[row] != i)
			mark(x->asked, bit);
		else if (mark(x->asked, bit) && own)
			own->own_bytes += 1 << PAGE_SHIFT;
	}
}

static void sum(const struct places *x, uint32_t row, struct ww_ahead *s)
{
	for (uint32_t i = 0; i < pages_of(x->f, row); i++) {
		const uint32_t at = x->first[row] + i;
		const bool asked = x->asked[at >> 6] >> (at & 63) & 1, mapped = x->mapped[at >> 6] >> (at & 63) & 1;
		s->ahead_bytes += 1 << PAGE_SHIFT;
		s->hit_bytes += (asked || mapped) << PAGE_SHIFT;
		s->asked_bytes += asked << PAGE_SHIFT;
	}
}

/* 0, or more pages than a trace of this world reads. */
static int number_pages(struct places *x, uint64_t *ret_pages, struct ww_err *err)
{
	*ret_pages = 0;
	for (uint32_t i = 0; i < x->f->page_in.n; i++) {
		x->order[i] = i;
		x->first[i] = (uint32_t)*ret_pages;
		*ret_pages += pages_of(x->f, i);
		if (*ret_pages > MAX_PAGES)
			return ww_err_set(err, WW_ELIMIT, x->f->host.trace_path, WW_ERR_NO_OFFSET,
					  "its page faults read more than %u million pages", MAX_PAGES >> 20);
	}
	return 0;
}

static void release(struct places *x)
{
	free(x->order);
	free(x->first);
	free(x->asked);
	free(x->mapped);
}

/* The sums of the fault; NULL: it is not one of these. */
static struct ww_ahead *sums_of(const uint32_t *faults, uint32_t n, struct ww_ahead *sums, uint32_t fault)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (faults[mid] < fault)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && faults[lo] == fault ? &sums[lo] : NULL;
}

static bool read_ahead(const struct ww_facts *f, const uint32_t *faults, uint32_t n, struct ww_ahead *sums)
{
	for (uint32_t i = 0; i < f->page_in.n; i++)
		if (sums_of(faults, n, sums, f->page_in.fault[i]))
			return true;
	return false;
}

int ww_ahead_make(struct ww_arena *mem, const struct ww_facts *f, const uint32_t *faults, uint32_t n,
		  const struct ww_ahead **ret, struct ww_err *err)
{
	struct ww_ahead *sums = WW_ARENA_ARRAY(mem, struct ww_ahead, n + 1);
	struct places x = {.f = f};
	uint64_t pages;

	*ret = sums;
	if (!read_ahead(f, faults, n, sums))
		return 0;
	x.order = ww_xcalloc(f->page_in.n + 1, sizeof(*x.order));
	x.first = ww_xcalloc(f->page_in.n + 1, sizeof(*x.first));
	int rc = number_pages(&x, &pages, err);
	if (rc) {
		release(&x);
		return rc;
	}
	qsort_r(x.order, f->page_in.n, sizeof(*x.order), by_place, (void *)f);
	x.asked = ww_xcalloc(pages / 64 + 1, sizeof(*x.asked));
	x.mapped = ww_xcalloc(pages / 64 + 1, sizeof(*x.mapped));
	for (uint32_t i = 0; i < f->fault.n && pages; i++)
		if (f->fault.file[i] < f->file.n)
			use(&x, i, sums_of(faults, n, sums, i));
	for (uint32_t i = 0; i < f->page_in.n; i++) {
		struct ww_ahead *own = sums_of(faults, n, sums, f->page_in.fault[i]);

		if (own)
			sum(&x, i, own);
	}
	for (uint32_t i = 0; i < n; i++) { /* its own page is neither ahead nor a hit */
		sums[i].ahead_bytes -= sums[i].own_bytes;
		sums[i].hit_bytes -= sums[i].own_bytes;
		sums[i].asked_bytes -= sums[i].own_bytes;
	}
	release(&x);
	return 0;
}
