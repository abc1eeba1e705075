/* model_states.c - the state machine on small traces laid by hand: states, wakeups, causes. */
#include "model_scene.h"

#define TEXT(...) (snprintf(text, sizeof(text), __VA_ARGS__), text)

static struct fake *pipe_and_sleep(void)
{
	struct fake *k = fake_new("lttng");

	contexts(k);
	fake_event(k, 10, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='reader' type=0 status=5");
	fake_event(k, 11, 0, "lttng_statedump_process_state", "tid=20 pid=20 ppid=1 name='writer' type=0 status=5");
	fake_event(k, 12, 0, "lttng_statedump_file_descriptor", "pid=10 fd=3 filename='pipe:[7]'");
	fake_event(k, 13, 0, "lttng_statedump_file_descriptor", "pid=20 fd=4 filename='pipe:[7]'");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 110, 0, "syscall_exit_read", "ret=1");
	fake_event(k, 200, 0, "syscall_entry_read", "fd=3 count=1");
	fake_event(k, 300, 0, "sched_switch", SW(10, 20, 1));
	fake_event(k, 350, 0, "syscall_exit_nanosleep", "ret=0");
	fake_event(k, 400, 0, "syscall_entry_write", "fd=4 count=1");
	fake_event(k, 410, 0, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, 450, 0, "syscall_exit_write", "ret=1");
	fake_event(k, 500, 0, "syscall_entry_nanosleep", "rqtp=1");
	fake_event(k, 510, 0, "timer_hrtimer_start", "hrtimer=0xabc expires=900");
	fake_event(k, 550, 0, "sched_switch", SW(20, 10, 1));
	fake_event(k, 600, 0, "syscall_exit_read", "ret=1");
	fake_event(k, 700, 0, "sched_switch", SW(10, 0, 256));
	fake_event(k, 900, 0, "timer_hrtimer_expire_entry", "hrtimer=0xabc now=900 function=1");
	fake_event(k, 910, 0, "sched_waking", "tid=20 target_cpu=0");
	fake_event(k, 920, 0, "timer_hrtimer_expire_exit", "hrtimer=0xabc");
	fake_event(k, 930, 0, "sched_switch", SW(0, 20, 0));
	fake_event(k, 940, 0, "syscall_exit_nanosleep", "ret=0");
	fake_event(k, 1000, 0, "sched_switch", SW(20, 0, 0x10));
	return k;
}

static void test_pipe_and_sleep(void)
{
	struct fake *k = pipe_and_sleep();
	struct ww_facts f;

	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_str(nth(&f, 10, 3), "running-kernel//-/-1", "the reader is in read");
	is_str(nth(&f, 10, 4), "blocked/pipe/thread/20", "the reader waited for the writer on a pipe");
	is_str(nth(&f, 10, 5), "runqueue//thread/20", "then for the CPU");
	is_str(nth(&f, 10, 6), "running-kernel//-/-1", "then read goes on");
	is_str(nth(&f, 10, 7), "running-user//-/-1", "and returns");
	is_str(nth(&f, 10, 8), "preempted//-/-1", "256 is preempted");
	is_str(nth(&f, 20, 6), "blocked/timer/timer/20", "the writer slept on its own timer");
	ok(f.syscall.n >= 4 && f.run.n >= 4 && f.timer.n == 2, "calls, runs and timers are there");
	ww_facts_release(&f);
	fake_free(k);
}

/* Without a class of events the answer becomes unknown, never another one. */
static void test_without(void)
{
	struct fake *k = pipe_and_sleep();
	struct ww_facts f;

	fake_model(k, (const char *const[]){"irq_handler_entry", "irq_softirq_entry", "timer_hrtimer_expire_entry", NULL}, &f);
	ok(contiguous(&f), "states are contiguous without interrupts");
	is_str(nth(&f, 10, 4), "blocked/pipe/thread/20", "both calls on one pipe prove the writer");
	is_str(nth(&f, 20, 6), "blocked/timer/unknown/-1", "nobody knows who woke; nanosleep returned 0");
	ww_facts_release(&f);
	fake_model(k, (const char *const[]){"sched_waking", NULL}, &f);
	ok(contiguous(&f), "states are contiguous without wakeups");
	is_str(nth(&f, 10, 4), "blocked/pipe/-/-1", "read returned data from a pipe; by whom is unknown");
	ww_facts_release(&f);
	fake_model(k, (const char *const[]){"syscall_entry", "syscall_exit", NULL}, &f);
	is_str(nth(&f, 10, 2), "blocked/unknown/thread/20", "without system calls the cause is unknown");
	ww_facts_release(&f);
	fake_free(k);
}

