/* sql_analysis.c - an analysis as a virtual table: it runs when the table is read, with the hidden columns as its
 * arguments. `SELECT * FROM usage(t0, t1)` is `SELECT * FROM usage WHERE from_ts = t0 AND to_ts = t1`.
 *
 * Its rows are kept until another question is asked of the same table, so that a join asks once. Of several hosts the
 * rows of each come one after the other, unless machine_id says which.
 */
#include "analysis/rows.h"
#include "analysis/target.h"
#include "base/u64map.h"
#include "base/units.h"
#include "view/sql_private.h"

/* The words come first. */
enum { ARG_COMM, ARG_CGROUP, NWORDS, ARG_FROM = NWORDS, ARG_TO, ARG_TID, ARG_PID, ARG_EVERY, ARG_MIN_DUR, ARG_COMMAND, ARG_MACHINE, NARGS };

static const struct {
	const char *name, *type, *doc;
} args[NARGS] = {
	[ARG_FROM] = {"from_ts", "INTEGER", "begin of the range, ns"},
	[ARG_TO] = {"to_ts", "INTEGER", "end of the range, ns"},
	[ARG_TID] = {"for_tid", "INTEGER", "only, or about, this thread"},
	[ARG_PID] = {"for_pid", "INTEGER", "only, or about, this process"},
	[ARG_COMM] = {"for_comm", "TEXT", "only, or about, threads of this name"},
	[ARG_CGROUP] = {"for_cgroup", "TEXT", "only, or about, threads of this cgroup and those below it"},
	[ARG_EVERY] = {"every", "", "length of a slice, where the answer is one over time: ns, or '10ms'"},
	[ARG_MIN_DUR] = {"min_dur", "INTEGER", "ns; leaves out shorter ones, where the command has --min-dur"},
	[ARG_COMMAND] = {"for_command", "INTEGER", "1: as the command without --all, where that is of the recorded command and its children; 0, or not given: of everybody"},
	[ARG_MACHINE] = {"machine_id", "INTEGER", "only this trace, from 0"},
};

/* In which order an analysis takes them: the thread first when it is about one. */
static const uint8_t orders[2][NARGS] = {
	{ARG_FROM, ARG_TO, ARG_TID, ARG_PID, ARG_COMM, ARG_EVERY, ARG_MIN_DUR, ARG_CGROUP, ARG_COMMAND, ARG_MACHINE},
	{ARG_TID, ARG_FROM, ARG_TO, ARG_PID, ARG_COMM, ARG_EVERY, ARG_MIN_DUR, ARG_CGROUP, ARG_COMMAND, ARG_MACHINE},
};

const char *ww_sql_analysis_argument(const struct ww_analysis *a, uint32_t i, const char **ret_doc)
{
	if (i >= NARGS)
		return NULL;
	*ret_doc = args[orders[a->one_thread][i]].doc;
	return args[orders[a->one_thread][i]].name;
}

/* One host's rows. */
struct part {
	struct ww_table table;
	uint32_t host;
};

struct answer {
	uint32_t users;
	struct ww_arena mem;
	struct part *parts;
	uint32_t nparts;
	uint32_t given; /* bits of the arguments that were */
	int64_t arg[NARGS];
	char words[NWORDS][256];
	int64_t first_rowid; /* of the arguments: rows of other ones have other ids, by which SQLite unites them after OR */
};

struct analysis_vtab {
	sqlite3_vtab base;
	struct ww_sql *q;
	const struct ww_analysis *a;
	struct answer *last;
};

struct analysis_cursor {
	sqlite3_vtab_cursor base;
	struct answer *answer;
	uint32_t part, row;
	int64_t rowid;
};

struct registered {
	struct ww_sql *q;
	const struct ww_analysis *a;
};

static void leave(struct answer *w)
{
	if (!w || --w->users)
		return;
	ww_arena_release(&w->mem);
	free(w);
}

/* ---- the arguments ---- */

static int fail(struct analysis_vtab *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sqlite3_free(v->base.zErrMsg);
	v->base.zErrMsg = sqlite3_vmprintf(fmt, ap);
	va_end(ap);
	return SQLITE_ERROR;
}

