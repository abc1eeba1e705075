/* timerfd.c - reads a periodic timerfd. */
#include "truth.h"

#include <sys/timerfd.h>

static void ticker(void)
{
	int fd = T_TRY(timerfd_create(T_rand(0, 1) ? CLOCK_MONOTONIC : CLOCK_REALTIME, 0));
	struct timespec ts = T_ts(T_rand(5 * MS, 20 * MS));
	struct itimerspec its = {.it_value = ts, .it_interval = ts};
	uint64_t n;

	T_TRY(timerfd_settime(fd, 0, &its, NULL));
	for (int i = 0; i < 10; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(fd, &n, 8));
		T_out(&s);
		T_wait(&s, "timer", "timer|irq|softirq", -1, "read", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"ticker", ticker, NULL}};

	T_begin(argc, argv, "timerfd", 2);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
