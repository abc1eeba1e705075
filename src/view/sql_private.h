/* sql_private.h - between the files of SQL only. */
#ifndef WW_SQL_PRIVATE_H
#define WW_SQL_PRIVATE_H

#include <sqlite3.h>

#include "analysis/analysis.h"
#include "base/pages.h"
#include "view/sql.h"

/* ---- sql_names.c: what a fact's columns are called and mean in SQL ---- */

enum ww_sql_kind {
	WW_SQ_ID,      /* the row's own number */
	WW_SQ_INT,     /* `unknown`, when it has one, is NULL */
	WW_SQ_SIGNED,  /* -1 is NULL */
	WW_SQ_NONE32,  /* WW_NONE is NULL */
	WW_SQ_TIME,    /* below 0 is NULL */
	WW_SQ_DUR,     /* below 0 is NULL */
	WW_SQ_STR,
	WW_SQ_TOKEN,   /* of an enumeration */
	WW_SQ_REF,     /* row of the fact `ref` */
	WW_SQ_REF_BY,  /* row of the fact that the column `by` (enum ww_waker) says */
	WW_SQ_EXTRA,   /* what `extra` makes of the row */
	WW_SQ_MACHINE,
};

struct ww_sql_token {
	const char *s;
	int len;
};

struct ww_sql_column;
typedef void (*ww_sql_extra_fn)(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx);

struct ww_sql_column {
	char name[40];
	const char *unit, *doc;
	uint8_t kind, size;
	bool is_signed, is_cpu, has_unknown;
	uint8_t unknown;                  /* that value is NULL, when has_unknown */
	uint32_t at;                      /* of the column's array, in struct ww_facts */
	uint32_t via_at;                  /* of the column that says which row of it, for each row; 0: the same one */
	uint32_t ref;                     /* number of a fact */
	uint32_t by_at;                   /* as `at`, of the column that says the kind */
	const struct ww_sql_token *token; /* of 256 values */
	uint32_t known_at, known_bits;    /* NULL unless the column there has one of the bits; 0 bits: always */
	ww_sql_extra_fn extra;
};

#define WW_SQL_MAX_COLUMNS 48
#define WW_SQL_MAX_FACTS 64

struct ww_sql_table {
	struct ww_sql *q;
	char name[40];
	const struct ww_fact_desc *fact;
	uint32_t number; /* of the fact */
	struct ww_sql_column cols[WW_SQL_MAX_COLUMNS];
	uint32_t ncols;
	bool hidden; /* its columns are another table's */
	int ts;      /* the column that is the time of a row; -1 none */
	int grouped; /* the column by which sealing groups the rows, by time in a group; -1 none */
};

/* Fills the tables of all facts, in their order. */
void ww_sql_names(struct ww_sql *q);
/* Number of the fact; WW_NONE none is called so. */
uint32_t ww_sql_fact_number(const char *name, size_t len);
/* The column end_state of a run. */
void ww_sql_run_end_state(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx);

/* ---- sql_index.c: orders and groups of rows, made when first asked for ---- */

struct ww_sql_order { /* rows by a time column */
	bool ready;
	struct ww_pages pages;
	const uint32_t *rows; /* NULL: they are in order as they are */
};

struct ww_sql_group { /* rows by a key, by the table's time within a key */
	bool ready;
	struct ww_pages pages;
	uint32_t *own_first;
	const uint32_t *first; /* of nkeys + 1 */
	const uint32_t *rows;  /* NULL: row numbers are positions */
	uint32_t nkeys;
};

const struct ww_sql_order *ww_sql_order_get(struct ww_sql *q, uint32_t host, const struct ww_sql_table *t, int col);
const struct ww_sql_group *ww_sql_group_get(struct ww_sql *q, uint32_t host, const struct ww_sql_table *t, int col);
/* How many keys a column that can be a key has on the host (threads, CPUs, ...); 0: it cannot be one. */
uint32_t ww_sql_nkeys(const struct ww_sql *q, uint32_t host, const struct ww_sql_column *c);
void ww_sql_index_release(struct ww_sql *q);

/* ---- sql.c ---- */

struct ww_sql_host {
	const struct ww_facts *f;
	int64_t shift_ns;   /* + the host's time = the set's, when `shifted` */
	bool shifted;
	int64_t base[WW_SQL_MAX_FACTS]; /* id of the host's row 0 */
	uint32_t n[WW_SQL_MAX_FACTS];
	struct ww_sql_order orders[WW_SQL_MAX_FACTS][WW_SQL_MAX_COLUMNS];
	struct ww_sql_group groups[WW_SQL_MAX_FACTS][WW_SQL_MAX_COLUMNS];
};

struct ww_sql {
	sqlite3 *db;
	const struct ww_set *set;
	uint32_t nhosts, nfacts;
	struct ww_sql_host *host;
	struct ww_sql_table *tables; /* of nfacts */
	struct ww_arena mem;
	int64_t begin_ns, end_ns; /* the set's time */
	uint64_t visited;
	struct ww_lack lacks[WW_LACK_N]; /* of the tables that the statement has read */
	uint32_t nlacks;
	bool sealed; /* all is made; from here on queries may only read */
};

