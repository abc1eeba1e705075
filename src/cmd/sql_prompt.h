/* sql_prompt.h - the prompt of whywait sql. */
#ifndef WW_SQL_PROMPT_H
#define WW_SQL_PROMPT_H

#include "view/sql.h"

/* Reads queries from the terminal until .quit or the end of input; an exit status. Lines are edited, and kept in
 * $XDG_STATE_HOME/whywait/sql_history. Ctrl-C ends the query that runs, else drops the lines typed so far. */
int ww_sql_prompt(struct ww_sql *q, struct ww_sql_print *p);

/* Runs the statements of a text, which is written to, and the prompt's commands in lines of their own between them;
 * an exit status. What is wrong is told on stderr, with the name and the line. */
int ww_sql_script(struct ww_sql *q, const char *name, char *text, struct ww_sql_print *p);

/* What is wrong with the text, on stderr: its name, line and column, the message, the line and a mark below it. */
void ww_sql_complain(const char *name, const char *text, const struct ww_err *err);

#endif
