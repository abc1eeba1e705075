/* facts_slices.c - the slices of a window against a sum over all rows: of every thread and CPU, of windows of all widths
 * and places, from facts in memory and from a facts file. */
#include <unistd.h>

#include "../tap.h"
#include "facts/facts_file.h"
#include "facts/slices.h"
#include "facts_random.h"

#define CPUS 3u
#define THREADS 7u
#define MOST_SLICES 300u

/* Threads' states follow each other, now and then with a hole; on each CPU one run after the other. */
static void make(struct ww_facts *f, uint32_t rows, uint32_t dur)
{
	int64_t now[THREADS] = {0}, cpu_now[CPUS] = {0};

	ww_facts_init(f);
	f->host.ncpus = CPUS;
	for (uint32_t t = 0; t < THREADS; t++)
		ww_thread_push(f, &(struct ww_thread){.tid = (int32_t)t, .flags = t < 2 ? WW_TF_IDLE : 0, .process = WW_NONE, .parent = WW_NONE, .renamed = WW_NONE});
	for (uint32_t i = 0; i < rows; i++) {
		const uint32_t t = random_below(random_below(3) ? THREADS - 1 : 2), c = random_below(CPUS); /* one has none */
		struct ww_state s = {.thread = t, .start_ts_ns = now[t] += random_below(20) ? 0 : random_below(500),
				     .dur_ns = 1 + random_below(dur), .state = (uint8_t)random_below(WW_ST_N), .syscall = WW_NONE};
		struct ww_run r = {.cpu = c, .thread = random_below(THREADS), .start_ts_ns = cpu_now[c] += random_below(9) ? 0 : 70,
				   .dur_ns = random_below(dur), .next = WW_NONE};

		ww_state_push(f, &s);
		ww_run_push(f, &r);
		now[t] += s.dur_ns;
		cpu_now[c] += r.dur_ns;
	}
	TAP_NEED(!ww_facts_seal(f, NULL), "the facts are sealed");
}

static int64_t overlap(int64_t start, int64_t dur, int64_t from, int64_t to)
{
	return WW_MAX(WW_MIN(start + dur, to) - WW_MAX(start, from), 0);
}

static int64_t edge(int64_t from, int64_t to, uint32_t i, uint32_t n)
{
	return from + (int64_t)((__int128)(to - from) * i / n);
}

/* How many slices are not what the rows say. The sums of all slices in one pass over the rows. */
static uint32_t wrong_states(const struct ww_facts *truth, const struct ww_facts *f, uint32_t t, int64_t from, int64_t to, uint32_t n)
{
	static int64_t sum[MOST_SLICES][WW_ST_N];
	static struct ww_slice got[MOST_SLICES];
	uint32_t wrong = 0;

	memset(sum, 0, sizeof(sum));
	for (uint32_t r = 0; r < truth->state.n; r++)
		for (uint32_t i = 0; i < n && truth->state.thread[r] == t; i++)
			sum[i][truth->state.state[r]] += overlap(truth->state.start_ts_ns[r], truth->state.dur_ns[r], edge(from, to, i, n), edge(from, to, i + 1, n));
	if (ww_facts_slices(f, t, from, to, n, got))
		return n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t best = 0;

		for (uint32_t k = 1; k < WW_ST_N; k++)
			if (sum[i][k] > sum[i][best])
				best = k;
		wrong += got[i].state != (sum[i][best] ? best : WW_ST_UNKNOWN) || got[i].in_ns != sum[i][best];
	}
	return wrong;
}

