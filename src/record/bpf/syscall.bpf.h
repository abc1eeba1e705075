/* syscall.bpf.h - system calls of the target's tree, in full, with LTTng's names and fields.
 *
 * What fields a call has is data: ww_sc_entry and ww_sc_exit, filled by user space before loading from
 * the generated table of LTTng's shapes. Calls without a row are whywait_syscall_entry and _exit.
 *
 * Most calls have integers only: the two programs at the tracepoints write those themselves, without a call of a
 * function. What strings, sequences and descriptors need is in programs of their own, entered by a tail call:
 * each is verified on its own, which kernels before 6.2 otherwise find too complex.
 */
#ifndef WW_SYSCALL_BPF_H
#define WW_SYSCALL_BPF_H

#include "current.bpf.h"
#include "seq.bpf.h"

/* Where an event with strings is put together. Not on the stack: a program and what it calls have 512 bytes of that
 * together before Linux 6.13. One for each CPU is enough, since no system call begins or ends while another's program
 * runs there. */
#define STR_BYTES  128 /* of a call's first string */
#define STR2_BYTES 64  /* of its second */
#define TEXT_BYTES 512

struct ww_text {
	u8 at[TEXT_BYTES + STR_BYTES]; /* what is behind the first part is the verifier's */
	/* How far ww_emit_slow is: here the verifier does not follow them value by value, one way for each. */
	u32 bytes, strs;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_text);
} ww_text_room SEC(".maps");

static __always_inline void ww_put_sized(u8 *p, u32 off, u64 v, u32 size)
{
	if (size == 8)
		ww_put64(p, off, v);
	else if (size == 4)
		ww_put32(p, off, v);
	else if (size == 2)
		ww_put16(p, off, v);
	else
		ww_put8(p, off, v);
}

/* An event's bytes, word by word: a helper's call costs more than the few words that most have. The last word ends where
 * they do, and may lie over the one before. */
static __always_inline void ww_put_text(u8 *p, const u8 *at, u32 n)
{
	u32 last = (n - 8) & (TEXT_BYTES - 1);

	if (n < 8) {
		bpf_probe_read_kernel(p, n & 7, at);
		return;
	}
#pragma nounroll
	for (u32 i = 0; i < TEXT_BYTES / 8; i++) {
		if (8 * i >= last)
			break;
		ww_put64(p, 8 * i, *(const u64 *)(at + 8 * i));
	}
	ww_put64(p, last, *(const u64 *)(at + last));
}

/* A call with strings, or with bytes that its arguments point to. It is put together beside the ring, since the room in it
 * depends on the strings' lengths; each number as eight bytes, the next field over its end. One loop, not one round after
 * the other: what is not in the caches costs more than what is done. */
__noinline int ww_emit_slow(u32 index, u32 exit, struct ww_call *c)
{
	const volatile struct ww_sc_layout *l = &ww_sc_entry[index & (WW_SC_TABLE - 1)];
	u32 zero = 0;
	struct ww_text *room = bpf_map_lookup_elem(&ww_text_room, &zero);
	struct ww_slot s;

	if (!c || !room)
		return 0;
	if (exit)
		l = &ww_sc_exit[index & (WW_SC_TABLE - 1)];
	WRITE_ONCE(room->bytes, 0);
	WRITE_ONCE(room->strs, 0);
#pragma nounroll
	for (u32 i = 0; i < WW_SC_FIELDS; i++) {
		if (i >= l->n)
			break;
		u32 bytes = READ_ONCE(room->bytes) & (TEXT_BYTES - 1), size = ((l->f[i].size - 1) & 7) + 1;
		u64 arg = c->arg[l->f[i].arg & 7];
		u8 *at = room->at + bytes;

		if (l->f[i].kind == WW_SC_STR) {
			long n = bpf_probe_read_user_str(at, READ_ONCE(room->strs) ? STR2_BYTES : STR_BYTES, (void *)arg);

			WRITE_ONCE(room->strs, 1);
			size = n;
			if (n <= 0) {
				ww_put8(at, 0, 0);
				size = 1;
			}
		} else if (l->f[i].kind == WW_SC_BYTES) { /* zeros when it cannot be read */
			bpf_probe_read_user(at, size, (void *)(arg + l->f[i].off));
		} else {
			ww_put64(at, 0, arg);
		}
		WRITE_ONCE(room->bytes, bytes + size);
	}
	u32 bytes = READ_ONCE(room->bytes) & (TEXT_BYTES - 1);
	u8 *p = ww_reserve_here(&s, l->id, bytes);
	if (!p)
		return 0;
	ww_put_text(p, room->at, bytes);
	ww_commit(&s);
	return 0;
}

