/* rows.c - sums by key, samples by row. */
#include "analysis/rows.h"

void ww_rows_init(struct ww_rows *r, size_t size)
{
	*r = (struct ww_rows){.size = size};
}

void ww_rows_release(struct ww_rows *r)
{
	ww_u64map_release(&r->places);
	free(r->v);
	ww_rows_init(r, r->size);
}

void *ww_rows_get(struct ww_rows *r, uint64_t key)
{
	bool fresh = false;
	uint64_t *at = ww_u64map_get(&r->places, key, r->n, &fresh);

	if (fresh) {
		if (r->n == r->cap) {
			r->cap = r->cap ? 2 * r->cap : 16;
			r->v = ww_xrealloc(r->v, r->cap * r->size);
		}
		memset(r->v + r->n++ * r->size, 0, r->size);
	}
	return r->v + *at * r->size;
}

uint32_t ww_rows_index(const struct ww_rows *r, const void *row)
{
	return (uint32_t)((size_t)((const char *)row - r->v) / r->size);
}

struct order {
	const struct ww_rows *rows;
	int (*cmp)(const void *a, const void *b);
};

static int compare(const void *a, const void *b, void *ctx)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct order *o = ctx;
	int c = o->cmp(ww_rows_at(o->rows, i), ww_rows_at(o->rows, k));

	return c ? c : i < k ? -1 : i > k;
}

uint32_t *ww_rows_order(struct ww_arena *mem, const struct ww_rows *r, int (*cmp)(const void *a, const void *b))
{
	uint32_t *order = WW_ARENA_ARRAY(mem, uint32_t, r->n + 1);
	struct order o = {r, cmp};

	for (uint32_t i = 0; i < r->n; i++)
		order[i] = i;
	qsort_r(order, r->n, sizeof(*order), compare, &o);
	return order;
}

void ww_samples_push(struct ww_samples *s, uint32_t row, int64_t ns)
{
	*ww_vec_push(&s->all) = (struct ww_sample){row, ns};
}

