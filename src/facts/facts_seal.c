/* facts_seal.c - what sealing does to the rows: states by thread, interrupts by begin, row numbers by CPU and
 * thread.
 *
 * A thread's states come in order of their time, mixed with those of the others: a counting sort that writes
 * each row to its thread's next place keeps that order. The places are found once, and stand where the rows' threads
 * stood. Reading is sequential and each thread's rows are written sequentially, so it is as good when the columns are
 * in a file as in memory. The columns are independent: they are moved in parallel. A column that was moved leaves its old memory to the next one, so that little new memory
 * is touched.
 *
 *   thread 1 0 1 0 -> first[] = {0, 2, 4}; rows 0..3 go to 2 0 3 1
 */
#include <pthread.h>

#include "base/par.h"
#include "facts/facts.h"
#include "facts/facts_private.h"

/* first[k]: how many rows have a key below k, for k = 0 .. nkeys */
static uint32_t *count_keys(const uint32_t *key, uint32_t n, uint32_t nkeys)
{
	uint32_t *first = ww_xcalloc((size_t)nkeys + 2, sizeof(*first));

	for (uint32_t i = 0; i < n; i++)
		first[key[i] + 1]++;
	for (uint32_t i = 0; i < nkeys; i++)
		first[i + 1] += first[i];
	return first;
}

static uint32_t *copy_first(const uint32_t *first, uint32_t nkeys)
{
	uint32_t *fill = ww_xmalloc(sizeof(*fill) * ((size_t)nkeys + 1));

	memcpy(fill, first, sizeof(*fill) * ((size_t)nkeys + 1));
	return fill;
}

