/* vocab.h - one vocabulary for every producer's events.
 *
 * A row of the table in vocab.c says: this event name, of whatever producer, is this kind, and its
 * fields stand in these slots. The model sees only kinds and slots. To teach the model another
 * producer's name is to add a row (or a field name after a '|'); nothing else.
 */
#ifndef WW_MODEL_VOCAB_H
#define WW_MODEL_VOCAB_H

#include "base/base.h"

#define WW_MAX_SLOTS 30

enum ww_kind {
	WW_K_NONE,
	WW_K_SWITCH, WW_K_PERF_SWITCH, WW_K_WAKING, WW_K_WAKEUP, WW_K_WAKEUP_NEW, WW_K_MIGRATE, WW_K_NUMA_MOVE, WW_K_NUMA_SWAP, WW_K_NUMA_STICK,
	WW_K_FORK, WW_K_EXEC, WW_K_PERF_FORK, WW_K_PERF_COMM, WW_K_PERF_MAP,
	WW_K_EXIT, WW_K_RENAME,
	WW_K_IRQ_ENTRY, WW_K_IRQ_EXIT, WW_K_SOFT_ENTRY, WW_K_SOFT_EXIT, WW_K_SOFT_RAISE, WW_K_VECTOR_ENTRY,
	WW_K_VECTOR_EXIT,
	WW_K_HRT_START, WW_K_HRT_CANCEL, WW_K_HRT_EXPIRE, WW_K_HRT_DONE, WW_K_TMR_START, WW_K_TMR_CANCEL,
	WW_K_TMR_EXPIRE, WW_K_TMR_DONE,
	WW_K_BIO_QUEUE, WW_K_BIO_MERGE, WW_K_RQ_QUEUE, WW_K_RQ_MERGE, WW_K_RQ_ISSUE, WW_K_RQ_REQUEUE,
	WW_K_RQ_COMPLETE,
	WW_K_NET_SEND, WW_K_NET_RECV,
	WW_K_WORK_QUEUE, WW_K_WORK_START, WW_K_WORK_END,
	WW_K_SYS_ENTRY, WW_K_SYS_EXIT, WW_K_RAW_ENTRY, WW_K_RAW_EXIT, WW_K_SIGNAL_GEN,
	WW_K_SIGNAL_DELIVER, WW_K_FAULT, WW_K_FAULT_KERNEL, WW_K_LOCK_BEGIN, WW_K_LOCK_END,
	WW_K_DUMP_PROC, WW_K_DUMP_FD, WW_K_DUMP_IRQ, WW_K_DUMP_BLK, WW_K_DUMP_NS,
	WW_K_OWN_TARGET, WW_K_OWN_RECORDER, WW_K_OWN_BLOCK, WW_K_OWN_WAKER, WW_K_OWN_FILE, WW_K_OWN_FD,
	WW_K_OWN_SOCK, WW_K_OWN_READY, WW_K_OWN_EPOLL, WW_K_OWN_FAULT_END, WW_K_OWN_PAGE_IN, WW_K_OWN_SK_READY,
	WW_K_OWN_IPI, WW_K_OWN_URING, WW_K_OWN_THROTTLE, WW_K_OWN_STOLEN, WW_K_OWN_CURRENT, WW_K_OWN_TIMER_TASK,
	WW_K_OWN_SYS_ENTRY, WW_K_OWN_SYS_EXIT, WW_K_OWN_FDS, WW_K_OWN_CGROUP, WW_K_OWN_MAP, WW_K_OWN_STACK,
	WW_K_OWN_FUNCTION,
	WW_K_N
};

/* Slots, per kind; the order is that of the field lists in vocab.c. */
enum { S_SW_PREV, S_SW_NEXT, S_SW_STATE, S_SW_NEXT_PRIO, S_SW_PREV_PRIO, S_SW_NEXT_COMM, S_SW_PREV_COMM, S_SW_CHAIN, S_SW_KERNEL_STACK, S_SW_USER_STACK, S_SW_PID };
enum { S_WK_TID, S_WK_CPU, S_WK_COMM, S_WK_FLAGS };
enum { S_FK_PARENT, S_FK_CHILD, S_FK_PID, S_FK_COMM, S_FK_NS, S_FK_VTIDS, S_FK_PARENT_PID };
enum { S_PF_PID, S_PF_PPID, S_PF_TID, S_PF_PTID, S_PF_TIME }; /* perf's own record of a fork */
enum { S_PC_PID, S_PC_TID, S_PC_COMM, S_PC_EXEC };
enum { S_EX_FILE, S_EX_TID, S_EX_OLD };
enum { S_IRQ_NR, S_IRQ_NAME };
enum { S_SR_VEC, S_SR_FLAGS }; /* softirq_raise */
enum { S_TM_ADDR, S_TM_FUNCTION, S_TM_EXPIRES };
enum { S_RQ_DEV, S_RQ_SECTOR, S_RQ_NR, S_RQ_BYTES, S_RQ_RWBS, S_RQ_TID };
enum { S_WQ_WORK, S_WQ_FUNCTION };
enum { S_SIG_NR, S_SIG_PID };
enum { S_FLT_ADDR, S_FLT_CODE };
enum { S_RAW_NR, S_RAW_ARGS };                 /* entry */
enum { S_RAWX_NR, S_RAWX_RET };                /* exit */
enum { S_SE_FD, S_SE_A0, S_SE_A1, S_SE_A2, S_SE_STR }; /* named entry */
enum { S_SX_RET };
enum { S_NET_SKB, S_NET_LEN, S_NET_IF, S_NET_SADDR4, S_NET_DADDR4, S_NET_PROTO4, S_NET_TOTLEN4,
       S_NET_SADDR6, S_NET_DADDR6, S_NET_PROTO6, S_NET_PLEN6,
       S_NET_T4_SPORT, S_NET_T4_DPORT, S_NET_T4_SEQ, S_NET_T4_ACK, S_NET_T4_OFF, S_NET_T4_FLAGS,
       S_NET_U4_SPORT, S_NET_U4_DPORT,
       S_NET_T6_SPORT, S_NET_T6_DPORT, S_NET_T6_SEQ, S_NET_T6_ACK, S_NET_T6_OFF, S_NET_T6_FLAGS,
       S_NET_ID4, S_NET_U4_CHECK, S_NET_U6_SPORT, S_NET_U6_DPORT, S_NET_U6_CHECK };

struct ww_vocab_row {
	enum ww_kind kind;
	const char *event;  /* without a "subsystem:" prefix */
	/* Space-separated, in slot order; "a|b": whichever the class has; "a&b": a, if it has b. */
	const char *fields;
};

/* The system call that an event of kind SYS_ENTRY / SYS_EXIT is about: points into `event`. */
struct ww_vocab_match {
	const struct ww_vocab_row *row;
	const char *syscall; /* NULL: not one */
	bool compat;
};

/* NULL row when the name is in nobody's vocabulary. before_2_6: LTTng of that time, which has `exit_syscall`. */
struct ww_vocab_match ww_vocab_find(const char *event, bool before_2_6);
/* "sched_waking": the canonical name of the kind. */
const char *ww_kind_name(enum ww_kind kind);

#endif
