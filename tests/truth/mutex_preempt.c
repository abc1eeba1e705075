/* mutex_preempt.c - a mutex whose holder wants to run and may not: a real-time thread has its CPU. The
 * waiter, on the other CPU, is blocked on the futex; the chain says that the holder was preempted. */
#include "truth.h"

enum { HOLDER, WAITER, RUSHER };
#define ROUNDS 4

static void holder(void)
{
	T_pin(0);
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		while (T.sh->i64[0] != HOLDER)
			T_sleep(MS / 2);
		pthread_mutex_lock(&T.sh->mutex[0]);
		T.sh->i64[0] = WAITER;
		T_sleep(2 * MS);
		T_in(&s);
		T.sh->i64[1] = 1; /* the rusher's turn: it spins until it is to burn, on the other CPU */
		T_compute(T_rand(10 * MS, 15 * MS));
		T_out(&s);
		T_chain(WAITER, HOLDER, s.t0, s.t1, s.delay, "preempted|runqueue", "");
		pthread_mutex_unlock(&T.sh->mutex[0]);
	}
}

static void waiter(void)
{
	T_pin(1);
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		while (T.sh->i64[0] != WAITER)
			T_sleep(MS / 2);
		T_in(&s);
		pthread_mutex_lock(&T.sh->mutex[0]);
		T_out(&s);
		pthread_mutex_unlock(&T.sh->mutex[0]);
		T_wait(&s, "futex", "thread", HOLDER, "futex", "");
		T.sh->i64[0] = HOLDER;
	}
	T.sh->i64[2] = 1;
}

static void rusher(void)
{
	T_pin(0);
	T_fifo(20);
	while (!T.sh->i64[2]) {
		T_sleep(MS);
		if (!T.sh->i64[1])
			continue;
		T.sh->i64[1] = 0;
		T_sleep(3 * MS);
		T_compute(T_rand(8 * MS, 20 * MS));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"holder", holder, NULL}, {"waiter", waiter, NULL}, {"rusher", rusher, NULL}};

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		T_skip("one CPU");
	T_begin(argc, argv, "mutex_preempt", 0);
	T_roles(parts, 3, T_ANY);
	return T_end();
}
