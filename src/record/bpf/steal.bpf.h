/* steal.bpf.h - time in which the hypervisor ran something else than this virtual CPU.
 *
 * The kernel takes it off its books of run time (update_rq_clock_task in kernel/sched/core.c, with
 * CONFIG_PARAVIRT_TIME_ACCOUNTING) and keeps the sum in the run queue, brought up to date at each switch and
 * tick; what it has grown by since the last look lies before this moment. A run queue is reached from a task
 * that is on it: the symbol `runqueues` is not in every kernel's kallsyms.
 */
#ifndef WW_STEAL_BPF_H
#define WW_STEAL_BPF_H

#include "task.bpf.h"

#define WW_STEAL_LEAST_NS 1000

/* whywait_stolen: ns. `t` is on this CPU. */
static __always_inline void ww_check_stolen(struct task_struct *t)
{
	struct ww_slot s;
	u8 *p;

	if (!bpf_core_field_exists(struct rq, prev_steal_time_rq) || !bpf_core_field_exists(struct sched_entity, cfs_rq) ||
	    !bpf_core_field_exists(struct cfs_rq, rq))
		return;
	struct ww_ring_ctl *c = ww_this_cpu();
	u64 now = t->se.cfs_rq->rq->prev_steal_time_rq, before = c->steal_ns;

	if (now < before + WW_STEAL_LEAST_NS)
		return;
	c->steal_ns = now;
	if (!before) /* since the machine started */
		return;
	p = ww_reserve(&s, WW_EV_WHYWAIT_STOLEN, 8);
	if (!p)
		return;
	ww_put64(p, 0, now - before);
	ww_commit(&s);
}

#endif