static int take_argument(struct analysis_vtab *v, struct answer *w, int arg, sqlite3_value *val)
{
	if (sqlite3_value_type(val) == SQLITE_NULL) /* as if it were not given */
		return SQLITE_OK;
	w->given |= 1u << arg;
	if (arg < NWORDS) {
		const char *s = (const char *)sqlite3_value_text(val);
		if (!s || strlen(s) >= sizeof(w->words[arg]))
			return fail(v, "%s: %s is not a name", v->a->name, args[arg].name);
		snprintf(w->words[arg], sizeof(w->words[arg]), "%s", s);
		return SQLITE_OK;
	}
	if (arg == ARG_EVERY && sqlite3_value_type(val) == SQLITE_TEXT) {
		const char *s = (const char *)sqlite3_value_text(val);
		if (s && ww_dur_parse(s, &w->arg[arg]) && w->arg[arg] > 0)
			return SQLITE_OK;
		return fail(v, "%s: every is not a length of time such as '10ms'", v->a->name);
	}
	const int type = sqlite3_value_numeric_type(val);
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return fail(v, "%s: %s is not a number", v->a->name, args[arg].name);
	w->arg[arg] = sqlite3_value_int64(val);
	if ((arg == ARG_TID || arg == ARG_PID) && (w->arg[arg] < 0 || w->arg[arg] > INT32_MAX))
		return fail(v, "%s: %s is not an id", v->a->name, args[arg].name);
	if (arg == ARG_COMMAND && (w->arg[arg] < 0 || w->arg[arg] > 1))
		return fail(v, "%s: for_command is 0 or 1", v->a->name);
	if (arg == ARG_EVERY && w->arg[arg] <= 0)
		return fail(v, "%s: every is not above 0", v->a->name);
	if (arg == ARG_MACHINE && (w->arg[arg] < 0 || w->arg[arg] >= v->q->nhosts))
		return fail(v, "%s: there is no machine_id %lld", v->a->name, (long long)w->arg[arg]);
	return SQLITE_OK;
}

static bool given(const struct answer *w, int arg)
{
	return w->given & 1u << arg;
}

/* A bound of the times asked for. Outside of what a trace can be, arithmetic on times would wrap. */
static int64_t bound_of(const struct answer *w, int arg)
{
	return WW_MAX(WW_MIN(w->arg[arg], INT64_MAX / 4), 0);
}

/* A command's own rows are another's only where the analysis makes a difference, and the trace names a command. */
static struct ww_query query_of(const struct ww_sql *q, const struct ww_analysis *a, const struct answer *w, uint32_t host)
{
	struct ww_query r = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};

	if (given(w, ARG_TID))
		r.tid = (int32_t)w->arg[ARG_TID];
	if (given(w, ARG_PID))
		r.pid = (int32_t)w->arg[ARG_PID];
	if (given(w, ARG_COMM))
		r.comm = w->words[ARG_COMM];
	if (given(w, ARG_CGROUP))
		r.cgroup = w->words[ARG_CGROUP];
	if (given(w, ARG_FROM))
		r.from_ts_ns = ww_set_local(q->set, host, bound_of(w, ARG_FROM));
	if (given(w, ARG_TO))
		r.to_ts_ns = ww_set_local(q->set, host, bound_of(w, ARG_TO));
	if (given(w, ARG_EVERY))
		r.every_ns = w->arg[ARG_EVERY];
	if (given(w, ARG_MIN_DUR))
		r.min_dur_ns = WW_MAX(w->arg[ARG_MIN_DUR], 0);
	r.command_only = given(w, ARG_COMMAND) && w->arg[ARG_COMMAND] && a->of_command && q->host[host].f->target != WW_NONE &&
			 !(w->given & (1u << ARG_TID | 1u << ARG_PID | 1u << ARG_COMM | 1u << ARG_CGROUP));
	return r;
}

/* ---- asking ---- */

/* Of an answer that is there already, when another statement may read it. */
static void note_lacks(const struct analysis_vtab *v, const struct answer *w)
{
	for (uint32_t h = 0; h < v->q->nhosts; h++)
		if (!given(w, ARG_MACHINE) || w->arg[ARG_MACHINE] == h) {
			const struct ww_query query = query_of(v->q, v->a, w, h);
			ww_sql_note_lacks(v->q, v->q->host[h].f, v->a, &query);
		}
}

