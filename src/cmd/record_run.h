/* record_run.h - runs one recording: the command, signals, progress; shared by the ways to start one. */
#ifndef WW_RECORD_RUN_H
#define WW_RECORD_RUN_H

#include "record/privilege.h"
#include "record/session.h"

#define WW_EXIT_OURS 125 /* `whywait -- CMD`: we failed, not CMD */
#define WW_RECORD_MAX_PIDS 64

struct ww_record_run {
	/* in */
	struct ww_session_opts session;
	char *const *cmd;             /* NULL: none */
	int32_t pids[WW_RECORD_MAX_PIDS];
	uint32_t npids;
	int64_t dur_ns;               /* stop after; -1: no limit */
	bool as_root, quiet;
	int verbose;
	/* out */
	char outdir[4200]; /* where the trace is; session.outdir points to it */
	int lock_fd;     /* keeps it ours; -1: there is none */
	bool failed;     /* nothing was recorded; the message is printed */
	bool partial;    /* events lost, disk full */
	bool cmd_ran;
	bool for_invoker; /* run through sudo: CMD and the trace are the invoker's */
	struct ww_invoker invoker;
	int cmd_status;  /* CMD's exit status as a shell has it; 126, 127 when it could not run */
};

/* Records until CMD, the pids or the time have ended, or a signal says so; prints messages, progress and
 * the summary to stderr. */
void ww_record_run(struct ww_record_run *r);
/* The trace, and what a report left beside it, belong to the invoker, and nothing is locked any more. The last thing to
 * do with it. */
void ww_record_give(const struct ww_record_run *r);

#endif
