/* irq.c - interrupt handlers: how often, how long, and who was interrupted most. */
#include "analysis/names.h"
#include "analysis/rows.h"

extern const struct ww_analysis ww_analysis_irq;

enum { KIND, VECTOR, NAME, COUNT, TOTAL, AVG, P50, P99, MAX, MAX_AT, SUFFERER, SUFFERER_NS, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[KIND] = {"kind", "kind", WW_T_STR, "hard, soft, timer, nmi, ipi"},
	[VECTOR] = {"vector", "number", WW_T_INT, "IRQ line or softirq vector; -1 none"},
	[NAME] = {"name", "name", WW_T_STR, ""},
	[COUNT] = {"count", "times", WW_T_COUNT, "that began in the range"},
	[TOTAL] = {"total_ns", "together", WW_T_DUR, "entry to exit; what interrupted it in turn is in it"},
	[AVG] = {"avg_ns", "mean", WW_T_DUR, ""},
	[P50] = {"p50_ns", "median", WW_T_DUR, ""},
	[P99] = {"p99_ns", "99 %", WW_T_DUR, ""},
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[MAX_AT] = {"max_ts_ns", "at", WW_T_TIME, "when the longest one began"},
	[SUFFERER] = {"most_comm", "interrupted most", WW_T_STR, "the thread that it took most time from; not the idle one"},
	[SUFFERER_NS] = {"most_ns", "for", WW_T_DUR, ""},
};

struct sum {
	uint32_t name, count;
	int32_t vector;
	uint8_t kind;
	int64_t ns, max, max_at;
};

static int most_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void add(const struct ww_facts *f, const struct ww_query *q, struct ww_rows *rows, struct ww_rows *victims,
		struct ww_samples *samples)
{
	for (uint32_t i = 0; i < f->interrupt.n; i++) {
		int64_t start = f->interrupt.start_ts_ns[i], ns = f->interrupt.dur_ns[i];
		uint32_t t = f->interrupt.thread[i];
		bool known = t < f->thread.n;
		if (!ww_query_holds(q, start) || (ww_query_asks(q) && (!known || !ww_query_takes(f, q, t))))
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
		if (!known || (f->thread.flags[t] & WW_TF_IDLE))
			continue;
		ww_share_add(victims, row, t, ns);
	}
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_samples samples = {0};
	struct ww_rows rows, victims;

	ww_rows_init(&rows, sizeof(struct sum));
	ww_rows_init(&victims, sizeof(struct ww_share));
	add(f, q, &rows, &victims, &samples);
	ww_samples_seal(&samples);
	const struct ww_share *most = ww_share_largest(mem, &victims, rows.n);
	const uint32_t *order = ww_rows_order(mem, &rows, most_first);
	union ww_cell *c = ww_table_init(mem, ret, &ww_analysis_irq, f, rows.n);
	for (uint32_t i = 0; i < rows.n; i++, c += NCOLUMNS) {
		const struct sum *s = ww_rows_at(&rows, order[i]);
		c[KIND].s = ww_irq_kind_name(s->kind);
		c[VECTOR].i = s->vector;
		c[NAME].s = ww_facts_str(f, s->name);
		c[COUNT].i = s->count;
		c[TOTAL].i = s->ns;
		c[AVG].i = s->ns / s->count;
		c[P50].i = ww_samples_part(&samples, order[i], 500);
		c[P99].i = ww_samples_part(&samples, order[i], 990);
		c[MAX].i = s->max;
		c[MAX_AT].i = s->max_at;
		c[SUFFERER].s = most[order[i]].ns ? ww_name_thread(mem, f, most[order[i]].thread) : "";
		c[SUFFERER_NS].i = most[order[i]].ns;
	}
	ww_samples_release(&samples);
	ww_rows_release(&victims);
	ww_rows_release(&rows);
	return 0;
}

const struct ww_analysis ww_analysis_irq = {
	.name = "irq", .summary = "interrupts, softirqs and timers: how often, how long, whom they interrupted",
	.columns = columns, .ncolumns = NCOLUMNS, .run = run,
};
