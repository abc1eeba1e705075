/* condvar.c - a condition variable: the waker is who signals, not who last had the mutex. */
#include "truth.h"

enum { CONSUMER, PRODUCER };
#define ROUNDS 7

static void consumer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		pthread_mutex_lock(&T.sh->mutex[0]);
		T_in(&s);
		while (T.sh->i64[0] <= i)
			pthread_cond_wait(&T.sh->cond[0], &T.sh->mutex[0]);
		T_out(&s);
		pthread_mutex_unlock(&T.sh->mutex[0]);
		T_wait(&s, "futex", "thread", PRODUCER, "futex", "");
	}
}

static void producer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_sleep(T_rand(5 * MS, 20 * MS));
		T_out(&s);
		T_chain(CONSUMER, PRODUCER, s.t0, s.t1, s.known, "blocked", "timer");
		pthread_mutex_lock(&T.sh->mutex[0]);
		T.sh->i64[0]++;
		pthread_cond_signal(&T.sh->cond[0]);
		pthread_mutex_unlock(&T.sh->mutex[0]);
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"consumer", consumer, NULL}, {"producer", producer, NULL}};

	T_begin(argc, argv, "condvar", 2);
	T_roles(parts, 2, T_ANY);
	return T_end();
}