static void test_block(void)
{
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 10, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='a' type=0 status=5");
	fake_event(k, 11, 0, "lttng_statedump_file_descriptor", "pid=10 fd=3 filename='/data/x'");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 120, 0, "syscall_exit_close", "ret=0");
	fake_event(k, 200, 0, "syscall_entry_fsync", "fd=3");
	fake_event(k, 210, 0, "block_rq_issue", "dev=8 sector=100 nr_sector=8 bytes=4096 rwbs=1 tid=10");
	fake_event(k, 300, 0, "sched_switch", SW(10, 30, 2));
	/* 30 runs while the disk's interrupt wakes 10: 30 has nothing to do with it */
	fake_event(k, 400, 0, "irq_handler_entry", "irq=5 name='nvme'");
	fake_event(k, 410, 0, "block_rq_complete", "dev=8 sector=100 nr_sector=8 error=0 rwbs=1");
	fake_event(k, 420, 0, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, 430, 0, "irq_handler_exit", "irq=5 ret=1");
	fake_event(k, 500, 0, "sched_switch", SW(30, 10, 0));
	fake_event(k, 600, 0, "syscall_exit_fsync", "ret=0");
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_str(nth(&f, 10, 4), "blocked/disk/block/10", "fsync waited for its own request");
	uint32_t b = f.state_first[ww_facts_thread_find(&f, 10, 300)] + 4;
	is_str(ww_facts_str(&f, f.file.name[ww_state_file(&f, b)]), "/data/x", "and for this file");
	is_i64(f.block_io.completed_ts_ns[0], 410, "the request's completion");
	ww_facts_release(&f);
	fake_model(k, (const char *const[]){"irq_handler_entry", NULL}, &f);
	is_str(nth(&f, 10, 4), "blocked/disk/block/10", "the completion alone tells it without IRQ events");
	ww_facts_release(&f);
	fake_model(k, (const char *const[]){"irq_handler_entry", "block_rq_complete", NULL}, &f);
	is_str(nth(&f, 10, 4), "blocked/unknown/unknown/-1", "without both nobody knows; not thread 30");
	ww_facts_release(&f);
	fake_free(k);
}

static void test_gap(void)
{
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 200, 0, "syscall_entry_read", "fd=3 count=1");
	fake_event(k, 300, 1, "sched_switch", SW(0, 11, 0));
	fake_gap(k, 400, 800, 0, 17);
	fake_event(k, 900, 0, "sched_switch", SW(12, 0, 1));
	fake_event(k, 1000, 1, "sched_switch", SW(11, 0, 1));
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous over a gap");
	ok(f.gap.n == 1 && f.gap.dur_ns[0] == 400 && f.loss.lost_events == 17, "the gap is a fact");
	uint32_t first, n, t = ww_facts_thread_find(&f, 10, 200);
	ww_facts_states(&f, t, 500, 600, &first, &n);
	ok(n == 1 && f.state.state[first] == WW_ST_UNKNOWN && f.state.certainty[first] == WW_UNCERTAIN,
	   "what ran there is unknown in the gap");
	t = ww_facts_thread_find(&f, 11, 500);
	ww_facts_states(&f, t, 500, 600, &first, &n);
	ok(n == 1 && f.state.certainty[first] == WW_UNCERTAIN, "another CPU's state across it is uncertain");
	ww_facts_release(&f);
	fake_free(k);
}

/* Woken while still on the CPU; and woken a moment before the switch is traced. */
static void test_early_wakeup(void)
{
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 101, 1, "sched_switch", SW(0, 20, 0));
	fake_event(k, 120, 0, "syscall_exit_close", "ret=0");
	fake_event(k, 150, 0, "syscall_entry_futex", "uaddr=4096 op=0 val=1");
	fake_event(k, 200, 1, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, 201, 1, "sched_wakeup", "tid=10 target_cpu=0");
	fake_event(k, 250, 0, "sched_switch", SW(10, 0, 0));
	fake_event(k, 300, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 400, 1, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, 410, 0, "sched_switch", SW(10, 0, 1));
	fake_event(k, 420, 1, "sched_wakeup", "tid=10 target_cpu=0");
	fake_event(k, 450, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 500, 0, "syscall_exit_futex", "ret=0");
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_str(nth(&f, 10, 4), "preempted//-/-1", "woken before it slept: runnable, not blocked");
	is_str(nth(&f, 10, 6), "runqueue//thread/20", "woken while leaving: straight to the run queue");
	ww_facts_release(&f);
	fake_free(k);
}

