/* analysis.h - facts -> result rows: one table of analyses, one column table for each.
 *
 * An analysis is one file and one row in analyses.c. Its columns alone make the text header, the
 * JSON keys, CREATE TABLE and the man page. Nested answers (report, tree) have their own result
 * structs in report.h and tree.h; they print through src/view too.
 */
#ifndef WW_ANALYSIS_H
#define WW_ANALYSIS_H

#include "facts/facts.h"

/* The target of a question, from --tid, --pid, --comm, --cgroup, --from, --to. */
struct ww_query {
	int32_t tid, pid;     /* -1 not given */
	const char *comm;     /* NULL not given */
	const char *cgroup;   /* the same; "/a/b": that one and those below, "b": any of this name and below */
	bool command_only;    /* threads of the recorded command and its children */
	int64_t from_ts_ns, to_ts_ns; /* resolved to the host's clock; INT64_MIN / INT64_MAX not given */
	int64_t min_dur_ns;
	uint32_t max_depth;   /* of chains */
	uint32_t top;         /* rows, 0: all */
	int64_t every_ns;     /* length of a slice where the answer is one over time; 0 not given */
};

enum ww_cell_type {
	WW_T_INT,   /* a number */
	WW_T_ID,    /* an id, -1: not known; or 1 for yes and 0 for no, of which WW_NO_VALUE is that */
	WW_T_COUNT,
	WW_T_DUR,   /* ns */
	WW_T_TIME,  /* ns in the trace's clock; views add the offset to the epoch; WW_NO_VALUE: none */
	WW_T_BYTES,
	WW_T_PERCENT, /* a double, 0..100 and more */
	WW_T_STR,
	WW_T_TEXT,  /* a string that is shown whole */
};

/* In a cell of any kind but words and percent: the trace does not tell, or it would be the mean of nothing. null in JSON
 * and SQL, "?" as text (of a time: nothing). Sorts last. */
#define WW_NO_VALUE INT64_MIN

struct ww_column {
	const char *name;    /* JSON key and SQL column: "blocked_ns" */
	const char *heading; /* of the text table: "blocked" */
	uint8_t type;        /* enum ww_cell_type */
	const char *doc;
	uint8_t indent;      /* text is indented by the number in this column; 0 is no column for that */
};

/* How rows of numbers over time are drawn: a line a series, from 0 to 100 percent. */
struct ww_chart {
	uint8_t series, value; /* columns: WW_T_INT, WW_T_PERCENT; rows are by time, then series */
	const char *label;     /* printf format of a series ("CPU %d"); -1 is "all" */
};

union ww_cell {
	int64_t i;
	double d;
	const char *s;
};

/* Kinds of events that figures are made of: needs.c. */
enum ww_need {
	WW_NEED_SYSCALLS, WW_NEED_BLOCK, WW_NEED_FAULTS, WW_NEED_FAULT_ENDS, WW_NEED_INTERRUPTS, WW_NEED_IRQ, WW_NEED_SOFTIRQ,
	WW_NEED_TIMERS, WW_NEED_PACKETS, WW_NEED_LOCKS, WW_NEED_NUMA, WW_NEED_WAKEUPS, WW_NEED_MERGES, WW_NEED_LOCK_WAITS,
	WW_NEED_SWITCHES, WW_NEED_THREADS, WW_NEED_CGROUPS,
	WW_NEED_N
};
#define WW_NEED(need) (1u << (need))
#define WW_LACK_N (WW_NEED_N + 3) /* and what is recorded of some threads only */

struct ww_analysis;

/* A result: nrows x analysis->ncolumns cells, row after row; in the arena it was made in. */
struct ww_table {
	const struct ww_analysis *analysis;
	const struct ww_facts *facts;
	union ww_cell *cells;
	uint32_t nrows;
};

struct ww_analysis {
	const char *name, *summary;
	const struct ww_column *columns;
	uint32_t ncolumns;
	const struct ww_chart *chart; /* NULL: not over time */
	bool of_command; /* of everybody else little is recorded: without another wish, the command's own */
	uint32_t needs; /* bits, WW_NEED(): a trace that lacks one of these tells nothing of what the figure is about */
	uint32_t parts; /* the same: of this part of it, rows or columns */
	uint32_t in_full; /* the thread's flag, WW_TF_CALLS or WW_TF_FAULTS, without which its rows are of a part of what it did */
	bool whole_threads; /* also where a cgroup is asked about that they were in for a part of the time */
	bool one_thread; /* the answer is about one thread, else about all that the query takes */
	/* A pure function of the facts; rows in the order in which a person wants them. query->top: that
	 * many rows. Error -WW_ENOTHREAD when the query names a thread that is not there. */
	int (*run)(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		   struct ww_err *err);
};

/* A kind of events that the trace has not, so that what is made of them is not known, which is not none. */
struct ww_lack {
	const char *what, *events; /* for a person: "block requests", "block_rq_issue, block_rq_complete" */
	bool all; /* nothing of the figure is known */
	uint32_t threads; /* they lack only of so many threads, of all that were asked for; 0: of the whole trace */
};

/* What the trace lacks of what the analysis is made of, when it is asked this; returns how many, static strings. */
uint32_t ww_analysis_lacks(const struct ww_facts *f, const struct ww_analysis *a, const struct ww_query *q,
			   struct ww_lack ret[WW_LACK_N]);

/* 0, or -WW_EUNSUPPORTED: the trace does not tell of any thread in which cgroup it was. */
int ww_query_need_cgroups(const struct ww_facts *f, struct ww_err *err);

extern const struct ww_analysis *const ww_analyses[]; /* ends with NULL; analyses.c */
const struct ww_analysis *ww_analysis_find(const char *name);
/* Rows by the column, numbers largest first, words in their order; equal ones stay as they are. */
void ww_table_sort(struct ww_arena *mem, struct ww_table *t, uint32_t column);

#endif
