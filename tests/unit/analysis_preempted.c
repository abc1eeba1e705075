/* analysis_preempted.c - who took the CPU from whom, of threads whose priority changes while they have it: a switch tells
 * both priorities at that moment, and what the preempted thread had when it came is another one.
 */
#include "fake_model.h"
#include "analysis/analysis.h"

static const char *prio(int64_t v)
{
	static char text[4][12];
	static int turn;

	snprintf(text[++turn & 3], 12, "%d", (int)v);
	return v == WW_NO_VALUE ? "?" : text[turn & 3];
}

/* "11 at 105 <- 10 at 120: 2 times, 0 inversions" of a row. */
static const char *row(const struct ww_table *t, uint32_t i)
{
	static char text[120];
	const union ww_cell *c = &t->cells[i * t->analysis->ncolumns];

	if (i >= t->nrows)
		return "none";
	/* by_tid, by_comm, by_prio, of_tid, of_comm, of_prio, count, waited_ns, inversions */
	snprintf(text, sizeof(text), "%d at %s <- %d at %s: %d times, %d inversions", (int)c[0].i, prio(c[2].i), (int)c[3].i,
		 prio(c[5].i), (int)c[6].i, (int)c[8].i);
	return text;
}

int main(void)
{
	struct ww_query q = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	struct fake *k = fake_new("lttng-modules 2.13");
	struct ww_err err = {0};
	struct ww_arena mem;
	struct ww_facts f;
	struct ww_table t;

	/* 10 comes as SCHED_FIFO (89) and makes itself SCHED_OTHER (120): 11 (nice -15: 105) may well preempt it. */
	fake_event(k, 100, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 prev_prio=20 next_prio=-11");
	fake_event(k, 200, 0, "sched_switch", "prev_tid=10 next_tid=11 prev_state=0 prev_prio=20 next_prio=5");
	fake_event(k, 300, 0, "sched_switch", "prev_tid=11 next_tid=10 prev_state=1 prev_prio=5 next_prio=-11");
	fake_event(k, 310, 0, "sched_switch", "prev_tid=10 next_tid=11 prev_state=256 prev_prio=20 next_prio=5");
	/* The other way round: it came as SCHED_OTHER, was boosted, and lost the CPU to a less urgent one. */
	fake_event(k, 400, 0, "sched_switch", "prev_tid=11 next_tid=10 prev_state=1 prev_prio=5 next_prio=20");
	fake_event(k, 420, 0, "sched_switch", "prev_tid=10 next_tid=11 prev_state=0 prev_prio=-11 next_prio=5");
	fake_event(k, 425, 0, "sched_switch", "prev_tid=11 next_tid=0 prev_state=1 prev_prio=5 next_prio=20");
	fake_event(k, 430, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 prev_prio=20 next_prio=20");
	/* Nobody tells what was recorded without priorities. */
	fake_event(k, 500, 1, "sched_switch", "prev_tid=0 next_tid=20 prev_state=0");
	fake_event(k, 600, 1, "sched_switch", "prev_tid=20 next_tid=21 prev_state=0");
	fake_event(k, 602, 1, "sched_switch", "prev_tid=21 next_tid=20 prev_state=1");
	fake_event(k, 610, 1, "sched_switch", "prev_tid=20 next_tid=0 prev_state=1");
	ww_arena_init(&mem);
	fake_model(k, NULL, &f);
	TAP_NEED(ww_analysis_find("sched_pairs")->run(&mem, &f, &q, &t, &err) == 0, "the table is made");
	is_i64(t.nrows, 3, "a row of each two threads and their priorities");
	is_str(row(&t, 0), "11 at 105 <- 10 at 120: 2 times, 0 inversions", "by a more urgent one, for 10 was no longer at 89");
	is_str(row(&t, 1), "11 at 105 <- 10 at 89: 1 times, 1 inversions", "the boosted one lost it to a less urgent one");
	is_str(row(&t, 2), "21 at ? <- 20 at ?: 1 times, 0 inversions", "of what nobody knows no inversion is made");
	ww_arena_release(&mem);
	ww_facts_release(&f);
	fake_free(k);
	return done_testing();
}
