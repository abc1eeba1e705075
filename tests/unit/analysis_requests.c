/* analysis_requests.c - in which page fault or call a request to the disk was made, on events laid by hand.
 *
 *   thread 10  |--fault 100--------------------------------------------|   |--fault 1000--|  |-read 2000-|  |-read 3000-|
 *   requests       110  130 (queued while the hypervisor had the CPU,    700    (1010 is      2010 (the same, as
 *                        as whywait_stolen at 200 tells)                 thread 11's, 1020    2100 tells)
 *                                                                        a write)
 */
#include "analysis/analysis.h"
#include "fake_model.h"

#define RQ(sector, nr, rwbs) "dev=8 sector=" sector " nr_sector=" nr " bytes=0 rwbs=" rwbs " tid=0"

static const struct ww_query everything = {
	.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX,
};

static void lay(struct fake *k)
{
	fake_event(k, 4, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='a' type=0 status=5");
	fake_event(k, 4, 0, "lttng_statedump_file_descriptor", "pid=10 fd=3 filename='/data/x'");
	fake_event(k, 5, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	fake_event(k, 6, 1, "sched_switch", "prev_tid=0 next_tid=11 prev_state=0 next_prio=20");
	fake_event(k, 100, 0, "x86_exceptions_page_fault_user", "address=4096 error_code=4");
	fake_event(k, 110, 0, "block_rq_insert", RQ("800", "8", "0"));
	fake_event(k, 130, 0, "block_rq_insert", RQ("808", "16", "0"));
	fake_event(k, 200, 0, "whywait_stolen", "ns=95");
	fake_event(k, 210, 0, "sched_switch", "prev_tid=10 next_tid=0 prev_state=2 next_prio=20");
	fake_event(k, 400, 1, "block_rq_complete", RQ("800", "8", "0"));
	fake_event(k, 410, 1, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, 420, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	fake_event(k, 500, 0, "whywait_fault_end", "tid=10 major=1 dev=8 ino=7 offset=0");
	fake_event(k, 700, 0, "block_rq_insert", RQ("900", "32", "0"));
	fake_event(k, 1000, 0, "x86_exceptions_page_fault_user", "address=8192 error_code=4");
	fake_event(k, 1010, 1, "block_rq_insert", RQ("1000", "64", "0"));
	fake_event(k, 1020, 0, "block_rq_insert", RQ("2000", "128", "1"));
	fake_event(k, 1100, 0, "whywait_fault_end", "tid=10 major=0 dev=8 ino=7 offset=4096");
	fake_event(k, 2000, 0, "syscall_entry_read", "fd=3 count=4096");
	fake_event(k, 2010, 0, "block_rq_insert", RQ("3000", "8", "0"));
	fake_event(k, 2050, 1, "block_rq_complete", RQ("3000", "8", "0"));
	fake_event(k, 2100, 0, "whywait_stolen", "ns=95");
	fake_event(k, 2200, 0, "syscall_exit_read", "ret=4096");
	fake_event(k, 3000, 0, "syscall_entry_read", "fd=3 count=100");
	fake_event(k, 3100, 0, "syscall_exit_read", "ret=100");
	fake_event(k, 3200, 0, "sched_switch", "prev_tid=10 next_tid=0 prev_state=1 next_prio=20");
	fake_event(k, 3200, 1, "sched_switch", "prev_tid=11 next_tid=0 prev_state=1 next_prio=20");
}

static int64_t cell(const struct ww_table *t, uint32_t row, const char *column)
{
	const struct ww_analysis *a = t->analysis;

	for (uint32_t c = 0; c < a->ncolumns; c++)
		if (!strcmp(a->columns[c].name, column))
			return t->cells[(size_t)row * a->ncolumns + c].i;
	return -9;
}

static void table_of(struct ww_arena *mem, const struct ww_facts *f, const char *name, uint32_t nrows, struct ww_table *ret)
{
	struct ww_err err = {0};

	TAP_NEED(ww_analysis_find(name)->run(mem, f, &everything, ret, &err) == 0, "%s: %s", name, err.message);
	TAP_NEED(ret->nrows == nrows, "%s has %u rows of %u", name, ret->nrows, nrows);
}

int main(void)
{
	struct fake *k = fake_new("whywait");
	struct ww_arena mem;
	struct ww_table t;
	struct ww_facts f;

	lay(k);
	ww_arena_init(&mem);
	fake_model(k, NULL, &f);
	table_of(&mem, &f, "faults", 2, &t);
	is_i64(cell(&t, 0, "read_bytes"), 24 * 512, "what the first read, also where the hypervisor had taken the CPU, and not what was read after it");
	is_i64(cell(&t, 1, "read_bytes"), 0, "nothing: neither what another thread read nor what it wrote");
	table_of(&mem, &f, "files", 1, &t);
	is_i64(cell(&t, 0, "read_bytes"), 4196, "two calls read the file");
	is_i64(cell(&t, 0, "cached_bytes"), 100, "the first from the disk, which was done before the call had to wait");
	ww_arena_release(&mem);
	ww_facts_release(&f);
	fake_free(k);
	return done_testing();
}
