/* stacks.c - where in the program threads blocked, and how long: the waits by call stack (record --stacks).
 *
 * A stack belongs to the wait that begins with the switch just after it. Equal stacks with the same cause in the same
 * system call add up.
 */
#include "analysis/names.h"
#include "analysis/ranges.h"
#include "analysis/stacks.h"

extern const struct ww_analysis ww_analysis_stacks;

/* From the stack's event to the switch's stamp: nothing happens between the two on that CPU but interrupts. */
#define SWITCH_NS 1000000

enum { TOTAL, COUNT, MAX, CAUSE, CALL, USER, KERNEL, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[TOTAL] = {"total_ns", "waited", WW_T_DUR, ""},
	[COUNT] = {"count", "times", WW_T_COUNT, ""},
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[CAUSE] = {"cause", "for", WW_T_STR, "what ended the wait"},
	[CALL] = {"syscall", "in", WW_T_STR, "system call; empty: a page fault"},
	[USER] = {"stack", "called from, innermost first", WW_T_TEXT, "functions of the program"},
	[KERNEL] = {"kernel_stack", "in the kernel", WW_T_TEXT, "functions of the kernel"},
};

struct wait {
	const char *call, *user, *kernel;
	uint8_t cause;
	uint32_t count;
	int64_t total, max;
};

struct found {
	struct ww_arena *mem;
	const struct ww_facts *f;
	struct ww_u64map map;
	WW_VEC(struct wait) v;
};

static const char *frame_text(struct ww_arena *mem, const struct ww_facts *f, uint32_t i)
{
	const char *name = ww_facts_str(f, f->stack_frame.symbol[i]);
	uint32_t file = f->stack_frame.file[i];

	if (*name)
		return name;
	if (file == WW_NONE)
		return ww_arena_printf(mem, "0x%" PRIx64, f->stack_frame.address[i]);
	const char *path = ww_facts_str(f, f->file.name[file]), *slash = strrchr(path, '/');
	return ww_arena_printf(mem, "%s+0x%" PRIx64, slash ? slash + 1 : path, f->stack_frame.offset[i]);
}

/* How many frames to show: where a caller keeps no frame pointer the walk goes on to whatever the register held, and
 * ends in what is no code of any file. Of such ends each wait would have another. */
static uint32_t frames_shown(const struct ww_facts *f, uint32_t s)
{
	const uint32_t first = f->stack.first[s], n = WW_MIN(f->stack.frames[s], (uint32_t)f->stack_frame.n - first);
	uint32_t shown = n;

	while (shown && f->stack_frame.file[first + shown - 1] == WW_NONE)
		shown--;
	return shown && !f->stack.kernel[s] ? shown : n;
}

const char *ww_stack_text(struct ww_arena *mem, const struct ww_facts *f, uint32_t s)
{
	const char *text = "";
	bool ours = s != WW_NONE && f->stack.kernel[s];

	if (s == WW_NONE)
		return text;
	const uint32_t end = f->stack.first[s] + frames_shown(f, s);
	for (uint32_t i = f->stack.first[s]; i < end; i++) {
		if (!f->stack_frame.address[i])
			continue;
		const char *frame = frame_text(mem, f, i);
		ours = ours && (!strncmp(frame, "bpf_", 4) || !strncmp(frame, "__traceiter_", 12)); /* the recorder at work, above the switch */
		if (!ours)
			text = ww_arena_printf(mem, "%s%s%s", text, *text ? " < " : "", frame);
	}
	return text;
}

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = ww_hash_mix(h, (unsigned char)*s);
	return ww_hash_mix(h, 0);
}

static bool same(const struct wait *a, const struct wait *b)
{
	return a->cause == b->cause && !strcmp(a->call, b->call) && !strcmp(a->user, b->user) &&
	       !strcmp(a->kernel, b->kernel);
}

static void add(struct found *x, const struct wait *w)
{
	uint64_t h = hash_text(hash_text(hash_text(w->cause, w->call), w->user), w->kernel);

	for (;; h++) {
		bool fresh = false;
		uint64_t *at = ww_u64map_get(&x->map, h, x->v.n, &fresh);
		if (fresh)
			*ww_vec_push(&x->v) = *w;
		else if (!same(&x->v.v[*at], w))
			continue; /* another one with this hash */
		else
			x->v.v[*at].count++, x->v.v[*at].total += w->total, x->v.v[*at].max = WW_MAX(x->v.v[*at].max, w->max);
		return;
	}
}

/* The wait that begins with the switch after the stack; WW_NONE: woken before it left, or stopped. */
static uint32_t wait_after(const struct ww_facts *f, uint32_t thread, int64_t ts_ns)
{
	uint32_t first, n;

	ww_facts_states(f, thread, ts_ns, ts_ns + SWITCH_NS, &first, &n);
	for (uint32_t i = first; i < first + n; i++)
		if (f->state.start_ts_ns[i] >= ts_ns && f->state.state[i] == WW_ST_BLOCKED)
			return i;
	return WW_NONE;
}

