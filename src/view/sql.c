/* sql.c - the database: opened in memory, filled with virtual tables, closed to everything but reading.
 *
 * A query is not trusted. It can define views for the rest of the session; files, other databases, extensions, the
 * settings of SQLite and every change are refused by the authorizer, sizes are limited.
 */
#include "base/units.h"
#include "view/sql_private.h"

uint32_t ww_sql_host_of(const struct ww_sql *q, uint32_t fact, int64_t id, uint32_t *ret_row)
{
	for (uint32_t h = 0; h < q->nhosts; h++) {
		int64_t row = id - q->host[h].base[fact];
		if (row >= 0 && row < q->host[h].n[fact]) {
			*ret_row = (uint32_t)row;
			return h;
		}
	}
	return WW_NONE;
}

/* ---- what a query may do ---- */

static bool is_schema(const char *table)
{
	static const char *const names[] = {"sqlite_master", "sqlite_temp_master", "sqlite_schema", "sqlite_temp_schema"};

	for (size_t i = 0; i < WW_ARRAY_SIZE(names); i++)
		if (table && !strcmp(table, names[i]))
			return true;
	return false;
}

static bool pragma_may(const char *name)
{
	static const char *const names[] = {"table_info", "table_xinfo", "table_list", "function_list", "module_list",
					    "pragma_list", "collation_list", "compile_options"};

	for (size_t i = 0; i < WW_ARRAY_SIZE(names); i++)
		if (!strcasecmp(name, names[i]))
			return true;
	return false;
}

