/* sql_print.c - the rows of a query as an aligned table, CSV, JSON or lines.
 *
 * The table's widths are those of its first rows, so that an answer of any length is printed as it comes.
 */
#include "base/jsonout.h"
#include "base/vec.h"
#include "view/host_json.h"
#include "view/sql_private.h"

#define WIDTH_ROWS 500 /* rows that decide how wide a column is */
#define CELL_CHARS 200 /* of a cell in a table, as far as others are aligned to it */
#define CELL_BYTES 8192

/* ---- table ---- */

/* A cell's text on one line, of at most so many bytes: what would move the cursor is shown as its escape. */
static char *line_of(struct ww_arena *mem, sqlite3_stmt *st, int c, size_t limit)
{
	/* Asked for before the value is made text of. */
	const bool blob = sqlite3_column_type(st, c) == SQLITE_BLOB;
	const unsigned char *s = blob ? sqlite3_column_blob(st, c) : sqlite3_column_text(st, c);
	const size_t all = s ? (size_t)sqlite3_column_bytes(st, c) : 0, n = WW_MIN(all, limit);
	char *to = ww_arena_alloc(mem, 4 * n + 8), *p = to;

	for (size_t i = 0; i < n && blob; i++)
		p += sprintf(p, "%02x", s[i]);
	for (size_t i = 0; i < n && !blob; i++) {
		if (s[i] == '\n')
			p = stpcpy(p, "\\n");
		else if (s[i] < 0x20 || s[i] == 0x7f)
			p += sprintf(p, "\\x%02x", s[i]);
		else if (s[i] == 0xc2 && i + 1 < n && (s[i + 1] & 0xe0) == 0x80) /* U+0080 .. U+009F */
			p += sprintf(p, "\\x%02x", s[++i]);
		else
			*p++ = (char)s[i];
	}
	stpcpy(p, n < all ? "..." : "");
	return to;
}

static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void pad(FILE *out, size_t n)
{
	while (n--)
		putc(' ', out);
}

struct grid {
	struct ww_arena mem;
	WW_VEC(char *) cells;
	size_t *width;
	bool *words;
	int ncols;
};

static void put_line(FILE *out, const struct grid *g, char *const *cells, bool bold)
{
	for (int c = 0; c < g->ncols; c++) {
		const size_t w = width_of(cells[c]), gap = g->width[c] > w ? g->width[c] - w : 0;
		if (c)
			fputs("  ", out);
		if (!g->words[c])
			pad(out, gap);
		fprintf(out, "%s%s%s", bold ? "\033[1m" : "", cells[c], bold ? "\033[0m" : "");
		if (g->words[c] && c + 1 < g->ncols)
			pad(out, gap);
	}
	putc('\n', out);
}

static void put_grid(FILE *out, const struct grid *g, char *const *names, bool color)
{
	put_line(out, g, names, color);
	for (size_t i = 0; i < g->cells.n; i += (size_t)g->ncols)
		put_line(out, g, &g->cells.v[i], false);
}

static void add_row(struct grid *g, sqlite3_stmt *st)
{
	for (int c = 0; c < g->ncols; c++) {
		const int type = sqlite3_column_type(st, c);
		char *s = line_of(&g->mem, st, c, CELL_BYTES);
		g->width[c] = WW_MAX(g->width[c], WW_MIN(width_of(s), CELL_CHARS));
		g->words[c] |= type == SQLITE_TEXT || type == SQLITE_BLOB;
		*ww_vec_push(&g->cells) = s;
	}
}

