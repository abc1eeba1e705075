/* model_cgroup.c - which cgroup a thread is in, on a trace laid by hand; and the time in each, where it was moved.
 *
 *   time   0      10      20      30      40      50     60
 *   10     /a ----------------------| moved to /b ---------      runs 5..60 on CPU 0
 *   11            forked, /a: a process of its own, which stays
 *   12                    cloned into /b                         (clone3 with CLONE_INTO_CGROUP)
 */
#include "fake_model.h"

static const char *cgroup_of(const struct ww_facts *f, int32_t tid)
{
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (f->thread.tid[t] == tid)
			return ww_facts_str(f, f->thread.cgroup[t]);
	return "no such thread";
}

static void lay(struct fake *k)
{
	fake_event(k, 1, 0, "whywait_cgroup", "tid=0 group=0 id=1 path='/'");
	fake_event(k, 1, 0, "whywait_cgroup", "tid=0 group=0 id=7 path='/a'");
	fake_event(k, 2, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='x' type=0 status=2");
	fake_event(k, 2, 0, "lttng_statedump_process_state", "tid=15 pid=10 ppid=1 name='x' type=0 status=2");
	fake_event(k, 3, 0, "whywait_cgroup", "tid=10 group=0 id=7 path=''");
	fake_event(k, 3, 0, "whywait_cgroup", "tid=15 group=0 id=7 path=''");
	fake_event(k, 4, 0, "whywait_cgroup", "tid=20 group=1 id=0 path='/hidden'");
	fake_event(k, 5, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	fake_event(k, 10, 0, "sched_process_fork", "parent_tid=10 parent_pid=10 child_tid=11 child_pid=11");
	fake_event(k, 15, 0, "whywait_cgroup", "tid=0 group=0 id=8 path='/b'");
	fake_event(k, 20, 0, "sched_process_fork", "parent_tid=10 parent_pid=10 child_tid=12 child_pid=12");
	fake_event(k, 20, 0, "whywait_cgroup", "tid=12 group=0 id=8 path=''");
	fake_event(k, 25, 0, "sched_process_fork", "parent_tid=10 parent_pid=10 child_tid=13 child_pid=13");
	fake_event(k, 25, 0, "whywait_cgroup", "tid=13 group=0 id=99 path=''");
	fake_event(k, 30, 0, "whywait_cgroup", "tid=10 group=1 id=8 path='/b'");
	fake_event(k, 60, 0, "sched_switch", "prev_tid=10 next_tid=0 prev_state=1 next_prio=20");
	fake_event(k, 61, 0, "whywait_cgroup", "tid=-5 group=1 id=8 path='/b'");
	fake_event(k, 61, 0, "whywait_cgroup", "tid=30 group=1 id=0 path=''");
}

int main(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_facts f;

	lay(k);
	fake_model(k, NULL, &f);
	is_str(cgroup_of(&f, 10), "/b", "moved");
	is_str(cgroup_of(&f, 15), "/b", "with it the other thread of its process");
	is_str(cgroup_of(&f, 11), "/a", "its child has another process and stays");
	is_str(cgroup_of(&f, 12), "/b", "cloned into another, known by its number");
	is_str(cgroup_of(&f, 13), "cgroup 99", "a number that nobody named");
	is_str(cgroup_of(&f, 20), "/hidden", "known by its path alone");
	uint32_t moves = 0;
	for (uint32_t i = 0; i < f.cgroup_move.n; i++)
		if (f.thread.tid[f.cgroup_move.thread[i]] == 10) {
			moves++;
			is_i64(f.cgroup_move.ts_ns[i], 30, "when it was moved");
			is_str(ww_facts_str(&f, f.cgroup_move.from[i]), "/a", "from where");
			is_str(ww_facts_str(&f, f.cgroup_move.to[i]), "/b", "to where");
		}
	is_i64(moves, 1, "it was moved once: to be told of it first is no move");
	ww_facts_release(&f);
	fake_free(k);
	return done_testing();
}
