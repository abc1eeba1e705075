/* cmd_report.c - whywait report: where the time went. */
#include "cmd/report_run.h"

int cmd_report(int argc, char **argv)
{
	static const struct ww_opts_spec spec = {
		.name = "report", .args = "[TRACE]", .max_traces = 1,
		.summary = "Where the wall time of a thread went (the table adds up), its longest waits with what those\n"
			   "waited for did meanwhile, and what is worth looking at.",
		.groups = WW_OG_TARGET | WW_OG_RANGE | WW_OG_JSON | WW_OG_CHAIN | WW_OG_TOP |
			  WW_OG_THREADS | WW_OG_FACTS,
	};
	struct ww_opts o;
	int rc = ww_opts_parse(&o, argc, argv, &spec);

	return rc >= 0 ? rc : ww_report_run(&o, stdout);
}
