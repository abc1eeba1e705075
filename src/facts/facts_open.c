/* facts_open.c - a facts file -> sealed facts.
 *
 * Head, directory and what is no column are checked when the file is opened, each block when it is unpacked: at once,
 * or of large facts when it is read (facts_lazy.c). Nothing in the file is trusted: places lie within it, values obey
 * the rule of their column, row ranges of threads and CPUs rise to the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/par.h"
#include "facts/facts_private.h"
#include "facts/file_private.h"

/* Packed facts unpack to at most so many times their size; the most seen is 30. */
#define MAX_RATIO 300u

#define LAZY_MIN_BYTES (64u << 20)

static int damaged(struct file_reader *r, uint64_t offset, const char *what)
{
	return ww_err_set(r->err, WW_ECORRUPT, r->file, offset, "the facts file is damaged: %s", what);
}

static int map_file(struct file_reader *r)
{
	struct stat st;
	int fd = open(r->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), rc = 0;

	if (fd < 0)
		return ww_err_errno(r->err, r->file, "cannot open the facts file");
	if (fstat(fd, &st))
		rc = ww_err_errno(r->err, r->file, "cannot read the facts file");
	else if (!S_ISREG(st.st_mode))
		rc = ww_err_set(r->err, WW_EPERM, r->file, WW_ERR_NO_OFFSET, "the facts file is not a regular file");
	else if (st.st_uid != geteuid() && st.st_uid && geteuid())
		rc = ww_err_set(r->err, WW_EPERM, r->file, WW_ERR_NO_OFFSET, "the facts file is somebody else's");
	else if (st.st_size < (off_t)sizeof(r->h))
		rc = damaged(r, 0, "it is too short");
	if (!rc) {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			rc = ww_err_errno(r->err, r->file, "cannot map the facts file");
		else
			r->p = p, r->bytes = (uint64_t)st.st_size;
	}
	close(fd);
	return rc;
}

/* Is [at, at + n) in the file, behind its head? */
static bool within(const struct file_reader *r, uint64_t at, uint64_t n)
{
	return at >= sizeof(r->h) && n <= r->bytes && at <= r->bytes - n;
}

static int check_head(struct file_reader *r, const struct ww_facts_key *key)
{
	const struct file_head *h = &r->h;

	memcpy(&r->h, r->p, sizeof(r->h));
	if (memcmp(h->magic, FILE_MAGIC, sizeof(h->magic)) || h->endian != FILE_ENDIAN)
		return ww_err_set(r->err, WW_EFORMAT, r->file, 0, "this is no facts file of this version");
	if (h->sum != ww_checksum(h, offsetof(struct file_head, sum)))
		return damaged(r, 0, "its head");
	if (!ww_facts_key_equal(&h->key, key))
		return ww_err_set(r->err, WW_EFORMAT, r->file, 0, "these are facts of another trace or program");
	if (h->file_bytes != r->bytes || h->columns != r->ncolumns)
		return damaged(r, 0, "its length");
	if (!within(r, h->meta_offset, h->meta_bytes) || h->meta_sum != ww_checksum(r->p + h->meta_offset, h->meta_bytes))
		return damaged(r, h->meta_offset, "what is no column");
	if (h->blocks > r->bytes / sizeof(struct block_place) || h->dir_offset % 8 ||
	    h->dir_bytes != h->columns * sizeof(struct column_place) + h->blocks * sizeof(struct block_place) ||
	    !within(r, h->dir_offset, h->dir_bytes) || h->dir_sum != ww_checksum(r->p + h->dir_offset, h->dir_bytes))
		return damaged(r, h->dir_offset, "its directory");
	r->places = (const void *)(r->p + h->dir_offset);
	r->blocks = (const void *)(r->places + h->columns);
	return 0;
}

static int check_directory(struct file_reader *r)
{
	uint64_t blocks = 0, unpacked = 0;

	for (uint32_t i = 0; i < r->ncolumns; i++) {
		const struct column_place *p = &r->places[i];

		if (p->rows >= WW_NONE || p->first_block != blocks)
			return damaged(r, r->h.dir_offset, "a column's place");
		blocks += (p->rows + WW_PACK_ROWS - 1) / WW_PACK_ROWS;
		unpacked += p->rows * r->columns[i].size;
	}
	if (blocks != r->h.blocks || unpacked > r->bytes * MAX_RATIO)
		return damaged(r, r->h.dir_offset, "the number of its blocks");
	for (uint64_t b = 0; b < blocks; b++)
		if (!within(r, r->blocks[b].offset, r->blocks[b].bytes))
			return damaged(r, r->h.dir_offset, "a block's place");
	return 0;
}

