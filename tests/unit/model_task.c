/* model_task.c - threads and processes as forks and perf's own records tell them, on traces laid by hand. */
#include "fake_model.h"

static struct fake *perf_trace(void)
{
	struct fake *k = fake_new("perf");

	/* There before: two threads of process 10, whose parent is 5. perf stamps these with the begin. */
	fake_event(k, 100, 0, "perf_fork", "pid=10 ppid=5 tid=10 ptid=5 time=0");
	fake_event(k, 100, 0, "perf_comm", "pid=10 tid=10 comm='server' exec=0");
	fake_event(k, 100, 0, "perf_fork", "pid=10 ppid=10 tid=11 ptid=10 time=0");
	fake_event(k, 100, 0, "perf_comm", "pid=10 tid=11 comm='worker' exec=0");
	fake_event(k, 200, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	return k;
}

/* "tid pid parent-tid begin name" of the n-th thread of that number; "none". */
static const char *nth(const struct ww_facts *f, int32_t tid, uint32_t n)
{
	static char buf[128];

	for (uint32_t t = 0; t < f->thread.n; t++) {
		if (f->thread.tid[t] != tid || n--)
			continue;
		uint32_t parent = f->thread.parent[t];
		snprintf(buf, sizeof(buf), "%d %d %d %lld %s", tid, f->thread.pid[t], parent == WW_NONE ? -1 : f->thread.tid[parent],
			 (long long)f->thread.start_ts_ns[t], ww_facts_str(f, f->thread.comm[t]));
		return buf;
	}
	return "none";
}

static void test_there_before(void)
{
	struct fake *k = perf_trace();
	struct ww_facts f;

	fake_model(k, NULL, &f);
	is_str(nth(&f, 10, 0), "10 10 -1 100 server", "a process that was there, from the begin");
	is_str(nth(&f, 11, 0), "11 10 -1 100 worker", "its other thread");
	uint32_t p = f.thread.process[ww_facts_thread_find(&f, 11, 150)];
	ok(p == f.thread.process[ww_facts_thread_find(&f, 10, 150)], "are of one process");
	uint32_t parent = f.process.parent[p];
	is_i64(parent == WW_NONE ? -1 : f.process.pid[parent], 5, "whose parent is known");
	ww_facts_release(&f);
	fake_free(k);
}

static void test_forks(void)
{
	struct fake *k = perf_trace();
	struct ww_facts f;

	fake_event(k, 300, 0, "perf_fork", "pid=10 ppid=10 tid=12 ptid=10 time=300");
	/* of this one there is the event too, which knows no process */
	fake_event(k, 400, 0, "perf_fork", "pid=20 ppid=10 tid=20 ptid=10 time=400");
	fake_event(k, 410, 0, "sched_process_fork", "parent_tid=10 child_tid=20 child_comm='server'");
	fake_event(k, 420, 0, "sched_wakeup_new", "tid=20 target_cpu=0");
	fake_event(k, 500, 0, "sched_switch", "prev_tid=10 next_tid=20 prev_state=1 next_prio=20");
	fake_event(k, 550, 0, "perf_comm", "pid=20 tid=20 comm='child' exec=1");
	fake_event(k, 600, 0, "perf_exit", "pid=20 ppid=10 tid=20 ptid=10 time=600");
	fake_event(k, 610, 0, "sched_switch", "prev_tid=20 next_tid=10 prev_state=16 next_prio=20");
	/* the number again, by another parent */
	fake_event(k, 700, 0, "perf_fork", "pid=11 ppid=10 tid=20 ptid=11 time=700");
	fake_event(k, 800, 0, "sched_switch", "prev_tid=10 next_tid=20 prev_state=1 next_prio=20");
	fake_model(k, NULL, &f);
	is_str(nth(&f, 12, 0), "12 10 10 300 server", "a new thread of its process");
	is_str(nth(&f, 20, 0), "20 20 10 400 child", "a new process begins with perf's record, and calls itself otherwise");
	uint32_t t = ww_facts_thread_find(&f, 20, 450);
	is_i64(f.thread.end_ts_ns[t], 610, "and ends");
	is_i64(f.name_change.n, 1, "with one other name");
	is_i64(f.name_change.ts_ns[0], 550, "when it took it");
	is_str(nth(&f, 20, 1), "20 11 11 700 worker", "the number is used again");
	is_str(nth(&f, 20, 2), "none", "and no fork was taken for two");
	ww_facts_release(&f);
	fake_free(k);
}

/* perf tells of tasks before it records the first switch: what such a thread did until then nobody knows. */
static void test_born_before_switches(void)
{
	struct fake *k = fake_new("perf");
	struct ww_facts f;

	/* the dump, stamped with the begin, was written after the fork */
	fake_event(k, 100, 0, "perf_fork", "pid=30 ppid=10 tid=30 ptid=10 time=0");
	fake_event(k, 110, 0, "perf_fork", "pid=30 ppid=10 tid=30 ptid=10 time=110");
	fake_event(k, 900, 0, "sched_switch", "prev_tid=0 next_tid=30 prev_state=0 next_prio=20");
	fake_event(k, 950, 0, "perf_fork", "pid=31 ppid=30 tid=31 ptid=30 time=950");
	fake_event(k, 990, 0, "sched_switch", "prev_tid=30 next_tid=31 prev_state=1 next_prio=20");
	fake_model(k, NULL, &f);
	is_str(nth(&f, 30, 0), "30 30 10 110 ", "one thread of the dump and the fork");
	is_str(nth(&f, 30, 1), "none", "not two");
	is_str(ww_state_name(f.state.state[f.state_first[ww_facts_thread_find(&f, 30, 500)]]), "unknown", "nobody knows what it did");
	is_str(ww_state_name(f.state.state[f.state_first[ww_facts_thread_find(&f, 31, 960)]]), "runqueue", "a later one wants a CPU");
	ww_facts_release(&f);
	fake_free(k);
}

/* exec by thread 41 of process 40: the kernel lets 40 die, and 41 goes on as 40. seen: 41 is seen on its CPU by the number
 * 40 before the event comes. */
static void test_exec_by_another(bool seen)
{
	struct fake *k = fake_new("lttng");
	struct ww_facts f;

	fake_event(k, 90, 0, "lttng_statedump_process_state", "tid=40 pid=40 ppid=1 name='main' type=0 status=5");
	fake_event(k, 100, 0, "sched_switch", "prev_tid=0 next_tid=40 prev_state=0 next_prio=20");
	fake_event(k, 110, 0, "syscall_entry_clone", "clone_flags=0x10f00");
	fake_event(k, 120, 0, "sched_process_fork", "parent_tid=40 child_tid=41 child_pid=40 child_comm='main'");
	fake_event(k, 130, 0, "syscall_exit_clone", "ret=41");
	fake_event(k, 140, 0, "sched_switch", "prev_tid=40 next_tid=41 prev_state=1 next_prio=20");
	fake_event(k, 300, 1, "sched_switch", "prev_tid=0 next_tid=40 prev_state=0 next_prio=20");
	fake_event(k, 310, 1, "sched_process_exit", "tid=40 pid=40");
	fake_event(k, 320, 1, "sched_switch", "prev_tid=40 next_tid=0 prev_state=16 next_prio=20");
	if (seen) {
		fake_event(k, 330, 0, "sched_switch", "prev_tid=40 next_tid=0 prev_state=256 next_prio=20");
		fake_event(k, 340, 0, "sched_switch", "prev_tid=0 next_tid=40 prev_state=0 next_prio=20");
	}
	fake_event(k, 400, 0, "sched_process_exec", "filename='/bin/new' tid=40 old_tid=41");
	fake_event(k, 800, 0, "sched_switch", "prev_tid=40 next_tid=0 prev_state=1 next_prio=20");
	fake_model(k, NULL, &f);
	is_str(nth(&f, 40, 0), "40 40 -1 90 new", "the process is the same from its begin, by its new name");
	uint32_t t = ww_facts_thread_find(&f, 40, 500);
	is_i64(f.thread.start_ts_ns[t], 90, "and so is the thread of its number");
	is_i64(f.thread.end_ts_ns[t], 800, "which goes on");
	is_i64(f.thread.end_ts_ns[ww_facts_thread_find(&f, 41, 200)], 400, "the one that executed ends");
	int64_t at = f.thread.start_ts_ns[t], ran = 0;
	for (uint32_t r = f.state_first[t]; r < f.state_first[t + 1]; r++) {
		if (f.state.start_ts_ns[r] != at)
			break;
		at += f.state.dur_ns[r];
		const uint8_t st = f.state.state[r];
		if (f.state.start_ts_ns[r] >= 400 && (st == WW_ST_RUNNING || st == WW_ST_RUNNING_USER || st == WW_ST_RUNNING_KERNEL))
			ran += f.state.dur_ns[r];
	}
	is_i64(at, 800, "its states have no hole");
	is_i64(ran, 400, "from the exec on it runs");
	ww_facts_release(&f);
	fake_free(k);
}

/* A process of which the trace has no dump: others' events tell what it is. */
static void test_no_dump(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;

	fake_event(k, 100, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	fake_event(k, 110, 0, "sched_process_fork",
		   "parent_tid=10 parent_pid=10 parent_comm='rec' child_tid=11 child_pid=10 child_comm='rec'");
	fake_event(k, 120, 0, "sched_switch", "prev_tid=10 next_tid=20 prev_state=1 next_prio=20");
	fake_event(k, 130, 0, "sched_process_exec", "filename='/bin/cc' tid=20 old_tid=20");
	fake_event(k, 140, 0, "sched_switch", "prev_tid=20 next_tid=31 prev_state=1 next_prio=20");
	fake_event(k, 150, 0, "sched_process_fork",
		   "parent_tid=31 parent_pid=30 parent_comm='srv' child_tid=32 child_pid=30 child_comm='srv'");
	fake_event(k, 160, 0, "sched_switch", "prev_tid=31 next_tid=30 prev_state=1 next_prio=20");
	fake_model(k, NULL, &f);
	is_str(nth(&f, 10, 0), "10 10 -1 100 ", "the parent's process, as the fork tells it");
	is_str(nth(&f, 11, 0), "11 10 10 110 rec", "and the child's, the same");
	is_str(nth(&f, 20, 0), "20 20 -1 100 cc", "who executes is the process of his number");
	is_str(nth(&f, 31, 0), "31 30 -1 100 ", "a thread that is not the main one");
	is_str(nth(&f, 30, 0), "30 30 -1 100 ", "and the main one, met later");
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	test_no_dump();
	test_exec_by_another(false);
	test_exec_by_another(true);
	test_born_before_switches();
	test_there_before();
	test_forks();
	return done_testing();
}
