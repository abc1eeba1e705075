/* view_sql.c - what a query's constraints are pushed down to is what a look at every row gives.
 *
 * Random facts of one and two hosts (one clock drifts); random conditions on ids, times, threads, CPUs and other
 * references, with values of every type, as constants and as parameters, one by one and IN lists, in every order. The
 * judge is SQLite itself: the same condition on CAST(column AS INTEGER), which compares alike and is never pushed down.
 */
#include <sqlite3.h>

#include "../tap.h"
#include "view/sql_private.h"

static uint64_t seed = 88172645463325252ull;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* ---- facts ---- */

enum { THREADS = 17, CPUS = 3, STEPS = 120 };
#define BEGIN 1000000

static int64_t maybe(int64_t ts)
{
	return rnd(6) ? ts : -1;
}

static void push_states(struct ww_facts *f)
{
	int64_t now[THREADS];

	for (uint32_t t = 0; t < THREADS; t++)
		now[t] = BEGIN + rnd(50);
	for (uint32_t i = 0; i < THREADS * STEPS; i++) {
		uint32_t t = rnd(THREADS);
		int64_t dur = rnd(40);
		if (t == 3) /* one without a state */
			continue;
		ww_state_full_push(f, (struct ww_state_full){
			.is = {.thread = t, .start_ts_ns = now[t], .dur_ns = dur, .state = (uint8_t)rnd(WW_ST_N),
			       .cause = (uint8_t)rnd(WW_CA_N), .cpu = (int16_t)rnd(CPUS + 1) - 1, .syscall = rnd(3) ? rnd(100) : WW_NONE},
			.has = {.fault = WW_NONE, .wakeup = rnd(2) ? rnd(200) : WW_NONE, .file = WW_NONE,
				.other = rnd(2) ? rnd(THREADS) : WW_NONE}});
		now[t] += dur;
	}
}

static void push_others(struct ww_facts *f)
{
	int64_t now = BEGIN;

	for (uint32_t i = 0; i < 400; i++, now += rnd(12)) {
		ww_wakeup_push(f, &(struct ww_wakeup){.ts_ns = now, .cpu = rnd(CPUS), .wakee = rnd(THREADS),
						      .target_cpu = WW_NONE, .kind = (uint8_t)rnd(WW_WK_N),
						      .waker = rnd(2) ? rnd(THREADS) : WW_NONE, .current_thread = rnd(THREADS),
						      .fact = rnd(3) ? rnd(50) : WW_NONE, .vector = -1, .syscall = WW_NONE});
		ww_run_push(f, &(struct ww_run){.cpu = rnd(CPUS), .thread = rnd(THREADS), .start_ts_ns = now,
						.dur_ns = rnd(9), .prio = 120, .next = WW_NONE,
						.end_state = (uint16_t)(rnd(4) ? WW_RUN_STATE_SEEN | (rnd(2) ? 1u << rnd(8) : 0) : 0)});
		int64_t dur = rnd(60); /* calls come in the order of their ends */
		ww_syscall_push(f, &(struct ww_syscall){.thread = rnd(THREADS), .start_ts_ns = now - dur, .dur_ns = rnd(9) ? dur : -1,
							.ret = -1, .known = (uint8_t)rnd(32), .fd = (int)rnd(5) - 1,
							.file = rnd(2) ? rnd(7) : WW_NONE});
		ww_interrupt_push(f, &(struct ww_interrupt){.cpu = rnd(CPUS), .vector = (int)rnd(9), .start_ts_ns = now - rnd(5),
							    .dur_ns = rnd(5), .thread = rnd(THREADS)});
		ww_timer_push(f, &(struct ww_timer){.armed_by = rnd(THREADS), .armed_ts_ns = maybe(BEGIN + rnd(3000)),
						    .expires_ts_ns = maybe(BEGIN + rnd(5000)), .fired_ts_ns = maybe(now),
						    .trigger = WW_NONE});
		ww_gap_push(f, &(struct ww_gap){.cpu = (int)rnd(CPUS + 1) - 1, .start_ts_ns = BEGIN + rnd(4000), .dur_ns = 3});
	}
	for (uint32_t i = 0; i < 7; i++)
		ww_file_push(f, &(struct ww_file){.kind = (uint8_t)rnd(WW_FK_N), .peer = i ? rnd(7) : WW_NONE});
	f->end_ts_ns = now;
}

