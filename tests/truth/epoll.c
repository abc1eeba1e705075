/* epoll.c - epoll, poll and select over a pipe, an eventfd, a socket pair and a timerfd: the cause is the
 * source that was ready, the waker who made it so. */
#include "truth.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

enum { WAITER, FEEDER };
enum { PIPE, EVENTFD, SOCK, TIMER, NSRC };
#define ROUNDS 12
static int rd[NSRC], wr[NSRC], src[ROUNDS];
static const char *const cause[] = {"pipe", "eventfd", "unix", "timer"};
static const char *const calls[] = {"epoll_wait|epoll_pwait", "poll|ppoll", "select|pselect6"};

static void wait_once(int how, int ep)
{
	if (how == 0) {
		struct epoll_event ev;

		T_TRY(epoll_wait(ep, &ev, 1, -1));
	} else if (how == 1) {
		struct pollfd p[NSRC];

		for (int k = 0; k < NSRC; k++)
			p[k] = (struct pollfd){.fd = rd[k], .events = POLLIN};
		T_TRY(poll(p, NSRC, -1));
	} else {
		fd_set set;

		FD_ZERO(&set);
		for (int k = 0; k < NSRC; k++)
			FD_SET(rd[k], &set);
		T_TRY(select(64, &set, NULL, NULL, NULL));
	}
}

static void waiter(void)
{
	int ep = T_TRY(epoll_create1(0));
	const bool same = T_rand(0, 1); /* the data say nothing: who wakes tells what for */
	uint64_t buf;

	for (int k = 0; k < NSRC; k++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.u32 = same ? 0 : (uint32_t)k};

		T_TRY(epoll_ctl(ep, EPOLL_CTL_ADD, rd[k], &ev));
	}
	for (int i = 0; i < ROUNDS; i++) {
		int how = (int)T_rand(0, 2);
		struct t_span s;

		if (src[i] == TIMER) {
			struct itimerspec its = {.it_value = T_ts(T_rand(4 * MS, 12 * MS))};

			T_TRY(timerfd_settime(rd[TIMER], 0, &its, NULL));
		}
		char ready[32] = ""; /* where the call tells which one it was */
		if (how || !same)
			snprintf(ready, sizeof(ready), "descriptor %d", rd[src[i]]);
		T_in(&s);
		wait_once(how, ep);
		T_out(&s);
		if (src[i] == TIMER)
			T_wait(&s, "timer", "timer|irq|softirq", -1, calls[how], ready);
		else
			T_wait(&s, cause[src[i]], "thread", FEEDER, calls[how], ready);
		T_TRY(read(rd[src[i]], &buf, src[i] == PIPE || src[i] == SOCK ? 1 : 8));
		T.sh->i64[0] = i + 1;
	}
}

static void feeder(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t one = 1;

		if (src[i] != TIMER) {
			T_sleep(T_rand(4 * MS, 12 * MS));
			T_TRY(write(wr[src[i]], &one, src[i] == EVENTFD ? 8 : 1));
		}
		while (T.sh->i64[0] <= i)
			T_sleep(MS / 2);
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}, {"feeder", feeder, NULL}};
	int fd[2];

	T_begin(argc, argv, "epoll", 2);
	T_TRY(pipe(fd));
	rd[PIPE] = fd[0], wr[PIPE] = fd[1];
	T_TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	rd[SOCK] = fd[0], wr[SOCK] = fd[1];
	rd[EVENTFD] = wr[EVENTFD] = T_TRY(eventfd(0, 0));
	rd[TIMER] = T_TRY(timerfd_create(CLOCK_MONOTONIC, 0));
	for (int i = 0; i < ROUNDS; i++)
		src[i] = i < NSRC ? i : (int)T_rand(0, NSRC - 1);
	T_roles(parts, 2, T_ANY);
	return T_end();
}
