/* statedump.h - what was there before recording began: tasks, open files, sockets, devices, interrupts.
 *
 * Tasks, files and sockets come from the kernel's iterators (bpf/iter.bpf.h), or else from /proc and sock_diag;
 * devices from /proc and /sys. `file_table_address` is the process id, which joins tasks to descriptors as the
 * address would.
 */
#ifndef WW_STATEDUMP_H
#define WW_STATEDUMP_H

#include "base/u64map.h"
#include "format/ctf/writer.h"

/* Where struct ww_iter_task and struct ww_iter_file (bpf/wire.h) are read from. */
struct ww_dump_iters {
	int task_fd, file_fd;
	int map_fd; /* struct ww_iter_map: only stacks need it */
};

/* ww_statedump_write - writes lttng_statedump_start ... lttng_statedump_end and our own events of open
 * files between them; the stream is not flushed.
 * in    it    NULL, or descriptors of -1: from /proc; they stay the caller's
 * error only the stream's; what cannot be read (a task that ended meanwhile) is left out */
int ww_statedump_write(struct ww_ctf_out *o, const struct ww_dump_iters *it, struct ww_err *err);

/* Makes each CPU switch once, so that the trace tells from the start who runs there, and the kernel side knows
 * whose system calls to record. As a real-time task for that moment: a busy CPU must not make us wait. */
void ww_dump_visit_cpus(void);
/* CLOCK_MONOTONIC, ns. */
uint64_t ww_dump_now_ns(void);
void ww_dump_clock(struct ww_ctf_out *o, struct ww_err *err);                       /* whywait_clock */
void ww_dump_cost(struct ww_ctf_out *o, uint64_t cpu_ns, uint64_t bytes, struct ww_err *err);
void ww_dump_recorder(struct ww_ctf_out *o, int32_t tid, struct ww_err *err);
void ww_dump_target(struct ww_ctf_out *o, uint64_t ts_ns, int32_t tid, bool begin, int32_t status,
		    const char *comm, const char *cmdline, struct ww_err *err);

/* ---- between statedump*.c ---- */

struct ww_dump_sock {
	uint64_t ino, peer_ino;
	uint16_t family;
	uint8_t type, proto;
	uint8_t kind; /* WW_DK_SOCK_* */
	uint16_t sport, dport; /* host order */
	uint8_t saddr[16], daddr[16];
	char *path; /* unix: bound name, '@' first when abstract; NULL none */
};

struct ww_dump_socks {
	struct ww_dump_sock *v;
	size_t n, cap;
	struct ww_u64map by_ino; /* inode -> index */
};

void ww_dump_socks_collect(struct ww_dump_socks *s);
void ww_dump_socks_release(struct ww_dump_socks *s);
int ww_dump_sock_write(const struct ww_dump_sock *k, struct ww_ctf_out *o, struct ww_err *err);
int ww_dump_socks_write(const struct ww_dump_socks *s, struct ww_ctf_out *o, struct ww_err *err);
/* Interrupts, block devices, network interfaces. */
int ww_dump_devices_write(struct ww_ctf_out *o, struct ww_err *err);
/* The kernel's functions, ".kallsyms" in the trace's directory: "ADDRESS NAME" a line, by address as they come. Without
 * the right to see addresses there is none, and stacks show numbers. */
void ww_dump_kallsyms(int dirfd);
/* A small file of /proc or /sys, NUL-terminated, without its last newline; length or -1. */
int ww_dump_read(int dirfd, const char *path, char *buf, size_t size);

/* The numbers of `enum ww_file_kind` (facts.h), which is above this layer; docs/formats/whywait-events.md */
enum ww_dump_kind {
	WW_DK_UNKNOWN, WW_DK_REG, WW_DK_DIR, WW_DK_CHR, WW_DK_BLK, WW_DK_PIPE, WW_DK_FIFO, WW_DK_SOCK_UNIX,
	WW_DK_SOCK_TCP, WW_DK_SOCK_UDP, WW_DK_SOCK_NETLINK, WW_DK_SOCK_VSOCK, WW_DK_SOCK_OTHER,
	WW_DK_EVENTFD, WW_DK_EPOLL, WW_DK_TIMERFD, WW_DK_SIGNALFD, WW_DK_INOTIFY, WW_DK_PIDFD,
	WW_DK_IO_URING, WW_DK_TTY, WW_DK_ANON_OTHER
};

#endif
