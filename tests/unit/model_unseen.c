/* model_unseen.c - threads that turn out to have a CPU, to which no switch was told, on traces laid by hand: what seemed
 * to be another's doing is taken back, and nothing is made of the time before.
 */
#include "model_scene.h"

/* A switch was lost, and no loss was told: what seemed to be 20's doing is nobody's. */
static void test_contradiction(void)
{
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 100, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 200, 0, "sched_switch", SW(10, 20, 1));
	fake_event(k, 300, 0, "sched_waking", "tid=10 target_cpu=1");
	fake_event(k, 400, 0, "sched_switch", SW(30, 0, 1));
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_str(nth(&f, 10, 2), "blocked/unknown/unknown/-1", "not woken by 20, which had left");
	ww_facts_release(&f);
	fake_free(k);
}

/* A thread is met on a CPU where nobody saw it come to: since the CPU was another's, or not known, it may have run. */
static void test_came_unseen(void)
{
	struct fake *k = fake_new("fake");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 100, 0, "sched_switch", SW(10, 18, 2));
	fake_event(k, 200, 0, "sched_waking", "tid=10 target_cpu=1");
	fake_event(k, 250, 0, "sched_waking", "tid=11 target_cpu=2");
	fake_event(k, 400, 1, "sched_process_exec", "filename='/x' tid=40 old_tid=40 ctx.tid=10"); /* this CPU's first */
	fake_event(k, 500, 1, "sched_switch", SW(10, 0, 1));
	fake_event(k, 550, 2, "sched_switch", SW(11, 0, 1)); /* and this one's */
	fake_event(k, 600, 0, "sched_switch", SW(18, 30, 0));
	fake_event(k, 700, 0, "sched_switch", SW(30, 20, 1)); /* 18 goes on waiting */
	fake_event(k, 900, 0, "sched_switch", SW(18, 0, 1));  /* how 20 left is not told */
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_i64(time_in(&f, 10, WW_ST_RUNQUEUE), 0, "no delay is made of what is not known");
	is_i64(time_in(&f, 10, WW_ST_UNKNOWN), 200, "unknown until it is met");
	is_i64(time_in(&f, 10, WW_ST_RUNNING), 99 + 100, "then it runs");
	is_i64(time_in(&f, 11, WW_ST_UNKNOWN), 300, "unknown until it leaves, when nothing is met before");
	is_i64(time_in(&f, 18, WW_ST_PREEMPTED), 100, "preempted, as long as others are known to have had the CPU");
	is_i64(time_in(&f, 18, WW_ST_UNKNOWN), 99 + 200, "then unknown, as before it was met first");
	ww_facts_release(&f);
	fake_free(k);
}

static int32_t tid_of(const struct ww_facts *f, uint32_t thread)
{
	return thread == WW_NONE ? -1 : f->thread.tid[thread];
}

/* 20 has CPU 0, and is thought to have it still while 30 does all this: a packet that wakes 10 (by NET_RX, on top of
 * 30's call), an item of work, a request, a timer for 40. Then 30 leaves. told: at 210 the trace says who has the CPU. */
static void test_doings(bool told)
{
	struct fake *k = fake_new("whywait");
	const int32_t who = told ? 30 : -1;
	struct ww_facts f;

	contexts(k);
	fake_event(k, 8, 0, "lttng_statedump_process_state", "tid=30 pid=30 ppid=1 name='sender' type=0 status=5");
	fake_event(k, 9, 0, "workqueue_queue_work", "work=0x1 function=0x5");
	fake_event(k, 90, 1, "sched_switch", SW(0, 10, 0));
	fake_event(k, 95, 1, "syscall_entry_recvfrom", "fd=3");
	fake_event(k, 100, 1, "sched_switch", SW(10, 0, 1));
	fake_event(k, 200, 0, "sched_switch", SW(0, 20, 0));
	if (told)
		fake_event(k, 210, 0, "whywait_current", "tid=30 prio=20 comm='sender'");
	fake_event(k, 220, 0, "net_dev_queue", "skbaddr=0x9 len=60");
	fake_event(k, 230, 0, "irq_softirq_entry", "vec=3");
	fake_event(k, 240, 0, "net_if_receive_skb", "skbaddr=0x9 len=60");
	fake_event(k, 250, 0, "sched_waking", "tid=10 target_cpu=1");
	fake_event(k, 260, 0, "irq_softirq_exit", "vec=3");
	fake_event(k, 300, 0, "workqueue_queue_work", "work=0x2 function=0x5");
	fake_event(k, 310, 0, "block_rq_insert", "dev=8388608 sector=64 bytes=4096 nr_sector=8 rwbs=4 tid=30 comm='sender'");
	fake_event(k, 320, 0, "timer_hrtimer_start", "hrtimer=0x55 function=1 expires=400");
	fake_event(k, 330, 0, "sched_switch", SW(30, 0, 1));
	fake_event(k, 350, 1, "sched_switch", SW(0, 10, 0));
	fake_event(k, 400, 1, "timer_hrtimer_expire_entry", "hrtimer=0x55 now=400 function=1");
	fake_event(k, 410, 1, "timer_hrtimer_expire_exit", "hrtimer=0x55");
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_i64(f.wakeup.kind[0], WW_WK_PACKET, "a packet woke 10");
	is_i64(tid_of(&f, f.wakeup.waker[0]), who, "whose it was");
	is_i64(tid_of(&f, f.packet.thread[0]), who, "who sent it");
	is_i64(tid_of(&f, f.work.queued_by[f.work.n - 1]), who, "who queued the work");
	is_i64(tid_of(&f, f.block_io.submitter[0]), who, "whose request it is");
	is_i64(tid_of(&f, f.timer.armed_by[f.timer.n - 1]), who, "who armed the timer");
	is_i64(time_in(&f, 20, WW_ST_UNKNOWN) > 0, 1, "of 20 nothing is known after that");
	const int64_t runs = time_in(&f, 30, WW_ST_RUNNING) + time_in(&f, 30, WW_ST_RUNNING_USER) + time_in(&f, 30, WW_ST_RUNNING_KERNEL);
	is_i64(runs, told ? 120 - 30 : 0, "30 runs since it is known, but for the interrupt");
	ww_facts_release(&f);
	fake_free(k);
}

