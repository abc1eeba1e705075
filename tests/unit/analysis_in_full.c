/* analysis_in_full.c - of which threads all calls were recorded, by what the recording says of itself; and that rows of
 * `syscalls` and `files` do not mix these with others. On a trace laid by hand:
 *
 *   10 (the command's)   one write and one read, entries and exits; its child 12 does nothing
 *   11 (of its process)  was there before, and makes no call
 *   20                   waits in a read, which is known from its registers
 *   30                   the recorder, in its own process
 */
#include "analysis/analysis.h"
#include "fake_model.h"

static void lay(struct fake *k, bool light)
{
	fake_event(k, 1, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='cmd' type=0 status=5");
	fake_event(k, 1, 0, "lttng_statedump_process_state", "tid=11 pid=10 ppid=1 name='cmd' type=0 status=2");
	fake_event(k, 1, 0, "lttng_statedump_process_state", "tid=20 pid=20 ppid=1 name='other' type=0 status=5");
	fake_event(k, 2, 0, "whywait_file", "kind=1 dev=12 ino=77 name='/f'");
	fake_event(k, 3, 0, "whywait_recorder", "tid=30");
	fake_event(k, 4, 0, "whywait_target", "tid=10 pid=10 begin=1 status=0 comm='cmd' cmdline='cmd'");
	fake_event(k, 5, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	fake_event(k, 6, 0, "sched_process_fork", "parent_tid=10 parent_pid=10 child_tid=12 child_pid=12");
	if (!light) {
		fake_event(k, 10, 0, "syscall_entry_write", "fd=1 count=7");
		fake_event(k, 14, 0, "syscall_exit_write", "ret=7");
		fake_event(k, 20, 0, "syscall_entry_read", "fd=1 count=7");
		fake_event(k, 21, 0, "syscall_exit_read", "ret=-9");
	}
	fake_event(k, 25, 0, "whywait_block", "tid=10 nr=-1 abi=0 flags=0 fd_kind=0 dev=0 ino=0 arg0=0 arg1=0 arg2=0");
	fake_event(k, 25, 0, "sched_switch", "prev_tid=10 next_tid=20 prev_state=1 next_prio=20");
	fake_event(k, 30, 0, "whywait_block", "tid=20 nr=0 abi=0 flags=0 fd_kind=1 dev=12 ino=77 arg0=3 arg1=1 arg2=8");
	fake_event(k, 30, 0, "sched_switch", "prev_tid=20 next_tid=0 prev_state=1 next_prio=20");
	fake_event(k, 70, 0, "sched_waking", "tid=20 target_cpu=0");
	fake_event(k, 71, 0, "sched_switch", "prev_tid=0 next_tid=20 prev_state=0 next_prio=20");
	fake_event(k, 80, 0, "sched_switch", "prev_tid=20 next_tid=0 prev_state=1 next_prio=20");
}

static uint32_t flags_of(const struct ww_facts *f, int32_t tid)
{
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (f->thread.tid[t] == tid)
			return f->thread.flags[t] & (WW_TF_CALLS | WW_TF_FAULTS);
	return 1;
}

static int64_t cell(const struct ww_table *t, const char *column, uint32_t row)
{
	for (uint32_t c = 0; c < t->analysis->ncolumns; c++)
		if (!strcmp(t->analysis->columns[c].name, column))
			return t->cells[row * t->analysis->ncolumns + c].i;
	return -99;
}

static const struct ww_query everybody = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};

static void check_rows(const struct ww_facts *f)
{
	const struct ww_query command = {.tid = -1, .pid = -1, .command_only = true, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX},
			      other = {.tid = 20, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	const struct ww_analysis *a = ww_analysis_find("syscalls");
	struct ww_lack lacks[WW_LACK_N];
	struct ww_arena mem;
	struct ww_table t;

	ww_arena_init(&mem);
	TAP_NEED(!a->run(&mem, f, &everybody, &t, NULL) && t.nrows == 3, "syscalls: write, read, and the other's read");
	is_i64(cell(&t, "count", 1), 1, "of the command's read the number");
	is_i64(cell(&t, "errors", 1), 1, "and how many failed");
	is_i64(cell(&t, "count", 2), WW_NO_VALUE, "of the other's nobody knows how many there were");
	is_i64(cell(&t, "recorded", 2), 1, "one is in the trace");
	is_i64(cell(&t, "errors", 2), WW_NO_VALUE, "and what it returned is not");
	is_i64(cell(&t, "other_blocked_ns", 2), 40, "how long it waited is");
	is_i64(ww_analysis_lacks(f, a, &everybody, lacks), 1, "which is said");
	is_i64(lacks[0].threads, 1, "of one thread: not of the recorder, nor of the kernel");
	is_i64(ww_analysis_lacks(f, a, &other, lacks), 1, "also when asked for it");
	is_i64(ww_analysis_lacks(f, a, &command, lacks), 0, "not of the command");
	a = ww_analysis_find("faults");
	is_i64(ww_analysis_lacks(f, a, &other, lacks), 1, "its page faults are not recorded either");
	is_i64(lacks[0].all, 1, "in this trace nobody's are");
	a = ww_analysis_find("files");
	TAP_NEED(!a->run(&mem, f, &everybody, &t, NULL) && t.nrows == 1, "files: only the other's is known");
	is_i64(cell(&t, "reads", 0), WW_NO_VALUE, "nobody knows how often it read");
	is_i64(cell(&t, "read_bytes", 0), WW_NO_VALUE, "nor how much");
	is_i64(cell(&t, "recorded", 0), 1, "once is in the trace");
	a = ww_analysis_find("usage_cgroup");
	ok(!a->run(&mem, f, &everybody, &t, NULL) && !t.nrows && ww_analysis_lacks(f, a, &everybody, lacks) == 1 && lacks[0].all,
	   "in which cgroups the threads were nobody knows: that is no cgroup which had all the time");
	ww_arena_release(&mem);
}

static void try(const char *says, bool light, uint32_t command, uint32_t other, const char *name)
{
	const struct ww_env env = {"whywait_in_full", says};
	struct fake *k = fake_new("whywait");
	struct ww_facts f;

	lay(k, light);
	k->base.info.env = &env;
	k->base.info.nenv = says ? 1 : 0;
	fake_model(k, NULL, &f);
	ok(flags_of(&f, 10) == command, "%s: the command", name);
	ok(flags_of(&f, 11) == command, "%s: another thread of its process", name);
	ok(flags_of(&f, 12) == command, "%s: its child", name);
	ok(flags_of(&f, 20) == other, "%s: another process", name);
	ok(flags_of(&f, 30) == 0, "%s: the recorder", name);
	if (says && !strcmp(says, "tree") && !light)
		check_rows(&f);
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	const uint32_t all = WW_TF_CALLS | WW_TF_FAULTS;

	try("tree", false, all, 0, "only the command's tree");
	try("all", false, all, all, "everybody");
	try(NULL, false, all, 0, "an older recording, that does not say it");
	try("tree", true, WW_TF_FAULTS, 0, "--light");
	return done_testing();
}