static int print_table(sqlite3_stmt *st, struct ww_sql_print *p, int rc)
{
	struct grid g = {.ncols = sqlite3_column_count(st)};
	struct ww_arena names_mem;
	bool shown = false;

	ww_arena_init(&g.mem);
	ww_arena_init(&names_mem);
	char **names = WW_ARENA_ARRAY(&names_mem, char *, g.ncols);
	g.width = WW_ARENA_ARRAY(&names_mem, size_t, g.ncols);
	g.words = WW_ARENA_ARRAY(&names_mem, bool, g.ncols);
	for (int c = 0; c < g.ncols; c++) {
		names[c] = ww_arena_strdup(&names_mem, sqlite3_column_name(st, c));
		g.width[c] = width_of(names[c]);
	}
	for (; rc == SQLITE_ROW; rc = sqlite3_step(st)) {
		add_row(&g, st);
		if (shown) {
			put_line(p->out, &g, g.cells.v, false);
		} else if (g.cells.n >= WIDTH_ROWS * (size_t)g.ncols) {
			put_grid(p->out, &g, names, p->color);
			shown = true;
		} else {
			continue;
		}
		g.cells.n = 0;
		ww_arena_reset(&g.mem);
	}
	if (!shown && (rc == SQLITE_DONE || g.cells.n))
		put_grid(p->out, &g, names, p->color);
	ww_vec_free(&g.cells);
	ww_arena_release(&g.mem);
	ww_arena_release(&names_mem);
	return rc;
}

/* ---- CSV (RFC 4180, but that lines end with LF, for shells; NULL is nothing, the empty string is "") ---- */

static void put_csv(FILE *out, const char *s, size_t n)
{
	if (n && !memchr(s, ',', n) && !memchr(s, '"', n) && !memchr(s, '\n', n) && !memchr(s, '\r', n)) {
		fwrite(s, 1, n, out);
		return;
	}
	putc('"', out);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			putc('"', out);
		putc(s[i], out);
	}
	putc('"', out);
}

static void put_csv_cell(FILE *out, struct ww_arena *mem, sqlite3_stmt *st, int c)
{
	const int type = sqlite3_column_type(st, c);

	if (type == SQLITE_NULL)
		return;
	if (type == SQLITE_BLOB) {
		const char *hex = line_of(mem, st, c, SIZE_MAX);
		put_csv(out, hex, strlen(hex));
		ww_arena_reset(mem);
		return;
	}
	const char *s = (const char *)sqlite3_column_text(st, c);
	put_csv(out, s ? s : "", s ? (size_t)sqlite3_column_bytes(st, c) : 0);
}

static int print_csv(sqlite3_stmt *st, struct ww_sql_print *p, int rc)
{
	const int ncols = sqlite3_column_count(st);
	struct ww_arena mem;

	ww_arena_init(&mem);

	for (int c = 0; c < ncols; c++) {
		const char *name = sqlite3_column_name(st, c);
		if (c)
			putc(',', p->out);
		put_csv(p->out, name, strlen(name));
	}
	putc('\n', p->out);
	for (; rc == SQLITE_ROW; rc = sqlite3_step(st)) {
		for (int c = 0; c < ncols; c++) {
			if (c)
				putc(',', p->out);
			put_csv_cell(p->out, &mem, st, c);
		}
		putc('\n', p->out);
	}
	ww_arena_release(&mem);
	return rc;
}

/* ---- lines ---- */

static int print_lines(sqlite3_stmt *st, struct ww_sql_print *p, int rc)
{
	const int ncols = sqlite3_column_count(st);
	struct ww_arena mem;

	ww_arena_init(&mem);
	for (bool first = true; rc == SQLITE_ROW; rc = sqlite3_step(st), first = false) {
		if (!first)
			putc('\n', p->out);
		for (int c = 0; c < ncols; c++)
			fprintf(p->out, "%20s = %s\n", sqlite3_column_name(st, c), line_of(&mem, st, c, SIZE_MAX));
		ww_arena_reset(&mem);
	}
	ww_arena_release(&mem);
	return rc;
}

/* ---- JSON ---- */

/* Keys are unique: the second `id` is id_2. */
static const char **keys_of(struct ww_arena *mem, sqlite3_stmt *st, int ncols)
{
	const char **keys = WW_ARENA_ARRAY(mem, const char *, ncols);

	for (int c = 0; c < ncols; c++) {
		const char *name = sqlite3_column_name(st, c);
		keys[c] = ww_arena_strdup(mem, name);
		for (int try = 2, k = 0; k < c; k++)
			if (!strcmp(keys[k], keys[c])) {
				keys[c] = ww_arena_printf(mem, "%s_%d", name, try++);
				k = -1;
			}
	}
	return keys;
}

