/* table_cmd.h - every analysis whose answer is rows is a command of its own name. */
#ifndef WW_TABLE_CMD_H
#define WW_TABLE_CMD_H

#include "analysis/analysis.h"

/* The command that prints the analysis of its own name (argv[0]); --by=X prints the analysis NAME_X. */
int ww_table_cmd(int argc, char **argv);

#endif
