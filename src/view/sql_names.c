/* sql_names.c - what the columns of facts.def are called in SQL, and how their values are shown.
 *
 * Rules do it, so that a new fact or column needs nothing here: `ts_ns` -> ts, `dur_ns` -> dur, an index of a thread
 * -> utid or NAME_utid, of a process -> upid, of another fact -> NAME_id. The tables below are the exceptions: where
 * Perfetto has another word for the same, where a name would be taken twice, and what is computed.
 * source names of Perfetto's tables: https://perfetto.dev/docs/analysis/sql-tables
 */
#include <arpa/inet.h>

#include "view/sql_private.h"

static const struct {
	const char *fact, *name;
} table_names[] = {
	{"irq", "irq_line"}, /* irq is an analysis */
};

static const struct {
	const char *fact, *col, *name;
} column_names[] = {
	{"thread", "comm", "name"},
	{"run", "prio", "priority"},
	{"run", "end_prio", "end_priority"},
	{"stack", "first", "first_frame_id"},
	{"cgroup_move", "from", "old"},
	{"cgroup_move", "to", "new"},
};

/* Columns that mean something only where another says so. */
static const struct {
	const char *fact, *col, *flags;
	uint32_t bits;
} known[] = {
	{"syscall", "dur_ns", "known", WW_SK_ENTRY | WW_SK_REGS}, /* else since when is not known */
	{"syscall", "ret", "known", WW_SK_RET},
	{"syscall", "arg0", "known", WW_SK_ARGS},
	{"syscall", "arg1", "known", WW_SK_ARGS},
	{"syscall", "arg2", "known", WW_SK_ARGS},
};

/* The row of an index whose fact depends: on the waker's kind in this column. */
static const struct {
	const char *unit, *by;
} by_kind[] = {
	{"index of the completed fact", "kind"},
	{"index of the completed fact", "trigger_kind"},
	{"packet or timer index", "trigger_kind"},
};

/* ---- tokens ---- */

static const char *certainty_name(unsigned c)
{
	return c == WW_SURE ? "sure" : "uncertain";
}

#define TOKEN(what) static const char *what##_token(unsigned v) { return ww_##what##_name(v); }
TOKEN(state)
TOKEN(cause)
TOKEN(waker)
TOKEN(run_end)
TOKEN(irq_kind)
TOKEN(context)
TOKEN(file_kind)
#undef TOKEN

static const struct {
	const char *unit;
	const char *(*name)(unsigned v);
} tokens[] = {
	{"enum ww_thread_state", state_token}, {"enum ww_cause", cause_token}, {"enum ww_waker", waker_token},
	{"enum ww_certainty", certainty_name}, {"enum ww_run_end", run_end_token}, {"enum ww_irq_kind", irq_kind_token},
	{"enum ww_context", context_token}, {"enum ww_file_kind", file_kind_token},
};

static const struct ww_sql_token *tokens_of(struct ww_sql *q, const char *unit)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(tokens); i++) {
		if (strcmp(tokens[i].unit, unit))
			continue;
		struct ww_sql_token *t = WW_ARENA_ARRAY(&q->mem, struct ww_sql_token, 256);
		for (unsigned v = 0; v < 256; v++) {
			const char *s = tokens[i].name(v);
			t[v] = (struct ww_sql_token){*s ? s : NULL, (int)strlen(s)};
		}
		return t;
	}
	return NULL;
}

/* ---- computed columns ---- */

static void flag(const struct ww_facts *f, uint32_t row, uint32_t bit, sqlite3_context *ctx)
{
	sqlite3_result_int(ctx, (f->thread.flags[row] & bit) != 0);
}

static void is_idle(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	flag(q->host[host].f, row, WW_TF_IDLE, ctx);
}

static void is_kernel(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	flag(q->host[host].f, row, WW_TF_KERNEL, ctx);
}

static void is_target(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	flag(q->host[host].f, row, WW_TF_TARGET, ctx);
}

static void is_main_thread(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	const struct ww_facts *f = q->host[host].f;

	if (f->thread.pid[row] >= 0)
		sqlite3_result_int(ctx, f->thread.pid[row] == f->thread.tid[row]);
}

static uint32_t main_thread(const struct ww_sql *q, uint32_t host, uint32_t row)
{
	const struct ww_facts *f = q->host[host].f;
	uint32_t t = f->process.main_thread[row];

	return t < f->thread.n ? t : WW_NONE;
}

static void process_name(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	const struct ww_facts *f = q->host[host].f;
	uint32_t t = main_thread(q, host, row);

	if (t != WW_NONE && f->thread.comm[t])
		sqlite3_result_text(ctx, ww_facts_str(f, f->thread.comm[t]), -1, SQLITE_STATIC);
}

