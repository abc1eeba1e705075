/* base_pages.c - a long array that goes on from the heap in anonymous memory and in a file: what was there stays, what is
 * new is zero, also where no file can be had or the file may not grow; there is no more anonymous memory than is said;
 * and jobs on several threads, each done once. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../tap.h"
#include "base/pages.h"
#include "base/par.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Grows by random steps to 64 MB, more than may be anonymous, and fills each step; true when all is as it should be at the end. */
static bool grow(struct ww_pages *g)
{
	const uint64_t start = seed;
	size_t n = 0;
	uint64_t *v = NULL;

	while (n < (8u << 20)) {
		size_t more = 1 + rnd() % (n ? n / 2 + 1 : 100);

		v = ww_pages_resize(g, (n + more) * sizeof(*v));
		for (size_t i = n; i < n + more; i++)
			if (v[i])
				return false;
		for (size_t i = n; i < n + more; i++)
			v[i] = rnd();
		n += more;
	}
	seed = start;
	for (size_t i = 0; i < n;) {
		size_t more = 1 + rnd() % (i ? i / 2 + 1 : 100);

		for (size_t end = i + more; i < end; i++)
			if (v[i] != rnd())
				return false;
	}
	return ww_pages_resize(g, 8) == v; /* never shorter */
}

static void on_heap_and_in_a_file(void)
{
	struct ww_pages g = {0};

	ok(grow(&g), "contents while it grows");
	ok(g.file, "it is in a file at last");
	ww_pages_release(&g);
	ok(!g.p && !g.bytes && !g.file, "released");
	ww_pages_release(&g);
}

static void without_a_file(void)
{
	struct rlimit old, lim;
	struct ww_pages g = {0};

	getrlimit(RLIMIT_FSIZE, &old);
	lim = old;
	lim.rlim_cur = 6u << 20; /* the signal of going past it would end the test */
	ok(setrlimit(RLIMIT_FSIZE, &lim) == 0 && grow(&g) && !g.file, "a file that may not grow: not in one");
	setrlimit(RLIMIT_FSIZE, &old);
	ww_pages_release(&g);

	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	lim = files;
	lim.rlim_cur = 0;
	ok(setrlimit(RLIMIT_NOFILE, &lim) == 0 && grow(&g) && !g.file, "no file can be opened: it stays where it is");
	setrlimit(RLIMIT_NOFILE, &files);
	ww_pages_release(&g);
}

/* Its first large page ends here. */
#define HEAD_BYTES (WW_PAGES_SMALL_BYTES + WW_PAGES_LARGE_BYTES)

static void heads_end(void)
{
	enum { FIT = WW_PAGES_HEADS_BYTES / WW_PAGES_LARGE_BYTES, N = FIT + 3 };
	struct ww_pages g[N] = {0}, again = {0};
	unsigned anonymous = 0, files = 0;

	for (int i = 0; i < N; i++) {
		char *p = ww_pages_resize(&g[i], HEAD_BYTES);

		p[HEAD_BYTES - 1] = 1;
		anonymous += !g[i].file && g[i].reserved;
		files += g[i].file && g[i].head == WW_PAGES_SMALL_BYTES;
	}
	is_i64(anonymous, FIT, "as many in anonymous memory as there is room for");
	is_i64(files, N - FIT, "the others in files, all but their first bytes");
	char *p = ww_pages_resize(&g[0], HEAD_BYTES + 1);
	ok(g[0].file && g[0].head == HEAD_BYTES && p[HEAD_BYTES - 1] == 1 && !p[HEAD_BYTES],
	   "one that is longer has a head and a file behind it");
	ww_pages_resize(&again, WW_PAGES_SMALL_BYTES + 1);
	ok(again.file, "no room for a head");
	ww_pages_release(&g[1]);
	ww_pages_release(&again);
	ww_pages_resize(&again, WW_PAGES_SMALL_BYTES + 1);
	ok(!again.file && again.reserved, "room that another one left");
	for (int i = 0; i < N; i++)
		ww_pages_release(&g[i]);
	ww_pages_release(&again);
}

