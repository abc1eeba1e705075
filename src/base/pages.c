/* pages.c - arrays on the heap, then mapped: a head of anonymous memory, and a place in an unlinked file behind it.
 *
 *   addresses: [small pages][large pages of memory ... ][large pages of the file ... ]
 *
 * Most arrays are short: they have small pages. The first large page begins where the machine wants it, so that what is
 * there stays where it is when the array goes on in it. A file is shared by up to 16 arrays, for making one is not cheap:
 * array k of it has the bytes from k * 64 GB on, of which only those that it uses have blocks. An array maps room behind
 * its end, so that it seldom has to move.
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

#define RESERVE_TIMES 8 /* addresses are cheap, moving is not */
#define FILE_ARRAYS 16u
#define ARRAY_BYTES (UINT64_C(64) << 30) /* 2^32 rows of the widest column, and as much again */

struct ww_pages_file {
	int fd;
	uint32_t given, used; /* arrays that were given a place; that have it still */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is below, and of every file's numbers and size */
static struct ww_pages_file *now;			  /* whose places are given; NULL none */
static atomic_size_t heads;				  /* bytes of all arrays' anonymous large pages */
static atomic_size_t heads_most = WW_PAGES_HEADS_BYTES;

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
	const bool alone = f->used == 1;
	pthread_mutex_unlock(&lock);
	if (!alone)
		(void)fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
	/* The others may leave at the same time: the file is there until each has. */
	pthread_mutex_lock(&lock);
	const bool last = !--f->used;
	if (last && now == f)
		now = NULL;
	pthread_mutex_unlock(&lock);
	if (last) {
		close(f->fd);
		free(f);
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

/* Up to a large page's end. */
static size_t whole_pages(size_t bytes)
{
	const size_t large = bytes <= WW_PAGES_SMALL_BYTES ? 0 : bytes - WW_PAGES_SMALL_BYTES;

	return WW_PAGES_SMALL_BYTES + ((large + WW_PAGES_LARGE_BYTES - 1) & ~(WW_PAGES_LARGE_BYTES - 1));
}

/* One more of them is anonymous: as long as no file has begun behind them, nor must, for there are no more addresses, and
 * all arrays have not too many. */
static bool take_large(struct ww_pages *g)
{
	if (g->file || g->head + WW_PAGES_LARGE_BYTES >= g->reserved)
		return false;
	if (atomic_fetch_add(&heads, WW_PAGES_LARGE_BYTES) + WW_PAGES_LARGE_BYTES > atomic_load(&heads_most)) {
		atomic_fetch_sub(&heads, WW_PAGES_LARGE_BYTES);
		return false;
	}
	g->head += WW_PAGES_LARGE_BYTES;
	g->bytes = g->head;
	return true;
}

static void release(struct ww_pages *g)
{
	if (!g->reserved) {
		free(g->p);
		return;
	}
	munmap(g->p, g->reserved);
	atomic_fetch_sub(&heads, g->head - WW_PAGES_SMALL_BYTES);
	if (g->file)
		place_leave(g->file, g->offset, g->bytes - g->head);
}

/* Addresses for `bytes`, and room behind them that is never touched. The room differs from a power of two, for columns
 * that lie a power of two apart displace one another in the caches of some machines. */
static bool reserve(struct ww_pages *g, size_t bytes)
{
	const size_t whole = whole_pages(bytes), room[] = {whole_pages(whole * RESERVE_TIMES) + 17 * WW_PAGES_LARGE_BYTES, whole};
	char *p = MAP_FAILED;

	for (size_t i = 0; i < WW_ARRAY_SIZE(room) && p == MAP_FAILED; i++) {
		g->reserved = room[i];
		p = mmap(NULL, room[i] + WW_PAGES_LARGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	if (p == MAP_FAILED)
		return false;
	const size_t before = -((uintptr_t)p + WW_PAGES_SMALL_BYTES) & (WW_PAGES_LARGE_BYTES - 1);
	g->p = p + before;
	if (before)
		munmap(p, before);
	munmap((char *)g->p + g->reserved, WW_PAGES_LARGE_BYTES - before);
	(void)madvise((char *)g->p + WW_PAGES_SMALL_BYTES, g->reserved - WW_PAGES_SMALL_BYTES, MADV_HUGEPAGE);
	return true;
}

/* The file behind the head. One fault for 2 MB, where the file system has folios as large. Nothing is to be read, and what
 * was read ahead would be other arrays' holes. */
static bool tail_map(const struct ww_pages *g)
{
	char *p = mmap((char *)g->p + g->head, g->reserved - g->head, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		       g->file->fd, (off_t)g->offset);

	if (p == MAP_FAILED)
		return false;
	(void)madvise(p, g->reserved - g->head, MADV_RANDOM);
	(void)madvise(p, g->reserved - g->head, MADV_HUGEPAGE);
	return true;
}

/* Pages from one mapping to the place of others. */
static void move_pages(char *to, char *from, size_t bytes)
{
	if (!bytes || mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return;
	/* What was at `to` may be gone by now. */
	if (mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		ww_out_of_memory();
	memcpy(to, from, bytes);
	munmap(from, bytes);
}

/* To addresses with more room. What is there is not copied: the head's pages go there, the file is mapped again. Small and
 * large pages are mappings of their own, and Linux before 6.17 moves one at a time. */
static bool remap(struct ww_pages *g, size_t bytes)
{
	struct ww_pages to = *g;

	if (!reserve(&to, bytes))
		return false;
	if (!tail_map(&to)) {
		munmap(to.p, to.reserved);
		return false;
	}
	move_pages(to.p, g->p, WW_PAGES_SMALL_BYTES);
	move_pages((char *)to.p + WW_PAGES_SMALL_BYTES, (char *)g->p + WW_PAGES_SMALL_BYTES, g->head - WW_PAGES_SMALL_BYTES);
	munmap((char *)g->p + g->head, g->reserved - g->head);
	*g = to;
	return true;
}

static bool tail_begin(struct ww_pages *g)
{
	g->file = place_take(&g->offset);
	if (!g->file)
		return false;
	if (tail_map(g))
		return true;
	place_leave(g->file, g->offset, 0);
	g->file = NULL;
	return false;
}

/* The head is as long as it will be. Reserving blocks takes a while: some for later, too. */
static bool tail_grow(struct ww_pages *g, size_t bytes)
{
	bytes = whole_pages(bytes + (bytes - g->head) / 2);
	if (!g->file && !tail_begin(g))
		return false;
	if (!file_grow(g->file->fd, g->offset + g->bytes - g->head, g->offset + bytes - g->head))
		return false;
	if (bytes > g->reserved && !remap(g, bytes))
		return false;
	g->bytes = bytes;
	return true;
}

/* To a new place, with its contents. */
static void move_to(struct ww_pages *g, const struct ww_pages *to)
{
	if (g->bytes)
		memcpy(to->p, g->p, g->bytes);
	release(g);
	*g = *to;
}

static bool begin_mapped(struct ww_pages *g, size_t bytes)
{
	struct ww_pages to = {.head = WW_PAGES_SMALL_BYTES, .bytes = WW_PAGES_SMALL_BYTES};

	if (!reserve(&to, bytes))
		return false;
	move_to(g, &to);
	return true;
}

static bool mapped_grow(struct ww_pages *g, size_t bytes)
{
	if (!g->reserved && !begin_mapped(g, bytes))
		return false;
	while (bytes > g->bytes)
		if (!take_large(g))
			return tail_grow(g, bytes);
	return true;
}

void *ww_pages_resize(struct ww_pages *g, size_t bytes)
{
	if (bytes <= g->bytes)
		return g->p;
	/* One that is longer, and on the heap: no file could be had for it. */
	if (bytes <= WW_PAGES_HEAP_BYTES || (!g->reserved && g->bytes > WW_PAGES_HEAP_BYTES)) {
		g->p = ww_xrealloc(g->p, bytes);
		memset((char *)g->p + g->bytes, 0, bytes - g->bytes);
		g->bytes = bytes;
		return g->p;
	}
	WW_ASSERT(bytes <= ARRAY_BYTES);
	if (!mapped_grow(g, bytes))
		move_to(g, &(struct ww_pages){.p = ww_xcalloc(1, bytes), .bytes = bytes});
	return g->p;
}

void ww_pages_allow(size_t bytes)
{
	const int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); /* below 0: not known */

	bytes = WW_MIN(bytes, (size_t)WW_MAX(machine / 32, 0));
	atomic_store(&heads_most, WW_MAX(bytes, WW_PAGES_HEADS_BYTES));
}

void ww_pages_release(struct ww_pages *g)
{
	release(g);
	*g = (struct ww_pages){0};
}
