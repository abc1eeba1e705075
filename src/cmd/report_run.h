/* report_run.h - load a trace and print its report; shared by `whywait report` and `whywait -- CMD`. */
#ifndef WW_REPORT_RUN_H
#define WW_REPORT_RUN_H

#include <stdio.h>

#include "cmd/opts.h"
#include "view/view.h"

/* ww_report_run - prints the report of the first trace of opts to `out`.
 * in    opts   from ww_opts_parse, or ww_opts_default with traces[0] set
 *       out    the report; messages about failures go to stderr
 * out   WW_EXIT_DONE, WW_EXIT_PARTIAL (events lost, trace damaged) or WW_EXIT_FAILED */
int ww_report_run(const struct ww_opts *opts, FILE *out);
/* The same for the tree of every wait. */
int ww_tree_run(const struct ww_opts *opts, FILE *out);

/* How text is to be laid out on `out`; `tree`: more of each chain. */
struct ww_text_opts ww_text_opts_of(const struct ww_opts *o, FILE *out, uint32_t top, bool tree);
/* What lines are folded to: a terminal's width, or what COLUMNS says; else `otherwise`. */
uint32_t ww_text_columns(FILE *out, uint32_t otherwise);
/* rc, or WW_EXIT_FAILED with a message when the output could not be written (bad: a view said so). */
int ww_output_finish(FILE *out, int bad, int rc);

#endif