/* The recording follows 10 alone, as perf record without -a does: it has the switches away from it, and its own events. */
static void test_one_thread(void)
{
	struct fake *k = fake_new("fake");
	struct ww_facts f;
	uint32_t calls = 0;
	int64_t others = 0;

	fake_event(k, 100, 0, "syscall_entry_getppid", "ctx.tid=10");
	fake_event(k, 110, 0, "syscall_exit_getppid", "ret=1 ctx.tid=10");
	for (int64_t at = 200; at < 600; at += 200) {
		fake_event(k, at, 0, "sched_switch", "prev_tid=10 next_tid=99 prev_state=0 next_prio=20 ctx.tid=10");
		fake_event(k, at + 100, 0, "syscall_entry_getppid", "ctx.tid=10");
		fake_event(k, at + 110, 0, "syscall_exit_getppid", "ret=1 ctx.tid=10");
	}
	fake_event(k, 600, 0, "sched_switch", "prev_tid=10 next_tid=99 prev_state=1 next_prio=20 ctx.tid=10");
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	for (uint32_t i = 0; i < f.syscall.n; i++)
		calls += tid_of(&f, f.syscall.thread[i]) == 10;
	is_i64(calls, 3, "all calls are its own");
	is_i64(f.syscall.n, 3, "and no other's");
	for (uint32_t i = 0; i < f.run.n; i++)
		others += tid_of(&f, f.run.thread[i]) == 99 ? f.run.dur_ns[i] : 0;
	is_i64(others, 0, "nothing says how long the other had the CPU");
	is_i64(time_in(&f, 10, WW_ST_UNKNOWN), 200, "nor since when it had it again");
	is_i64((int64_t)f.loss.unseen_switches, 2, "the switches to it are not in the trace");
	ww_facts_release(&f);
	fake_free(k);
}

/* 20 is thought to have CPU 0. A timer expires there, and at its wakeup it is told that 30 has it: the timer woke 10, not 30. */
static void test_told_in_interrupt(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;

	contexts(k);
	fake_event(k, 90, 1, "sched_switch", SW(0, 10, 0));
	fake_event(k, 100, 1, "sched_switch", SW(10, 0, 1));
	fake_event(k, 200, 0, "sched_switch", SW(0, 20, 0));
	fake_event(k, 300, 0, "timer_hrtimer_expire_entry", "hrtimer=0x55 now=300 function=1");
	fake_event(k, 305, 0, "whywait_current", "tid=30 prio=20 comm='other'");
	fake_event(k, 310, 0, "sched_waking", "tid=10 target_cpu=1");
	fake_event(k, 320, 0, "timer_hrtimer_expire_exit", "hrtimer=0x55");
	fake_event(k, 330, 1, "sched_switch", SW(0, 10, 0));
	fake_event(k, 340, 0, "sched_switch", SW(30, 0, 1));
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	is_i64(f.wakeup.kind[0], WW_WK_TIMER, "the timer woke it");
	ok(tid_of(&f, f.wakeup.waker[0]) != 30, "and not the thread that was interrupted");
	ww_facts_release(&f);
	fake_free(k);
}

/* No switch is recorded at all, as perf trace record does not: each event is of the thread that it names, and of what
 * they did in between nothing is known. */
static void test_no_switches(void)
{
	struct fake *k = fake_new("fake");
	struct ww_facts f;

	fake_event(k, 100, 0, "syscall_entry_read", "fd=3 count=1 ctx.tid=10");
	fake_event(k, 150, 0, "workqueue_queue_work", "work=0x2 function=0x5 ctx.tid=10");
	fake_event(k, 200, 0, "syscall_entry_getppid", "ctx.tid=11");
	fake_event(k, 250, 0, "syscall_exit_getppid", "ret=1 ctx.tid=11");
	fake_event(k, 300, 0, "syscall_exit_read", "ret=1 ctx.tid=10");
	fake_model(k, NULL, &f);
	ok(contiguous(&f), "states are contiguous");
	ok(!f.knows.switches && f.knows.threads, "whose the events are is known, who had a CPU is not");
	is_i64(f.run.n, 0, "no run");
	is_i64(time_in(&f, 10, WW_ST_UNKNOWN), 200, "of one nothing is known");
	is_i64(time_in(&f, 11, WW_ST_UNKNOWN), 200, "nor of the other");
	is_i64(f.syscall.n, 2, "two calls");
	is_i64(tid_of(&f, f.syscall.thread[0]), 10, "the first's");
	is_i64(f.syscall.dur_ns[0], 200, "as long as it took");
	is_i64(tid_of(&f, f.syscall.thread[1]), 11, "the other's");
	is_i64(tid_of(&f, f.work.queued_by[0]), 10, "who queued the work");
	is_i64((int64_t)f.loss.unseen_switches, 0, "no switch is missing, as there is none");
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	test_no_switches();
	test_told_in_interrupt();
	test_one_thread();
	test_contradiction();
	test_came_unseen();
	test_doings(false);
	test_doings(true);
	return done_testing();
}
