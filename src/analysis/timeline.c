/* timeline.c - what each thread did over time: of every slice the state in which it was longest. From the marks that
 * sealing left (facts/slices.h), so a slice costs the same however much happened in it.
 */
#include "analysis/names.h"
#include "analysis/ranges.h"
#include "facts/slices.h"

extern const struct ww_analysis ww_analysis_threads_time;

enum { TS, DUR, TID, COMM, STATE, IN, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[TS] = {"ts_ns", "from", WW_T_TIME, "begin of the slice"},
	[DUR] = {"dur_ns", "length", WW_T_DUR, ""},
	[TID] = {"tid", "tid", WW_T_INT, "thread id"},
	[COMM] = {"comm", "name", WW_T_STR, "last name of the thread"},
	[STATE] = {"state", "state", WW_T_STR, "the one in which it was longest"},
	[IN] = {"in_ns", "in it", WW_T_DUR, "of the slice"},
};

/* The thread's rows, slices in which it was not there left out; how many. */
static uint32_t put_thread(const struct ww_facts *f, const struct ww_slicing *s, uint32_t t, struct ww_slice *slices,
			   union ww_cell *c)
{
	const char *comm = ww_name_comm(f, t);
	uint32_t n = 0;

	const uint32_t whole = s->n - 1; /* the last one may be shorter */
	int64_t b, e;

	ww_slicing_bounds(s, whole, &b, &e);
	if (whole && ww_facts_slices(f, t, s->from_ts_ns, b, whole, slices))
		return 0;
	if (ww_facts_slices(f, t, b, e, 1, &slices[whole]))
		return 0;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!slices[i].in_ns)
			continue;
		ww_slicing_bounds(s, i, &b, &e);
		c[TS].i = b;
		c[DUR].i = e - b;
		c[TID].i = f->thread.tid[t];
		c[COMM].s = comm;
		c[STATE].s = ww_state_name(slices[i].state);
		c[IN].i = slices[i].in_ns;
		c += NCOLUMNS;
		n++;
	}
	return n;
}

static bool is_asked(const struct ww_facts *f, const struct ww_query *q, uint32_t t)
{
	return ww_query_takes(f, q, t) && ww_query_meets(f, q, t) && !(f->thread.flags[t] & WW_TF_IDLE);
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_slicing s;
	uint32_t nthreads = 0;
	int rc;

	for (uint32_t t = 0; t < f->thread.n; t++)
		nthreads += is_asked(f, q, t);
	rc = ww_slicing_make(f, q, nthreads, "threads", &s, err);
	if (rc)
		return rc;
	struct ww_slice *slices = WW_ARENA_ARRAY(mem, struct ww_slice, s.n + 1);
	union ww_cell *c = ww_table_init(mem, ret, &ww_analysis_threads_time, f, s.n * nthreads);
	ret->nrows = 0;
	for (uint32_t t = 0; t < f->thread.n && s.n; t++)
		if (is_asked(f, q, t))
			ret->nrows += put_thread(f, &s, t, slices, c + (size_t)ret->nrows * NCOLUMNS);
	return 0;
}

const struct ww_analysis ww_analysis_threads_time = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "threads_time", .summary = "what each thread did, slice by slice (--every): the state in which it was longest",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run, .whole_threads = true,
};
