/* flock.c - flock, and a POSIX record lock, that another process holds. */
#include "truth.h"

#include <sys/file.h>

enum { WAITER, HOLDER };
#define ROUNDS 6
static char path[64];

static void lock(int fd, int i, bool on)
{
	struct flock l = {.l_type = on ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET, .l_len = 1};

	if (i & 1)
		T_TRY(fcntl(fd, F_SETLKW, &l));
	else
		T_TRY(flock(fd, on ? LOCK_EX : LOCK_UN));
}

static void holder(void)
{
	int fd = T_TRY(open(path, O_RDWR));

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		lock(fd, i, true);
		T.sh->i64[0] = i + 1;
		T_in(&s);
		T_sleep(T_rand(8 * MS, 20 * MS));
		T_out(&s);
		T_chain(WAITER, HOLDER, s.t0, s.t1, s.known, "blocked", "timer");
		lock(fd, i, false);
		while (T.sh->i64[1] != i + 1)
			T_sleep(MS / 2);
	}
}

static void waiter(void)
{
	int fd = T_TRY(open(path, O_RDWR));

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		while (T.sh->i64[0] != i + 1)
			T_sleep(MS / 2);
		T_in(&s);
		lock(fd, i, true);
		T_out(&s);
		T_wait(&s, "filelock", "thread", HOLDER, i & 1 ? "fcntl" : "flock", "");
		lock(fd, i, false);
		T.sh->i64[1] = i + 1;
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}, {"holder", holder, NULL}};

	T_begin(argc, argv, "flock", 0);
	snprintf(path, sizeof(path), "/tmp/truth-flock-%d", (int)getpid());
	close(T_TRY(open(path, O_CREAT | O_RDWR, 0600)));
	T_roles(parts, 2, T_PROCESSES);
	unlink(path);
	return T_end();
}
