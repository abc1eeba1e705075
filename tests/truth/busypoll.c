/* busypoll.c - asks again and again without ever blocking: poll with timeout 0, read that says EAGAIN,
 * epoll_wait with timeout 0, a spin on memory. It gets its data from another thread, but it never
 * waits: it is running. */
#include "truth.h"

#include <poll.h>
#include <sys/epoll.h>

static void poller(void)
{
	struct pollfd p = {.fd = T.sh->fd[0], .events = POLLIN};
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = T_TRY(epoll_create1(0));
	char c;

	T_TRY(epoll_ctl(ep, EPOLL_CTL_ADD, T.sh->fd[0], &ev));
	for (int i = 0; i < 4; i++) {
		switch (i) {
		case 0:
			while (poll(&p, 1, 0) == 0)
				;
			break;
		case 1:
			while (epoll_wait(ep, &ev, 1, 0) == 0)
				;
			break;
		case 2:
			while (!T.sh->i64[2])
				;
			break;
		default:
			break;
		}
		while (read(T.sh->fd[0], &c, 1) != 1)
			;
		T.sh->i64[10] = i + 1;
	}
}

static void writer(void)
{
	for (int i = 0; i < 4; i++) {
		T_sleep(T_rand(10 * MS, 25 * MS));
		T_TRY(write(T.sh->fd[1], "x", 1));
		T.sh->i64[i] = 1;
		while (T.sh->i64[10] != i + 1)
			T_sleep(MS);
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"poller", poller, ",\"never\":\"blocked\",\"grace\":2"}, {"writer", writer, NULL}};
	int fd[2];

	T_begin(argc, argv, "busypoll", 0);
	T_TRY(pipe2(fd, O_NONBLOCK));
	memcpy(T.sh->fd, fd, sizeof(fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
