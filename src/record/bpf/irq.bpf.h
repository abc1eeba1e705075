/* irq.bpf.h - interrupts, softirqs, timers. */
#ifndef WW_IRQ_BPF_H
#define WW_IRQ_BPF_H

#include "current.bpf.h"
#include "function.bpf.h"
#include "steal.bpf.h"

static __always_inline void ww_irq_enter(void)
{
	ww_see_current();
	ww_this_cpu()->irq_depth++;
}

/* The programs of exits stand before those of entries, and are attached in this order: an exit whose entry was not seen
 * does no harm, an entry whose exit is never seen would leave irq_depth too high. */
static __always_inline void ww_irq_leave(void)
{
	struct ww_ring_ctl *c = ww_this_cpu();

	if (c->irq_depth > 0)
		c->irq_depth--;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(ww_irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, WW_EV_IRQ_HANDLER_EXIT, 8);

	ww_irq_leave();
	if (!p)
		return 0;
	ww_put32(p, 0, irq);
	ww_put32(p, 4, ret);
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(ww_irq_handler_entry, int irq, struct irqaction *action)
{
	char name[64];
	long n = bpf_probe_read_kernel_str(name, sizeof(name), action->name);
	struct ww_slot s;
	u8 *p;

	ww_irq_enter();
	if (n <= 0) {
		name[0] = 0;
		n = 1;
	}
	n &= 127;
	if (n > 64)
		n = 64;
	p = ww_reserve(&s, WW_EV_IRQ_HANDLER_ENTRY, 4 + n);
	if (!p)
		return 0;
	ww_put32(p, 0, irq);
	bpf_probe_read_kernel(p + 4, n, name);
	ww_commit(&s);
	return 0;
}

static __always_inline void ww_emit_u32(u32 id, u32 v)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, id, 4);

	if (!p)
		return;
	ww_put32(p, 0, v);
	ww_commit(&s);
}

