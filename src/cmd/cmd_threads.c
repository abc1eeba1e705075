/* cmd_threads.c - whywait threads: every thread of a trace. */
#include "cmd/report_run.h"

int cmd_threads(int argc, char **argv)
{
	return ww_table_cmd(argc, argv);
}