static struct fake *poll_trace(const char *exit_fields)
{
	struct fake *k = fake_new("lttng");

	contexts(k);
	fake_event(k, 10, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='a' type=0 status=5");
	fake_event(k, 11, 0, "lttng_statedump_file_descriptor", "pid=10 fd=5 filename='anon_inode:[eventfd]'");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 101, 1, "sched_switch", SW(0, 20, 0));
	fake_event(k, 120, 0, "syscall_exit_close", "ret=0");
	fake_event(k, 150, 0, "syscall_entry_poll", "timeout_msecs=5 nfds=1");
	fake_event(k, 200, 0, "sched_switch", SW(10, 0, 1));
	fake_event(k, 300, 1, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, 310, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 320, 0, "syscall_exit_poll", exit_fields);
	return k;
}

static void test_poll(void)
{
	static const struct {
		const char *exit, *want;
	} cases[] = {
		{"ret=1 fds=<fd=5,raw_events=1>", "blocked/eventfd/thread/20"},
		{"ret=1 fds=<fd=6,raw_events=1>", "blocked/unknown/thread/20"},
		{"ret=0", "blocked/timer/thread/20"},
		{"ret=-4", "blocked/signal/thread/20"},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(cases); i++) {
		struct fake *k = poll_trace(cases[i].exit);
		struct ww_facts f;

		fake_model(k, NULL, &f);
		is_str(nth(&f, 10, 4), cases[i].want, cases[i].exit);
		ww_facts_release(&f);
		fake_free(k);
	}
}

