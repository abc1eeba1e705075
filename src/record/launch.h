/* launch.h - runs the command so that recording covers it from its exec on, and it cannot tell.
 *
 * order  ww_launch_prepare (forks; the child waits) -> start recording -> ww_launch_go -> ww_launch_reap
 * The child keeps our stdin, stdout, stderr, terminal, process group and the signal mask and dispositions
 * that we were started with; nobody ptraces it.
 */
#ifndef WW_LAUNCH_H
#define WW_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "record/privilege.h"

struct ww_launch {
	pid_t pid;       /* 0: none */
	int go_fd;       /* the child executes when a byte comes */
	int news_fd;     /* a byte when the child waits; errno when exec failed, or end of file */
	uint64_t *stamp_ts_ns; /* shared with the child */
	uint64_t exec_ts_ns; /* CLOCK_MONOTONIC, just before exec; 0 when it did not come so far */
	bool ended;
	int wait_status; /* as waitpid gives it, when ended */
};

/* ww_launch_prepare - forks the child; on return it has done what it can before exec, and sleeps.
 * in    argv  NULL-terminated; argv[0] is looked up in PATH, as that person
 *       as    run as this person; NULL: as we are
 *       mask  signal mask for the command
 *       sigpipe disposition of SIGPIPE for the command (SIG_DFL or SIG_IGN) */
int ww_launch_prepare(struct ww_launch *l, char *const argv[], const struct ww_invoker *as,
		      const sigset_t *mask, void (*sigpipe)(int), struct ww_err *err);
/* Lets it execute. 0, or the errno with which exec failed (the child is gone then). When a signal ended the
 * child before it came to exec: 0 and l->ended. */
int ww_launch_go(struct ww_launch *l);
/* True when the command has ended; does not wait unless `block`. */
bool ww_launch_reap(struct ww_launch *l, bool block);
/* A child that never executed is ended. */
void ww_launch_cancel(struct ww_launch *l);
/* What a shell would say: its exit code, 128 + signal. */
int ww_launch_exit_code(const struct ww_launch *l);
/* 127 for "not found", else 126. */
int ww_launch_exec_code(int exec_errno);

#endif
