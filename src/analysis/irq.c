/* irq.c - interrupt handlers: how often, how long, how long softirqs were waited for, and who was interrupted.
 *
 * A softirq's delay is the time from when it was first asked for (softirq_raise) to its entry on that CPU.
 */
#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_irq, ww_analysis_irq_thread;

enum { KIND, VECTOR, NAME, COUNT, TOTAL, AVG, P50, P99, MAX, MAX_AT, RAISED, DELAY_AVG, DELAY_P99, DELAY_MAX,
       SUFFERER, SUFFERER_NS, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[KIND] = {"kind", "kind", WW_T_STR, "irq, softirq, timer, nmi, ipi"},
	[VECTOR] = {"vector", "number", WW_T_INT, "IRQ line or softirq vector; -1 none"},
	[NAME] = {"name", "name", WW_T_STR, ""},
	[COUNT] = {"count", "times", WW_T_COUNT, "that began in the range"},
	[TOTAL] = {"total_ns", "together", WW_T_DUR, "entry to exit; what interrupted it in turn is in it"},
	[AVG] = {"avg_ns", "mean", WW_T_DUR, ""},
	[P50] = {"p50_ns", "median", WW_T_DUR, ""},
	[P99] = {"p99_ns", "99 %", WW_T_DUR, ""},
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[MAX_AT] = {"max_ts_ns", "at", WW_T_TIME, "when the longest one began"},
	[RAISED] = {"raised", "raised", WW_T_COUNT, "softirqs: of these, whose being asked for is in the trace"},
	[DELAY_AVG] = {"delay_avg_ns", "came after", WW_T_DUR, "of those raised, from then to entry, mean; null: none was"},
	[DELAY_P99] = {"delay_p99_ns", "99 %", WW_T_DUR, ""},
	[DELAY_MAX] = {"delay_max_ns", "longest", WW_T_DUR, ""},
	[SUFFERER] = {"most_comm", "interrupted most", WW_T_STR, "the thread that it took most time from; not the idle one"},
	[SUFFERER_NS] = {"most_ns", "for", WW_T_DUR, ""},
};

struct sum {
	uint32_t name, count, raised;
	int32_t vector;
	uint8_t kind;
	int64_t ns, max, max_at, delay, delay_max;
};

static int most_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static bool taken(const struct ww_facts *f, const struct ww_query *q, uint32_t i)
{
	uint32_t t = f->interrupt.thread[i];

	return !ww_query_asks(q) || (t < f->thread.n && ww_query_takes_at(f, q, t, f->interrupt.start_ts_ns[i]));
}

static void add(const struct ww_facts *f, const struct ww_query *q, struct ww_rows *rows, struct ww_rows *victims,
		struct ww_samples *samples, struct ww_samples *delays)
{
	uint32_t first, end;

	ww_query_times(q, f->interrupt.start_ts_ns, f->interrupt.n, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		int64_t start = f->interrupt.start_ts_ns[i], ns = f->interrupt.dur_ns[i];
		uint32_t t = f->interrupt.thread[i];
		if (!taken(f, q, i))
			continue;
		uint64_t key = ww_hash_mix(((uint64_t)f->interrupt.kind[i] << 32) | (uint32_t)f->interrupt.vector[i],
					   f->interrupt.name[i]);
		struct sum *s = ww_rows_get(rows, key);
		uint32_t row = ww_rows_index(rows, s);
		s->kind = f->interrupt.kind[i];
		s->vector = f->interrupt.vector[i];
		s->name = f->interrupt.name[i];
		s->count++;
		s->ns += ns;
		if (ns > s->max || s->count == 1) {
			s->max = ns;
			s->max_at = start;
		}
		ww_samples_push(samples, row, ns);
		if (f->interrupt.kind[i] == WW_IK_SOFT && f->interrupt.raised_ts_ns[i] >= 0) {
			int64_t delay = start - f->interrupt.raised_ts_ns[i];
			s->raised++;
			s->delay += delay;
			s->delay_max = WW_MAX(s->delay_max, delay);
			ww_samples_push(delays, row, delay);
		}
		if (t >= f->thread.n || (f->thread.flags[t] & WW_TF_IDLE))
			continue;
		ww_share_add(victims, row, t, ns);
	}
}

/* What put() needs besides. */
struct beside {
	struct ww_samples delays;
	const struct ww_share *most;
};

static bool put(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct beside *b = x->ctx;
	const struct sum *s = sum;

	c[KIND].s = ww_irq_kind_name(s->kind);
	c[VECTOR].i = s->vector;
	c[NAME].s = ww_facts_str(x->f, s->name);
	c[COUNT].i = s->count;
	c[TOTAL].i = s->ns;
	c[AVG].i = s->ns / s->count;
	c[P50].i = ww_samples_part(x->samples, row, 500);
	c[P99].i = ww_samples_part(x->samples, row, 990);
	c[MAX].i = s->max;
	c[MAX_AT].i = s->max_at;
	c[RAISED].i = s->raised;
	c[DELAY_AVG].i = s->raised ? s->delay / s->raised : WW_NO_VALUE;
	c[DELAY_P99].i = ww_samples_part(&b->delays, row, 990);
	c[DELAY_MAX].i = s->raised ? s->delay_max : WW_NO_VALUE;
	c[SUFFERER].s = b->most[row].ns ? ww_name_thread(x->mem, x->f, b->most[row].thread) : "";
	c[SUFFERER_NS].i = b->most[row].ns;
	return true;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_samples samples = {0};
	struct beside beside = {0};
	struct ww_rows rows, victims;

	ww_rows_init(&rows, sizeof(struct sum));
	ww_rows_init(&victims, sizeof(struct ww_share));
	add(f, q, &rows, &victims, &samples, &beside.delays);
	ww_samples_seal(&beside.delays);
	beside.most = ww_share_largest(mem, &victims, rows.n);
	const struct ww_fill fill = {
		.analysis = &ww_analysis_irq, .f = f, .q = q, .mem = mem,
		.order = most_first, .put = put, .samples = &samples, .ctx = &beside,
	};
	ww_rows_fill(&fill, &rows, ret);
	ww_samples_release(&beside.delays);
	ww_rows_release(&victims);
	return 0;
}