/* All fields are integers. Each but the last is stored as eight bytes, the next over its end: no branch on
 * sizes. User space has made sure (`slow`) that the last such store ends inside the event. */
static __always_inline void ww_put_ints(u8 *p, const volatile struct ww_sc_layout *l, struct ww_call *c)
{
	u32 n = l->n;

	if (!n)
		return;
#pragma unroll
	for (u32 i = 0; i < WW_SC_FIELDS - 1; i++) {
		if (i + 1 >= n)
			break;
		ww_put64(p, 0, c->arg[l->f[i].arg & 7]);
		p += l->f[i].size & 15;
	}
	n = (n - 1) & (WW_SC_FIELDS - 1);
	ww_put_sized(p, 0, c->arg[l->f[n].arg & 7], l->f[n].size);
}

/* True: this was all of the call's event. */
static __always_inline bool ww_emit_ints(const volatile struct ww_sc_layout *l, struct ww_call *c)
{
	struct ww_slot s;
	u8 *p;

	if (l->slow)
		return false;
	p = ww_reserve_here(&s, l->id, l->fixed);
	if (!p)
		return true;
	ww_put_ints(p, l, c);
	ww_commit(&s);
	return true;
}

static __always_inline void ww_emit_rest(const volatile struct ww_sc_layout *l, u32 index, u32 exit,
					 struct ww_call *c)
{
	if (l->seq)
		ww_emit_seq(index, exit, c);
	else if (!ww_emit_ints(l, c))
		ww_emit_slow(index, exit, c);
}

/* The switch has looked it up for us: a hash look-up for each call would cost more than its event. */
static __always_inline bool ww_wanted(struct pt_regs *regs)
{
	if (ww_calls_only)
		return ww_all_syscalls || ww_in_tree(bpf_get_current_pid_tgid() >> 32);
	ww_see_regs(regs);
	return ww_this_cpu()->in_tree;
}

/* Which program goes on; user space fills them. A tail call that returns has failed. */
enum { NEXT_REST, NEXT_FDS, NEXT_READY, NEXT_FD, NEXT_MAX };
struct ww_next_map {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, NEXT_MAX);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
};
struct ww_next_map ww_enter_next SEC(".maps");
struct ww_next_map ww_exit_next SEC(".maps");

#define ww_go_on(ctx, map, k)                                      \
	do {                                                       \
		bpf_tail_call(ctx, map, k);                        \
		__sync_fetch_and_add(&ww_this_cpu()->lost, 1);     \
	} while (0)

/* whywait_syscall_entry: nr abi arg0..arg5 */
static __always_inline void ww_emit_raw_entry(struct ww_call *c)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_WHYWAIT_SYSCALL_ENTRY, 53);

	if (!p)
		return;
	ww_put32(p, 0, c->nr);
	ww_put8(p, 4, c->abi);
#pragma unroll
	for (int i = 0; i < 6; i++)
		ww_put64(p, 5 + 8 * i, c->arg[i]);
	ww_commit(&s);
}

/* whywait_syscall_exit: nr abi ret */
static __always_inline void ww_emit_raw_exit(struct ww_call *c)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_WHYWAIT_SYSCALL_EXIT, 13);

	if (!p)
		return;
	ww_put32(p, 0, c->nr);
	ww_put8(p, 4, c->abi);
	ww_put64(p, 5, c->arg[6]);
	ww_commit(&s);
}

