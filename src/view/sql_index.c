/* sql_index.c - orders and groups of a fact's rows, made when a query first wants one, and kept.
 *
 * What sealing made (states by thread, runs by CPU, calls by thread) is used as it is. Everything else is one pass
 * over a column: rows are appended as things end, so that a column of begins is nearly in order, and that of single
 * moments is. An order that is one already costs no memory. A group of a key has its rows in the order of their time:
 *
 *   cpu 1 0 1, ts 5 6 7 -> first {0, 1, 3}, rows {1, 0, 2}
 */
#include "view/sql_private.h"

/* ---- orders ---- */


static int compare(const void *a, const void *b, void *ctx)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const int64_t *ts = ctx;

	if (ts[i] != ts[k])
		return ts[i] < ts[k] ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Sorts by insertion while that is cheap: false when the rows are too far from their places. */
static bool insert(uint32_t *rows, const int64_t *ts, uint32_t n)
{
	uint64_t moves = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;
		for (; at > 0 && ts[rows[at - 1]] > ts[i]; at--)
			rows[at] = rows[at - 1];
		rows[at] = i;
		moves += i - at;
		if (moves > 32ull * n)
			return false;
	}
	return true;
}

const struct ww_sql_order *ww_sql_order_get(struct ww_sql *q, uint32_t host, const struct ww_sql_table *t, int col)
{
	struct ww_sql_host *h = &q->host[host];
	struct ww_sql_order *o = &h->orders[t->number][col];
	const uint32_t n = h->n[t->number];

	if (o->ready)
		return o;
	const int64_t *ts = *(const int64_t *const *)((const char *)h->f + t->cols[col].at);
	uint32_t sorted = n ? 1 : 0;
	while (sorted < n && ts[sorted - 1] <= ts[sorted])
		sorted++;
	if (sorted < n) {
		uint32_t *rows = ww_pages_resize(&o->pages, sizeof(*rows) * (size_t)n);
		if (!insert(rows, ts, n)) {
			for (uint32_t i = 0; i < n; i++)
				rows[i] = i;
			qsort_r(rows, n, sizeof(*rows), compare, (void *)ts);
		}
		o->rows = rows;
	}
	o->ready = true;
	return o;
}

/* ---- groups ---- */

uint32_t ww_sql_nkeys(const struct ww_sql *q, uint32_t host, const struct ww_sql_column *c)
{
	if (c->is_cpu)
		return q->host[host].f->host.ncpus;
	return c->kind == WW_SQ_REF ? q->host[host].n[c->ref] : 0;
}

/* The groups that indexing made; false: of another column. */
static bool sealed_group(const struct ww_facts *f, const struct ww_sql_table *t, int col, struct ww_sql_group *g)
{
	if (col != t->grouped)
		return false;
	ww_facts_index(f);
	if (!strcmp(t->fact->name, "state")) {
		g->first = f->state_first;
	} else if (!strcmp(t->fact->name, "run")) {
		g->first = f->run_first;
		g->rows = f->run_of_cpu;
	} else {
		g->first = f->syscall_first;
		g->rows = f->syscall_of_thread;
	}
	return true;
}

const struct ww_sql_group *ww_sql_group_get(struct ww_sql *q, uint32_t host, const struct ww_sql_table *t, int col)
{
	struct ww_sql_host *h = &q->host[host];
	struct ww_sql_group *g = &h->groups[t->number][col];
	const struct ww_sql_column *c = &t->cols[col];
	const uint32_t n = h->n[t->number], nkeys = ww_sql_nkeys(q, host, c);

	if (g->ready)
		return g;
	g->nkeys = nkeys;
	g->ready = true;
	if (sealed_group(h->f, t, col, g))
		return g;
	const uint32_t *order = t->ts >= 0 ? ww_sql_order_get(q, host, t, t->ts)->rows : NULL;
	uint32_t *first = ww_xcalloc((size_t)nkeys + 2, sizeof(*first));
	uint32_t *rows = ww_pages_resize(&g->pages, sizeof(*rows) * ((size_t)n + 1));
	for (uint32_t i = 0; i < n; i++) {
		int64_t key = ww_sql_raw(h->f, c, i);
		if (key >= 0 && key < nkeys)
			first[key + 2]++;
	}
	for (uint32_t k = 2; k < nkeys + 2; k++)
		first[k] += first[k - 1];
	/* first[k + 1] is where the next row of k goes; at the end it is where those of k + 1 begin. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = order ? order[i] : i;
		int64_t key = ww_sql_raw(h->f, c, row);
		if (key >= 0 && key < nkeys)
			rows[first[key + 1]++] = row;
	}
	g->own_first = first;
	g->first = first;
	g->rows = rows;
	return g;
}

void ww_sql_index_release(struct ww_sql *q)
{
	for (uint32_t h = 0; h < q->nhosts; h++)
		for (uint32_t t = 0; t < q->nfacts; t++)
			for (uint32_t c = 0; c < q->tables[t].ncols; c++) {
				ww_pages_release(&q->host[h].orders[t][c].pages);
				ww_pages_release(&q->host[h].groups[t][c].pages);
				free(q->host[h].groups[t][c].own_first);
			}
}