static int authorize(void *ctx, int action, const char *a, const char *b, const char *db, const char *trigger)
{
	const struct ww_sql *q = ctx;

	if (!q->sealed)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
	case SQLITE_FUNCTION: /* load_extension() is off in the library */
	case SQLITE_CREATE_VIEW:
	case SQLITE_CREATE_TEMP_VIEW:
	case SQLITE_DROP_VIEW:
	case SQLITE_DROP_TEMP_VIEW:
		return SQLITE_OK;
	case SQLITE_INSERT: /* of a view's definition; by hand SQLite itself refuses it */
	case SQLITE_UPDATE:
		return is_schema(a) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_DELETE: /* dropping a view asks for this of the view; of the others only these have rows to delete */
		return ww_sql_is_filled(a) ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return pragma_may(a) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static void confine(struct ww_sql *q)
{
	static const struct {
		int what, limit;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, 100000000}, {SQLITE_LIMIT_SQL_LENGTH, 1000000}, {SQLITE_LIMIT_EXPR_DEPTH, 500},
		{SQLITE_LIMIT_COMPOUND_SELECT, 200}, {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
		{SQLITE_LIMIT_ATTACHED, 0}, {SQLITE_LIMIT_WORKER_THREADS, 0}, {SQLITE_LIMIT_VDBE_OP, 10000000},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(limits); i++)
		sqlite3_limit(q->db, limits[i].what, limits[i].limit);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
}

/* ---- functions ---- */

static void trace_start(sqlite3_context *ctx, int nvals, sqlite3_value **vals)
{
	sqlite3_result_int64(ctx, ((const struct ww_sql *)sqlite3_user_data(ctx))->begin_ns);
}

static void trace_end(sqlite3_context *ctx, int nvals, sqlite3_value **vals)
{
	sqlite3_result_int64(ctx, ((const struct ww_sql *)sqlite3_user_data(ctx))->end_ns);
}

static void trace_dur(sqlite3_context *ctx, int nvals, sqlite3_value **vals)
{
	const struct ww_sql *q = sqlite3_user_data(ctx);

	sqlite3_result_int64(ctx, q->end_ns - q->begin_ns);
}

static void rows_visited(sqlite3_context *ctx, int nvals, sqlite3_value **vals)
{
	sqlite3_result_int64(ctx, (int64_t)((const struct ww_sql *)sqlite3_user_data(ctx))->visited);
}

int64_t ww_sql_ucpu(const struct ww_sql *q, uint32_t host, int64_t cpu)
{
	for (uint32_t h = 0; h < host; h++)
		cpu += q->host[h].f->host.ncpus;
	return cpu;
}

static void ucpu(sqlite3_context *ctx, int nvals, sqlite3_value **vals)
{
	const struct ww_sql *q = sqlite3_user_data(ctx);
	int64_t machine = sqlite3_value_int64(vals[0]);

	if (sqlite3_value_type(vals[1]) == SQLITE_NULL || machine < 0 || machine >= q->nhosts)
		return;
	sqlite3_result_int64(ctx, ww_sql_ucpu(q, (uint32_t)machine, sqlite3_value_int(vals[1])));
}

/* 2668000 -> "2.668 ms" */
static void format_dur(sqlite3_context *ctx, int nvals, sqlite3_value **vals)
{
	char buf[32];

	if (sqlite3_value_numeric_type(vals[0]) == SQLITE_INTEGER || sqlite3_value_numeric_type(vals[0]) == SQLITE_FLOAT)
		sqlite3_result_text(ctx, ww_dur_format(sqlite3_value_int64(vals[0]), buf, sizeof(buf)), -1,
				    SQLITE_TRANSIENT);
}

static int make_functions(struct ww_sql *q)
{
	static const struct {
		const char *name;
		int nvals;
		bool constant;
		void (*fn)(sqlite3_context *ctx, int nvals, sqlite3_value **vals);
	} functions[] = {
		{"trace_start", 0, true, trace_start}, {"trace_end", 0, true, trace_end}, {"trace_dur", 0, true, trace_dur},
		{"rows_visited", 0, false, rows_visited}, {"ucpu", 2, true, ucpu}, {"format_dur", 1, true, format_dur},
	};
	int rc = 0;

	for (size_t i = 0; i < WW_ARRAY_SIZE(functions) && !rc; i++)
		rc = sqlite3_create_function_v2(q->db, functions[i].name, functions[i].nvals,
						SQLITE_UTF8 | SQLITE_INNOCUOUS | (functions[i].constant ? SQLITE_DETERMINISTIC : 0),
						q, functions[i].fn, NULL, NULL, NULL);
	return rc;
}

/* ---- opening ---- */

int ww_sql_declare(sqlite3 *db, sqlite3_str *s, char **ret_err)
{
	sqlite3_str_appendall(s, ")");
	char *sql = sqlite3_str_finish(s);
	int rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (rc)
		*ret_err = sqlite3_mprintf("%s", sqlite3_errmsg(db));
	else
		sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	return rc;
}

/* Every struct of columns begins with its number of rows: number_rows reads it so. */
#define WW_FACT(name, doc) _Static_assert(!offsetof(struct ww_##name##_cols, n), "n comes first");
#define WW_COL(fact, type, col, sql, unit, doc)
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* The rows of each host, and the ids that they get: those of a host follow those of the host before it. */
static void number_rows(struct ww_sql *q)
{
	for (uint32_t h = 0; h < q->nhosts; h++) {
		struct ww_sql_host *host = &q->host[h];
		host->f = q->set->hosts[h];
		WW_ASSERT(host->f->sealed);
		for (uint32_t t = 0; t < q->nfacts; t++) {
			host->n[t] = *(const uint32_t *)((const char *)host->f + ww_fact_descs[t].offset);
			host->base[t] = h ? q->host[h - 1].base[t] + q->host[h - 1].n[t] : 0;
		}
		host->shifted = !q->set->corrections[h].drift_e15;
		host->shift_ns = q->set->corrections[h].offset_ns + ww_set_epoch_offset(host->f);
		int64_t b = ww_sql_time(q, h, host->f->begin_ts_ns), e = ww_sql_time(q, h, host->f->end_ts_ns);
		q->begin_ns = h ? WW_MIN(q->begin_ns, b) : b;
		q->end_ns = h ? WW_MAX(q->end_ns, e) : e;
	}
}

int ww_sql_open(const struct ww_set *set, struct ww_sql **ret, struct ww_err *err)
{
	struct ww_sql *q = ww_xcalloc(1, sizeof(*q));

	q->set = set;
	q->nhosts = set->nhosts;
	q->host = ww_xcalloc(q->nhosts, sizeof(*q->host));
	ww_arena_init(&q->mem);
	int rc = sqlite3_open_v2(":memory:", &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (!rc)
		rc = sqlite3_set_authorizer(q->db, authorize, q);
	ww_sql_names(q);
	number_rows(q);
	if (!rc)
		rc = make_functions(q);
	for (uint32_t t = 0; t < q->nfacts && !rc; t++)
		rc = q->tables[t].hidden ? 0 : ww_sql_fact_register(q, &q->tables[t]);
	for (const struct ww_analysis *const *a = ww_analyses; *a && !rc; a++)
		rc = ww_sql_analysis_register(q, *a);
	if (!rc)
		rc = ww_sql_thread_state_register(q);
	if (!rc)
		rc = ww_sql_tables_make(q);
	if (!rc)
		rc = ww_sql_views_make(q);
	if (rc) {
		rc = ww_err_set(err, WW_EINTERNAL, NULL, WW_ERR_NO_OFFSET, "SQLite: %s",
				q->db ? sqlite3_errmsg(q->db) : sqlite3_errstr(rc));
		ww_sql_close(q);
		return rc;
	}
	confine(q);
	q->sealed = true;
	*ret = q;
	return 0;
}

void ww_sql_close(struct ww_sql *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	ww_sql_index_release(q);
	ww_arena_release(&q->mem);
	free(q->host);
	free(q);
}

void ww_lacks_add(struct ww_lack *lacks, uint32_t *n, const struct ww_lack *more)
{
	for (uint32_t i = 0; i < *n; i++)
		if (lacks[i].what == more->what) {
			lacks[i].all |= more->all;
			lacks[i].threads = WW_MAX(lacks[i].threads, more->threads);
			return;
		}
	lacks[(*n)++] = *more;
}

void ww_sql_note_lacks(struct ww_sql *q, const struct ww_facts *f, const struct ww_analysis *a, const struct ww_query *query)
{
	struct ww_lack more[WW_LACK_N];
	const uint32_t n = ww_analysis_lacks(f, a, query, more);

	for (uint32_t i = 0; i < n; i++)
		ww_lacks_add(q->lacks, &q->nlacks, &more[i]);
}

struct sqlite3 *ww_sql_db(struct ww_sql *q)
{
	return q->db;
}

uint64_t ww_sql_visited(const struct ww_sql *q)
{
	return q->visited;
}

void ww_sql_interrupt(struct ww_sql *q)
{
	sqlite3_interrupt(q->db);
}

bool ww_sql_complete(const char *text)
{
	return sqlite3_complete(text);
}

/* ---- running ---- */

static const char *skip_space(const char *s)
{
	return s + strspn(s, " \t\r\n;");
}

/* What went wrong in the statement that begins at `at`, and at which byte of the text. */
static int refuse(struct ww_sql *q, int rc, const char *text, const char *at, struct ww_err *err)
{
	const int in = sqlite3_error_offset(q->db);
	const uint64_t offset = (uint64_t)(skip_space(at) - text) + (in > 0 ? (uint64_t)in - (uint64_t)(skip_space(at) - at) : 0);
	const char *message = rc == SQLITE_INTERRUPT ? "interrupted"
			      : rc == SQLITE_AUTH    ? "refused: queries may read, and make views, no more"
						     : sqlite3_errmsg(q->db);
	int code = rc == SQLITE_INTERRUPT || rc == SQLITE_TOOBIG || rc == SQLITE_NOMEM || rc == SQLITE_FULL ? WW_ELIMIT
													       : WW_EFORMAT;

	return ww_err_set(err, code, NULL, offset, "%s", message);
}

int ww_sql_run(struct ww_sql *q, const char *text, struct ww_sql_print *p, struct ww_err *err)
{
	for (const char *at = text; *skip_space(at);) {
		const char *tail = NULL;
		sqlite3_stmt *st = NULL;
		int rc = sqlite3_prepare_v2(q->db, at, -1, &st, &tail);
		if (!rc && st)
			rc = ww_sql_print_rows(q, st, p);
		if (rc)
			rc = refuse(q, rc, text, at, err);
		sqlite3_finalize(st);
		if (rc || p->bad)
			return rc;
		at = tail;
	}
	return 0;
}
