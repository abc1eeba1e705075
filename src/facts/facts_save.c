/* facts_save.c - sealed facts -> a facts file.
 *
 * The columns are packed in parallel. Each job fills a buffer with blocks of its column and appends it to the file
 * where the last one ended; the directory says where each block went. Nobody waits for the disk: what a power cut leaves
 * of the file has wrong sums, and then the facts are made anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/par.h"
#include "base/place.h"
#include "facts/file_private.h"

#define BUFFER_BYTES (512u << 10)

struct save {
	const struct ww_facts *f;
	int fd;
	struct file_column columns[FILE_COLUMNS_MAX];
	struct column_place places[FILE_COLUMNS_MAX];
	uint32_t ncolumns;
	struct block_place *blocks;
	uint64_t nblocks;
	_Atomic uint64_t end;  /* of the file so far */
	_Atomic int failed;    /* errno; or EDOM: no reader would believe these facts */
	_Atomic uint32_t false_column; /* EDOM: because of it */
	_Atomic uint64_t sampled; /* bytes of all blocks, from some */
	uint64_t limit;        /* on the file's size */
	bool small;            /* blocks are squeezed, which takes time */
};

static bool write_at(struct save *s, const void *p, size_t n, uint64_t at)
{
	const char *from = p;

	if (at + n > s->limit) { /* the limit would come as a signal */
		s->failed = EFBIG;
		return false;
	}
	while (n) {
		ssize_t done = pwrite(s->fd, from, n, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			s->failed = done < 0 ? errno : ENOSPC;
			return false;
		}
		from += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return true;
}

struct buffer {
	uint8_t *p;
	uint32_t used;
	uint64_t first, next; /* blocks in it */
};

static bool flush(struct save *s, struct buffer *b)
{
	uint64_t at = atomic_fetch_add(&s->end, b->used);

	for (uint64_t i = b->first; i < b->next; i++)
		s->blocks[i].offset += at;
	bool ok = !b->used || write_at(s, b->p, b->used, at);
	b->used = 0;
	b->first = b->next;
	return ok;
}

/* Most blocks of many columns are one value throughout: nothing waited for, nothing uncertain. */
static bool all_same(const char *from, uint32_t size, uint32_t n)
{
	return !memcmp(from, from + size, (size_t)size * (n - 1));
}

/* By how much lengths differ from the distance to the next row's begin; more: there is a row behind them. */
WW_FOR_EACH_CPU static void take_distances(uint64_t *v, const int64_t *begin, uint32_t n, bool more)
{
	const uint32_t last = n - !more;

	for (uint32_t k = 0; k < last; k++)
		v[k] -= (uint64_t)begin[k + 1] - (uint64_t)begin[k];
}

/* Rows row .. row + n - 1 of column i, one block at `out`; v: room to work in. */
static uint32_t pack_rows(const struct save *s, uint32_t i, uint64_t row, uint32_t n, uint64_t *v, uint8_t *out,
			  struct ww_pack_range *ret_range)
{
	const struct file_column *c = &s->columns[i];
	const char *from = *(char **)ww_file_pointer(c, s->f) + row * c->size;

	if (c->is_length) {
		const int64_t *begin = *ww_file_pointer(c - 1, s->f);

		ww_file_widen(c, from, n, v);
		*ret_range = ww_file_range(v, n);
		take_distances(v, begin + row, n, row + n < s->places[i].rows);
		return s->small ? ww_pack_small(v, n, out, NULL) : ww_pack(v, n, out, NULL);
	}
	if (!all_same(from, c->size, n)) {
		ww_file_widen(c, from, n, v);
		return s->small ? ww_pack_small(v, n, out, ret_range) : ww_pack(v, n, out, ret_range);
	}
	ww_file_widen(c, from, 1, v);
	*ret_range = (struct ww_pack_range){*v, *v};
	return ww_pack_same(*v, out);
}

static void save_column(void *ctx, uint32_t i)
{
	struct save *s = ctx;
	const struct file_column *c = &s->columns[i];
	const struct column_rule rule = ww_file_rule(c, s->f);
	struct buffer b = {.first = s->places[i].first_block, .next = s->places[i].first_block};
	uint64_t rows = s->places[i].rows, v[WW_PACK_ROWS];
	struct ww_pack_range range;

	if (!rows || s->failed)
		return;
	b.p = ww_xmalloc(BUFFER_BYTES);
	for (uint64_t row = 0; row < rows && !s->failed; row += WW_PACK_ROWS) {
		const uint32_t n = (uint32_t)WW_MIN(rows - row, WW_PACK_ROWS);

		if (b.used + WW_PACK_MAX_BYTES > BUFFER_BYTES && !flush(s, &b))
			break;
		struct block_place *p = &s->blocks[b.next++];
		p->offset = b.used;
		p->bytes = pack_rows(s, i, row, n, v, b.p + b.used, &range);
		p->sum = (uint32_t)ww_checksum(b.p + b.used, p->bytes);
		b.used += p->bytes;
		if (!ww_file_rule_allows(&rule, range.min, range.max)) {
			s->false_column = i;
			s->failed = EDOM;
		}
	}
	if (!s->failed)
		flush(s, &b);
	free(b.p);
}

static void plan(struct save *s)
{
	s->ncolumns = ww_file_columns(s->columns);
	for (uint32_t i = 0; i < s->ncolumns; i++) {
		const struct file_column *c = &s->columns[i];

		s->places[i] = (struct column_place){(uint64_t)ww_file_rows(c, s->f) + c->more, s->nblocks};
		s->nblocks += (s->places[i].rows + WW_PACK_ROWS - 1) / WW_PACK_ROWS;
	}
	s->blocks = ww_xcalloc(s->nblocks + 1, sizeof(*s->blocks));
}

/* ---- how small ---- */

#define GOAL_PERCENT 55u /* of the trace's bytes: 60 with what is no block */
#define UNLIKELY 3u      /* packed facts are at most a fifth of what they are in memory */
#define SAMPLE 16u       /* blocks of which one is tried */

static void sample_column(void *ctx, uint32_t i)
{
	struct save *s = ctx;
	const uint64_t rows = s->places[i].rows;
	uint64_t v[WW_PACK_ROWS], bytes = 0, tried = 0;
	uint8_t *block = ww_xmalloc(WW_PACK_MAX_BYTES);
	struct ww_pack_range range;

	for (uint64_t row = 0; row < rows; row += SAMPLE * WW_PACK_ROWS) {
		const uint32_t n = (uint32_t)WW_MIN(rows - row, WW_PACK_ROWS);

		bytes += pack_rows(s, i, row, n, v, block, &range);
		tried += n;
	}
	if (tried)
		s->sampled += bytes * rows / tried;
	free(block);
}

/* Facts of a trace that its recorder compressed are squeezed, too, when they would be near its size otherwise. */
static bool wants_small(struct save *s, uint64_t trace_bytes)
{
	uint64_t unpacked = 0;

	for (uint32_t i = 0; i < s->ncolumns; i++)
		unpacked += s->places[i].rows * s->columns[i].size;
	if (unpacked / UNLIKELY <= trace_bytes)
		return false;
	ww_par_run(s->ncolumns, sample_column, s);
	return s->sampled > trace_bytes * GOAL_PERCENT / 100;
}

static bool save_rest(struct save *s, const struct ww_facts_key *key, const struct ww_facts_notes *notes)
{
	struct file_head h = {.magic = FILE_MAGIC, .endian = FILE_ENDIAN, .columns = s->ncolumns, .key = *key,
			      .blocks = s->nblocks};
	const size_t places = s->ncolumns * sizeof(*s->places), blocks = s->nblocks * sizeof(*s->blocks);
	struct meta_io io = {0};
	/* ww_file_meta reads and writes with the same lines: here it puts back what it took, which others read meanwhile. */
	struct ww_facts same = *s->f;

	ww_file_meta(&io, &same, (struct ww_facts_notes *)(uintptr_t)notes);
	h.meta_offset = s->end;
	h.meta_bytes = io.out.n;
	h.meta_sum = ww_checksum(io.out.v, io.out.n);
	h.dir_offset = (h.meta_offset + h.meta_bytes + 7) & ~UINT64_C(7);
	h.dir_bytes = places + blocks;
	h.file_bytes = h.dir_offset + h.dir_bytes;
	char *dir = ww_xmalloc(h.dir_bytes);
	memcpy(dir, s->places, places);
	memcpy(dir + places, s->blocks, blocks);
	h.dir_sum = ww_checksum(dir, h.dir_bytes);
	h.sum = ww_checksum(&h, offsetof(struct file_head, sum));
	bool ok = write_at(s, io.out.v, io.out.n, h.meta_offset) && write_at(s, dir, h.dir_bytes, h.dir_offset) &&
		  write_at(s, &h, sizeof(h), 0);
	free(dir);
	ww_vec_free(&io.out);
	return ok;
}

static int save_all(struct save *s, const struct ww_facts_key *key, const struct ww_facts_notes *notes)
{
	struct rlimit lim;

	s->limit = getrlimit(RLIMIT_FSIZE, &lim) || lim.rlim_cur == RLIM_INFINITY ? INT64_MAX : lim.rlim_cur;
	s->end = sizeof(struct file_head);
	plan(s);
	s->small = wants_small(s, key->bytes);
	ww_par_run(s->ncolumns, save_column, s);
	if (!s->failed)
		save_rest(s, key, notes);
	free(s->blocks);
	return s->failed;
}

/* The new file, locked: -1 with EAGAIN while another process writes it. A writer that was killed left one behind,
 * which is taken over; one that is done may have renamed it between our open and our lock. */
static int open_new(int dir, const char *tmp)
{
	struct stat ours, named;
	int fd = openat(dir, tmp, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &ours) || fstatat(dir, tmp, &named, AT_SYMLINK_NOFOLLOW) ||
	    ours.st_ino != named.st_ino || ours.st_dev != named.st_dev || ours.st_nlink != 1 || ftruncate(fd, 0)) {
		close(fd);
		errno = EAGAIN;
		return -1;
	}
	return fd;
}

