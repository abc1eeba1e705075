/* par.h - a handful of independent jobs on as many threads as this process may use.
 *
 *   ww_par_run(njobs, job, ctx): job(ctx, 0) ... job(ctx, njobs - 1), each once, in any order, and all have
 *   returned when it returns. Jobs share nothing but ctx, which they read; what they write is their own. A job may have
 *   jobs of its own. The threads stay: a process that forks while another thread is in here must not come here in the child.
 */
#ifndef WW_PAR_H
#define WW_PAR_H

#include <pthread.h>

#include "base/base.h"

/* CPUs that this process may run on, at least 1, at most 64; WHYWAIT_THREADS in the environment says less. */
unsigned ww_par_threads(void);
/* Of n rows in `parts` parts: the first row of part i, and where the last part ends, i == parts. */
static inline uint32_t ww_par_begin(uint32_t n, uint32_t parts, uint32_t i)
{
	return (uint32_t)((uint64_t)n * i / parts);
}
/* A thread that takes no signals: they are the others'. False: none can be had. */
bool ww_thread_start(pthread_t *ret, void *(*run)(void *), void *arg);
void ww_par_run(uint32_t njobs, void (*job)(void *ctx, uint32_t i), void *ctx);

#endif