/* The timeout woke it at 300; when it got a CPU at 310 the event was there as well, and the call returns it. */
static void test_timeout_before_event(void)
{
	static const struct {
		const char *timer, *fd, *want;
	} cases[] = {
		{"hrtimer_wakeup", "anon_inode:[eventfd]", "blocked/timer/timer/-1"},
		{"timerfd_tmrproc", "anon_inode:[timerfd]", "blocked/timer/timer/-1"},
		{"hrtimer_wakeup", "socket:[1]", "blocked/timer/timer/-1"},
		{"tcp_write_timer", "socket:[1]", "blocked/tcp/timer/-1"},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(cases); i++) {
		struct fake *k = fake_new("lttng");
		char text[128];
		struct ww_facts f;

		contexts(k);
		fake_event(k, 10, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='a' type=0 status=5");
		fake_event(k, 11, 0, "whywait_function", TEXT("address=4096 name='%s'", cases[i].timer));
		fake_event(k, 12, 0, "whywait_sock", "ino=1 family=2 type=1 proto=6 sport=1 dport=2");
		fake_event(k, 13, 0, "lttng_statedump_file_descriptor", TEXT("pid=10 fd=5 filename='%s'", cases[i].fd));
		fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
		fake_event(k, 120, 0, "syscall_exit_close", "ret=0");
		fake_event(k, 150, 0, "syscall_entry_poll", "timeout_msecs=5 nfds=1");
		fake_event(k, 200, 0, "sched_switch", SW(10, 0, 1));
		fake_event(k, 290, 0, "timer_hrtimer_expire_entry", "hrtimer=77 function=4096");
		fake_event(k, 300, 0, "sched_waking", "tid=10 target_cpu=0");
		fake_event(k, 305, 0, "timer_hrtimer_expire_exit", "hrtimer=77");
		fake_event(k, 310, 0, "sched_switch", SW(0, 10, 0));
		fake_event(k, 320, 0, "syscall_exit_poll", "ret=1 fds=<fd=5,raw_events=1>");
		fake_model(k, NULL, &f);
		is_str(nth(&f, 10, 4), cases[i].want, cases[i].timer);
		ww_facts_release(&f);
		fake_free(k);
	}
}

/* A timer ends a write to a file: paused for dirty pages when the kernel counted it as waiting for I/O. */
static void test_paused_writer(void)
{
	for (int io_wait = 0; io_wait < 2; io_wait++) {
		struct fake *k = fake_new("lttng");
		char text[128];
		struct ww_facts f;

		contexts(k);
		fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
		fake_event(k, 120, 0, "syscall_exit_close", "ret=0");
		fake_event(k, 150, 0, "syscall_entry_write", "fd=3");
		fake_event(k, 199, 0, "whywait_block", TEXT("tid=10 nr=1 abi=0 flags=%d fd_kind=%d dev=1 ino=5 arg0=3", io_wait, WW_FK_REG));
		fake_event(k, 200, 0, "sched_switch", SW(10, 0, 2));
		fake_event(k, 290, 0, "timer_hrtimer_expire_entry", "hrtimer=77");
		fake_event(k, 300, 0, "sched_waking", "tid=10 target_cpu=0");
		fake_event(k, 305, 0, "timer_hrtimer_expire_exit", "hrtimer=77");
		fake_event(k, 310, 0, "sched_switch", SW(0, 10, 0));
		fake_event(k, 320, 0, "syscall_exit_write", "ret=4096");
		fake_model(k, NULL, &f);
		is_str(nth(&f, 10, 4), io_wait ? "blocked/disk/timer/-1" : "blocked/unknown/timer/-1", io_wait ? "paused" : "not for I/O");
		ww_facts_release(&f);
		fake_free(k);
	}
}

/* Stopped and continued: the rest of the wait is in restart_syscall, and of the same kind. */
static void test_restarted(void)
{
	static const struct {
		const char *call, *ret, *want;
	} cases[] = {
		{"nanosleep", "ret=-516", "blocked/timer/thread/20"}, /* returned 0: slept to the end, whoever woke it */
		{"poll", "ret=-516", "blocked/timer/thread/20"},
		{"futex", "ret=-516", "blocked/futex/thread/20"},
		{"futex", "ret=0", "blocked/unknown/thread/20"}, /* of another call it tells nothing */
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(cases); i++) {
		struct fake *k = fake_new("lttng");
		char text[128];
		struct ww_facts f;

		contexts(k);
		fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
		fake_event(k, 101, 1, "sched_switch", SW(0, 20, 0));
		fake_event(k, 110, 0, TEXT("syscall_entry_%s", cases[i].call), "");
		fake_event(k, 120, 0, TEXT("syscall_exit_%s", cases[i].call), cases[i].ret);
		fake_event(k, 150, 0, "syscall_entry_restart_syscall", "");
		fake_event(k, 200, 0, "sched_switch", SW(10, 0, 1));
		fake_event(k, 300, 1, "sched_waking", "tid=10 target_cpu=0");
		fake_event(k, 310, 0, "sched_switch", SW(0, 10, 0));
		fake_event(k, 320, 0, "syscall_exit_restart_syscall", "ret=0");
		fake_model(k, NULL, &f);
		uint32_t t = ww_facts_thread_find(&f, 10, 250), row = f.state_first[t];
		while (f.state.state[row] != WW_ST_BLOCKED)
			row++;
		is_str(nth(&f, 10, row - f.state_first[t]), cases[i].want, cases[i].call);
		ww_facts_release(&f);
		fake_free(k);
	}
}

/* A wait that a signal ended is told by which: of a deadly one SIGKILL is what each thread takes. */
static void test_signals(void)
{
	static const struct {
		const char *sent, *taken, *want;
	} cases[] = {
		{"sig=10 pid=10", "sig=10", "SIGUSR1"}, {"sig=2 pid=10", "sig=9", "SIGINT"}, {"sig=9 pid=10", "sig=9", "SIGKILL"},
		{"sig=2 pid=20", "sig=9", "SIGKILL"}, {"sig=17 pid=10", "sig=9", "SIGKILL"}, {"sig=40 pid=10", "sig=40", "signal 40"},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(cases); i++) {
		struct fake *k = poll_trace("ret=-516");
		struct ww_facts f;

		fake_event(k, 305, 1, "signal_generate", cases[i].sent);
		fake_event(k, 330, 0, "signal_deliver", cases[i].taken);
		fake_event(k, 340, 0, "signal_deliver", "sig=12"); /* of another one, after it */
		fake_model(k, NULL, &f);
		is_str(nth(&f, 10, 4), "blocked/signal/thread/20", cases[i].sent);
		uint32_t t = ww_facts_thread_find(&f, 10, 200);
		is_str(ww_facts_str(&f, ww_state_detail(&f, f.state_first[t] + 4)), cases[i].want, "by which");
		ww_facts_release(&f);
		fake_free(k);
	}
}

/* A thread execs twice; each time is told by the name that it had then. */
static void test_names(void)
{
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 10, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='sh' type=0 status=5");
	fake_event(k, 20, 0, "lttng_statedump_process_state", "tid=20 pid=20 ppid=1 name='other' type=0 status=5");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 110, 0, "sched_process_exec", "filename='/usr/bin/perl' tid=10 old_tid=10");
	fake_event(k, 120, 0, "sched_switch", "prev_comm='perl' " SW(10, 20, 0));
	fake_event(k, 130, 0, "sched_switch", SW(20, 10, 0));
	fake_event(k, 140, 0, "sched_switch", "prev_comm='worker' " SW(10, 20, 1));
	fake_event(k, 145, 0, "syscall_entry_prctl", "option=15");
	fake_event(k, 147, 0, "syscall_exit_prctl", "ret=0");
	fake_event(k, 150, 0, "sched_switch", "prev_comm='more' " SW(20, 0, 1));
	fake_model(k, NULL, &f);
	uint32_t t = ww_facts_thread_find(&f, 10, 100), i = f.thread.renamed[t];
	is_i64(f.name_change.n, 3, "two changes, the first name and names that stay are none");
	is_i64(i, 1, "the last one");
	is_str(ww_facts_str(&f, f.name_change.old[i]), "perl", "was perl");
	is_i64(f.name_change.ts_ns[i], 130, "until the run at whose end it was seen by another name");
	is_i64(f.name_change.before[i], 0, "before it");
	is_str(ww_facts_str(&f, f.name_change.old[0]), "sh", "sh");
	is_i64(f.name_change.ts_ns[0], 110, "until the exec");
	is_i64(f.thread.renamed[ww_facts_thread_find(&f, 20, 100)], 2, "the other has another name");
	is_i64(f.name_change.ts_ns[2], 147, "since its call");
	ww_facts_release(&f);
	fake_free(k);
}