static void set_marks(struct ww_facts *f)
{
	f->state_marks.n = (f->state.n + WW_STATE_MARK_ROWS - 1) / WW_STATE_MARK_ROWS;
	f->state_marks.nsums = f->state_marks.n * WW_ST_N;
	f->run_marks.n = (f->run.n + WW_RUN_MARK_ROWS - 1) / WW_RUN_MARK_ROWS;
	f->run_marks.nsums = f->run_marks.n * 2;
}

/* The number of rows of each fact, equal in all of its columns. */
static int set_rows(struct file_reader *r)
{
	for (uint32_t i = 0; i < r->ncolumns; i++) {
		const struct file_column *c = &r->columns[i];
		const bool first = !i || r->columns[i - 1].rows_at != c->rows_at;
		const uint64_t rows = r->places[i].rows;

		if (c->id != WW_NONE && c->id < WW_COLUMN_RUN_OF_CPU && first) {
			const uint32_t n = (uint32_t)rows, three[3] = {n, n, n}; /* n, cap, room */
			memcpy((char *)r->f + c->rows_at, three, sizeof(three));
		}
		set_marks(r->f);
		if (rows != (uint64_t)ww_file_rows(c, r->f) + c->more)
			return damaged(r, r->h.dir_offset, "the rows of its columns");
	}
	return 0;
}

static int read_meta(struct file_reader *r, struct ww_facts_notes *notes)
{
	struct ww_span in = ww_span_of(r->p + r->h.meta_offset, r->h.meta_bytes);
	struct meta_io io = {.in = &in};

	if (!ww_file_meta(&io, r->f, notes) || ww_span_left(&in) || r->f->host.ncpus > 1u << 20)
		return damaged(r, r->h.meta_offset, "what is no column");
	return 0;
}

static bool unpack_block(const struct file_reader *r, uint32_t i, uint64_t b, uint32_t first, uint32_t count, uint64_t *ret)
{
	const uint64_t block = r->places[i].first_block + b;
	const struct block_place *p = &r->blocks[block];

	if (!(r->checked && r->checked[block]) && p->sum != (uint32_t)ww_checksum(r->p + p->offset, p->bytes))
		return false;
	if (r->checked)
		r->checked[block] = 1;
	return ww_unpack_some(r->p + p->offset, p->bytes, ww_file_rows_in(r->places[i].rows, b), first, count, ret);
}

/* Adds the distances between rows first .. first + count of block b of the column i, and of the row behind it. */
WW_FOR_EACH_CPU static bool add_distances(const struct file_reader *r, uint32_t i, uint64_t b, uint32_t first, uint32_t count, uint64_t *v)
{
	const uint32_t n = ww_file_rows_in(r->places[i].rows, b), more = first + count < n;
	uint64_t begin[WW_PACK_ROWS + 1];

	if (!unpack_block(r, i, b, first, count + more, begin))
		return false;
	if (!more && b * WW_PACK_ROWS + n < r->places[i].rows) {
		if (!unpack_block(r, i, b + 1, 0, 1, &begin[count]))
			return false;
	} else if (!more) {
		begin[count] = begin[count - 1];
	}
	for (uint32_t k = 0; k < count; k++)
		v[k] += begin[k + 1] - begin[k];
	return true;
}

bool ww_file_unpack(const struct file_reader *r, uint32_t i, uint64_t b, uint32_t first, uint32_t count, uint64_t *ret)
{
	return unpack_block(r, i, b, first, count, ret) &&
	       (!r->columns[i].is_length || !count || add_distances(r, i - 1, b, first, count, ret));
}

/* Do the values of the block obey? As its head tells, else as they are. */
static bool obeys(const struct file_reader *r, uint32_t i, const struct block_place *p, const struct column_rule *rule,
		  const uint64_t *v, uint32_t n)
{
	struct ww_pack_range bounds;

	if (!r->columns[i].is_length && ww_pack_bounds(r->p + p->offset, p->bytes, n, &bounds) &&
	    ww_file_rule_allows(rule, bounds.min, bounds.max))
		return true;
	return ww_file_obeys(rule, v, n);
}

