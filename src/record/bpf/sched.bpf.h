/* sched.bpf.h - switches, wakeups, the life of tasks. */
#ifndef WW_SCHED_BPF_H
#define WW_SCHED_BPF_H

#include "current.bpf.h"
#include "file.bpf.h"
#include "steal.bpf.h"

enum { BLOCK_IOWAIT = 1, BLOCK_KTHREAD = 2, BLOCK_IO_WORKER = 4, BLOCK_THROTTLED = 8, BLOCK_RETURNED = 32 };

/* whywait_block: tid nr abi flags fd_kind dev ino arg0..arg5; and the switch right behind it, whose place is returned. */
#define BLOCK_BYTES  71
#define SWITCH_BYTES 56
static __always_inline u8 *ww_emit_block(struct ww_slot *s, struct task_struct *prev)
{
	struct ww_call c = {};
	struct ww_file f = {};
	u8 *p, flags = 0;

	if (!ww_current_call(prev, &c))
		flags |= prev->flags & PF_KTHREAD ? BLOCK_KTHREAD : BLOCK_IO_WORKER;
	if (BPF_CORE_READ_BITFIELD(prev, in_iowait))
		flags |= BLOCK_IOWAIT;
	if (c.returned)
		flags |= BLOCK_RETURNED;
	else if (ww_fd_call(&c) & WW_FC_FIRST)
		ww_file_of_fd(prev, c.arg[0], &f);
	p = ww_reserve_two_here(s, WW_EV_WHYWAIT_BLOCK, BLOCK_BYTES, WW_EV_SCHED_SWITCH, SWITCH_BYTES);
	if (!p)
		return NULL;
	ww_put32(p, 0, prev->pid);
	ww_put32(p, 4, c.nr);
	ww_put8(p, 8, c.abi);
	ww_put8(p, 9, flags);
	ww_put8(p, 10, f.kind);
	ww_put32(p, 11, f.dev);
	ww_put64(p, 15, f.ino);
#pragma unroll
	for (int i = 0; i < 6; i++)
		ww_put64(p, 23 + 8 * i, c.arg[i]);
	return p + WW_TWO(BLOCK_BYTES);
}

/* whywait_throttle: tid on. Throttled tasks are few: the counter spares the look-up when there is none. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u32);
} ww_throttled SEC(".maps");

static __always_inline void ww_emit_throttle(u32 tid, u32 on)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_WHYWAIT_THROTTLE, 5);

	if (!p)
		return;
	ww_put32(p, 0, tid);
	ww_put8(p, 4, on);
	ww_commit(&s);
}

static __always_inline void ww_check_throttle(struct task_struct *prev, struct task_struct *next)
{
	u32 tid = prev->pid, one = 1;

	if (tid && ww_is_throttled(prev)) {
		ww_shared.throttled = 1;
		bpf_map_update_elem(&ww_throttled, &tid, &one, BPF_ANY);
		ww_emit_throttle(tid, 1);
	}
	tid = next->pid;
	if (ww_shared.throttled && tid && !bpf_map_delete_elem(&ww_throttled, &tid))
		ww_emit_throttle(tid, 0);
}

/* whywait_stack: tid user n ip[n] tops top[tops]. The words at the top of the user's stack: with them a reader
 * finds the caller of a function that has no frame, such as the C library's read. */
#define STACK_TOPS 8
#define STACK_DEPTH 60
struct ww_stack {
	u64 ip[64];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_stack);
} ww_stack_room SEC(".maps");

