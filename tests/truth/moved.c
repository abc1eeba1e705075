/* moved.c - ready in the queue of a CPU that a real-time thread has, then put into another CPU's: the wait was behind the
 * thread that had the first one, although the second had nothing to do all the time. */
#include "truth.h"

enum { MOVED, MOVER, HOG };
#define ROUNDS 8
#define BUSY   T.sh->i64[0] /* CPUs */
#define FREE   T.sh->i64[1]
#define ROUND  T.sh->i64[2]
#define WHO    T.sh->i64[3] /* tid of MOVED */
#define TO_MOVED 0 /* pipes: fd[n] reads, fd[n + 1] writes */
#define TO_HOG   2

static void moved(void)
{
	WHO = gettid();
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;
		char c;

		T_pin((int)BUSY);
		ROUND = i + 1;
		T_in(&s);
		T_TRY(read(T.sh->fd[TO_MOVED], &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", MOVER, "read", "");
	}
}

static void mover(void)
{
	T_pin((int)FREE);
	T_fifo(5);
	for (int i = 0; i < ROUNDS; i++) {
		cpu_set_t set;

		while (ROUND <= i)
			T_sleep(MS / 2);
		T_sleep(T_rand(2 * MS, 5 * MS));
		T_TRY(write(T.sh->fd[TO_HOG + 1], "x", 1));
		T_sleep(MS);
		T_TRY(write(T.sh->fd[TO_MOVED + 1], "x", 1));
		T_sleep(T_rand(4 * MS, 10 * MS));
		CPU_ZERO(&set);
		CPU_SET((int)FREE, &set);
		T_TRY(sched_setaffinity((pid_t)WHO, sizeof(set), &set));
	}
}

static void hog(void)
{
	char c;

	T_pin((int)BUSY);
	T_fifo(20);
	for (int i = 0; i < ROUNDS; i++) {
		T_TRY(read(T.sh->fd[TO_HOG], &c, 1));
		T_compute(T_rand(14 * MS, 20 * MS));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"moved", moved, ",\"delayed_by\":1"}, {"mover", mover, NULL}, {"hog", hog, NULL}};

	T_begin(argc, argv, "moved", 0);
	BUSY = T_rand(0, 1);
	FREE = 1 - BUSY;
	for (int i = 0; i < 4; i += 2)
		T_TRY(pipe(T.sh->fd + i));
	T_roles(parts, 3, T_ANY);
	return T_end();
}
