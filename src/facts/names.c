/* names.c - the tokens of the enumerations: text, JSON and SQL all print these. */
#include "facts/facts.h"

static const char *const state_names[WW_ST_N] = {
	"unknown", "running-user", "running-kernel", "interrupted", "stolen",
	"preempted", "runqueue", "throttled", "stopped", "blocked", "running",
};
static const char *const cause_names[WW_CA_N] = {
	"", "unknown", "disk", "timer", "futex", "pipe", "unix", "tcp", "udp", "child", "signal", "fault",
	"work", "reclaim", "lock", "eventfd", "tty", "filelock", "ipc", "fuse", "netlink", "vsock", "rpc",
	"idle",
};
static const char *const waker_names[WW_WK_N] = {
	"unknown", "thread", "irq", "softirq", "timer", "packet", "block", "work", "ipi", "signal",
};
static const char *const run_end_names[WW_RE_N] = {
	"unknown", "preempted", "blocked", "exited", "trace-end",
};
static const char *const irq_kind_names[WW_IK_N] = {"irq", "softirq", "timer", "nmi", "ipi"};
static const char *const context_names[WW_CX_N] = {"thread", "softirq", "irq", "nmi", "unknown"};
static const char *const file_kind_names[WW_FK_N] = {
	"unknown", "file", "dir", "chardev", "blockdev", "pipe", "fifo", "unix", "tcp", "udp", "netlink",
	"vsock", "socket", "eventfd", "epoll", "timerfd", "signalfd", "inotify", "pidfd", "io_uring", "tty",
	"anon",
};

#define NAME_FUNCTION(what, type, n)                                    \
	const char *ww_##what##_name(enum type v)                       \
	{                                                               \
		return (unsigned)v < (n) ? what##_names[v] : "unknown"; \
	}
NAME_FUNCTION(state, ww_thread_state, WW_ST_N)
NAME_FUNCTION(cause, ww_cause, WW_CA_N)
NAME_FUNCTION(waker, ww_waker, WW_WK_N)
NAME_FUNCTION(run_end, ww_run_end, WW_RE_N)
NAME_FUNCTION(irq_kind, ww_irq_kind, WW_IK_N)
NAME_FUNCTION(context, ww_context, WW_CX_N)
NAME_FUNCTION(file_kind, ww_file_kind, WW_FK_N)
