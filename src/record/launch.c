/* launch.c - fork, wait for the word, exec. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/launch.h"

/* In the child. The pipes close on exec, so the reader sees end of file exactly when exec worked. */
static _Noreturn void child(int go_fd, int err_fd, char *const argv[], const struct ww_invoker *as,
			    const sigset_t *mask, void (*sigpipe)(int))
{
	char c;
	int e = 0;
	ssize_t r;

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
		execvp(argv[0], argv);
		e = errno;
	}
	(void)!write(err_fd, &e, sizeof(e));
	_exit(ww_launch_exec_code(e));
}

int ww_launch_prepare(struct ww_launch *l, char *const argv[], const struct ww_invoker *as,
		      const sigset_t *mask, void (*sigpipe)(int), struct ww_err *err)
{
	int go[2], bad[2];

	*l = (struct ww_launch){.go_fd = -1, .err_fd = -1};
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
	l->err_fd = bad[0];
	return 0;
}

int ww_launch_go(struct ww_launch *l)
{
	int e = 0;
	ssize_t r;

	if (write(l->go_fd, "g", 1) != 1)
		e = errno;
	close(l->go_fd);
	l->go_fd = -1;
	do
		r = read(l->err_fd, &e, sizeof(e));
	while (r < 0 && errno == EINTR);
	close(l->err_fd);
	l->err_fd = -1;
	if (r != sizeof(e))
		return 0;
	ww_launch_reap(l, true);
	return e ? e : EINVAL;
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
	if (l->err_fd >= 0)
		close(l->err_fd);
	l->go_fd = l->err_fd = -1;
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