/* As many as are allowed, but not where there are no more addresses; never less than one can rely on. */
static void more_heads(void)
{
	enum { MOST = 3 * WW_PAGES_HEADS_BYTES / WW_PAGES_LARGE_BYTES };
	const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
		     allowed = WW_MAX(WW_MIN(2 * WW_PAGES_HEADS_BYTES, machine / 32), WW_PAGES_HEADS_BYTES);
	struct ww_pages g[MOST] = {0}, more = {0};
	size_t heads = 0;

	ww_pages_allow(2 * WW_PAGES_HEADS_BYTES);
	uint64_t *v = ww_pages_resize(&g[0], WW_PAGES_SMALL_BYTES);
	v[9] = 80;
	ok(ww_pages_resize(&g[0], 5 * HEAD_BYTES) == (void *)v && !g[0].file && g[0].bytes == g[0].head, "several large pages, no file");
	ok(v[9] == 80 && !v[5 * HEAD_BYTES / 8 - 1], "contents");
	const size_t reserved = g[0].reserved;
	v = ww_pages_resize(&g[0], reserved);
	ok(g[0].file && g[0].head < reserved && v[9] == 80 && !v[reserved / 8 - 1], "one that needs all addresses goes on in a file");
	for (size_t i = 1; i < MOST; i++)
		ww_pages_resize(&g[i], HEAD_BYTES);
	for (size_t i = 0; i < MOST; i++)
		heads += g[i].head - WW_PAGES_SMALL_BYTES;
	is_i64((int64_t)heads, (int64_t)allowed, "as many as were allowed");
	ww_pages_allow(0);
	for (size_t i = 0; i < MOST; i++)
		ww_pages_release(&g[i]);
	ww_pages_resize(&more, 2 * WW_PAGES_HEADS_BYTES / 3);
	ok(!more.file, "never less than one can rely on");
	ww_pages_resize(&more, WW_PAGES_HEADS_BYTES + HEAD_BYTES);
	ok(more.file, "but no more");
	ww_pages_release(&more);
}

/* Once it is mapped, an array stays where it is, whatever is behind what is there; so does what it holds. */
static void stays_where_it_is(void)
{
	struct ww_pages g[WW_PAGES_HEADS_BYTES / WW_PAGES_LARGE_BYTES] = {0}, small = {0};
	uint64_t *v = ww_pages_resize(&small, WW_PAGES_HEAP_BYTES + 1);

	v[1000] = 77;
	for (size_t i = 0; i < WW_ARRAY_SIZE(g); i++) /* all heads that there are */
		ww_pages_resize(&g[i], HEAD_BYTES);
	ok(small.reserved && !small.file, "in small pages");
	ok(ww_pages_resize(&small, HEAD_BYTES) == (void *)v && small.file, "a file behind these");
	ok(v[1000] == 77 && !v[WW_PAGES_SMALL_BYTES / 8] && !v[HEAD_BYTES / 8 - 1], "contents");
	v = ww_pages_resize(&g[0], 4 * HEAD_BYTES);
	ok(v == ww_pages_resize(&g[0], 5 * HEAD_BYTES) && g[0].head == HEAD_BYTES, "and behind a large page");
	v[7] = 78;
	v[4 * HEAD_BYTES / 8] = 79;
	v = ww_pages_resize(&g[0], g[0].reserved + 1);
	ok(g[0].file && g[0].head == HEAD_BYTES, "its head is not copied where there are not addresses enough");
	ok(v[7] == 78 && v[4 * HEAD_BYTES / 8] == 79, "and its contents are there");
	ok(((uintptr_t)g[0].p + WW_PAGES_SMALL_BYTES) % WW_PAGES_LARGE_BYTES == 0, "large pages begin where the machine's do");
	for (size_t i = 0; i < WW_ARRAY_SIZE(g); i++)
		ww_pages_release(&g[i]);
	ww_pages_release(&small);
}

