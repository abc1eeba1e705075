/* stopped.c - a process that is stopped by a signal for a while: stopped, not blocked, not running. */
#include "truth.h"

enum { VICTIM, BOSS };

static void victim(void)
{
	T_compute(120 * MS);
	T.sh->i64[0] = 1;
}

static void boss(void)
{
	for (int i = 0; i < 3; i++) {
		int64_t t0, ns = T_rand(10 * MS, 25 * MS);

		T_sleep(T_rand(6 * MS, 10 * MS));
		kill(T.sh->tid[VICTIM], SIGSTOP);
		T_sleep(3 * MS);
		t0 = T_now();
		T_sleep(ns);
		kill(T.sh->tid[VICTIM], SIGCONT);
		T_say("{\"t\":\"state\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"state\":\"stopped\"}",
		      T.sh->tid[VICTIM], t0, t0 + ns);
	}
}

int main(int argc, char **argv)
{
	pid_t pid;

	T_begin(argc, argv, "stopped", 0);
	pid = T_TRY(fork());
	if (!pid) {
		T_become(VICTIM, "victim");
		T.sh->i64[1] = 1;
		victim();
		T_close_books("");
		_exit(0);
	}
	while (!T.sh->i64[1])
		T_sleep(MS);
	T_become(BOSS, "boss");
	boss();
	waitpid(pid, NULL, 0);
	T_close_books("");
	return T_end();
}
