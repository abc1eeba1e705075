/* chain4.c - four in a row: A reads from B, B from C, C from D, D sleeps. A's chain goes down to D's
 * sleep. */
#include "truth.h"

enum { A, B, C, D };
#define ROUNDS 5

/* A waits for the others only from when each of them waits for its next: until then nothing is claimed. */
#define SETTLE (4 * MS)

/* Reads from `in`, then writes to `out` (-1: nothing). who = the writer of `in`. */
static void relay(int me, int in, int out)
{
	char c;

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[in], &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", me + 1, "read", "");
		if (me != A)
			T_chain(A, me, s.t0 + SETTLE, s.t1, s.known - SETTLE, "blocked", "pipe");
		if (out >= 0)
			T_TRY(write(T.sh->fd[out], "x", 1));
	}
}

static void a(void) { relay(A, 0, -1); }
static void b(void) { relay(B, 2, 1); }
static void c(void) { relay(C, 4, 3); }

static void d(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_sleep(SETTLE);
		T_in(&s);
		T_sleep(T_rand(8 * MS, 30 * MS));
		T_out(&s);
		T_chain(A, D, s.t0, s.t1, s.known, "blocked", "timer");
		T_TRY(write(T.sh->fd[5], "x", 1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"front", a, NULL}, {"middle", b, NULL}, {"back", c, NULL}, {"store", d, NULL}};

	T_begin(argc, argv, "chain4", 1);
	for (int i = 0; i < 3; i++)
		T_TRY(pipe((int *)T.sh->fd + 2 * i));
	T_roles(parts, 4, T_PROCESSES);
	return T_end();
}