/* Call stacks, the scheduler's functions innermost, now and then. */
static void push_stacks(struct ww_facts *f)
{
	static const char *const names[] = {"__schedule", "schedule", "schedule_timeout", "pipe_read", "do_wait", ""};
	int64_t now = BEGIN;

	for (uint32_t i = 0; i < 300; i++, now += rnd(16)) {
		const uint32_t n = rnd(6);
		ww_stack_push(f, &(struct ww_stack){.ts_ns = now, .thread = rnd(THREADS), .kernel = rnd(4) > 0,
						    .first = f->stack_frame.n, .frames = n});
		for (uint32_t k = 0; k < n; k++)
			ww_stack_frame_push(f, &(struct ww_stack_frame){
				.file = WW_NONE, .symbol = ww_strtab_intern_cstr(&f->strs, names[rnd(WW_ARRAY_SIZE(names))])});
	}
}

static void make_facts(struct ww_facts *f)
{
	ww_facts_init(f);
	f->host.ncpus = CPUS;
	f->host.clock_offset_ns = 5000;
	f->host.epoch_known = true;
	f->begin_ts_ns = BEGIN;
	for (uint32_t t = 0; t < THREADS; t++) {
		ww_process_push(f, &(struct ww_process){.pid = (int)t, .main_thread = t, .parent = t ? t - 1 : WW_NONE});
		ww_thread_push(f, &(struct ww_thread){.tid = (int)t + 100, .pid = (int)t, .vtid = -1, .process = t / 2,
						      .start_ts_ns = BEGIN + rnd(500), .end_ts_ns = BEGIN + 500 + rnd(5000),
						      .parent = t ? rnd(t) : WW_NONE});
	}
	push_states(f);
	push_others(f);
	push_stacks(f);
	TAP_NEED(!ww_facts_seal(f, NULL), "facts are sealed");
}

/* ---- queries ---- */

static bool can_push(const struct ww_sql_column *c)
{
	return c->kind == WW_SQ_ID || c->kind == WW_SQ_TIME || c->kind == WW_SQ_REF || c->is_cpu || c->kind == WW_SQ_MACHINE;
}

static const char *const ops[] = {"=", "<", "<=", ">", ">=", "=", "IN"};

static int64_t some_number(const struct ww_sql *q, const struct ww_sql_column *c)
{
	if (c->kind == WW_SQ_TIME)
		return BEGIN + 5000 - 20 + rnd(5200);
	if (c->kind == WW_SQ_MACHINE)
		return rnd(3);
	if (c->is_cpu)
		return (int64_t)rnd(CPUS + 2) - 1;
	return rnd(c->kind == WW_SQ_REF ? 2 * THREADS + 2 : THREADS * STEPS * q->nhosts + 5);
}

/* A value as SQL writes it; mostly a plain number. */
static void some_value(const struct ww_sql *q, const struct ww_sql_column *c, char *buf, size_t size)
{
	long long n = some_number(q, c);

	switch (rnd(16)) {
	case 0: snprintf(buf, size, "%lld.5", n); break;
	case 1: snprintf(buf, size, "%lld.0", n); break;
	case 2: snprintf(buf, size, "'%lld'", n); break;
	case 3: snprintf(buf, size, "'%lld.25 '", n); break;
	case 4: {
		static const char *const odd[] = {"NULL", "'word'", "x'00'", "9223372036854775807", "-9223372036854775808", "1e300",
						  "-1e300", "9223372036854775808", "-9223372036854775809.5", "''", "-0.5"};
		snprintf(buf, size, "%s", odd[rnd(WW_ARRAY_SIZE(odd))]);
		break;
	}
	default: snprintf(buf, size, "%lld", n);
	}
}

struct query {
	char plain[2000], hidden[2000];
	char order[200], hidden_order[300];
	char keys[200]; /* what it is sorted by */
};

