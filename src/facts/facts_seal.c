/* facts_seal.c - what sealing does to the rows: states by thread, interrupts by begin, row numbers by CPU and
 * thread.
 *
 * A thread's states come in order of their time, mixed with those of the others: a counting sort that writes
 * each row to its thread's next place keeps that order. The places are found once, and stand where the rows' threads
 * stood. Reading is sequential and each thread's rows are written sequentially, so it is as good when the columns are
 * in a file as in memory. One column after the other is moved, on all threads together, each a part of the rows; it leaves
 * its old memory to the next one, so that little new memory is touched.
 *
 *   thread 1 0 1 0 -> first[] = {0, 2, 4}; rows 0..3 go to 2 0 3 1
 */
#include "base/par.h"
#include "base/vec.h"
#include "facts/facts.h"
#include "facts/facts_private.h"

/* first[k]: how many rows have a key below k, for k = 0 .. nkeys; NULL when one has nkeys or more. */
static uint32_t *count_keys(const uint32_t *key, uint32_t n, uint32_t nkeys)
{
	uint32_t *first = ww_xcalloc((size_t)nkeys + 2, sizeof(*first));

	for (uint32_t i = 0; i < n; i++) {
		if (WW_UNLIKELY(key[i] >= nkeys)) {
			free(first);
			return NULL;
		}
		first[key[i] + 1]++;
	}
	for (uint32_t i = 0; i < nkeys; i++)
		first[i + 1] += first[i];
	return first;
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

/* Puts the row among the last ones of n that are in order; false: it belongs farther to the front. */
static bool put_near(uint32_t *rows, uint32_t n, uint32_t row, const int64_t *start)
{
	enum { NEAR = 16 };
	uint32_t at = n;

	if (WW_LIKELY(!n || start[rows[n - 1]] <= start[row])) {
		rows[n] = row;
		return true;
	}
	while (at && n - at < NEAR && start[rows[at - 1]] > start[row])
		at--;
	if (at && start[rows[at - 1]] > start[row])
		return false;
	memmove(rows + at + 1, rows + at, (n - at) * sizeof(*rows));
	rows[at] = row;
	return true;
}

/* Rows in order of appending -> by start. Few are out of place, by whatever distance: an interrupt ends after some that began
 * later, a call whose entry is not in the trace begins with its thread. What has not far to go goes there; the others are
 * taken out, sorted, and merged in from the end. */
static void sort_group(uint32_t *rows, uint32_t n, const int64_t *start)
{
	WW_VEC(uint32_t) late = {0};
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (put_near(rows, kept, rows[i], start))
			kept++;
		else
			*ww_vec_push(&late) = rows[i];
	if (late.n)
		qsort_r(late.v, late.n, sizeof(*late.v), earlier, (void *)(uintptr_t)start);
	while (late.n) {
		bool last = !kept || earlier(&rows[kept - 1], &late.v[late.n - 1], (void *)(uintptr_t)start) < 0;

		rows[kept + late.n - 1] = last ? late.v[late.n - 1] : rows[kept - 1];
		late.n -= last;
		kept -= !last;
	}
	ww_vec_free(&late);
}

struct group {
	int64_t last; /* start of its row before */
	uint32_t place;
	bool mixed; /* not by start */
};

uint32_t *ww_facts_group(struct ww_pages *g, const uint32_t *key, const int64_t *start, uint32_t n, uint32_t nkeys)
{
	uint32_t *first = count_keys(key, n, nkeys);

	if (!first)
		return NULL;
	struct group *groups = ww_xcalloc((size_t)nkeys + 1, sizeof(*groups));
	uint32_t *rows = ww_pages_resize(g, sizeof(*rows) * ((size_t)n + 1));

	for (uint32_t k = 0; k < nkeys; k++)
		groups[k] = (struct group){.last = INT64_MIN, .place = first[k]};
	for (uint32_t i = 0; i < n; i++) {
		struct group *k = &groups[key[i]];

		rows[k->place++] = i;
		k->mixed |= k->last > start[i];
		k->last = start[i];
	}
	for (uint32_t k = 0; k < nkeys; k++)
		if (groups[k].mixed)
			sort_group(rows + first[k], first[k + 1] - first[k], start);
	free(groups);
	return first;
}

/* ---- rows to new places ---- */

struct move {
	struct ww_facts *f;
	uint32_t n, room;
	const uint32_t *place;  /* new row by old row; or NULL, and */
	const uint32_t *order;  /* old row by new row */
	uint32_t parts;
	/* the column in hand */
	const void *from;
	void *to;
	uint32_t size;
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

/* Of the states; not their thread. */
static bool is_moved(uint32_t id)
{
	return id > WW_COLUMN_state_thread && id < WW_COLUMNS_END_state;
}

#define SCATTER(type)                                                            \
	for (uint32_t i = begin; i < end; i++)                                   \
		((type *)m->to)[place[i]] = ((const type *)m->from)[i]
#define GATHER(type)                                                             \
	for (uint32_t i = begin; i < end; i++)                                   \
		((type *)m->to)[i] = ((const type *)m->from)[order[i]]

static void scatter_part(void *ctx, uint32_t part)
{
	const struct move *m = ctx;
	const uint32_t *place = m->place, begin = ww_par_begin(m->n, m->parts, part), end = ww_par_begin(m->n, m->parts, part + 1);

	switch (m->size) {
	case 1: SCATTER(uint8_t); break;
	case 2: SCATTER(uint16_t); break;
	case 4: SCATTER(uint32_t); break;
	default: SCATTER(uint64_t); break;
	}
}

static void gather_part(void *ctx, uint32_t part)
{
	const struct move *m = ctx;
	const uint32_t *order = m->order, begin = ww_par_begin(m->n, m->parts, part), end = ww_par_begin(m->n, m->parts, part + 1);

	switch (m->size) {
	case 1: GATHER(uint8_t); break;
	case 2: GATHER(uint16_t); break;
	case 4: GATHER(uint32_t); break;
	default: GATHER(uint64_t); break;
	}
}

/* Then it is the same wherever its rows go: certainty, of most traces. */
static bool is_one_value(const char *column, size_t n, uint32_t size)
{
	return !memcmp(column, column + size, (n - 1) * size);
}

/* To the spare memory, which is what the last one left, or new. */
static void move_column(struct move *m, uint32_t id, uint32_t size, struct ww_pages *spare)
{
	struct ww_pages *column = &m->f->pages[id], old = *column;

	if (is_one_value(old.p, m->n, size))
		return;
	m->size = size;
	m->from = old.p;
	m->to = ww_pages_resize(spare, (size_t)size * m->room);
	ww_par_run(m->parts, m->place ? scatter_part : gather_part, m);
	*column = *spare;
	*spare = old;
}

/* Wide ones first: what they leave is long enough for all. */
static void move_columns(struct move *m)
{
	static const uint32_t widths[] = {8, 4, 2, 1};
	struct ww_facts *f = m->f;
	struct ww_pages spare = {0};

	for (size_t w = 0; m->n && w < WW_ARRAY_SIZE(widths); w++)
		for (uint32_t c = 0; c < WW_ARRAY_SIZE(all_columns); c++)
			if (is_moved(all_columns[c].id) && all_columns[c].size == widths[w])
				move_column(m, all_columns[c].id, widths[w], &spare);
	ww_pages_release(&spare);
#define WW_FACT(name, doc)
#define WW_COL(fact, type, col, sql, unit, doc) \
	if (is_moved(WW_COLUMN_##fact##_##col)) \
		f->fact.col = f->pages[WW_COLUMN_##fact##_##col].p;
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
}

/* ---- states ---- */

/* Of one thread, in one part of the rows. */
struct in_part {
	int64_t first, last; /* starts */
	uint32_t rows;       /* how many; then the place of the next one */
};

struct placing {
	const int64_t *start;
	uint32_t *thread; /* of each row; then its place; then, by place, the thread again */
	const uint32_t *first;
	uint32_t n, nthreads, parts;
	struct in_part *of; /* by part and thread */
	bool *in_order, *bad; /* by part; bad: one names a thread that does not exist */
};

static void count_part(void *ctx, uint32_t part)
{
	struct placing *p = ctx;
	struct in_part *of = p->of + (size_t)part * p->nthreads;
	bool ok = true;

	for (uint32_t i = ww_par_begin(p->n, p->parts, part), end = ww_par_begin(p->n, p->parts, part + 1); i < end; i++) {
		if (WW_UNLIKELY(p->thread[i] >= p->nthreads)) {
			p->bad[part] = true;
			return;
		}
		struct in_part *t = &of[p->thread[i]];

		if (!t->rows++)
			t->first = p->start[i];
		else
			ok &= p->start[i] >= t->last;
		t->last = p->start[i];
	}
	p->in_order[part] = ok;
}

static void place_part(void *ctx, uint32_t part)
{
	struct placing *p = ctx;
	struct in_part *of = p->of + (size_t)part * p->nthreads;

	for (uint32_t i = ww_par_begin(p->n, p->parts, part), end = ww_par_begin(p->n, p->parts, part + 1); i < end; i++)
		p->thread[i] = of[p->thread[i]].rows++;
}

static void name_part(void *ctx, uint32_t part)
{
	struct placing *p = ctx;

	for (uint32_t t = ww_par_begin(p->nthreads, p->parts, part), end = ww_par_begin(p->nthreads, p->parts, part + 1); t < end; t++)
		for (uint32_t i = p->first[t]; i < p->first[t + 1]; i++)
			p->thread[i] = t;
}

/* first[] of count_keys; `rows` of each part and thread becomes its first row's place. Whether each thread's rows are in
 * order is returned. */
static bool add_parts(struct placing *p, uint32_t *first)
{
	bool ok = true;

	for (uint32_t i = 0; i < p->parts; i++)
		ok &= p->in_order[i];
	for (uint32_t t = 0, at = 0; t < p->nthreads; t++) {
		int64_t last = INT64_MIN;

		for (uint32_t i = 0; i < p->parts; i++) {
			struct in_part *s = &p->of[(size_t)i * p->nthreads + t];
			const uint32_t rows = s->rows;

			s->rows = at;
			at += rows;
			ok &= !rows || s->first >= last;
			last = rows ? s->last : last;
		}
		first[t + 1] = at;
	}
	return ok;
}

static bool any(const bool *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i])
			return true;
	return false;
}

static void sort_states(struct ww_facts *f, struct placing *p)
{
	struct move m = {.f = f, .n = f->state.n, .room = f->state.room, .parts = p->parts};
	struct ww_pages order = {0};

	f->state_first = ww_xcalloc((size_t)f->thread.n + 2, sizeof(*f->state_first));
	p->first = f->state_first;
	if (add_parts(p, f->state_first)) {
		ww_par_run(p->parts, place_part, p);
		m.place = p->thread;
	} else {
		free(f->state_first);
		p->first = f->state_first = ww_facts_group(&order, p->thread, p->start, m.n, f->thread.n);
		m.order = order.p;
	}
	move_columns(&m);
	ww_par_run(p->parts, name_part, p);
	ww_pages_release(&order);
}

bool ww_facts_sort_states(struct ww_facts *f)
{
	const uint32_t parts = ww_par_threads();
	struct placing p = {.start = f->state.start_ts_ns, .thread = f->state.thread, .n = f->state.n, .nthreads = f->thread.n,
			    .parts = parts, .of = ww_xcalloc((size_t)parts * f->thread.n + 1, sizeof(*p.of)),
			    .in_order = ww_xcalloc(parts, sizeof(*p.in_order)), .bad = ww_xcalloc(parts, sizeof(*p.bad))};

	ww_par_run(parts, count_part, &p);
	const bool ok = !any(p.bad, parts);
	if (ok)
		sort_states(f, &p);
	free(p.of);
	free(p.in_order);
	free(p.bad);
	return ok;
}

/* ---- other facts ---- */

/* Rows first .. end - 1 change places among themselves. */
struct stretch {
	uint32_t first, end;
};
struct stretches {
	WW_VEC(struct stretch) of;
};

/* The shortest ones in which all rows that move stay, and old rows counted from their begin; the longest's length. */
static uint32_t find_stretches(uint32_t *order, uint32_t n, struct stretches *ret)
{
	uint32_t longest = 0;

	for (uint32_t first = 0, end; first < n; first = end) {
		uint32_t last = order[first];

		for (end = first + 1; end <= last; end++)
			last = WW_MAX(last, order[end]);
		if (end == first + 1)
			continue;
		for (uint32_t i = first; i < end; i++)
			order[i] -= first;
		*ww_vec_push(&ret->of) = (struct stretch){first, end};
		longest = WW_MAX(longest, end - first);
	}
	return longest;
}

/* Most stretches are too short for a call of memcpy. */
#define MOVE_WITHIN(type)                                                         \
	for (size_t i = 0; i < s->of.n; i++) {                                    \
		const uint32_t n = s->of.v[i].end - s->of.v[i].first;             \
		const uint32_t *from = order + s->of.v[i].first;                  \
		type *at = (type *)column + s->of.v[i].first, *was = room;        \
		for (uint32_t k = 0; k < n; k++)                                  \
			was[k] = at[k];                                           \
		for (uint32_t k = 0; k < n; k++)                                  \
			at[k] = was[from[k]];                                     \
	}

struct moving {
	struct ww_facts *f;
	const struct stretches *of;
	const uint32_t *order;
	uint32_t longest;
};

static uint32_t size_of(uint32_t id)
{
	uint32_t c = 0;

	while (all_columns[c].id != id)
		c++;
	return all_columns[c].size;
}

static void move_within(void *ctx, uint32_t which)
{
	const struct moving *m = ctx;
	const struct stretches *s = m->of;
	const uint32_t *order = m->order, id = WW_COLUMN_interrupt_cpu + which;
	void *column = m->f->pages[id].p, *room = ww_xmalloc((size_t)m->longest * sizeof(uint64_t) + 1);

	switch (size_of(id)) {
	case 1: MOVE_WITHIN(uint8_t); break;
	case 2: MOVE_WITHIN(uint16_t); break;
	case 4: MOVE_WITHIN(uint32_t); break;
	default: MOVE_WITHIN(uint64_t); break;
	}
	free(room);
}

/* They were appended as they ended, so that most that are not in their place are near it; no other fact has the number of
 * one. */
void ww_facts_sort_interrupts(struct ww_facts *f)
{
	const uint32_t n = f->interrupt.n;
	struct stretches moved = {0};
	struct ww_pages pages = {0};
	uint32_t *order = ww_pages_resize(&pages, sizeof(*order) * ((size_t)n + 1));

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	sort_group(order, n, f->interrupt.start_ts_ns);
	struct moving m = {.f = f, .of = &moved, .order = order, .longest = find_stretches(order, n, &moved)};
	if (moved.of.n)
		ww_par_run(WW_COLUMNS_END_interrupt - WW_COLUMN_interrupt_cpu, move_within, &m);
	ww_pages_release(&pages);
	ww_vec_free(&moved.of);
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
