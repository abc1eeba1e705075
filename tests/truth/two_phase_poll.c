/* two_phase_poll.c - looks first with a timeout of zero, as event loops do, and waits only when nothing is there: the look is
 * no wait, and that it found nothing says nothing about the wait after it, which the writer ended. */
#include "truth.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

enum { WAITER, WRITER };
#define ROUNDS 12
#define ROUND T.sh->i64[0]
static int epoll_fd;

static int look(int kind, int timeout_ms)
{
	struct pollfd p = {.fd = T.sh->fd[0], .events = POLLIN};
	struct timeval zero = {0};
	struct epoll_event ev;
	fd_set set;

	if (kind == 0)
		return poll(&p, 1, timeout_ms);
	if (kind == 1)
		return epoll_wait(epoll_fd, &ev, 1, timeout_ms);
	FD_ZERO(&set);
	FD_SET(T.sh->fd[0], &set);
	return select(T.sh->fd[0] + 1, &set, NULL, NULL, timeout_ms ? NULL : &zero);
}

static void waiter(void)
{
	struct epoll_event ev = {.events = EPOLLIN};

	epoll_fd = T_TRY(epoll_create1(0));
	T_TRY(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, T.sh->fd[0], &ev));
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;
		char c;

		for (int looks = (int)T_rand(1, 3); looks; looks--)
			if (look((i + looks) % 3, 0) != 0)
				T_die("something is there");
		T_in(&s);
		ROUND = i + 1;
		if (look(i % 3, -1) != 1)
			T_die("nothing came");
		T_out(&s);
		T_wait(&s, "pipe", "thread", WRITER, "poll|ppoll|epoll_wait|epoll_pwait|select|pselect6", "");
		if (look((i + 1) % 3, 0) != 1)
			T_die("what came is gone");
		T_TRY(read(T.sh->fd[0], &c, 1));
		if (look((i + 2) % 3, 0) != 0)
			T_die("something is there");
	}
}

static void writer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (ROUND <= i)
			T_sleep(MS / 2);
		T_sleep(T_rand(3 * MS, 12 * MS));
		T_TRY(write(T.sh->fd[1], "x", 1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, ",\"never_cause\":\"timer\""}, {"writer", writer, NULL}};

	T_begin(argc, argv, "two_phase_poll", 2);
	T_TRY(pipe(T.sh->fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
