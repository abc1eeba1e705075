/* task.bpf.h - which tasks are the target's, and the system call that a task is in. */
#ifndef WW_TASK_BPF_H
#define WW_TASK_BPF_H

#include "core_fixes.bpf.h"
#include "ring.bpf.h"

/* Thread group ids of the target's tree; user space adds the first, fork the rest. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
} ww_targets SEC(".maps");

const volatile bool ww_all_syscalls;
const volatile bool ww_calls_only; /* no switch tells us whose the CPU is */
const volatile bool ww_light;
const volatile bool ww_stacks;
const volatile __u32 ww_own_tgid; /* the recorder's system calls are not recorded */
/* By abi << 9 | nr: what the call does with descriptors, WW_FC_* of wire.h. */
const volatile __u16 ww_fd_calls[WW_SC_TABLE];
/* By the same: the fields of its events. */
const volatile struct ww_sc_layout ww_sc_entry[WW_SC_TABLE] SEC(".rodata.entry");
const volatile struct ww_sc_layout ww_sc_exit[WW_SC_TABLE] SEC(".rodata.exit");

#define PRIO(t) ((t)->prio - 100) /* as LTTng shows it */

static __always_inline bool ww_in_tree(u32 tgid)
{
	if (ww_all_syscalls)
		return tgid != ww_own_tgid;
	return bpf_map_lookup_elem(&ww_targets, &tgid) != NULL;
}

static __always_inline struct ww_ring_ctl *ww_this_cpu(void)
{
	return &ww_ctl[bpf_get_smp_processor_id() & (WW_MAX_CPUS - 1)];
}

/* Run by user space on each CPU when the tree has got a new member, which may be running. */
SEC("raw_tp")
int ww_look_at_tree(void *ctx)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	__sync_fetch_and_add(&ww_shared.tree, 1);
	ww_this_cpu()->in_tree = tgid && ww_in_tree(tgid);
	return 0;
}

/* The call of the current task from its saved registers. False: a kernel thread, which has none. */
static __always_inline bool ww_current_call(struct task_struct *t, struct ww_call *c)
{
	c->nr = -1;
	c->abi = 0;
	c->returned = false;
	if (t->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return false;
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(t);
	c->nr = ww_regs_nr(r);
	c->returned = ww_regs_returned(r);
	ww_call_args(c, r, t);
	return true;
}

/* The current task's, at its entry or exit; ret is 0 at the entry. */
static __always_inline void ww_call_here(struct ww_call *c, struct pt_regs *r, s32 nr, s64 ret)
{
	c->nr = nr;
	c->arg[6] = ret;
	c->arg[7] = 0;
	if (ww_regs_native(r))
		ww_call_args_native(c, r);
	else
		ww_call_args(c, r, bpf_get_current_task_btf());
}

static __always_inline u32 ww_sc_index(struct ww_call *c)
{
	u32 i = (c->abi == ABI_I386 ? 512 : 0) | (c->nr & 511);

	/* The compiler knows the bound and drops the mask; verifiers before 6.13 do not know it once the
	 * value was on the stack. */
	asm volatile("" : "+r"(i));
	return i & (WW_SC_TABLE - 1);
}

static __always_inline u32 ww_fd_call(struct ww_call *c)
{
	return c->nr >= 0 && c->nr < 512 ? ww_fd_calls[ww_sc_index(c)] : 0;
}

#endif
