/* packet_file.c - packets appended so that no moment of the file shows half of one.
 *
 * Without direct writes, a packet of n pages at the end E of the file appears in these steps; each changes
 * one page, or bytes that the packet in front of them declares to be padding:
 *   1. pages E, E+1 ... E+n-1 are written one by one as empty packets of a page each
 *   2. the head at E says: an empty packet of n pages
 *   3. pages E+1 ... E+n-1 get their content, still padding to a reader
 *   4. page E is written: the packet is there
 * Example: killed in step 3, the file ends with an empty packet of n pages.
 */
#include "format/ctf/packet_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/ctf/writer.h"

/* True when O_DIRECT on this file means direct: tmpfs and others take the flag and write to the cache. */
static bool writes_direct(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx sx = {0};

	if (!syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) && sx.stx_mask & STATX_DIOALIGN)
		return sx.stx_dio_offset_align && sx.stx_dio_offset_align <= WW_PACKET_ALIGN &&
		       sx.stx_dio_mem_align <= WW_PACKET_ALIGN;
#endif
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == BTRFS_SUPER_MAGIC;
}

int ww_packet_file_open(struct ww_packet_file *f, int dirfd, const char *name, int flags, int mode,
			struct ww_err *err)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, mode);

	if (fd < 0)
		return ww_err_errno(err, name, "cannot create");
	bool direct = writes_direct(fd) && !fcntl(fd, F_SETFL, O_DIRECT);
	*f = (struct ww_packet_file){.fd = fd, .direct = direct};
	return 0;
}

/* All n bytes at `at`; short writes of a nearly full disk are continued, and so fail with its error. */
static int write_at(const struct ww_packet_file *f, const void *p, size_t n, uint64_t at)
{
	while (n) {
		ssize_t w = pwrite(f->fd, p, n, (off_t)at);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) {
			errno = w ? errno : ENOSPC;
			return -1;
		}
		p = (const char *)p + w;
		n -= (size_t)w;
		at += (uint64_t)w;
	}
	return 0;
}

static int append_paged(const struct ww_packet_file *f, const void *p, size_t n)
{
	struct ww_ctf_packet_header h;
	uint8_t page[WW_PACKET_ALIGN] = {0};

	memcpy(&h, p, sizeof(h));
	h.content_bits = sizeof(h) * 8;
	h.packet_bits = WW_PACKET_ALIGN * 8;
	h.end_ts_ns = h.begin_ts_ns;
	memcpy(page, &h, sizeof(h));
	if (n > WW_PACKET_ALIGN) {
		for (size_t at = 0; at < n; at += WW_PACKET_ALIGN)
			if (write_at(f, page, WW_PACKET_ALIGN, f->bytes + at))
				return -1;
		h.packet_bits = (uint64_t)n * 8;
		if (write_at(f, &h, sizeof(h), f->bytes) ||
		    write_at(f, (const char *)p + WW_PACKET_ALIGN, n - WW_PACKET_ALIGN, f->bytes + WW_PACKET_ALIGN))
			return -1;
	}
	return write_at(f, p, WW_PACKET_ALIGN, f->bytes);
}

int ww_packet_file_append(struct ww_packet_file *f, const void *p, size_t n, struct ww_err *err)
{
	WW_ASSERT(n && !(n % WW_PACKET_ALIGN) && !((uintptr_t)p % WW_PACKET_ALIGN));
	int r = f->direct ? write_at(f, p, n, f->bytes) : append_paged(f, p, n);

	if (r && errno == EINVAL && f->direct) {
		/* A device whose blocks are larger than it said: from here on through the cache. */
		f->direct = false;
		if (!fcntl(f->fd, F_SETFL, 0))
			r = append_paged(f, p, n);
	}
	if (r) {
		r = ww_err_errno(err, NULL, "cannot write a packet");
		/* Where even this fails the last packet is torn; readers stop before it. */
		return ftruncate(f->fd, (off_t)f->bytes) ? r : r;
	}
	f->bytes += n;
	return 0;
}

int ww_packet_file_close(struct ww_packet_file *f, struct ww_err *err)
{
	int r = f->fd >= 0 && close(f->fd) ? ww_err_errno(err, NULL, "cannot close a stream file") : 0;

	f->fd = -1;
	return r;
}
