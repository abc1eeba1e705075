/* pipe_sleep.c - a pipe whose writer sleeps: blocked on the pipe, woken by the writer, which slept. */
#include "truth.h"

enum { READER, WRITER };
static int rounds;

static void reader(void)
{
	char c;

	for (int i = 0; i < rounds; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[0], &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", WRITER, "read", "");
	}
}

static void writer(void)
{
	for (int i = 0; i < rounds; i++) {
		struct t_span s;

		T_in(&s);
		T_sleep(T_rand(4 * MS, 25 * MS));
		T_out(&s);
		T_chain(READER, WRITER, s.t0, s.t1, s.known, "blocked", "timer");
		T_TRY(write(T.sh->fd[1], "x", 1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"writer", writer, NULL}};

	T_begin(argc, argv, "pipe_sleep", 2);
	rounds = (int)T_rand(5, 12);
	T_TRY(pipe((int *)T.sh->fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
