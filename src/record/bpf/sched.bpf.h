/* sched.bpf.h - switches, wakeups, the life of tasks. */
#ifndef WW_SCHED_BPF_H
#define WW_SCHED_BPF_H

#include "task.bpf.h"

#define PRIO(t) ((t)->prio - 100) /* as LTTng shows it */

enum { BLOCK_IOWAIT = 1, BLOCK_KTHREAD = 2, BLOCK_IO_WORKER = 4, BLOCK_THROTTLED = 8 };

/* whywait_block: tid nr abi flags fd_kind dev ino arg0..arg5 */
static __always_inline void ww_emit_block(struct task_struct *prev)
{
	struct ww_call c = {};
	struct ww_slot s;
	u8 *p, flags = 0;

	if (!ww_current_call(prev, &c))
		flags |= prev->flags & PF_KTHREAD ? BLOCK_KTHREAD : BLOCK_IO_WORKER;
	if (BPF_CORE_READ_BITFIELD(prev, in_iowait))
		flags |= BLOCK_IOWAIT;
	p = ww_reserve(&s, WW_EV_WHYWAIT_BLOCK, 71);
	if (!p)
		return;
	ww_put32(p, 0, prev->pid);
	ww_put32(p, 4, c.nr);
	ww_put8(p, 8, c.abi);
	ww_put8(p, 9, flags);
	ww_put8(p, 10, 0);
	ww_put32(p, 11, 0);
	ww_put64(p, 15, 0);
#pragma unroll
	for (int i = 0; i < 6; i++)
		ww_put64(p, 23 + 8 * i, c.arg[i]);
	ww_commit(&s);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(ww_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	s64 state = ww_switch_state(preempt, prev_state, prev->exit_state);
	struct ww_slot s;
	u8 *p;

	if (!ww_light)
		ww_this_cpu()->in_tree = next->pid && ww_in_tree(next->tgid);
	if (state && !preempt && !prev->exit_state)
		ww_emit_block(prev);
	p = ww_reserve(&s, WW_EV_SCHED_SWITCH, 16 + 8 + 8 + 16 + 8);
	if (!p)
		return 0;
	ww_put_comm(p, 0, prev);
	ww_put32(p, 16, prev->pid);
	ww_put32(p, 20, PRIO(prev));
	ww_put64(p, 24, state);
	ww_put_comm(p, 32, next);
	ww_put32(p, 48, next->pid);
	ww_put32(p, 52, PRIO(next));
	ww_commit(&s);
	return 0;
}

/* sched_waking, sched_wakeup, sched_wakeup_new: comm tid prio target_cpu */
static __always_inline void ww_emit_wake(u32 id, struct task_struct *t, u32 cpu)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, id, 28);

	if (!p)
		return;
	ww_put_comm(p, 0, t);
	ww_put32(p, 16, t->pid);
	ww_put32(p, 20, PRIO(t));
	ww_put32(p, 24, cpu);
	ww_commit(&s);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(ww_sched_waking, struct task_struct *t)
{
	ww_emit_wake(WW_EV_SCHED_WAKING, t, t->thread_info.cpu);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(ww_sched_wakeup, struct task_struct *t)
{
	ww_emit_wake(WW_EV_SCHED_WAKEUP, t, t->thread_info.cpu);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(ww_sched_wakeup_new, struct task_struct *t)
{
	ww_emit_wake(WW_EV_SCHED_WAKEUP_NEW, t, t->thread_info.cpu);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(ww_sched_migrate_task, struct task_struct *t, int dest)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_SCHED_MIGRATE_TASK, 32);

	if (!p)
		return 0;
	ww_put_comm(p, 0, t);
	ww_put32(p, 16, t->pid);
	ww_put32(p, 20, PRIO(t));
	ww_put32(p, 24, t->thread_info.cpu);
	ww_put32(p, 28, dest);
	ww_commit(&s);
	return 0;
}

static __always_inline u32 ww_ns_inum(struct task_struct *t)
{
	struct nsproxy *n = t->nsproxy;

	return n ? n->pid_ns_for_children->ns.inum : 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(ww_sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct pid *pid = child->thread_pid;
	u32 n = BPF_CORE_READ(pid, level) + 1, tgid = child->tgid, one = 1;
	struct ww_slot s;
	u8 *p;

	if (!ww_all_syscalls && tgid == child->pid && ww_in_tree(parent->tgid))
		bpf_map_update_elem(&ww_targets, &tgid, &one, BPF_ANY);
	if (n > 4)
		n = 4;
	p = ww_reserve(&s, WW_EV_SCHED_PROCESS_FORK, 28 + 20 + 1 + 4 * n + 8);
	if (!p)
		return 0;
	ww_put_comm(p, 0, parent);
	ww_put32(p, 16, parent->pid);
	ww_put32(p, 20, parent->tgid);
	ww_put32(p, 24, ww_ns_inum(parent));
	ww_put_comm(p, 28, child);
	ww_put32(p, 44, child->pid);
	ww_put8(p, 48, n);
	p += 49;
#pragma unroll
	for (u32 i = 0; i < 4; i++) {
		if (i < n) {
			ww_put32(p, 0, BPF_CORE_READ(pid, numbers[i].nr));
			p += 4;
		}
	}
	ww_put32(p, 0, child->tgid);
	ww_put32(p, 4, ww_ns_inum(child));
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ww_sched_process_exec, struct task_struct *t, pid_t old_tid, struct linux_binprm *bprm)
{
	char name[256];
	long n = bpf_probe_read_kernel_str(name, sizeof(name), bprm->filename);
	struct ww_slot s;
	u8 *p;

	if (n <= 0) {
		name[0] = 0;
		n = 1;
	}
	n &= 511;
	if (n > 256)
		n = 256;
	p = ww_reserve(&s, WW_EV_SCHED_PROCESS_EXEC, n + 8);
	if (!p)
		return 0;
	bpf_probe_read_kernel(p, n, name);
	p += n;
	ww_put32(p, 0, t->pid);
	ww_put32(p, 4, old_tid);
	ww_commit(&s);
	return 0;
}

static __always_inline void ww_emit_end(u32 id, struct task_struct *t)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, id, 24);

	if (!p)
		return;
	ww_put_comm(p, 0, t);
	ww_put32(p, 16, t->pid);
	ww_put32(p, 20, PRIO(t));
	ww_commit(&s);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ww_sched_process_exit, struct task_struct *t)
{
	ww_emit_end(WW_EV_SCHED_PROCESS_EXIT, t);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(ww_sched_process_free, struct task_struct *t)
{
	u32 tgid = t->tgid;

	if (tgid == t->pid)
		bpf_map_delete_elem(&ww_targets, &tgid);
	ww_emit_end(WW_EV_SCHED_PROCESS_FREE, t);
	return 0;
}

#endif
