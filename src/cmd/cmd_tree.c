/* cmd_tree.c - whywait tree: the wakeup dependency tree of every wait. */
#include "cmd/report_run.h"

int cmd_tree(int argc, char **argv)
{
	static const struct ww_opts_spec spec = {
		.name = "tree", .args = "[TRACE]", .max_traces = 1,
		.summary = "For every wait of a thread: in what it blocked, what the one that woke it did meanwhile,\n"
			   "for what that one waited itself, and so on.",
		.groups = WW_OG_TARGET | WW_OG_RANGE | WW_OG_JSON | WW_OG_CHAIN | WW_OG_TOP |
			  WW_OG_THREADS | WW_OG_FACTS,
	};
	struct ww_opts o;
	int rc = ww_opts_parse(&o, argc, argv, &spec);

	return rc >= 0 ? rc : ww_tree_run(&o, stdout);
}