static void process_start(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	uint32_t t = main_thread(q, host, row);

	if (t != WW_NONE)
		sqlite3_result_int64(ctx, ww_sql_time(q, host, q->host[host].f->thread.start_ts_ns[t]));
}

static void process_end(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	uint32_t t = main_thread(q, host, row);

	if (t != WW_NONE)
		sqlite3_result_int64(ctx, ww_sql_time(q, host, q->host[host].f->thread.end_ts_ns[t]));
}

static void address(sqlite3_context *ctx, uint8_t family, uint64_t hi, uint64_t lo)
{
	char buf[INET6_ADDRSTRLEN];
	uint32_t v4 = htonl((uint32_t)lo);
	const uint64_t v6[2] = {htobe64(hi), htobe64(lo)};

	if ((family == 4 && inet_ntop(AF_INET, &v4, buf, sizeof(buf))) ||
	    (family == 6 && inet_ntop(AF_INET6, v6, buf, sizeof(buf))))
		sqlite3_result_text(ctx, buf, -1, SQLITE_TRANSIENT);
}

static void packet_src(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	const struct ww_packet_cols *p = &q->host[host].f->packet;

	address(ctx, p->family[row], p->saddr_hi[row], p->saddr_lo[row]);
}

static void packet_dst(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	const struct ww_packet_cols *p = &q->host[host].f->packet;

	address(ctx, p->family[row], p->daddr_hi[row], p->daddr_lo[row]);
}

/* prev_state as Perfetto writes it: S, D, R+ ... */
void ww_sql_run_end_state(struct ww_sql *q, uint32_t host, uint32_t row, sqlite3_context *ctx)
{
	static const char letters[] = "SDTtXZPI";
	const uint16_t state = q->host[host].f->run.end_state[row];
	char buf[16], *p = buf;

	if (!(state & WW_RUN_STATE_SEEN))
		return;
	for (unsigned i = 0; i < 8; i++)
		if (state >> i & 1)
			*p++ = letters[i];
	if (p == buf)
		p = stpcpy(p, state & 0x100 ? "R+" : "R");
	sqlite3_result_text(ctx, buf, (int)(p - buf), SQLITE_TRANSIENT);
}

/* One with the name of a fact's column is in its place. */
static const struct {
	const char *fact, *name, *unit, *doc;
	ww_sql_extra_fn fn;
} extras[] = {
	{"run", "end_state", "", "the kernel's state of the thread when it left the CPU: R, R+ (preempted), S, D, T, t, X, Z, P, I; "
				 "NULL not known", ww_sql_run_end_state},
	{"thread", "is_main_thread", "0 or 1", "NULL: its process is not known", is_main_thread},
	{"thread", "is_idle", "0 or 1", "", is_idle},
	{"thread", "is_kernel", "0 or 1", "a thread of the kernel", is_kernel},
	{"thread", "is_target", "0 or 1", "of the recorded command's tree", is_target},
	{"process", "name", "", "last name of its main thread", process_name},
	{"process", "start_ts", "ns", "of its main thread", process_start},
	{"process", "end_ts", "ns", "of its main thread", process_end},
	{"packet", "src", "", "source address as text", packet_src},
	{"packet", "dst", "", "destination address as text", packet_dst},
};

/* ---- rules ---- */

uint32_t ww_sql_fact_number(const char *name, size_t len)
{
	for (uint32_t i = 0; i < ww_fact_desc_count; i++)
		if (strlen(ww_fact_descs[i].name) == len && !memcmp(ww_fact_descs[i].name, name, len))
			return i;
	return WW_NONE;
}

static bool is_named(const struct ww_fact_desc *f, const char *name)
{
	return !strcmp(f->name, name);
}

static const struct ww_column_desc *find(const struct ww_fact_desc *f, const char *name)
{
	for (uint32_t c = 0; c < f->ncols; c++)
		if (!strcmp(f->cols[c].name, name))
			return &f->cols[c];
	return NULL;
}

/* "thread index" -> the number of that fact */
static uint32_t referred(const struct ww_column_desc *d)
{
	const size_t len = strlen(d->unit);

	return d->size == 4 && len > 6 && !strcmp(d->unit + len - 6, " index") ? ww_sql_fact_number(d->unit, len - 6)
									       : WW_NONE;
}

static bool ends(const char *s, const char *tail)
{
	const size_t n = strlen(s), k = strlen(tail);

	return n >= k && !strcmp(s + n - k, tail);
}

