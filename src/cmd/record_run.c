/* record_run.c - the recording loop: signals, progress, the end.
 *
 * Signals: Ctrl-C goes to the whole foreground group, so CMD has it already and decides; we only wait for
 * its end. What is sent to us alone (kill -TERM, -INT, -HUP) is passed on to CMD, and a second one ends the
 * recording whatever CMD does. Without CMD any of them ends the recording. SIGUSR1 saves a snapshot.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/opts.h"
#include "cmd/record_run.h"
#include "record/launch.h"
#include "record/outdir.h"
#include "record/statedump.h"

#define POLL_MS 50
#define PROGRESS_NS 500000000ull

static volatile sig_atomic_t want_end, want_snapshot;
static volatile pid_t forward_to; /* CMD; 0 none */
static volatile uint64_t child_end_ts_ns; /* when SIGCHLD came: nearer to the end than our next look */

static void on_end(int sig, siginfo_t *si, void *ctx)
{
	bool from_terminal = si->si_code == SI_KERNEL;

	if (!forward_to) {
		want_end = 1;
		return;
	}
	if (from_terminal)
		return;
	if (want_end)
		forward_to = 0;
	else
		kill(forward_to, sig);
	want_end = want_end + 1;
}

static void on_child(int sig, siginfo_t *si, void *ctx)
{
	int saved = errno;

	if (si->si_code == CLD_EXITED || si->si_code == CLD_KILLED || si->si_code == CLD_DUMPED)
		child_end_ts_ns = ww_dump_now_ns();
	errno = saved;
}

static void on_snapshot(int sig, siginfo_t *si, void *ctx)
{
	want_snapshot = 1;
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO}, old;

	sigemptyset(&sa.sa_mask);
	/* nohup and background jobs: what was ignored when we started stays ignored. */
	if (!sigaction(sig, NULL, &old) && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_IGN &&
	    sig != SIGCHLD)
		return;
	sigaction(sig, &sa, NULL);
}

static void handle_signals(void)
{
	want_end = want_snapshot = 0;
	handle(SIGINT, on_end);
	handle(SIGQUIT, on_end);
	handle(SIGTERM, on_end);
	handle(SIGHUP, on_end);
	handle(SIGCHLD, on_child);
	handle(SIGUSR1, on_snapshot);
}

struct progress {
	bool on, shown;
	uint64_t begin_ts_ns, last_ts_ns;
};

static void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

static void progress_show(struct progress *p, struct ww_session *s)
{
	struct ww_recorder_stats st;
	char bytes[32];
	uint64_t now = ww_dump_now_ns();

	if (!p->on || now - p->begin_ts_ns < WW_NS_PER_S || now - p->last_ts_ns < PROGRESS_NS)
		return;
	p->last_ts_ns = now;
	ww_session_stats(s, &st);
	fprintf(stderr, "\r\033[Kwhywait: recording %d s, %" PRIu64 " events, %s, %" PRIu64 " lost",
		(int)((now - p->begin_ts_ns) / WW_NS_PER_S), st.events,
		ww_bytes_format(st.bytes, bytes, sizeof(bytes)), st.lost + st.misses);
	fflush(stderr);
	p->shown = true;
}

static void summary(struct ww_record_run *r, struct ww_session *s, uint64_t dur_ns)
{
	struct ww_recorder_stats st;
	char dur[32], bytes[32];

	ww_session_stats(s, &st);
	if (st.lost + st.misses)
		r->partial = true;
	if (r->quiet && !r->partial)
		return;
	fprintf(stderr, "whywait: recorded %s, %" PRIu64 " events, %s in %s, ",
		ww_dur_format((int64_t)dur_ns, dur, sizeof(dur)), st.events,
		ww_bytes_format(st.bytes, bytes, sizeof(bytes)), r->session.outdir);
	if (st.lost + st.misses)
		fprintf(stderr, "events LOST: %" PRIu64 " (%" PRIu64 " no room in the ring, %" PRIu64 " skipped by the kernel%s%s)\n",
			st.lost + st.misses, st.lost, st.misses, st.misses ? ": " : "", st.missed);
	else
		fputs("no event lost\n", stderr);
	if (st.unseen && !r->quiet)
		fprintf(stderr, "whywait: %" PRIu64 " events came while a snapshot was written; they are in none\n", st.unseen);
}

