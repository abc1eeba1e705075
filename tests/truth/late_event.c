/* late_event.c - a poll gives up a moment before what it waits for comes: the timeout ended the poll, though a writer was
 * only a millisecond away; what is waited for then, in read, is that writer's. */
#include "truth.h"

#include <poll.h>

enum { WAITER, WRITER };
#define ROUNDS 8
#define START T.sh->i64[0]   /* when the round's poll began, T_now() */
#define ROUND T.sh->i64[1]
#define TIMEOUT_MS 10

static void waiter(void)
{
	struct pollfd p = {.fd = T.sh->fd[0], .events = POLLIN};

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;
		char c;

		T_in(&s);
		START = T_now();
		ROUND = i + 1;
		int n = poll(&p, 1, TIMEOUT_MS);
		T_out(&s);
		/* Where a busy machine let the writer come first, only this is sure: the two were near each other. */
		if (n == 0)
			T_wait(&s, "timer", "timer|irq|softirq", -1, "poll|ppoll", "");
		T_in(&s);
		T_TRY(read(T.sh->fd[0], &c, 1));
		T_out(&s);
		if (n == 0)
			T_wait(&s, "pipe", "thread", WRITER, "read", "");
	}
}

static void writer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char c = 'x';

		while (ROUND <= i)
			T_sleep(MS / 4);
		struct timespec at = T_ts(START + T.clock_shift + TIMEOUT_MS * MS + MS / 2 + T_rand(0, 2 * MS));
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		T_TRY(write(T.sh->fd[1], &c, 1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}, {"writer", writer, NULL}};

	T_begin(argc, argv, "late_event", 2);
	T_TRY(pipe(T.sh->fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
