/* fd.bpf.h - at the exit of calls that make, close or wait for descriptors. */
#ifndef WW_FD_BPF_H
#define WW_FD_BPF_H

#include "file.bpf.h"

/* whywait_fd: pid fd kind dev ino */
#define FD_BYTES 21
static __always_inline void ww_put_fd(u8 *p, u32 fd, struct ww_file *f)
{
	ww_put32(p, 0, bpf_get_current_pid_tgid() >> 32);
	ww_put32(p, 4, fd);
	ww_put8(p, 8, f->kind);
	ww_put32(p, 9, f->dev);
	ww_put64(p, 13, f->ino);
}

/* What a call's descriptor is: not on the stack, which has little left. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_file);
} ww_file_room SEC(".maps");

static __always_inline struct ww_file *ww_file_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ww_file_room, &zero);
}

/* Or only the name of what the descriptor is. */
enum { FD_OPEN, FD_CLOSED, FD_NAME };
__noinline int ww_emit_fd(u32 fd, u32 what)
{
	struct ww_file f = {};
	struct ww_slot s;
	u8 *p;

	if (what != FD_CLOSED)
		ww_file_of_fd(bpf_get_current_task_btf(), fd, &f);
	if (what == FD_NAME)
		return 0;
	p = ww_reserve(&s, WW_EV_WHYWAIT_FD, FD_BYTES);
	if (!p)
		return 0;
	ww_put_fd(p, fd, &f);
	ww_commit(&s);
	return 0;
}

/* whywait_fds: pid n open[n]; which descriptors are open, the first FD_WORDS * 64 of them. */
#define FD_WORDS 16
static __always_inline int ww_emit_open_fds(struct task_struct *t)
{
	struct fdtable *fdt = BPF_CORE_READ(t, files, fdt);
	u32 n = fdt ? (BPF_CORE_READ(fdt, max_fds) + 63) / 64 : 0;
	struct ww_slot s;
	u8 *p;

	if (!n)
		return 0;
	if (n > FD_WORDS)
		n = FD_WORDS;
	p = ww_reserve(&s, WW_EV_WHYWAIT_FDS, 8 + 8 * n);
	if (!p)
		return 0;
	ww_put32(p, 0, t->tgid);
	ww_put32(p, 4, n);
	bpf_probe_read_kernel(p + 8, (8 * n) & 255, BPF_CORE_READ(fdt, open_fds));
	ww_commit(&s);
	return 0;
}

/* Exec closes descriptors, and no call tells which. The tracepoint comes after they are closed. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(ww_exec_fds, struct task_struct *t)
{
	return ww_in_tree(t->tgid) ? ww_emit_open_fds(t) : 0;
}

/* Descriptors that came with a message (SCM_RIGHTS): of the first two control messages the first 16 each.
 * source include/linux/socket.h: struct user_msghdr, struct cmsghdr; net/compat.c */
#define CONTROLS    2
#define CONTROL_FDS 16
static __always_inline int ww_received_fds(struct ww_call *c)
{
	u64 at = 0, left = 0;
	u32 word;

	word = c->abi == ABI_I386 ? 4 : 8;
	bpf_probe_read_user(&at, word, (void *)(c->arg[1] + (word == 4 ? 16 : 32)));
	bpf_probe_read_user(&left, word, (void *)(c->arg[1] + (word == 4 ? 20 : 40)));
	for (u32 k = 0; k < CONTROLS; k++) {
		u64 len = 0, kind = 0;

		if (!at || left < word + 8)
			break;
		bpf_probe_read_user(&len, word, (void *)at);
		bpf_probe_read_user(&kind, 8, (void *)(at + word));
		if (len < word + 8 || len > left)
			break;
		/* A plain loop: the body of a bpf_loop would be one call too many on the stack. */
		for (u32 i = 0; i < CONTROL_FDS; i++) {
			u32 fd;

			if (kind != (1ull << 32 | 1) || len < word + 8 + 4 * (i + 1)) /* SOL_SOCKET, SCM_RIGHTS */
				break;
			if (bpf_probe_read_user(&fd, 4, (void *)(at + word + 8 + 4 * i)))
				break;
			ww_emit_fd(fd, FD_OPEN);
		}
		len = (len + word - 1) & ~(u64)(word - 1);
		at += len;
		left = left > len ? left - len : 0;
	}
	return 0;
}

static __always_inline u32 ww_tid_here(void)
{
	return bpf_get_current_pid_tgid();
}

/* whywait_ready: tid nr fd revents data */
static __always_inline void ww_emit_ready(u32 tid, s32 nr, s32 fd, u32 revents, u64 data)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_WHYWAIT_READY, 24);

	if (!p)
		return;
	ww_put32(p, 0, tid);
	ww_put32(p, 4, nr);
	ww_put32(p, 8, fd);
	ww_put32(p, 12, revents);
	ww_put64(p, 16, data);
	ww_commit(&s);
}

struct pollfd {
	s32 fd;
	s16 events, revents;
};

