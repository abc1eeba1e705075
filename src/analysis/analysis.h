/* analysis.h - facts -> result rows: one table of analyses, one column table for each.
 *
 * An analysis is one file and one row in analyses.c. Its columns alone make the text header, the
 * JSON keys, CREATE TABLE and the man page. Nested answers (report, tree) have their own result
 * structs in report.h and tree.h; they print through src/view too.
 */
#ifndef WW_ANALYSIS_H
#define WW_ANALYSIS_H

#include "facts/facts.h"

/* The target of a question, from --tid, --pid, --comm, --from, --to. */
struct ww_query {
	int32_t tid, pid;     /* -1 not given */
	const char *comm;     /* NULL not given */
	int64_t from_ts_ns, to_ts_ns; /* resolved to the host's clock; INT64_MIN / INT64_MAX not given */
	int64_t min_dur_ns;
	uint32_t max_depth;   /* of chains */
	uint32_t top;         /* rows, 0: all */
};

enum ww_cell_type {
	WW_T_INT,   /* an id or number */
	WW_T_COUNT,
	WW_T_DUR,   /* ns */
	WW_T_TIME,  /* ns in the trace's clock; views add the offset to the epoch */
	WW_T_BYTES,
	WW_T_STR,
};

struct ww_column {
	const char *name;    /* JSON key and SQL column: "blocked_ns" */
	const char *heading; /* of the text table: "blocked" */
	uint8_t type;        /* enum ww_cell_type */
	const char *doc;
};

union ww_cell {
	int64_t i;
	const char *s;
};

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
	/* A pure function of the facts; rows in the order in which a person wants them. query->top: that
	 * many rows. Error -WW_ENOTHREAD when the query names a thread that is not there. */
	int (*run)(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		   struct ww_err *err);
};

extern const struct ww_analysis *const ww_analyses[]; /* ends with NULL; analyses.c */
const struct ww_analysis *ww_analysis_find(const char *name);

#endif