/* The words of the command line with a space between them, cut to `size`. */
static void join(char *const *argv, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = 0;
	for (; *argv && n + 1 < size; argv++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? " " : "", *argv);
}

static void begin_pid(struct ww_session *s, int32_t pid)
{
	char path[64], comm[64] = "", cmdline[4096] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	ww_dump_read(-1, path, comm, sizeof(comm));
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	int n = ww_dump_read(-1, path, cmdline, sizeof(cmdline));
	for (int i = 0; i + 1 < n; i++)
		if (!cmdline[i])
			cmdline[i] = ' ';
	ww_session_target_begin(s, pid, ww_dump_now_ns(), comm, cmdline);
}

/* A process that its parent has not waited for yet has ended, though it still takes signals. */
static bool has_ended(int32_t pid)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

	if (p.fd < 0) /* a thread that is not the main one, or a kernel before 5.3 */
		return kill(pid, 0) && errno == ESRCH;
	bool ended = poll(&p, 1, 0) == 1;
	close(p.fd);
	return ended;
}

static bool any_alive(struct ww_record_run *r, struct ww_session *s)
{
	bool any = false;

	for (uint32_t i = 0; i < r->npids; i++) {
		if (r->pids[i] < 0)
			continue;
		if (!has_ended(r->pids[i])) {
			any = true;
			continue;
		}
		ww_session_target_end(s, r->pids[i], ww_dump_now_ns(), 0);
		r->pids[i] = -1;
	}
	return any;
}

static void take_snapshot(struct ww_record_run *r, struct ww_session *s)
{
	const char *path;
	struct ww_err err = {0};

	if (ww_session_snapshot(s, &path, &err)) {
		ww_opts_fail(&err);
		r->partial = true;
	} else if (!r->quiet) {
		fprintf(stderr, "whywait: snapshot saved in %s\n", path);
	}
}

/* Disks are shared: a trace that must not grow further ends here, the command does not. */
static bool is_full(struct ww_record_run *r, struct ww_session *s, struct progress *p)
{
	struct ww_recorder_stats st;
	char bytes[32];

	if (!r->session.max_bytes)
		return false;
	ww_session_stats(s, &st);
	if (st.bytes < r->session.max_bytes)
		return false;
	progress_clear(p);
	fprintf(stderr, "whywait: the trace has the size that --max-size allows (%s): recording stopped here%s\n",
		ww_bytes_format(st.bytes, bytes, sizeof(bytes)), r->cmd ? ", the command goes on" : "");
	return true;
}

static bool is_over(struct ww_record_run *r, struct ww_session *s, struct ww_launch *l, uint64_t begin_ts_ns)
{
	if (r->dur_ns >= 0 && ww_dump_now_ns() - begin_ts_ns >= (uint64_t)r->dur_ns)
		return true;
	if (l->pid)
		return ww_launch_reap(l, false) || want_end > 1;
	return want_end || (r->npids && !any_alive(r, s));
}

/* Until the end, or until writing fails; then the recording is over but CMD is not disturbed. */
static void loop(struct ww_record_run *r, struct ww_session *s, struct ww_launch *l, struct progress *p)
{
	struct ww_err err = {0};

	while (!is_over(r, s, l, p->begin_ts_ns)) {
		if (ww_session_tick(s, POLL_MS, &err)) {
			progress_clear(p);
			ww_err_hint(&err, "recording stopped here; what is on disk stays readable");
			ww_opts_fail(&err);
			r->partial = true;
			return;
		}
		if (want_snapshot) {
			want_snapshot = 0;
			progress_clear(p);
			if (r->session.flight_bytes)
				take_snapshot(r, s);
		}
		if (is_full(r, s, p))
			return;
		progress_show(p, s);
	}
}

static void finish(struct ww_record_run *r, struct ww_session *s, struct ww_launch *l, uint64_t begin_ts_ns)
{
	struct ww_err err = {0};
	uint64_t end_ts_ns = ww_dump_now_ns();

	if (l->ended)
		ww_session_target_end(s, l->pid, child_end_ts_ns ? child_end_ts_ns : end_ts_ns, l->wait_status);
	if (r->session.flight_bytes)
		take_snapshot(r, s);
	if (ww_session_stop(s, &err) && !r->partial) {
		ww_opts_fail(&err);
		r->partial = true;
	}
	summary(r, s, end_ts_ns - begin_ts_ns);
}

