/* facts.c - life of the facts, sealing (sort and index) and the look-ups by time. */
#include <stdlib.h>

#include "facts/facts.h"
#include "facts/facts_private.h"

void ww_facts_init(struct ww_facts *f)
{
	memset(f, 0, sizeof(*f));
	ww_strtab_init(&f->strs);
	ww_arena_init(&f->mem);
	f->target = WW_NONE;
	f->target_status = -1;
	f->host.name = f->host.clock_name = f->host.clock_uuid = "";
	f->host.kernel_release = f->host.trace_path = f->host.tracer = "";
}

void ww_facts_release(struct ww_facts *f)
{
	if (!f)
		return;
	ww_facts_columns_release(f);
	free(f->state_first);
	free(f->run_first);
	free(f->run_of_cpu);
	free(f->syscall_first);
	free(f->syscall_of_thread);
	ww_strtab_release(&f->strs);
	ww_arena_release(&f->mem);
	memset(f, 0, sizeof(*f));
}

/* Row numbers grouped by `key` (a thread or a CPU, < nkeys), by start within the group. Rows come
 * nearly sorted within a group already, so counting sort and then insertion sort is linear. */
static uint32_t *group_rows(const uint32_t *key, const int64_t *start, uint32_t n, uint32_t nkeys,
			    uint32_t **ret_first)
{
	uint32_t *first = ww_xcalloc((size_t)nkeys + 2, sizeof(*first));
	uint32_t *rows = ww_xmalloc(sizeof(*rows) * ((size_t)n + 1));
	uint32_t i, j;

	for (i = 0; i < n; i++)
		first[key[i] + 1]++;
	for (i = 0; i < nkeys; i++)
		first[i + 1] += first[i];
	uint32_t *fill = ww_xmalloc(sizeof(*fill) * ((size_t)nkeys + 1));
	memcpy(fill, first, sizeof(*fill) * ((size_t)nkeys + 1));
	for (i = 0; i < n; i++)
		rows[fill[key[i]]++] = i;
	free(fill);
	for (i = 1; i < n; i++) {
		uint32_t r = rows[i];

		for (j = i; j > first[key[r]] && start[rows[j - 1]] > start[r]; j--)
			rows[j] = rows[j - 1];
		rows[j] = r;
	}
	*ret_first = first;
	return rows;
}

/* New column whose row i is old row order[i]. */
static void *permute(void *col, const uint32_t *order, uint32_t n, size_t size)
{
	char *to = ww_xmalloc(size * ((size_t)n + 1));

	for (uint32_t i = 0; i < n; i++)
		memcpy(to + size * i, (char *)col + size * order[i], size);
	free(col);
	return to;
}

static void sort_states(struct ww_facts *f)
{
	struct ww_state_cols *c = &f->state;
	uint32_t *order = group_rows(c->thread, c->start_ts_ns, c->n, f->thread.n, &f->state_first);

#define WW_FACT(name, doc) if (!strcmp(#name, "state")) {
#define WW_COL(fact, type, col, sql, unit, doc) \
	f->fact.col = permute(f->fact.col, order, f->fact.n, sizeof(type));
#define WW_END(name) f->name.cap = f->name.n + 1; }
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
	free(order);
}

static bool keys_in_range(const uint32_t *key, uint32_t n, uint32_t limit)
{
	for (uint32_t i = 0; i < n; i++)
		if (key[i] >= limit)
			return false;
	return true;
}

int ww_facts_seal(struct ww_facts *f, struct ww_err *err)
{
	uint32_t ncpus = f->host.ncpus;

	if (f->sealed)
		return 0;
	for (uint32_t i = 0; i < f->run.n; i++)
		if (f->run.cpu[i] >= ncpus)
			ncpus = f->run.cpu[i] + 1;
	if (ncpus > (1u << 20) || !keys_in_range(f->state.thread, f->state.n, f->thread.n) ||
	    !keys_in_range(f->syscall.thread, f->syscall.n, f->thread.n))
		return ww_err_set(err, WW_EINTERNAL, NULL, WW_ERR_NO_OFFSET,
				  "a fact names a thread or CPU that does not exist");
	f->host.ncpus = ncpus;
	sort_states(f);
	f->run_of_cpu = group_rows(f->run.cpu, f->run.start_ts_ns, f->run.n, ncpus, &f->run_first);
	f->syscall_of_thread = group_rows(f->syscall.thread, f->syscall.start_ts_ns, f->syscall.n,
					  f->thread.n, &f->syscall_first);
	f->sealed = true;
	return 0;
}

void ww_facts_states(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		     uint32_t *ret_first, uint32_t *ret_n)
{
	*ret_first = *ret_n = 0;
	if (!f->sealed || thread >= f->thread.n || from_ts_ns >= to_ts_ns)
		return;
	uint32_t lo = f->state_first[thread], end = f->state_first[thread + 1], hi = end;

	/* first row whose end is after from */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->state.start_ts_ns[mid] + f->state.dur_ns[mid] <= from_ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_first = lo;
	hi = end;
	/* first row that starts at or after to */
	for (uint32_t a = lo; a < hi;) {
		uint32_t mid = a + (hi - a) / 2;

		if (f->state.start_ts_ns[mid] < to_ts_ns)
			a = mid + 1;
		else
			hi = mid;
	}
	*ret_n = hi - lo;
}

void ww_facts_runs(const struct ww_facts *f, uint32_t cpu, int64_t from_ts_ns, int64_t to_ts_ns,
		   uint32_t *ret_first, uint32_t *ret_n)
{
	*ret_first = *ret_n = 0;
	if (!f->sealed || cpu >= f->host.ncpus || from_ts_ns >= to_ts_ns)
		return;
	uint32_t lo = f->run_first[cpu], end = f->run_first[cpu + 1], hi = end;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2, row = f->run_of_cpu[mid];

		if (f->run.start_ts_ns[row] + f->run.dur_ns[row] <= from_ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_first = lo;
	hi = end;
	for (uint32_t a = lo; a < hi;) {
		uint32_t mid = a + (hi - a) / 2;

		if (f->run.start_ts_ns[f->run_of_cpu[mid]] < to_ts_ns)
			a = mid + 1;
		else
			hi = mid;
	}
	*ret_n = hi - lo;
}

uint32_t ww_facts_thread_find(const struct ww_facts *f, int32_t tid, int64_t ts_ns)
{
	uint32_t best = WW_NONE;

	for (uint32_t i = 0; i < f->thread.n; i++)
		if (f->thread.tid[i] == tid && f->thread.start_ts_ns[i] <= ts_ns &&
		    ts_ns <= f->thread.end_ts_ns[i] &&
		    (best == WW_NONE || f->thread.start_ts_ns[i] > f->thread.start_ts_ns[best]))
			best = i;
	return best;
}

const char *ww_facts_str(const struct ww_facts *f, uint32_t id)
{
	return id < f->strs.n ? ww_strtab_get(&f->strs, id) : "";
}
