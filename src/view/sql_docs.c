/* sql_docs.c - what tables and columns there are: for the prompt, and as the generated part of docs/sql.md.
 *
 * All of it is made from the column tables, the views' texts and the database itself.
 */
#include "view/sql_private.h"

/* A column as people read of it. */
struct column {
	char name[64];
	const char *type;
	char unit[64], doc[400];
	bool argument;
};

static void replace(char *s, size_t size, const char *from, const char *to)
{
	char buf[400];

	for (char *at = s; (at = strstr(at, from));) {
		snprintf(buf, sizeof(buf), "%s%s", to, at + strlen(from));
		snprintf(at, size - (size_t)(at - s), "%s", buf);
		at += strlen(to);
	}
}

static const char *fact_type(const struct ww_sql_column *c)
{
	switch (c->kind) {
	case WW_SQ_STR: return "text";
	case WW_SQ_TOKEN: return "token";
	case WW_SQ_EXTRA: return *c->unit ? "integer" : "text";
	default: return "integer";
	}
}

/* The words of facts.def speak of indexes and WW_NONE; here they are ids and NULL. */
static void fact_column(const struct ww_sql *q, const struct ww_sql_table *t, uint32_t i, struct column *ret)
{
	const struct ww_sql_column *c = &t->cols[i];

	snprintf(ret->name, sizeof(ret->name), "%s", c->name);
	ret->type = fact_type(c);
	snprintf(ret->doc, sizeof(ret->doc), "%s", c->doc);
	replace(ret->doc, sizeof(ret->doc), "WW_NONE", "NULL");
	if (c->kind == WW_SQ_SIGNED || c->kind == WW_SQ_TIME || c->kind == WW_SQ_DUR)
		replace(ret->doc, sizeof(ret->doc), "-1", "NULL");
	if (c->kind == WW_SQ_STR)
		replace(ret->doc, sizeof(ret->doc), "empty", "NULL");
	if (c->has_unknown) {
		const char from[] = {(char)('0' + c->unknown), ' ', 'u', 0};
		replace(ret->doc, sizeof(ret->doc), from, "NULL u");
	}
	if (c->kind == WW_SQ_REF)
		snprintf(ret->unit, sizeof(ret->unit), "%s.id", q->tables[c->ref].name);
	else if (c->kind == WW_SQ_MACHINE)
		snprintf(ret->unit, sizeof(ret->unit), "machine.id");
	else if (c->kind == WW_SQ_REF_BY)
		snprintf(ret->unit, sizeof(ret->unit), "id, of the table that the kind says");
	else if (!strncmp(c->unit, "enum ww_", 8) && c->kind != WW_SQ_TOKEN)
		snprintf(ret->unit, sizeof(ret->unit), "bits");
	else if (strncmp(c->unit, "enum ww_", 8))
		snprintf(ret->unit, sizeof(ret->unit), "%s", c->unit);
}

static bool analysis_column(const struct ww_analysis *a, uint32_t i, struct column *ret)
{
	static const char *const types[] = {
		[WW_T_INT] = "integer", [WW_T_ID] = "integer", [WW_T_COUNT] = "integer", [WW_T_DUR] = "integer", [WW_T_TIME] = "integer",
		[WW_T_BYTES] = "integer", [WW_T_PERCENT] = "real", [WW_T_STR] = "text", [WW_T_TEXT] = "text",
	};
	static const char *const units[] = {
		[WW_T_DUR] = "ns", [WW_T_TIME] = "ns", [WW_T_BYTES] = "bytes", [WW_T_PERCENT] = "%",
	};
	const char *doc;

	if (i < a->ncolumns) {
		const struct ww_column *c = &a->columns[i];
		snprintf(ret->name, sizeof(ret->name), "%s", c->name);
		ret->type = c->type < WW_ARRAY_SIZE(types) ? types[c->type] : "integer";
		if (c->type < WW_ARRAY_SIZE(units) && units[c->type])
			snprintf(ret->unit, sizeof(ret->unit), "%s", units[c->type]);
		snprintf(ret->doc, sizeof(ret->doc), "%s", c->doc);
		return true;
	}
	const char *name = ww_sql_analysis_argument(a, i - a->ncolumns, &doc);
	if (!name)
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->type = "argument";
	ret->argument = true;
	snprintf(ret->doc, sizeof(ret->doc), "%s", doc);
	return true;
}

/* Of a view, or a table that is filled at the beginning. */
static bool plain_column(const struct ww_sql *q, const char *table, uint32_t i, struct column *ret)
{
	char *text = sqlite3_mprintf("SELECT * FROM \"%w\" LIMIT 0", table);
	sqlite3_stmt *st = NULL;
	int rc = text ? sqlite3_prepare_v2(q->db, text, -1, &st, NULL) : SQLITE_NOMEM;
	bool found = !rc && (int)i < sqlite3_column_count(st);

	sqlite3_free(text);
	if (found) {
		snprintf(ret->name, sizeof(ret->name), "%s", sqlite3_column_name(st, (int)i));
		ret->type = "";
	}
	sqlite3_finalize(st);
	return found;
}

