/* pidns.c - as `unshare -pf` does: the target is pid 1 of its own namespace and knows its pipe's writer by
 * another number than the machine does; so of the child it waits for. */
#include "truth.h"

#define ROUNDS 5

/* A /proc mounted outside says our number out there. */
static int outer_tid(void)
{
	char b[64];
	ssize_t n = readlink("/proc/self", b, sizeof(b) - 1);

	b[n > 0 ? n : 0] = 0;
	return atoi(b);
}

static void reader(void)
{
	char c, path[64];

	/* thread-self means nothing to this /proc here. */
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)T.sh->i64[0]);
	t_schedstat_fd = T_TRY(open(path, O_RDONLY));
	t_schedstat_tid = T_gettid();

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(read(T.sh->fd[0], &c, 1));
		T_out(&s);
		T_say("{\"t\":\"wait\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"known\":%" PRId64
		      ",\"cause\":\"pipe\",\"kind\":\"thread\",\"waker\":%d,\"syscall\":\"read\",\"hint\":\"\"}",
		      (int)T.sh->i64[0], s.t0, s.t1, s.known, (int)T.sh->i64[1]);
	}
}

static void waits_for(pid_t child)
{
	struct t_span s;

	T_in(&s);
	T_TRY(waitpid(child, NULL, 0));
	T_out(&s);
	T_say("{\"t\":\"wait\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"known\":%" PRId64
	      ",\"cause\":\"child\",\"kind\":\"thread\",\"waker\":%d,\"syscall\":\"wait4\","
	      "\"hint\":\"\\\"detail\\\": \\\"pidns-inner (%d)\\\"\"}",
	      (int)T.sh->i64[0], s.t0, s.t1, s.known, (int)T.sh->i64[1], (int)T.sh->i64[1]);
}

int main(int argc, char **argv)
{
	pid_t pid;

	T_begin(argc, argv, "pidns", 1);
	T_TRY(pipe((int *)T.sh->fd));
	if (unshare(CLONE_NEWPID))
		T_skip("unshare(CLONE_NEWPID) is not allowed");
	pid = T_TRY(fork());
	if (!pid) {
		pid_t w;

		T.sh->i64[0] = outer_tid();
		w = T_TRY(fork());
		if (!w) {
			T.sh->i64[1] = outer_tid();
			for (int i = 0; i < ROUNDS; i++) {
				T_sleep(T_rand(6 * MS, 18 * MS));
				T_TRY(write(T.sh->fd[1], "x", 1));
			}
			prctl(PR_SET_NAME, "pidns-inner");
			T_sleep(T_rand(6 * MS, 18 * MS));
			_exit(0);
		}
		while (!T.sh->i64[1])
			T_sleep(MS);
		T_say("{\"t\":\"thread\",\"tid\":%d,\"pid\":%d,\"role\":\"reader\",\"comm\":\"\"}", (int)T.sh->i64[0],
		      (int)T.sh->i64[0]);
		if (getpid() != 1)
			T_die("not pid 1");
		reader();
		waits_for(w);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return T_end();
}
