/* target.c - finds the thread that a question is about. */
#include <stdio.h>

#include "analysis/target.h"
#include "analysis/rows.h"

bool ww_thread_range(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		     int64_t *ret_from, int64_t *ret_to)
{
	int64_t from = WW_MAX(WW_MAX(from_ts_ns, f->begin_ts_ns), f->thread.start_ts_ns[thread]);
	int64_t to = WW_MIN(WW_MIN(to_ts_ns, f->end_ts_ns), f->thread.end_ts_ns[thread]);

	if (thread == f->target && f->target_end_ts_ns > f->target_begin_ts_ns) {
		from = WW_MAX(from, f->target_begin_ts_ns);
		to = WW_MIN(to, f->target_end_ts_ns);
	}
	if (from >= to)
		return false;
	*ret_from = from;
	*ret_to = to;
	return true;
}

/* Time on a CPU of every thread in the range. */
static int64_t *running_times(const struct ww_facts *f, const struct ww_query *q)
{
	int64_t *ns = ww_xcalloc((size_t)f->thread.n + 1, sizeof(*ns));

	for (uint32_t i = 0; i < f->run.n; i++) {
		int64_t from = WW_MAX(f->run.start_ts_ns[i], q->from_ts_ns);
		int64_t to = WW_MIN(f->run.start_ts_ns[i] + f->run.dur_ns[i], q->to_ts_ns);
		if (f->run.thread[i] < f->thread.n && to > from)
			ns[f->run.thread[i]] += to - from;
	}
	return ns;
}

static bool is_idle(const struct ww_facts *f, uint32_t t)
{
	return f->thread.flags[t] & WW_TF_IDLE;
}

/* The longest-running match; of a process its main thread wins. An idle CPU waits for nobody. */
static uint32_t find_asked(const struct ww_facts *f, const struct ww_query *q, const int64_t *running)
{
	uint32_t best = WW_NONE;
	int64_t a, b;

	for (uint32_t t = 0; t < f->thread.n; t++) {
		if (is_idle(f, t) || !ww_query_takes(f, q, t) || !ww_thread_range(f, t, q->from_ts_ns, q->to_ts_ns, &a, &b))
			continue;
		if (q->tid < 0 && q->pid >= 0 && f->thread.tid[t] == q->pid)
			return t;
		if (best == WW_NONE || running[t] > running[best])
			best = t;
	}
	return best;
}

