/* launch.c - fork, wait for the word, exec. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/launch.h"
#include "record/statedump.h"

/* In the child. The pipes close on exec, so the reader sees end of file exactly when exec worked. */
static _Noreturn void child(int go_fd, int news_fd, char *const argv[], const struct ww_invoker *as,
			    const sigset_t *mask, void (*sigpipe)(int))
{
	char c;
	int e = 0;
	ssize_t r;
	uint64_t stamp = 0;

	do
		r = read(go_fd, &c, 1);
	while (r < 0 && errno == EINTR);
	if (r != 1) /* the recorder died or gave up */
		_exit(125);
	if (as)
		e = ww_privilege_become(as);
	if (!e) {
		static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2};
		for (size_t i = 0; i < WW_ARRAY_SIZE(handled); i++) {
			struct sigaction sa;
			/* Ours would run in the moment before exec; ignored ones (nohup) stay ignored. */
			if (!sigaction(handled[i], NULL, &sa) && sa.sa_handler != SIG_IGN)
				signal(handled[i], SIG_DFL);
		}
		signal(SIGPIPE, sigpipe);
		sigprocmask(SIG_SETMASK, mask, NULL);
		stamp = ww_dump_now_ns();
		(void)!write(news_fd, &stamp, sizeof(stamp));
		execvp(argv[0], argv);
		e = errno;
	}
	if (!stamp)
		(void)!write(news_fd, &stamp, sizeof(stamp));
	(void)!write(news_fd, &e, sizeof(e));
	_exit(ww_launch_exec_code(e));
}

int ww_launch_prepare(struct ww_launch *l, char *const argv[], const struct ww_invoker *as,
		      const sigset_t *mask, void (*sigpipe)(int), struct ww_err *err)
{
	int go[2], bad[2];

	*l = (struct ww_launch){.go_fd = -1, .news_fd = -1};
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
		child(go[0], bad[1], argv, as, mask, sigpipe);
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
	return 0;
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

int ww_launch_go(struct ww_launch *l)
{
	uint64_t stamp;
	int e = 0;

	if (write(l->go_fd, "g", 1) != 1)
		e = errno;
	close(l->go_fd);
	l->go_fd = -1;
	bool failed = true;
	if (read_news(l->news_fd, &stamp, sizeof(stamp)) == sizeof(stamp)) {
		l->exec_ts_ns = stamp;
		failed = read_news(l->news_fd, &e, sizeof(e)) == sizeof(e);
	}
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
