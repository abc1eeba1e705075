/* par.c - threads that take the next job until there is none. */
#include "base/par.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define MAX_THREADS 64

struct jobs {
	void (*job)(void *ctx, uint32_t i);
	void *ctx;
	uint32_t n;
	atomic_uint next;
};

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

static void *work(void *arg)
{
	struct jobs *j = arg;

	for (uint32_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n;)
		j->job(j->ctx, i);
	return NULL;
}

void ww_par_run(uint32_t njobs, void (*job)(void *ctx, uint32_t i), void *ctx)
{
	struct jobs j = {.job = job, .ctx = ctx, .n = njobs};
	unsigned want = WW_MIN(ww_par_threads(), njobs), started = 0;
	pthread_t threads[MAX_THREADS];

	while (started + 1 < want && pthread_create(&threads[started], NULL, work, &j) == 0)
		started++;
	work(&j);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}
