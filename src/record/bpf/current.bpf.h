/* current.bpf.h - who has the CPU, where the switch to him was not told.
 *
 * Some virtual machines are run by threads in them, and hide these: while such a thread has a CPU no tracepoint tells of
 * anything there, the switch away from it included. A switch that comes from another thread than the one before went to
 * is the sign of such a machine; from then on each event that is somebody's doing looks at who is current. Those that
 * look at the current thread anyway, or are rare, or can see it for nearly nothing, always do.
 */
#ifndef WW_CURRENT_BPF_H
#define WW_CURRENT_BPF_H

#include "task.bpf.h"

/* The same few processes take turns, and a hash's look-up is a call three deep. */
static __always_inline bool ww_in_tree_known(struct ww_ring_ctl *c, u32 tgid)
{
	u64 *known = &c->known[tgid & (WW_KNOWN - 1)], was = *known;
	u64 now = (u64)tgid << 32 | (u32)(READ_ONCE(ww_shared.tree) << 1);

	if ((was & ~1ull) == now)
		return was & 1;
	bool in_tree = ww_in_tree(tgid);
	*known = now | in_tree;
	return in_tree;
}

static __always_inline void ww_give_cpu(struct ww_ring_ctl *c, struct task_struct *next)
{
	c->on = next->pid + 1;
	c->in_tree = next->pid && ww_in_tree_known(c, next->tgid);
	c->regs = 0;
}

/* The last switch that was told gave the CPU to somebody else than who has it. */
static __always_inline bool ww_is_unseen(struct ww_ring_ctl *c, struct task_struct *cur)
{
	u32 on = c->on;

	return on && on != (u32)cur->pid + 1;
}

/* At a switch, before its event. */
static __always_inline void ww_see_switch(struct ww_ring_ctl *c, struct task_struct *prev)
{
	if (ww_is_unseen(c, prev))
		WRITE_ONCE(ww_shared.hides, 1);
}

/* whywait_current: tid prio comm */
__noinline int ww_tell_current(void)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct ww_slot s;
	u8 *p;

	ww_give_cpu(ww_this_cpu(), cur);
	p = ww_reserve(&s, WW_EV_WHYWAIT_CURRENT, 24);
	if (!p)
		return 0;
	ww_put32(p, 0, cur->pid);
	ww_put32(p, 4, PRIO(cur));
	ww_put_comm(p, 8, cur);
	ww_commit(&s);
	return 0;
}

/* Is the current task of the target's tree? For programs whose stack has no room for what ww_see calls: their event names
 * its task. */
static __always_inline bool ww_current_is_in_tree(struct task_struct *cur)
{
	struct ww_ring_ctl *c = ww_this_cpu();

	if (ww_is_unseen(c, cur))
		return cur->pid && ww_in_tree(cur->tgid);
	return c->in_tree;
}

/* Before an event that is cur's doing, or interrupts it. */
static __always_inline void ww_see(struct task_struct *cur)
{
	if (ww_is_unseen(ww_this_cpu(), cur)) {
		WRITE_ONCE(ww_shared.hides, 1);
		ww_tell_current();
	}
}

/* The same where to ask for the current thread costs something beside the event. */
static __always_inline void ww_see_current(void)
{
	if (READ_ONCE(ww_shared.hides) && !ww_calls_only)
		ww_see(bpf_get_current_task_btf());
}

/* The same at what a thread does in user space: its registers are saved at the end of its own stack, the same place each
 * time, so while it is the place where they were when we looked last nobody else has the CPU. That costs so little that no
 * sign is waited for, which would come after the first hidden switch: calls of whom it gave the CPU to would be missing. */
static __always_inline void ww_see_regs(struct pt_regs *regs)
{
	struct ww_ring_ctl *c = ww_this_cpu();

	if (READ_ONCE(c->regs) == (u64)regs)
		return;
	ww_see(bpf_get_current_task_btf());
	WRITE_ONCE(c->regs, (u64)regs);
}

#endif