/* ---- by thread: what interrupts took from each ---- */

enum { T_TID, T_PID, T_COMM, T_COUNT, T_TOTAL, T_HARD, T_SOFT, T_TIMER, T_OTHER, T_MAX, T_MAX_AT, T_MAX_NAME, T_NCOLUMNS };

static const struct ww_column thread_columns[T_NCOLUMNS] = {
	[T_TID] = {"tid", "tid", WW_T_INT, "who was interrupted; 0: an idle CPU was"},
	[T_PID] = {"pid", "process", WW_T_ID, "process id; -1 unknown"},
	[T_COMM] = {"comm", "name", WW_T_STR, "last name of the thread"},
	[T_COUNT] = {"count", "times", WW_T_COUNT, "an interrupt within another one is no time of its own"},
	[T_TOTAL] = {"total_ns", "taken", WW_T_DUR, "together"},
	[T_HARD] = {"hard_ns", "hard", WW_T_DUR, "of that by devices"},
	[T_SOFT] = {"soft_ns", "softirqs", WW_T_DUR, ""},
	[T_TIMER] = {"timer_ns", "timers", WW_T_DUR, ""},
	[T_OTHER] = {"other_ns", "others", WW_T_DUR, "inter-processor interrupts, NMIs"},
	[T_MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[T_MAX_AT] = {"max_ts_ns", "at", WW_T_TIME, "when the longest one began"},
	[T_MAX_NAME] = {"max_name", "that was", WW_T_STR, "the longest one"},
};

struct victim {
	uint32_t thread, count, longest;
	int64_t ns, of[4], max;
};

static int most_taken(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static bool put_victim(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct victim *v = sum;

	c[T_TID].i = x->f->thread.tid[v->thread];
	c[T_PID].i = x->f->thread.pid[v->thread];
	c[T_COMM].s = ww_name_comm(x->f, v->thread);
	c[T_COUNT].i = v->count;
	c[T_TOTAL].i = v->ns;
	c[T_HARD].i = v->of[WW_IK_HARD];
	c[T_SOFT].i = v->of[WW_IK_SOFT];
	c[T_TIMER].i = v->of[WW_IK_TIMER];
	c[T_OTHER].i = v->of[3];
	c[T_MAX].i = v->max;
	c[T_MAX_AT].i = x->f->interrupt.start_ts_ns[v->longest];
	c[T_MAX_NAME].s = ww_facts_str(x->f, x->f->interrupt.name[v->longest]);
	return true;
}

static int run_threads(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		       struct ww_err *err)
{
	struct ww_rows rows;
	uint32_t first, end;

	ww_rows_init(&rows, sizeof(struct victim));
	ww_query_times(q, f->interrupt.start_ts_ns, f->interrupt.n, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		uint32_t t = f->interrupt.thread[i];
		if (t >= f->thread.n || f->interrupt.nesting[i] || !taken(f, q, i))
			continue;
		struct victim *v = ww_rows_get(&rows, t);
		int64_t ns = f->interrupt.dur_ns[i];
		v->thread = t;
		v->ns += ns;
		v->of[f->interrupt.kind[i] <= WW_IK_TIMER ? f->interrupt.kind[i] : 3] += ns;
		if (!v->count++ || ns > v->max) {
			v->max = ns;
			v->longest = i;
		}
	}
	const struct ww_fill fill = {
		.analysis = &ww_analysis_irq_thread, .f = f, .q = q, .mem = mem,
		.order = most_taken, .put = put_victim,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

const struct ww_analysis ww_analysis_irq = {
	.needs = WW_NEED(WW_NEED_INTERRUPTS),
	.parts = WW_NEED(WW_NEED_IRQ) | WW_NEED(WW_NEED_SOFTIRQ) | WW_NEED(WW_NEED_TIMERS),
	.name = "irq", .summary = "interrupts, softirqs and timers: how often, how long, whom they interrupted",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run,
};
const struct ww_analysis ww_analysis_irq_thread = {
	.needs = WW_NEED(WW_NEED_INTERRUPTS),
	.parts = WW_NEED(WW_NEED_IRQ) | WW_NEED(WW_NEED_SOFTIRQ) | WW_NEED(WW_NEED_TIMERS),
	.name = "irq_thread", .summary = "what interrupts took from each thread",
	.columns = thread_columns, .ncolumns = T_NCOLUMNS, .run = run_threads,
};
