/* view.h - prints results to the stream it is given; opens no files, knows no command line. */
#ifndef WW_VIEW_H
#define WW_VIEW_H

#include <stdio.h>

#include "analysis/diff.h"
#include "analysis/path.h"
#include "analysis/report.h"

struct ww_text_opts {
	bool color;
	uint32_t width;      /* columns, 100 */
	uint32_t table_width; /* of a table the columns that do not fit in so many are left out, and named; 0: none */
	uint32_t kinds;      /* not 0: of so many kinds of waits the longest each; 0: `top` */
	uint32_t top;        /* longest waits shown; 0 all */
	uint32_t depth;      /* of printed chains; 0 no limit */
	uint32_t steps;      /* at most so many lines a level of a chain, the longest; 0 all */
	uint32_t permille;   /* shorter steps than this part of the whole wait are summed up */
	int64_t min_dur_ns;  /* of printed waits */
	bool family;         /* threads and children in full */
	bool verbose;        /* nothing is grouped or left out */
};

void ww_report_text(FILE *out, const struct ww_report *r, const struct ww_text_opts *o);
/* Every wait of the target in time order, each with its tree. */
void ww_tree_text(FILE *out, const struct ww_report *r, const struct ww_text_opts *o);
/* docs/json.md; returns -1 when the stream had an error. */
int ww_report_json(FILE *out, const struct ww_report *r, bool family);
int ww_tree_json(FILE *out, const struct ww_report *r, bool family);
/* Any result of rows, from its columns alone. */
void ww_table_text(FILE *out, const struct ww_table *t, const struct ww_text_opts *o);
/* Of an analysis with a chart: a line a series in blocks, a column a slice of time, their mean at the end. More slices than
 * `columns`: a chart of so many below the other, each with the time at which it begins. */
void ww_table_chart(FILE *out, const struct ww_table *t, uint32_t columns);
int ww_table_json(FILE *out, const struct ww_table *t, const struct ww_lack *lacks, uint32_t nlacks);
/* The critical path: who it was on over time, step by step, what it was spent on. */
void ww_path_text(FILE *out, const struct ww_path *p, const struct ww_path_sum *sum, const struct ww_text_opts *o);
int ww_path_json(FILE *out, const struct ww_path *p, const struct ww_path_sum *sum);
/* A line a segment, "waiter;waker;call;kind;detail ns", as flame graph tools read it. */
void ww_path_folded(FILE *out, const struct ww_path *p);
/* Recordings before and after; the two titles say of what. */
void ww_diff_text(FILE *out, const struct ww_diff *d, const char *before, const char *after,
		  const struct ww_text_opts *o);
struct ww_diff_recording {
	const char *trace, *comm, *command; /* of the target */
	uint64_t lost_events;
};
/* recordings: in the order in which they were added. */
int ww_diff_json(FILE *out, const struct ww_diff *d, const struct ww_diff_recording *recordings);
/* A sentence for each host whose clock is not the reference's now, and why; `before` each, folded to `width`. */
void ww_set_remarks(FILE *out, const struct ww_set *s, const char *before, uint32_t width);
/* The clocks of a set: a table of hosts; with `stats` also one of the pairs that share packets. */
void ww_sync_text(FILE *out, const struct ww_set *s, const struct ww_text_opts *o, bool stats);
int ww_sync_json(FILE *out, const struct ww_set *s);

#endif
