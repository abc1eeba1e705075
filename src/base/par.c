/* par.c - threads that take the next job until there is none.
 *
 * They are made once. Steps follow one another closely, and a thread that is made, or woken on a CPU that sleeps, may begin
 * when the step is over: in a virtual machine that can take a millisecond. So one that has nothing to do looks for work
 * for a moment before it sleeps, and so does who waits for the others to end.
 */
#include "base/par.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_THREADS 64
#define MOMENT_NS 500000

struct jobs {
	void (*job)(void *ctx, uint32_t i);
	void *ctx;
	uint32_t n;
	atomic_uint next;
	atomic_uint inside; /* threads beside the caller's that are at it; grows under the lock only */
	unsigned room;      /* how many more may come */
	struct jobs *older;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is below */
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER, one_left = PTHREAD_COND_INITIALIZER;
static struct jobs *open_jobs; /* somebody is at them; jobs may run others */
static unsigned nthreads, callers; /* made here; who is in ww_par_run, and may wait there for jobs of a job */
static atomic_uint calls; /* of ww_par_run: tells who looks for work that there may be some */

unsigned ww_par_threads(void)
{
	const char *s = getenv("WHYWAIT_THREADS");
	long limit = s ? strtol(s, NULL, 10) : 0;
	cpu_set_t set;
	int n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	if (limit > 0 && limit < n)
		n = (int)limit;
	return (unsigned)WW_MAX(1, WW_MIN(n, MAX_THREADS));
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Until *v is `not` no more, but only for a moment. */
static void look_at(atomic_uint *v, unsigned not)
{
	const int64_t end = now_ns() + MOMENT_NS;

	while (atomic_load(v) == not && now_ns() < end)
		sched_yield();
}

static void take(struct jobs *j)
{
	for (uint32_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n;)
		j->job(j->ctx, i);
}

/* With the lock. */
static struct jobs *some_open(void)
{
	struct jobs *j = open_jobs;

	while (j && (!j->room || atomic_load(&j->next) >= j->n))
		j = j->older;
	return j;
}

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		struct jobs *j = some_open();
		const unsigned seen = atomic_load(&calls);

		if (j) {
			j->room--;
			atomic_fetch_add(&j->inside, 1);
			pthread_mutex_unlock(&lock);
			take(j);
			pthread_mutex_lock(&lock);
			atomic_fetch_sub(&j->inside, 1);
			pthread_cond_broadcast(&one_left);
			continue;
		}
		pthread_mutex_unlock(&lock);
		look_at(&calls, seen);
		pthread_mutex_lock(&lock);
		if (atomic_load(&calls) == seen)
			pthread_cond_wait(&work_came, &lock);
	}
	return NULL;
}

bool ww_thread_start(pthread_t *ret, void *(*run)(void *), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool ok = pthread_create(ret, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

/* With the lock. Where no thread can be had those that there are do all. */
static void make_threads(unsigned n)
{
	pthread_t thread;

	while (nthreads < n && ww_thread_start(&thread, work, NULL)) {
		pthread_detach(thread);
		nthreads++;
	}
}

/* Until the others have left them. It does not help with other jobs meanwhile: its caller may have a lock that these want. */
static void close_jobs(struct jobs *j)
{
	struct jobs **at = &open_jobs;

	pthread_mutex_lock(&lock);
	while (*at != j)
		at = &(*at)->older;
	*at = j->older;
	while (atomic_load(&j->inside)) {
		const unsigned inside = atomic_load(&j->inside);

		pthread_mutex_unlock(&lock);
		look_at(&j->inside, inside);
		pthread_mutex_lock(&lock);
		if (atomic_load(&j->inside) == inside)
			pthread_cond_wait(&one_left, &lock);
	}
	callers--;
	pthread_mutex_unlock(&lock);
}

void ww_par_run(uint32_t njobs, void (*job)(void *ctx, uint32_t i), void *ctx)
{
	const unsigned threads = WW_MIN(ww_par_threads(), njobs);
	struct jobs j = {.job = job, .ctx = ctx, .n = njobs, .room = threads ? threads - 1 : 0};

	if (!j.room) {
		take(&j);
		return;
	}
	pthread_mutex_lock(&lock);
	make_threads(j.room + callers++);
	j.older = open_jobs;
	open_jobs = &j;
	atomic_fetch_add(&calls, 1);
	for (unsigned i = 0; i < j.room; i++)
		pthread_cond_signal(&work_came);
	pthread_mutex_unlock(&lock);
	take(&j);
	close_jobs(&j);
}
