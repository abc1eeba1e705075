/* procs.c - the process tree: who started whom, when, for how long, and what it used. */
#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_procs;

enum { PID, PARENT, DEPTH, COMM, NAMES, EXE, BEGIN, END, STARTED, EXITED, THREADS, CPU, VPID, NS, CGROUP, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[PID] = {"pid", "process", WW_T_INT, "process id"},
	[PARENT] = {"parent_pid", "parent", WW_T_ID, "who started it; -1 not known"},
	[DEPTH] = {"depth", "depth", WW_T_INT, "below the first ancestor that is known"},
	[COMM] = {"comm", "name", WW_T_STR, "last name of its main thread", .indent = DEPTH},
	[NAMES] = {"names", "its names", WW_T_STR, "that its main thread had, oldest first, up to twelve: of each exec, and those it gave itself"},
	[EXE] = {"exe", "program", WW_T_STR, "file of its last exec"},
	[BEGIN] = {"start_ns", "from", WW_T_TIME, "fork, or begin of the trace"},
	[END] = {"end_ns", "to", WW_T_TIME, "exit, or end of the trace"},
	[STARTED] = {"forked", "started", WW_T_INT, "1: its fork is in the trace"},
	[EXITED] = {"exited", "ended", WW_T_INT, "1: its exit is in the trace"},
	[THREADS] = {"threads", "threads", WW_T_COUNT, "in the trace; a recorded command's main thread once, though its figures begin at its exec; null where the process of this one is not known"},
	[CPU] = {"cpu_ns", "on CPUs", WW_T_DUR, "of all its threads, with interrupts and what the hypervisor took meanwhile"},
	[VPID] = {"vpid", "inner", WW_T_ID, "process id in its own pid namespace; -1 unknown"},
	[NS] = {"pid_ns", "pid namespace", WW_T_INT, "its inode; 0 unknown"},
	[CGROUP] = {"cgroup", "cgroup", WW_T_STR, "of its main thread, the last one; version 2's path, empty: not known"},
};

struct proc {
	uint32_t main, threads, first_child, next; /* rows + 1; 0 none */
	int64_t cpu, begin, end;
	bool seen, shown, printed, root;
};

static struct proc *proc_of(const struct ww_facts *f, struct ww_rows *rows, uint32_t t)
{
	uint32_t p = f->thread.process[t];

	return ww_rows_get(rows, p < f->process.n ? p : (1ull << 32) + t);
}

static void collect(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_rows *rows)
{
	uint32_t n;

	for (uint32_t t = 0; t < f->thread.n; t++) {
		if (f->thread.flags[t] & WW_TF_IDLE)
			continue;
		struct proc *p = proc_of(f, rows, t);
		const bool first = !p->seen, launcher = ww_thread_is_launcher(f, t) &&
							f->thread.process[t] == f->thread.process[f->target];
		p->seen = true;
		/* The command's main thread is the same one after its exec. */
		if (!launcher && (!p->threads++ || f->thread.tid[t] == f->thread.pid[t]))
			p->main = t;
		p->begin = first ? f->thread.start_ts_ns[t] : WW_MIN(p->begin, f->thread.start_ts_ns[t]);
		p->end = first ? f->thread.end_ts_ns[t] : WW_MAX(p->end, f->thread.end_ts_ns[t]);
		p->shown |= ww_query_takes(f, q, t) && f->thread.start_ts_ns[t] < q->to_ts_ns &&
			    f->thread.end_ts_ns[t] >= q->from_ts_ns;
	}
	const uint32_t *runs = ww_query_runs(mem, f, q, &n);
	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = ww_row_at(runs, k);

		if (!(f->thread.flags[f->run.thread[i]] & WW_TF_IDLE))
			proc_of(f, rows, f->run.thread[i])->cpu +=
				ww_query_part(q, f->run.start_ts_ns[i], f->run.dur_ns[i]);
	}
}

/* The row of its parent: who forked it, else whom the state dump names. WW_NONE. */
static uint32_t parent_row(const struct ww_facts *f, struct ww_rows *rows, uint32_t row)
{
	const uint32_t main = ((struct proc *)ww_rows_at(rows, row))->main, t = f->thread.parent[main],
		       p = f->thread.process[main];
	const uint64_t *at = NULL;

	if (t < f->thread.n && !(f->thread.flags[t] & WW_TF_IDLE))
		return ww_rows_index(rows, proc_of(f, rows, t));
	if (p < f->process.n && f->process.parent[p] < f->process.n)
		at = ww_u64map_find(&rows->places, f->process.parent[p]);
	return at ? (uint32_t)*at : WW_NONE;
}

