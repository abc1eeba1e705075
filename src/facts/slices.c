/* slices.c - marks; time by state up to a point in time; differences. */
#include "facts/slices.h"

#include "base/par.h"
#include "facts/facts_private.h"
#include "facts/file_private.h"

#define STATE_STEP WW_STATE_MARK_ROWS
#define RUN_STEP WW_RUN_MARK_ROWS
#define CHUNK 64u /* slice ends a job */

/* ---- marks ---- */

static void marks_alloc(struct ww_marks *m, uint32_t rows, uint32_t step, uint32_t kinds)
{
	m->n = (rows + step - 1) / step;
	m->nsums = m->n * kinds;
	m->start_ns = ww_xcalloc((size_t)m->n + 1, sizeof(*m->start_ns));
	m->sum_ns = ww_xcalloc((size_t)m->nsums + 1, sizeof(*m->sum_ns));
}

static uint32_t state_kind(uint8_t state)
{
	return state < WW_ST_N ? state : WW_ST_UNKNOWN;
}

static uint32_t run_kind(const struct ww_facts *f, uint32_t thread)
{
	return thread < f->thread.n && f->thread.flags[thread] & WW_TF_IDLE ? 0 : 1;
}

void ww_facts_mark_states(struct ww_facts *f)
{
	uint64_t sum[WW_ST_N] = {0};
	struct ww_marks *s = &f->state_marks;

	marks_alloc(s, f->state.n, STATE_STEP, WW_ST_N);
	for (uint32_t i = 0; i < f->state.n; i++) {
		if (i % STATE_STEP == 0) {
			s->start_ns[i / STATE_STEP] = f->state.start_ts_ns[i];
			for (uint32_t k = 0; k < WW_ST_N; k++)
				s->sum_ns[k * s->n + i / STATE_STEP] = sum[k];
		}
		sum[state_kind(f->state.state[i])] += (uint64_t)f->state.dur_ns[i];
	}
}

void ww_facts_mark_runs(struct ww_facts *f)
{
	uint64_t busy[2] = {0};
	struct ww_marks *r = &f->run_marks;

	marks_alloc(r, f->run.n, RUN_STEP, 2);
	for (uint32_t p = 0; p < f->run.n; p++) {
		const uint32_t i = f->run_of_cpu[p];

		if (p % RUN_STEP == 0) {
			r->start_ns[p / RUN_STEP] = f->run.start_ts_ns[i];
			for (uint32_t k = 0; k < 2; k++)
				r->sum_ns[k * r->n + p / RUN_STEP] = busy[k];
		}
		busy[run_kind(f, f->run.thread[i])] += (uint64_t)f->run.dur_ns[i];
	}
}

void ww_marks_release(struct ww_marks *m)
{
	free(m->start_ns);
	free(m->sum_ns);
	*m = (struct ww_marks){0};
}

/* ---- time by kind up to a point ---- */

/* Rows of one thread, or positions of one CPU: first .. end - 1, by start. */
struct lane {
	const struct ww_facts *f;
	const struct ww_marks *marks;
	uint32_t first, end, step, kinds;
	void (*add)(const struct lane *l, uint32_t from, uint32_t to, int64_t ts_ns, uint64_t *sum);
	uint64_t before[WW_ST_N]; /* by kind, up to row `first` */
};

static void add_one(uint64_t *sum, int64_t start, int64_t dur, int64_t ts_ns)
{
	if (start < ts_ns && dur > 0)
		*sum += (uint64_t)WW_MIN(dur, ts_ns - start);
}

/* Adds what rows from .. to - 1, at most a step of them, spent before ts. */
static void add_states(const struct lane *l, uint32_t from, uint32_t to, int64_t ts_ns, uint64_t *sum)
{
	const struct ww_state_cols *c = &l->f->state;
	int64_t start[STATE_STEP], dur[STATE_STEP];
	uint8_t state[STATE_STEP];
	uint32_t n = to - from;

	ww_file_peek(l->f, c->start_ts_ns, sizeof(*start), from, n, start);
	while (n && start[n - 1] >= ts_ns)
		n--;
	ww_file_peek(l->f, c->dur_ns, sizeof(*dur), from, n, dur);
	ww_file_peek(l->f, c->state, sizeof(*state), from, n, state);
	for (uint32_t i = 0; i < n; i++)
		add_one(&sum[state_kind(state[i])], start[i], dur[i], ts_ns);
}

#define SPAN 4096u /* rows that are looked at together */
#define APART 256u /* rows that lie so far from each other are not */

/* Rows that lie near each other, least .. least + span - 1, of which row[0 .. n - 1] are the CPU's. */
static void add_near(const struct lane *l, const uint32_t *row, uint32_t n, uint32_t least, uint32_t span, int64_t ts_ns, uint64_t *sum)
{
	const struct ww_run_cols *c = &l->f->run;
	int64_t start[SPAN], dur[SPAN];
	uint32_t thread[SPAN];

	ww_file_peek(l->f, c->start_ts_ns, sizeof(*start), least, span, start);
	ww_file_peek(l->f, c->dur_ns, sizeof(*dur), least, span, dur);
	ww_file_peek(l->f, c->thread, sizeof(*thread), least, span, thread);
	for (uint32_t i = 0; i < n; i++)
		add_one(&sum[run_kind(l->f, thread[row[i] - least])], start[row[i] - least], dur[row[i] - least], ts_ns);
}

