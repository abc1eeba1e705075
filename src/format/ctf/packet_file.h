/* packet_file.h - a stream file that ends at a packet's end whenever its writer is killed.
 *
 * order  ww_packet_file_open -> ww_packet_file_append* -> ww_packet_file_close
 * Where the file system writes directly (ext4, xfs ...), a packet is one write with O_DIRECT: it ignores
 * signals, SIGKILL too, waits in no journal commit of the program that is recorded, and the file grows only
 * when all of it is on the disk. Elsewhere (tmpfs ...) SIGKILL can cut a write between two pages, but not
 * within one; packet_file.c says how a packet then appears at once.
 */
#ifndef WW_CTF_PACKET_FILE_H
#define WW_CTF_PACKET_FILE_H

#include "base/err.h"

/* Packets begin at multiples of this in the file and in memory, and are multiples of it long. */
#define WW_PACKET_ALIGN 4096u

struct ww_packet_file {
	int fd;
	bool direct;
	uint64_t bytes; /* whole packets in the file */
};

/* Creates `name` in dirfd; flags: O_EXCL, or O_TRUNC for a file that may be there. */
int ww_packet_file_open(struct ww_packet_file *f, int dirfd, const char *name, int flags, int mode,
			struct ww_err *err);
/* Appends the packet of n bytes at p, which begins with a struct ww_ctf_packet_header whose packet_bits are
 * n * 8. On an error (full disk) the file is as it was. p and n: multiples of WW_PACKET_ALIGN. */
int ww_packet_file_append(struct ww_packet_file *f, const void *p, size_t n, struct ww_err *err);
int ww_packet_file_close(struct ww_packet_file *f, struct ww_err *err); /* also when it is not open: fd -1 */

static inline size_t ww_packet_round(size_t n)
{
	return (n + WW_PACKET_ALIGN - 1) & ~(size_t)(WW_PACKET_ALIGN - 1);
}

#endif
