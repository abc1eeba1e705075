/* eventfd.c - reads an eventfd that another writes. */
#include "truth.h"

#include <sys/eventfd.h>

enum { READER, WRITER };
#define ROUNDS 7

static void reader(void)
{
	uint64_t n;

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[0], &n, 8));
		T_out(&s);
		T_wait(&s, "eventfd", "thread", WRITER, "read", "");
	}
}

static void writer(void)
{
	uint64_t one = 1;

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_sleep(T_rand(5 * MS, 20 * MS));
		T_out(&s);
		T_chain(READER, WRITER, s.t0, s.t1, s.known, "blocked", "timer");
		T_TRY(write(T.sh->fd[0], &one, 8));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"writer", writer, NULL}};

	T_begin(argc, argv, "eventfd", 2);
	T.sh->fd[0] = T_TRY(eventfd(0, 0));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
