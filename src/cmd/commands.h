/* commands.h - the table of subcommands.
 *
 * To add `whywait NAME`: write src/cmd/cmd_NAME.c with `int cmd_NAME(int argc, char **argv)` (argv[0]
 * is "NAME"; the return value is the exit status, WW_EXIT_*), add its name to `commands` in
 * src/cmd/meson.build and its row to commands.c, and write man/whywait-NAME.1. tests/meta checks.
 */
#ifndef WW_COMMANDS_H
#define WW_COMMANDS_H

#include "base/base.h"

enum ww_exit {
	WW_EXIT_DONE = 0,
	WW_EXIT_FAILED = 1,
	WW_EXIT_USAGE = 2,
	WW_EXIT_PARTIAL = 3, /* an answer, but events were lost, the trace is damaged, or it has nothing of what is asked */
};

/* The exit status of several traces together: a failure before a partial answer before none of both. */
static inline int ww_exit_worse(int a, int b)
{
	return b == WW_EXIT_FAILED || a == WW_EXIT_DONE ? b : a;
}

struct ww_command {
	const char *name;
	const char *summary; /* for --help */
	int (*run)(int argc, char **argv);
};

extern const struct ww_command ww_commands[]; /* ends with a NULL name */

const struct ww_command *ww_command_find(const char *name);

/* `whywait [record options] -- CMD` is cmd_record with argv[0] = "whywait": it records CMD, prints the
 * report with ww_report_run (report_run.h) and exits with CMD's own status. With argv[0] = "record" it
 * only records. */

#endif