/* Loopback: the packet is received in a softirq on top of its own sender. */
static void test_loopback(void)
{
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 100, 1, "sched_switch", SW(0, 10, 0));
	fake_event(k, 110, 1, "syscall_exit_socket", "ret=3");
	fake_event(k, 120, 1, "syscall_entry_recvfrom", "fd=3");
	fake_event(k, 130, 1, "sched_switch", SW(10, 0, 1));
	fake_event(k, 200, 0, "sched_switch", SW(0, 20, 0));
	fake_event(k, 210, 0, "net_dev_queue",
		   "skbaddr=0x55 len=60 network_header.ipv4.protocol=6 network_header.ipv4.saddr=#7f000001");
	fake_event(k, 220, 0, "irq_softirq_entry", "vec=3");
	fake_event(k, 230, 0, "net_if_receive_skb", "skbaddr=0x55 len=60 network_header.ipv4.protocol=6");
	fake_event(k, 240, 0, "sched_waking", "tid=10 target_cpu=1");
	fake_event(k, 250, 0, "irq_softirq_exit", "vec=3");
	fake_event(k, 260, 0, "sched_switch", SW(20, 30, 1));
	fake_event(k, 270, 1, "sched_switch", SW(0, 10, 0));
	fake_event(k, 280, 1, "syscall_exit_recvfrom", "ret=9");
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_str(nth(&f, 10, 4), "blocked/tcp/packet/20", "the sender of the packet is the waker");
	is_i64(f.packet.match[1], 0, "the received packet knows the sent one");
	ww_facts_release(&f);
	fake_free(k);
}

/* ftrace's and perf's names and encodings give the same answer. */
static void test_ftrace_names(void)
{
	struct fake *k = fake_new("trace-cmd");
	struct ww_facts f;

	fake_event(k, 1, 0, "irq:irq_handler_entry", "irq=9 name='acpi'");
	fake_event(k, 2, 0, "irq:irq_handler_exit", "irq=9 ret=1");
	fake_event(k, 3, 0, "irq:softirq_entry", "vec=7");
	fake_event(k, 4, 0, "irq:softirq_exit", "vec=7");
	fake_event(k, 5, 0, "timer:hrtimer_expire_entry", "hrtimer=0x77 now=5");
	fake_event(k, 6, 0, "timer:hrtimer_expire_exit", "hrtimer=0x77");
	fake_event(k, 100, 0, "sched:sched_switch", "prev_pid=0 next_pid=10 prev_state=0 next_prio=120 next_comm='me'");
	fake_event(k, 110, 0, "raw_syscalls:sys_exit", "id=0 ret=1");
	fake_event(k, 120, 0, "raw_syscalls:sys_enter", "id=35 args=[1,2,3]");
	fake_event(k, 200, 0, "sched:sched_switch", "prev_pid=10 next_pid=0 prev_state=1 next_prio=120");
	fake_event(k, 300, 0, "timer:hrtimer_expire_entry", "hrtimer=0x99 now=300");
	fake_event(k, 310, 0, "sched:sched_waking", "pid=10 target_cpu=0");
	fake_event(k, 320, 0, "timer:hrtimer_expire_exit", "hrtimer=0x99");
	fake_event(k, 330, 0, "sched:sched_switch", "prev_pid=0 next_pid=10 prev_state=0 next_prio=120");
	fake_event(k, 340, 0, "raw_syscalls:sys_exit", "id=35 ret=0");
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_str(nth(&f, 10, 4), "blocked/timer/timer/-1", "nanosleep by number");
	is_str(ww_facts_str(&f, f.syscall.name[1]), "nanosleep", "35 is nanosleep");
	is_str(ww_facts_str(&f, f.thread.comm[ww_facts_thread_find(&f, 10, 200)]), "me", "its name");
	ww_facts_release(&f);
	fake_free(k);
}