/* By start; of equal ones the row that was appended first. */
static int earlier(const void *a, const void *b, void *ctx)
{
	const int64_t *start = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (start[x] != start[y])
		return start[x] < start[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Rows in order of appending -> by start. Few are out of place, by whatever distance (a call whose entry is not
 * in the trace begins with its thread): those are taken out, sorted, and merged in from the end. */
static void sort_group(uint32_t *rows, uint32_t n, const int64_t *start)
{
	uint32_t *late = ww_xmalloc(sizeof(*late) * n), kept = 0, nlate = 0;

	for (uint32_t i = 0; i < n; i++)
		if (kept && start[rows[kept - 1]] > start[rows[i]])
			late[nlate++] = rows[i];
		else
			rows[kept++] = rows[i];
	qsort_r(late, nlate, sizeof(*late), earlier, (void *)(uintptr_t)start);
	while (nlate) {
		bool last = !kept || earlier(&rows[kept - 1], &late[nlate - 1], (void *)(uintptr_t)start) < 0;

		rows[kept + nlate - 1] = last ? late[nlate - 1] : rows[kept - 1];
		nlate -= last;
		kept -= !last;
	}
	free(late);
}

uint32_t *ww_facts_group(struct ww_pages *g, const uint32_t *key, const int64_t *start, uint32_t n, uint32_t nkeys)
{
	uint32_t *first = count_keys(key, n, nkeys), *fill = copy_first(first, nkeys);
	uint32_t *rows = ww_pages_resize(g, sizeof(*rows) * ((size_t)n + 1));
	bool *mixed = ww_xcalloc((size_t)nkeys + 1, sizeof(*mixed));

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = fill[key[i]]++;

		rows[at] = i;
		mixed[key[i]] |= at > first[key[i]] && start[rows[at - 1]] > start[i];
	}
	for (uint32_t k = 0; k < nkeys; k++)
		if (mixed[k])
			sort_group(rows + first[k], first[k + 1] - first[k], start);
	free(mixed);
	free(fill);
	return first;
}

/* ---- rows to new places ---- */

struct move {
	struct ww_facts *f;
	uint32_t n, room, first_id, end_id; /* the fact's rows, its columns */
	uint32_t kept_id;       /* of the states: their thread, which is not moved; WW_NONE */
	const uint32_t *place;  /* new row by old row; or NULL, and */
	const uint32_t *order;  /* old row by new row */
	pthread_mutex_t lock;
	struct ww_pages spare[WW_COLUMN_N]; /* memory that was left behind */
	uint32_t nspare;
};

static const struct {
	uint32_t size, id;
} all_columns[] = {
#define WW_FACT(name, doc)
#define WW_COL(fact, type, col, sql, unit, doc) {sizeof(type), WW_COLUMN_##fact##_##col},
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
};

static bool is_moved(const struct move *m, uint32_t id)
{
	return id >= m->first_id && id < m->end_id && id != m->kept_id;
}

#define SCATTER(type)                                                            \
	for (uint32_t i = 0; i < n; i++)                                         \
		((type *)to)[place[i]] = ((const type *)from)[i]

static void scatter(const struct move *m, const void *from, void *to, uint32_t size)
{
	const uint32_t *place = m->place, n = m->n;

	switch (size) {
	case 1: SCATTER(uint8_t); break;
	case 2: SCATTER(uint16_t); break;
	case 4: SCATTER(uint32_t); break;
	default: SCATTER(uint64_t); break;
	}
}

#define GATHER(type)                                                             \
	for (uint32_t i = 0; i < n; i++)                                         \
		((type *)to)[i] = ((const type *)from)[order[i]]

static void gather(const struct move *m, const void *from, void *to, uint32_t size)
{
	const uint32_t *order = m->order, n = m->n;

	switch (size) {
	case 1: GATHER(uint8_t); break;
	case 2: GATHER(uint16_t); break;
	case 4: GATHER(uint32_t); break;
	default: GATHER(uint64_t); break;
	}
}

static struct ww_pages take_spare(struct move *m)
{
	struct ww_pages g = {0};

	pthread_mutex_lock(&m->lock);
	if (m->nspare)
		g = m->spare[--m->nspare];
	pthread_mutex_unlock(&m->lock);
	return g;
}

static void leave_spare(struct move *m, struct ww_pages g)
{
	pthread_mutex_lock(&m->lock);
	m->spare[m->nspare++] = g;
	pthread_mutex_unlock(&m->lock);
}

static const uint32_t widths[] = {8, 4, 2, 1};

/* Job i: column i of those that are moved, wide ones first. */
static bool pick(const struct move *m, uint32_t i, uint32_t *ret_id, uint32_t *ret_size)
{
	for (size_t w = 0; w < WW_ARRAY_SIZE(widths); w++)
		for (uint32_t c = 0; c < WW_ARRAY_SIZE(all_columns); c++)
			if (is_moved(m, all_columns[c].id) && all_columns[c].size == widths[w] && !i--) {
				*ret_id = all_columns[c].id;
				*ret_size = widths[w];
				return true;
			}
	return false;
}

static void move_column(void *ctx, uint32_t i)
{
	struct move *m = ctx;
	uint32_t id, size;

	if (!pick(m, i, &id, &size))
		return;
	struct ww_pages to = take_spare(m), *from = &m->f->pages[id];
	ww_pages_resize(&to, (size_t)size * m->room);
	if (m->place)
		scatter(m, from->p, to.p, size);
	else
		gather(m, from->p, to.p, size);
	leave_spare(m, *from);
	*from = to;
}

static void move_columns(struct move *m)
{
	struct ww_facts *f = m->f;

	pthread_mutex_init(&m->lock, NULL);
	if (m->n)
		ww_par_run(m->end_id - m->first_id, move_column, m);
#define WW_FACT(name, doc)
#define WW_COL(fact, type, col, sql, unit, doc) \
	if (is_moved(m, WW_COLUMN_##fact##_##col)) \
		f->fact.col = f->pages[WW_COLUMN_##fact##_##col].p;
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
	while (m->nspare)
		ww_pages_release(&m->spare[--m->nspare]);
	pthread_mutex_destroy(&m->lock);
}

/* ---- states ---- */

/* The rows of threads below k, as count_keys; and whether each thread's are in order. */
static uint32_t *count_states(const struct ww_facts *f, bool *ret_in_order)
{
	const uint32_t *thread = f->state.thread, n = f->state.n;
	const int64_t *start = f->state.start_ts_ns;
	struct seen {
		int64_t last;
		uint32_t rows;
	} *of = ww_xmalloc(sizeof(*of) * ((size_t)f->thread.n + 1));
	uint32_t *first = ww_xcalloc((size_t)f->thread.n + 2, sizeof(*first));
	bool ok = true;

	for (uint32_t t = 0; t < f->thread.n; t++)
		of[t] = (struct seen){INT64_MIN, 0};
	for (uint32_t i = 0; i < n; i++) {
		struct seen *s = &of[thread[i]];

		ok &= start[i] >= s->last;
		s->last = start[i];
		s->rows++;
	}
	for (uint32_t t = 0; t < f->thread.n; t++)
		first[t + 1] = first[t] + of[t].rows;
	free(of);
	*ret_in_order = ok;
	return first;
}

void ww_facts_sort_states(struct ww_facts *f)
{
	struct move m = {.f = f, .n = f->state.n, .room = f->state.room, .first_id = WW_COLUMN_state_thread,
			 .end_id = WW_COLUMNS_END_state, .kept_id = WW_COLUMN_state_thread};
	uint32_t *thread = f->state.thread;
	struct ww_pages order = {0};
	bool in_order;

	f->state_first = count_states(f, &in_order);
	if (in_order) {
		uint32_t *next = copy_first(f->state_first, f->thread.n);

		for (uint32_t i = 0; i < m.n; i++)
			thread[i] = next[thread[i]]++;
		m.place = thread;
		free(next);
	} else {
		free(f->state_first);
		f->state_first = ww_facts_group(&order, thread, f->state.start_ts_ns, m.n, f->thread.n);
		m.order = order.p;
	}
	move_columns(&m);
	for (uint32_t t = 0; t < f->thread.n; t++)
		for (uint32_t i = f->state_first[t]; i < f->state_first[t + 1]; i++)
			thread[i] = t;
	ww_pages_release(&order);
}

/* ---- other facts ---- */

/* They were appended as they ended, and no other fact has the number of one. */
void ww_facts_sort_interrupts(struct ww_facts *f)
{
	struct move m = {.f = f, .n = f->interrupt.n, .room = f->interrupt.room, .first_id = WW_COLUMN_interrupt_cpu,
			 .end_id = WW_COLUMNS_END_interrupt, .kept_id = WW_NONE};
	uint32_t sorted = 1;

	while (sorted < m.n && f->interrupt.start_ts_ns[sorted - 1] <= f->interrupt.start_ts_ns[sorted])
		sorted++;
	if (sorted >= m.n)
		return;
	struct ww_pages order = {0};
	uint32_t *rows = ww_pages_resize(&order, sizeof(*rows) * (size_t)m.n);
	for (uint32_t i = 0; i < m.n; i++)
		rows[i] = i;
	sort_group(rows, m.n, f->interrupt.start_ts_ns);
	m.order = rows;
	move_columns(&m);
	ww_pages_release(&order);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct ww_cgroup_move *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ts_ns < y->ts_ns ? -1 : x->ts_ns > y->ts_ns;
}

void ww_facts_sort_cgroup_moves(struct ww_facts *f)
{
	struct ww_cgroup_move *rows = ww_xcalloc((size_t)f->cgroup_move.n + 1, sizeof(*rows));

	for (uint32_t i = 0; i < f->cgroup_move.n; i++)
		rows[i] = ww_cgroup_move_get(f, i);
	qsort(rows, f->cgroup_move.n, sizeof(*rows), by_thread_and_time); /* glibc's is stable */
	for (uint32_t i = 0; i < f->cgroup_move.n; i++) {
		f->cgroup_move.ts_ns[i] = rows[i].ts_ns;
		f->cgroup_move.thread[i] = rows[i].thread;
		f->cgroup_move.from[i] = rows[i].from;
		f->cgroup_move.to[i] = rows[i].to;
	}
	free(rows);
}
