/* pages.c - arrays on the heap, then in anonymous memory, then in unlinked files, each array mapped as a whole and grown
 * with the file.
 *
 * A file is shared by up to 16 arrays, for making one is not cheap: array k of it has the bytes from k * 64 GB on, of
 * which only those that it uses have blocks. An array maps room behind its end, so that it seldom has to move.
 *
 *   file: [array 0: 6 MB | hole ... ] [array 1: 2 MB | hole ... ] ...      offsets 0, 64 GB, ...
 */
#include "base/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)2 << 20)
#define RESERVE_TIMES 8 /* addresses are cheap, moving is not */
#define FILE_ARRAYS 16u
#define ANON_ROOM (WW_PAGES_ANON_MOST + ((size_t)17 << 12)) /* not a power of two, see map_file() */
#define ARRAY_BYTES (UINT64_C(64) << 30) /* 2^32 rows of the widest column, and as much again */

struct ww_pages_file {
	int fd;
	uint32_t given, used; /* arrays that were given a place; that have it still */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is below, and of every file's numbers and size */
static struct ww_pages_file *now;			  /* whose places are given; NULL none */
static atomic_size_t anonymous;				  /* bytes of all arrays that are */

/* ---- files ---- */

static int file_in(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	char *name = ww_xasprintf("%s/whywait-XXXXXX", dir);
	fd = mkostemp(name, O_CLOEXEC); /* a file system without O_TMPFILE */
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

static int temporary_file(void)
{
	const char *dirs[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int fd = -1;

	for (size_t i = 0; i < WW_ARRAY_SIZE(dirs) && fd < 0; i++)
		if (dirs[i] && *dirs[i])
			fd = file_in(dirs[i]);
	return fd;
}

/* A place in a file: NULL where none can be had. */
static struct ww_pages_file *place_take(uint64_t *ret_offset)
{
	pthread_mutex_lock(&lock);
	if (!now || now->given == FILE_ARRAYS) {
		int fd = temporary_file();

		now = fd < 0 ? NULL : ww_xcalloc(1, sizeof(*now));
		if (now)
			now->fd = fd;
	}
	struct ww_pages_file *f = now;
	if (f) {
		*ret_offset = f->given++ * ARRAY_BYTES;
		f->used++;
	}
	pthread_mutex_unlock(&lock);
	return f;
}

/* Gives its blocks back: with the file, when it was the last one there. */
static void place_leave(struct ww_pages_file *f, uint64_t offset, size_t bytes)
{
	pthread_mutex_lock(&lock);
	const bool last = !--f->used;
	if (last && now == f)
		now = NULL;
	pthread_mutex_unlock(&lock);
	if (last) {
		close(f->fd);
		free(f);
	} else {
		(void)fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
	}
}

/* A file that cannot reserve blocks is at least as long as it has to be. */
static bool lengthen(int fd, uint64_t end)
{
	struct stat st;

	pthread_mutex_lock(&lock);
	bool ok = fstat(fd, &st) == 0 && ((uint64_t)st.st_size >= end || ftruncate(fd, (off_t)end) == 0);
	pthread_mutex_unlock(&lock);
	return ok;
}

/* The limit on file sizes comes as a signal that ends the process: it is looked at first. */
static bool file_grow(int fd, uint64_t from, uint64_t to)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY && to > lim.rlim_cur)
		return false;
	if (fallocate(fd, 0, (off_t)from, (off_t)(to - from)) == 0)
		return true;
	return errno == EOPNOTSUPP && lengthen(fd, to);
}

/* ---- arrays ---- */

/* A place for `bytes` with room behind it: what is mapped past the file's end is never touched. The room differs from
 * a power of two, for columns that lie a power of two apart displace one another in the caches of some machines. */
static void *map_file(int fd, uint64_t offset, size_t bytes, size_t *ret_reserved)
{
	const size_t room[] = {bytes * RESERVE_TIMES + 17 * HUGE_BYTES, bytes};
	void *p = MAP_FAILED;

	for (size_t i = 0; i < WW_ARRAY_SIZE(room) && p == MAP_FAILED; i++) {
		*ret_reserved = room[i];
		p = mmap(NULL, room[i], PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	}
	return p;
}

static void release(struct ww_pages *g)
{
	if (!g->reserved) {
		free(g->p);
		return;
	}
	munmap(g->p, g->reserved);
	if (g->file)
		place_leave(g->file, g->offset, g->bytes);
	else
		atomic_fetch_sub(&anonymous, g->bytes);
}

/* To a new place, with its contents. */
static void move_to(struct ww_pages *g, const struct ww_pages *to)
{
	if (g->bytes)
		memcpy(to->p, g->p, g->bytes);
	release(g);
	*g = *to;
}

/* ---- anonymous memory ---- */

static bool anonymous_take(size_t bytes)
{
	if (atomic_fetch_add(&anonymous, bytes) + bytes <= WW_PAGES_ANON_BYTES)
		return true;
	atomic_fetch_sub(&anonymous, bytes);
	return false;
}

/* Pages of the usual size: most of these arrays are shorter than a large one. */
static bool move_to_anonymous(struct ww_pages *g, size_t bytes)
{
	struct ww_pages to = {.bytes = bytes, .reserved = ANON_ROOM};

	if (!anonymous_take(bytes))
		return false;
	to.p = mmap(NULL, to.reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (to.p == MAP_FAILED) {
		atomic_fetch_sub(&anonymous, bytes);
		return false;
	}
	(void)madvise(to.p, to.reserved, MADV_NOHUGEPAGE);
	move_to(g, &to);
	return true;
}

/* Its room is there already. */
static bool anonymous_grow(struct ww_pages *g, size_t bytes)
{
	if (!anonymous_take(bytes - g->bytes))
		return false;
	g->bytes = bytes;
	return true;
}

/* ---- in a file ---- */

/* One fault for 2 MB, where the file system has folios as large. Nothing is to be read, and what was read ahead would be
 * other arrays' holes. */
static void advise(const struct ww_pages *g)
{
	(void)madvise(g->p, g->reserved, MADV_RANDOM);
	(void)madvise(g->p, g->reserved, MADV_HUGEPAGE);
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1); /* of any machine */
}

static bool move_to_file(struct ww_pages *g, size_t bytes)
{
	struct ww_pages to = {.bytes = bytes = whole_pages(bytes)};

	to.file = place_take(&to.offset);
	if (!to.file)
		return false;
	to.p = file_grow(to.file->fd, to.offset, to.offset + bytes) ?
		       map_file(to.file->fd, to.offset, bytes, &to.reserved) : MAP_FAILED;
	if (to.p == MAP_FAILED) {
		place_leave(to.file, to.offset, bytes);
		return false;
	}
	advise(&to);
	move_to(g, &to);
	return true;
}

static bool map_grow(struct ww_pages *g, size_t bytes)
{
	struct ww_pages to = *g;

	bytes = whole_pages(bytes);
	if (!file_grow(g->file->fd, g->offset + g->bytes, g->offset + bytes))
		return false;
	to.bytes = bytes;
	if (bytes > g->reserved) {
		to.p = map_file(g->file->fd, g->offset, bytes, &to.reserved);
		if (to.p == MAP_FAILED)
			return false;
		advise(&to);
		munmap(g->p, g->reserved); /* what was there is in the file */
	}
	*g = to;
	return true;
}

static bool grow_mapped(struct ww_pages *g, size_t bytes)
{
	if (g->file)
		return map_grow(g, bytes);
	if (bytes <= WW_PAGES_ANON_MOST && (g->reserved ? anonymous_grow(g, bytes) : move_to_anonymous(g, bytes)))
		return true;
	return move_to_file(g, bytes);
}

void *ww_pages_resize(struct ww_pages *g, size_t bytes)
{
	if (bytes <= g->bytes)
		return g->p;
	if (bytes <= WW_PAGES_HEAP_BYTES) {
		g->p = ww_xrealloc(g->p, bytes);
		memset((char *)g->p + g->bytes, 0, bytes - g->bytes);
		g->bytes = bytes;
		return g->p;
	}
	WW_ASSERT(bytes <= ARRAY_BYTES);
	if (!grow_mapped(g, bytes))
		move_to(g, &(struct ww_pages){.p = ww_xcalloc(1, bytes), .bytes = bytes});
	return g->p;
}

void ww_pages_release(struct ww_pages *g)
{
	release(g);
	*g = (struct ww_pages){0};
}
