/* futex_timeout.c - a lock that nobody gives back in time, a condition nobody signals: the waits end by
 * a timer, though they are in the futex call. */
#include "truth.h"

enum { WAITER };

static void waiter(void)
{
	struct timespec ts;
	struct t_span s;

	for (int i = 0; i < 5; i++) {
		clock_gettime(CLOCK_REALTIME, &ts);
		ts = T_ts(ts.tv_sec * 1000000000LL + ts.tv_nsec + T_rand(5 * MS, 15 * MS));
		pthread_mutex_lock(&T.sh->mutex[0]);
		T_in(&s);
		pthread_cond_timedwait(&T.sh->cond[0], &T.sh->mutex[0], &ts);
		T_out(&s);
		pthread_mutex_unlock(&T.sh->mutex[0]);
		T_wait(&s, "timer", "timer|irq|softirq", -1, "futex", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}};

	T_begin(argc, argv, "futex_timeout", 2);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