#define JOBS 1000

static void count_job(void *ctx, uint32_t i)
{
	atomic_fetch_add(&((atomic_uint *)ctx)[i], 1);
}

/* A job that has jobs of its own. */
static void outer_job(void *ctx, uint32_t i)
{
	ww_par_run(JOBS, count_job, (atomic_uint *)ctx + (size_t)i * JOBS);
}

#define CALLERS 4u
#define ROUNDS 200

struct meeting {
	pthread_t main;
	atomic_uint begun, there, alone;
};

/* True when *v became n within five seconds. */
static bool becomes(atomic_uint *v, unsigned n)
{
	for (int ms = 0; ms < 5000 && *v != n; ms++)
		usleep(1000);
	return *v == n;
}

/* It takes two threads. */
static void meet(void *ctx, uint32_t i)
{
	struct meeting *m = ctx;

	m->there++;
	if (!becomes(&m->there, 2))
		m->alone++;
}

/* That of the other thread has jobs; the main thread's has nothing to do. */
static void one_has_more(void *ctx, uint32_t i)
{
	struct meeting *m = ctx;

	m->begun++;
	becomes(&m->begun, 2);
	if (!pthread_equal(pthread_self(), m->main))
		ww_par_run(2, meet, m);
}

/* The first one makes, on all threads, what all need: the others wait for it. */
static void need_what_is_made(void *ctx, uint32_t i)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
	static unsigned made;

	pthread_mutex_lock(&making);
	if (made % CALLERS == 0)
		ww_par_run(JOBS, count_job, ctx);
	made++;
	pthread_mutex_unlock(&making);
}

static void *call_often(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		ww_par_run(JOBS, count_job, arg);
	return NULL;
}

/* True when each was counted `times` times. */
static bool all_are(const atomic_uint *v, size_t n, unsigned times)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] != times)
			return false;
	return true;
}

static void jobs_of_several(void)
{
	static atomic_uint inner[CALLERS * JOBS], own[CALLERS * JOBS];
	pthread_t callers[CALLERS];

	ww_par_run(CALLERS, outer_job, inner);
	ok(all_are(inner, CALLERS * JOBS, 1), "jobs within jobs, each once");
	for (unsigned i = 0; i < CALLERS; i++)
		pthread_create(&callers[i], NULL, call_often, own + (size_t)i * JOBS);
	for (unsigned i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	ok(all_are(own, CALLERS * JOBS, ROUNDS), "jobs of several threads, each once");

	static atomic_uint made[JOBS];
	for (int i = 0; i < ROUNDS; i++)
		ww_par_run(CALLERS, need_what_is_made, made);
	ok(all_are(made, JOBS, ROUNDS), "jobs by one job with a lock that the others want");

	struct meeting m = {.main = pthread_self()};
	setenv("WHYWAIT_THREADS", "2", 1);
	if (ww_par_threads() == 2) {
		ww_par_run(2, one_has_more, &m);
		ok(m.there == 2 && !m.alone, "jobs of a job have as many threads while its caller waits");
	}
	unsetenv("WHYWAIT_THREADS");
}

static void jobs(void)
{
	static atomic_uint done[JOBS];
	unsigned once = 0;

	ww_par_run(JOBS, count_job, done);
	ww_par_run(0, count_job, done);
	for (int i = 0; i < JOBS; i++)
		once += done[i] == 1;
	is_i64(once, JOBS, "every job once");
	setenv("WHYWAIT_THREADS", "1", 1);
	is_i64(ww_par_threads(), 1, "as many threads as one is told");
	ww_par_run(JOBS, count_job, done);
	is_i64(done[JOBS - 1], 2, "jobs on one thread");
	unsetenv("WHYWAIT_THREADS");
}

int main(void)
{
	on_heap_and_in_a_file();
	without_a_file();
	heads_end();
	more_heads();
	stays_where_it_is();
	jobs();
	jobs_of_several();
	return done_testing();
}