static void put_json(struct ww_json *j, const char *key, sqlite3_stmt *st, int c, struct ww_arena *mem)
{
	switch (sqlite3_column_type(st, c)) {
	case SQLITE_NULL:
		ww_json_null(j, key);
		break;
	case SQLITE_INTEGER:
		ww_json_i64(j, key, sqlite3_column_int64(st, c));
		break;
	case SQLITE_FLOAT:
		ww_json_f64(j, key, sqlite3_column_double(st, c));
		break;
	case SQLITE_BLOB:
		ww_json_str(j, key, line_of(mem, st, c, SIZE_MAX));
		ww_arena_reset(mem);
		break;
	default: {
		const char *s = (const char *)sqlite3_column_text(st, c);
		ww_json_strn(j, key, s ? s : "", s ? (size_t)sqlite3_column_bytes(st, c) : 0);
	}
	}
}

static void put_machines(struct ww_json *j, const struct ww_sql *q)
{
	ww_json_arr(j, "machines");
	for (uint32_t h = 0; h < q->nhosts; h++) {
		const struct ww_facts *f = q->host[h].f;
		ww_json_obj(j, NULL);
		ww_json_i64(j, "machine_id", h);
		ww_json_str(j, "trace", f->host.trace_path);
		ww_json_str(j, "host", f->host.name);
		ww_json_clock(j, f, NULL);
		ww_json_loss(j, &f->loss);
		ww_json_end(j);
	}
	ww_json_end(j);
}

static int print_json(const struct ww_sql *q, sqlite3_stmt *st, struct ww_sql_print *p, int rc)
{
	const int ncols = sqlite3_column_count(st);
	struct ww_arena names_mem, mem;
	struct ww_json j;

	ww_arena_init(&names_mem);
	ww_arena_init(&mem);
	const char **keys = keys_of(&names_mem, st, ncols);
	ww_json_init(&j, p->out, true);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "whywait", "sql");
	ww_json_i64(&j, "version", 1);
	put_machines(&j, q);
	ww_json_arr(&j, "columns");
	for (int c = 0; c < ncols; c++)
		ww_json_str(&j, NULL, keys[c]);
	ww_json_end(&j);
	ww_json_arr(&j, "rows");
	for (; rc == SQLITE_ROW; rc = sqlite3_step(st)) {
		ww_json_obj(&j, NULL);
		for (int c = 0; c < ncols; c++)
			put_json(&j, keys[c], st, c, &mem);
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_bool(&j, "complete", rc == SQLITE_DONE);
	ww_json_lacks(&j, q->lacks, q->nlacks);
	ww_json_end(&j);
	p->bad |= ww_json_finish(&j) < 0;
	ww_arena_release(&mem);
	ww_arena_release(&names_mem);
	return rc;
}

int ww_sql_print_rows(struct ww_sql *q, sqlite3_stmt *st, struct ww_sql_print *p)
{
	/* The first row, or the reason why there is none, before anything is printed. */
	q->nlacks = 0;
	int rc = sqlite3_step(st);

	if (sqlite3_column_count(st) && (rc == SQLITE_ROW || rc == SQLITE_DONE)) {
		if (p->answers++ && p->mode != WW_SQL_JSON)
			putc('\n', p->out);
		switch (p->mode) {
		case WW_SQL_CSV: rc = print_csv(st, p, rc); break;
		case WW_SQL_JSON: rc = print_json(q, st, p, rc); break;
		case WW_SQL_LINES: rc = print_lines(st, p, rc); break;
		default: rc = print_table(st, p, rc); break;
		}
	}
	for (uint32_t i = 0; i < q->nlacks; i++)
		ww_lacks_add(p->lacks, &p->nlacks, &q->lacks[i]);
	p->bad |= fflush(p->out) || ferror(p->out);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : rc;
}
