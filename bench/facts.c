/* facts.c - how long a window over very many states takes from a facts file, and what the file costs.
 *
 *   bench-facts make FILE MILLIONS     facts of so many million states of 100 threads on 8 CPUs, as a system of short
 *                                      system calls makes them. Their columns need 57 bytes a state in $TMPDIR meanwhile
 *   bench-facts window FILE            opens it and asks for 1920 slices of the whole, of a half, of a thousandth
 */
#include <stdio.h>
#include <time.h>

#include "facts/facts_file.h"
#include "facts/slices.h"

#define THREADS 100u
#define CPUS 8u
#define SLICES 1920u

static const struct ww_facts_key key = {1, 2, 3, UINT64_C(1) << 40}; /* of a large trace: not squeezed */

static uint32_t rnd(uint32_t n)
{
	static uint64_t s = 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 33) % n;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long anonymous_kb(void)
{
	char line[200];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

/* A thread calls, is in the kernel, is interrupted now and then, blocks now and then. */
static void next_state(struct ww_facts *f, uint32_t t, int64_t *now, uint8_t *last)
{
	struct ww_state s = {.thread = t, .start_ts_ns = *now, .dur_ns = 200 + rnd(1u << (8 + rnd(9))), .cpu = (int16_t)(t % CPUS),
			     .syscall = WW_NONE};
	struct ww_state_more more = WW_STATE_MORE_NONE;
	const bool in_call = *last == WW_ST_RUNNING_USER;

	s.state = in_call ? WW_ST_RUNNING_KERNEL : WW_ST_RUNNING_USER;
	if (in_call && !rnd(20)) {
		s.state = WW_ST_BLOCKED;
		s.cause = (uint8_t)(WW_CA_DISK + rnd(6));
		s.dur_ns *= 20;
		if (f->wakeup.n)
			more.wakeup = f->wakeup.n - 1;
	}
	if (s.state != WW_ST_RUNNING_USER && f->syscall.n)
		s.syscall = f->syscall.n - 1;
	s.more = ww_state_more_of(f, &more);
	ww_state_push(f, &s);
	*last = s.state;
	*now += s.dur_ns;
}

static int make(const char *file, uint32_t millions)
{
	struct ww_facts_notes notes = {0};
	struct ww_err err = {0};
	int64_t now[THREADS] = {0}, cpu_now[CPUS] = {0};
	uint8_t last[THREADS] = {0};
	struct ww_facts f;

	ww_facts_init(&f);
	f.host.ncpus = CPUS;
	for (uint32_t t = 0; t < THREADS; t++)
		ww_thread_push(&f, &(struct ww_thread){.tid = (int32_t)t, .flags = t < CPUS ? WW_TF_IDLE : 0, .process = WW_NONE, .parent = WW_NONE,
						    .renamed = WW_NONE});
	for (uint32_t i = 0; i < millions * 1000000u; i++) {
		const uint32_t t = rnd(4) ? i / 64 % THREADS : 50; /* one has more than the others */

		next_state(&f, t, &now[t], &last[t]);
		if (i % 8 == 0) {
			int64_t *c = &cpu_now[i / 8 % CPUS];
			ww_run_push(&f, &(struct ww_run){.cpu = i / 8 % CPUS, .thread = t, .start_ts_ns = *c, .dur_ns = 1000 + rnd(40000), .next = WW_NONE});
			*c += 41000;
		}
		if (i % 30 == 0)
			ww_syscall_push(&f, &(struct ww_syscall){.thread = t, .start_ts_ns = now[t], .dur_ns = 300, .file = WW_NONE});
	}
	for (uint32_t t = 0; t < THREADS; t++)
		f.end_ts_ns = WW_MAX(f.end_ts_ns, now[t]);
	int rc = ww_facts_seal(&f, &err);
	double begin = now_ms();
	if (!rc)
		rc = ww_facts_save(&f, &key, &notes, file, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.message);
	else
		printf("written: %u million states in %.1f s\n", millions, (now_ms() - begin) / 1e3);
	ww_facts_release(&f);
	return rc ? 1 : 0;
}

static void ask(const struct ww_facts *f, uint32_t thread, int64_t from, int64_t to, const char *what)
{
	static struct ww_slice slice[SLICES];
	static struct ww_cpu_slice cpu[SLICES];
	double begin = now_ms(), cpu_begin = cpu_ms(), first, first_cpu, again, cpus;

	ww_facts_slices(f, thread, from, to, SLICES, slice);
	first = now_ms() - begin;
	first_cpu = cpu_ms() - cpu_begin;
	begin = now_ms();
	ww_facts_slices(f, thread, from, to, SLICES, slice);
	again = now_ms() - begin;
	begin = now_ms();
	ww_facts_cpu_slices(f, thread % CPUS, from, to, SLICES, cpu);
	cpus = now_ms() - begin;
	printf("%-14s thread %2u (%8u states): %6.1f ms (CPU %5.1f), again %6.1f ms; a CPU: %6.1f ms\n", what, thread,
	       f->state_first[thread + 1] - f->state_first[thread], first, first_cpu, again, cpus);
}

static int window(const char *file)
{
	const struct ww_facts_again again = {.min_bytes = 1};
	struct ww_facts_notes notes = {0};
	struct ww_err err = {0};
	struct ww_facts f;
	double begin = now_ms();

	ww_facts_init(&f);
	if (ww_facts_open(&f, &key, file, &again, &notes, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	printf("opened: %.1f ms, %u states%s\n", now_ms() - begin, f.state.n, f.lazy ? "" : ", all unpacked: there is no userfaultfd");
	const int64_t end = f.end_ts_ns;
	const uint32_t threads[] = {50, 7, 99};
	for (size_t i = 0; i < WW_ARRAY_SIZE(threads); i++) {
		ask(&f, threads[i], 0, end, "all");
		ask(&f, threads[i], end / 4, end / 4 * 3, "half");
		ask(&f, threads[i], end / 3, end / 3 + end / 1000, "a thousandth");
	}
	printf("anonymous memory: %ld kB\n", anonymous_kb());
	ww_facts_release(&f);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "make"))
		return make(argv[2], (uint32_t)atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "window"))
		return window(argv[2]);
	fprintf(stderr, "usage: bench-facts make FILE MILLIONS | window FILE\n");
	return 2;
}
