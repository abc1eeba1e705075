/* pages.c - arrays on the heap, then in unlinked files, each file mapped as a whole and grown with it. */
#include "base/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* The limit on file sizes comes as a signal that ends the process: it is looked at first. */
static bool file_grow(int fd, size_t from, size_t to)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY && to > lim.rlim_cur)
		return false;
	if (fallocate(fd, 0, (off_t)from, (off_t)(to - from)) == 0)
		return true;
	return errno == EOPNOTSUPP && ftruncate(fd, (off_t)to) == 0;
}

static void unmap(struct ww_pages *g)
{
	if (g->mapped)
		munmap(g->p, g->bytes);
	else
		free(g->p);
	if (g->fd_plus1)
		close(g->fd_plus1 - 1);
}

/* From the heap, or a file that has become too long, to a new place of the same contents. */
static void move_to(struct ww_pages *g, size_t bytes, void *p, int fd)
{
	if (g->bytes)
		memcpy(p, g->p, g->bytes);
	unmap(g);
	*g = (struct ww_pages){.p = p, .bytes = bytes, .fd_plus1 = fd + 1, .mapped = fd >= 0};
}

static bool move_to_file(struct ww_pages *g, size_t bytes)
{
	int fd = temporary_file();

	if (fd < 0)
		return false;
	void *p = file_grow(fd, 0, bytes) ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (p == MAP_FAILED) {
		close(fd);
		return false;
	}
	/* Fewer faults, where the file system has large folios. */
	(void)madvise(p, bytes, MADV_HUGEPAGE);
	move_to(g, bytes, p, fd);
	return true;
}

static bool map_grow(struct ww_pages *g, size_t bytes)
{
	if (!file_grow(g->fd_plus1 - 1, g->bytes, bytes))
		return false;
	void *p = mremap(g->p, g->bytes, bytes, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return false;
	g->p = p;
	g->bytes = bytes;
	return true;
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
	bytes = (bytes + 65535) & ~(size_t)65535; /* whole pages, of any machine */
	if (!(g->mapped ? map_grow(g, bytes) : move_to_file(g, bytes)))
		move_to(g, bytes, ww_xcalloc(1, bytes), -1);
	return g->p;
}

void ww_pages_release(struct ww_pages *g)
{
	unmap(g);
	*g = (struct ww_pages){0};
}
