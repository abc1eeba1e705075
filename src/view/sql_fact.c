/* sql_fact.c - a fact as a virtual table: a cursor that goes over rows where they are.
 *
 * The rows to visit are runs of positions: of each host, of each group (one key's, or every key's), from the first
 * row in the asked time to the last. A position is a row number, or the place in an order or group where it stands.
 */
#include "view/sql_private.h"

struct fact_vtab {
	sqlite3_vtab base;
	struct ww_sql *q;
	const struct ww_sql_table *t;
};

struct fact_cursor {
	sqlite3_vtab_cursor base;
	struct ww_sql *q;
	const struct ww_sql_table *t;
	const struct ww_facts *f; /* of the host */
	uint32_t host, row;
	/* positions at .. at + left, or back from it */
	const uint32_t *rows;
	uint32_t at, left;
	int32_t step;
	bool eof;
	/* what is asked */
	struct ww_sql_plan plan;
	struct ww_sql_range id, key, time, machine;
	bool timed;
	uint32_t hosts_left;
	/* of the host: groups group .. group + groups_left */
	const struct ww_sql_group *groups;
	uint32_t group, groups_left;
};

/* ---- going over rows ---- */

/* The first position in [from, to) whose time is in the range, and the first after them. Rows without a time, that
 * is below 0, come first and are in no range. */
static void limit_time(struct fact_cursor *c, const uint32_t *rows, uint32_t *from, uint32_t *to)
{
	const struct ww_sql_column *col = &c->t->cols[c->plan.time];
	uint32_t lo = *from, hi = *to;

	if (!c->timed)
		return;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int64_t ts = ww_sql_raw(c->f, col, rows ? rows[mid] : mid);
		if (ts < 0 || ww_sql_time(c->q, c->host, ts) < c->time.lo)
			lo = mid + 1;
		else
			hi = mid;
	}
	*from = lo;
	for (hi = *to; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (ww_sql_time(c->q, c->host, ww_sql_raw(c->f, col, rows ? rows[mid] : mid)) <= c->time.hi)
			lo = mid + 1;
		else
			hi = mid;
	}
	*to = lo;
}

/* Goes to the positions [from, to) of rows; false: there are none. */
static bool begin(struct fact_cursor *c, const uint32_t *rows, uint32_t from, uint32_t to)
{
	limit_time(c, rows, &from, &to);
	if (from >= to)
		return false;
	c->rows = rows;
	c->at = c->plan.reverse ? to - 1 : from;
	c->left = to - from - 1;
	c->step = c->plan.reverse ? -1 : 1;
	c->row = rows ? rows[c->at] : c->at;
	c->q->visited++;
	return true;
}

/* The host's rows, or its groups to come. */
static bool begin_host(struct fact_cursor *c)
{
	const struct ww_sql_host *h = &c->q->host[c->host];
	const uint32_t n = h->n[c->t->number];
	const int64_t base = h->base[c->t->number];

	c->f = h->f;
	c->groups_left = 0;
	switch (c->plan.walk) {
	case WW_SQL_KEY: {
		const struct ww_sql_column *col = &c->t->cols[c->plan.key];
		if (c->key.lo > c->key.hi || c->key.lo < 0)
			return false;
		const int64_t key = c->key.lo - (col->kind == WW_SQ_REF ? h->base[col->ref] : 0);
		if (key < 0 || key >= ww_sql_nkeys(c->q, c->host, col))
			return false;
		c->groups = ww_sql_group_get(c->q, c->host, c->t, c->plan.key);
		return begin(c, c->groups->rows, c->groups->first[key], c->groups->first[key + 1]);
	}
	case WW_SQL_GROUPS:
		c->groups = ww_sql_group_get(c->q, c->host, c->t, c->plan.key);
		c->groups_left = c->groups->nkeys;
		c->group = c->plan.reverse ? c->groups->nkeys : 0;
		return false;
	case WW_SQL_ORDER:
		return begin(c, ww_sql_order_get(c->q, c->host, c->t, c->plan.time)->rows, 0, n);
	default: {
		const int64_t lo = WW_MAX(c->id.lo, base), hi = WW_MIN(c->id.hi, base + n - 1);
		return lo <= hi && begin(c, NULL, (uint32_t)(lo - base), (uint32_t)(hi - base) + 1);
	}
	}
}