/* `thread` -> utid, `main_thread` -> main_utid, `waker` -> waker_utid */
static void name_reference(char *buf, size_t size, const char *col, const char *fact, const char *id)
{
	const size_t len = strlen(col), tail = strlen(fact);

	if (!strcmp(col, fact))
		snprintf(buf, size, "%s", id);
	else if (ends(col, fact) && len > tail && col[len - tail - 1] == '_')
		snprintf(buf, size, "%.*s%s", (int)(len - tail), col, id);
	else
		snprintf(buf, size, "%s_%s", col, id);
}

/* A word that SQL has for itself, as FROM, gets an underscore. */
static void avoid_keyword(struct ww_sql *q, struct ww_sql_column *c)
{
	char *text = sqlite3_mprintf("SELECT %s FROM (SELECT 1 AS \"%w\")", c->name, c->name);
	sqlite3_stmt *st = NULL;
	const size_t len = strlen(c->name);

	if (text && sqlite3_prepare_v2(q->db, text, -1, &st, NULL) && len + 1 < sizeof(c->name))
		memcpy(c->name + len, "_", 2);
	sqlite3_finalize(st);
	sqlite3_free(text);
}

/* ts_ns, dur_ns: the unit leaves the name, as in Perfetto; pid_ns is a namespace. */
static bool is_time(const struct ww_column_desc *d)
{
	return !strcmp(d->unit, "ns") && ends(d->name, "_ns");
}

static void name_column(struct ww_sql_column *c, const struct ww_fact_desc *f, const struct ww_column_desc *d)
{
	const size_t len = strlen(d->name);

	for (size_t i = 0; i < WW_ARRAY_SIZE(column_names); i++)
		if (is_named(f, column_names[i].fact) && !strcmp(d->name, column_names[i].col)) {
			snprintf(c->name, sizeof(c->name), "%s", column_names[i].name);
			return;
		}
	if (c->kind == WW_SQ_REF) {
		const char *ref = ww_fact_descs[c->ref].name;
		if (!strcmp(ref, "thread"))
			name_reference(c->name, sizeof(c->name), d->name, ref, "utid");
		else if (!strcmp(ref, "process"))
			name_reference(c->name, sizeof(c->name), d->name, ref, "upid");
		else
			snprintf(c->name, sizeof(c->name), "%s_id", d->name);
	} else if (c->kind == WW_SQ_REF_BY) {
		snprintf(c->name, sizeof(c->name), "%s_id", d->name);
	} else if (!strcmp(d->name, "start_ts_ns") && find(f, "dur_ns")) {
		snprintf(c->name, sizeof(c->name), "ts");
	} else {
		snprintf(c->name, sizeof(c->name), "%.*s", (int)(is_time(d) ? len - 3 : len), d->name);
	}
}

static uint32_t place(const struct ww_fact_desc *f, const char *column)
{
	const struct ww_column_desc *d = find(f, column);

	WW_ASSERT(d);
	return f->offset + d->offset;
}

/* "0 minor, 1 major, 2 unknown": the last of these values is NULL. */
static bool unknown_value(const char *doc, uint8_t *ret)
{
	const char *at = strstr(doc, " unknown");

	if (!at || at == doc || at[-1] < '0' || at[-1] > '9' || (at - 1 > doc && at[-2] != ' '))
		return false;
	*ret = (uint8_t)(at[-1] - '0');
	return true;
}

/* The kind of its values, by the type and the unit. */
static void type_column(struct ww_sql *q, struct ww_sql_column *c, const struct ww_fact_desc *f,
			const struct ww_column_desc *d)
{
	c->kind = WW_SQ_INT;
	c->ref = referred(d);
	for (size_t i = 0; i < WW_ARRAY_SIZE(by_kind); i++)
		if (!strcmp(d->unit, by_kind[i].unit) && find(f, by_kind[i].by)) {
			c->kind = WW_SQ_REF_BY;
			c->by_at = place(f, by_kind[i].by);
		}
	for (size_t i = 0; i < WW_ARRAY_SIZE(known); i++)
		if (is_named(f, known[i].fact) && !strcmp(d->name, known[i].col)) {
			c->known_at = place(f, known[i].flags);
			c->known_bits = known[i].bits;
		}
	c->is_cpu = !strcmp(d->name, "cpu");
	if (c->kind == WW_SQ_REF_BY)
		return;
	if (c->ref != WW_NONE)
		c->kind = WW_SQ_REF;
	else if (!strcmp(d->sql, "STR"))
		c->kind = WW_SQ_STR;
	else if (!strcmp(d->sql, "ENUM") && d->size == 1 && (c->token = tokens_of(q, d->unit)))
		c->kind = WW_SQ_TOKEN;
	else if (ends(d->name, "ts_ns"))
		c->kind = WW_SQ_TIME;
	else if (!strcmp(d->unit, "ns"))
		c->kind = WW_SQ_DUR;
	else if (d->is_signed && d->size < 8)
		c->kind = WW_SQ_SIGNED;
	else if (d->size == 4 && strstr(d->doc, "WW_NONE"))
		c->kind = WW_SQ_NONE32;
	if (c->kind == WW_SQ_INT)
		c->has_unknown = unknown_value(d->doc, &c->unknown);
}

