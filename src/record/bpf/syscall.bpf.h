/* syscall.bpf.h - system calls of the target's tree, in full, with LTTng's names and fields.
 *
 * What fields a call has is data: ww_sc_entry and ww_sc_exit, filled by user space before loading from
 * the generated table of LTTng's shapes. Calls without a row are whywait_syscall_entry and _exit.
 */
#ifndef WW_SYSCALL_BPF_H
#define WW_SYSCALL_BPF_H

#include "seq.bpf.h"

/* Room on the stack for a call's first and second string: a program and what it calls have 512 bytes
 * together before Linux 6.13. */
#define STR_BYTES  128
#define STR2_BYTES 64

/* A call with strings, or with bytes that its arguments point to: the strings are read first, since the room
 * in the ring depends on their lengths. */
__noinline int ww_emit_slow(u32 index, u32 exit, struct ww_call *c)
{
	const volatile struct ww_sc_layout *l = &ww_sc_entry[index & (WW_SC_TABLE - 1)];
	char text[STR_BYTES + STR2_BYTES];
	u32 len0 = 1, len1 = 1, k = 0, off = 0;
	struct ww_slot s;
	u8 *p;

	if (!c)
		return 0;
	if (exit)
		l = &ww_sc_exit[index & (WW_SC_TABLE - 1)];
	text[0] = text[STR_BYTES] = 0;
#pragma unroll
	for (u32 i = 0; i < WW_SC_FIELDS; i++) {
		u64 arg = c->arg[l->f[i].arg & 7];
		u32 kind = l->f[i].kind;

		if (i >= l->n)
			break;
		if (kind == WW_SC_STR && !k) {
			long n = bpf_probe_read_user_str(text, STR_BYTES, (void *)arg);
			len0 = n > 0 ? n : 1;
			k = 1;
		} else if (kind == WW_SC_STR) {
			long n = bpf_probe_read_user_str(text + STR_BYTES, STR2_BYTES, (void *)arg);
			len1 = n > 0 ? n : 1;
		}
	}
	len0 = ((len0 - 1) & (STR_BYTES - 1)) + 1;
	len1 = ((len1 - 1) & (STR2_BYTES - 1)) + 1;
	p = ww_reserve(&s, l->id, l->fixed + (l->strs ? len0 : 0) + (l->strs > 1 ? len1 : 0));
	if (!p)
		return 0;
	k = 0;
#pragma unroll
	for (u32 i = 0; i < WW_SC_FIELDS; i++) {
		if (i >= l->n)
			break;
		off &= 511;
		u64 *arg = &c->arg[l->f[i].arg & 7];
		u32 size = ((l->f[i].size - 1) & 7) + 1;

		if (l->f[i].kind == WW_SC_BYTES) { /* zeros when it cannot be read */
			bpf_probe_read_user(p + off, size, (void *)(*arg + l->f[i].off));
			off += l->f[i].size;
		} else if (l->f[i].kind != WW_SC_STR) {
			bpf_probe_read_kernel(p + off, size, arg);
			off += l->f[i].size;
		} else if (!k) {
			bpf_probe_read_kernel(p + off, len0, text);
			off += len0;
			k = 1;
		} else {
			bpf_probe_read_kernel(p + off, len1, text + STR_BYTES);
			off += len1;
		}
	}
	ww_commit(&s);
	return 0;
}

/* All fields are integers: packed into words without a branch on their sizes (of which the verifier would try
 * all combinations), then stored. */
