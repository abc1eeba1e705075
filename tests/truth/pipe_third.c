/* pipe_third.c - a pipe whose writer itself waits for a third, at a socket pair: half the time the third
 * sleeps, half the time it computes. */
#include "truth.h"

#include <sys/socket.h>

enum { READER, WRITER, THIRD };
#define ROUNDS 6

static void reader(void)
{
	char c;

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[0], &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", WRITER, "read", "");
	}
}

static void writer(void)
{
	char c;

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[2], &c, 1));
		T_out(&s);
		T_wait(&s, "unix", "thread", THIRD, "read", "");
		T_chain(READER, WRITER, s.t0, s.t1, s.known, "blocked", "unix");
		T_TRY(write(T.sh->fd[1], "x", 1));
	}
}

static void third(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int64_t ns = T_rand(5 * MS, 20 * MS), t0;

		/* The reader waits for what we do only from when the writer waits for us: let it get there, it
		 * may have to queue for our CPU. */
		T_sleep(3 * MS);
		t0 = T_now();
		if (T_rand(0, 1)) {
			struct t_span s;

			T_in(&s);
			T_sleep(ns);
			T_out(&s);
			T_chain(READER, THIRD, s.t0, s.t1, s.known, "blocked", "timer");
		} else {
			T_compute(ns);
			T_chain(READER, THIRD, t0, T_now(), ns, "running-user|running-kernel|interrupted", "");
		}
		T_TRY(write(T.sh->fd[3], "x", 1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"writer", writer, NULL}, {"third", third, NULL}};

	T_begin(argc, argv, "pipe_third", 1);
	T_TRY(pipe((int *)T.sh->fd));
	T_TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)T.sh->fd + 2));
	T_roles(parts, 3, T_ANY);
	return T_end();
}
