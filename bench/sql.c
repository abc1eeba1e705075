/* sql.c - a fact as a table of SQLite beside the same rows in a table of SQLite's own.
 *
 *   bench-sql [MILLIONS] [TIMES]      10 million states of 1000 threads, once each, which takes a minute
 *
 * The states come from a generator, through facts as a trace's would. The native table has the columns that are asked
 * for and no others, which makes it small, and fast. Prints the median of each query over both
 * tables, and how fast the facts are in terms of the native table (2: twice as fast).
 */
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>

#include "view/sql.h"

#define THREADS 1000

/* CPU time: queries are one thread's work, and what else the machine does counts less. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void generate(struct ww_facts *f, uint32_t n)
{
	static int64_t now[THREADS];
	uint64_t x = 88172645463325252ull;

	ww_facts_init(f);
	f->host.ncpus = 8;
	f->begin_ts_ns = 1000000;
	for (uint32_t t = 0; t < THREADS; t++) {
		ww_thread_push(f, &(struct ww_thread){.tid = (int32_t)t + 1, .pid = 1, .parent = WW_NONE, .process = WW_NONE});
		now[t] = f->begin_ts_ns;
	}
	for (uint32_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		uint32_t t = (uint32_t)(x >> 20) % THREADS;
		int64_t dur = (int64_t)(x >> 40) % 100000;
		uint8_t state = (uint8_t)((x >> 33) % WW_ST_N);
		ww_state_push(f, &(struct ww_state){.thread = t, .start_ts_ns = now[t], .dur_ns = dur, .state = state,
						    .cause = (uint8_t)(state == WW_ST_BLOCKED ? 2 + x % 10 : 0), .cpu = (int16_t)(x % 8),
						    .syscall = WW_NONE});
		now[t] += dur;
		f->end_ts_ns = WW_MAX(f->end_ts_ns, now[t]);
	}
	ww_facts_seal(f, NULL);
}

/* Seconds of the query; its rows are read, not printed. */
static double run(sqlite3 *db, const char *query, const char *table, uint64_t *ret_hash)
{
	char *sql = sqlite3_mprintf(query, table);
	sqlite3_stmt *st = NULL;
	double begin = now_s();

	*ret_hash = 0;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL)) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
	while (sqlite3_step(st) == SQLITE_ROW)
		for (int c = 0; c < sqlite3_column_count(st); c++)
			for (const unsigned char *s = sqlite3_column_text(st, c); s && *s; s++)
				*ret_hash = *ret_hash * 31 + *s;
	sqlite3_finalize(st);
	sqlite3_free(sql);
	return now_s() - begin;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#define MAX_TIMES 100

static void compare(sqlite3 *db, const char *query, int times)
{
	double ours[MAX_TIMES], native[MAX_TIMES];
	uint64_t a, b;

	for (int i = 0; i < times; i++) { /* in turns, so that both see the same machine */
		ours[i] = run(db, query, "state", &a);
		native[i] = run(db, query, "native", &b);
	}
	qsort(ours, (size_t)times, sizeof(*ours), by_value);
	qsort(native, (size_t)times, sizeof(*native), by_value);
	printf("%9.3f s %9.3f s  %6.2f  %s  %s\n", ours[times / 2], native[times / 2], native[times / 2] / ours[times / 2],
	       a == b ? "same answer" : "OTHER ANSWER", query);
}

int main(int argc, char **argv)
{
	const uint32_t n = (uint32_t)((argc > 1 ? atof(argv[1]) : 10) * 1e6);
	const int times = argc > 2 ? WW_MIN(WW_MAX(atoi(argv[2]), 1), MAX_TIMES) : 1;
	static const char *const queries[] = {
		"SELECT count(*) FROM %s",
		"SELECT sum(dur) FROM %s",
		"SELECT state, cause, count(*), sum(dur), max(dur) FROM %s GROUP BY state, cause ORDER BY 4 DESC",
		"SELECT utid, sum(dur) FROM %s WHERE state = 'blocked' GROUP BY utid",
		"SELECT count(*), sum(dur) FROM %s WHERE utid = 77 AND ts BETWEEN 100000000 AND 200000000",
		"SELECT count(*), sum(dur) FROM %s WHERE ts BETWEEN 100000000 AND 101000000",
	};
	struct ww_arena mem;
	struct ww_facts f;
	const struct ww_facts *facts = &f;
	struct ww_set set;
	struct ww_sql *q;
	struct ww_err err = {0};
	char *message = NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	generate(&f, n);
	ww_arena_init(&mem);
	if (ww_set_make(&mem, &facts, 1, NULL, &set, &err) || ww_sql_open(&set, &q, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	sqlite3 *db = ww_sql_db(q);
	sqlite3_set_authorizer(db, NULL, NULL); /* this once it may write */
	if (sqlite3_exec(db, "CREATE TABLE native AS SELECT ts, dur, utid, state, cause FROM state", NULL, NULL, &message)) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	printf("%u states; CPU time, medians of %d\n%11s %11s  %6s\n", n, times, "facts", "native", "speed");
	for (size_t i = 0; i < WW_ARRAY_SIZE(queries); i++)
		compare(db, queries[i], times);
	if (sqlite3_exec(db, "CREATE INDEX native_index ON native(utid, ts)", NULL, NULL, &message))
		return 1;
	puts("the native table with an index on (utid, ts)");
	compare(db, queries[4], times);
	ww_sql_close(q);
	ww_facts_release(&f);
	ww_arena_release(&mem);
	return 0;
}
