/* vocab.c - the table of event names: LTTng 2.x and older, ftrace, perf, whywait.
 *
 * The first row of a kind gives the canonical name.
 * source LTTng-modules 2.13 include/instrumentation/events/ and the kernel's include/trace/events/
 */
#include "model/vocab.h"

#include "base/words.h"

#define SWITCH_FIELDS                                                                           \
	"prev_tid|prev_pid next_tid|next_pid prev_state next_prio prev_prio next_comm prev_comm " \
	"ctx.callchain ctx.callstack_kernel ctx.callstack_user ctx.pid"
#define WAKE_FIELDS   "tid|pid target_cpu comm common_flags"
#define RQ_FIELDS     "dev sector nr_sector bytes rwbs tid"
#define IP4 "network_header.ipv4."
#define IP6 "network_header.ipv6."
#define NET_FIELDS                                                                               \
	"skbaddr len name " IP4 "saddr " IP4 "daddr " IP4 "protocol " IP4 "tot_len "             \
	IP6 "saddr " IP6 "daddr " IP6 "nexthdr " IP6 "payload_len "                              \
	IP4 "transport_header.tcp.source_port " IP4 "transport_header.tcp.dest_port "            \
	IP4 "transport_header.tcp.seq " IP4 "transport_header.tcp.ack_seq "                      \
	IP4 "transport_header.tcp.data_offset " IP4 "transport_header.tcp.flags "                \
	IP4 "transport_header.udp.source_port " IP4 "transport_header.udp.dest_port "            \
	IP6 "transport_header.tcp.source_port " IP6 "transport_header.tcp.dest_port "            \
	IP6 "transport_header.tcp.seq " IP6 "transport_header.tcp.ack_seq "                      \
	IP6 "transport_header.tcp.data_offset " IP6 "transport_header.tcp.flags "                \
	IP4 "id " IP4 "transport_header.udp.check " IP6 "transport_header.udp.source_port "      \
	IP6 "transport_header.udp.dest_port " IP6 "transport_header.udp.check"

