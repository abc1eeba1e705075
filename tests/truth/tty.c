/* tty.c - reads a terminal at which somebody types. */
#include "truth.h"

enum { READER, TYPIST };
#define ROUNDS 5
static int master, slave;

static void reader(void)
{
	char b[64];

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(slave, b, sizeof(b)));
		T_out(&s);
		/* The line discipline hands the typist's bytes over in a kworker. */
		T_wait(&s, "tty", "thread|work", -1, "read", "");
	}
}

static void typist(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		T_sleep(T_rand(6 * MS, 20 * MS));
		T_TRY(write(master, "x\n", 2));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"typist", typist, NULL}};

	T_begin(argc, argv, "tty", 1);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0)
		T_skip("no pseudo terminals");
	T_TRY(grantpt(master));
	T_TRY(unlockpt(master));
	slave = T_TRY(open(ptsname(master), O_RDWR | O_NOCTTY));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
