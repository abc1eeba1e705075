/* facts_seal.c - sealing against a naive sort: states by thread and start, each with all its columns; row numbers
 * by CPU and thread; interrupts by start. In order and out of order, short and so long that the columns are in files. */
#include "../tap.h"
#include "facts/facts.h"

static uint64_t seed = 88172645463325252ull;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* Everything in a row follows from its thread and number, so a row that was mixed up with another shows. */
static struct ww_state_full row_of(uint32_t thread, uint32_t nr, int64_t start)
{
	return (struct ww_state_full){
		.is = {.thread = thread, .start_ts_ns = start, .dur_ns = nr % 7, .state = (uint8_t)(nr % 11),
		       .cause = (uint8_t)(thread % 5), .certainty = nr & 1, .cpu = (int16_t)(nr % 300), .syscall = nr * 3},
		.has = nr % 4 ? (struct ww_state_more){.fault = nr ^ thread, .wakeup = nr + 1, .file = thread * 7,
						       .object = (uint64_t)nr * 1234567891u, .other = nr * 5 + thread, .detail = nr / 3}
			      : (struct ww_state_more)WW_STATE_MORE_NONE};
}

static bool same_row(const struct ww_state_full *x, const struct ww_state_full *y)
{
	const struct ww_state *a = &x->is, *b = &y->is;
	const struct ww_state_more *c = &x->has, *d = &y->has;

	return a->thread == b->thread && a->start_ts_ns == b->start_ts_ns && a->dur_ns == b->dur_ns &&
	       a->state == b->state && a->cause == b->cause && a->certainty == b->certainty && a->cpu == b->cpu &&
	       a->syscall == b->syscall && c->fault == d->fault && c->wakeup == d->wakeup && c->file == d->file &&
	       c->object == d->object && c->other == d->other && c->detail == d->detail;
}

struct expected {
	struct ww_state_full s;
	uint32_t nr; /* order of the pushes */
};

static int by_thread_and_start(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	if (x->s.is.thread != y->s.is.thread)
		return x->s.is.thread < y->s.is.thread ? -1 : 1;
	if (x->s.is.start_ts_ns != y->s.is.start_ts_ns)
		return x->s.is.start_ts_ns < y->s.is.start_ts_ns ? -1 : 1;
	return x->nr < y->nr ? -1 : 1;
}

/* Its columns follow from the order of the pushes. */
static struct ww_interrupt interrupt_of(uint32_t nr, int64_t start)
{
	return (struct ww_interrupt){.cpu = nr % 4, .kind = (uint8_t)(nr % 5), .vector = (int32_t)nr, .name = nr * 3, .start_ts_ns = start,
				     .dur_ns = (int64_t)nr * 7, .raised_ts_ns = start - nr % 9, .nesting = (uint8_t)(nr % 3), .thread = nr ^ 5};
}

static bool interrupts_are_ordered(const struct ww_facts *f, uint32_t n)
{
	int64_t start = INT64_MIN;
	uint32_t before = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct ww_interrupt r = ww_interrupt_get(f, i), want = interrupt_of((uint32_t)r.vector, r.start_ts_ns);
		const uint32_t nr = (uint32_t)r.vector;

		if (r.start_ts_ns < start || (r.start_ts_ns == start && nr <= before) || nr >= n || r.cpu != want.cpu || r.kind != want.kind ||
		    r.name != want.name || r.dur_ns != want.dur_ns || r.raised_ts_ns != want.raised_ts_ns ||
		    r.nesting != want.nesting || r.thread != want.thread)
			return false;
		start = r.start_ts_ns;
		before = nr;
	}
	return f->interrupt.n == n;
}

static void add_rows(struct ww_facts *f, struct expected *want, uint32_t n, uint32_t threads, uint32_t disorder)
{
	int64_t now = 0;

	for (uint32_t i = 0; i < threads; i++)
		ww_thread_push(f, &(struct ww_thread){.tid = (int32_t)i + 1});
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = rnd(threads);
		/* a little too late, or as long as there are rows: a call whose entry was not seen */
		int64_t start = disorder && !rnd(disorder) ? rnd(4) ? now - rnd(300) : rnd(3) : now;

		now += rnd(5);
		want[i] = (struct expected){row_of(t, i, start), i};
		ww_state_full_push(f, want[i].s);
		ww_run_push(f, &(struct ww_run){.cpu = t % 4, .thread = t, .start_ts_ns = start, .dur_ns = 1});
		ww_syscall_push(f, &(struct ww_syscall){.thread = t, .start_ts_ns = start, .dur_ns = 1});
		const struct ww_interrupt interrupt = interrupt_of(i, start);
		ww_interrupt_push(f, &interrupt);
	}
}

/* By start; of equal ones in the order of the pushes. */
static bool ordered(const uint32_t *rows, uint32_t from, uint32_t to, const uint32_t *key, uint32_t k,
		    const int64_t *start)
{
	for (uint32_t i = from; i < to; i++)
		if (key[rows[i]] != k || (i > from && (start[rows[i]] < start[rows[i - 1]] ||
						       (start[rows[i]] == start[rows[i - 1]] && rows[i] <= rows[i - 1]))))
			return false;
	return true;
}

static void seal(const char *what, uint32_t n, uint32_t threads, uint32_t disorder)
{
	struct ww_facts f;
	struct expected *want = ww_xcalloc(n + 1, sizeof(*want));
	uint32_t wrong = 0, sum = 0;
	bool rows = true;

	ww_facts_init(&f);
	add_rows(&f, want, n, threads, disorder);
	if (n)
		qsort(want, n, sizeof(*want), by_thread_and_start);
	is_i64(ww_facts_seal(&f, NULL), 0, what);
	for (uint32_t i = 0; i < n; i++) {
		struct ww_state_full s = ww_state_full_get(&f, i);
		wrong += !same_row(&s, &want[i].s);
	}
	is_i64(wrong, 0, "states by thread and start");
	ww_facts_index(&f);
	for (uint32_t t = 0; t < threads; t++) {
		for (uint32_t i = f.state_first[t]; i < f.state_first[t + 1]; i++)
			sum += f.state.thread[i] == t;
		rows &= ordered(f.syscall_of_thread, f.syscall_first[t], f.syscall_first[t + 1], f.syscall.thread, t,
				f.syscall.start_ts_ns);
	}
	is_i64(sum, n, "each thread's states stand together");
	for (uint32_t c = 0; c < f.host.ncpus; c++)
		rows &= ordered(f.run_of_cpu, f.run_first[c], f.run_first[c + 1], f.run.cpu, c, f.run.start_ts_ns);
	ok(rows, "row numbers by CPU and by thread");
	ok(interrupts_are_ordered(&f, n), "interrupts by start");
	ww_facts_release(&f);
	free(want);
}

int main(void)
{
	seal("nothing", 0, 3, 0);
	seal("one thread", 1000, 1, 0);
	seal("in order", 20000, 37, 0);
	seal("out of order", 20000, 37, 9);
	seal("in order, in files", 700000, 300, 0);
	seal("out of order, in files", 700000, 300, 50);
	return done_testing();
}
