/* sql.h - SQL over facts and analyses: each is a table of an SQLite database that is never on disk.
 *
 *   struct ww_sql *q;  ww_sql_open(&set, &q, &err);
 *   ww_sql_run(q, "SELECT ...; SELECT ...", &print, &err);  ...  ww_sql_close(q);
 *
 * A fact's rows are read where they are (sql_fact.c), an analysis runs when its table is read (sql_analysis.c);
 * names and units are made from the column tables (sql_names.c). docs/sql.md lists them all.
 *
 * Ids are row numbers, counted through over the hosts of the set; times are the set's (set.h), which is what
 * --json prints; durations are ns of the host's own clock; what a trace does not show is NULL.
 *
 * thread one at a time, but ww_sql_interrupt
 */
#ifndef WW_SQL_H
#define WW_SQL_H

#include <stdio.h>

#include "analysis/analysis.h"
#include "clock/set.h"

struct ww_sql;
struct sqlite3;

/* The set and its facts must outlive it. What a query could do to anything but its own answer is refused. */
int ww_sql_open(const struct ww_set *set, struct ww_sql **ret, struct ww_err *err);
void ww_sql_close(struct ww_sql *q);

enum ww_sql_mode { WW_SQL_TABLE, WW_SQL_CSV, WW_SQL_JSON, WW_SQL_LINES };

struct ww_sql_print {
	FILE *out;
	enum ww_sql_mode mode;
	bool color;
	uint32_t answers; /* out: how many statements had rows to print, so far */
	bool bad;         /* out: the stream had an error */
	struct ww_lack lacks[WW_LACK_N]; /* out: kinds of events that answers so far were made of and a trace has not */
	uint32_t nlacks;
};

/* Runs every statement of the text and prints what it answers, until one fails.
 * error -WW_EFORMAT not SQL, or refused: message with line and column, and the line; what stood before it has been
 *       printed. -WW_ELIMIT interrupted or too big */
int ww_sql_run(struct ww_sql *q, const char *text, struct ww_sql_print *p, struct ww_err *err);
/* Is the text whole: does it end with a statement's semicolon? */
bool ww_sql_complete(const char *text);
/* Ends the query that runs, from a signal handler or another thread. */
void ww_sql_interrupt(struct ww_sql *q);

/* ---- what there is ---- */
void ww_sql_list_tables(const struct ww_sql *q, FILE *out);
/* Of one table, or of all (NULL); false: there is none of that name. */
bool ww_sql_list_columns(const struct ww_sql *q, FILE *out, const char *table);
/* The same as Markdown: the second part of docs/sql.md. */
void ww_sql_list_markdown(const struct ww_sql *q, FILE *out);

/* ---- for tests ---- */
struct sqlite3 *ww_sql_db(struct ww_sql *q);
/* Rows of facts that queries have looked at since it was opened; in SQL rows_visited(). */
uint64_t ww_sql_visited(const struct ww_sql *q);

#endif
