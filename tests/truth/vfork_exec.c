/* vfork_exec.c - the parent of a vfork waits until its child execs or exits; then it waits for the end of
 * what was executed. */
#include "truth.h"

static void parent(void)
{
	for (volatile int i = 0; i < 4; i++) {
		struct timespec ts = T_ts(T_rand(5 * MS, 15 * MS));
		bool execs = i & 1;
		struct t_span s;
		pid_t pid;

		T_in(&s);
		pid = vfork();
		if (!pid) {
			syscall(SYS_nanosleep, &ts, NULL);
			if (execs)
				execl("/bin/sleep", "sleep", "0.015", (char *)NULL);
			_exit(0);
		}
		T_out(&s);
		T.sh->tid[8] = pid;
		/* The child's CPU time up to here is not ours, and its wait is what we waited for. */
		T_wait(&s, "child", "thread|signal", 8, "vfork|clone", "");
		T_in(&s);
		waitpid(pid, NULL, 0);
		T_out(&s);
		if (execs)
			T_wait(&s, "child", "thread|signal", 8, "wait4", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"parent", parent, NULL}};

	T_begin(argc, argv, "vfork_exec", 1);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