static int save_in(int dir, struct save *s, const struct ww_facts_key *key, const struct ww_facts_notes *notes,
		   const char *name, const char *file, struct ww_err *err)
{
	char *tmp = ww_xasprintf("%s.new", name);
	int failed = 0;

	s->fd = open_new(dir, tmp);
	if (s->fd < 0) {
		failed = errno;
	} else {
		failed = save_all(s, key, notes);
		if (!failed && renameat(dir, tmp, dir, name))
			failed = errno;
		if (failed)
			unlinkat(dir, tmp, 0);
		close(s->fd); /* and with it the lock */
	}
	free(tmp);
	if (failed == EDOM)
		return ww_err_set(err, WW_ELIMIT, file, WW_ERR_NO_OFFSET, "%s.%s has a value that none can have: the facts are not kept",
				  s->columns[s->false_column].fact, s->columns[s->false_column].name);
	errno = failed;
	return failed && failed != EAGAIN ? ww_err_errno(err, file, "the facts cannot be kept") : 0;
}

int ww_facts_save(const struct ww_facts *f, const struct ww_facts_key *key, const struct ww_facts_notes *notes,
		  const char *file, struct ww_err *err)
{
	struct save s = {.f = f};
	char *path = ww_xstrdup(file), *slash = strrchr(path, '/');

	WW_ASSERT(f->sealed && slash);
	ww_facts_index(f);
	ww_place_make_parents(path);
	*slash = 0;
	int dir = open(*path ? path : "/", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;

	if (dir < 0) {
		rc = ww_err_errno(err, file, "the facts cannot be kept");
	} else {
		rc = save_in(dir, &s, key, notes, slash + 1, file, err);
		close(dir);
	}
	free(path);
	return rc;
}
