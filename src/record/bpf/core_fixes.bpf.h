/* core_fixes.bpf.h - what differs between kernels and architectures, one accessor each. */
#ifndef WW_CORE_FIXES_BPF_H
#define WW_CORE_FIXES_BPF_H

#include "vmlinux_min.h"
#include <bpf/bpf_core_read.h>

#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000 /* 6.4: e20cc0a1c5b4, vhost's workers */
#define PF_KTHREAD     0x00200000
#define TS_COMPAT      0x0002
#define X32_BIT        0x40000000

enum { ABI_X86_64, ABI_I386, ABI_X32, ABI_AARCH64 };

/* A word of the kernel's memory; 0 where there is none. A helper's call to read it is three calls deep, and what a file or
 * a mapping is takes many. Since 6.2 (a35b9af4ec2c) a typed pointer can be made of any address, and what is read through
 * such a pointer is a load; a page that is not there is the kernel's to deal with. The type is one that begins with a
 * word that is no pointer. */
extern void *bpf_rdonly_cast(const void *at, u32 type) __ksym __weak;
const volatile bool ww_casts; /* this kernel has it */

static __always_inline u64 ww_word(u64 at)
{
	u64 v = 0;

	if (ww_casts)
		return ((struct timespec64 *)bpf_rdonly_cast((void *)at, bpf_core_type_id_kernel(struct timespec64)))->tv_sec;
	bpf_probe_read_kernel(&v, sizeof(v), (void *)at);
	return v;
}

/* What BPF_CORE_READ(at, member) is, of the struct `type` at an address, as a number. */
#define WW_GET(type, at, member)                                                                               \
	(ww_word((u64)(at) + (bpf_core_field_offset(struct type, member) & ~7u)) >>                            \
		 (bpf_core_field_offset(struct type, member) % 8 * 8) &                                        \
	 ~0ull >> (64 - 8 * sizeof(((struct type *)0)->member)))

/* 5.19: f3dd3f674555 moved the disk from the request to its queue; 6.1 and later all have q->disk. */
static __always_inline u32 ww_rq_dev(struct request *rq)
{
	u64 disk = WW_GET(request_queue, WW_GET(request, rq, q), disk);

	return disk ? (u32)WW_GET(gendisk, disk, major) << 20 | (u32)WW_GET(gendisk, disk, first_minor) : 0;
}

struct ww_call {
	s32 nr;
	u8 abi;
	bool returned; /* where it was asked for: in work that its return has begun */
	u64 arg[8]; /* six arguments, the return value, zero: what a layout's `arg` names */
};

#if defined(__TARGET_ARCH_x86)
static __always_inline void ww_call_args_native(struct ww_call *c, struct pt_regs *r)
{
	c->abi = ABI_X86_64;
	if (c->nr > 0 && c->nr & X32_BIT) {
		c->abi = ABI_X32;
		c->nr &= ~X32_BIT;
	}
	c->arg[0] = r->di;
	c->arg[1] = r->si;
	c->arg[2] = r->dx;
	c->arg[3] = r->r10;
	c->arg[4] = r->r8;
	c->arg[5] = r->r9;
}

static __always_inline void ww_call_args(struct ww_call *c, struct pt_regs *r, struct task_struct *t)
{
	if (!(t->thread_info.status & TS_COMPAT)) {
		ww_call_args_native(c, r);
		return;
	}
	c->abi = ABI_I386;
	c->arg[0] = (u32)r->bx;
	c->arg[1] = (u32)r->cx;
	c->arg[2] = (u32)r->dx;
	c->arg[3] = (u32)r->si;
	c->arg[4] = (u32)r->di;
	c->arg[5] = (u32)r->bp;
}
#define ww_regs_nr(r) ((s32)(r)->orig_ax) /* -1 in faults and interrupts */
/* The call has returned: until then its result stands at -ENOSYS, as the entry has set it. */
#define ww_regs_returned(r) ((s32)(r)->ax != -38)

/* The instruction `syscall` leaves its return address in cx and the flags in r11: such a call is a 64-bit one, and
 * we need not ask for the current task to know it. */
#define ww_regs_native(r) ((r)->cx == (r)->ip && (r)->r11 == (r)->flags)
#elif defined(__TARGET_ARCH_arm64)
static __always_inline void ww_call_args_native(struct ww_call *c, struct pt_regs *r)
{
	c->abi = ABI_AARCH64;
	c->arg[0] = r->orig_x0;
	c->arg[1] = r->regs[1];
	c->arg[2] = r->regs[2];
	c->arg[3] = r->regs[3];
	c->arg[4] = r->regs[4];
	c->arg[5] = r->regs[5];
}

static __always_inline void ww_call_args(struct ww_call *c, struct pt_regs *r, struct task_struct *t)
{
	ww_call_args_native(c, r);
}
#define ww_regs_nr(r)     ((r)->syscallno)
#define ww_regs_returned(r) false /* not to be told: the result is where the first argument was */
#define ww_regs_native(r) true
#endif

/* What LTTng and the kernel's own tracepoint show: one bit, 256 for preempted, 128 for idle kernel threads.
 * source include/linux/sched.h: __task_state_index; include/trace/events/sched.h: __trace_sched_switch_state */
static __always_inline s64 ww_switch_state(bool preempt, u32 state, u32 exit_state)
{
	if (preempt)
		return 0x100;
	if ((state & 0x402) == 0x402) /* TASK_IDLE */
		return 0x80;
	if (state & 0x9000) /* TASK_RTLOCK_WAIT, TASK_FROZEN: shown as uninterruptible */
		return 2;
	u32 s = (state | exit_state) & 0x7f;
	s |= s >> 1;
	s |= s >> 2;
	s |= s >> 4;
	return s - (s >> 1);
}

/* 6.18 throttles task by task (e1fad12dcb66 and its series); before, whole run queues, and throttle_count of
 * the task's own queue covers its ancestors. */
struct task_struct___throttled {
	bool throttled;
} __attribute__((preserve_access_index));

static __always_inline bool ww_is_throttled(struct task_struct *t)
{
	struct task_struct___throttled *n = (void *)t;
	struct cfs_rq *q = t->se.cfs_rq;

	if (bpf_core_field_exists(n->throttled))
		return n->throttled;
	if (bpf_core_field_exists(q->throttle_count))
		return q->throttle_count > 0;
	return false;
}

/* What the address space's lock has counted: the same number, the same mappings. False: the kernel does not say. Since
 * 6.13 it is odd while somebody changes them. */
static __always_inline bool ww_mm_seq(struct mm_struct *mm, u32 *ret)
{
	struct mm_struct___seqcount *s = (void *)mm;
	struct mm_struct___number *n = (void *)mm;

	if (bpf_core_field_exists(s->mm_lock_seq)) {
		*ret = s->mm_lock_seq.sequence;
		return !(*ret & 1);
	}
	if (bpf_core_field_exists(n->mm_lock_seq)) {
		*ret = n->mm_lock_seq;
		return true;
	}
	return false;
}

/* 6.7: ebc1baf5c9b4 put the order of a large folio into its second page's flags. The flags of the first come first;
 * since 6.18 they are in a struct of their own. */
struct folio___order {
	unsigned char _folio_order;
} __attribute__((preserve_access_index));

static __always_inline u32 ww_folio_order(struct folio *f)
{
	struct folio___order *old = (void *)f;
	unsigned long flags = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), f);
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 0;
	if (bpf_core_field_exists(old->_folio_order))
		return BPF_CORE_READ(old, _folio_order);
	return BPF_CORE_READ(f, _flags_1) & 0xff;
}

#endif
