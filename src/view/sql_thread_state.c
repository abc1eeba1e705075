/* sql_thread_state.c - Perfetto's thread_state: a thread's runs, and what it did between them, in one table.
 *
 * As a view it would be a UNION of two facts, of which SQLite makes all rows before it joins them with anything. Here they
 * are merged as they are asked for: thread by thread, of each its states and its runs by time; a condition on utid, ts or
 * machine_id leaves out the others, one on id goes to the row. The id of a state is 2 * that of the fact, of a run that + 1.
 *
 *   states  R 5, S 9 .. 20     runs  6 .. 9, 21 .. 30      ->  R 5, Running 6, S 9, Running 21
 */
#include "view/sql_private.h"

enum { ID, TS, DUR, CPU, UTID, STATE, IO_WAIT, FUNCTION, WAKER, WAKER_ID, IRQ_CONTEXT, UCPU, MACHINE, NCOLUMNS };

static const char declaration[] =
	"CREATE TABLE x(id INTEGER, ts INTEGER, dur INTEGER, cpu INTEGER, utid INTEGER, state TEXT, io_wait INTEGER, "
	"blocked_function TEXT, waker_utid INTEGER, waker_id INTEGER, irq_context INTEGER, ucpu INTEGER, machine_id INTEGER";

#define NEAR_NS 1000000 /* a stack is recorded just before its switch */

struct state_vtab {
	sqlite3_vtab base;
	struct ww_sql *q;
};

struct state_cursor {
	sqlite3_vtab_cursor base;
	struct ww_sql *q;
	/* what is asked */
	struct ww_sql_range id, utid, ts, machine;
	bool by_id;
	/* the row in hand */
	const struct ww_facts *f;
	uint32_t host, thread, row;
	bool is_run, eof;
	/* of the thread: what is to come of its runs (places in the group) and states (rows) */
	const struct ww_sql_group *runs;
	uint32_t run, run_end, state, state_end;
};

static uint32_t fact(const char *name)
{
	return ww_sql_fact_number(name, strlen(name));
}

/* The rows of the fact by their thread. */
static const struct ww_sql_group *by_thread(const struct state_cursor *c, const char *name)
{
	const struct ww_sql_table *t = &c->q->tables[fact(name)];
	uint32_t col = 0;

	while (col < t->ncols && strcmp(t->cols[col].name, "utid"))
		col++;
	WW_ASSERT(col < t->ncols);
	return ww_sql_group_get(c->q, c->host, t, (int)col);
}

static uint32_t row_at(const struct ww_sql_group *g, uint32_t place)
{
	return g->rows ? g->rows[place] : place;
}

static bool is_shown(uint8_t state)
{
	return state == WW_ST_PREEMPTED || state == WW_ST_RUNQUEUE || state == WW_ST_THROTTLED || state == WW_ST_STOPPED ||
	       state == WW_ST_BLOCKED;
}

static int64_t time_of(const struct state_cursor *c, bool is_run, uint32_t row)
{
	return ww_sql_time(c->q, c->host, is_run ? c->f->run.start_ts_ns[row] : c->f->state.start_ts_ns[row]);
}

/* Goes to the next row of the thread; false: it has no more in the asked time. */
static bool next_row(struct state_cursor *c)
{
	while (c->run < c->run_end || c->state < c->state_end) {
		const uint32_t run = c->run < c->run_end ? row_at(c->runs, c->run) : WW_NONE;
		c->is_run = run != WW_NONE && (c->state == c->state_end ||
					       c->f->run.start_ts_ns[run] < c->f->state.start_ts_ns[c->state]);
		c->row = c->is_run ? run : c->state;
		c->run += c->is_run;
		c->state += !c->is_run;
		c->q->visited++;
		const int64_t ts = time_of(c, c->is_run, c->row);
		if (ts > c->ts.hi)
			return false;
		if (ts >= c->ts.lo && (c->is_run || is_shown(c->f->state.state[c->row])))
			return true;
	}
	return false;
}