/* "sh > bash > sleep" */
static const char *names_of(struct ww_arena *mem, const struct ww_facts *f, uint32_t t)
{
	const char **names, *text;
	uint32_t n = ww_name_comms(mem, f, t, INT64_MIN, INT64_MAX, &names);

	text = n ? names[0] : "";
	for (uint32_t i = 1; i < n; i++)
		text = ww_arena_printf(mem, "%s > %s", text, names[i]);
	return text;
}

static void put(struct ww_arena *mem, const struct ww_facts *f, struct ww_rows *rows, uint32_t row, uint32_t depth,
		union ww_cell *c)
{
	const struct proc *p = ww_rows_at(rows, row);
	uint32_t t = p->main, parent = parent_row(f, rows, row);

	c[PID].i = f->thread.pid[t] >= 0 ? f->thread.pid[t] : f->thread.tid[t];
	c[PARENT].i = parent == WW_NONE ? -1 : f->thread.pid[((struct proc *)ww_rows_at(rows, parent))->main];
	c[DEPTH].i = depth;
	c[COMM].s = ww_name_comm(f, t);
	c[NAMES].s = names_of(mem, f, t);
	c[EXE].s = ww_facts_str(f, f->thread.exe[t]);
	c[BEGIN].i = p->begin;
	c[END].i = p->end;
	c[STARTED].i = !!(f->thread.flags[t] & WW_TF_FORKED);
	c[EXITED].i = !!(f->thread.flags[t] & WW_TF_EXITED);
	c[THREADS].i = f->thread.pid[t] >= 0 ? p->threads : WW_NO_VALUE;
	c[CPU].i = f->knows.switches ? p->cpu : WW_NO_VALUE;
	c[VPID].i = f->thread.vtid[t];
	c[NS].i = f->thread.pid_ns[t];
	c[CGROUP].s = ww_facts_str(f, f->thread.cgroup[t]);
}

struct walk {
	struct ww_arena *mem;
	const struct ww_facts *f;
	struct ww_rows rows;
	uint32_t *stack, *depth; /* of as many as there are rows */
	union ww_cell *cells;
	uint32_t n;
};

/* Chains of children, the latest first. */
static void link_children(struct walk *w)
{
	for (uint32_t i = 0; i < w->rows.n; i++) {
		uint32_t parent = parent_row(w->f, &w->rows, i);
		struct proc *p = ww_rows_at(&w->rows, i), *up;
		p->root = parent == WW_NONE || parent == i;
		if (p->root)
			continue;
		up = ww_rows_at(&w->rows, parent);
		p->next = up->first_child;
		up->first_child = i + 1;
	}
}

/* A root and what is below it, parents before children. Each row is on the stack at most once: it is the
 * child of one parent, which is printed once. */
static void print_below(struct walk *w, uint32_t root)
{
	uint32_t sp = 0;

	w->stack[sp] = root;
	w->depth[sp++] = 0;
	while (sp) {
		uint32_t row = w->stack[--sp], d = w->depth[sp];
		struct proc *p = ww_rows_at(&w->rows, row);
		if (p->printed)
			continue;
		p->printed = true;
		if (p->shown)
			put(w->mem, w->f, &w->rows, row, d, w->cells + (size_t)w->n++ * NCOLUMNS);
		for (uint32_t k = p->first_child; k; k = ((struct proc *)ww_rows_at(&w->rows, k - 1))->next) {
			w->stack[sp] = k - 1;
			w->depth[sp++] = d + 1;
		}
	}
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct walk w = {.mem = mem, .f = f};

	ww_rows_init(&w.rows, sizeof(struct proc));
	collect(mem, f, q, &w.rows);
	w.stack = WW_ARENA_ARRAY(mem, uint32_t, w.rows.n + 1);
	w.depth = WW_ARENA_ARRAY(mem, uint32_t, w.rows.n + 1);
	link_children(&w);
	w.cells = ww_table_init(mem, ret, &ww_analysis_procs, f, w.rows.n);
	for (uint32_t i = 0; i < w.rows.n; i++)
		if (((struct proc *)ww_rows_at(&w.rows, i))->root)
			print_below(&w, i);
	for (uint32_t i = 0; i < w.rows.n; i++) /* a damaged trace may make a ring of parents */
		print_below(&w, i);
	ret->nrows = w.n;
	ww_rows_release(&w.rows);
	return 0;
}

const struct ww_analysis ww_analysis_procs = {
	.parts = WW_NEED(WW_NEED_SWITCHES),
	.name = "procs", .summary = "the process tree: who started whom, when, and what it used",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run, .whole_threads = true,
};
