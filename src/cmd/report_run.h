/* report_run.h - load a trace and print its report; shared by `whywait report` and `whywait -- CMD`. */
#ifndef WW_REPORT_RUN_H
#define WW_REPORT_RUN_H

#include <stdio.h>

#include "cmd/opts.h"

/* ww_report_run - prints the report of the first trace of opts to `out`.
 * in    opts   from ww_opts_parse, or ww_opts_default with traces[0] set
 *       out    the report; messages about failures go to stderr
 * out   WW_EXIT_DONE, WW_EXIT_PARTIAL (events lost, trace damaged) or WW_EXIT_FAILED */
int ww_report_run(const struct ww_opts *opts, FILE *out);
/* The same for the tree of every wait. */
int ww_tree_run(const struct ww_opts *opts, FILE *out);
/* The command that prints the analysis of its own name (argv[0]). */
int ww_table_cmd(int argc, char **argv);

#endif
