/* sql_views.c - Perfetto's tables that no fact equals, as views.
 *
 * To add a view: a row of the table below. Its columns must bear the names and units that Perfetto gives them.
 * source https://perfetto.dev/docs/analysis/sql-tables, stdlib prelude and linux.irqs
 */
#include "view/sql_private.h"

/* A return alone is no slice, as in Perfetto: its call's begin is not in the trace, or it is a new thread's from the fork
 * that its parent called. WW_SK_ENTRY | WW_SK_REGS. */
#define BEGUN "known & 17"
#define WHERE_IT_WAS "ucpu(machine_id, cpu) AS ucpu, machine_id"
_Static_assert((WW_SK_ENTRY | WW_SK_REGS) == 17, "BEGUN");

const struct ww_sql_view ww_sql_views[] = {
	/* Perfetto's other name for it, sched, is an analysis here. */
	{"sched_slice", "runs of threads on CPUs, as Perfetto's",
	 "SELECT id, ts, dur, cpu, utid, end_state, priority, ts + dur AS ts_end, " WHERE_IT_WAS " FROM run"},
	{"thread_state", "states of threads, as Perfetto's: Running (one row a run on a CPU), R, R+; of a blocked or stopped thread "
			 "the state with which it left its CPU (S, D, T ...; NULL: not seen), io_wait (for a disk; NULL: not known for what) and, with record --stacks, "
			 "blocked_function. Unknown states are left out. The table "
			 "state says more",
	 NULL}, /* sql_thread_state.c */
	{"slice", "system calls as Perfetto's slices; a track is a thread. Not those of which the trace has the return alone (see syscall.known)",
	 "SELECT id, ts, dur, utid AS track_id, 'syscall' AS category, name, 0 AS depth, NULL AS parent_id, "
	 "NULL AS arg_set_id, machine_id FROM syscall WHERE " BEGUN},
	{"thread_track", "the track of each thread: its utid",
	 "SELECT utid AS id, 'thread_track' AS type, name, utid, machine_id FROM thread"},
	{"thread_slice", "the same with who made them",
	 "SELECT s.id, s.ts, s.dur, 'syscall' AS category, s.name, s.utid AS track_id, t.name AS thread_name, s.utid, t.tid, "
	 "t.is_main_thread, p.name AS process_name, t.upid, t.pid, 0 AS depth, s.machine_id "
	 "FROM syscall s JOIN thread t ON t.id = s.utid LEFT JOIN process p ON p.id = t.upid WHERE " BEGUN},
	{"linux_hard_irqs", "hard interrupts, as Perfetto's linux.irqs",
	 "SELECT ts, dur, name, id, NULL AS parent_id, cpu, " WHERE_IT_WAS " FROM interrupt WHERE kind <> 'softirq'"},
	{"linux_soft_irqs", "softirqs, as Perfetto's linux.irqs",
	 "SELECT ts, dur, name, id, cpu, " WHERE_IT_WAS " FROM interrupt WHERE kind = 'softirq'"},
	{"linux_irqs", "both",
	 "SELECT ts, dur, name, id, NULL AS parent_id, kind = 'softirq' AS is_soft_irq, cpu, " WHERE_IT_WAS " FROM interrupt"},
	{"trace_bounds", "when the traces begin and end",
	 "SELECT trace_start() AS start_ts, trace_end() AS end_ts"},
	{NULL, NULL, NULL},
};

int ww_sql_views_make(struct ww_sql *q)
{
	int rc = 0;

	for (const struct ww_sql_view *v = ww_sql_views; v->name && !rc; v++) {
		if (!v->text)
			continue;
		WW_ASSERT(!ww_analysis_find(v->name)); /* it would be hidden */
		char *text = sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS %s", v->name, v->text);
		rc = text ? sqlite3_exec(q->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(text);
	}
	return rc;
}