static int by_row_and_ns(const void *a, const void *b)
{
	const struct ww_sample *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

void ww_samples_seal(struct ww_samples *s)
{
	if (s->all.n)
		qsort(s->all.v, s->all.n, sizeof(*s->all.v), by_row_and_ns);
	for (size_t i = 0; i < s->all.n; i++)
		while (s->first.n <= s->all.v[i].row)
			*ww_vec_push(&s->first) = (uint32_t)i;
	*ww_vec_push(&s->first) = (uint32_t)s->all.n;
}

int64_t ww_samples_part(const struct ww_samples *s, uint32_t row, uint32_t permille)
{
	if (row + 1 >= s->first.n)
		return WW_NO_VALUE;
	uint32_t first = s->first.v[row], n = s->first.v[row + 1] - first;
	uint64_t rank = ((uint64_t)n * permille + 999) / 1000;

	return n ? s->all.v[first + (rank ? rank - 1 : 0)].ns : WW_NO_VALUE;
}

void ww_samples_put(const struct ww_samples *s, uint32_t row, uint32_t count, int64_t total_ns, int64_t max_ns,
		    union ww_cell *c)
{
	c[0].i = count ? total_ns / count : WW_NO_VALUE;
	c[1].i = ww_samples_part(s, row, 500);
	c[2].i = ww_samples_part(s, row, 950);
	c[3].i = ww_samples_part(s, row, 990);
	c[4].i = count ? max_ns : WW_NO_VALUE;
}

void ww_samples_release(struct ww_samples *s)
{
	ww_vec_free(&s->all);
	ww_vec_free(&s->first);
}

void ww_share_add(struct ww_rows *shares, uint32_t row, uint32_t thread, int64_t ns)
{
	struct ww_share *s = ww_rows_get(shares, ((uint64_t)row << 32) | thread);

	s->row = row;
	s->thread = thread;
	s->ns += ns;
}

struct ww_share *ww_share_largest(struct ww_arena *mem, const struct ww_rows *shares, uint32_t n)
{
	struct ww_share *most = WW_ARENA_ARRAY(mem, struct ww_share, n + 1);

	memset(most, 0, (n + 1) * sizeof(*most));
	for (uint32_t i = 0; i < shares->n; i++) {
		const struct ww_share *s = ww_rows_at(shares, i);
		if (s->ns > most[s->row].ns)
			most[s->row] = *s;
	}
	return most;
}

/* "/a/b" holds "/a/b" and "/a/b/c", not "/a/bc"; "b" holds them too, and "/b". */
static bool cgroup_holds(const char *asked, const char *path)
{
	const size_t n = strlen(asked) - (*asked && asked[strlen(asked) - 1] == '/');

	if (*asked == '/')
		return !strncmp(path, asked, n) && (!path[n] || path[n] == '/') && *path;
	for (const char *p = strchr(path, '/'); p && n; p = strchr(p + 1, '/'))
		if (!strncmp(p + 1, asked, n) && (!p[1 + n] || p[1 + n] == '/'))
			return true;
	return false;
}

bool ww_thread_is_launcher(const struct ww_facts *f, uint32_t t)
{
	return f->thread.flags[t] & WW_TF_RECORDER && f->target < f->thread.n && t != f->target &&
	       f->thread.tid[t] == f->thread.tid[f->target];
}

/* Of the process that recording was attached to, threads that were there before are not marked. */
static bool of_command(const struct ww_facts *f, uint32_t t)
{
	return f->thread.flags[t] & WW_TF_TARGET || (f->target != WW_NONE && f->thread.pid[t] == f->thread.pid[f->target]);
}

static bool takes_thread(const struct ww_facts *f, const struct ww_query *q, uint32_t t)
{
	if ((q->tid >= 0 && f->thread.tid[t] != q->tid) || (q->pid >= 0 && f->thread.pid[t] != q->pid) ||
	    (q->command_only && !of_command(f, t)) || (q->comm && strcmp(ww_facts_str(f, f->thread.comm[t]), q->comm)))
		return false;
	return !(q->command_only || q->tid >= 0 || q->pid >= 0) || !ww_thread_is_launcher(f, t);
}

bool ww_query_takes_cgroup(const struct ww_facts *f, const struct ww_query *q, uint32_t cgroup)
{
	return !q->cgroup || cgroup_holds(q->cgroup, ww_facts_str(f, cgroup));
}

/* The thread's first move after that time, or where it would stand. */
static uint32_t move_after(const struct ww_facts *f, uint32_t thread, int64_t ts_ns)
{
	uint32_t lo = 0, hi = f->cgroup_move.n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2, t = f->cgroup_move.thread[mid];

		if (t < thread || (t == thread && f->cgroup_move.ts_ns[mid] <= ts_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct ww_cgroup_stay ww_cgroup_at(const struct ww_facts *f, uint32_t thread, int64_t ts_ns)
{
	const struct ww_cgroup_move_cols *m = &f->cgroup_move;
	const uint32_t i = move_after(f, thread, ts_ns);
	const bool more = i < m->n && m->thread[i] == thread && m->ts_ns[i] > ts_ns;

	return (struct ww_cgroup_stay){
		.cgroup = i && m->thread[i - 1] == thread ? m->to[i - 1] : more ? m->from[i] : f->thread.cgroup[thread],
		.end_ts_ns = more ? m->ts_ns[i] : INT64_MAX,
	};
}

int64_t ww_query_cgroup_part(const struct ww_facts *f, const struct ww_query *q, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns)
{
	int64_t ns = 0, end;

	if (!q->cgroup)
		return WW_MAX(to_ts_ns - from_ts_ns, 0);
	for (int64_t at = from_ts_ns; at < to_ts_ns; at = end) {
		const struct ww_cgroup_stay stay = ww_cgroup_at(f, thread, at);

		end = WW_MIN(stay.end_ts_ns, to_ts_ns);
		ns += ww_query_takes_cgroup(f, q, stay.cgroup) ? end - at : 0;
	}
	return ns;
}

bool ww_query_takes_at(const struct ww_facts *f, const struct ww_query *q, uint32_t t, int64_t ts_ns)
{
	return takes_thread(f, q, t) && (!q->cgroup || ww_query_takes_cgroup(f, q, ww_cgroup_at(f, t, ts_ns).cgroup));
}

bool ww_query_takes(const struct ww_facts *f, const struct ww_query *q, uint32_t t)
{
	if (!takes_thread(f, q, t))
		return false;
	if (!q->cgroup || ww_query_takes_cgroup(f, q, f->thread.cgroup[t]))
		return true;
	for (uint32_t i = move_after(f, t, INT64_MIN); i < f->cgroup_move.n && f->cgroup_move.thread[i] == t; i++)
		if (ww_query_takes_cgroup(f, q, f->cgroup_move.from[i]) || ww_query_takes_cgroup(f, q, f->cgroup_move.to[i]))
			return true;
	return false;
}
bool ww_knows_cgroups(const struct ww_facts *f)
{
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (f->thread.cgroup[t])
			return true;
	return false;
}

int ww_query_need_cgroups(const struct ww_facts *f, struct ww_err *err)
{
	if (ww_knows_cgroups(f))
		return 0;
	ww_err_set(err, WW_EUNSUPPORTED, f->host.trace_path, WW_ERR_NO_OFFSET,
		   "the trace does not tell in which cgroups its threads were");
	return ww_err_hint(err, "`whywait record` writes it (of cgroups version 2); other recorders have no event for it");
}

#define SLICES 100           /* without --every */
#define MAX_SLICES (1u << 20) /* facts/slices.h */
#define MAX_ROWS 10000000u

int ww_slicing_make(const struct ww_facts *f, const struct ww_query *q, uint32_t series, const char *what,
		    struct ww_slicing *ret, struct ww_err *err)
{
	const int64_t from = ww_query_from(f, q), to = ww_query_to(f, q);
	const int64_t every = q->every_ns > 0 ? WW_MIN(q->every_ns, INT64_MAX / 4) : WW_MAX((to - from + SLICES - 1) / SLICES, 1);
	const uint64_t n = (uint64_t)(to - from + every - 1) / (uint64_t)every;

	if (n > MAX_SLICES || n * series > MAX_ROWS) {
		ww_err_set(err, WW_ELIMIT, NULL, WW_ERR_NO_OFFSET, "%" PRIu64 " slices of %u %s are too many", n, series, what);
		return ww_err_hint(err, "ask for longer slices (--every) or a shorter range (--from, --to)");
	}
	*ret = (struct ww_slicing){from, to, every, (uint32_t)n};
	return 0;
}

union ww_cell *ww_table_init(struct ww_arena *mem, struct ww_table *ret, const struct ww_analysis *a,
			     const struct ww_facts *f, uint32_t n)
{
	union ww_cell *c = WW_ARENA_ARRAY(mem, union ww_cell, ((size_t)n + 1) * a->ncolumns);

	memset(c, 0, ((size_t)n + 1) * a->ncolumns * sizeof(*c));
	*ret = (struct ww_table){.analysis = a, .facts = f, .cells = c, .nrows = n};
	return c;
}

void ww_rows_fill(const struct ww_fill *x, struct ww_rows *sums, struct ww_table *ret)
{
	if (x->samples)
		ww_samples_seal(x->samples);
	const uint32_t *order = ww_rows_order(x->mem, sums, x->order);
	union ww_cell *c = ww_table_init(x->mem, ret, x->analysis, x->f, sums->n);
	ret->nrows = 0;
	for (uint32_t i = 0; i < sums->n; i++)
		if (x->put(x, ww_rows_at(sums, order[i]), order[i], c)) {
			c += x->analysis->ncolumns;
			ret->nrows++;
		}
	if (x->samples)
		ww_samples_release(x->samples);
	ww_rows_release(sums);
}

struct sort {
	const struct ww_table *t;
	uint32_t column;
};

static int compare_cells(const void *a, const void *b, void *ctx)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct sort *s = ctx;
	const uint32_t n = s->t->analysis->ncolumns;
	const union ww_cell *x = &s->t->cells[(size_t)i * n + s->column], *y = &s->t->cells[(size_t)k * n + s->column];
	int c = 0;

	switch (s->t->analysis->columns[s->column].type) {
	case WW_T_STR:
		c = strcmp(x->s, y->s);
		break;
	case WW_T_PERCENT:
		c = x->d < y->d ? 1 : x->d > y->d ? -1 : 0;
		break;
	default:
		c = x->i < y->i ? 1 : x->i > y->i ? -1 : 0;
	}
	return c ? c : i < k ? -1 : i > k;
}

void ww_table_sort(struct ww_arena *mem, struct ww_table *t, uint32_t column)
{
	const size_t width = t->analysis->ncolumns;
	uint32_t *order = WW_ARENA_ARRAY(mem, uint32_t, t->nrows + 1);
	union ww_cell *cells = WW_ARENA_ARRAY(mem, union ww_cell, ((size_t)t->nrows + 1) * width);
	struct sort s = {t, column};

	for (uint32_t i = 0; i < t->nrows; i++)
		order[i] = i;
	qsort_r(order, t->nrows, sizeof(*order), compare_cells, &s);
	for (uint32_t i = 0; i < t->nrows; i++)
		memcpy(cells + i * width, t->cells + order[i] * width, width * sizeof(*cells));
	t->cells = cells;
}