static uint32_t wrong_cpu(const struct ww_facts *truth, const struct ww_facts *f, uint32_t c, int64_t from, int64_t to, uint32_t n)
{
	static int64_t sum[MOST_SLICES][2];
	static struct ww_cpu_slice got[MOST_SLICES];
	uint32_t wrong = 0;

	memset(sum, 0, sizeof(sum));
	for (uint32_t r = 0; r < truth->run.n; r++)
		for (uint32_t i = 0; i < n && truth->run.cpu[r] == c; i++)
			sum[i][!(truth->thread.flags[truth->run.thread[r]] & WW_TF_IDLE)] += overlap(truth->run.start_ts_ns[r], truth->run.dur_ns[r], edge(from, to, i, n), edge(from, to, i + 1, n));
	if (ww_facts_cpu_slices(f, c, from, to, n, got))
		return n;
	for (uint32_t i = 0; i < n; i++)
		wrong += got[i].idle_ns != sum[i][0] || got[i].busy_ns != sum[i][1];
	return wrong;
}

static void compare(const struct ww_facts *truth, const struct ww_facts *f, uint32_t windows, const char *what)
{
	uint32_t wrong = 0, wrong_on_cpus = 0, slices = 0;
	int64_t end = 0;

	for (uint32_t i = 0; i < truth->state.n; i++)
		end = WW_MAX(end, truth->state.start_ts_ns[i] + truth->state.dur_ns[i]);
	for (uint32_t k = 0; k < windows; k++) {
		const uint32_t n = 1 + random_below(k % 3 ? 40 : MOST_SLICES), t = k % THREADS;
		int64_t from = (int64_t)(random_u64() % (uint64_t)(end + 200)) - 100, width = 1 + (int64_t)(random_u64() % (uint64_t)(end + 100) >> random_below(20));

		if (k < THREADS)
			from = -50, width = end + 100; /* all of it */
		wrong += wrong_states(truth, f, t, from, from + width, n);
		wrong_on_cpus += wrong_cpu(truth, f, k % CPUS, from, from + width, n);
		slices += n;
	}
	ok(!wrong && !wrong_on_cpus, "%s: %u slices, %u of threads and %u of CPUs wrong", what, slices, wrong, wrong_on_cpus);
}

/* trace_bytes: of a small one the facts are squeezed */
static void from_file(const struct ww_facts *f, uint64_t trace_bytes)
{
	const struct ww_facts_again again = {.min_bytes = 1};
	const struct ww_facts_key key = {1, 2, 3, trace_bytes};
	struct ww_facts_notes notes = {0};
	char dir[] = "/var/tmp/facts-slices-XXXXXX", *file;
	struct ww_err err = {0};
	struct ww_facts g;

	TAP_NEED(mkdtemp(dir), "a directory");
	file = ww_xasprintf("%s/facts", dir);
	TAP_NEED(!ww_facts_save(f, &key, &notes, file, &err), "the file is written: %s", err.message);
	for (int lazy = 0; lazy < 2; lazy++) {
		ww_facts_init(&g);
		TAP_NEED(!ww_facts_open(&g, &key, file, lazy ? &again : NULL, &notes, &err), "the file is read: %s", err.message);
		compare(f, &g, 60, g.lazy ? "from packed rows" : "from rows that were unpacked");
		ww_facts_release(&g);
	}
	unlink(file);
	rmdir(dir);
	free(file);
}

int main(void)
{
	struct ww_slice one;
	struct ww_facts f;

	make(&f, 300, 40);
	compare(&f, &f, 400, "few rows");
	ok(ww_facts_slices(&f, THREADS, 0, 1, 1, &one) && ww_facts_slices(&f, 0, 1, 1, 1, &one) && ww_facts_slices(&f, 0, 0, 1, 0, &one),
	   "no such thread, no such window");
	ok(!ww_facts_slices(&f, 1, INT64_MIN, INT64_MAX, 1, &one) && one.in_ns > 0, "a window over all of time");
	ww_facts_release(&f);
	make(&f, 40000, 9);
	compare(&f, &f, 100, "many rows");
	from_file(&f, UINT64_C(1) << 40);
	from_file(&f, 4);
	ww_facts_release(&f);
	make(&f, 0, 9);
	compare(&f, &f, 10, "no rows");
	ww_facts_release(&f);
	return done_testing();
}
