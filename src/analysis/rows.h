/* rows.h - what analyses that sum things up share: sums found by a key, samples with their percentiles.
 *
 *   struct ww_rows r; ww_rows_init(&r, sizeof(struct sum));  struct sum *s = ww_rows_get(&r, key); ...
 *   ww_rows_fill(&(struct ww_fill){..., .order = larger_first, .put = put}, &r, ret);   and r is released; or
 *   order = ww_rows_order(mem, &r, larger_first);  ... ww_rows_at(&r, order[i]) ...  ww_rows_release(&r);
 *   struct ww_samples s = {0};  ww_samples_push(&s, row, ns);  ww_samples_seal(&s);
 *   ns = ww_samples_part(&s, row, 990);
 */
#ifndef WW_ROWS_H
#define WW_ROWS_H

#include "analysis/analysis.h"
#include "base/u64map.h"
#include "base/vec.h"

struct ww_rows {
	struct ww_u64map places;
	char *v;
	size_t size; /* of a row, bytes */
	uint32_t n, cap;
};

void ww_rows_init(struct ww_rows *r, size_t size);
void ww_rows_release(struct ww_rows *r);
/* The row of the key, zeroed when it is new; moves when the next one is made. */
void *ww_rows_get(struct ww_rows *r, uint64_t key);
/* Its number: 0, 1, ... in the order in which keys came. */
uint32_t ww_rows_index(const struct ww_rows *r, const void *row);

static inline void *ww_rows_at(const struct ww_rows *r, uint32_t i)
{
	return r->v + (size_t)i * r->size;
}
/* The numbers of the rows in the order of `cmp`, which gets two rows; equal ones stay as they came. */
uint32_t *ww_rows_order(struct ww_arena *mem, const struct ww_rows *r, int (*cmp)(const void *a, const void *b));

struct ww_sample {
	uint32_t row;
	int64_t ns;
};

struct ww_samples {
	WW_VEC(struct ww_sample) all;
	WW_VEC(uint32_t) first; /* sealed: of each row, and the end */
};

void ww_samples_push(struct ww_samples *s, uint32_t row, int64_t ns);
void ww_samples_seal(struct ww_samples *s);
/* The smallest sample that at least permille/1000 of the row's are not above (nearest rank); WW_NO_VALUE of none. */
int64_t ww_samples_part(const struct ww_samples *s, uint32_t row, uint32_t permille);
void ww_samples_release(struct ww_samples *s);
/* Five cells in a row: mean, median, 95 %, 99 %, longest, of `count` samples of which the sums are known;
 * WW_NO_VALUE of none. */
void ww_samples_put(const struct ww_samples *s, uint32_t row, uint32_t count, int64_t total_ns, int64_t max_ns,
		    union ww_cell *c);

/* How much of a row's time is each thread's; a share is a row of its own kind, by (row, thread). */
struct ww_share {
	uint32_t row, thread;
	int64_t ns;
};

/* `shares` was made with the size of struct ww_share. */
void ww_share_add(struct ww_rows *shares, uint32_t row, uint32_t thread, int64_t ns);
/* Of each of n rows the largest share, the first of equal ones; ns is 0 where there is none. In `mem`. */
struct ww_share *ww_share_largest(struct ww_arena *mem, const struct ww_rows *shares, uint32_t n);

/* The part of [start, start + dur) that lies in the query's range; 0 none. */
static inline int64_t ww_query_part(const struct ww_query *q, int64_t start_ts_ns, int64_t dur_ns)
{
	int64_t from = WW_MAX(start_ts_ns, q->from_ts_ns), to = WW_MIN(start_ts_ns + dur_ns, q->to_ts_ns);

	return WW_MAX(to - from, 0);
}

static inline bool ww_query_holds(const struct ww_query *q, int64_t ts_ns)
{
	return ts_ns >= q->from_ts_ns && ts_ns < q->to_ts_ns;
}

/* Does the query name threads, by tid, pid, comm or cgroup? */
static inline bool ww_query_asks(const struct ww_query *q)
{
	return q->tid >= 0 || q->pid >= 0 || q->comm || q->cgroup;
}

