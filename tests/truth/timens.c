/* timens.c - a time namespace whose monotonic clock is days ahead: the trace's clock is the machine's. */
#include "truth.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

static void sleeper(void)
{
	for (int i = 0; i < 6; i++) {
		struct timespec ts = T_ts(T_now() + T.clock_shift + T_rand(5 * MS, 20 * MS));
		struct t_span s;

		T_in(&s);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		T_out(&s);
		T_wait(&s, "timer", "timer|irq|softirq", -1, "clock_nanosleep", "");
	}
}

int main(int argc, char **argv)
{
	int64_t shift = 0;
	char b[64];
	pid_t pid;
	int fd;

	T_begin(argc, argv, "timens", 0);
	shift = T_rand(1, 30) * 86400;
	if (unshare(CLONE_NEWTIME))
		T_skip("unshare(CLONE_NEWTIME) is not allowed");
	fd = T_TRY(open("/proc/self/timens_offsets", O_WRONLY));
	T_TRY((int)write(fd, b, (size_t)snprintf(b, sizeof(b), "monotonic %" PRId64 " 0", shift)));
	pid = T_TRY(fork());
	if (!pid) {
		T.clock_shift = shift * 1000000000;
		T_become(0, "sleeper");
		sleeper();
		T_close_books("");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return T_end();
}