/* Bodies of bpf_loop: verified once, not once an iteration and way. c is the call on the caller's stack. */
static int ww_ready_poll_one(u32 i, void *ctx)
{
	struct ww_call *c = ctx;
	struct pollfd p = {};

	if (i >= c->arg[1] || bpf_probe_read_user(&p, sizeof(p), (void *)(c->arg[0] + 8 * (u64)i)))
		return 1;
	if (p.revents)
		ww_emit_ready(ww_tid_here(), c->nr, p.fd, (u16)p.revents, 0);
	return 0;
}

/* The first descriptor of each 32 in the sets of those to be read, then of those to be written. */
#define SELECT_WORDS 8
static int ww_ready_select_one(u32 i, void *ctx)
{
	struct ww_call *c = ctx;
	u32 at = i & (SELECT_WORDS - 1), write = i / SELECT_WORDS, bits = 0, n;
	u64 set = write ? c->arg[2] : c->arg[1];

	if (!set || at * 32 >= c->arg[0])
		return 0;
	if (bpf_probe_read_user(&bits, 4, (void *)(set + 4 * at)) || !bits)
		return 0;
	bits &= -bits;
	n = !!(bits & 0xaaaaaaaa) | !!(bits & 0xcccccccc) << 1 | !!(bits & 0xf0f0f0f0) << 2 |
	    !!(bits & 0xff00ff00) << 3 | !!(bits & 0xffff0000) << 4;
	ww_emit_ready(ww_tid_here(), c->nr, at * 32 + n, write ? 4 : 1, 0); /* POLLOUT, POLLIN */
	return 0;
}

#if defined(__TARGET_ARCH_x86)
#define EPOLL_EVENT_BYTES 12
#define EPOLL_DATA_AT     4
#else
#define EPOLL_EVENT_BYTES 16
#define EPOLL_DATA_AT     8
#endif

static int ww_ready_epoll_one(u32 i, void *ctx)
{
	struct ww_call *c = ctx;
	u64 at = c->arg[1] + (u64)i * EPOLL_EVENT_BYTES, data = 0;
	u32 events = 0;

	bpf_probe_read_user(&events, 4, (void *)at);
	bpf_probe_read_user(&data, 8, (void *)(at + EPOLL_DATA_AT));
	ww_emit_ready(ww_tid_here(), c->nr, -1, events, data);
	return 0;
}

/* whywait_epoll: pid epfd fd op data */
static __always_inline void ww_emit_epoll(u32 pid, struct ww_call *c)
{
	struct ww_slot s;
	u64 data = 0;
	u8 *p;

	if (c->arg[3])
		bpf_probe_read_user(&data, 8, (void *)(c->arg[3] + EPOLL_DATA_AT));
	p = ww_reserve(&s, WW_EV_WHYWAIT_EPOLL, 24);
	if (!p)
		return;
	ww_put32(p, 0, pid);
	ww_put32(p, 4, c->arg[0]);
	ww_put32(p, 8, c->arg[2]);
	ww_put32(p, 12, c->arg[1]);
	ww_put64(p, 16, data);
	ww_commit(&s);
}

/* Which descriptors were ready, of a call that has waited for several. */
static __always_inline int ww_emit_readies(struct ww_call *c, long ret, u32 fc)
{
	if (ret <= 0)
		return 0;
	if (fc & WW_FC_POLL)
		bpf_loop(32, ww_ready_poll_one, c, 0);
	else if (fc & WW_FC_SELECT)
		bpf_loop(2 * SELECT_WORDS, ww_ready_select_one, c, 0);
	else
		bpf_loop(ret > 8 ? 8 : ret, ww_ready_epoll_one, c, 0);
	return 0;
}

static __always_inline int ww_emit_fds(struct ww_call *c, long ret, u32 fc)
{
	if (ret < 0)
		return 0;
	struct task_struct *t = bpf_get_current_task_btf();

	if (fc & WW_FC_FCNTL && (c->arg[1] == 0 || c->arg[1] == 1030)) /* F_DUPFD, F_DUPFD_CLOEXEC */
		fc |= WW_FC_NEW;
	if (fc & WW_FC_NEW)
		ww_emit_fd(ret, FD_OPEN);
	else if (fc & WW_FC_CLOSE)
		ww_emit_fd(c->arg[0], FD_CLOSED);
	else if (fc & (WW_FC_PAIR0 | WW_FC_PAIR3)) {
		u32 two[2] = {};

		if (bpf_probe_read_user(two, 8, (void *)(fc & WW_FC_PAIR0 ? c->arg[0] : c->arg[3])))
			return 0;
		ww_emit_fd(two[0], FD_OPEN);
		ww_emit_fd(two[1], FD_OPEN);
	} else if (fc & WW_FC_SOCK) {
		ww_emit_fd(c->arg[0], FD_NAME);
	} else if (fc & WW_FC_RECVMSG) {
		ww_received_fds(c);
	} else if (fc & WW_FC_RANGE) {
		ww_emit_open_fds(t);
	} else if (fc & WW_FC_EPOLL_CTL) {
		ww_emit_epoll(t->tgid, c);
	}
	return 0;
}

#endif
