/* near_event.c - the event and the timeout come within a millisecond of each other, in either order, for poll, epoll and a
 * semaphore. A call that returned empty-handed was ended by its timeout, one whose event was there before the timeout
 * by the writer. Where the event came after the timeout and the call has it nevertheless (it was woken by the timer,
 * and looked once more when it got a CPU) either may have been first, but cause and waker must be of the same one. */
#include "truth.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>

enum { WAITER, WRITER };
#define ROUNDS 18
#define TIMEOUT_MS 8
#define START T.sh->i64[0] /* when the round's wait began, T_now() */
#define ROUND T.sh->i64[1]
#define DONE  T.sh->i64[2]
#define WROTE T.sh->i64[3] /* when the round's event was there, T_now() */
static sem_t *sem;
static int epoll_fd;

static bool wait_semaphore(void)
{
	struct timespec ts = T_ts(START + T.clock_shift + TIMEOUT_MS * MS);

	return sem_clockwait(sem, CLOCK_MONOTONIC, &ts) == 0;
}

static bool wait_pipe(bool by_epoll)
{
	struct pollfd p = {.fd = T.sh->fd[0], .events = POLLIN};
	struct epoll_event ev;

	return (by_epoll ? epoll_wait(epoll_fd, &ev, 1, TIMEOUT_MS) : poll(&p, 1, TIMEOUT_MS)) > 0;
}

static void drain(bool came, int kind)
{
	char c;

	if (came && kind == 2)
		return;
	if (kind == 2)
		while (sem_wait(sem))
			;
	else
		T_TRY(read(T.sh->fd[0], &c, 1));
}

static void waiter(void)
{
	struct epoll_event ev = {.events = EPOLLIN};

	epoll_fd = T_TRY(epoll_create1(0));
	T_TRY(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, T.sh->fd[0], &ev));
	for (int i = 0; i < ROUNDS; i++) {
		static const char *const calls[] = {"poll|ppoll", "epoll_wait|epoll_pwait", "futex"};
		int kind = i % 3;
		struct t_span s;
		bool came;

		T_in(&s);
		START = T_now();
		ROUND = i + 1;
		came = kind == 2 ? wait_semaphore() : wait_pipe(kind == 1);
		T_out(&s);
		drain(came, kind);
		while (WROTE < START)
			T_sleep(MS / 4);
		if (came && WROTE < START + TIMEOUT_MS * MS)
			T_wait(&s, kind == 2 ? "futex" : "pipe", "thread", WRITER, calls[kind], "");
		else if (came)
			T_wait(&s, kind == 2 ? "futex|timer" : "pipe|timer", "", -1, calls[kind], "");
		else
			T_wait(&s, "timer", "timer|irq|softirq", -1, calls[kind], "");
		DONE = i + 1;
	}
}

static void writer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (ROUND <= i)
			T_sleep(MS / 4);
		struct timespec at = T_ts(START + T.clock_shift + TIMEOUT_MS * MS + T_rand(-MS, MS / 2));
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		if (i % 3 == 2)
			sem_post(sem);
		else
			T_TRY(write(T.sh->fd[1], "x", 1));
		WROTE = T_now();
		while (DONE <= i)
			T_sleep(MS / 4);
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}, {"writer", writer, NULL}};

	T_begin(argc, argv, "near_event", 2);
	sem = (sem_t *)&T.sh->i64[32];
	sem_init(sem, 1, 0);
	T_TRY(pipe(T.sh->fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