/* The first place in lo .. hi at or after the asked time. */
static uint32_t skip(const struct state_cursor *c, bool is_run, uint32_t lo, uint32_t hi)
{
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (time_of(c, is_run, is_run ? row_at(c->runs, mid) : mid) < c->ts.lo)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void begin_thread(struct state_cursor *c)
{
	const uint32_t t = c->thread;

	c->run_end = c->runs->first[t + 1];
	c->run = skip(c, true, c->runs->first[t], c->run_end);
	c->state_end = c->f->state_first[t + 1];
	c->state = skip(c, false, c->f->state_first[t], c->state_end);
}

/* On to the next thread that is asked for, from c->thread on, and the next host; false: there is none. */
static bool next_thread(struct state_cursor *c)
{
	const uint32_t threads = fact("thread");

	for (; c->host < c->q->nhosts; c->host++, c->thread = 0) {
		const struct ww_sql_host *h = &c->q->host[c->host];
		const int64_t base = h->base[threads], n = h->n[threads];

		if (c->host < c->machine.lo || c->host > c->machine.hi || c->utid.lo >= base + n || c->utid.hi < base)
			continue;
		c->thread = (uint32_t)WW_MAX(c->thread, WW_MAX(c->utid.lo, base) - base);
		if (c->thread >= n || base + c->thread > c->utid.hi)
			continue;
		c->f = h->f;
		c->runs = by_thread(c, "run");
		begin_thread(c);
		return true;
	}
	return false;
}

static int state_next(sqlite3_vtab_cursor *cur)
{
	struct state_cursor *c = (struct state_cursor *)cur;

	c->eof = c->by_id;
	while (!c->eof && !next_row(c)) {
		c->thread++;
		c->eof = !next_thread(c);
	}
	return SQLITE_OK;
}

/* The one row of an id. */
static bool find_row(struct state_cursor *c)
{
	if (c->id.lo != c->id.hi || c->id.lo < 0)
		return false;
	c->is_run = c->id.lo & 1;
	c->host = ww_sql_host_of(c->q, fact(c->is_run ? "run" : "state"), c->id.lo >> 1, &c->row);
	if (c->host == WW_NONE)
		return false;
	c->q->visited++;
	c->f = c->q->host[c->host].f;
	c->runs = by_thread(c, "run");
	c->thread = c->is_run ? c->f->run.thread[c->row] : c->f->state.thread[c->row];
	return c->is_run || is_shown(c->f->state.state[c->row]);
}

static int state_filter(sqlite3_vtab_cursor *cur, int num, const char *str, int nvals, sqlite3_value **vals)
{
	struct state_cursor *c = (struct state_cursor *)cur;

	c->id = c->utid = c->ts = c->machine = WW_SQL_ANY;
	c->by_id = num;
	for (int i = 0; i < nvals; i++) {
		const char use = str[2 * i];
		ww_sql_range_cut(use == 'i' ? &c->id : use == 'u' ? &c->utid : use == 'm' ? &c->machine : &c->ts, str[2 * i + 1], vals[i]);
	}
	c->host = c->thread = 0;
	c->eof = c->by_id ? !find_row(c) : c->ts.lo > c->ts.hi || c->utid.lo > c->utid.hi || !next_thread(c);
	return c->eof || c->by_id ? SQLITE_OK : state_next(cur);
}

static int state_eof(sqlite3_vtab_cursor *cur)
{
	return ((struct state_cursor *)cur)->eof;
}

/* ---- values ---- */

static int64_t id_of(const struct state_cursor *c)
{
	return 2 * (c->q->host[c->host].base[fact(c->is_run ? "run" : "state")] + c->row) + c->is_run;
}

/* The state in which it left its CPU: that of its last run before. */
static void put_left_state(const struct state_cursor *c, sqlite3_context *ctx)
{
	const uint32_t first = c->runs->first[c->thread];
	const uint32_t at = ww_first_at(c->f->run.start_ts_ns, c->runs->rows, first, c->runs->first[c->thread + 1],
				       c->f->state.start_ts_ns[c->row]);

	if (at > first)
		ww_sql_run_end_state(c->q, c->host, row_at(c->runs, at - 1), ctx);
}

static void put_state(const struct state_cursor *c, sqlite3_context *ctx)
{
	const uint8_t state = c->is_run ? 0 : c->f->state.state[c->row];

	if (c->is_run)
		sqlite3_result_text(ctx, "Running", -1, SQLITE_STATIC);
	else if (state == WW_ST_BLOCKED || state == WW_ST_STOPPED)
		put_left_state(c, ctx);
	else
		sqlite3_result_text(ctx, state == WW_ST_PREEMPTED ? "R+" : "R", -1, SQLITE_STATIC);
}

/* As the kernel's get_wchan() tells it: the innermost function of the stack with which the thread left its CPU that is not
 * the scheduler's. NULL: not known. */
static const char *blocked_function(const struct state_cursor *c)
{
	const struct ww_sql_group *g = by_thread(c, "stack");
	const struct ww_facts *f = c->f;
	const int64_t ts = f->state.start_ts_ns[c->row];
	const uint32_t first = g->first[c->thread];
	uint32_t at = ww_first_at(f->stack.ts_ns, g->rows, first, g->first[c->thread + 1], ts + 1);
	bool left = false;

	while (at > first && !f->stack.kernel[row_at(g, at - 1)])
		at--;
	if (at == first || f->stack.ts_ns[row_at(g, at - 1)] <= ts - NEAR_NS)
		return NULL;
	const uint32_t stack = row_at(g, at - 1), from = f->stack.first[stack];
	for (uint32_t i = from; i < f->stack_frame.n && i - from < f->stack.frames[stack]; i++) {
		const char *name = ww_facts_str(f, f->stack_frame.symbol[i]);
		if (left && *name && !strcasestr(name, "schedule"))
			return name;
		left |= !strcmp(name, "schedule") || !strcmp(name, "__schedule");
	}
	return NULL;
}

/* What woke it: columns of the wakeup. */
static void put_waker(const struct state_cursor *c, int column, sqlite3_context *ctx)
{
	const struct ww_facts *f = c->f;
	const uint32_t w = ww_state_wakeup(f, c->row);

	if (f->state.state[c->row] != WW_ST_RUNQUEUE || w >= f->wakeup.n)
		return;
	if (column == IRQ_CONTEXT)
		sqlite3_result_int(ctx, f->wakeup.kind[w] != WW_WK_THREAD && f->wakeup.kind[w] != WW_WK_UNKNOWN);
	else if (f->wakeup.waker[w] != WW_NONE)
		sqlite3_result_int64(ctx, c->q->host[c->host].base[fact("thread")] + f->wakeup.waker[w]);
}

/* Columns that only a state has. */
static void put_of_state(const struct state_cursor *c, int column, sqlite3_context *ctx)
{
	const struct ww_facts *f = c->f;
	const bool blocked = f->state.state[c->row] == WW_ST_BLOCKED;

	const uint8_t cause = f->state.cause[c->row];

	if (column == IO_WAIT && blocked && cause != WW_CA_UNKNOWN && cause != WW_CA_NONE)
		sqlite3_result_int(ctx, cause == WW_CA_DISK);
	else if (column == FUNCTION && blocked)
		sqlite3_result_text(ctx, blocked_function(c), -1, SQLITE_STATIC);
	else if (column == WAKER || column == IRQ_CONTEXT)
		put_waker(c, column, ctx);
}

/* No result is NULL. */
static int state_column(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int n)
{
	const struct state_cursor *c = (const struct state_cursor *)cur;
	const struct ww_facts *f = c->f;
	const int64_t dur = c->is_run ? f->run.dur_ns[c->row] : f->state.dur_ns[c->row],
		      cpu = c->is_run ? (int64_t)f->run.cpu[c->row] : f->state.cpu[c->row];

	switch (n) {
	case ID: sqlite3_result_int64(ctx, id_of(c)); break;
	case TS: sqlite3_result_int64(ctx, time_of(c, c->is_run, c->row)); break;
	case DUR:
		if (dur >= 0)
			sqlite3_result_int64(ctx, dur);
		break;
	case CPU:
	case UCPU:
		if (cpu >= 0)
			sqlite3_result_int64(ctx, n == CPU ? cpu : ww_sql_ucpu(c->q, c->host, cpu));
		break;
	case UTID: sqlite3_result_int64(ctx, c->q->host[c->host].base[fact("thread")] + c->thread); break;
	case STATE: put_state(c, ctx); break;
	case MACHINE: sqlite3_result_int64(ctx, c->host); break;
	default:
		if (!c->is_run)
			put_of_state(c, n, ctx);
	}
	return SQLITE_OK;
}

static int state_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *ret)
{
	*ret = id_of((const struct state_cursor *)cur);
	return SQLITE_OK;
}

