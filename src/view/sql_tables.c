/* sql_tables.c - the tables that are neither facts nor an analysis of one trace, and are filled at the beginning: the traces,
 * their CPUs, and how their clocks were made one, which is what `whywait sync` prints.
 */
#include "view/sql_private.h"

static void bind_text(sqlite3_stmt *st, int i, const char *s)
{
	if (s && *s)
		sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
}

static void bind_bound(sqlite3_stmt *st, int i, int64_t bound_ns)
{
	if (bound_ns >= 0)
		sqlite3_bind_int64(st, i, bound_ns);
}

/* What is bound is a row; SQLite's code. */
static int put_row(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st) == SQLITE_DONE ? sqlite3_reset(st) : sqlite3_reset(st) | SQLITE_ERROR;

	sqlite3_clear_bindings(st);
	return rc;
}

static int fill_cpus(struct ww_sql *q, sqlite3_stmt *st)
{
	int64_t id = 0;
	int rc = 0;

	for (uint32_t h = 0; h < q->nhosts && !rc; h++)
		for (uint32_t cpu = 0; cpu < q->host[h].f->host.ncpus && !rc; cpu++, id++) {
			sqlite3_bind_int64(st, 1, id);
			sqlite3_bind_int64(st, 2, id);
			sqlite3_bind_int64(st, 3, cpu);
			sqlite3_bind_int64(st, 4, h);
			rc = put_row(st);
		}
	return rc;
}

static int fill_machines(struct ww_sql *q, sqlite3_stmt *st)
{
	int rc = 0;

	for (uint32_t h = 0; h < q->nhosts && !rc; h++) {
		const struct ww_facts *f = q->host[h].f;
		const struct ww_correction *c = &q->set->corrections[h];
		int i = 1;
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
		bind_bound(st, i, c->bound_ns);
		rc = put_row(st);
	}
	return rc;
}

static int fill_sync(struct ww_sql *q, sqlite3_stmt *st)
{
	const struct ww_set *s = q->set;
	int rc = 0;

	for (uint32_t h = 0; h < s->nhosts && !rc; h++) {
		const struct ww_correction *c = &s->corrections[h];
		int i = 1;
		sqlite3_bind_int64(st, i++, h);
		bind_text(st, i++, s->who[h].name);
		bind_text(st, i++, s->who[h].path);
		sqlite3_bind_int64(st, i++, c->t0_ns);
		sqlite3_bind_int64(st, i++, c->offset_ns);
		sqlite3_bind_double(st, i++, (double)c->drift_e15 / 1e9);
		bind_bound(st, i++, c->bound_ns);
		bind_text(st, i++, ww_accuracy_name(c->accuracy));
		sqlite3_bind_int(st, i++, h == s->reference);
		if (c->via != WW_NONE)
			sqlite3_bind_int64(st, i, c->via);
		sqlite3_bind_int64(st, i + 1, (int64_t)s->who[h].packets);
		rc = put_row(st);
	}
	return rc;
}

static int fill_sync_pairs(struct ww_sql *q, sqlite3_stmt *st)
{
	int rc = 0;

	for (uint32_t k = 0; k < q->set->npairs && !rc; k++) {
		const struct ww_pair *p = &q->set->pairs[k];
		int i = 1;
		sqlite3_bind_int64(st, i++, p->a);
		sqlite3_bind_int64(st, i++, p->b);
		sqlite3_bind_int64(st, i++, (int64_t)p->matched);
		sqlite3_bind_int64(st, i++, (int64_t)p->unmatched);
		sqlite3_bind_int64(st, i++, (int64_t)p->violations_after);
		sqlite3_bind_int64(st, i++, p->violation_max_ns);
		bind_bound(st, i++, p->accuracy == WW_AC_NONE ? -1 : p->bound_ns);
		bind_text(st, i, ww_accuracy_name(p->accuracy));
		rc = put_row(st);
	}
	return rc;
}

