/* cmd_record.c - `whywait record` and `whywait -- CMD`: options, then record_run.c; the latter reports. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/commands.h"
#include "cmd/opts.h"
#include "cmd/record_run.h"
#include "cmd/report_run.h"
#include "record/privilege.h"

enum {
	OPT_OUTPUT, OPT_ALL, OPT_PID, OPT_DURATION, OPT_MAX_SIZE, OPT_LIGHT, OPT_FLIGHT, OPT_STACKS, OPT_RING, OPT_AS_ROOT,
	OPT_REPORT
};

static const struct ww_opt_extra extra[] = {
	[OPT_OUTPUT] = {"output", 'o', "DIR", "the trace directory (./whywait.ctf; an older one is moved to DIR.1, one that is being recorded is not)"},
	[OPT_ALL] = {"system", 'a', NULL, "the whole system, system calls of every task too"},
	[OPT_PID] = {"pid", 'p', "PID", "a process that runs already, and what it forks; may be repeated"},
	[OPT_DURATION] = {"duration", 'd', "SECS", "stop after so many seconds (2, 1.5, 500ms)"},
	[OPT_MAX_SIZE] = {"max-size", 0, "SIZE", "stop when the trace is as large (500M, 2G); CMD goes on"},
	[OPT_LIGHT] = {"light", 0, NULL, "no system call tracepoints: an untraced system call costs nothing"},
	[OPT_FLIGHT] = {"flight", 0, "SIZE", "keep the last SIZE bytes for each CPU in memory (64M); `whywait snapshot` saves them"},
	[OPT_STACKS] = {"stacks", 's', NULL, "the stack at each point where a task blocks"},
	[OPT_RING] = {"ring", 0, "SIZE", "ring for each CPU (8M; 64K at least)"},
	[OPT_AS_ROOT] = {"as-root", 0, NULL, "run CMD as root, not as the user who called sudo"},
	[OPT_REPORT] = {"report", 0, "FILE", "the report goes to FILE, not to stderr"},
	{NULL, 0, NULL, NULL},
};

#define MIN_RING_BYTES (64u << 10) /* with less of it hardly anything but losses is seen */

struct record_opts {
	struct ww_record_run run;
	const char *report;
	bool all, duration_given;
};

static bool take_pids(struct record_opts *o, const char *arg)
{
	while (*arg) {
		char *end;
		long v = strtol(arg, &end, 10);
		if (end == arg || v <= 0 || v > INT32_MAX || o->run.npids == WW_RECORD_MAX_PIDS)
			return false;
		o->run.pids[o->run.npids++] = (int32_t)v;
		if (*end && *end != ',')
			return false;
		arg = *end ? end + 1 : end;
	}
	return true;
}

static bool on_extra(void *ctx, int index, const char *arg)
{
	struct record_opts *o = ctx;
	struct ww_session_opts *s = &o->run.session;

	switch (index) {
	case OPT_OUTPUT: s->outdir = arg; s->outdir_or_other = false; return *arg != 0;
	case OPT_ALL: o->all = s->all_syscalls = true; return true;
	case OPT_PID: return take_pids(o, arg);
	case OPT_DURATION: return ww_dur_parse(arg, &o->run.dur_ns) && o->run.dur_ns > 0;
	case OPT_MAX_SIZE: return ww_bytes_parse(arg, &o->run.session.max_bytes) && o->run.session.max_bytes > 0;
	case OPT_LIGHT: s->light = true; return true;
	case OPT_FLIGHT: return ww_bytes_parse(arg, &s->flight_bytes) && s->flight_bytes > 0;
	case OPT_STACKS: s->stacks = true; return true;
	case OPT_RING: return ww_bytes_parse(arg, &s->ring_bytes) && s->ring_bytes >= MIN_RING_BYTES;
	case OPT_AS_ROOT: o->run.as_root = true; return true;
	case OPT_REPORT: o->report = arg; return *arg != 0;
	}
	return false;
}

