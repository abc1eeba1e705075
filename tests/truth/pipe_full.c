/* pipe_full.c - the writer of a full pipe waits for its slow reader. */
#include "truth.h"

enum { WRITER, READER };

static void writer(void)
{
	char b[4096] = {0};

	for (int i = 0; i < 12; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(write(T.sh->fd[1], b, sizeof(b)));
		T_out(&s);
		T_wait(&s, "pipe", "thread", READER, "write", "");
	}
	close(T.sh->fd[1]);
}

static void reader(void)
{
	char b[4096];

	for (int i = 0; i < 12; i++) {
		T_sleep(T_rand(4 * MS, 15 * MS));
		T_TRY(read(T.sh->fd[0], b, sizeof(b)));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"writer", writer, NULL}, {"reader", reader, NULL}};

	T_begin(argc, argv, "pipe_full", 1);
	T_TRY(pipe((int *)T.sh->fd));
	T_TRY(fcntl(T.sh->fd[1], F_SETPIPE_SZ, 4096));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