static void add_condition(const struct ww_sql *q, const struct ww_sql_column *c, struct query *r, int i)
{
	const char *op = ops[rnd(WW_ARRAY_SIZE(ops))], *also = !i ? "WHERE" : rnd(6) ? "AND" : "OR";
	char value[300], more[64], one[300];
	size_t n = strlen(r->plain), k = strlen(r->hidden);

	some_value(q, c, value, sizeof(value));
	if (!strcmp(op, "IN")) {
		some_value(q, c, more, sizeof(more));
		snprintf(one, sizeof(one), "(%.80s, %s, %lld)", value, more, (long long)some_number(q, c));
		snprintf(value, sizeof(value), "%s", one);
	} else if (!rnd(3)) { /* not known while it is planned */
		snprintf(one, sizeof(one), "(SELECT v FROM (SELECT %.80s AS v) LIMIT 1)", value);
		snprintf(value, sizeof(value), "%s", one);
	}
	snprintf(r->plain + n, sizeof(r->plain) - n, " %s %s %s %s", also, c->name, op, value);
	snprintf(r->hidden + k, sizeof(r->hidden) - k, " %s CAST(%s AS INTEGER) %s %s", also, c->name, op, value);
}

static void add_order(const struct ww_sql_table *t, struct query *r)
{
	const char *dir = rnd(2) ? " DESC" : "";
	const char *first = t->cols[rnd(t->ncols)].name, *second = t->ts >= 0 ? t->cols[t->ts].name : "id";

	*r->order = *r->hidden_order = 0;
	snprintf(r->keys, sizeof(r->keys), "0, 0");
	switch (rnd(4)) {
	case 0:
		if (t->grouped >= 0)
			first = t->cols[t->grouped].name;
		snprintf(r->order, sizeof(r->order), " ORDER BY %s%s, %s%s", first, dir, second, dir);
		snprintf(r->hidden_order, sizeof(r->hidden_order), " ORDER BY +%s%s, +%s%s", first, dir, second, dir);
		snprintf(r->keys, sizeof(r->keys), "%s, %s", first, second);
		break;
	case 1:
		first = rnd(2) ? second : first;
		snprintf(r->order, sizeof(r->order), " ORDER BY %s%s", first, dir);
		snprintf(r->hidden_order, sizeof(r->hidden_order), " ORDER BY +%s%s", first, dir);
		snprintf(r->keys, sizeof(r->keys), "%s, 0", first);
		break;
	default:
		break;
	}
}

static struct query make_query(const struct ww_sql *q, const struct ww_sql_table *t)
{
	struct query r = {.plain = "", .hidden = ""};
	int n = (int)rnd(4);

	for (int i = 0; i < n;) {
		const struct ww_sql_column *c = &t->cols[rnd(t->ncols)];
		if (can_push(c))
			add_condition(q, c, &r, i++);
	}
	add_order(t, &r);
	return r;
}

/* ---- answers ---- */

struct rows {
	int64_t *ids;
	char **keys;
	int n;
	bool bad;
};

static int by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static struct rows ask(struct ww_sql *q, const char *sql)
{
	struct rows r = {.ids = ww_xmalloc(sizeof(int64_t) * 200000), .keys = ww_xmalloc(sizeof(char *) * 200000)};
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(ww_sql_db(q), sql, -1, &st, NULL)) {
		printf("# %s\n# %s\n", sql, sqlite3_errmsg(ww_sql_db(q)));
		r.bad = true;
		return r;
	}
	while (sqlite3_step(st) == SQLITE_ROW && r.n < 200000) {
		const char *a = (const char *)sqlite3_column_text(st, 1), *b = (const char *)sqlite3_column_text(st, 2);
		r.keys[r.n] = ww_xasprintf("%s|%s", a ? a : "NULL", b ? b : "NULL");
		r.ids[r.n++] = sqlite3_column_int64(st, 0);
	}
	r.bad = sqlite3_finalize(st) != SQLITE_OK;
	return r;
}

static void forget(struct rows *r)
{
	for (int i = 0; i < r->n; i++)
		free(r->keys[i]);
	free(r->ids);
	free(r->keys);
}

/* The same rows, and the same order as far as it is asked. */
static bool equal(struct rows *a, struct rows *b)
{
	bool same = a->n == b->n && !a->bad && !b->bad;

	for (int i = 0; i < a->n && same; i++)
		same = !strcmp(a->keys[i], b->keys[i]);
	qsort(a->ids, (size_t)a->n, sizeof(*a->ids), by_id);
	qsort(b->ids, (size_t)b->n, sizeof(*b->ids), by_id);
	return same && !memcmp(a->ids, b->ids, sizeof(*a->ids) * (size_t)a->n);
}