/* On to the next group or host that has a row. */
static void go_on(struct fact_cursor *c)
{
	for (;;) {
		while (c->groups_left) {
			c->groups_left--;
			uint32_t g = c->plan.reverse ? --c->group : c->group++;
			if (begin(c, c->groups->rows, c->groups->first[g], c->groups->first[g + 1]))
				return;
		}
		if (!c->hosts_left) {
			c->eof = true;
			return;
		}
		c->hosts_left--;
		c->host = c->plan.reverse ? c->hosts_left : c->q->nhosts - 1 - c->hosts_left;
		if (c->host < c->machine.lo || c->host > c->machine.hi)
			continue;
		if (begin_host(c))
			return;
	}
}

static int fact_next(sqlite3_vtab_cursor *cur)
{
	struct fact_cursor *c = (struct fact_cursor *)cur;

	if (!c->left) {
		go_on(c);
		return SQLITE_OK;
	}
	c->left--;
	c->at += (uint32_t)c->step;
	c->row = c->rows ? c->rows[c->at] : c->at;
	c->q->visited++;
	return SQLITE_OK;
}

/* Of what events a fact is made; others are of every trace, or tell themselves by being empty (its gaps). */
static void note_lacks(struct ww_sql *q, const struct ww_sql_table *t)
{
	static const struct {
		const char *fact;
		uint32_t need;
	} made_of[] = {
		{"syscall", WW_NEED_SYSCALLS}, {"block_io", WW_NEED_BLOCK}, {"fault", WW_NEED_FAULTS}, {"interrupt", WW_NEED_INTERRUPTS},
		{"packet", WW_NEED_PACKETS}, {"wakeup", WW_NEED_WAKEUPS}, {"numa_move", WW_NEED_NUMA}, {"timer", WW_NEED_TIMERS},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(made_of); i++)
		if (!strcmp(made_of[i].fact, t->fact->name))
			for (uint32_t h = 0; h < q->nhosts; h++)
				ww_sql_note_lacks(q, q->host[h].f, &(struct ww_analysis){.needs = WW_NEED(made_of[i].need)}, NULL);
}

static int fact_filter(sqlite3_vtab_cursor *cur, int num, const char *str, int nvals, sqlite3_value **vals)
{
	struct fact_cursor *c = (struct fact_cursor *)cur;

	c->plan = ww_sql_plan_unpack(num);
	note_lacks(c->q, c->t);
	c->id = c->key = c->time = c->machine = WW_SQL_ANY;
	c->timed = c->eof = false;
	for (int i = 0; i < nvals; i++) {
		const char use = str[2 * i], op = str[2 * i + 1];
		ww_sql_range_cut(use == 'i' ? &c->id : use == 'k' ? &c->key : use == 'm' ? &c->machine : &c->time, op,
				 vals[i]);
		c->timed |= use == 't';
	}
	c->left = c->groups_left = 0;
	c->hosts_left = c->q->nhosts;
	go_on(c);
	return SQLITE_OK;
}

static int fact_eof(sqlite3_vtab_cursor *cur)
{
	return ((struct fact_cursor *)cur)->eof;
}

/* ---- values ---- */

static int64_t base_of(const struct fact_cursor *c, uint32_t fact)
{
	return c->q->host[c->host].base[fact];
}

/* Which fact a waker's kind says that the row number is of; WW_NONE: it says not. */
static uint32_t fact_of_kind(uint8_t kind)
{
	static const char *const names[WW_WK_N] = {
		[WW_WK_PACKET] = "packet", [WW_WK_BLOCK] = "block_io", [WW_WK_TIMER] = "timer", [WW_WK_WORK] = "work",
	};

	return kind < WW_WK_N && names[kind] ? ww_sql_fact_number(names[kind], strlen(names[kind])) : WW_NONE;
}

static void put_reference(const struct fact_cursor *c, const struct ww_sql_column *col, int64_t v, sqlite3_context *ctx)
{
	uint32_t fact = col->ref;

	if (v == WW_NONE)
		return;
	if (col->kind == WW_SQ_REF_BY)
		fact = fact_of_kind((*(const uint8_t *const *)((const char *)c->f + col->by_at))[c->row]);
	if (fact != WW_NONE)
		sqlite3_result_int64(ctx, v + base_of(c, fact));
}

static void put_string(const struct fact_cursor *c, int64_t id, sqlite3_context *ctx)
{
	const char *s = ww_facts_str(c->f, (uint32_t)id);

	if (*s)
		sqlite3_result_text(ctx, s, -1, SQLITE_STATIC);
}