/* Everything up to the moment in which CMD may run. */
static int set_up(struct ww_record_run *r, struct ww_session **ret, struct ww_launch *l, struct ww_err *err)
{
	struct ww_session *s;
	sigset_t mask;
	struct sigaction sigpipe;
	int rc;

	r->for_invoker = !r->as_root && ww_privilege_invoker(&r->invoker);
	r->session.share = r->for_invoker;
	r->session.share_gid = r->invoker.gid;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(SIGPIPE, NULL, &sigpipe);
	rc = 0;
	for (uint32_t i = 0; !rc && i < r->npids; i++) /* loading the programs takes its time: a wrong number is told at once */
		rc = ww_session_has_process(r->pids[i], err);
	if (!rc)
		rc = ww_session_open(&r->session, &s, err);
	if (rc)
		return rc;
	*ret = s;
	r->lock_fd = ww_session_lock(s);
	snprintf(r->outdir, sizeof(r->outdir), "%s", ww_session_dir(s));
	if (strcmp(r->outdir, r->session.outdir) && r->session.outdir_or_other)
		fprintf(stderr, "whywait: another whywait is recording to %s; this trace is %s\n", r->session.outdir, r->outdir);
	r->session.outdir = r->outdir;
	if (r->cmd) {
		rc = ww_launch_prepare(l, r->cmd, r->for_invoker ? &r->invoker : NULL, &mask, sigpipe.sa_handler, err);
		if (!rc)
			ww_session_child(s, (int32_t)l->pid);
	}
	for (uint32_t i = 0; !rc && i < r->npids; i++)
		rc = ww_session_target(s, r->pids[i], err);
	signal(SIGPIPE, SIG_IGN);
	forward_to = l->pid; /* before CMD executes, too: a signal then ends it there */
	handle_signals();
	return rc ? rc : ww_session_start(s, err);
}

static void run_cmd(struct ww_record_run *r, struct ww_session *s, struct ww_launch *l)
{
	char cmdline[8192];
	const char *base = strrchr(r->cmd[0], '/');

	join(r->cmd, cmdline, sizeof(cmdline));
	int e = ww_launch_go(l);
	ww_session_target_begin(s, (int32_t)l->pid, l->exec_ts_ns ? l->exec_ts_ns : ww_dump_now_ns(),
				base ? base + 1 : r->cmd[0], cmdline);
	if (e) {
		fprintf(stderr, "whywait: %s: %s\n", r->cmd[0], strerror(e));
		r->cmd_status = ww_launch_exec_code(e);
		return;
	}
	r->cmd_ran = true;
}

void ww_record_run(struct ww_record_run *r)
{
	struct ww_session *s = NULL;
	struct ww_launch l = {.go_fd = -1, .news_fd = -1};
	struct ww_err err = {0};
	struct progress p = {.on = !r->quiet && isatty(STDERR_FILENO)};

	if (set_up(r, &s, &l, &err)) {
		ww_launch_cancel(&l);
		ww_opts_fail(&err);
		ww_session_close(s);
		r->failed = true;
		return;
	}
	for (const char *const *m = ww_session_missing(s); r->verbose && m && *m; m++)
		fprintf(stderr, "whywait: this kernel has no tracepoint %s\n", *m);
	for (uint32_t i = 0; i < r->npids; i++)
		begin_pid(s, r->pids[i]);
	p.begin_ts_ns = ww_dump_now_ns();
	if (r->cmd)
		run_cmd(r, s, &l);
	loop(r, s, &l, &p);
	progress_clear(&p);
	finish(r, s, &l, p.begin_ts_ns);
	ww_session_close(s);
	if (r->cmd_ran) {
		ww_launch_reap(&l, true); /* when recording ended before CMD did */
		r->cmd_status = ww_launch_exit_code(&l);
	}
}

void ww_record_give(const struct ww_record_run *r)
{
	if (r->for_invoker && !r->failed)
		ww_outdir_give(r->session.outdir, r->invoker.uid, r->invoker.gid);
	if (r->lock_fd >= 0)
		close(r->lock_fd);
}
