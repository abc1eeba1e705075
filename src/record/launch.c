/* launch.c - fork, make ready, wait for the word, exec. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/launch.h"
#include "record/statedump.h"

/* What execvp would run, found before anybody records. Empty, and *ret_errno: it would find nothing. */
static void find_program(const char *name, char *path, size_t size, int *ret_errno)
{
	const char *dirs = getenv("PATH");
	struct stat st;

	*ret_errno = ENOENT;
	if (strchr(name, '/') || !*name) {
		if (*name && (size_t)snprintf(path, size, "%s", name) < size)
			return;
		*ret_errno = *name ? ENAMETOOLONG : ENOENT;
		path[0] = 0;
		return;
	}
	for (const char *d = dirs ? dirs : "/bin:/usr/bin"; d; d = strchr(d, ':') ? strchr(d, ':') + 1 : NULL) {
		int n = (int)strcspn(d, ":");

		if ((size_t)snprintf(path, size, "%.*s%s%s", n, d, n ? "/" : "", name) >= size || stat(path, &st))
			continue;
		if (S_ISREG(st.st_mode) && !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
			return;
		*ret_errno = EACCES;
	}
	path[0] = 0;
}

/* A text without #! is a script of the shell's, as it is to execvp. */
static int execute(const char *path, char *const argv[])
{
	size_t n = 0;

	execv(path, argv);
	if (errno != ENOEXEC)
		return errno;
	while (argv[n])
		n++;
	char **sh = ww_xcalloc(n + 2, sizeof(*sh));
	sh[0] = argv[0];
	sh[1] = (char *)path;
	for (size_t i = 1; i < n; i++)
		sh[i + 1] = argv[i];
	execv("/bin/sh", sh);
	return errno;
}

/* In the child. All that can be done before recording begins is, so that exec follows the word at once. The pipes
 * close on exec, so the reader sees end of file exactly when exec worked. */
static _Noreturn void child(int go_fd, int news_fd, uint64_t *stamp_ts_ns, char *const argv[],
			    const struct ww_invoker *as, const sigset_t *mask, void (*sigpipe)(int))
{
	static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2};
	char c = 'r', path[4096] = "";
	int missing = ENOENT, e = as ? ww_privilege_become(as) : 0;
	ssize_t r;

	if (!e)
		find_program(argv[0], path, sizeof(path), &missing);
	for (size_t i = 0; i < WW_ARRAY_SIZE(handled); i++) {
		struct sigaction sa;
		/* Ours would run in the moment before exec; ignored ones (nohup) stay ignored. */
		if (!sigaction(handled[i], NULL, &sa) && sa.sa_handler != SIG_IGN)
			signal(handled[i], SIG_DFL);
	}
	signal(SIGPIPE, sigpipe);
	sigprocmask(SIG_SETMASK, mask, NULL);
	*stamp_ts_ns = ww_dump_now_ns(); /* its page is there from now on */
	*stamp_ts_ns = 0;
	(void)!write(news_fd, &c, 1);
	do
		r = read(go_fd, &c, 1);
	while (r < 0 && errno == EINTR);
	if (r != 1) /* the recorder died or gave up */
		_exit(125);
	if (!e && !*path)
		e = missing;
	if (!e) {
		*stamp_ts_ns = ww_dump_now_ns();
		e = execute(path, argv);
	}
	(void)!write(news_fd, &e, sizeof(e));
	_exit(ww_launch_exec_code(e));
}

/* It sleeps in its read: nothing more comes of it before the word. A second at most, as it may be stopped. */
static void wait_until_asleep(pid_t pid)
{
	char path[32], line[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int ms = 0; ms < 1000; ms++) {
		int n = ww_dump_read(AT_FDCWD, path, line, sizeof(line));
		const char *after = n > 0 ? strrchr(line, ')') : NULL;

		if (!after || !strncmp(after, ") S", 3))
			return;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

/* All of a small message, or what there is before the end of file. */
static size_t read_news(int fd, void *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = read(fd, (char *)p + got, n - got);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got;
}

int ww_launch_prepare(struct ww_launch *l, char *const argv[], const struct ww_invoker *as,
		      const sigset_t *mask, void (*sigpipe)(int), struct ww_err *err)
{
	int go[2], bad[2];

	*l = (struct ww_launch){.go_fd = -1, .news_fd = -1};
	uint64_t *stamp = mmap(NULL, sizeof(*stamp), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stamp == MAP_FAILED)
		return ww_err_errno(err, "", "cannot share memory with the command");
	l->stamp_ts_ns = stamp;
	if (pipe2(go, O_CLOEXEC))
		return ww_err_errno(err, "", "cannot make a pipe");
	if (pipe2(bad, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return ww_err_errno(err, "", "cannot make a pipe");
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(bad[0]);
		child(go[0], bad[1], stamp, argv, as, mask, sigpipe);
	}
	int e = errno;
	close(go[0]);
	close(bad[1]);
	if (pid < 0) {
		close(go[1]);
		close(bad[0]);
		errno = e;
		return ww_err_errno(err, "", "cannot fork");
	}
	l->pid = pid;
	l->go_fd = go[1];
	l->news_fd = bad[0];
	char ready;
	if (read_news(l->news_fd, &ready, 1) == 1)
		wait_until_asleep(pid);
	return 0;
}

int ww_launch_go(struct ww_launch *l)
{
	int e = 0;

	if (write(l->go_fd, "g", 1) != 1)
		e = errno;
	close(l->go_fd);
	l->go_fd = -1;
	bool told = read_news(l->news_fd, &e, sizeof(e)) == sizeof(e);
	l->exec_ts_ns = *l->stamp_ts_ns;
	bool failed = told || !l->exec_ts_ns;
	close(l->news_fd);
	l->news_fd = -1;
	if (!failed)
		return 0;
	ww_launch_reap(l, true);
	return e || WIFEXITED(l->wait_status) ? WW_MAX(e, EPERM) : 0;
}

bool ww_launch_reap(struct ww_launch *l, bool block)
{
	int st;
	pid_t r;

	if (!l->pid || l->ended)
		return l->ended;
	do
		r = waitpid(l->pid, &st, block ? 0 : WNOHANG);
	while (r < 0 && errno == EINTR && block);
	if (r == l->pid) {
		l->ended = true;
		l->wait_status = st;
	}
	return l->ended;
}

void ww_launch_cancel(struct ww_launch *l)
{
	if (l->go_fd >= 0)
		close(l->go_fd); /* end of file: it leaves by itself */
	if (l->news_fd >= 0)
		close(l->news_fd);
	l->go_fd = l->news_fd = -1;
	ww_launch_reap(l, true);
}

int ww_launch_exit_code(const struct ww_launch *l)
{
	return WIFEXITED(l->wait_status) ? WEXITSTATUS(l->wait_status) : 128 + WTERMSIG(l->wait_status);
}

int ww_launch_exec_code(int exec_errno)
{
	return exec_errno == ENOENT ? 127 : 126;
}
