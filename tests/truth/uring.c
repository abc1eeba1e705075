/* uring.c - io_uring: waits for completions of a poll-armed pipe read, a timeout and O_DIRECT reads. */
#include "truth.h"

#include <liburing.h>

enum { USER, FEEDER };
#define ROUNDS 12

static void user(void)
{
	struct io_uring ring;
	char path[64], c;
	void *b;
	int fd;

	if (io_uring_queue_init(8, &ring, 0) < 0)
		T_die("io_uring_queue_init");
	if (posix_memalign(&b, 4096, 1 << 20))
		T_die("posix_memalign");
	memset(b, 5, 1 << 20);
	snprintf(path, sizeof(path), "/var/tmp/truth-uring-%d", T_gettid());
	fd = T_TRY(open(path, O_CREAT | O_RDWR | O_TRUNC | O_DIRECT, 0600));
	for (int i = 0; i < 4; i++)
		T_TRY(pwrite(fd, b, 1 << 20, (off_t)i << 20));
	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
		struct __kernel_timespec ts = {.tv_nsec = T_rand(4 * MS, 12 * MS)};
		struct io_uring_cqe *cqe;
		struct t_span s;

		if (i % 3 == 0)
			io_uring_prep_read(sqe, T.sh->fd[0], &c, 1, 0);
		else if (i % 3 == 1)
			io_uring_prep_timeout(sqe, &ts, 0, 0);
		else
			io_uring_prep_read(sqe, fd, b, 1 << 20, (uint64_t)T_rand(0, 3) << 20);
		T.sh->i64[0] = i + 1;
		T_in(&s);
		io_uring_submit_and_wait(&ring, 1);
		T_out(&s);
		if (io_uring_wait_cqe(&ring, &cqe))
			T_die("io_uring_wait_cqe");
		io_uring_cqe_seen(&ring, cqe);
		if (i < 3)
			continue; /* the kernel makes its workers: who wakes whom is its own affair */
		if (i % 3 == 0)
			T_wait(&s, "work|pipe", "thread|work", FEEDER, "io_uring_enter", "");
		else if (i % 3 == 1)
			T_wait(&s, "work|timer", "timer|irq|softirq|work", -1, "io_uring_enter", "");
		else
			T_wait(&s, "work|disk", "block|irq|softirq|work", -1, "io_uring_enter", "");
	}
	unlink(path);
}

static void feeder(void)
{
	for (int i = 0; i < ROUNDS; i += 3) {
		while (T.sh->i64[0] != i + 1)
			T_sleep(MS / 2);
		T_sleep(T_rand(5 * MS, 15 * MS));
		T_TRY(write(T.sh->fd[1], "x", 1));
	}
}

/* Asked by a process of its own: the kernel takes a ring down later, and wakes who had it once more for that
 * (io_ring_exit_work), maybe within a wait that is known here. */
static bool allowed(void)
{
	struct io_uring ring;
	int status;
	pid_t child = T_TRY(fork());

	if (!child)
		_exit(io_uring_queue_init(2, &ring, 0) < 0);
	T_TRY(waitpid(child, &status, 0));
	return status == 0;
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"user", user, NULL}, {"feeder", feeder, NULL}};

	if (!allowed())
		T_skip("io_uring is not allowed");
	T_begin(argc, argv, "uring", 1);
	T_TRY(pipe((int *)T.sh->fd));
	T_roles(parts, 2, T_ANY);
	return T_end();
}