/* No result is NULL. */
static int fact_column(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int n)
{
	const struct fact_cursor *c = (const struct fact_cursor *)cur;
	const struct ww_sql_column *col = &c->t->cols[n];

	if (col->kind == WW_SQ_ID) {
		sqlite3_result_int64(ctx, base_of(c, c->t->number) + c->row);
		return SQLITE_OK;
	}
	if (col->kind == WW_SQ_MACHINE) {
		sqlite3_result_int64(ctx, c->host);
		return SQLITE_OK;
	}
	if (col->kind == WW_SQ_EXTRA) {
		col->extra(c->q, c->host, c->row, ctx);
		return SQLITE_OK;
	}
	if (col->known_bits &&
	    !((*(const uint8_t *const *)((const char *)c->f + col->known_at))[c->row] & col->known_bits))
		return SQLITE_OK;
	const int64_t v = ww_sql_raw(c->f, col, c->row);
	switch (col->kind) {
	case WW_SQ_TOKEN:
		sqlite3_result_text(ctx, col->token[(uint8_t)v].s, col->token[(uint8_t)v].len, SQLITE_STATIC);
		break;
	case WW_SQ_STR:
		put_string(c, v, ctx);
		break;
	case WW_SQ_TIME:
		if (v >= 0)
			sqlite3_result_int64(ctx, ww_sql_time(c->q, c->host, v));
		break;
	case WW_SQ_REF:
	case WW_SQ_REF_BY:
		put_reference(c, col, v, ctx);
		break;
	default:
		if ((col->kind == WW_SQ_INT && !(col->has_unknown && v == col->unknown)) ||
		    (col->kind == WW_SQ_DUR && v >= 0) || (col->kind == WW_SQ_SIGNED && v != -1) ||
		    (col->kind == WW_SQ_NONE32 && v != WW_NONE))
			sqlite3_result_int64(ctx, v);
	}
	return SQLITE_OK;
}

static int fact_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *ret)
{
	const struct fact_cursor *c = (const struct fact_cursor *)cur;

	*ret = base_of(c, c->t->number) + c->row;
	return SQLITE_OK;
}

/* ---- the table ---- */

static const char *type_of(const struct ww_sql_column *c)
{
	return c->kind == WW_SQ_STR || c->kind == WW_SQ_TOKEN ? "TEXT" :
	       c->kind == WW_SQ_EXTRA && !*c->unit ? "TEXT" : "INTEGER";
}

static int fact_connect(sqlite3 *db, void *aux, int nvals, const char *const *vals, sqlite3_vtab **ret, char **err)
{
	const struct ww_sql_table *t = aux;
	sqlite3_str *s = sqlite3_str_new(db);

	for (uint32_t i = 0; i < t->ncols; i++)
		sqlite3_str_appendf(s, "%s\"%w\" %s", i ? ", " : "CREATE TABLE x(", t->cols[i].name, type_of(&t->cols[i]));
	int rc = ww_sql_declare(db, s, err);
	if (rc)
		return rc;
	struct fact_vtab *v = sqlite3_malloc(sizeof(*v));
	if (!v)
		return SQLITE_NOMEM;
	*v = (struct fact_vtab){.t = t, .q = t->q};
	*ret = &v->base;
	return SQLITE_OK;
}

static int fact_disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

static int fact_best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	const struct fact_vtab *t = (const struct fact_vtab *)v;

	return ww_sql_plan_make(t->q, t->t, info);
}

static int fact_open(sqlite3_vtab *v, sqlite3_vtab_cursor **ret)
{
	const struct fact_vtab *t = (const struct fact_vtab *)v;
	struct fact_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct fact_cursor){.q = t->q, .t = t->t, .eof = true};
	*ret = &c->base;
	return SQLITE_OK;
}

static int fact_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static const sqlite3_module fact_module = {
	.xConnect = fact_connect, .xDisconnect = fact_disconnect, .xDestroy = fact_disconnect,
	.xBestIndex = fact_best_index, .xOpen = fact_open, .xClose = fact_close, .xFilter = fact_filter,
	.xNext = fact_next, .xEof = fact_eof, .xColumn = fact_column, .xRowid = fact_rowid,
};

int ww_sql_fact_register(struct ww_sql *q, const struct ww_sql_table *t)
{
	return sqlite3_create_module_v2(q->db, t->name, &fact_module, (void *)t, NULL);
}
