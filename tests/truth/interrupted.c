/* interrupted.c - waits for a pipe and for a sleep that a signal interrupts before they are done: the
 * signal ended them (EINTR), not the pipe and not the timer. */
#include "truth.h"

enum { WAITER, SENDER };
#define ROUNDS 6

static void nothing(int sig) { (void)sig; }

static void waiter(void)
{
	struct sigaction sa = {.sa_handler = nothing};
	char c;

	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec ts = T_ts(900 * MS);
		struct t_span s;
		int r;

		T.sh->i64[0] = i + 1;
		T_in(&s);
		if (i & 1)
			r = (int)read(T.sh->fd[0], &c, 1);
		else
			r = (int)syscall(SYS_nanosleep, &ts, NULL);
		if (r != -1 || errno != EINTR)
			T_die("not interrupted");
		T_out(&s);
		T_wait(&s, "signal", "thread|signal", SENDER, i & 1 ? "read" : "nanosleep", "");
	}
}

static void sender(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		/* A signal before the call would interrupt nothing. */
		while (T.sh->i64[0] != i + 1 || !T_asleep(T.sh->tid[WAITER]))
			T_sleep(MS / 2);
		T_sleep(T_rand(6 * MS, 20 * MS));
		T_TRY((int)syscall(SYS_tgkill, (int)T.sh->i64[1], T.sh->tid[WAITER], SIGUSR1));
	}
}

static void waiter_first(void)
{
	T.sh->i64[1] = getpid();
	waiter();
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter_first, NULL}, {"sender", sender, NULL}};

	T_begin(argc, argv, "interrupted", 2);
	T_TRY(pipe((int *)T.sh->fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