/* A CPU's runs stand near each other, between those of the other CPUs; but some of one that is idle stand far apart. */
static void add_runs(const struct lane *l, uint32_t from, uint32_t to, int64_t ts_ns, uint64_t *sum)
{
	uint32_t row[RUN_STEP];
	const uint32_t n = to - from;

	ww_file_peek(l->f, l->f->run_of_cpu, sizeof(*row), from, n, row);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint32_t least = row[i], most = row[i];

		for (end = i + 1; end < n; end++) {
			const uint32_t lo = WW_MIN(least, row[end]), hi = WW_MAX(most, row[end]);

			if (hi - lo >= SPAN || lo + APART < least || hi > most + APART)
				break;
			least = lo;
			most = hi;
		}
		add_near(l, row + i, end - i, least, most - least + 1, ts_ns, sum);
	}
}

/* The last row of the lane that has a mark and starts before ts; WW_NONE: none does. */
static uint32_t mark_before(const struct lane *l, int64_t ts_ns)
{
	uint32_t lo = (l->first + l->step - 1) / l->step, hi = (l->end + l->step - 1) / l->step;
	const uint32_t none = lo;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (l->marks->start_ns[mid] < ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > none ? (lo - 1) * l->step : WW_NONE;
}

/* Time by kind of the whole lane before ts. */
static void spent(const struct lane *l, int64_t ts_ns, uint64_t *ret)
{
	const uint32_t mark = mark_before(l, ts_ns), from = mark == WW_NONE ? l->first : mark;

	for (uint32_t k = 0; k < l->kinds; k++)
		ret[k] = mark == WW_NONE ? 0 : l->marks->sum_ns[k * l->marks->n + mark / l->step] - l->before[k];
	/* up to the next mark, which starts at or after ts */
	l->add(l, from, WW_MIN(l->end, (from / l->step + 1) * l->step), ts_ns, ret);
}

static void lane_init(struct lane *l)
{
	const uint32_t mark = l->first / l->step * l->step;

	if (l->first == l->end)
		return;
	for (uint32_t k = 0; k < l->kinds; k++)
		l->before[k] = l->marks->sum_ns[k * l->marks->n + mark / l->step];
	if (mark < l->first)
		l->add(l, mark, l->first, INT64_MAX, l->before);
}

/* ---- slices ---- */

struct window {
	const struct lane *lane;
	int64_t from, to;
	uint32_t n;
	struct ww_slice *slices;
	struct ww_cpu_slice *cpu_slices;
};

static int64_t end_of(const struct window *w, uint32_t i)
{
	return (int64_t)((__int128)w->from + ((__int128)w->to - w->from) * i / w->n);
}

static void put_slice(const struct window *w, uint32_t i, const uint64_t *a, const uint64_t *b)
{
	struct ww_slice s = {0, WW_ST_UNKNOWN};

	if (w->cpu_slices) {
		w->cpu_slices[i] = (struct ww_cpu_slice){(int64_t)(b[0] - a[0]), (int64_t)(b[1] - a[1])};
		return;
	}
	for (uint32_t k = 0; k < WW_ST_N; k++)
		if ((int64_t)(b[k] - a[k]) > s.in_ns)
			s = (struct ww_slice){(int64_t)(b[k] - a[k]), (uint8_t)k};
	w->slices[i] = s;
}

static void make_slices(void *ctx, uint32_t job)
{
	const struct window *w = ctx;
	const uint32_t first = job * CHUNK, end = WW_MIN(first + CHUNK, w->n);
	uint64_t spent_by[2][WW_ST_N];

	spent(w->lane, end_of(w, first), spent_by[first & 1]);
	for (uint32_t i = first; i < end; i++) {
		spent(w->lane, end_of(w, i + 1), spent_by[(i + 1) & 1]);
		put_slice(w, i, spent_by[i & 1], spent_by[(i + 1) & 1]);
	}
}

static int make(struct lane *l, struct window *w)
{
	if (!w->n || w->n > 1u << 20 || w->from >= w->to)
		return -WW_EUSAGE;
	lane_init(l);
	w->lane = l;
	ww_par_run((w->n + CHUNK - 1) / CHUNK, make_slices, w);
	return 0;
}

int ww_facts_slices(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns, uint32_t n,
		    struct ww_slice *ret)
{
	struct window w = {.from = from_ts_ns, .to = to_ts_ns, .n = n, .slices = ret};

	if (!f->sealed || thread >= f->thread.n)
		return -WW_EUSAGE;
	ww_facts_index(f);
	struct lane l = {.f = f, .marks = &f->state_marks, .first = f->state_first[thread], .end = f->state_first[thread + 1],
			 .step = STATE_STEP, .kinds = WW_ST_N, .add = add_states};
	return make(&l, &w);
}

int ww_facts_cpu_slices(const struct ww_facts *f, uint32_t cpu, int64_t from_ts_ns, int64_t to_ts_ns, uint32_t n,
			struct ww_cpu_slice *ret)
{
	struct window w = {.from = from_ts_ns, .to = to_ts_ns, .n = n, .cpu_slices = ret};

	if (!f->sealed || cpu >= f->host.ncpus)
		return -WW_EUSAGE;
	ww_facts_index(f);
	struct lane l = {.f = f, .marks = &f->run_marks, .first = f->run_first[cpu], .end = f->run_first[cpu + 1],
			 .step = RUN_STEP, .kinds = 2, .add = add_runs};
	return make(&l, &w);
}
