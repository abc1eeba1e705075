/* pi_futex.c - a mutex with priority inheritance: the kernel itself hands it over, and wakes through its rt_mutex.
 * The holder sleeps or computes with it. */
#include "truth.h"

enum { HOLDER, WAITER };
#define ROUNDS 6

static void holder(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		while (T.sh->i64[0] != HOLDER)
			T_sleep(MS / 2);
		pthread_mutex_lock(&T.sh->mutex[3]);
		T.sh->i64[0] = WAITER;
		T_in(&s);
		if (i % 2) {
			T_sleep(T_rand(8 * MS, 16 * MS));
			T_out(&s);
			T_chain(WAITER, HOLDER, s.t0, s.t1, s.known, "blocked", "timer");
		} else {
			T_compute(T_rand(8 * MS, 16 * MS));
			T_out(&s);
		}
		pthread_mutex_unlock(&T.sh->mutex[3]);
	}
}

static void waiter(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		while (T.sh->i64[0] != WAITER)
			T_sleep(MS / 2);
		T_in(&s);
		pthread_mutex_lock(&T.sh->mutex[3]);
		T_out(&s);
		pthread_mutex_unlock(&T.sh->mutex[3]);
		T_wait(&s, "futex", "thread", HOLDER, "futex", "");
		T.sh->i64[0] = HOLDER;
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"holder", holder, NULL}, {"waiter", waiter, NULL}};
	pthread_mutexattr_t ma;

	T_begin(argc, argv, "pi_futex", 2);
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&T.sh->mutex[3], &ma))
		T_skip("no mutexes with priority inheritance");
	T_roles(parts, 2, T_ANY);
	return T_end();
}
