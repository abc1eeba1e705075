/* waitpid.c - waits for one of several children, in the order that they end; for one by a descriptor of it. */
#include "truth.h"

#include <poll.h>

static void poll_for(pid_t child)
{
	struct pollfd p = {.fd = T_TRY((int)syscall(SYS_pidfd_open, child, 0)), .events = POLLIN};
	struct t_span s;
	char ready[32];

	T_in(&s);
	T_TRY(poll(&p, 1, -1));
	T_out(&s);
	T.sh->tid[8] = child;
	snprintf(ready, sizeof(ready), "descriptor %d", p.fd);
	T_wait(&s, "child", "thread", 8, "poll|ppoll", ready);
	T_TRY(waitpid(child, NULL, 0));
	close(p.fd);
}

static void parent(void)
{
	pid_t pid[4];

	for (int i = 0; i < 4; i++) {
		pid[i] = T_TRY(fork());
		if (!pid[i]) {
			T_sleep(10 * MS * (i + 1) + T_rand(0, 5 * MS));
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++) {
		struct t_span s;
		int who;

		if (i == 2) {
			poll_for(pid[i]);
			continue;
		}
		T_in(&s);
		who = waitpid(i & 1 ? pid[i] : -1, NULL, __WALL);
		T_out(&s);
		T.sh->tid[8] = who;
		T_wait(&s, "child", "thread|signal", 8, "wait4", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"parent", parent, NULL}};

	T_begin(argc, argv, "waitpid", 0);
	T_roles(parts, 1, T_THREADS);
	return T_end();
}