static uint64_t full, pushed; /* rows looked at by both ways */

static bool try_query(struct ww_sql *q, const struct ww_sql_table *t, const struct query *w)
{
	char a[4000], b[4000];
	uint64_t before = ww_sql_visited(q);

	snprintf(a, sizeof(a), "SELECT id, %s FROM %s%s%s", w->keys, t->name, w->plain, w->order);
	snprintf(b, sizeof(b), "SELECT id, %s FROM %s%s%s", w->keys, t->name, w->hidden, w->hidden_order);
	struct rows x = ask(q, a);
	pushed += ww_sql_visited(q) - before;
	before = ww_sql_visited(q);
	struct rows y = ask(q, b);
	full += ww_sql_visited(q) - before;
	bool same = equal(&x, &y);
	if (!same)
		printf("# %s\n# %d rows, want %d\n", a, x.n, y.n);
	forget(&x);
	forget(&y);
	return same;
}

static void try_many(struct ww_sql *q, const char *what)
{
	bool good = true;
	int n = 0;

	full = pushed = 0;
	for (uint32_t t = 0; t < q->nfacts; t++) {
		int times = q->host[0].n[t] ? 250 : 20;
		for (int i = 0; i < times && good && !q->tables[t].hidden; i++, n++) {
			struct query w = make_query(q, &q->tables[t]);
			good = try_query(q, &q->tables[t], &w);
		}
	}
	ok(good, "%s: %d queries of all tables as a look at every row", what, n);
	ok(pushed * 3 < full * 2, "%s: and fewer rows looked at: %llu, not %llu", what, (unsigned long long)pushed,
	   (unsigned long long)full);
}

/* ---- what is visited ---- */