/* Opened before CMD runs: a name that cannot be written must not cost a whole recording. */
static FILE *open_report(const struct record_opts *o)
{
	struct ww_invoker who;

	if (!o->report)
		return o->run.cmd ? stderr : stdout;
	FILE *f = fopen(o->report, "we");
	if (!f)
		fprintf(stderr, "whywait: %s: %s\n", o->report, strerror(errno));
	else if (!o->run.as_root && ww_privilege_invoker(&who))
		(void)!fchown(fileno(f), who.uid, who.gid);
	return f;
}

static int report(const struct record_opts *o, struct ww_opts *opts, FILE *out)
{
	opts->traces[0] = o->run.session.outdir;
	opts->ntraces = 1;
	ww_opts_choose_snapshots(opts);
	int rc = ww_report_run(opts, out);
	if (out != stderr && out != stdout && fclose(out)) {
		fprintf(stderr, "whywait: %s: %s\n", o->report, strerror(errno));
		rc = WW_EXIT_FAILED;
	}
	return rc;
}

static int usage_error(const char *name, const char *what)
{
	fprintf(stderr, "whywait%s%s: %s; `whywait %s --help` lists the options.\n", *name ? " " : "", name, what,
		*name ? name : "record");
	return WW_EXIT_USAGE;
}

static int check(const struct record_opts *o, const char *name)
{
	if (!o->run.cmd && !o->all && !o->run.npids && !o->run.session.flight_bytes)
		return usage_error(name, "nothing to record: write -- CMD, or -p PID, or -a");
	if (o->report && *name)
		return usage_error(name, "--report belongs to `whywait -- CMD`; use `whywait report`");
	return -1;
}

/* `whywait`: CMD's own, or what the report was worth. */
static int whywait_status(const struct ww_record_run *r, int report_status)
{
	if (r->cmd)
		return r->failed ? WW_EXIT_OURS : r->cmd_status;
	return r->failed ? WW_EXIT_FAILED : report_status;
}

/* `record`: what the recording was worth, unless CMD has a failure of its own to tell. */
static int record_status(const struct ww_record_run *r)
{
	if (r->failed)
		return r->cmd ? WW_EXIT_OURS : WW_EXIT_FAILED;
	if (r->cmd && r->cmd_status)
		return r->cmd_status;
	return r->partial ? WW_EXIT_PARTIAL : WW_EXIT_DONE;
}

int cmd_record(int argc, char **argv)
{
	bool with_report = !strcmp(argv[0], "whywait");
	const char *name = with_report ? "" : "record";
	struct record_opts o = {.run = {.dur_ns = -1, .lock_fd = -1,
					.session = {.outdir = WW_DEFAULT_TRACE, .outdir_or_other = true}}};
	struct ww_opts opts;
	struct ww_opts_spec spec = {
		.name = name, .args = "-- CMD [ARG...]",
		.summary = with_report ? "Run CMD, record, and say why it waited."
				       : "Record a command, a process or the whole system into a trace.",
		.groups = with_report ? WW_OG_JSON | WW_OG_CHAIN | WW_OG_THREADS : 0,
		.extra = extra, .on_extra = on_extra, .ctx = &o};
	int n = 1;

	while (n < argc && strcmp(argv[n], "--"))
		n++;
	if (n + 1 < argc)
		o.run.cmd = argv + n + 1;
	int rc = ww_opts_parse(&opts, n, argv, &spec);
	if (rc < 0)
		rc = check(&o, name);
	if (rc >= 0)
		return rc == WW_EXIT_USAGE && with_report && o.run.cmd ? WW_EXIT_OURS : rc;
	o.run.quiet = opts.quiet || (with_report && o.run.cmd && !opts.verbose); /* the terminal is CMD's */
	o.run.verbose = opts.verbose;
	FILE *out = with_report ? open_report(&o) : NULL;
	if (with_report && !out)
		return o.run.cmd ? WW_EXIT_OURS : WW_EXIT_FAILED;
	ww_record_run(&o.run);
	rc = o.run.partial ? WW_EXIT_PARTIAL : WW_EXIT_DONE;
	if (with_report && (o.run.cmd ? o.run.cmd_ran : !o.run.failed))
		rc = ww_exit_worse(rc, report(&o, &opts, out));
	ww_record_give(&o.run);
	if (!with_report)
		return record_status(&o.run);
	return whywait_status(&o.run, rc);
}