static int ask(struct analysis_vtab *v, struct answer *w)
{
	struct ww_sql *q = v->q;
	struct ww_err err = {0};
	char text[1200];
	int rc = 0;

	if (given(w, ARG_FROM) && given(w, ARG_TO)) {
		if (bound_of(w, ARG_FROM) > bound_of(w, ARG_TO))
			return fail(v, "%s: from_ts is after to_ts", v->a->name);
		if (bound_of(w, ARG_FROM) == bound_of(w, ARG_TO))
			return SQLITE_OK; /* an empty range has no rows */
	}
	w->parts = WW_ARENA_ARRAY(&w->mem, struct part, q->nhosts);
	for (uint32_t h = 0; h < q->nhosts; h++) {
		if (given(w, ARG_MACHINE) && w->arg[ARG_MACHINE] != h)
			continue;
		const struct ww_query query = query_of(q, v->a, w, h);
		ww_sql_note_lacks(q, q->host[h].f, v->a, &query);
		struct ww_table t = {0};
		struct ww_err e = {0};
		int one = query.cgroup ? ww_query_need_cgroups(q->host[h].f, &e) : 0;
		if (!one && ww_query_asks(&query)) /* as of the command: a name that nobody has is an error */
			one = ww_query_check(q->host[h].f, &query, &e);
		if (!one)
			one = v->a->run(&w->mem, q->host[h].f, &query, &t, &e);
		if (one) {
			rc = one;
			err = e;
			if (one == -WW_ENOTHREAD) /* it may live on another host */
				continue;
			break;
		}
		w->parts[w->nparts++] = (struct part){t, h};
	}
	if (!rc || (rc == -WW_ENOTHREAD && w->nparts))
		return SQLITE_OK;
	err.file[0] = 0;
	ww_err_format(&err, text, sizeof(text));
	return fail(v, "%s: %s", v->a->name, text);
}

/* Skips hosts without rows. */
static void settle(struct analysis_cursor *c)
{
	while (c->part < c->answer->nparts && c->row >= c->answer->parts[c->part].table.nrows) {
		c->part++;
		c->row = 0;
	}
}

static bool same(const struct answer *a, const struct answer *b)
{
	return a->given == b->given && !memcmp(a->arg, b->arg, sizeof(a->arg)) && !memcmp(a->words, b->words, sizeof(a->words));
}

static int64_t first_rowid(const struct answer *w)
{
	uint64_t h = w->given;

	for (int i = NWORDS; i < NARGS; i++)
		h = ww_hash_mix(h, (uint64_t)w->arg[i]);
	for (int i = 0; i < NWORDS; i++)
		for (const char *s = w->words[i]; *s; s++)
			h = ww_hash_mix(h, (uint8_t)*s);
	return (int64_t)((h & 0x3fffffff) << 32);
}

/* str: the numbers of the arguments, as letters from 'A'. */
static int analysis_filter(sqlite3_vtab_cursor *cur, int num, const char *str, int nvals, sqlite3_value **vals)
{
	struct analysis_cursor *c = (struct analysis_cursor *)cur;
	struct analysis_vtab *v = (struct analysis_vtab *)cur->pVtab;
	struct answer *w = ww_xcalloc(1, sizeof(*w));
	int rc = SQLITE_OK;

	w->users = 1;
	ww_arena_init(&w->mem);
	for (int i = 0; i < nvals && !rc; i++)
		rc = take_argument(v, w, str[i] - 'A', vals[i]);
	if (!rc && v->last && same(v->last, w)) {
		leave(w);
		w = v->last;
		note_lacks(v, w);
	} else if (!rc && !(rc = ask(v, w))) {
		w->first_rowid = first_rowid(w);
		leave(v->last);
		v->last = w;
	}
	if (rc) {
		leave(w);
		return rc;
	}
	w->users++;
	leave(c->answer);
	c->answer = w;
	c->part = c->row = 0;
	c->rowid = w->first_rowid;
	settle(c);
	return SQLITE_OK;
}

