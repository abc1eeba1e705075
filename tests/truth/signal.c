/* signal.c - sigwaitinfo, pause, and a sleep that a signal cuts short: cause signal, woken by the sender. */
#include "truth.h"

#include <poll.h>

enum { WAITER, SENDER };
#define ROUNDS 9

static void nothing(int sig) { (void)sig; }

static void waiter(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	/* Blocked outside the waits, so that the signal cannot come between. */
	sigprocmask(SIG_BLOCK, &set, &old);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec ts = T_ts(900 * MS);
		const char *call;
		struct t_span s;

		T.sh->i64[0] = i + 1;
		T_in(&s);
		if (i % 3 == 0) {
			sigwaitinfo(&set, NULL);
			call = "rt_sigtimedwait";
		} else if (i % 3 == 1) {
			sigsuspend(&old);
			call = "rt_sigsuspend";
		} else {
			ppoll(NULL, 0, &ts, &old);
			call = "ppoll";
		}
		T_out(&s);
		T_wait(&s, "signal", "thread|signal", SENDER, call, "");
	}
}

static void sender(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (T.sh->i64[0] != i + 1)
			T_sleep(MS / 2);
		T_sleep(T_rand(4 * MS, 15 * MS));
		T_TRY(kill(T.sh->tid[WAITER], SIGUSR1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}, {"sender", sender, NULL}};

	T_begin(argc, argv, "signal", 2);
	signal(SIGUSR1, nothing);
	T_roles(parts, 2, T_PROCESSES);
	return T_end();
}
