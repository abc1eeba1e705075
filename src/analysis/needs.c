/* needs.c - which kinds of events the figures are made of, and which of these a trace has not.
 *
 * The one place that decides whether a figure without rows means that nothing happened or that nobody knows. Whether a
 * trace has a kind is what the model found while it bound the trace's event classes (struct ww_knowledge): in a
 * trace.dat, whose header names every event of the kernel, a kind is there when one of its events is.
 */
#include "analysis/ranges.h"

static bool has_syscalls(const struct ww_facts *f)
{
	return f->knows.syscalls;
}

static bool has_block(const struct ww_facts *f)
{
	return f->knows.block;
}

static bool has_faults(const struct ww_facts *f)
{
	return f->knows.exceptions || f->knows.faults;
}

static bool has_fault_ends(const struct ww_facts *f)
{
	return f->knows.faults || !has_faults(f); /* without faults the other need says it */
}

static bool has_irq(const struct ww_facts *f)
{
	return f->knows.irq;
}

static bool has_softirq(const struct ww_facts *f)
{
	return f->knows.softirq;
}

static bool has_timers(const struct ww_facts *f)
{
	return f->knows.timers || f->knows.vectors;
}

static bool has_interrupts(const struct ww_facts *f)
{
	return has_irq(f) || has_softirq(f) || has_timers(f);
}

/* The kernel's own events of packets do not tell their addresses. */
static bool has_packets(const struct ww_facts *f)
{
	return f->knows.addresses;
}

static bool has_locks(const struct ww_facts *f)
{
	return f->knows.locks;
}

static bool has_lock_waits(const struct ww_facts *f)
{
	return has_syscalls(f) || has_locks(f);
}

static bool has_numa(const struct ww_facts *f)
{
	return f->knows.numa;
}

static bool has_wakeups(const struct ww_facts *f)
{
	return f->knows.waking || f->knows.wakeup;
}

static bool has_merges(const struct ww_facts *f)
{
	return f->knows.merges || !has_block(f); /* without requests the other need says it */
}

static bool has_switches(const struct ww_facts *f)
{
	return f->knows.switches;
}

static bool has_threads(const struct ww_facts *f)
{
	return f->knows.switches || f->knows.threads;
}

static const struct {
	const char *what, *events;
	bool (*known)(const struct ww_facts *f);
} needs[WW_NEED_N] = {
	[WW_NEED_SYSCALLS] = {"system calls", "sys_enter, sys_exit or those of single calls", has_syscalls},
	[WW_NEED_BLOCK] = {"block requests", "block_rq_issue, block_rq_complete", has_block},
	[WW_NEED_FAULTS] = {"page faults", "page_fault_user", has_faults},
	[WW_NEED_FAULT_ENDS] = {"how page faults ended", "whywait record writes it", has_fault_ends},
	[WW_NEED_INTERRUPTS] = {"interrupts", "irq_handler_entry, softirq_entry, hrtimer_expire_entry and their exits",
				has_interrupts},
	[WW_NEED_IRQ] = {"interrupts of devices", "irq_handler_entry, irq_handler_exit", has_irq},
	[WW_NEED_SOFTIRQ] = {"softirqs", "softirq_entry, softirq_exit", has_softirq},
	[WW_NEED_TIMERS] = {"timer interrupts", "hrtimer_expire_entry, hrtimer_expire_exit or local_timer_entry", has_timers},
	[WW_NEED_PACKETS] = {"packets with their addresses", "net_dev_queue and net_if_receive_skb as LTTng and whywait record write them",
			     has_packets},
	[WW_NEED_LOCKS] = {"locks in the kernel", "contention_begin, contention_end", has_locks},
	[WW_NEED_LOCK_WAITS] = {"waits for locks", "system calls, or contention_begin and contention_end", has_lock_waits},
	[WW_NEED_NUMA] = {"moves between nodes", "sched_move_numa, sched_swap_numa, sched_stick_numa", has_numa},
	[WW_NEED_WAKEUPS] = {"wakeups", "sched_waking or sched_wakeup", has_wakeups},
	[WW_NEED_SWITCHES] = {"switches", "sched_switch", has_switches},
	[WW_NEED_THREADS] = {"whose the events are", "sched_switch, or the thread's id with each event (lttng add-context -k -t tid)",
			     has_threads},
	[WW_NEED_CGROUPS] = {"in which cgroups threads were", "whywait record writes it, of cgroups version 2", ww_knows_cgroups},
	[WW_NEED_MERGES] = {"merged block requests", "block_bio_backmerge, block_bio_frontmerge, block_rq_merge", has_merges},
};

/* Kernel threads make no calls, and the recorder is nobody's question. */
static uint32_t count_partial(const struct ww_facts *f, const struct ww_query *q, uint32_t in_full)
{
	const uint32_t others = WW_TF_IDLE | WW_TF_KERNEL | WW_TF_RECORDER;
	uint32_t n = 0;

	for (uint32_t t = 0; t < f->thread.n; t++)
		n += !(f->thread.flags[t] & (in_full | others)) && ww_query_meets(f, q, t) && ww_query_takes(f, q, t);
	return n;
}

/* Does --light leave out everybody's calls? */
static bool nobody_in_full(const struct ww_facts *f, uint32_t in_full)
{
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (f->thread.flags[t] & in_full)
			return false;
	return true;
}

static struct ww_lack lack_of_threads(const struct ww_facts *f, const struct ww_query *q, uint32_t in_full)
{
	struct ww_lack r = {.events = "whywait record -a writes them", .threads = count_partial(f, q, in_full)};

	if (in_full == WW_TF_FAULTS) {
		r.what = "page faults of others than the command and its children";
	} else if (nobody_in_full(f, in_full)) {
		r.what = "system calls, but those in which threads waited or woke somebody";
		r.events = "whywait record without --light writes them";
	} else {
		r.what = "system calls of others than the command and its children, but those in which they waited or woke somebody";
	}
	return r;
}

uint32_t ww_analysis_lacks(const struct ww_facts *f, const struct ww_analysis *a, const struct ww_query *q,
			   struct ww_lack ret[WW_LACK_N])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < WW_NEED_N; i++) {
		const bool all = a->needs & WW_NEED(i);
		if ((all || a->parts & WW_NEED(i)) && !needs[i].known(f))
			ret[n++] = (struct ww_lack){needs[i].what, needs[i].events, all};
	}
	/* That there is nothing at all is enough. */
	for (uint32_t i = 0; i < n; i++)
		if (ret[i].all) {
			ret[0] = ret[i];
			return 1;
		}
	if (a->in_full) {
		ret[n] = lack_of_threads(f, q, a->in_full);
		n += ret[n].threads > 0;
	}
	return n;
}
