/* event_pool.c - a pool of workers, each in epoll_wait for the one eventfd by which jobs are handed out. All may be woken
 * for one job; all but one go back to sleep. Whoever did the job says so by another eventfd. */
#include "truth.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { BOSS, W0, W1, W2, N };
enum { JOBS, DONE };
#define ROUNDS 8

static void boss(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t v = 1;
		struct t_span s;

		T_sleep(T_rand(3 * MS, 9 * MS));
		T_TRY(write(T.sh->fd[JOBS], &v, 8));
		T_in(&s);
		T_TRY(read(T.sh->fd[DONE], &v, 8));
		T_out(&s);
		T_wait(&s, "eventfd", "thread", (int)T.sh->i64[0], "read", "");
	}
	for (int w = W0; w < N; w++) { /* no more: one token each */
		uint64_t v = 1;

		T.sh->i64[1] = 1;
		T_TRY(write(T.sh->fd[JOBS], &v, 8));
	}
}

static void worker(int me)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLEXCLUSIVE};
	int ep = T_TRY(epoll_create1(0));

	T_TRY(epoll_ctl(ep, EPOLL_CTL_ADD, T.sh->fd[JOBS], &ev));
	for (;;) {
		struct t_span s, job;
		uint64_t v;

		T_in(&s);
		T_TRY(epoll_wait(ep, &ev, 1, -1));
		T_out(&s);
		T_wait(&s, "eventfd", "thread", BOSS, "epoll_wait|epoll_pwait", "");
		if (read(T.sh->fd[JOBS], &v, 8) < 0)
			continue; /* another was faster */
		if (T.sh->i64[1])
			break;
		T_in(&job);
		T_sleep(T_rand(4 * MS, 12 * MS));
		T_out(&job);
		T_chain(BOSS, me, job.t0, job.t1, job.known, "blocked", "timer");
		T.sh->i64[0] = me;
		v = 1;
		T_TRY(write(T.sh->fd[DONE], &v, 8));
	}
}

static void w0(void) { worker(W0); }
static void w1(void) { worker(W1); }
static void w2(void) { worker(W2); }

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"boss", boss, NULL}, {"w0", w0, NULL}, {"w1", w1, NULL}, {"w2", w2, NULL}};

	T_begin(argc, argv, "event_pool", 1);
	T.sh->fd[JOBS] = T_TRY(eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK));
	T.sh->fd[DONE] = T_TRY(eventfd(0, 0));
	T_roles(parts, N, T_ANY);
	return T_end();
}
