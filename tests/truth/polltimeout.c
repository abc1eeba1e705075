/* polltimeout.c - poll, select and epoll_wait that nothing but their timeout ends. */
#include "truth.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static void waiter(void)
{
	int fd[2], ep = T_TRY(epoll_create1(0));
	struct epoll_event ev = {.events = EPOLLIN};

	T_TRY(pipe(fd));
	T_TRY(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev));
	for (int i = 0; i < 9; i++) {
		struct pollfd p = {.fd = fd[0], .events = POLLIN};
		int ms = (int)T_rand(5, 15);
		struct timeval tv = {.tv_usec = ms * 1000};
		struct t_span s;

		T_in(&s);
		if (i % 3 == 0)
			poll(&p, 1, ms);
		else if (i % 3 == 1)
			select(0, NULL, NULL, NULL, &tv);
		else
			epoll_wait(ep, &ev, 1, ms);
		T_out(&s);
		T_wait(&s, "timer", "timer|irq|softirq", -1, "poll|ppoll|select|pselect6|epoll_wait|epoll_pwait", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}};

	T_begin(argc, argv, "polltimeout", 2);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
