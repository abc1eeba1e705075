/* sql_plan.c - which way over a fact a query's constraints allow (xBestIndex), and what values they leave.
 *
 * Four ways: a row by its id, or all (SCAN); the rows of one thread, CPU, file, ... by time (KEY); every group that
 * sealing made, each limited by time (GROUPS); by a time column (ORDER). Ids limit SCAN, the table's time limits KEY
 * and GROUPS, any time column ORDER. What a way has made sure of is not checked again (omit); that holds for values
 * of every type, for ww_sql_range_cut compares as SQLite does.
 *
 * idxStr has two letters an argument: what it limits - i(d), k(ey), t(ime), m(achine) - and how: = > G(E) < L(E).
 */
#include <math.h>

#include "view/sql_private.h"

char ww_sql_plan_letter(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
	case SQLITE_INDEX_CONSTRAINT_GT: return '>';
	case SQLITE_INDEX_CONSTRAINT_GE: return 'G';
	case SQLITE_INDEX_CONSTRAINT_LT: return '<';
	case SQLITE_INDEX_CONSTRAINT_LE: return 'L';
	default: return 0;
	}
}

/* Against a double, exactly: it may lie between two integers, or outside of all. */
static void cut_real(struct ww_sql_range *r, char op, double d)
{
	const double end = 9223372036854775808.0;
	const bool lower = op == '>' || op == 'G';

	if (d >= end || d < -end) {
		if (op == '=' || (d > 0) == lower)
			*r = (struct ww_sql_range){1, 0};
		return;
	}
	const int64_t down = (int64_t)floor(d), up = down + (floor(d) != d);
	switch (op) {
	case '=':
		if (up != down)
			*r = (struct ww_sql_range){1, 0};
		r->lo = WW_MAX(r->lo, up);
		r->hi = WW_MIN(r->hi, down);
		break;
	case 'G':
		r->lo = WW_MAX(r->lo, up);
		break;
	case 'L':
		r->hi = WW_MIN(r->hi, down);
		break;
	case '>':
		if (down == INT64_MAX)
			*r = (struct ww_sql_range){1, 0};
		else
			r->lo = WW_MAX(r->lo, down + 1);
		break;
	default:
		if (up == INT64_MIN)
			*r = (struct ww_sql_range){1, 0};
		else
			r->hi = WW_MIN(r->hi, up - 1);
	}
}

static void cut_int(struct ww_sql_range *r, char op, int64_t v)
{
	if ((op == '>' && v == INT64_MAX) || (op == '<' && v == INT64_MIN)) {
		*r = (struct ww_sql_range){1, 0};
		return;
	}
	if (op == '=' || op == 'G' || op == '>')
		r->lo = WW_MAX(r->lo, v + (op == '>'));
	if (op == '=' || op == 'L' || op == '<')
		r->hi = WW_MIN(r->hi, v - (op == '<'));
}

void ww_sql_range_cut(struct ww_sql_range *r, char op, sqlite3_value *v)
{
	switch (sqlite3_value_numeric_type(v)) {
	case SQLITE_INTEGER:
		cut_int(r, op, sqlite3_value_int64(v));
		return;
	case SQLITE_FLOAT:
		cut_real(r, op, sqlite3_value_double(v));
		return;
	case SQLITE_NULL:
		*r = (struct ww_sql_range){1, 0};
		return;
	default: /* text and blobs are after every number */
		if (op == '=' || op == '>' || op == 'G')
			*r = (struct ww_sql_range){1, 0};
	}
}

/* ---- the plan ---- */

struct choice {
	struct ww_sql_plan plan;
	double rows; /* expected */
	bool ordered, unique;
};

static bool usable(const sqlite3_index_info *info, int i)
{
	return info->aConstraint[i].usable && ww_sql_plan_letter(info->aConstraint[i].op);
}

static int column_of(const sqlite3_index_info *info, int i)
{
	return WW_MAX(info->aConstraint[i].iColumn, 0); /* the rowid is the id */
}

static bool is_kind(const struct ww_sql_table *t, int col, uint8_t kind)
{
	return t->cols[col].kind == kind;
}