static int fill_sync_bends(struct ww_sql *q, sqlite3_stmt *st)
{
	int rc = 0;

	for (uint32_t h = 0; h < q->set->nhosts; h++)
		for (uint32_t k = 0; k < q->set->corrections[h].nbends && !rc; k++) {
			sqlite3_bind_int64(st, 1, h);
			sqlite3_bind_int64(st, 2, q->set->corrections[h].bends[k].t_ns);
			sqlite3_bind_int64(st, 3, q->set->corrections[h].bends[k].ref_ns);
			rc = put_row(st);
		}
	return rc;
}

const struct ww_sql_filled ww_sql_filled[] = {
	{"machine", "the traces: whose they are, their clocks, what was lost",
	 "id INTEGER PRIMARY KEY, name TEXT, release TEXT, num_cpus INTEGER, trace TEXT, tracer TEXT, clock TEXT, "
	 "clock_offset_ns INTEGER, epoch_known INTEGER, start_ts INTEGER, end_ts INTEGER, lost_events INTEGER, "
	 "bad_packets INTEGER, gap_ns INTEGER, accuracy TEXT, correction_ns INTEGER, drift_ppb REAL, bound_ns INTEGER", 18, fill_machines},
	{"cpu", "the CPUs of every machine", "id INTEGER PRIMARY KEY, ucpu INTEGER, cpu INTEGER, machine_id INTEGER", 4, fill_cpus},
	{"sync", "whywait sync: the clock of each machine, how it is made the reference's, and how well; the columns are those of its JSON, but "
		 "via is a machine_id",
	 "machine_id INTEGER PRIMARY KEY, host TEXT, trace TEXT, t0_ns INTEGER, offset_ns INTEGER, drift_ppm REAL, bound_ns INTEGER, "
	 "accuracy TEXT, reference INTEGER, via INTEGER, packets INTEGER", 11, fill_sync},
	{"sync_pair", "its pairs: two machines that share packets; a and b are machine_ids",
	 "a INTEGER, b INTEGER, matched INTEGER, unmatched INTEGER, violations_after INTEGER, violation_max_ns INTEGER, bound_ns INTEGER, "
	 "accuracy TEXT", 8, fill_sync_pairs},
	{"sync_bend", "its bends: where a clock that was slewed changes its speed", "machine_id INTEGER, t_ns INTEGER, reference_ns INTEGER", 3,
	 fill_sync_bends},
	{NULL, NULL, NULL, 0, NULL},
};

bool ww_sql_is_filled(const char *table)
{
	for (const struct ww_sql_filled *t = ww_sql_filled; t->name; t++)
		if (!strcmp(table, t->name))
			return true;
	return false;
}

static int make_table(struct ww_sql *q, const struct ww_sql_filled *t)
{
	char create[600], insert[160];
	sqlite3_stmt *st = NULL;

	WW_ASSERT(!ww_analysis_find(t->name)); /* it would be hidden */
	int n = snprintf(create, sizeof(create), "CREATE TABLE %s(%s)", t->name, t->columns);
	WW_ASSERT((size_t)n < sizeof(create));
	n = snprintf(insert, sizeof(insert), "INSERT INTO %s VALUES (?", t->name);
	for (int i = 1; i < t->ncolumns; i++)
		n += snprintf(insert + n, sizeof(insert) - (size_t)n, ",?");
	snprintf(insert + n, sizeof(insert) - (size_t)n, ")");
	int rc = sqlite3_exec(q->db, create, NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(q->db, insert, -1, &st, NULL);
	if (!rc)
		rc = t->fill(q, st);
	sqlite3_finalize(st);
	return rc;
}

int ww_sql_tables_make(struct ww_sql *q)
{
	int rc = 0;

	for (const struct ww_sql_filled *t = ww_sql_filled; t->name && !rc; t++)
		rc = make_table(q, t);
	return rc;
}
