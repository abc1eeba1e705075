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

#endif