static int64_t number(struct ww_sql *q, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (!sqlite3_prepare_v2(ww_sql_db(q), sql, -1, &st, NULL) && sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	else
		printf("# %s: %s\n", sql, sqlite3_errmsg(ww_sql_db(q)));
	sqlite3_finalize(st);
	return n;
}

/* No more rows than are in the answer. */
static void visits(struct ww_sql *q, const char *what)
{
	char sql[400];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	uint64_t before = ww_sql_visited(q);
	int64_t n = number(q, sql);
	uint64_t seen = ww_sql_visited(q) - before;
	ok(n > 0 && (int64_t)seen == n, "%s: %lld rows, %llu visited", what, (long long)n, (unsigned long long)seen);
}

static void try_visits(struct ww_sql *q)
{
	visits(q, "state WHERE utid = 5 AND ts BETWEEN 1006000 AND 1006200");
	visits(q, "state WHERE ts BETWEEN 1006000 AND 1006100");
	visits(q, "run WHERE cpu = 1 AND ts >= 1006000");
	visits(q, "run WHERE ts < 1006000");
	visits(q, "run WHERE utid = 2");
	visits(q, "syscall WHERE utid = 5 AND ts > 1006000");
	visits(q, "wakeup WHERE ts BETWEEN 1006000 AND 1006300");
	visits(q, "wakeup WHERE wakee_utid = 4");
	visits(q, "timer WHERE expires_ts < 1007000");
	visits(q, "timer WHERE fired_ts > 1006000");
	visits(q, "state WHERE id = 77");
	visits(q, "state WHERE id BETWEEN 10 AND 20");
	visits(q, "thread WHERE utid = 6");
	visits(q, "thread WHERE rowid = 6");
	/* A join asks for each row's thread, once. */
	uint64_t before = ww_sql_visited(q);
	int64_t n = number(q, "SELECT count(t.tid) FROM wakeup w JOIN thread t ON t.utid = w.wakee_utid");
	uint64_t seen = ww_sql_visited(q) - before;
	ok(n == 400 && seen <= 2 * 400 + THREADS, "join by utid: %lld rows, %llu visited", (long long)n, (unsigned long long)seen);
	before = ww_sql_visited(q);
	sqlite3_stmt *st = NULL;
	TAP_NEED(!sqlite3_prepare_v2(ww_sql_db(q), "SELECT ts FROM wakeup ORDER BY ts DESC LIMIT 3", -1, &st, NULL), "prepared");
	for (int i = 0; i < 3; i++)
		is_i64(sqlite3_step(st), SQLITE_ROW, "a row");
	sqlite3_finalize(st);
	ok(ww_sql_visited(q) - before <= 3, "ORDER BY ts DESC LIMIT 3 visits 3");
}

/* ---- thread_state ---- */

/* The same as a view, from which it is plain what is in it. */
static const char thread_state_view[] =
	"CREATE VIEW plain AS SELECT 2 * id + 1 AS id, ts, dur, cpu, utid, 'Running' AS state, NULL AS io_wait, NULL AS blocked_function, "
	"NULL AS waker_utid, NULL AS waker_id, NULL AS irq_context, ucpu(machine_id, cpu) AS ucpu, machine_id FROM run "
	"UNION ALL SELECT 2 * id, ts, dur, cpu, utid, CASE WHEN state = 'preempted' THEN 'R+' "
	"WHEN state IN ('blocked', 'stopped') THEN (SELECT end_state FROM run r WHERE r.utid = state.utid AND r.ts < state.ts "
	"ORDER BY r.ts DESC LIMIT 1) ELSE 'R' END, "
	"CASE WHEN state = 'blocked' AND cause <> 'unknown' THEN cause = 'disk' END, "
	"CASE state WHEN 'blocked' THEN (SELECT (SELECT f.symbol FROM stack_frame f WHERE f.id > (SELECT min(g.id) FROM stack_frame g "
	"WHERE g.id >= s.first_frame_id AND g.id < s.first_frame_id + s.frames AND g.symbol IN ('__schedule', 'schedule')) "
	"AND f.id < s.first_frame_id + s.frames AND f.symbol NOT LIKE '%schedule%' ORDER BY f.id LIMIT 1) "
	"FROM stack s WHERE s.utid = state.utid AND s.kernel AND s.ts <= state.ts AND s.ts > state.ts - 1000000 "
	"ORDER BY s.ts DESC LIMIT 1) END, "
	"CASE state WHEN 'runqueue' THEN (SELECT waker_utid FROM wakeup w WHERE w.id = wakeup_id) END, NULL, "
	"CASE state WHEN 'runqueue' THEN (SELECT kind NOT IN ('thread', 'unknown') FROM wakeup w WHERE w.id = wakeup_id) END, "
	"ucpu(machine_id, cpu), machine_id FROM state WHERE state IN ('preempted', 'runqueue', 'throttled', 'stopped', 'blocked')";

static void try_thread_state(struct ww_sql *q, const char *what)
{
	const struct ww_sql_column cols[] = {{.name = "utid", .kind = WW_SQ_REF}, {.name = "ts", .kind = WW_SQ_TIME},
					     {.name = "id", .kind = WW_SQ_ID}, {.name = "machine_id", .kind = WW_SQ_MACHINE}};
	bool good = true;
	int i;

	TAP_NEED(!sqlite3_exec(ww_sql_db(q), thread_state_view, NULL, NULL, NULL), "%s", sqlite3_errmsg(ww_sql_db(q)));
	is_i64(number(q, "SELECT count(*) FROM (SELECT * FROM plain EXCEPT SELECT * FROM thread_state)"), 0, "thread_state has all rows");
	is_i64(number(q, "SELECT count(*) FROM (SELECT * FROM thread_state EXCEPT SELECT * FROM plain)"), 0, "and no others");
	is_i64(number(q, "SELECT count(*) FROM thread_state"), number(q, "SELECT count(*) FROM plain"), "none twice");
	ok(number(q, "SELECT count(DISTINCT blocked_function) FROM thread_state") == 2 && number(q, "SELECT count(waker_utid) FROM thread_state") > 9,
	   "of some it is known where they blocked, and who woke them");
	for (i = 0; i < 400 && good; i++) {
		struct query w = {.plain = ""};
		for (int k = 0, n = (int)rnd(4); k < n; k++)
			add_condition(q, &cols[rnd(WW_ARRAY_SIZE(cols))], &w, k);
		const char *order = (const char *const[]){"", "", " ORDER BY utid, ts", " ORDER BY ts", " ORDER BY utid"}[rnd(5)];
		char a[3000], b[3000];
		snprintf(a, sizeof(a), "SELECT id, %s FROM %s%s%s", *order ? &order[9] : "0", "thread_state", w.plain, order);
		snprintf(b, sizeof(b), "SELECT id, %s FROM %s%s%s", *order ? &order[9] : "0", "plain", w.hidden, order);
		struct rows x = ask(q, a), y = ask(q, b);
		good = equal(&x, &y);
		if (!good)
			printf("# %s\n# %d rows, want %d\n", a, x.n, y.n);
		forget(&x);
		forget(&y);
	}
	ok(good, "%s: %d queries of it as of the view", what, i);
	/* Perfetto's commonest query: its rows, and one look at each thread. */
	uint64_t before = ww_sql_visited(q);
	int64_t n = number(q, "SELECT count(dur) FROM thread_state JOIN thread USING (utid) WHERE tid = 105");
	int64_t seen = (int64_t)(ww_sql_visited(q) - before);
	int64_t all = number(q, "SELECT (SELECT count(*) FROM state JOIN thread USING (utid) WHERE tid = 105) + (SELECT count(*) FROM run JOIN "
				"thread USING (utid) WHERE tid = 105) + (SELECT count(*) FROM thread)");
	ok(n > 0 && seen <= all, "a join by utid: %lld rows, %lld visited, not more than %lld", (long long)n, (long long)seen, (long long)all);
}

/* ---- values ---- */

static void try_values(struct ww_sql *q, const struct ww_facts *f)
{
	sqlite3_stmt *st = NULL;
	bool good = true;
	int n = 0;

	TAP_NEED(!sqlite3_prepare_v2(ww_sql_db(q), "SELECT utid, ts, dur, state, cause, cpu, wakeup_id, machine_id FROM state "
						   "WHERE machine_id = 0 ORDER BY id", -1, &st, NULL), "prepared");
	for (; good && sqlite3_step(st) == SQLITE_ROW; n++) {
		const char *cause = (const char *)sqlite3_column_text(st, 4);
		good = sqlite3_column_int64(st, 0) == f->state.thread[n] &&
		       sqlite3_column_int64(st, 1) == f->state.start_ts_ns[n] + 5000 &&
		       sqlite3_column_int64(st, 2) == f->state.dur_ns[n] &&
		       !strcmp((const char *)sqlite3_column_text(st, 3), ww_state_name(f->state.state[n])) &&
		       (f->state.cause[n] ? cause && !strcmp(cause, ww_cause_name(f->state.cause[n])) : !cause) &&
		       (f->state.cpu[n] < 0 ? sqlite3_column_type(st, 5) == SQLITE_NULL
					    : sqlite3_column_int64(st, 5) == f->state.cpu[n]) &&
		       (ww_state_wakeup(f, n) == WW_NONE ? sqlite3_column_type(st, 6) == SQLITE_NULL
						      : sqlite3_column_int64(st, 6) == ww_state_wakeup(f, n));
	}
	sqlite3_finalize(st);
	ok(good && n == (int)f->state.n, "values of %d states", n);
	is_i64(number(q, "SELECT count(*) FROM syscall WHERE ret IS NULL <> (known & 8 = 0)"), 0, "ret is NULL where it is not known");
	is_i64(number(q, "SELECT count(*) FROM syscall WHERE dur < 0"), 0, "no length is below 0");
}

static void try_two_hosts(struct ww_sql *q, const struct ww_facts *const *f)
{
	is_i64(number(q, "SELECT count(*) FROM state"), (int64_t)f[0]->state.n + f[1]->state.n, "rows of both hosts");
	is_i64(number(q, "SELECT count(*) FROM state s JOIN thread t USING (utid) WHERE s.machine_id <> t.machine_id"), 0,
	       "a join by utid stays on the host");
	is_i64(number(q, "SELECT count(*) FROM state s JOIN thread t USING (utid)"), (int64_t)f[0]->state.n + f[1]->state.n,
	       "and has every row");
	is_i64(number(q, "SELECT count(DISTINCT utid) FROM thread"), 2 * THREADS, "ids are unique over hosts");
	is_i64(number(q, "SELECT count(*) FROM wakeup w JOIN timer t ON t.id = w.fact_id WHERE w.kind = 'timer' "
			 "AND t.machine_id <> w.machine_id"), 0, "so does the fact that ended a wait");
	is_i64(number(q, "SELECT count(*) FROM cpu"), 2 * CPUS, "CPUs of both");
	is_i64(number(q, "SELECT count(DISTINCT ucpu) FROM sched_slice"), 2 * CPUS, "have numbers of their own");
}

static void try_ranges(void)
{
	sqlite3_value *v;
	sqlite3 *db;
	sqlite3_stmt *st;

	TAP_NEED(!sqlite3_open(":memory:", &db), "a database");
	sqlite3_prepare_v2(db, "SELECT -0.5, 9223372036854775807, 9.3e18, 'x'", -1, &st, NULL);
	sqlite3_step(st);
	struct ww_sql_range r = WW_SQL_ANY;
	v = sqlite3_value_dup(sqlite3_column_value(st, 0));
	ww_sql_range_cut(&r, '>', v);
	is_i64(r.lo, 0, "> -0.5 begins at 0");
	ww_sql_range_cut(&r, '<', v);
	ok(r.lo > r.hi, "and < -0.5 leaves nothing");
	sqlite3_value_free(v);
	v = sqlite3_value_dup(sqlite3_column_value(st, 1));
	r = WW_SQL_ANY;
	ww_sql_range_cut(&r, 'L', v);
	ok(r.lo == INT64_MIN && r.hi == INT64_MAX, "<= the largest leaves all");
	ww_sql_range_cut(&r, '>', v);
	ok(r.lo > r.hi, "> the largest nothing");
	sqlite3_value_free(v);
	v = sqlite3_value_dup(sqlite3_column_value(st, 2));
	r = WW_SQL_ANY;
	ww_sql_range_cut(&r, '<', v);
	ok(r.lo == INT64_MIN && r.hi == INT64_MAX, "< 9.3e18 leaves all");
	sqlite3_value_free(v);
	v = sqlite3_value_dup(sqlite3_column_value(st, 3));
	ww_sql_range_cut(&r, '<', v);
	ok(r.lo == INT64_MIN && r.hi == INT64_MAX, "so does < 'x'");
	sqlite3_value_free(v);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* Rows of several hosts can be told apart. */
static void try_machines(struct ww_sql *q)
{
	for (const struct ww_sql_view *v = ww_sql_views; v->name; v++) {
		sqlite3_stmt *st = NULL;
		char text[100];

		if (!strcmp(v->name, "trace_bounds")) /* one row, of all */
			continue;
		snprintf(text, sizeof(text), "SELECT count(DISTINCT machine_id), count(*) > 0 FROM %s", v->name);
		ok(!sqlite3_prepare_v2(q->db, text, -1, &st, NULL) && sqlite3_step(st) == SQLITE_ROW &&
		   sqlite3_column_int(st, 0) == 2 * sqlite3_column_int(st, 1), "%s: of two machines, or empty", v->name);
		sqlite3_finalize(st);
	}
}

int main(void)
{
	struct ww_facts a, b;
	const struct ww_facts *facts[2] = {&a, &b};
	struct ww_correction corrections[2] = {{.via = WW_NONE}, {.offset_ns = 777, .drift_e15 = 20000000000000, .t0_ns = BEGIN}};
	struct ww_set_host who[2] = {{.name = "a", .path = "/a", .label = "a"}, {.name = "b", .path = "/b", .label = "b"}};
	struct ww_set one = {.hosts = facts, .who = who, .nhosts = 1, .corrections = corrections},
		      two = {.hosts = facts, .who = who, .nhosts = 2, .corrections = corrections};
	struct ww_err err = {0};
	struct ww_sql *q;

	make_facts(&a);
	make_facts(&b);
	TAP_NEED(!ww_sql_open(&one, &q, &err), "opens: %s", err.message);
	try_values(q, &a);
	try_visits(q);
	try_many(q, "one host");
	try_thread_state(q, "one host");
	ww_sql_close(q);
	TAP_NEED(!ww_sql_open(&two, &q, &err), "opens two hosts: %s", err.message);
	try_two_hosts(q, facts);
	try_machines(q);
	try_many(q, "two hosts");
	try_thread_state(q, "two hosts");
	ww_sql_close(q);
	try_ranges();
	ww_facts_release(&a);
	ww_facts_release(&b);
	return done_testing();
}