/* ---- the table ---- */

static int state_connect(sqlite3 *db, void *aux, int nvals, const char *const *vals, sqlite3_vtab **ret, char **err)
{
	sqlite3_str *s = sqlite3_str_new(db);

	sqlite3_str_appendall(s, declaration);
	int rc = ww_sql_declare(db, s, err);
	if (rc)
		return rc;
	struct state_vtab *v = sqlite3_malloc(sizeof(*v));
	if (!v)
		return SQLITE_NOMEM;
	*v = (struct state_vtab){.q = aux};
	*ret = &v->base;
	return SQLITE_OK;
}

static int state_disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

/* What a condition limits; 0: SQLite checks it. An id is asked for as one, or not at all. */
static char use_of(int col, char op, bool by_id)
{
	if (by_id)
		return (col == ID || col == -1) && op == '=' ? 'i' : 0;
	return !op ? 0 : col == UTID ? 'u' : col == TS ? 't' : col == MACHINE ? 'm' : 0;
}

static bool in_order(const sqlite3_index_info *info, bool one_thread)
{
	const int want[] = {UTID, TS};

	if (!info->nOrderBy || info->nOrderBy > 2)
		return false;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].desc || info->aOrderBy[i].iColumn != want[i + (one_thread && info->nOrderBy == 1)])
			return false;
	return true;
}

