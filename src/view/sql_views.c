/* sql_views.c - what is a table of its own (machine, cpu), and Perfetto's tables that no fact equals, as views.
 *
 * To add a view: a row of the table below. Its columns must bear the names and units that Perfetto gives them.
 * source https://perfetto.dev/docs/analysis/sql-tables, stdlib prelude and linux.irqs
 */
#include "view/sql_private.h"

/* A return alone is no slice, as in Perfetto: its call's begin is not in the trace, or it is a new thread's from the fork
 * that its parent called. WW_SK_ENTRY | WW_SK_REGS. */
#define BEGUN "known & 17"
_Static_assert((WW_SK_ENTRY | WW_SK_REGS) == 17, "BEGUN");

const struct ww_sql_view ww_sql_views[] = {
	/* Perfetto's other name for it, sched, is an analysis here. */
	{"sched_slice", "runs of threads on CPUs, as Perfetto's",
	 "SELECT id, ts, dur, cpu, utid, end_state, priority, ucpu(machine_id, cpu) AS ucpu, ts + dur AS ts_end, "
	 "machine_id FROM run"},
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
	 "SELECT ts, dur, name, id, NULL AS parent_id, cpu FROM interrupt WHERE kind <> 'softirq'"},
	{"linux_soft_irqs", "softirqs, as Perfetto's linux.irqs",
	 "SELECT ts, dur, name, id, cpu FROM interrupt WHERE kind = 'softirq'"},
	{"linux_irqs", "both",
	 "SELECT ts, dur, name, id, NULL AS parent_id, kind = 'softirq' AS is_soft_irq, cpu FROM interrupt"},
	{"trace_bounds", "when the traces begin and end",
	 "SELECT trace_start() AS start_ts, trace_end() AS end_ts"},
	{NULL, NULL, NULL},
};

static int make_cpus(struct ww_sql *q)
{
	sqlite3_stmt *st = NULL;
	int64_t id = 0;
	int rc = sqlite3_exec(q->db, "CREATE TABLE cpu(id INTEGER PRIMARY KEY, ucpu INTEGER, cpu INTEGER, machine_id INTEGER)",
			      NULL, NULL, NULL);

	if (!rc)
		rc = sqlite3_prepare_v2(q->db, "INSERT INTO cpu VALUES (?1, ?1, ?2, ?3)", -1, &st, NULL);
	for (uint32_t h = 0; h < q->nhosts && !rc; h++)
		for (uint32_t cpu = 0; cpu < q->host[h].f->host.ncpus && !rc; cpu++, id++) {
			sqlite3_bind_int64(st, 1, id);
			sqlite3_bind_int64(st, 2, cpu);
			sqlite3_bind_int64(st, 3, h);
			rc = sqlite3_step(st) == SQLITE_DONE ? sqlite3_reset(st) : sqlite3_reset(st) | SQLITE_ERROR;
		}
	sqlite3_finalize(st);
	return rc;
}

static void bind_text(sqlite3_stmt *st, int i, const char *s)
{
	if (s && *s)
		sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
}

static int make_machines(struct ww_sql *q)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_exec(q->db,
			      "CREATE TABLE machine(id INTEGER PRIMARY KEY, name TEXT, release TEXT, num_cpus INTEGER, "
			      "trace TEXT, tracer TEXT, clock TEXT, clock_offset_ns INTEGER, epoch_known INTEGER, "
			      "start_ts INTEGER, end_ts INTEGER, lost_events INTEGER, bad_packets INTEGER, "
			      "gap_ns INTEGER, accuracy TEXT, correction_ns INTEGER, drift_ppb REAL, bound_ns INTEGER)",
			      NULL, NULL, NULL);

	if (!rc)
		rc = sqlite3_prepare_v2(q->db, "INSERT INTO machine VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &st, NULL);
	for (uint32_t h = 0; h < q->nhosts && !rc; h++) {
		const struct ww_facts *f = q->host[h].f;
		const struct ww_correction *c = &q->set->corrections[h];
		int i = 1;
		sqlite3_clear_bindings(st);
		sqlite3_bind_int64(st, i++, h);
		bind_text(st, i++, f->host.name);
		bind_text(st, i++, f->host.kernel_release);
		sqlite3_bind_int64(st, i++, f->host.ncpus);
		bind_text(st, i++, f->host.trace_path);
		bind_text(st, i++, f->host.tracer);
		bind_text(st, i++, f->host.clock_name);
		sqlite3_bind_int64(st, i++, ww_set_epoch_offset(f));
		sqlite3_bind_int(st, i++, f->host.epoch_known);
		sqlite3_bind_int64(st, i++, ww_sql_time(q, h, f->begin_ts_ns));
		sqlite3_bind_int64(st, i++, ww_sql_time(q, h, f->end_ts_ns));
		sqlite3_bind_int64(st, i++, (int64_t)f->loss.lost_events);
		sqlite3_bind_int64(st, i++, (int64_t)f->loss.bad_packets);
		sqlite3_bind_int64(st, i++, f->loss.gap_ns);
		bind_text(st, i++, ww_accuracy_name(c->accuracy));
		sqlite3_bind_int64(st, i++, c->offset_ns);
		sqlite3_bind_double(st, i++, (double)c->drift_e15 / 1e6);
		if (c->bound_ns >= 0)
			sqlite3_bind_int64(st, i, c->bound_ns);
		rc = sqlite3_step(st) == SQLITE_DONE ? sqlite3_reset(st) : sqlite3_reset(st) | SQLITE_ERROR;
	}
	sqlite3_finalize(st);
	return rc;
}

int ww_sql_views_make(struct ww_sql *q)
{
	int rc = make_cpus(q);

	if (!rc)
		rc = make_machines(q);
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