static const struct ww_vocab_row rows[] = {
	{WW_K_SWITCH, "sched_switch", SWITCH_FIELDS},
	{WW_K_SWITCH, "sched_schedule", SWITCH_FIELDS},
	{WW_K_PERF_SWITCH, "perf_switch", "out preempt next_prev_tid ctx.tid"},
	{WW_K_WAKING, "sched_waking", WAKE_FIELDS},
	{WW_K_WAKEUP, "sched_wakeup", WAKE_FIELDS},
	{WW_K_WAKEUP, "sched_try_wakeup", WAKE_FIELDS},
	{WW_K_WAKEUP_NEW, "sched_wakeup_new", WAKE_FIELDS},
	{WW_K_MIGRATE, "sched_migrate_task", "tid|pid dest_cpu"},
	{WW_K_NUMA_MOVE, "sched_move_numa", "pid src_nid dst_nid"},
	{WW_K_NUMA_SWAP, "sched_swap_numa", "src_pid src_nid dst_nid dst_pid"},
	{WW_K_NUMA_STICK, "sched_stick_numa", "src_pid|pid src_nid dst_nid"},
	{WW_K_FORK, "sched_process_fork",
	 "parent_tid|parent_pid child_tid|child_pid child_pid&child_tid child_comm child_ns_inum vtids parent_pid&parent_tid"},
	{WW_K_EXEC, "sched_process_exec", "filename tid|pid old_tid|old_pid"},
	{WW_K_EXIT, "sched_process_exit", "tid|pid"},
	{WW_K_EXIT, "perf_exit", "tid"},
	{WW_K_PERF_FORK, "perf_fork", "pid ppid tid ptid time"},
	{WW_K_PERF_COMM, "perf_comm", "pid tid comm exec"},
	{WW_K_RENAME, "task_rename", "pid|tid newcomm"},
	{WW_K_PERF_MAP, "perf_mmap", "pid addr len pgoff filename"},
	{WW_K_PERF_MAP, "perf_mmap2", "pid addr len pgoff filename maj min ino"},
	{WW_K_IRQ_ENTRY, "irq_handler_entry", "irq name"},
	{WW_K_IRQ_EXIT, "irq_handler_exit", "irq"},
	{WW_K_SOFT_ENTRY, "irq_softirq_entry", "vec"},
	{WW_K_SOFT_ENTRY, "softirq_entry", "vec"},
	{WW_K_SOFT_RAISE, "irq_softirq_raise", "vec common_flags"},
	{WW_K_SOFT_RAISE, "softirq_raise", "vec common_flags"},
	{WW_K_SOFT_EXIT, "irq_softirq_exit", "vec"},
	{WW_K_SOFT_EXIT, "softirq_exit", "vec"},
	{WW_K_VECTOR_ENTRY, "local_timer_entry", "vector"},
	{WW_K_VECTOR_ENTRY, "reschedule_entry", "vector"},
	{WW_K_VECTOR_ENTRY, "call_function_entry", "vector"},
	{WW_K_VECTOR_ENTRY, "call_function_single_entry", "vector"},
	{WW_K_VECTOR_ENTRY, "irq_work_entry", "vector"},
	{WW_K_VECTOR_ENTRY, "x86_platform_ipi_entry", "vector"},
	{WW_K_VECTOR_ENTRY, "thermal_apic_entry", "vector"},
	{WW_K_VECTOR_ENTRY, "ipi_entry", "vector"},
	{WW_K_VECTOR_EXIT, "local_timer_exit", "vector"},
	{WW_K_VECTOR_EXIT, "reschedule_exit", "vector"},
	{WW_K_VECTOR_EXIT, "call_function_exit", "vector"},
	{WW_K_VECTOR_EXIT, "call_function_single_exit", "vector"},
	{WW_K_VECTOR_EXIT, "irq_work_exit", "vector"},
	{WW_K_VECTOR_EXIT, "x86_platform_ipi_exit", "vector"},
	{WW_K_VECTOR_EXIT, "thermal_apic_exit", "vector"},
	{WW_K_VECTOR_EXIT, "ipi_exit", "vector"},
	{WW_K_HRT_START, "timer_hrtimer_start", "hrtimer - expires"},
	{WW_K_HRT_START, "hrtimer_start", "hrtimer - expires"},
	{WW_K_HRT_CANCEL, "timer_hrtimer_cancel", "hrtimer"},
	{WW_K_HRT_CANCEL, "hrtimer_cancel", "hrtimer"},
	{WW_K_HRT_EXPIRE, "timer_hrtimer_expire_entry", "hrtimer function"},
	{WW_K_HRT_EXPIRE, "hrtimer_expire_entry", "hrtimer function"},
	{WW_K_HRT_DONE, "timer_hrtimer_expire_exit", ""},
	{WW_K_HRT_DONE, "hrtimer_expire_exit", ""},
	{WW_K_TMR_START, "timer_start", "timer"},
	{WW_K_TMR_CANCEL, "timer_cancel", "timer"},
	{WW_K_TMR_EXPIRE, "timer_expire_entry", "timer function"},
	{WW_K_TMR_DONE, "timer_expire_exit", ""},
	{WW_K_BIO_QUEUE, "block_getrq", RQ_FIELDS},
	{WW_K_RQ_QUEUE, "block_rq_insert", RQ_FIELDS},
	{WW_K_RQ_ISSUE, "block_rq_issue", RQ_FIELDS},
	{WW_K_RQ_REQUEUE, "block_rq_requeue", RQ_FIELDS},
	{WW_K_RQ_COMPLETE, "block_rq_complete", RQ_FIELDS},
	{WW_K_BIO_MERGE, "block_bio_backmerge", RQ_FIELDS},
	{WW_K_BIO_MERGE, "block_bio_frontmerge", RQ_FIELDS},
	{WW_K_RQ_MERGE, "block_rq_merge", RQ_FIELDS},
	{WW_K_NET_SEND, "net_dev_queue", NET_FIELDS},
	{WW_K_NET_RECV, "net_if_receive_skb", NET_FIELDS},
	{WW_K_NET_RECV, "netif_receive_skb", NET_FIELDS},
	{WW_K_WORK_QUEUE, "workqueue_queue_work", "work function"},
	{WW_K_WORK_START, "workqueue_execute_start", "work function"},
	{WW_K_WORK_END, "workqueue_execute_end", "work function"},
	{WW_K_RAW_ENTRY, "sys_enter", "id args"},
	{WW_K_RAW_ENTRY, "syscall_entry_unknown", "id args"},
	{WW_K_RAW_ENTRY, "sys_unknown", "id args"},
	{WW_K_RAW_ENTRY, "compat_sys_unknown", "id args"},
	{WW_K_RAW_ENTRY, "compat_syscall_entry_unknown", "id args"},
	{WW_K_RAW_EXIT, "sys_exit", "id ret"},
	{WW_K_RAW_EXIT, "syscall_exit_unknown", "id ret"},
	{WW_K_RAW_EXIT, "compat_syscall_exit_unknown", "id ret"},
	{WW_K_RAW_EXIT, "exit_syscall", "id ret"},
	{WW_K_SIGNAL_GEN, "signal_generate", "sig pid|tid"},
	{WW_K_SIGNAL_DELIVER, "signal_deliver", "sig"},
	{WW_K_FAULT, "x86_exceptions_page_fault_user", "address error_code"},
	{WW_K_FAULT, "page_fault_user", "address error_code"},
	{WW_K_FAULT, "arm64_page_fault_user", "address error_code"},
	{WW_K_FAULT_KERNEL, "x86_exceptions_page_fault_kernel", "address error_code"},
	{WW_K_FAULT_KERNEL, "page_fault_kernel", "address error_code"},
	{WW_K_FAULT_KERNEL, "arm64_page_fault_kernel", "address error_code"},
	{WW_K_LOCK_BEGIN, "whywait_lock_begin", "lock flags"},
	{WW_K_LOCK_BEGIN, "contention_begin", "lock_addr flags"},
	{WW_K_LOCK_BEGIN, "lock_contention_begin", "lock_addr flags"},
	{WW_K_LOCK_END, "whywait_lock_end", "lock ret"},
	{WW_K_LOCK_END, "contention_end", "lock_addr ret"},
	{WW_K_LOCK_END, "lock_contention_end", "lock_addr ret"},
	{WW_K_DUMP_PROC, "lttng_statedump_process_state",
	 "tid pid ppid name type status file_table_address"},
	{WW_K_DUMP_FD, "lttng_statedump_file_descriptor", "file_table_address|pid fd filename"},
	{WW_K_DUMP_IRQ, "lttng_statedump_interrupt", "irq action"},
	{WW_K_DUMP_BLK, "lttng_statedump_block_device", "dev diskname"},
	{WW_K_DUMP_NS, "lttng_statedump_process_pid_ns", "tid vtid ns_inum ns_level"},
	{WW_K_OWN_TARGET, "whywait_target", "tid pid begin status comm cmdline"},
	{WW_K_OWN_RECORDER, "whywait_recorder", "tid"},
	{WW_K_OWN_BLOCK, "whywait_block", "tid nr abi flags fd_kind dev ino arg0 arg1 arg2"},
	{WW_K_OWN_WAKER, "whywait_waker", "tid nr abi"},
	{WW_K_OWN_FILE, "whywait_file", "kind dev ino name"},
	{WW_K_OWN_FD, "whywait_fd", "pid fd kind dev ino"},
	{WW_K_OWN_SOCK, "whywait_sock", "ino family type proto sport dport saddr daddr peer_ino"},
	{WW_K_OWN_READY, "whywait_ready", "tid nr fd revents data"},
	{WW_K_OWN_EPOLL, "whywait_epoll", "pid epfd fd op data"},
	{WW_K_OWN_FAULT_END, "whywait_fault_end", "tid address major dev ino offset"},
	{WW_K_OWN_PAGE_IN, "whywait_page_in", "dev ino offset bytes"},
	{WW_K_OWN_SK_READY, "whywait_sk_ready", "ino sport dport proto"},
	{WW_K_OWN_IPI, "whywait_ipi", "cpu"},
	{WW_K_OWN_URING, "whywait_uring", "op ctx req user_data res opcode"},
	{WW_K_OWN_THROTTLE, "whywait_throttle", "tid on"},
	{WW_K_OWN_TIMER_TASK, "whywait_timer_task", "timer tid"},
	{WW_K_OWN_FUNCTION, "whywait_function", "address name"},
	{WW_K_OWN_SYS_ENTRY, "whywait_syscall_entry", "nr abi arg0 arg1 arg2"},
	{WW_K_OWN_STOLEN, "whywait_stolen", "ns"},
	{WW_K_OWN_SYS_EXIT, "whywait_syscall_exit", "nr abi ret"},
	{WW_K_OWN_FDS, "whywait_fds", "pid"},
	{WW_K_OWN_CGROUP, "whywait_cgroup", "tid group id path"},
	{WW_K_OWN_MAP, "whywait_map", "pid start end offset dev ino"},
	{WW_K_OWN_CURRENT, "whywait_current", "tid prio comm"},
	{WW_K_OWN_STACK, "whywait_stack", "tid user"},
};