static int state_best_index(sqlite3_vtab *vt, sqlite3_index_info *info)
{
	const struct ww_sql *q = ((const struct state_vtab *)vt)->q;
	char *s = sqlite3_malloc(2 * info->nConstraint + 1);
	bool by_id = false, one_thread = false;
	double rows = 1, threads = 1;
	int n = 0;

	if (!s)
		return SQLITE_NOMEM;
	for (uint32_t h = 0; h < q->nhosts; h++) {
		rows += q->host[h].n[fact("run")] + (double)q->host[h].n[fact("state")];
		threads += q->host[h].n[fact("thread")];
	}
	for (int i = 0; i < info->nConstraint; i++)
		by_id |= info->aConstraint[i].usable && use_of(info->aConstraint[i].iColumn, ww_sql_plan_letter(info->aConstraint[i].op), true);
	for (int i = 0; i < info->nConstraint; i++) {
		const char op = ww_sql_plan_letter(info->aConstraint[i].op);
		const char use = info->aConstraint[i].usable ? use_of(info->aConstraint[i].iColumn, op, by_id) : 0;
		if (!use)
			continue;
		s[2 * n] = use;
		s[2 * n + 1] = op;
		info->aConstraintUsage[i].argvIndex = ++n;
		info->aConstraintUsage[i].omit = 1;
		one_thread |= use == 'u' && op == '=';
		rows *= use == 'u' && op == '=' ? 1 / threads : 0.5;
	}
	s[2 * n] = 0;
	info->idxNum = by_id;
	info->idxStr = s;
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = in_order(info, one_thread);
	info->estimatedRows = by_id ? 1 : (sqlite3_int64)rows + 1;
	info->estimatedCost = (double)info->estimatedRows + 2;
	info->idxFlags = by_id ? SQLITE_INDEX_SCAN_UNIQUE : 0;
	return SQLITE_OK;
}

static int state_open(sqlite3_vtab *v, sqlite3_vtab_cursor **ret)
{
	struct state_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct state_cursor){.q = ((const struct state_vtab *)v)->q, .eof = true};
	*ret = &c->base;
	return SQLITE_OK;
}

static int state_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static const sqlite3_module state_module = {
	.xConnect = state_connect, .xDisconnect = state_disconnect, .xDestroy = state_disconnect,
	.xBestIndex = state_best_index, .xOpen = state_open, .xClose = state_close, .xFilter = state_filter,
	.xNext = state_next, .xEof = state_eof, .xColumn = state_column, .xRowid = state_rowid,
};

int ww_sql_thread_state_register(struct ww_sql *q)
{
	return sqlite3_create_module_v2(q->db, "thread_state", &state_module, q, NULL);
}