static __always_inline void ww_emit_u64(u32 id, u64 v)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, id, 8);

	if (!p)
		return;
	ww_put64(p, 0, v);
	ww_commit(&s);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(ww_softirq_exit, unsigned int vec)
{
	ww_irq_leave();
	ww_emit_u32(WW_EV_IRQ_SOFTIRQ_EXIT, vec);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(ww_softirq_entry, unsigned int vec)
{
	ww_irq_enter();
	ww_emit_u32(WW_EV_IRQ_SOFTIRQ_ENTRY, vec);
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(ww_softirq_raise, unsigned int vec)
{
	ww_emit_u32(WW_EV_IRQ_SOFTIRQ_RAISE, vec);
	return 0;
}

/* System vectors in which tasks are woken: without them a wakeup there would be laid on the interrupted thread.
 * The local timer's shows itself by its hrtimers; the rescheduling interrupt wakes nobody. */
SEC("tp_btf/call_function_single_exit")
int BPF_PROG(ww_call_function_single_exit, int vector)
{
	ww_irq_leave();
	ww_emit_u32(WW_EV_X86_IRQ_VECTORS_CALL_FUNCTION_SINGLE_EXIT, vector);
	return 0;
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(ww_call_function_single_entry, int vector)
{
	ww_irq_enter();
	ww_emit_u32(WW_EV_X86_IRQ_VECTORS_CALL_FUNCTION_SINGLE_ENTRY, vector);
	return 0;
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(ww_irq_work_exit, int vector)
{
	ww_irq_leave();
	ww_emit_u32(WW_EV_X86_IRQ_VECTORS_IRQ_WORK_EXIT, vector);
	return 0;
}

SEC("tp_btf/irq_work_entry")
int BPF_PROG(ww_irq_work_entry, int vector)
{
	ww_irq_enter();
	ww_emit_u32(WW_EV_X86_IRQ_VECTORS_IRQ_WORK_ENTRY, vector);
	return 0;
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(ww_hrtimer_start, struct hrtimer *t, int mode)
{
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	p = ww_reserve(&s, WW_EV_TIMER_HRTIMER_START, 36);
	if (!p)
		return 0;
	ww_put64(p, 0, (u64)t);
	ww_put64(p, 8, (u64)t->function);
	ww_put64(p, 16, t->node.expires);
	ww_put64(p, 24, t->_softexpires);
	ww_put32(p, 32, mode);
	ww_commit(&s);
	return 0;
}

/* whywait_timer_task: timer tid. Comes before the expiry that it explains. */
static __always_inline void ww_emit_timer_task(u64 timer, struct task_struct *task)
{
	pid_t tid = BPF_CORE_READ(task, pid);
	struct ww_slot s;
	u8 *p;

	if (!tid)
		return;
	p = ww_reserve(&s, WW_EV_WHYWAIT_TIMER_TASK, 12);
	if (!p)
		return;
	ww_put64(p, 0, timer);
	ww_put32(p, 8, tid);
	ww_commit(&s);
}

/* Addresses of two timer functions in this kernel; hidden ones (kptr_restrict) stay 0 and cost us the sleeper's
 * name. Run once by user space, which would have to read all of /proc/kallsyms for them. */
__u64 ww_fn_hrtimer_wakeup;
__u64 ww_fn_process_timeout;

SEC("syscall")
int ww_find_functions(void *ctx)
{
	static const char wakeup[] = "hrtimer_wakeup", timeout[] = "process_timeout";

	bpf_kallsyms_lookup_name(wakeup, sizeof(wakeup), 0, &ww_fn_hrtimer_wakeup);
	bpf_kallsyms_lookup_name(timeout, sizeof(timeout), 0, &ww_fn_process_timeout);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(ww_hrtimer_expire_entry, struct hrtimer *t, s64 *now)
{
	u64 fn = (u64)t->function;
	struct ww_slot s;
	s64 now_ns;
	u8 *p;

	ww_see_current();
	if (ww_fn_hrtimer_wakeup && fn == ww_fn_hrtimer_wakeup) {
		struct hrtimer_sleeper *sl = (void *)t;

		ww_emit_timer_task((u64)t, BPF_CORE_READ(sl, task));
	}
	ww_saw_function(fn);
	now_ns = ww_word((u64)now);
	p = ww_reserve(&s, WW_EV_TIMER_HRTIMER_EXPIRE_ENTRY, 24);
	if (!p)
		return 0;
	ww_put64(p, 0, (u64)t);
	ww_put64(p, 8, now_ns);
	ww_put64(p, 16, fn);
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(ww_hrtimer_expire_exit, struct hrtimer *t)
{
	ww_emit_u64(WW_EV_TIMER_HRTIMER_EXPIRE_EXIT, (u64)t);
	ww_check_stolen(bpf_get_current_task_btf()); /* the tick has looked at it */
	return 0;
}

SEC("tp_btf/hrtimer_cancel")
int BPF_PROG(ww_hrtimer_cancel, struct hrtimer *t)
{
	ww_emit_u64(WW_EV_TIMER_HRTIMER_CANCEL, (u64)t);
	return 0;
}

SEC("tp_btf/timer_start")
int BPF_PROG(ww_timer_start, struct timer_list *t, unsigned long expires)
{
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	p = ww_reserve(&s, WW_EV_TIMER_START, 36);
	if (!p)
		return 0;
	ww_put64(p, 0, (u64)t);
	ww_put64(p, 8, (u64)t->function);
	/* The tracepoint's argument, as LTTng records it; newer kernels pass it rounded to the wheel's bucket. */
	ww_put64(p, 16, expires);
	ww_put64(p, 24, bpf_jiffies64());
	ww_put32(p, 32, t->flags);
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(ww_timer_expire_entry, struct timer_list *t, unsigned long baseclk)
{
	u64 fn = (u64)t->function;
	struct ww_slot s;
	u8 *p;

	if (ww_fn_process_timeout && fn == ww_fn_process_timeout) {
		struct process_timer *pt = (void *)t;

		ww_emit_timer_task((u64)t, BPF_CORE_READ(pt, task));
	}
	ww_saw_function(fn);
	p = ww_reserve(&s, WW_EV_TIMER_EXPIRE_ENTRY, 32);
	if (!p)
		return 0;
	ww_put64(p, 0, (u64)t);
	ww_put64(p, 8, bpf_jiffies64());
	ww_put64(p, 16, fn);
	ww_put64(p, 24, baseclk);
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(ww_timer_expire_exit, struct timer_list *t)
{
	ww_emit_u64(WW_EV_TIMER_EXPIRE_EXIT, (u64)t);
	return 0;
}

SEC("tp_btf/timer_cancel")
int BPF_PROG(ww_timer_cancel, struct timer_list *t)
{
	ww_emit_u64(WW_EV_TIMER_CANCEL, (u64)t);
	return 0;
}

#endif