static struct ww_words names = WW_WORDS(rows, rows[0].event);

/* Fields of the events of one named system call: see sysinfo.c. */
static const struct ww_vocab_row syscall_entry = {WW_K_SYS_ENTRY, "syscall_entry", ""};
static const struct ww_vocab_row syscall_exit = {WW_K_SYS_EXIT, "syscall_exit", "ret"};

/* Prefixes that stand before a system call's name. Longest first. The last two are LTTng's before 2.6, whose
 * return of any call is `exit_syscall`. */
static const struct {
	const char *prefix;
	bool entry, compat;
} prefixes[] = {
	{"compat_syscall_entry_", true, true}, {"compat_syscall_exit_", false, true},
	{"syscall_entry_", true, false},       {"syscall_exit_", false, false},
	{"sys_enter_", true, false},           {"sys_exit_", false, false},
	{"compat_sys_", true, true},           {"sys_", true, false},
};
#define BEFORE_2_6 6 /* the first of those */

struct ww_vocab_match ww_vocab_find(const char *event, bool before_2_6)
{
	struct ww_vocab_match m = {0};
	const char *colon = strchr(event, ':');
	size_t first = 0;

	if (colon)
		event = colon + 1;
	if (!strncmp(event, "x86_irq_vectors_", 16))
		event += 16;
	/* sys_exit and sys_exit_group are calls there, not returns. */
	if (before_2_6 && (!strncmp(event, "sys_", 4) || !strncmp(event, "compat_sys_", 11)))
		first = BEFORE_2_6;
	const int row = first && !strcmp(event, "sys_exit") ? -1 : ww_words_find(&names, event);
	if (row >= 0) {
		m.row = &rows[row];
		m.compat = !strncmp(event, "compat_", 7);
		return m;
	}
	for (size_t i = first; i < WW_ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i].prefix);

		if (strncmp(event, prefixes[i].prefix, n) || !event[n])
			continue;
		m.row = prefixes[i].entry ? &syscall_entry : &syscall_exit;
		m.syscall = event + n;
		m.compat = prefixes[i].compat;
		return m;
	}
	return m;
}

const char *ww_kind_name(enum ww_kind kind)
{
	if (kind == WW_K_SYS_ENTRY || kind == WW_K_SYS_EXIT)
		return kind == WW_K_SYS_ENTRY ? syscall_entry.event : syscall_exit.event;
	for (size_t i = 0; i < WW_ARRAY_SIZE(rows); i++)
		if (rows[i].kind == kind)
			return rows[i].event;
	return "none";
}