static const struct ww_sql_table *find_fact(const struct ww_sql *q, const char *name)
{
	for (uint32_t t = 0; t < q->nfacts; t++)
		if (!q->tables[t].hidden && !strcasecmp(q->tables[t].name, name))
			return &q->tables[t];
	return NULL;
}

static const struct ww_analysis *find_analysis(const char *name)
{
	for (const struct ww_analysis *const *a = ww_analyses; *a; a++)
		if (!strcasecmp((*a)->name, name))
			return *a;
	return NULL;
}

/* Column i of the table of this name; false: it has no more. */
static bool get_column(const struct ww_sql *q, const char *table, uint32_t i, struct column *ret)
{
	const struct ww_sql_table *t = find_fact(q, table);
	const struct ww_analysis *a = t ? NULL : find_analysis(table);

	memset(ret, 0, sizeof(*ret));
	if (t) {
		if (i < t->ncols)
			fact_column(q, t, i, ret);
		return i < t->ncols;
	}
	return a ? analysis_column(a, i, ret) : plain_column(q, table, i, ret);
}

/* ---- lists ---- */

typedef void (*table_fn)(const struct ww_sql *q, FILE *out, const char *name, const char *doc);

static void each_table(const struct ww_sql *q, FILE *out, table_fn fn, void (*heading)(FILE *out, const char *text))
{
	heading(out, "Facts");
	for (uint32_t t = 0; t < q->nfacts; t++)
		if (!q->tables[t].hidden)
			fn(q, out, q->tables[t].name, q->tables[t].fact->doc);
	heading(out, "Analyses");
	for (const struct ww_analysis *const *a = ww_analyses; *a; a++)
		fn(q, out, (*a)->name, (*a)->summary);
	heading(out, "Traces, and views under Perfetto's names");
	for (const struct ww_sql_filled *t = ww_sql_filled; t->name; t++)
		fn(q, out, t->name, t->doc);
	for (const struct ww_sql_view *v = ww_sql_views; v->name; v++)
		fn(q, out, v->name, v->doc);
}

static void text_heading(FILE *out, const char *text)
{
	fprintf(out, "%s:\n", text);
}

static void text_table(const struct ww_sql *q, FILE *out, const char *name, const char *doc)
{
	fprintf(out, "  %-18s %s\n", name, doc);
}

void ww_sql_list_tables(const struct ww_sql *q, FILE *out)
{
	each_table(q, out, text_table, text_heading);
}

static void text_columns(const struct ww_sql *q, FILE *out, const char *name, const char *doc)
{
	struct column c;

	fprintf(out, "%s%s%s\n", name, *doc ? ": " : "", doc);
	for (uint32_t i = 0; get_column(q, name, i, &c); i++) {
		char what[80];
		snprintf(what, sizeof(what), "%s%s%s", c.type, *c.type && *c.unit ? ", " : "", c.unit);
		fprintf(out, *c.doc ? "  %-20s %-24s %s\n" : *what ? "  %-20s %s\n" : "  %s\n", c.name, what, c.doc);
	}
}

static void no_heading(FILE *out, const char *text)
{
}

bool ww_sql_list_columns(const struct ww_sql *q, FILE *out, const char *table)
{
	struct column c;
	const struct ww_sql_table *t;
	const struct ww_analysis *a;

	if (!table) {
		each_table(q, out, text_columns, no_heading);
		return true;
	}
	if (!get_column(q, table, 0, &c))
		return false;
	if ((t = find_fact(q, table)))
		text_columns(q, out, t->name, t->fact->doc);
	else if ((a = find_analysis(table)))
		text_columns(q, out, a->name, a->summary);
	else
		text_columns(q, out, table, "");
	return true;
}

/* ---- Markdown ---- */

static void md_heading(FILE *out, const char *text)
{
	fprintf(out, "\n## %s\n", text);
}

/* A bar would end the table's cell. */
static void md_text(FILE *out, const char *s)
{
	for (; *s; s++)
		fputs(*s == '|' ? "\\|" : (const char[]){*s, 0}, out);
}

static void md_table(const struct ww_sql *q, FILE *out, const char *name, const char *doc)
{
	const bool typed = find_fact(q, name) || find_analysis(name);
	struct column c;
	int args = 0;

	fprintf(out, "\n### %s\n\n", name);
	md_text(out, doc);
	fputs("\n\n", out);
	if (!typed) { /* names only */
		for (uint32_t i = 0; get_column(q, name, i, &c); i++)
			fprintf(out, "%s`%s`", i ? ", " : "", c.name);
		putc('\n', out);
		return;
	}
	fputs("| column | type | unit | |\n| --- | --- | --- | --- |\n", out);
	for (uint32_t i = 0; get_column(q, name, i, &c); i++) {
		if (c.argument)
			continue;
		fprintf(out, "| `%s` | %s | %s | ", c.name, c.type, c.unit);
		md_text(out, c.doc);
		fputs(" |\n", out);
	}
	for (uint32_t i = 0; get_column(q, name, i, &c); i++)
		if (c.argument)
			fprintf(out, "%s`%s`", args++ ? ", " : "\nArguments: ", c.name);
	if (args)
		putc('\n', out);
}

void ww_sql_list_markdown(const struct ww_sql *q, FILE *out)
{
	each_table(q, out, md_table, md_heading);
}
