/* analysis_numa.c - threads that the scheduler brings to their memory's node: events as perf and trace-cmd write them, laid
 * by hand (no machine of ours has two nodes), through the model to the table.
 */
#include "fake_model.h"
#include "analysis/analysis.h"

static int64_t cell(const struct ww_table *t, int32_t tid, const char *column)
{
	uint32_t at = 0, n = t->analysis->ncolumns;

	while (at < n && strcmp(t->analysis->columns[at].name, column))
		at++;
	for (uint32_t i = 0; at < n && i < t->nrows; i++)
		if (t->cells[i * n].i == tid)
			return t->cells[i * n + at].i;
	return -99;
}

int main(void)
{
	struct ww_query q = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	struct fake *k = fake_new("lttng-modules 2.13");
	struct ww_err err = {0};
	struct ww_arena mem;
	struct ww_facts f;
	struct ww_table t;

	fake_event(k, 5, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	fake_event(k, 10, 0, "sched_stick_numa", "src_pid=10 src_tgid=10 src_ngid=0 src_cpu=0 src_nid=0 dst_pid=0 dst_tgid=0 "
		   "dst_ngid=0 dst_cpu=8 dst_nid=1");
	fake_event(k, 20, 0, "sched_move_numa", "pid=10 tgid=10 ngid=0 src_cpu=0 src_nid=0 dst_cpu=8 dst_nid=1");
	fake_event(k, 30, 0, "sched_swap_numa", "src_pid=11 src_tgid=11 src_ngid=0 src_cpu=1 src_nid=0 dst_pid=12 dst_tgid=12 "
		   "dst_ngid=0 dst_cpu=9 dst_nid=1");
	fake_event(k, 40, 0, "sched_stick_numa", "src_pid=10 src_tgid=10 src_ngid=0 src_cpu=8 src_nid=0 dst_pid=0 dst_tgid=0 "
		   "dst_ngid=0 dst_cpu=0 dst_nid=1");
	fake_event(k, 50, 0, "sched_move_numa", "pid=-1 tgid=10 ngid=0 src_cpu=0 src_nid=0 dst_cpu=8 dst_nid=1");
	ww_arena_init(&mem);
	fake_model(k, NULL, &f);
	TAP_NEED(ww_analysis_find("sched_numa")->run(&mem, &f, &q, &t, &err) == 0, "the table is made");
	is_i64(t.nrows, 3, "three threads");
	is_i64(cell(&t, 10, "moved"), 1, "moved once");
	is_i64(cell(&t, 10, "stuck"), 2, "had to stay twice");
	is_i64(cell(&t, 10, "from_node"), 0, "from node 0");
	is_i64(cell(&t, 10, "to_node"), 1, "to node 1");
	is_i64(cell(&t, 11, "swapped"), 1, "changed places");
	is_i64(cell(&t, 12, "swapped"), 1, "so did the other one");
	is_i64(cell(&t, 12, "from_node"), 1, "which came from there");
	q.to_ts_ns = 15;
	TAP_NEED(ww_analysis_find("sched_numa")->run(&mem, &f, &q, &t, &err) == 0, "the table of a range is made");
	is_i64(cell(&t, 10, "stuck"), 1, "within the range once");
	is_i64(t.nrows, 1, "and nobody else");
	ww_arena_release(&mem);
	ww_facts_release(&f);
	fake_free(k);
	return done_testing();
}