/* rt_sigreturn returns under the number -1 and what the interrupted call returned: it is the end of rt_sigreturn. */
static void test_sigreturn(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 90, 0, "whywait_target", "tid=10 pid=10 begin=1 status=0 comm='me' cmdline='me'");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 110, 0, "whywait_syscall_entry", "nr=15 abi=0 arg0=0 arg1=0 arg2=0");
	fake_event(k, 113, 0, "whywait_syscall_exit", "nr=-1 abi=0 ret=-4");
	fake_event(k, 120, 0, "whywait_syscall_entry", "nr=-1 abi=0 arg0=0 arg1=0 arg2=0");
	fake_event(k, 121, 0, "whywait_syscall_exit", "nr=-1 abi=0 ret=-38");
	fake_event(k, 130, 0, "sched_switch", SW(10, 0, 1));
	fake_model(k, NULL, &f);
	TAP_NEED(f.syscall.n == 2, "two calls and no other");
	is_str(ww_facts_str(&f, f.syscall.name[0]), "rt_sigreturn", "the first");
	is_i64(f.syscall.dur_ns[0], 3, "it has its end");
	is_i64(f.syscall.ret[0], -4, "with the value that it put back");
	ok(f.syscall.dur_ns[1] == 1 && f.syscall.ret[1] == -38, "a call by no number has its own");
	ww_facts_release(&f);
	fake_free(k);
}

/* The call of a task whose system calls are not recorded, from whywait_block. */
static void test_block_event(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 50, 0, "whywait_file", "kind=5 dev=12 ino=77 name='pipe'");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 190, 0, "whywait_block", "tid=10 nr=0 abi=0 flags=0 fd_kind=5 dev=12 ino=77 arg0=3 arg1=1 arg2=8");
	fake_event(k, 200, 0, "sched_switch", SW(10, 20, 1));
	fake_event(k, 300, 0, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, 400, 0, "sched_switch", SW(20, 10, 0));
	fake_event(k, 500, 0, "sched_switch", SW(10, 0, 0));
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_str(nth(&f, 10, 2), "blocked/pipe/thread/20", "read on a pipe, from registers");
	is_str(nth(&f, 10, 4), "running//-/-1", "then it runs, nobody knows in which mode");
	ww_facts_release(&f);
	fake_free(k);
}

/* A read of a pipe has returned, and the kernel waits before it goes back to user code: the call's wait, not the pipe's. Where
 * the recorder does not say that the call has returned (a tracer stops the next one), nothing is known. */
static void test_after_call(void)
{
	static const struct {
		int flags, nr;
		bool called, named;
	} cases[] = {
		{32, 0, true, true},
		{33, 0, true, true},
		{0, 0, true, false},
		{32, 1, true, false}, /* not the call that returned last */
		{32, 0, false, false},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(cases); i++) {
		struct fake *k = fake_new("lttng");
		struct ww_facts f;
		char text[128];

		contexts(k);
		fake_event(k, 50, 0, "whywait_file", "kind=5 dev=12 ino=77 name='pipe'");
		fake_event(k, 60, 0, "whywait_fd", "pid=10 fd=3 kind=5 dev=12 ino=77");
		fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
		fake_event(k, 120, 0, "syscall_exit_close", "ret=0");
		if (cases[i].called) {
			fake_event(k, 150, 0, "syscall_entry_read", "fd=3");
			fake_event(k, 160, 0, "syscall_exit_read", "ret=1");
		}
		fake_event(k, 200, 0, "whywait_block", TEXT("tid=10 nr=%d abi=0 flags=%d fd_kind=0 dev=0 ino=0 arg0=3", cases[i].nr,
							    cases[i].flags));
		fake_event(k, 200, 0, "sched_switch", SW(10, 20, 2));
		fake_event(k, 300, 0, "sched_waking", "tid=10 target_cpu=0");
		fake_event(k, 400, 0, "sched_switch", SW(20, 10, 0));
		fake_event(k, 500, 0, "sched_switch", SW(10, 0, 0));
		fake_model(k, NULL, &f);
		ok(contiguous(&f), "states are contiguous");
		for (uint32_t r = 0; r < f.state.n; r++) {
			uint32_t call = f.state.syscall[r];

			if (f.state.start_ts_ns[r] != 200 || f.state.state[r] != WW_ST_BLOCKED)
				continue;
			ok((call != WW_NONE) == cases[i].named, "after a call %zu: named or not", i);
			ok(call == WW_NONE || !strcmp(ww_facts_str(&f, f.syscall.name[call]), "read"), "by its name");
			is_i64(f.state.cause[r], WW_CA_UNKNOWN, "it is not the pipe that it waits for");
		}
		for (uint32_t r = 0; r < f.state.n; r++)
			if (cases[i].named && f.state.start_ts_ns[r] == 160)
				is_i64(f.state.state[r], WW_ST_RUNNING_KERNEL, "until then it was in the kernel");
		ww_facts_release(&f);
		fake_free(k);
	}
}

