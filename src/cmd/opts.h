/* opts.h - the options that all commands share, parsed and explained in one place.
 *
 *   struct ww_opts o;
 *   int rc = ww_opts_parse(&o, argc, argv, &spec);   // prints --help and errors itself
 *   if (rc >= 0) return rc;                          // an exit status
 */
#ifndef WW_OPTS_H
#define WW_OPTS_H

#include <stdio.h>

#include "base/err.h"

#define WW_DEFAULT_TRACE "./whywait.ctf"
#define WW_OPTS_MAX_TRACES 64

/* Which groups of the common options a command takes; -q, -v, --help are always there. */
enum ww_opts_group {
	WW_OG_TARGET = 1, /* --tid --pid --comm --cgroup */
	WW_OG_RANGE = 2,  /* --from --to */
	WW_OG_JSON = 4,   /* --json --no-color */
	WW_OG_CHAIN = 8,  /* --min-dur --depth */
	WW_OG_TOP = 32,   /* --top */
	WW_OG_THREADS = 16, /* --threads */
	WW_OG_SELECT = 128, /* the same as TARGET, of all threads that fit */
	WW_OG_FACTS = 64,   /* --no-cache */
};

struct ww_opts {
	int32_t tid, pid;     /* -1 not given */
	const char *comm, *cgroup; /* NULL not given */
	const char *from, *to; /* as written; ww_load resolves them. NULL not given */
	bool json, no_color, quiet, threads, no_cache;
	bool no_switches;     /* a trace without sched_switch will do */
	bool answer_has_loss; /* the answer itself says what was lost: no note beside it */
	int verbose;
	int64_t min_dur_ns;   /* -1 not given */
	int32_t depth;        /* -1 not given */
	int32_t top;          /* -1 not given; 0 all */
	const char *traces[WW_OPTS_MAX_TRACES]; /* at least one: WW_DEFAULT_TRACE */
	int ntraces;
};

/* An option of one command only. */
struct ww_opt_extra {
	const char *name; /* long name without dashes; NULL ends the table */
	char letter;      /* 0 none */
	const char *arg;  /* name of its argument for --help, NULL none */
	const char *doc;
};

struct ww_opts_spec {
	const char *name;     /* "report" */
	const char *args;     /* "[TRACE...]" */
	const char *summary;  /* one sentence */
	unsigned groups;      /* enum ww_opts_group */
	int max_traces;       /* 0: takes no operand */
	bool dir_itself;      /* a flight recorder's directory stands for itself, not for its newest snapshot */
	const struct ww_opt_extra *extra; /* may be NULL */
	/* Called with the index into extra; false: the argument is wrong. */
	bool (*on_extra)(void *ctx, int index, const char *arg);
	void *ctx;
	/* More of --help, before the exit statuses; may be NULL. */
	void (*more_help)(void *ctx, FILE *out);
};

void ww_opts_default(struct ww_opts *o);
/* -1: go on; otherwise the exit status to return (0 after --help, 2 after a usage error). */
int ww_opts_parse(struct ww_opts *o, int argc, char **argv, const struct ww_opts_spec *spec);
/* Each trace that is a flight recorder's directory becomes its newest snapshot; says so, unless o->quiet. */
void ww_opts_choose_snapshots(struct ww_opts *o);
/* Colour: only on a terminal, and not with --no-color or NO_COLOR in the environment. */
bool ww_opts_color(const struct ww_opts *o, FILE *out);
/* "whywait: file: offset 12: message. hint" on stderr; returns WW_EXIT_FAILED. */
int ww_opts_fail(const struct ww_err *err);

#endif