static uint64_t rows_of(const struct ww_sql *q, const struct ww_sql_table *t)
{
	uint64_t n = 0;

	for (uint32_t h = 0; h < q->nhosts; h++)
		n += q->host[h].n[t->number];
	return n;
}

static uint64_t keys_of(const struct ww_sql *q, const struct ww_sql_column *c)
{
	uint64_t n = 0;

	for (uint32_t h = 0; h < q->nhosts; h++)
		n += ww_sql_nkeys(q, h, c);
	return n;
}

/* How much of the rows the constraints on this column leave: from their values where SQLite knows them already, for
 * times are spread over the trace and ids over the rows. */
static double part_left(const struct ww_sql *q, const struct ww_sql_table *t, sqlite3_index_info *info, int col)
{
	const bool id = is_kind(t, col, WW_SQ_ID);
	const double lo = id ? 0 : (double)q->begin_ns, hi = id ? (double)rows_of(q, t) : (double)q->end_ns;
	double part = 1, from = lo, to = hi;
	sqlite3_value *v;

	for (int i = 0; i < info->nConstraint; i++) {
		int on = column_of(info, i);
		if (!usable(info, i) || !(on == col || (id && is_kind(t, on, WW_SQ_ID))))
			continue;
		const char op = ww_sql_plan_letter(info->aConstraint[i].op);
		if (op == '=')
			return 0;
		if (sqlite3_vtab_rhs_value(info, i, &v) == SQLITE_OK) {
			struct ww_sql_range r = WW_SQL_ANY;
			ww_sql_range_cut(&r, op, v);
			from = WW_MAX(from, (double)r.lo);
			to = WW_MIN(to, (double)r.hi);
		} else {
			part *= 0.25;
		}
	}
	return hi > lo ? part * WW_MAX(to - from, 0) / (hi - lo) : part;
}

/* Is the order that the query wants the one in which these columns are sorted, one after the other? */
static bool sorted_by(const struct ww_sql_table *t, const sqlite3_index_info *info, const int *cols, int n, bool *ret_reverse)
{
	if (!info->nOrderBy || info->nOrderBy > n)
		return false;
	for (int i = 0; i < info->nOrderBy; i++) {
		int col = WW_MAX(info->aOrderBy[i].iColumn, 0);
		bool same = col == cols[i] || (is_kind(t, col, WW_SQ_ID) && is_kind(t, cols[i], WW_SQ_ID));
		if (!same || info->aOrderBy[i].desc != info->aOrderBy[0].desc)
			return false;
	}
	*ret_reverse = info->aOrderBy[0].desc;
	return true;
}

/* Fewer rows; of about as many the one that saves sorting. */
static void consider(struct choice *best, const struct choice *c)
{
	double a = best->rows * (best->ordered ? 1 : 1.5), b = c->rows * (c->ordered ? 1 : 1.5);

	if (best->plan.walk == UINT8_MAX || b < a)
		*best = *c;
}

static void consider_scan(const struct ww_sql *q, const struct ww_sql_table *t, sqlite3_index_info *info, struct choice *best)
{
	struct choice c = {.plan.walk = WW_SQL_SCAN};

	for (int i = 0; i < info->nConstraint; i++)
		if (usable(info, i) && is_kind(t, column_of(info, i), WW_SQ_ID) && ww_sql_plan_letter(info->aConstraint[i].op) == '=')
			c.unique = true;
	c.rows = c.unique ? 1 : (double)rows_of(q, t) * part_left(q, t, info, 0);
	c.ordered = sorted_by(t, info, (const int[]){0}, 1, &c.plan.reverse);
	consider(best, &c);
}

