/* facts_columns.c - everything that facts.def alone decides: growth, get, descriptors, release.
 *
 * Columns of one fact grow together, so a push is a few stores.
 */
#include "base/par.h"
#include "facts/facts.h"
#include "facts/facts_private.h"
#include "facts/file_private.h"

/* Rows are used a window at a time, so that a thread can make the next window's pages meanwhile. Windows begin on a
 * page. */
#define WINDOW_LEAST (1u << 14)
#define WINDOW_MOST (1u << 16)

static uint64_t window_rows(uint32_t cap)
{
	return WW_MAX(WW_MIN(cap / 2 / WINDOW_LEAST * WINDOW_LEAST, WINDOW_MOST), WINDOW_LEAST);
}

static uint32_t next_window(uint32_t cap, uint32_t room)
{
	return (uint32_t)WW_MIN(cap + window_rows(cap), room);
}

/* Doubles up to the first window, and goes on by windows: no memory is meant for rows that do not come. */
static uint32_t next_room(uint32_t room)
{
	if (!room)
		return 64;
	return room < WINDOW_LEAST ? room * 2 : (uint32_t)WW_MIN(room + window_rows(room), UINT32_MAX);
}

#define WW_FACT(name, doc)                                                               \
	static void name##_enlarge(struct ww_facts *f, struct ww_##name##_cols *c)       \
	{                                                                                \
		WW_ASSERT(c->room < WW_NONE - 1);                                        \
		const size_t had = c->room;                                              \
		c->room = next_room(c->room);                                            \
		ww_touch_hold(f->touch);
#define WW_COL(fact, type, col, sql, unit, doc) do { \
		const void *was = c->col; \
		c->col = ww_pages_resize(&f->pages[WW_COLUMN_##fact##_##col], sizeof(type) * (size_t)c->room); \
		ww_touch_moved(f->touch, was, sizeof(type) * had, c->col); } while (0);
#define WW_END(name) ww_touch_release(f->touch); }
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* Called when n == cap: on to the next window, whose pages were asked for a window ago. There is room for the one
 * behind it then, too, so that it can be asked for now. */
#define WW_FACT(name, doc)                                                           \
	void ww_##name##_grow(struct ww_facts *f)                                    \
	{                                                                            \
		struct ww_##name##_cols *c = &f->name;                               \
		const bool ahead = c->cap >= WINDOW_LEAST;                           \
		if (c->cap == c->room)                                               \
			name##_enlarge(f, c);                                        \
		c->cap = next_window(c->cap, c->room);                               \
		if (!ahead)                                                          \
			return;                                                      \
		if (c->cap == c->room)                                               \
			name##_enlarge(f, c);                                        \
		if (!f->touch)                                                       \
			f->touch = ww_touch_new();                                   \
		const size_t rows = next_window(c->cap, c->room) - c->cap;
#define WW_COL(fact, type, col, sql, unit, doc) \
		ww_touch_ask(f->touch, c->col + c->cap, rows * sizeof(type));
#define WW_END(name) }
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

#define WW_FACT(name, doc)                                                       \
	struct ww_##name ww_##name##_get(const struct ww_facts *f, uint32_t i)   \
	{                                                                        \
		const struct ww_##name##_cols *c = &f->name;                     \
		struct ww_##name row;                                            \
		WW_DASSERT(i < c->n);                                            \
		memset(&row, 0, sizeof(row));
#define WW_COL(fact, type, col, sql, unit, doc) row.col = c->col[i];
#define WW_END(name) return row; }
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

#define RELEASE_JOBS 8u

static void release_some(void *ctx, uint32_t job)
{
	struct ww_facts *f = ctx;

	for (size_t i = job; i < WW_COLUMN_N; i += RELEASE_JOBS)
		ww_pages_release(&f->pages[i]);
}

void ww_facts_columns_release(struct ww_facts *f)
{
	ww_touch_free(f->touch);
	f->touch = NULL;
	if (f->lazy) { /* hardly anything else was made */
		ww_facts_lazy_free(f->lazy);
		f->lazy = NULL;
		for (uint32_t job = 0; job < RELEASE_JOBS; job++)
			release_some(f, job);
		return;
	}
	/* Giving memory back takes as long as getting it. */
	ww_par_run(RELEASE_JOBS, release_some, f);
}

void ww_facts_forget_rows(struct ww_facts *f)
{
	WW_ASSERT(!f->touch && !f->lazy);
	for (size_t i = 0; i < WW_COLUMN_N; i++)
		ww_pages_release(&f->pages[i]);
#define WW_FACT(name, doc) f->name = (struct ww_##name##_cols){0};
#define WW_COL(fact, type, col, sql, unit, doc)
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
}

#define IS_SIGNED(type) ((type)-1 < (type)1)
#define WW_FACT(name, doc) static const struct ww_column_desc name##_columns[] = {
#define WW_COL(fact, type, col, sql, unit, doc) \
	{#col, sql, unit, doc, sizeof(type), offsetof(struct ww_##fact##_cols, col), IS_SIGNED(type)},
#define WW_END(name) };
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

const struct ww_fact_desc ww_fact_descs[] = {
#define WW_FACT(name, doc) \
	{#name, doc, name##_columns, WW_ARRAY_SIZE(name##_columns), offsetof(struct ww_facts, name)},
#define WW_COL(fact, type, col, sql, unit, doc)
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
};
const uint32_t ww_fact_desc_count = WW_ARRAY_SIZE(ww_fact_descs);

void ww_facts_drop_packets(struct ww_facts *f, uint32_t n)
{
	struct ww_packet_cols *c = &f->packet;

	WW_ASSERT(!f->sealed && n <= c->n);
	c->n -= n;
	for (size_t i = 0; i < WW_ARRAY_SIZE(packet_columns); i++) {
		char *col = *(char **)((char *)c + packet_columns[i].offset);
		memmove(col, col + (size_t)n * packet_columns[i].size, (size_t)c->n * packet_columns[i].size);
	}
}