static struct ww_sql_column *add(struct ww_sql_table *t, const char *name, uint8_t kind, const char *unit, const char *doc)
{
	WW_ASSERT(t->ncols < WW_SQL_MAX_COLUMNS);
	struct ww_sql_column *c = &t->cols[t->ncols++];

	*c = (struct ww_sql_column){.unit = unit, .doc = doc, .kind = kind, .ref = WW_NONE};
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

static void name_table(struct ww_sql_table *t)
{
	const char *name = t->fact->name;

	for (size_t i = 0; i < WW_ARRAY_SIZE(table_names); i++)
		if (is_named(t->fact, table_names[i].fact))
			name = table_names[i].name;
	snprintf(t->name, sizeof(t->name), ww_analysis_find(name) ? "fact_%s" : "%s", name);
}

static bool is_replaced(const struct ww_fact_desc *f, const struct ww_column_desc *d)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(extras); i++)
		if (is_named(f, extras[i].fact) && !strcmp(extras[i].name, d->name))
			return true;
	return false;
}

static bool is_grouped_by(const struct ww_fact_desc *f, const struct ww_sql_column *c, const struct ww_column_desc *d)
{
	return ((is_named(f, "state") || is_named(f, "syscall")) && !strcmp(d->name, "thread")) || (is_named(f, "run") && c->is_cpu);
}

/* The columns of f as columns of t, which is of f, or whose column at via_at says which of f's rows. */
static void add_columns(struct ww_sql *q, struct ww_sql_table *t, const struct ww_fact_desc *f, uint32_t via_at)
{
	for (uint32_t i = 0; i < f->ncols; i++) {
		const struct ww_column_desc *d = &f->cols[i];
		if (!strcmp(d->sql, "MORE")) {
			add_columns(q, t, &ww_fact_descs[referred(d)], f->offset + d->offset);
			continue;
		}
		if (is_replaced(f, d))
			continue;
		struct ww_sql_column *c = add(t, "", WW_SQ_INT, d->unit, d->doc);
		c->size = (uint8_t)d->size;
		c->is_signed = d->is_signed;
		c->at = f->offset + d->offset;
		c->via_at = via_at;
		type_column(q, c, f, d);
		name_column(c, f, d);
		avoid_keyword(q, c);
		if (c->kind == WW_SQ_TIME && t->ts < 0)
			t->ts = (int)t->ncols - 1;
		if (is_grouped_by(f, c, d))
			t->grouped = (int)t->ncols - 1;
	}
}

/* Is it what few rows of another fact have? */
static bool is_part(const struct ww_fact_desc *part)
{
	for (uint32_t i = 0; i < ww_fact_desc_count; i++)
		for (uint32_t c = 0; c < ww_fact_descs[i].ncols; c++) {
			const struct ww_column_desc *d = &ww_fact_descs[i].cols[c];
			if (!strcmp(d->sql, "MORE") && &ww_fact_descs[referred(d)] == part)
				return true;
		}
	return false;
}

static void make_table(struct ww_sql *q, struct ww_sql_table *t, uint32_t number)
{
	const struct ww_fact_desc *f = &ww_fact_descs[number];

	*t = (struct ww_sql_table){.q = q, .fact = f, .number = number, .hidden = is_part(f), .ts = -1, .grouped = -1};
	name_table(t);
	if (t->hidden)
		return;
	add(t, "id", WW_SQ_ID, "", "its number");
	if (is_named(f, "thread") || is_named(f, "process"))
		add(t, is_named(f, "thread") ? "utid" : "upid", WW_SQ_ID, "", "the same");
	add_columns(q, t, f, 0);
	for (size_t i = 0; i < WW_ARRAY_SIZE(extras); i++)
		if (is_named(f, extras[i].fact))
			add(t, extras[i].name, WW_SQ_EXTRA, extras[i].unit, extras[i].doc)->extra = extras[i].fn;
	add(t, "machine_id", WW_SQ_MACHINE, "machine index", "the trace it is of, from 0");
}

void ww_sql_names(struct ww_sql *q)
{
	WW_ASSERT(ww_fact_desc_count <= WW_SQL_MAX_FACTS);
	q->nfacts = ww_fact_desc_count;
	q->tables = WW_ARENA_ARRAY(&q->mem, struct ww_sql_table, q->nfacts);
	for (uint32_t i = 0; i < q->nfacts; i++)
		make_table(q, &q->tables[i], i);
}
