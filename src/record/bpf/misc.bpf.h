/* misc.bpf.h - work items, signals, io_uring, inter-processor interrupts, locks. */
#ifndef WW_MISC_BPF_H
#define WW_MISC_BPF_H

#include "irq.bpf.h"

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(ww_workqueue_queue_work, int req_cpu, void *pwq, struct work_struct *work)
{
	u64 function = (u64)work->func;
	struct ww_slot s;

	ww_see_current();
	ww_saw_function(function);
	u8 *p = ww_reserve(&s, WW_EV_WORKQUEUE_QUEUE_WORK, 20);
	if (!p)
		return 0;
	ww_put64(p, 0, (u64)work);
	ww_put64(p, 8, function);
	ww_put32(p, 16, req_cpu);
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/workqueue_activate_work")
int BPF_PROG(ww_workqueue_activate_work, struct work_struct *work)
{
	ww_emit_u64(WW_EV_WORKQUEUE_ACTIVATE_WORK, (u64)work);
	return 0;
}

static __always_inline void ww_emit_work(u32 id, u64 work, u64 function)
{
	struct ww_slot s;
	u8 *p = ww_reserve(&s, id, 16);

	if (!p)
		return;
	ww_put64(p, 0, work);
	ww_put64(p, 8, function);
	ww_commit(&s);
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(ww_workqueue_execute_start, struct work_struct *work)
{
	u64 function = (u64)work->func;

	ww_saw_function(function);
	ww_emit_work(WW_EV_WORKQUEUE_EXECUTE_START, (u64)work, function);
	return 0;
}

/* The item may be free by now: the function is the tracepoint's own argument, which a typed program may not
 * read, as it points to a function. */
SEC("raw_tp/workqueue_execute_end")
int BPF_PROG(ww_workqueue_execute_end, void *work, void *function)
{
	ww_emit_work(WW_EV_WORKQUEUE_EXECUTE_END, (u64)work, (u64)function);
	return 0;
}

/* info is a pointer, or 0 for a user's signal without one, or 1 for the kernel's. */
static __always_inline void ww_put_info(u8 *p, u32 sig, struct kernel_siginfo *info)
{
	u32 err = 0, code = 0;

	if ((u64)info == 1) {
		code = 0x80; /* SI_KERNEL */
	} else if (info) {
		err = BPF_CORE_READ(info, si_errno);
		code = BPF_CORE_READ(info, si_code);
	}
	ww_put32(p, 0, sig);
	ww_put32(p, 4, err);
	ww_put32(p, 8, code);
}

SEC("tp_btf/signal_generate")
int BPF_PROG(ww_signal_generate, int sig, struct kernel_siginfo *info, struct task_struct *t, int group,
	     int result)
{
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	p = ww_reserve(&s, WW_EV_SIGNAL_GENERATE, 40);
	if (!p)
		return 0;
	ww_put_info(p, sig, info);
	ww_put_comm(p, 12, t);
	ww_put32(p, 28, t->pid);
	ww_put32(p, 32, group);
	ww_put32(p, 36, result);
	ww_commit(&s);
	return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(ww_signal_deliver, int sig, struct kernel_siginfo *info, struct k_sigaction *ka)
{
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	p = ww_reserve(&s, WW_EV_SIGNAL_DELIVER, 28);
	if (!p)
		return 0;
	ww_put_info(p, sig, info);
	ww_put64(p, 12, (u64)BPF_CORE_READ(ka, sa.sa_handler));
	ww_put64(p, 20, BPF_CORE_READ(ka, sa.sa_flags));
	ww_commit(&s);
	return 0;
}

/* Since 6.4 (68f4ff04dbad). Without a function to call it asks to reschedule: the wakeup's own event tells of that. */
SEC("tp_btf/ipi_send_cpu")
int BPF_PROG(ww_ipi_send_cpu, unsigned int cpu, unsigned long callsite, void *callback)
{
	struct ww_slot s;
	u8 *p;

	if (!callback)
		return 0;
	ww_see_current();
	p = ww_reserve(&s, WW_EV_WHYWAIT_IPI, 12);
	if (!p)
		return 0;
	ww_put32(p, 0, cpu);
	ww_put64(p, 4, (u64)callback);
	ww_commit(&s);
	return 0;
}

static __always_inline void ww_emit_lock(u32 id, u64 lock, u32 v)
{
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	p = ww_reserve(&s, id, 12);
	if (!p)
		return;
	ww_put64(p, 0, lock);
	ww_put32(p, 8, v);
	ww_commit(&s);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(ww_contention_begin, void *lock, unsigned int flags)
{
	ww_emit_lock(WW_EV_WHYWAIT_LOCK_BEGIN, (u64)lock, flags);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(ww_contention_end, void *lock, int ret)
{
	ww_emit_lock(WW_EV_WHYWAIT_LOCK_END, (u64)lock, ret);
	return 0;
}

/* whywait_uring: op ctx req user_data res opcode */
static __always_inline void ww_emit_uring(u32 op, u64 ring, u64 req, u64 user_data, s32 res, u32 opcode)
{
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	p = ww_reserve(&s, WW_EV_WHYWAIT_URING, 30);
	if (!p)
		return;
	ww_put8(p, 0, op);
	ww_put64(p, 1, ring);
	ww_put64(p, 9, req);
	ww_put64(p, 17, user_data);
	ww_put32(p, 25, res);
	ww_put8(p, 29, opcode);
	ww_commit(&s);
}

/* 6.4 (2ad57931db64) renamed io_uring_submit_sqe, whose first argument was the same: both are tried. */
SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(ww_io_uring_submit_req, struct io_kiocb *req)
{
	ww_emit_uring(0, (u64)BPF_CORE_READ(req, ctx), (u64)req, req->cqe.user_data, 0, req->opcode);
	return 0;
}

SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(ww_io_uring_submit_sqe, struct io_kiocb *req)
{
	ww_emit_uring(0, (u64)BPF_CORE_READ(req, ctx), (u64)req, req->cqe.user_data, 0, req->opcode);
	return 0;
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(ww_io_uring_queue_async_work, struct io_kiocb *req)
{
	ww_emit_uring(1, (u64)BPF_CORE_READ(req, ctx), (u64)req, req->cqe.user_data, 0, req->opcode);
	return 0;
}

/* Before 6.15 the tracepoint had user_data and res where the cqe is now; user space loads the one that fits. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(ww_io_uring_complete, void *ring, void *req, struct io_uring_cqe *cqe)
{
	ww_emit_uring(2, (u64)ring, (u64)req, cqe->user_data, cqe->res, 0);
	return 0;
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(ww_io_uring_complete_old, void *ring, void *req, u64 user_data, int res)
{
	ww_emit_uring(2, (u64)ring, (u64)req, user_data, res, 0);
	return 0;
}

#endif
