/* two_busy.c - two that compute on one CPU: each is preempted by the other; a third on the same CPU sleeps
 * and, woken, queues behind them. */
#include "truth.h"

enum { LEFT, RIGHT, NAPPER };

static void compute(void)
{
	T_pin((int)T.sh->i64[1]);
	T_compute(T_rand(80 * MS, 110 * MS));
}

static void napper(void)
{
	T_pin((int)T.sh->i64[1]);
	for (int i = 0; i < 12; i++) {
		struct t_span s;

		T_in(&s);
		T_sleep(T_rand(4 * MS, 8 * MS));
		T_out(&s);
		T_wait(&s, "timer", "timer|irq|softirq", -1, "clock_nanosleep", "");
		T_compute(T_rand(1 * MS, 3 * MS));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"left", compute, ",\"delayed_by\":7"},
				       {"right", compute, ",\"delayed_by\":7"},
				       {"napper", napper, ",\"delayed_by\":7"}};

	T_begin(argc, argv, "two_busy", 0);
	T.sh->i64[1] = T_rand(0, sysconf(_SC_NPROCESSORS_ONLN) - 1);
	T_roles(parts, 3, T_ANY);
	return T_end();
}
