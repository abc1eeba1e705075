/* mutex_sleep.c - a mutex whose holder sleeps: blocked on the futex, woken by the holder. */
#include "truth.h"

enum { HOLDER, WAITER };
#define ROUNDS 6

static void turn(int me)
{
	while (T.sh->i64[0] != me)
		T_sleep(MS / 2);
}

static void holder(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		turn(HOLDER);
		pthread_mutex_lock(&T.sh->mutex[0]);
		T.sh->i64[0] = WAITER;
		T_in(&s);
		T_sleep(T_rand(8 * MS, 25 * MS));
		T_out(&s);
		T_chain(WAITER, HOLDER, s.t0, s.t1, s.known, "blocked", "timer");
		pthread_mutex_unlock(&T.sh->mutex[0]);
	}
}

static void waiter(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		turn(WAITER);
		T_in(&s);
		pthread_mutex_lock(&T.sh->mutex[0]);
		T_out(&s);
		pthread_mutex_unlock(&T.sh->mutex[0]);
		T_wait(&s, "futex", "thread", HOLDER, "futex", "");
		T.sh->i64[0] = HOLDER;
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"holder", holder, NULL}, {"waiter", waiter, NULL}};

	T_begin(argc, argv, "mutex_sleep", 2);
	T_roles(parts, 2, T_ANY);
	return T_end();
}