static __always_inline bool ww_has_layout(const volatile struct ww_sc_layout *l, struct ww_call *c)
{
	return l->id && (u32)c->nr < 512;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(ww_sys_enter, struct pt_regs *regs, long nr)
{
	struct ww_call c;

	if (!ww_wanted(regs))
		return 0;
	ww_call_here(&c, regs, nr, 0);
	const volatile struct ww_sc_layout *l = &ww_sc_entry[ww_sc_index(&c)];
	if (!ww_has_layout(l, &c))
		ww_emit_raw_entry(&c);
	else if (!ww_emit_ints(l, &c))
		ww_go_on(ctx, &ww_enter_next, NEXT_REST);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(ww_sys_enter_rest, struct pt_regs *regs, long nr)
{
	struct ww_call c;

	ww_call_here(&c, regs, nr, 0);
	u32 i = ww_sc_index(&c);
	ww_emit_rest(&ww_sc_entry[i], i, 0, &c);
	return 0;
}

/* A call's exit, and at the same moment the descriptor that it made or closed. */
static __always_inline void ww_emit_fd_exit(const volatile struct ww_sc_layout *l, struct ww_call *c, u32 fd, struct ww_file *f)
{
	struct ww_slot s;
	u8 *p = ww_reserve_two_here(&s, WW_EV_WHYWAIT_FD, FD_BYTES, l->id, l->fixed);

	if (!p)
		return;
	ww_put_fd(p, fd, f);
	ww_put_ints(p + WW_TWO(FD_BYTES), l, c);
	ww_commit(&s);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(ww_sys_exit, struct pt_regs *regs, long ret)
{
	struct ww_call c;

	if (!ww_wanted(regs))
		return 0;
	ww_call_here(&c, regs, ww_regs_nr(regs), ret);
	u32 fc = ww_calls_only || ret < 0 ? 0 : ww_fd_call(&c) & ~WW_FC_FIRST;
	if (fc & WW_FC_READY) {
		ww_go_on(ctx, &ww_exit_next, NEXT_READY);
		return 0;
	}
	const volatile struct ww_sc_layout *l = &ww_sc_exit[ww_sc_index(&c)];
	if (fc == WW_FC_CLOSE && ww_has_layout(l, &c) && !l->slow) {
		struct ww_file none = {};

		ww_emit_fd_exit(l, &c, c.arg[0], &none);
		return 0;
	}
	if (fc) {
		ww_go_on(ctx, &ww_exit_next, NEXT_FDS);
		return 0;
	}
	if (!ww_has_layout(l, &c))
		ww_emit_raw_exit(&c);
	else if (!ww_emit_ints(l, &c))
		ww_go_on(ctx, &ww_exit_next, NEXT_REST);
	return 0;
}

/* The call's own event, after what it did with descriptors. */
static __always_inline void ww_exit_after(void *ctx, struct ww_call *c)
{
	const volatile struct ww_sc_layout *l = &ww_sc_exit[ww_sc_index(c)];

	if (!ww_has_layout(l, c))
		ww_emit_raw_exit(c);
	else
		ww_go_on(ctx, &ww_exit_next, NEXT_REST);
}

/* Most of them open one descriptor. */
SEC("tp_btf/sys_exit")
int BPF_PROG(ww_sys_exit_fds, struct pt_regs *regs, long ret)
{
	struct ww_file *f = ww_file_here();
	struct ww_call c;

	ww_call_here(&c, regs, ww_regs_nr(regs), ret);
	const volatile struct ww_sc_layout *l = &ww_sc_exit[ww_sc_index(&c)];
	u32 fc = ww_fd_call(&c);
	if (f && fc & WW_FC_NEW && ww_has_layout(l, &c) && !l->slow) {
		*f = (struct ww_file){};
		ww_file_of_fd(bpf_get_current_task_btf(), ret, f);
		ww_go_on(ctx, &ww_exit_next, NEXT_FD);
		return 0;
	}
	ww_emit_fds(&c, ret, fc);
	ww_exit_after(ctx, &c);
	return 0;
}

/* A program of its own for the stack of those that name the file. */
SEC("tp_btf/sys_exit")
int BPF_PROG(ww_sys_exit_fd, struct pt_regs *regs, long ret)
{
	struct ww_file *f = ww_file_here();
	struct ww_call c;

	if (!f)
		return 0;
	ww_call_here(&c, regs, ww_regs_nr(regs), ret);
	ww_emit_fd_exit(&ww_sc_exit[ww_sc_index(&c)], &c, ret, f);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(ww_sys_exit_ready, struct pt_regs *regs, long ret)
{
	struct ww_call c;

	ww_call_here(&c, regs, ww_regs_nr(regs), ret);
	ww_emit_readies(&c, ret, ww_fd_call(&c));
	ww_exit_after(ctx, &c);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(ww_sys_exit_rest, struct pt_regs *regs, long ret)
{
	struct ww_call c;

	ww_call_here(&c, regs, ww_regs_nr(regs), ret);
	u32 i = ww_sc_index(&c);
	ww_emit_rest(&ww_sc_exit[i], i, 1, &c);
	return 0;
}

#endif