static int analysis_next(sqlite3_vtab_cursor *cur)
{
	struct analysis_cursor *c = (struct analysis_cursor *)cur;

	c->row++;
	c->rowid++;
	settle(c);
	return SQLITE_OK;
}

static int analysis_eof(sqlite3_vtab_cursor *cur)
{
	const struct analysis_cursor *c = (const struct analysis_cursor *)cur;

	return !c->answer || c->part >= c->answer->nparts;
}

/* A condition that SQLite has to look at itself, as of OR with another column, would hold for no row, without a word. */
static void refuse_reading(const struct analysis_vtab *v, int arg, sqlite3_context *ctx)
{
	char *text = sqlite3_mprintf("%s: %s is an argument of the analysis that was not given: only AND %s = ... gives it",
				     v->a->name, args[arg].name, args[arg].name);

	sqlite3_result_error(ctx, text ? text : "", -1);
	sqlite3_free(text);
}

static void put_argument(const struct analysis_cursor *c, int arg, sqlite3_context *ctx)
{
	const struct analysis_vtab *v = (const struct analysis_vtab *)c->base.pVtab;

	if (arg == ARG_MACHINE)
		sqlite3_result_int64(ctx, c->answer->parts[c->part].host);
	else if (!given(c->answer, arg))
		refuse_reading(v, arg, ctx);
	else if (arg < NWORDS)
		sqlite3_result_text(ctx, c->answer->words[arg], -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_int64(ctx, c->answer->arg[arg]);
}

static int analysis_column(sqlite3_vtab_cursor *cur, sqlite3_context *ctx, int n)
{
	const struct analysis_cursor *c = (const struct analysis_cursor *)cur;
	const struct analysis_vtab *v = (const struct analysis_vtab *)cur->pVtab;
	const struct part *p = &c->answer->parts[c->part];

	if ((uint32_t)n >= v->a->ncolumns) {
		put_argument(c, orders[v->a->one_thread][(uint32_t)n - v->a->ncolumns], ctx);
		return SQLITE_OK;
	}
	const union ww_cell *cell = &p->table.cells[(size_t)c->row * v->a->ncolumns + (uint32_t)n];
	switch (v->a->columns[n].type) {
	case WW_T_STR:
	case WW_T_TEXT:
		/* A copy: the answer may be gone while SQLite still holds the value. */
		sqlite3_result_text(ctx, cell->s, -1, SQLITE_TRANSIENT);
		break;
	case WW_T_PERCENT:
		sqlite3_result_double(ctx, cell->d);
		break;
	case WW_T_TIME:
		if (cell->i != WW_NO_VALUE)
			sqlite3_result_int64(ctx, ww_sql_time(v->q, p->host, cell->i));
		break;
	default:
		if (cell->i != WW_NO_VALUE)
			sqlite3_result_int64(ctx, cell->i);
	}
	return SQLITE_OK;
}

static int analysis_rowid(sqlite3_vtab_cursor *cur, sqlite3_int64 *ret)
{
	*ret = ((const struct analysis_cursor *)cur)->rowid;
	return SQLITE_OK;
}

/* ---- the table ---- */

static const char *type_of(const struct ww_column *c)
{
	return c->type == WW_T_STR || c->type == WW_T_TEXT ? "TEXT" : c->type == WW_T_PERCENT ? "REAL" : "INTEGER";
}

static int analysis_connect(sqlite3 *db, void *aux, int nvals, const char *const *vals, sqlite3_vtab **ret, char **err)
{
	const struct registered *r = aux;
	sqlite3_str *s = sqlite3_str_new(db);

	for (uint32_t i = 0; i < r->a->ncolumns; i++)
		sqlite3_str_appendf(s, "%s\"%w\" %s", i ? ", " : "CREATE TABLE x(", r->a->columns[i].name,
				    type_of(&r->a->columns[i]));
	for (uint32_t i = 0; i < NARGS; i++)
		sqlite3_str_appendf(s, ", %s %s HIDDEN", args[orders[r->a->one_thread][i]].name,
				    args[orders[r->a->one_thread][i]].type);
	int rc = ww_sql_declare(db, s, err);
	if (rc)
		return rc;
	struct analysis_vtab *v = sqlite3_malloc(sizeof(*v));
	if (!v)
		return SQLITE_NOMEM;
	*v = (struct analysis_vtab){.q = r->q, .a = r->a};
	*ret = &v->base;
	return SQLITE_OK;
}

static int analysis_disconnect(sqlite3_vtab *v)
{
	leave(((struct analysis_vtab *)v)->last);
	sqlite3_free(v);
	return SQLITE_OK;
}

/* An argument has no values of its own that could be above or like something: such a condition would hold for no row. */
static bool is_comparison(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
	case SQLITE_INDEX_CONSTRAINT_NE:
	case SQLITE_INDEX_CONSTRAINT_LIKE:
	case SQLITE_INDEX_CONSTRAINT_GLOB:
	case SQLITE_INDEX_CONSTRAINT_MATCH:
	case SQLITE_INDEX_CONSTRAINT_REGEXP:
		return true;
	default:
		return false;
	}
}