__noinline int ww_emit_fast(u32 index, u32 exit, struct ww_call *c)
{
	const volatile struct ww_sc_layout *l = &ww_sc_entry[index & (WW_SC_TABLE - 1)];
	u64 words[WW_SC_FIELDS + 1];
	u32 bytes, off = 0;
	struct ww_slot s;
	u8 *p;

	if (!c)
		return 0;
	if (exit)
		l = &ww_sc_exit[index & (WW_SC_TABLE - 1)];
	bytes = l->fixed;
#pragma unroll
	for (u32 i = 0; i <= WW_SC_FIELDS; i++)
		words[i] = 0;
#pragma unroll
	for (u32 i = 0; i < WW_SC_FIELDS; i++) {
		if (i >= l->n)
			break;
		u32 size = l->f[i].size, bit = (off & 7) * 8, w = (off >> 3) & 7;
		u64 v = c->arg[l->f[i].arg & 7] & (~0ull >> ((64 - 8 * size) & 63));

		words[w] |= v << bit;
		words[w + 1] |= (v >> 1) >> (63 - bit);
		off += size;
	}
	p = ww_reserve(&s, l->id, bytes);
	if (!p)
		return 0;
	off = 0;
#pragma unroll
	for (u32 i = 0; i < WW_SC_FIELDS; i++) {
		if (off + 8 > bytes)
			break;
		ww_put64(p, off, words[i]);
		off += 8;
	}
	u64 rest = *(u64 *)((void *)words + (off & 64 ? 64 : off & 56));
	p += off & 127;
	if (bytes & 4) {
		ww_put32(p, 0, rest);
		rest >>= 32;
		p += 4;
	}
	if (bytes & 2) {
		ww_put16(p, 0, rest);
		rest >>= 16;
		p += 2;
	}
	if (bytes & 1)
		ww_put8(p, 0, rest);
	ww_commit(&s);
	return 0;
}

/* Functions of their own, so that the one's room on the stack is not there while the other runs. */
static __always_inline void ww_emit_call(const volatile struct ww_sc_layout *l, u32 index, u32 exit,
					 struct ww_call *c)
{
	if (l->seq)
		ww_emit_seq(index, exit, c);
	else if (l->slow)
		ww_emit_slow(index, exit, c);
	else
		ww_emit_fast(index, exit, c);
}

/* The switch has looked it up for us: a hash look-up for each call would cost more than its event. */
static __always_inline bool ww_wanted(void)
{
	if (ww_all_syscalls)
		return bpf_get_current_pid_tgid() >> 32 != ww_own_tgid;
	if (ww_calls_only)
		return ww_in_tree(bpf_get_current_pid_tgid() >> 32);
	return ww_this_cpu()->in_tree;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(ww_sys_enter, struct pt_regs *regs, long nr)
{
	struct ww_call c = {};
	struct ww_slot s;
	u8 *p;

	if (!ww_wanted())
		return 0;
	c.nr = nr;
	ww_call_args(&c, regs, bpf_get_current_task_btf());
	const volatile struct ww_sc_layout *l = &ww_sc_entry[ww_sc_index(&c)];
	if (l->id && c.nr >= 0 && c.nr < 512) {
		ww_emit_call(l, ww_sc_index(&c), 0, &c);
		return 0;
	}
	p = ww_reserve(&s, WW_EV_WHYWAIT_SYSCALL_ENTRY, 53);
	if (!p)
		return 0;
	ww_put32(p, 0, c.nr);
	ww_put8(p, 4, c.abi);
#pragma unroll
	for (int i = 0; i < 6; i++)
		ww_put64(p, 5 + 8 * i, c.arg[i]);
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(ww_sys_exit, struct pt_regs *regs, long ret)
{
	struct ww_call c = {};
	struct ww_slot s;
	u8 *p;

	if (!ww_wanted())
		return 0;
	c.nr = ww_regs_nr(regs);
	ww_call_args(&c, regs, bpf_get_current_task_btf());
	const volatile struct ww_sc_layout *l = &ww_sc_exit[ww_sc_index(&c)];
	c.arg[6] = ret;
	u32 fc = ww_fd_call(&c);
	if (!ww_calls_only && fc & ~WW_FC_FIRST)
		ww_emit_fds(&c, ret, fc);
	if (l->id && c.nr >= 0 && c.nr < 512) {
		ww_emit_call(l, ww_sc_index(&c), 1, &c);
		return 0;
	}
	p = ww_reserve(&s, WW_EV_WHYWAIT_SYSCALL_EXIT, 13);
	if (!p)
		return 0;
	ww_put32(p, 0, c.nr);
	ww_put8(p, 4, c.abi);
	ww_put64(p, 5, ret);
	ww_commit(&s);
	return 0;
}

#endif