/* What is said of a dead thread's number does not make another thread. */
static void test_dead(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;
	uint32_t n = 0;

	contexts(k);
	fake_event(k, 90, 0, "whywait_target", "tid=10 pid=10 begin=1 status=0 comm='x' cmdline='x'");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 200, 0, "sched_switch", SW(10, 0, 0x10));
	fake_event(k, 300, 0, "whywait_target", "tid=10 pid=10 begin=0 status=7 comm='x' cmdline='x'");
	fake_model(k, NULL, &f);
	for (uint32_t t = 0; t < f.thread.n; t++)
		n += f.thread.tid[t] == 10;
	is_i64(n, 1, "one thread 10");
	is_i64(f.target_status, 7, "the target's status, told after its end");
	is_i64(f.target_end_ts_ns, 300, "the target's end");
	ww_facts_release(&f);
	fake_free(k);
}

/*   100       400 410  420     900 905        1000
 *   user ------- tick, user ---- call, user ---- switched out
 *                      250 stolen, known at 420: of 100..400
 *                                                 90 stolen, known at 1000: of 905..1000 */
static void test_stolen(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 400, 0, "timer_hrtimer_expire_entry", "hrtimer=0x77 now=5 function=1");
	fake_event(k, 410, 0, "timer_hrtimer_expire_exit", "hrtimer=0x77");
	fake_event(k, 420, 0, "whywait_stolen", "ns=250");
	fake_event(k, 900, 0, "syscall_entry_getpid", "");
	fake_event(k, 905, 0, "syscall_exit_getpid", "ret=10");
	fake_event(k, 1000, 0, "whywait_stolen", "ns=90");
	fake_event(k, 1000, 0, "sched_switch", SW(10, 20, 256));
	fake_event(k, 1010, 0, "whywait_stolen", "ns=5000"); /* more than 20 has run */
	fake_event(k, 1100, 0, "sched_switch", SW(20, 0, 256));
	fake_event(k, 1200, 0, "whywait_stolen", "ns=50"); /* nobody's */
	fake_event(k, 2000, 0, "sched_switch", SW(0, 30, 0));
	for (int i = 0; i < 20; i++) { /* 20 calls of 10, 20 times 10 between them */
		fake_event(k, 2010 + 20 * i, 0, "syscall_entry_getpid", "");
		fake_event(k, 2020 + 20 * i, 0, "syscall_exit_getpid", "ret=30");
	}
	fake_event(k, 2410, 0, "whywait_stolen", "ns=100"); /* bit by bit */
	fake_event(k, 2410, 0, "sched_switch", SW(30, 0, 256));
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_i64(time_in(&f, 10, WW_ST_STOLEN), 340, "what was taken");
	is_str(nth(&f, 10, 1), "running//-/-1", "before; user or kernel is not known yet");
	is_str(nth(&f, 10, 2), "stolen//-/-1", "just before the tick that saw it");
	is_i64(time_in(&f, 10, WW_ST_INTERRUPTED), 10, "the tick itself");
	int64_t bits = time_in(&f, 30, WW_ST_STOLEN);
	ok(bits > 75 && bits <= 100, "what was taken in bits is taken from many states: %d", (int)bits);
	is_i64(time_in(&f, 20, WW_ST_STOLEN), 0, "never from who had not run so long");
	ww_facts_release(&f);
	fake_free(k);
}