/* Of WW_LACK_N at most; what is there already counts once. */
void ww_lacks_add(struct ww_lack *lacks, uint32_t *n, const struct ww_lack *more);
/* A table was read that is made of what the analysis is made of, from these facts. */
void ww_sql_note_lacks(struct ww_sql *q, const struct ww_facts *f, const struct ww_analysis *a, const struct ww_query *query);

static inline int64_t ww_sql_load(const void *p, uint32_t row, uint8_t size, bool is_signed)
{
	switch (size) {
	case 1: return is_signed ? ((const int8_t *)p)[row] : ((const uint8_t *)p)[row];
	case 2: return is_signed ? ((const int16_t *)p)[row] : ((const uint16_t *)p)[row];
	case 4: return is_signed ? ((const int32_t *)p)[row] : (int64_t)((const uint32_t *)p)[row];
	default: return ((const int64_t *)p)[row];
	}
}

/* A column's raw value. */
static inline int64_t ww_sql_raw(const struct ww_facts *f, const struct ww_sql_column *c, uint32_t row)
{
	if (c->via_at)
		row = (*(const uint32_t *const *)((const char *)f + c->via_at))[row];
	return ww_sql_load(*(const void *const *)((const char *)f + c->at), row, c->size, c->is_signed);
}

static inline int64_t ww_sql_time(const struct ww_sql *q, uint32_t host, int64_t ts_ns)
{
	const struct ww_sql_host *h = &q->host[host];

	return h->shifted ? ts_ns + h->shift_ns : ww_set_time(q->set, host, ts_ns);
}

/* The host that has this id of the fact, and its row; WW_NONE none has. */
uint32_t ww_sql_host_of(const struct ww_sql *q, uint32_t fact, int64_t id, uint32_t *ret_row);

/* A CPU's number among those of all hosts. */
int64_t ww_sql_ucpu(const struct ww_sql *q, uint32_t host, int64_t cpu);

/* ---- sql_fact.c, sql_plan.c, sql_analysis.c, sql_thread_state.c ---- */

/* Ends "CREATE TABLE x(..." and tells SQLite that the table is so, and harmless. SQLite's code; frees s. */
int ww_sql_declare(sqlite3 *db, sqlite3_str *s, char **ret_err);
int ww_sql_fact_register(struct ww_sql *q, const struct ww_sql_table *t);
int ww_sql_analysis_register(struct ww_sql *q, const struct ww_analysis *a);
int ww_sql_thread_state_register(struct ww_sql *q);
/* An argument of an analysis: a hidden column. */
const char *ww_sql_analysis_argument(const struct ww_analysis *a, uint32_t i, const char **ret_doc);

/* How a cursor goes over a fact: idxNum; the arguments in idxStr, two letters each (sql_plan.c). */
enum ww_sql_walk {
	WW_SQL_SCAN,   /* rows as they are */
	WW_SQL_KEY,    /* those of one key, by time */
	WW_SQL_GROUPS, /* every key's, key by key, by time within */
	WW_SQL_ORDER,  /* by a time column */
};

struct ww_sql_plan {
	uint8_t walk;
	bool reverse;
	uint8_t key, time; /* columns; time: the one that is sorted by or limited */
};

static inline int ww_sql_plan_pack(struct ww_sql_plan p)
{
	return p.walk | p.reverse << 4 | p.key << 8 | p.time << 16;
}

static inline struct ww_sql_plan ww_sql_plan_unpack(int n)
{
	return (struct ww_sql_plan){n & 15, n >> 4 & 1, (uint8_t)(n >> 8), (uint8_t)(n >> 16)};
}

struct ww_sql_range { /* lo .. hi, both in it; empty when lo > hi */
	int64_t lo, hi;
};
#define WW_SQL_ANY ((struct ww_sql_range){INT64_MIN, INT64_MAX})

int ww_sql_plan_make(const struct ww_sql *q, const struct ww_sql_table *t, sqlite3_index_info *info);
/* How a constraint limits: = > G(E) < L(E); 0: not at all. */
char ww_sql_plan_letter(unsigned char op);
/* What is left of the range by `column OP value`, as SQLite compares an INTEGER column with any value. */
void ww_sql_range_cut(struct ww_sql_range *r, char op, sqlite3_value *v);

/* ---- sql_tables.c: tables that are filled at the beginning ---- */

struct ww_sql_filled {
	const char *name, *doc, *columns; /* columns: as CREATE TABLE has them */
	int ncolumns;
	int (*fill)(struct ww_sql *q, sqlite3_stmt *insert); /* SQLite's code */
};
extern const struct ww_sql_filled ww_sql_filled[]; /* ends with a NULL name */
bool ww_sql_is_filled(const char *table);
int ww_sql_tables_make(struct ww_sql *q);

/* ---- sql_views.c: views over all that ---- */

struct ww_sql_view {
	const char *name, *doc, *text; /* text: its SELECT; NULL: it is a table of its own */
};
extern const struct ww_sql_view ww_sql_views[]; /* ends with a NULL name */
int ww_sql_views_make(struct ww_sql *q);

/* ---- sql_print.c ---- */

/* Steps through the statement and prints its rows; SQLite's code. */
int ww_sql_print_rows(struct ww_sql *q, sqlite3_stmt *st, struct ww_sql_print *p);

#endif
