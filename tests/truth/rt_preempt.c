/* rt_preempt.c - a real-time thread takes the CPU of one that computes: preempted, by that thread. */
#include "truth.h"

enum { VICTIM, RUSHER };

static void victim(void)
{
	T_pin((int)T.sh->i64[1]);
	T_compute(80 * MS);
	T.sh->i64[0] = 1;
}

static void rusher(void)
{
	T_pin((int)T.sh->i64[1]);
	T_fifo(10);
	while (!T.sh->i64[0]) {
		T_sleep(T_rand(6 * MS, 12 * MS));
		T_compute(T_rand(4 * MS, 9 * MS));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"victim", victim, ",\"delayed_by\":1"}, {"rusher", rusher, NULL}};

	T_begin(argc, argv, "rt_preempt", 0);
	T.sh->i64[1] = T_rand(0, sysconf(_SC_NPROCESSORS_ONLN) - 1);
	T_roles(parts, 2, T_ANY);
	return T_end();
}
