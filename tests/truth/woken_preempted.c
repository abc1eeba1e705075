/* woken_preempted.c - woken, and before it gets to run a real-time thread takes the CPU: the wait is its waker's, the time
 * after it is ready time behind who had the CPU; who waits for the woken one sees it on the run queue. */
#include "truth.h"

enum { WAKEE, WAKER, RUSHER, WATCHER };
#define ROUNDS 8
#define CPU    T.sh->i64[0]
#define ROUND  T.sh->i64[1]
#define WOKEN  T.sh->i64[2] /* T_now() when the wakee was just woken */
#define TO_WAKEE 0 /* pipes: fd[n] reads, fd[n + 1] writes */
#define TO_RUSHER 2
#define TO_WATCHER 4

static void wakee(void)
{
	T_pin((int)CPU);
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;
		char c = 'x';

		ROUND = i + 1;
		T_in(&s);
		T_TRY(read(T.sh->fd[TO_WAKEE], &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", WAKER, "read", "");
		T_chain(WATCHER, WAKEE, WOKEN, s.t1, s.delay, "runqueue|preempted", "");
		T_TRY(write(T.sh->fd[TO_WATCHER + 1], &c, 1));
	}
}

static void waker(void)
{
	T_pin((int)CPU);
	T_fifo(5);
	for (int i = 0; i < ROUNDS; i++) {
		while (ROUND <= i)
			T_sleep(MS / 2);
		T_sleep(T_rand(3 * MS, 8 * MS));
		/* Both are ready when this is done; the one that was woken last runs first, and long. */
		T_TRY(write(T.sh->fd[TO_WAKEE + 1], "x", 1));
		WOKEN = T_now();
		T_TRY(write(T.sh->fd[TO_RUSHER + 1], "x", 1));
	}
}

static void rusher(void)
{
	char c;

	T_pin((int)CPU);
	T_fifo(20);
	for (int i = 0; i < ROUNDS; i++) {
		T_TRY(read(T.sh->fd[TO_RUSHER], &c, 1));
		T_compute(T_rand(4 * MS, 12 * MS));
	}
}

static void watcher(void)
{
	char c;

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[TO_WATCHER], &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", WAKEE, "read", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"wakee", wakee, ",\"delayed_by\":1"}, {"waker", waker, NULL},
				       {"rusher", rusher, NULL}, {"watcher", watcher, NULL}};

	T_begin(argc, argv, "woken_preempted", 0);
	CPU = T_rand(0, sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (int i = 0; i < 6; i += 2)
		T_TRY(pipe(T.sh->fd + i));
	T_roles(parts, 4, T_ANY);
	return T_end();
}