/* A name that trace.dat saved is for a thread that no event names. */
static void test_saved_names(void)
{
	static const struct ww_saved_comm comms[] = {{10, "saved-ten"}, {20, "saved-twenty"}, {-1, "x"}, {1 << 30, "y"}};
	struct fake *k = fake_new("trace-cmd");
	struct ww_facts f;

	k->base.info.comms = comms;
	k->base.info.ncomms = 4;
	fake_event(k, 100, 0, "sched_switch", "prev_tid=0 prev_state=0 next_tid=10");
	fake_event(k, 200, 0, "sched_switch", "prev_tid=10 prev_state=1 next_comm='twenty' next_tid=20");
	fake_event(k, 300, 0, "sched_switch", "prev_comm='twenty' prev_tid=20 prev_state=1 next_tid=0");
	fake_model(k, NULL, &f);
	for (uint32_t t = 0; t < f.thread.n; t++) {
		if (f.thread.tid[t] == 10)
			is_str(ww_facts_str(&f, f.thread.comm[t]), "saved-ten", "the saved name");
		if (f.thread.tid[t] == 20)
			is_str(ww_facts_str(&f, f.thread.comm[t]), "twenty", "an event's name is better");
	}
	ww_facts_release(&f);
	fake_free(k);
}

/* An inode number comes again with another name: what was done before keeps the old one. */
static void test_inode_reused(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;
	const char *names[3] = {"", "", ""};
	int n = 0;

	contexts(k);
	fake_event(k, 90, 0, "whywait_file", "kind=1 dev=8 ino=77 name='/tmp/old'");
	fake_event(k, 91, 0, "whywait_fd", "pid=10 fd=3 kind=1 dev=8 ino=77");
	fake_event(k, 92, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='x' type=0 status=5");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 110, 0, "syscall_entry_fsync", "fd=3");
	fake_event(k, 120, 0, "syscall_exit_fsync", "ret=0");
	fake_event(k, 130, 0, "whywait_file", "kind=1 dev=8 ino=77 name='tmp/old'"); /* the same, cut */
	fake_event(k, 140, 0, "whywait_file", "kind=1 dev=8 ino=77 name='/tmp/new'");
	fake_event(k, 141, 0, "whywait_fd", "pid=10 fd=3 kind=1 dev=8 ino=77");
	fake_event(k, 150, 0, "syscall_entry_fsync", "fd=3");
	fake_event(k, 160, 0, "syscall_exit_fsync", "ret=0");
	fake_event(k, 170, 0, "sched_switch", SW(10, 0, 256));
	fake_model(k, NULL, &f);
	for (uint32_t i = 0; i < f.syscall.n; i++)
		if (!strcmp(ww_facts_str(&f, f.syscall.name[i]), "fsync") && f.syscall.file[i] != WW_NONE && n < 3)
			names[n++] = ww_facts_str(&f, f.file.name[f.syscall.file[i]]);
	is_i64(n, 2, "two calls on files");
	is_str(names[0], "/tmp/old", "the first on the old file");
	is_str(names[1], "/tmp/new", "the second on the new one");
	ww_facts_release(&f);
	fake_free(k);
}

/* What was open at the begin is named from /proc, what is named later by the kernel's entry: it is one thing. */
static void test_anonymous_names(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;
	int n = 0;

	contexts(k);
	fake_event(k, 90, 0, "whywait_file", "kind=14 dev=15 ino=77 name='anon_inode:[eventpoll]'");
	fake_event(k, 91, 0, "whywait_file", "kind=14 dev=15 ino=77 name='/[eventpoll]'");
	fake_event(k, 92, 0, "whywait_file", "kind=17 dev=15 ino=78 name='/inotify'");
	fake_event(k, 93, 0, "whywait_file", "kind=1 dev=8 ino=79 name='/[eventpoll]'");
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_model(k, NULL, &f);
	for (uint32_t i = 0; i < f.file.n; i++) {
		const char *name = ww_facts_str(&f, f.file.name[i]);
		n += f.file.kind[i] == WW_FK_EPOLL;
		if (f.file.kind[i] == WW_FK_EPOLL)
			is_str(name, "anon_inode:[eventpoll]", "an epoll descriptor");
		else if (f.file.kind[i] == WW_FK_INOTIFY)
			is_str(name, "anon_inode:inotify", "inotify");
		else if (f.file.kind[i] == WW_FK_REG)
			is_str(name, "/[eventpoll]", "a file may have such a name");
	}
	is_i64(n, 1, "named twice, it is one");
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	test_anonymous_names();
	test_inode_reused();
	test_saved_names();
	test_stolen();
	test_dead();
	test_pipe_and_sleep();
	test_without();
	test_block();
	test_gap();
	test_early_wakeup();
	test_poll();
	test_timeout_before_event();
	test_restarted();
	test_paused_writer();
	test_signals();
	test_names();
	test_loopback();
	test_ftrace_names();
	test_sigreturn();
	test_block_event();
	test_after_call();
	return done_testing();
}
