/* syscalls.c - system calls by name: how many, how long, how much of it waiting, how many failed. */
#include "analysis/target.h"
#include "base/u64map.h"
#include "base/vec.h"

extern const struct ww_analysis ww_analysis_syscalls;

enum { NAME, COUNT, TOTAL, MAX, WAITED, FAILED, OPEN, LATE, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[NAME] = {"name", "system call", WW_T_STR, ""},
	[COUNT] = {"count", "calls", WW_T_COUNT, "entered in the range"},
	[TOTAL] = {"total_ns", "together", WW_T_DUR, "from entry to exit; of those without one of them, the time blocked"},
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[WAITED] = {"blocked_ns", "blocked", WW_T_DUR, "of that its thread was blocked"},
	[FAILED] = {"failed", "failed", WW_T_COUNT, "returned an error; only of calls whose return was recorded"},
	[OPEN] = {"unfinished", "unfinished", WW_T_COUNT, "of these, whose return is not in the trace"},
	[LATE] = {"entered_before", "entered before", WW_T_COUNT,
		  "besides: returned, but entered before the trace or by the parent (fork)"},
};

struct sums {
	uint32_t name, count, failed, open, late;
	int64_t total, max, blocked;
};

typedef WW_VEC(struct sums) sums_vec;

static struct sums *sums_get(sums_vec *v, struct ww_u64map *m, uint32_t name)
{
	bool fresh = false;
	uint64_t *at = ww_u64map_get(m, name, v->n, &fresh);

	if (fresh)
		ww_vec_push(v)->name = name;
	return &v->v[*at];
}

static void add_thread(const struct ww_facts *f, const struct ww_query *q, uint32_t t, sums_vec *v,
		       struct ww_u64map *m)
{
	uint32_t first, n;

	for (uint32_t k = f->syscall_first[t]; k < f->syscall_first[t + 1]; k++) {
		uint32_t i = f->syscall_of_thread[k];
		if (f->syscall.start_ts_ns[i] < q->from_ts_ns || f->syscall.start_ts_ns[i] >= q->to_ts_ns)
			continue;
		struct sums *s = sums_get(v, m, f->syscall.name[i]);
		if (!(f->syscall.known[i] & (WW_SK_ENTRY | WW_SK_REGS))) {
			/* Since when it was in the call is not known, and a child did not make it. */
			s->late++;
			continue;
		}
		s->count++;
		if (f->syscall.dur_ns[i] < 0)
			s->open++;
		else
			s->total += f->syscall.dur_ns[i];
		s->max = WW_MAX(s->max, f->syscall.dur_ns[i]);
		s->failed += (f->syscall.known[i] & WW_SK_RET) && f->syscall.ret[i] < 0 && f->syscall.ret[i] >= -4095;
	}
	ww_facts_states(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t sc = f->state.syscall[i];
		if (f->state.state[i] != WW_ST_BLOCKED || sc >= f->syscall.n)
			continue;
		int64_t ns = WW_MIN(f->state.start_ts_ns[i] + f->state.dur_ns[i], q->to_ts_ns) -
			     WW_MAX(f->state.start_ts_ns[i], q->from_ts_ns);
		struct sums *s = sums_get(v, m, f->syscall.name[sc]);
		s->blocked += WW_MAX(ns, 0);
		/* Its length is not in the sum: it goes on, or nobody knows since when, or began before the range. */
		if (f->syscall.dur_ns[sc] < 0 || !(f->syscall.known[sc] & (WW_SK_ENTRY | WW_SK_REGS)) ||
		    f->syscall.start_ts_ns[sc] < q->from_ts_ns) {
			s->total += WW_MAX(ns, 0);
			s->max = WW_MAX(s->max, ns);
		}
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct sums *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_u64map m = {0};
	sums_vec v = {0};

	for (uint32_t t = 0; t < f->thread.n; t++) {
		if ((q->tid >= 0 && f->thread.tid[t] != q->tid) || (q->pid >= 0 && f->thread.pid[t] != q->pid) ||
		    (q->comm && strcmp(ww_facts_str(f, f->thread.comm[t]), q->comm)))
			continue;
		add_thread(f, q, t, &v, &m);
	}
	if (v.n)
		qsort(v.v, v.n, sizeof(*v.v), longest_first);
	if (q->top)
		v.n = WW_MIN(v.n, q->top);
	union ww_cell *c = WW_ARENA_ARRAY(mem, union ww_cell, (v.n + 1) * NCOLUMNS);
	*ret = (struct ww_table){.analysis = &ww_analysis_syscalls, .facts = f, .cells = c, .nrows = (uint32_t)v.n};
	for (size_t i = 0; i < v.n; i++, c += NCOLUMNS) {
		c[NAME].s = ww_facts_str(f, v.v[i].name);
		c[COUNT].i = v.v[i].count;
		c[TOTAL].i = v.v[i].total;
		c[MAX].i = v.v[i].max;
		c[WAITED].i = v.v[i].blocked;
		c[FAILED].i = v.v[i].failed;
		c[OPEN].i = v.v[i].open;
		c[LATE].i = v.v[i].late;
	}
	ww_vec_free(&v);
	ww_u64map_release(&m);
	return 0;
}

const struct ww_analysis ww_analysis_syscalls = {
	.name = "syscalls", .summary = "system calls by name: how many, how long, how much of it waiting",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run,
};
