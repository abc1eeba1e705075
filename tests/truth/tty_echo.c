/* tty_echo.c - waits for the echo of what another one types: two kernel workers stand between them. The typist's bytes are
 * queued for a worker; the line discipline that runs in it writes the echo, which is queued for a worker again; and
 * that one wakes who reads. Behind both, for most of the time, the typist slept. */
#include "truth.h"

#include <poll.h>

enum { READER, TYPIST };
#define ROUNDS 8
#define ROUND T.sh->i64[0]
static int master, slave;

static void reader(void)
{
	char b[64];

	for (int i = 0; i < ROUNDS; i++) {
		struct pollfd p = {.fd = master, .events = POLLIN};
		struct t_span s;

		ROUND = i + 1;
		T_in(&s);
		if (i & 1)
			T_TRY(poll(&p, 1, -1));
		else
			T_TRY(read(master, b, sizeof(b)));
		T_out(&s);
		T_wait(&s, "tty", "work", -1, "read|poll|ppoll", "");
		if (i & 1)
			T_TRY(read(master, b, sizeof(b)));
	}
}

static void typist(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		while (ROUND <= i)
			T_sleep(MS / 2);
		T_in(&s);
		T_sleep(T_rand(5 * MS, 20 * MS));
		T_out(&s);
		T_TRY(write(master, "x", 1));
		T_chain(READER, TYPIST, s.t0, s.t1, s.known, "blocked", "timer");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"typist", typist, NULL}};

	T_begin(argc, argv, "tty_echo", 3);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0)
		T_skip("no pseudo terminals");
	T_TRY(grantpt(master));
	T_TRY(unlockpt(master));
	slave = T_TRY(open(ptsname(master), O_RDWR | O_NOCTTY)); /* kept open: it is the slave's side that echoes */
	T_roles(parts, 2, T_ANY);
	return T_end();
}