/* Does it ask about this thread? One that names none asks about all. By cgroup: it was in it at some time. */
bool ww_query_takes(const struct ww_facts *f, const struct ww_query *q, uint32_t thread);
/* About what this thread did or had then? By cgroup: it was in it at that time. */
bool ww_query_takes_at(const struct ww_facts *f, const struct ww_query *q, uint32_t thread, int64_t ts_ns);

/* The cgroup (a str) that the thread was in then, and until when: its next move, or INT64_MAX. */
struct ww_cgroup_stay {
	uint32_t cgroup;
	int64_t end_ts_ns;
};

struct ww_cgroup_stay ww_cgroup_at(const struct ww_facts *f, uint32_t thread, int64_t ts_ns);
/* Does the trace tell of any thread in which cgroup it was? */
bool ww_knows_cgroups(const struct ww_facts *f);
/* Is that cgroup, a str, asked about? */
bool ww_query_takes_cgroup(const struct ww_facts *f, const struct ww_query *q, uint32_t cgroup);
/* How much of [from, to) the thread was in the cgroup that is asked about; all of it where none is. */
int64_t ww_query_cgroup_part(const struct ww_facts *f, const struct ww_query *q, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns);

/* What tells the thread's process from others, of 33 bits; of an unknown process nobody knows who else is in it. */
static inline uint64_t ww_process_key(const struct ww_facts *f, uint32_t thread)
{
	const int32_t pid = f->thread.pid[thread];

	return pid >= 0 ? (uint32_t)pid : (1ull << 32) + thread;
}

/* The thread after which its process is named: the main one, itself where that is not known. */
static inline uint32_t ww_process_main(const struct ww_facts *f, uint32_t thread)
{
	const uint32_t p = f->thread.process[thread], main = p < f->process.n ? f->process.main_thread[p] : WW_NONE;

	return main < f->thread.n ? main : thread;
}

/* Is it what the recorder did in the command's process before there was the command? It has the command's tid. */
bool ww_thread_is_launcher(const struct ww_facts *f, uint32_t thread);

/* The query's range within the trace. */
static inline int64_t ww_query_from(const struct ww_facts *f, const struct ww_query *q)
{
	return WW_MAX(q->from_ts_ns, f->begin_ts_ns);
}

static inline int64_t ww_query_to(const struct ww_facts *f, const struct ww_query *q)
{
	return WW_MAX(WW_MIN(q->to_ts_ns, f->end_ts_ns), ww_query_from(f, q));
}

/* That range in slices of the query's every_ns (not given: a hundred); the last one ends with the range. */
struct ww_slicing {
	int64_t from_ts_ns, to_ts_ns, every_ns;
	uint32_t n; /* 0: the range is empty */
};

/* error -WW_ELIMIT more slices than facts/slices.h makes at once, or that times `series` ("CPUs") are too many rows */
int ww_slicing_make(const struct ww_facts *f, const struct ww_query *q, uint32_t series, const char *what,
		    struct ww_slicing *ret, struct ww_err *err);

static inline void ww_slicing_bounds(const struct ww_slicing *s, uint32_t i, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = s->from_ts_ns + (int64_t)i * s->every_ns;
	*ret_to = WW_MIN(*ret_from + s->every_ns, s->to_ts_ns);
}

/* From sums to a table: how its rows are ordered and filled. */
struct ww_fill {
	const struct ww_analysis *analysis;
	const struct ww_facts *f;
	const struct ww_query *q;
	struct ww_arena *mem;
	int (*order)(const void *a, const void *b); /* of two sums */
	/* Writes the cells (zeroed) of a sum; row is its number among the sums and samples. false: it is left out. */
	bool (*put)(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c);
	struct ww_samples *samples; /* sealed here; NULL none */
	const void *ctx;            /* what else `put` needs */
};

/* Makes the table; the sums and the samples are released. */
void ww_rows_fill(const struct ww_fill *x, struct ww_rows *sums, struct ww_table *ret);

/* The cells of n rows, zeroed, for `a`. */
union ww_cell *ww_table_init(struct ww_arena *mem, struct ww_table *ret, const struct ww_analysis *a,
			     const struct ww_facts *f, uint32_t n);

#endif
