/* waitpid_io.c - waits for a child that does I/O: cause child, woken by that child, whose own time went
 * to the disk. */
#include "truth.h"

enum { PARENT, CHILD };

static void parent(void)
{
	for (int i = 0; i < 3; i++) {
		struct t_span s;
		pid_t pid = T_TRY(fork());

		if (!pid) {
			char path[64], b[65536] = {0};
			struct t_span c;
			int fd;

			snprintf(path, sizeof(path), "/var/tmp/truth-io-%d", (int)getpid());
			T_sleep(3 * MS);
			fd = T_TRY(open(path, O_CREAT | O_RDWR | O_TRUNC, 0600));
			for (int k = 0; k < 8; k++)
				T_TRY(write(fd, b, sizeof(b)));
			T.sh->tid[CHILD] = T_gettid();
			T_in(&c);
			fdatasync(fd);
			T_out(&c);
			T_chain(PARENT, CHILD, c.t0, c.t1, c.known, "blocked", "disk");
			T_sleep(T_rand(4 * MS, 12 * MS));
			unlink(path);
			_exit(0);
		}
		T_in(&s);
		waitpid(pid, NULL, 0);
		T_out(&s);
		T.sh->tid[2] = pid;
		T_wait(&s, "child", "thread|signal", 2, "wait4", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"parent", parent, NULL}};

	T_begin(argc, argv, "waitpid_io", 1);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