static __noinline int ww_emit_stack(void *ctx, u32 tid, u32 user)
{
	u32 zero = 0;
	struct ww_stack *room = bpf_map_lookup_elem(&ww_stack_room, &zero);
	struct ww_slot s;
	long n;
	u8 *p;

	if (!room)
		return 0;
	n = bpf_get_stack(ctx, room->ip, STACK_DEPTH * 8, user ? 1ull << 8 : 0); /* BPF_F_USER_STACK */
	if (n <= 0)
		return 0;
	n &= 511 & ~7;
	u32 tops = user ? STACK_TOPS : 0;
	p = ww_reserve(&s, WW_EV_WHYWAIT_STACK, 10 + n + 8 * tops);
	if (!p)
		return 0;
	ww_put32(p, 0, tid);
	ww_put8(p, 4, user);
	ww_put32(p, 5, n / 8);
	bpf_probe_read_kernel(p + 9, n, room->ip);
	p += 9 + n;
	ww_put8(p, 0, tops);
	if (tops) {
		struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

		bpf_probe_read_user(p + 1, 8 * STACK_TOPS, (void *)r->sp);
	}
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(ww_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	s64 state = ww_switch_state(preempt, prev_state, prev->exit_state);
	struct ww_slot s;
	u8 *p;

	struct ww_ring_ctl *c = ww_this_cpu();
	bool was_in_tree = c->in_tree;

	ww_see_switch(c, prev);
	ww_check_stolen(prev);
	ww_check_throttle(prev, next);
	c->irq_depth = 0; /* no handler switches; PREEMPT_RT's softirqs may, and are threads then */
	ww_give_cpu(c, next);
	if (state && !preempt && ww_stacks && was_in_tree) {
		ww_emit_stack(ctx, prev->pid, 0);
		if (!(prev->flags & PF_KTHREAD))
			ww_emit_stack(ctx, prev->pid, 1);
	}
	if (state && !preempt && !prev->exit_state)
		p = ww_emit_block(&s, prev);
	else
		p = ww_reserve_here(&s, WW_EV_SCHED_SWITCH, SWITCH_BYTES);
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
#define WAKE_BYTES 28
static __always_inline void ww_put_wake(struct ww_slot *s, u8 *p, struct task_struct *t)
{
	if (!p)
		return;
	ww_put_comm(p, 0, t);
	ww_put32(p, 16, t->pid);
	ww_put32(p, 20, PRIO(t));
	ww_put32(p, 24, t->thread_info.cpu);
	ww_commit(s);
}

/* whywait_waker: tid nr abi; in thread context, for a task whose calls are not recorded. The waking is right behind
 * it. */
#define WAKER_BYTES 9
SEC("tp_btf/sched_waking")
int BPF_PROG(ww_sched_waking, struct task_struct *t)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct ww_ring_ctl *c = ww_this_cpu();
	struct ww_call call;
	struct ww_slot s;
	u8 *p;

	ww_see(cur);
	if (!cur->pid || c->irq_depth || (c->in_tree && !ww_light) || !ww_current_call(cur, &call)) {
		p = ww_reserve_here(&s, WW_EV_SCHED_WAKING, WAKE_BYTES);
	} else {
		p = ww_reserve_two_here(&s, WW_EV_WHYWAIT_WAKER, WAKER_BYTES, WW_EV_SCHED_WAKING, WAKE_BYTES);
		if (!p)
			return 0;
		ww_put32(p, 0, cur->pid);
		ww_put32(p, 4, call.nr);
		ww_put8(p, 8, call.abi);
		p += WW_TWO(WAKER_BYTES);
	}
	ww_put_wake(&s, p, t);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(ww_sched_wakeup, struct task_struct *t)
{
	struct ww_slot s;

	ww_put_wake(&s, ww_reserve_here(&s, WW_EV_SCHED_WAKEUP, WAKE_BYTES), t);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(ww_sched_wakeup_new, struct task_struct *t)
{
	struct ww_slot s;

	ww_put_wake(&s, ww_reserve(&s, WW_EV_SCHED_WAKEUP_NEW, WAKE_BYTES), t);
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
	return BPF_CORE_READ(t, nsproxy, pid_ns_for_children, ns.inum);
}

/* The first 255 bytes of the string at `from`, into the room's text; their number with the zero at the end. */
static __always_inline u32 ww_name_read(struct ww_name *room, const char *from)
{
	long n = bpf_probe_read_kernel_str(room->text, 256, from);

	if (n <= 0) {
		room->text[0] = 0;
		n = 1;
	}
	n &= 511;
	return n > 256 ? 256 : n;
}

/* whywait_cgroup: tid group id path. tid 0 only names it; path is empty where the id has been named. Of the second
 * version's hierarchy, whose number is 0. */
static __always_inline void ww_emit_cgroup(u32 tid, u32 group, u64 id, const char *path)
{
	u32 zero = 0;
	struct ww_name *room = bpf_map_lookup_elem(&ww_name_room, &zero);
	struct ww_slot s;
	u8 *p;

	if (!room)
		return;
	u32 n = path ? ww_name_read(room, path) : 1;
	if (!path)
		room->text[0] = 0;
	p = ww_reserve(&s, WW_EV_WHYWAIT_CGROUP, 13 + n);
	if (!p)
		return;
	ww_put32(p, 0, tid);
	ww_put8(p, 4, group);
	ww_put64(p, 5, id);
	bpf_probe_read_kernel(p + 13, n, room->text);
	ww_commit(&s);
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(ww_cgroup_mkdir, struct cgroup *c, const char *path)
{
	if (!BPF_CORE_READ(c, root, hierarchy_id))
		ww_emit_cgroup(0, 0, BPF_CORE_READ(c, kn, id), path);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(ww_cgroup_attach_task, struct cgroup *c, const char *path, struct task_struct *t, bool group)
{
	if (!BPF_CORE_READ(c, root, hierarchy_id))
		ww_emit_cgroup(t->pid, group, BPF_CORE_READ(c, kn, id), path);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(ww_sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	/* Not child->thread_pid: for each typed pointer that a program reads, the kernel looks through all names of its
	 * types, milliseconds each time. */
	struct pid *pid = BPF_CORE_READ(child, thread_pid);
	u32 n = BPF_CORE_READ(pid, level) + 1, tgid = child->tgid, one = 1;
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	if (!ww_all_syscalls && tgid == child->pid && ww_in_tree(parent->tgid)) {
		bpf_map_update_elem(&ww_targets, &tgid, &one, BPF_ANY);
		__sync_fetch_and_add(&ww_shared.tree, 1);
	}
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
	if (BPF_CORE_READ(child, cgroups) != BPF_CORE_READ(parent, cgroups)) /* clone3 with CLONE_INTO_CGROUP */
		ww_emit_cgroup(child->pid, 0, BPF_CORE_READ(child, cgroups, dfl_cgrp, kn, id), NULL);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(ww_sched_process_exec, struct task_struct *t, pid_t old_tid, struct linux_binprm *bprm)
{
	u32 zero = 0;
	struct ww_name *room = bpf_map_lookup_elem(&ww_name_room, &zero);
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	if (ww_this_cpu()->in_tree)
		__sync_fetch_and_add(&ww_shared.lives, 1);
	if (!room)
		return 0;
	u32 n = ww_name_read(room, bprm->filename);
	p = ww_reserve(&s, WW_EV_SCHED_PROCESS_EXEC, n + 8);
	if (!p)
		return 0;
	bpf_probe_read_kernel(p, n, room->text);
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
	ww_see_current();
	if (ww_this_cpu()->in_tree)
		__sync_fetch_and_add(&ww_shared.lives, 1);
	ww_emit_end(WW_EV_SCHED_PROCESS_EXIT, t);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(ww_sched_process_free, struct task_struct *t)
{
	u32 tgid = t->tgid;

	if (tgid == t->pid && !bpf_map_delete_elem(&ww_targets, &tgid))
		__sync_fetch_and_add(&ww_shared.tree, 1);
	ww_emit_end(WW_EV_SCHED_PROCESS_FREE, t);
	return 0;
}

#endif