bool ww_file_block(struct file_reader *r, uint32_t i, uint64_t b, const struct column_rule *rule, void *to)
{
	const struct block_place *p = &r->blocks[r->places[i].first_block + b];
	const uint32_t n = ww_file_rows_in(r->places[i].rows, b);
	uint64_t v[WW_PACK_ROWS];

	if (!ww_file_unpack(r, i, b, 0, n, v) || !obeys(r, i, p, rule, v, n)) {
		r->bad = p->offset;
		return false;
	}
	ww_file_narrow(&r->columns[i], v, n, to);
	return true;
}

/* Those that nobody will unpack later. */
static void read_column(void *ctx, uint32_t i)
{
	struct file_reader *r = ctx;
	const struct file_column *c = &r->columns[i];
	const uint64_t rows = r->places[i].rows, bytes = rows * c->size;
	const struct column_rule rule = ww_file_rule(c, r->f);
	void **at = ww_file_pointer(c, r->f);

	if (!rows || *at)
		return;
	*at = c->id == WW_NONE ? ww_xmalloc(bytes) : ww_pages_resize(&r->f->pages[c->id], bytes);
	for (uint64_t row = 0; row < rows && !r->bad; row += WW_PACK_ROWS)
		if (!ww_file_block(r, i, row / WW_PACK_ROWS, &rule, (char *)*at + row * c->size))
			return;
}

static bool is_large(const struct file_reader *r, const struct ww_facts_again *again)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < r->ncolumns; i++)
		bytes += r->places[i].rows * r->columns[i].size;
	return again && bytes >= (again->min_bytes ? again->min_bytes : LAZY_MIN_BYTES);
}

static bool rises_to(const uint32_t *first, uint32_t keys, uint32_t rows)
{
	for (uint32_t k = 0; k < keys; k++)
		if (first[k] > first[k + 1])
			return false;
	return first[0] == 0 && first[keys] == rows;
}

static int check_ranges(struct file_reader *r)
{
	const struct ww_facts *f = r->f;

	if (!rises_to(f->state_first, f->thread.n, f->state.n) || !rises_to(f->run_first, f->host.ncpus, f->run.n) ||
	    !rises_to(f->syscall_first, f->thread.n, f->syscall.n) || (f->target != WW_NONE && f->target >= f->thread.n))
		return damaged(r, r->h.dir_offset, "the rows of its threads and CPUs");
	return 0;
}

static int read_all(struct file_reader *r, const struct ww_facts_key *key, const struct ww_facts_again *again,
		    struct ww_facts_notes *notes)
{
	int rc = check_head(r, key);

	if (!rc)
		rc = check_directory(r);
	if (!rc)
		rc = read_meta(r, notes);
	if (!rc)
		rc = set_rows(r);
	if (rc)
		return rc;
	if (is_large(r, again))
		r->f->lazy = ww_facts_lazy_new(r, again);
	else
		ww_pages_allow(LAZY_MIN_BYTES);
	ww_par_run(r->ncolumns, read_column, r);
	if (r->bad)
		return damaged(r, r->bad, "a block of a column");
	return check_ranges(r);
}

int ww_facts_open(struct ww_facts *f, const struct ww_facts_key *key, const char *file, const struct ww_facts_again *again,
		  struct ww_facts_notes *ret_notes, struct ww_err *err)
{
	struct file_reader r = {.f = f, .file = file, .err = err};
	struct ww_facts_notes notes = {0};

	r.ncolumns = ww_file_columns(r.columns);
	ww_facts_forget_rows(f); /* new facts have one: what states lack */
	int rc = map_file(&r);

	if (!rc)
		rc = read_all(&r, key, again, &notes);
	if (r.p && !f->lazy)
		munmap((void *)(uintptr_t)r.p, r.bytes);
	if (rc) {
		ww_facts_notes_release(&notes);
		ww_facts_release(f);
		ww_facts_init(f);
		return rc;
	}
	f->sealed = true;
	f->indexed = true;
	*ret_notes = notes;
	return 0;
}

bool ww_facts_same_shape(const struct ww_facts *a, const struct ww_facts *b)
{
	struct file_column c[FILE_COLUMNS_MAX];
	const uint32_t n = ww_file_columns(c);

	ww_facts_index(a);
	ww_facts_index(b);
	for (uint32_t i = 0; i < n; i++)
		if (ww_file_rows(&c[i], a) != ww_file_rows(&c[i], b))
			return false;
	return a->strs.n == b->strs.n;
}