/* Programs that record: in a trace that does not name its recorder they are not the workload. */
static bool is_tracer(const char *comm)
{
	static const char *const names[] = {"lttng", "trace-cmd", "perf", "whywait", "babeltrace"};

	for (size_t i = 0; i < WW_ARRAY_SIZE(names); i++)
		if (!strncmp(comm, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool may_be_workload(const struct ww_facts *f, uint32_t t)
{
	return !(f->thread.flags[t] & (WW_TF_IDLE | WW_TF_KERNEL | WW_TF_RECORDER)) && f->thread.tid[t] > 1;
}

/* A tree's root is never what is meant (a login shell, the recorder): from the tree that ran longest go
 * down for as long as one child has nearly all of it. */
static uint32_t find_workload(const struct ww_facts *f, const struct ww_query *q, const int64_t *running)
{
	int64_t *tree = ww_xcalloc((size_t)f->thread.n + 1, sizeof(*tree)), a, b;
	uint32_t best = WW_NONE;

	for (uint32_t t = 0; t < f->thread.n; t++) {
		if (!may_be_workload(f, t))
			continue;
		tree[t] += is_tracer(ww_facts_str(f, f->thread.comm[t])) ? 0 : running[t];
		uint32_t p = f->thread.parent[t];
		for (int hops = 0; p < f->thread.n && hops < 64; hops++, p = f->thread.parent[p])
			tree[p] += running[t];
	}
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (may_be_workload(f, t) && ww_thread_range(f, t, q->from_ts_ns, q->to_ts_ns, &a, &b) &&
		    (best == WW_NONE || tree[t] > tree[best]))
			best = t;
	for (uint32_t t = 0; best != WW_NONE && t < f->thread.n; t++)
		if (f->thread.parent[t] == best && may_be_workload(f, t) && tree[t] * 10 >= tree[best] * 8 &&
		    ww_thread_range(f, t, q->from_ts_ns, q->to_ts_ns, &a, &b)) {
			best = t;
			t = WW_NONE; /* from the first thread again */
		}
	free(tree);
	return best;
}

/* "+0.1 s to +0.2 s after the begin of the trace" */
static const char *range_text(const struct ww_facts *f, int64_t from_ts_ns, int64_t to_ts_ns, char *buf, size_t size)
{
	snprintf(buf, size, "+%.6f s to +%.6f s", (double)(from_ts_ns - f->begin_ts_ns) / 1e9,
		 (double)(to_ts_ns - f->begin_ts_ns) / 1e9);
	return buf;
}

static int no_command(const struct ww_facts *f, struct ww_err *err)
{
	const char *command = ww_facts_str(f, f->target_cmdline);
	int64_t from, to;
	char text[80];

	if (ww_thread_range(f, f->target, INT64_MIN, INT64_MAX, &from, &to))
		ww_err_set(err, WW_ENOTHREAD, f->host.trace_path, WW_ERR_NO_OFFSET,
			   "the recorded command (%s) ran from %s, which the asked time does not touch", command,
			   range_text(f, from, to, text, sizeof(text)));
	else
		ww_err_set(err, WW_ENOTHREAD, f->host.trace_path, WW_ERR_NO_OFFSET,
			   "the recorded command (%s) had just begun when the trace ends", command);
	return ww_err_hint(err, "name another thread with --tid, --pid or --comm; `whywait threads --all` lists them");
}

/* Is it the name, or the time? */
static int no_thread(const struct ww_facts *f, const struct ww_query *q, struct ww_err *err)
{
	int64_t begin = INT64_MAX, end = INT64_MIN, a, b;
	bool idle = false;
	char text[80];

	for (uint32_t t = 0; t < f->thread.n; t++)
		if (ww_query_takes(f, q, t) && is_idle(f, t)) {
			idle = true;
		} else if (ww_query_takes(f, q, t) && ww_thread_range(f, t, INT64_MIN, INT64_MAX, &a, &b)) {
			begin = WW_MIN(begin, a);
			end = WW_MAX(end, b);
		}
	if (!ww_query_asks(q))
		ww_err_set(err, WW_ENOTHREAD, f->host.trace_path, WW_ERR_NO_OFFSET,
			   "no user-space thread in the asked time; the trace is from %s",
			   range_text(f, f->begin_ts_ns, f->end_ts_ns, text, sizeof(text)));
	else if (begin < end)
		ww_err_set(err, WW_ENOTHREAD, f->host.trace_path, WW_ERR_NO_OFFSET,
			   "what was asked for lived from %s, which the asked time does not touch",
			   range_text(f, begin, end, text, sizeof(text)));
	else if (idle)
		ww_err_set(err, WW_ENOTHREAD, f->host.trace_path, WW_ERR_NO_OFFSET,
			   "that is no thread but what a CPU does when there is none to run: it waits for nobody");
	else
		ww_err_set(err, WW_ENOTHREAD, f->host.trace_path, WW_ERR_NO_OFFSET,
			   "no thread of this tid, pid, name or cgroup is in the trace");
	return ww_err_hint(err, "`whywait threads --all` lists them");
}

int ww_query_check(const struct ww_facts *f, const struct ww_query *q, struct ww_err *err)
{
	char text[80];

	if (f->begin_ts_ns < f->end_ts_ns && (q->from_ts_ns >= f->end_ts_ns || q->to_ts_ns <= f->begin_ts_ns))
		return ww_err_set(err, WW_ENOTHREAD, f->host.trace_path, WW_ERR_NO_OFFSET,
				  "the trace is from %s, which the asked time does not touch",
				  range_text(f, f->begin_ts_ns, f->end_ts_ns, text, sizeof(text)));
	if (!ww_query_asks(q))
		return 0;
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (ww_query_takes(f, q, t))
			return 0;
	return no_thread(f, q, err);
}

int ww_target_find(const struct ww_facts *f, const struct ww_query *q, struct ww_target *ret, struct ww_err *err)
{
	bool asked = ww_query_asks(q);
	struct ww_target t = {.thread = WW_NONE, .why = "as asked"};
	int64_t *running = NULL;

	if (!asked && f->target < f->thread.n &&
	    ww_thread_range(f, f->target, q->from_ts_ns, q->to_ts_ns, &t.from_ts_ns, &t.to_ts_ns)) {
		t.thread = f->target;
		t.why = "the recorded command";
		*ret = t;
		return 0;
	}
	if (!asked && f->target < f->thread.n) /* another thread would be an answer to another question */
		return no_command(f, err);
	running = running_times(f, q);
	t.thread = asked ? find_asked(f, q, running) : find_workload(f, q, running);
	free(running);
	if (t.thread == WW_NONE)
		return no_thread(f, q, err);
	if (!asked)
		t.why = "chosen, as the trace does not name its target: it and its children ran longest";
	ww_thread_range(f, t.thread, q->from_ts_ns, q->to_ts_ns, &t.from_ts_ns, &t.to_ts_ns);
	*ret = t;
	return 0;
}

static bool descends(const struct ww_facts *f, uint32_t t, uint32_t root)
{
	for (int hops = 0; t < f->thread.n && hops < 64; hops++, t = f->thread.parent[t])
		if (t == root)
			return true;
	return false;
}

void ww_target_family(struct ww_arena *mem, const struct ww_facts *f, const struct ww_target *t,
		      uint32_t **ret_threads, uint32_t *ret_n)
{
	int32_t pid = f->thread.pid[t->thread];
	uint32_t *list = WW_ARENA_ARRAY(mem, uint32_t, f->thread.n + 1), n = 0;
	int64_t a, b;

	for (uint32_t i = 0; i < f->thread.n; i++) {
		if (i == t->thread || (f->thread.flags[i] & (WW_TF_IDLE | WW_TF_RECORDER)))
			continue;
		bool same = pid >= 0 && f->thread.pid[i] == pid;
		bool ours = t->thread == f->target && (f->thread.flags[i] & WW_TF_TARGET);
		if (!same && !ours && !descends(f, i, t->thread))
			continue;
		if (ww_thread_range(f, i, t->from_ts_ns, t->to_ts_ns, &a, &b))
			list[n++] = i;
	}
	*ret_threads = list;
	*ret_n = n;
}