static void consider_keys(const struct ww_sql *q, const struct ww_sql_table *t, sqlite3_index_info *info, struct choice *best)
{
	for (int i = 0; i < info->nConstraint; i++) {
		const int col = column_of(info, i);
		const uint64_t nkeys = keys_of(q, &t->cols[col]);
		if (!usable(info, i) || ww_sql_plan_letter(info->aConstraint[i].op) != '=' || !nkeys)
			continue;
		struct choice c = {.plan = {WW_SQL_KEY, false, (uint8_t)col, (uint8_t)WW_MAX(t->ts, 0)}};
		c.rows = 1 + (double)rows_of(q, t) / (double)nkeys * (t->ts >= 0 ? part_left(q, t, info, t->ts) : 1);
		const int by_time[] = {t->ts}, by_key[] = {col, t->ts};
		/* A CPU's number is on every host. */
		if (t->ts >= 0 && (q->nhosts == 1 || !t->cols[col].is_cpu))
			c.ordered = sorted_by(t, info, by_time, 1, &c.plan.reverse) ||
				    sorted_by(t, info, by_key, 2, &c.plan.reverse);
		consider(best, &c);
	}
}

static void consider_times(const struct ww_sql *q, const struct ww_sql_table *t, sqlite3_index_info *info, struct choice *best)
{
	const double n = (double)rows_of(q, t);

	for (uint32_t col = 0; col < t->ncols; col++) {
		if (t->cols[col].kind != WW_SQ_TIME)
			continue;
		const bool grouped = t->grouped >= 0 && (int)col == t->ts;
		struct choice c = {.plan = {grouped ? WW_SQL_GROUPS : WW_SQL_ORDER, false,
					    (uint8_t)WW_MAX(t->grouped, 0), (uint8_t)col}};
		double part = part_left(q, t, info, (int)col);
		c.rows = n * part + 1;
		if (grouped) {
			const int by_group[] = {t->grouped, t->ts};
			c.rows = WW_MIN(c.rows + (double)keys_of(q, &t->cols[t->grouped]) / 4, n + 1);
			if (q->nhosts == 1 || !t->cols[t->grouped].is_cpu)
				c.ordered = sorted_by(t, info, by_group, 2, &c.plan.reverse);
		} else if (q->nhosts == 1) {
			c.ordered = sorted_by(t, info, (const int[]){(int)col}, 1, &c.plan.reverse);
		}
		if (part < 1 || c.ordered)
			consider(best, &c);
	}
}

/* What the plan does with a constraint on this column; 0: SQLite checks it. */
static char use_of(const struct ww_sql_table *t, const struct ww_sql_plan *p, int col, char op)
{
	if (is_kind(t, col, WW_SQ_MACHINE))
		return op == '=' ? 'm' : 0;
	if (is_kind(t, col, WW_SQ_ID))
		return p->walk == WW_SQL_SCAN ? 'i' : 0;
	if (p->walk == WW_SQL_KEY && col == p->key && op == '=')
		return 'k';
	if (p->walk != WW_SQL_SCAN && col == p->time && is_kind(t, col, WW_SQ_TIME))
		return 't';
	return 0;
}

int ww_sql_plan_make(const struct ww_sql *q, const struct ww_sql_table *t, sqlite3_index_info *info)
{
	struct choice best = {.plan.walk = UINT8_MAX};
	int n = 0;
	bool key = false;

	consider_scan(q, t, info, &best);
	consider_keys(q, t, info, &best);
	consider_times(q, t, info, &best);
	char *s = sqlite3_malloc(2 * info->nConstraint + 1);
	if (!s)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		if (!usable(info, i))
			continue;
		const char op = ww_sql_plan_letter(info->aConstraint[i].op);
		const char use = use_of(t, &best.plan, column_of(info, i), op);
		if (!use || (use == 'k' && key)) /* a second one on the key is SQLite's */
			continue;
		key |= use == 'k';
		s[2 * n] = use;
		s[2 * n + 1] = op;
		info->aConstraintUsage[i].argvIndex = ++n;
		info->aConstraintUsage[i].omit = 1;
	}
	s[2 * n] = 0;
	info->idxNum = ww_sql_plan_pack(best.plan);
	info->idxStr = s;
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = best.ordered;
	info->estimatedRows = (sqlite3_int64)WW_MAX(best.rows, 1);
	info->estimatedCost = WW_MAX(best.rows, 1) + 2;
	if (best.unique && best.plan.walk == WW_SQL_SCAN)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	return SQLITE_OK;
}
