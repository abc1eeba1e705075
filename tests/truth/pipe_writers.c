/* pipe_writers.c - three write to one pipe, each whenever it is ready; the byte says whose it is, and who wrote the one
 * that a read waited for ended that wait. */
#include "truth.h"

enum { READER, W0, W1, W2, N };
#define ROUNDS 5

static void reader(void)
{
	for (int i = 0; i < ROUNDS * 3; i++) {
		struct t_span s;
		char who;

		T_in(&s);
		T_TRY(read(T.sh->fd[0], &who, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", who, "read", "");
	}
}

static void writer(int me)
{
	char who = (char)me;

	for (int i = 0; i < ROUNDS; i++) {
		T_sleep(T_rand(3 * MS, 25 * MS));
		T_TRY(write(T.sh->fd[1], &who, 1));
	}
}

static void w0(void) { writer(W0); }
static void w1(void) { writer(W1); }
static void w2(void) { writer(W2); }

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"w0", w0, NULL}, {"w1", w1, NULL}, {"w2", w2, NULL}};

	T_begin(argc, argv, "pipe_writers", 1);
	T_TRY(pipe(T.sh->fd));
	T_roles(parts, N, T_ANY);
	return T_end();
}