uint32_t ww_stack_of_wait(const struct ww_facts *f, uint32_t state, bool kernel)
{
	const int64_t at = f->state.start_ts_ns[state];
	uint32_t low = 0, high = f->stack.n;

	while (low < high) { /* the first one after the switch */
		uint32_t mid = low + (high - low) / 2;
		if (f->stack.ts_ns[mid] <= at)
			low = mid + 1;
		else
			high = mid;
	}
	while (low-- > 0 && at - f->stack.ts_ns[low] < SWITCH_NS)
		if (f->stack.thread[low] == f->state.thread[state] && !!f->stack.kernel[low] == kernel &&
		    wait_after(f, f->stack.thread[low], f->stack.ts_ns[low]) == state)
			return low;
	return WW_NONE;
}

/* The user's, which follows the kernel's of the same thread; WW_NONE: not recorded. */
static uint32_t user_stack(const struct ww_facts *f, uint32_t kernel)
{
	for (uint32_t k = kernel + 1; k < f->stack.n && f->stack.ts_ns[k] - f->stack.ts_ns[kernel] < SWITCH_NS; k++)
		if (f->stack.thread[k] == f->stack.thread[kernel])
			return f->stack.kernel[k] ? WW_NONE : k;
	return WW_NONE;
}

/* A user stack alone was counted with its kernel stack already, unless that was lost. */
static void add_stack(struct found *x, const struct ww_query *q, uint32_t kernel)
{
	const struct ww_facts *f = x->f;

	if (!f->stack.kernel[kernel] || !ww_query_takes_at(f, q, f->stack.thread[kernel], f->stack.ts_ns[kernel]))
		return;
	const uint32_t user = user_stack(f, kernel), row = wait_after(f, f->stack.thread[kernel], f->stack.ts_ns[kernel]);

	if (row == WW_NONE)
		return;
	int64_t from = WW_MAX(f->state.start_ts_ns[row], q->from_ts_ns);
	int64_t ns = WW_MIN(f->state.start_ts_ns[row] + f->state.dur_ns[row], q->to_ts_ns) - from;
	if (ns <= 0 || ns < q->min_dur_ns)
		return;
	const char *call = ww_name_syscall_only(f, f->state.syscall[row]);
	struct wait w = {.call = call ? call : "", .user = ww_stack_text(x->mem, f, user),
			 .kernel = ww_stack_text(x->mem, f, kernel), .cause = (uint8_t)ww_state_cause(f, row), .count = 1,
			 .total = ns, .max = ns};
	add(x, &w);
}

/* The first stack of which the wait may begin in the range. */
static uint32_t first_stack(const struct ww_facts *f, const struct ww_query *q)
{
	const struct ww_query near = {.from_ts_ns = WW_MAX(q->from_ts_ns, f->begin_ts_ns) - SWITCH_NS, .to_ts_ns = INT64_MAX};
	uint32_t first, end;

	ww_query_times(&near, f->stack.ts_ns, f->stack.n, &first, &end);
	return q->from_ts_ns <= f->begin_ts_ns ? 0 : first;
}

/* The stack, before `first`, of the wait in which the thread is when the range begins. */
static void add_waiting(struct found *x, const struct ww_query *q, uint32_t t, uint32_t first)
{
	uint32_t row, n;

	ww_facts_states(x->f, t, q->from_ts_ns, q->from_ts_ns + 1, &row, &n);
	if (!n || x->f->state.state[row] != WW_ST_BLOCKED)
		return;
	const uint32_t s = ww_stack_of_wait(x->f, row, true);
	if (s < first)
		add_stack(x, q, s);
}

static int longest_first(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->user, y->user);
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct found x = {.mem = mem, .f = f};

	if (!f->stack.n) {
		ww_err_set(err, WW_ENOENT, f->host.trace_path, WW_ERR_NO_OFFSET, "the trace holds no call stacks");
		return ww_err_hint(err, "record it with --stacks (perf: -g; LTTng: the contexts callstack-kernel and callstack-user of sched_switch)");
	}
	const uint32_t first = first_stack(f, q);
	if (first) /* waits that began before the range */
		for (uint32_t t = 0; t < f->thread.n; t++)
			if (ww_query_meets(f, q, t) && ww_query_takes(f, q, t))
				add_waiting(&x, q, t, first);
	for (uint32_t s = first; s < f->stack.n && f->stack.ts_ns[s] < q->to_ts_ns; s++)
		add_stack(&x, q, s);
	if (x.v.n)
		qsort(x.v.v, x.v.n, sizeof(*x.v.v), longest_first);
	if (q->top)
		x.v.n = WW_MIN(x.v.n, q->top);
	union ww_cell *c = ww_table_init(mem, ret, &ww_analysis_stacks, f, (uint32_t)x.v.n);
	for (size_t i = 0; i < x.v.n; i++, c += NCOLUMNS) {
		c[TOTAL].i = x.v.v[i].total;
		c[COUNT].i = x.v.v[i].count;
		c[MAX].i = x.v.v[i].max;
		c[CAUSE].s = ww_cause_name(x.v.v[i].cause);
		c[CALL].s = x.v.v[i].call;
		c[USER].s = x.v.v[i].user;
		c[KERNEL].s = x.v.v[i].kernel;
	}
	ww_vec_free(&x.v);
	ww_u64map_release(&x.map);
	return 0;
}

const struct ww_analysis ww_analysis_stacks = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "stacks", .summary = "where in the program threads blocked, and how long (record --stacks, perf record -g)",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run, .of_command = true,
};
