/* cmd_syscalls.c - whywait syscalls: system calls by name. */
#include "cmd/report_run.h"

int cmd_syscalls(int argc, char **argv)
{
	return ww_table_cmd(argc, argv);
}
