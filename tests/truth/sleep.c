/* sleep.c - nanosleep and clock_nanosleep, relative and absolute: blocked, ended by a timer. */
#include "truth.h"

static void sleeper(void)
{
	for (int i = 0; i < 8; i++) {
		struct timespec ts = T_ts(T_rand(2 * MS, 30 * MS));
		struct t_span s;

		T_in(&s);
		if (i & 1)
			syscall(SYS_nanosleep, &ts, NULL);
		else
			clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
		T_out(&s);
		T_wait(&s, "timer", "timer|irq|softirq", -1, i & 1 ? "nanosleep" : "clock_nanosleep", "");
	}
	for (int i = 0; i < 3; i++) {
		struct timespec ts = T_ts(T_now() + T_rand(2 * MS, 10 * MS));
		struct t_span s;

		T_in(&s);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		T_out(&s);
		T_wait(&s, "timer", "timer|irq|softirq", -1, "clock_nanosleep", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"sleeper", sleeper, NULL}};

	T_begin(argc, argv, "sleep", 2);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
