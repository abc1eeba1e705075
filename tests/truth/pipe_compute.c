/* pipe_compute.c - a pipe whose writer computes: the chain says that the writer was running. */
#include "truth.h"

enum { READER, WRITER };

static void reader(void)
{
	char c;

	for (int i = 0; i < 6; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[0], &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", WRITER, "read", "");
	}
}

static void writer(void)
{
	for (int i = 0; i < 6; i++) {
		int64_t ns = T_rand(5 * MS, 25 * MS);
		int64_t t0 = T_now();

		T_compute(ns);
		T_chain(READER, WRITER, t0, T_now(), ns, "running-user|running-kernel|interrupted", "");
		T_TRY(write(T.sh->fd[1], "x", 1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"writer", writer, NULL}};

	T_begin(argc, argv, "pipe_compute", 1);
	T_TRY(pipe((int *)T.sh->fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