/* The first argument that is compared and not given; -1 none. */
static int compared_argument(const struct ww_analysis *a, const sqlite3_index_info *info)
{
	uint32_t equal = 0, compared = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const int col = info->aConstraint[i].iColumn;
		if (col < (int)a->ncolumns)
			continue;
		const uint32_t bit = 1u << orders[a->one_thread][(uint32_t)col - a->ncolumns];
		if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
			equal |= bit;
		else if (is_comparison(info->aConstraint[i].op))
			compared |= bit;
	}
	compared &= ~(equal | 1u << ARG_MACHINE);
	return compared ? __builtin_ctz(compared) : -1;
}

/* Every argument that is given must be had; with more of them the answer is smaller. */
static int analysis_best_index(sqlite3_vtab *vt, sqlite3_index_info *info)
{
	struct analysis_vtab *v = (struct analysis_vtab *)vt;
	const uint32_t ncols = v->a->ncolumns;
	const int compared = compared_argument(v->a, info);
	uint32_t had = 0, seen = 0;
	int n = 0;

	if (compared >= 0)
		return fail(v, "%s: %s is an argument of the analysis, not a column: only %s = ... can be asked",
			    v->a->name, args[compared].name, args[compared].name);
	char *s = sqlite3_malloc(info->nConstraint + 1);

	if (!s)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		const int col = info->aConstraint[i].iColumn;
		if (col < (int)ncols || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		const int arg = orders[v->a->one_thread][(uint32_t)col - ncols];
		seen |= 1u << arg;
		if (!info->aConstraint[i].usable || (had & 1u << arg))
			continue;
		had |= 1u << arg;
		s[n] = (char)('A' + arg);
		info->aConstraintUsage[i].argvIndex = ++n;
		info->aConstraintUsage[i].omit = 1;
	}
	s[n] = 0;
	info->idxStr = s;
	info->needToFreeIdxStr = 1;
	if (seen != had)
		return SQLITE_CONSTRAINT;
	info->estimatedRows = n ? 100 : 1000;
	info->estimatedCost = 1e6; /* running it, not reading its rows */
	return SQLITE_OK;
}

static int analysis_open(sqlite3_vtab *v, sqlite3_vtab_cursor **ret)
{
	struct analysis_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct analysis_cursor){.rowid = 0};
	*ret = &c->base;
	return SQLITE_OK;
}

static int analysis_close(sqlite3_vtab_cursor *cur)
{
	leave(((struct analysis_cursor *)cur)->answer);
	sqlite3_free(cur);
	return SQLITE_OK;
}

static const sqlite3_module analysis_module = {
	.xConnect = analysis_connect, .xDisconnect = analysis_disconnect, .xDestroy = analysis_disconnect,
	.xBestIndex = analysis_best_index, .xOpen = analysis_open, .xClose = analysis_close,
	.xFilter = analysis_filter, .xNext = analysis_next, .xEof = analysis_eof, .xColumn = analysis_column,
	.xRowid = analysis_rowid,
};

int ww_sql_analysis_register(struct ww_sql *q, const struct ww_analysis *a)
{
	struct registered *r = WW_ARENA_NEW(&q->mem, struct registered);

	*r = (struct registered){q, a};
	return sqlite3_create_module_v2(q->db, a->name, &analysis_module, r, NULL);
}
