/* table.c - any result of rows as text or JSON, from its columns alone. */
#include "base/jsonout.h"
#include "base/units.h"
#include "view/host_json.h"
#include "view/text.h"

static bool is_words(const struct ww_column *c)
{
	return c->type == WW_T_STR || c->type == WW_T_TEXT;
}

static const char *number_text(struct ww_text *t, int64_t v)
{
	char text[1 + WW_DIGITS], *end = text + sizeof(text), *from = ww_number_put(v, end);

	return ww_arena_strndup(&t->mem, from, (size_t)(end - from));
}

/* The cell of column c; `row` has all of them. */
static const char *cell_text(struct ww_text *t, const struct ww_column *c, const union ww_cell *v,
			     const union ww_cell *row)
{
	char buf[24];

	switch (c->type) {
	case WW_T_DUR:
		return v->i < 0 ? "?" : ww_text_dur(t, v->i);
	case WW_T_PERCENT:
		return ww_arena_printf(&t->mem, "%.1f", v->d);
	case WW_T_TIME:
		if (v->i == WW_NO_VALUE)
			return "";
		return ww_arena_printf(&t->mem, "%s s", ww_text_at(t, v->i));
	case WW_T_BYTES:
		if (v->i < 0)
			return "?";
		return ww_arena_strdup(&t->mem, ww_bytes_format((uint64_t)v->i, buf, sizeof(buf)));
	case WW_T_STR:
		if (!c->indent)
			return ww_text_fit(t, v->s, 40);
		return ww_arena_printf(&t->mem, "%*s%s", 2 * (int)WW_MIN(row[c->indent].i, 20), "", ww_text_fit(t, v->s, 40));
	case WW_T_TEXT:
		return v->s;
	case WW_T_ID:
	case WW_T_COUNT:
		if (v->i < 0)
			return "?";
		/* fall through */
	default:
		if (v->i == WW_NO_VALUE)
			return "?";
		return number_text(t, v->i);
	}
}

/* At least one. */
static uint32_t columns_that_fit(const struct ww_analysis *a, const size_t *width, uint32_t room)
{
	size_t used = width[0];
	uint32_t n = 1;

	while (n < a->ncolumns && (!room || used + 2 + width[n] <= room))
		used += 2 + width[n++];
	return n;
}

static void name_left_out(struct ww_text *t, const struct ww_analysis *a, uint32_t first)
{
	const char *names = ww_arena_printf(&t->mem, "No room for %u columns, which -v and --json show:", a->ncolumns - first);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	WW_ASSERT(f);
	fputs(names, f);
	for (uint32_t c = first; c < a->ncolumns; c++)
		fprintf(f, " %s%s", a->columns[c].name, c + 1 < a->ncolumns ? "," : "\n");
	fclose(f);
	ww_text_fold(t->out, text, t->o->table_width);
	free(text);
}

struct word {
	const char *s;
	size_t n;
};

/* In a column of so many bytes, at its left or right; returns its end. */
static char *put_word(char *to, const struct word *w, size_t width, bool left)
{
	const size_t pad = width > w->n ? width - w->n : 0;

	memset(to, ' ', w->n + pad);
	memcpy(to + (left ? 0 : pad), w->s, w->n);
	return to + w->n + pad;
}

/* The first n columns of all rows; `longest`: the words of one column with what is between. */
static void put_rows(FILE *out, const struct ww_table *tab, const struct word *words, const size_t *width, uint32_t n, size_t longest)
{
	const struct ww_analysis *a = tab->analysis;
	char *line = ww_xmalloc(longest * n + 1);

	for (uint32_t r = 0; r < tab->nrows; r++, words += a->ncolumns) {
		char *to = line;

		for (uint32_t c = 0; c < n; c++) {
			memset(to, ' ', 2);
			to = put_word(to + (c ? 2 : 0), &words[c], width[c], is_words(&a->columns[c]));
		}
		*to++ = '\n';
		fwrite(line, 1, (size_t)(to - line), out);
	}
	free(line);
}

void ww_table_text(FILE *out, const struct ww_table *tab, const struct ww_text_opts *o)
{
	const struct ww_analysis *a = tab->analysis;
	struct ww_text t = {.out = out, .f = tab->facts, .o = o};
	size_t ncells = (size_t)tab->nrows * a->ncolumns;

	ww_arena_init(&t.mem);
	struct word *words = WW_ARENA_ARRAY(&t.mem, struct word, ncells + 1);
	size_t *width = WW_ARENA_ARRAY(&t.mem, size_t, a->ncolumns);
	size_t longest = 0;
	for (uint32_t c = 0; c < a->ncolumns; c++) {
		width[c] = strlen(a->columns[c].heading);
		for (size_t i = c; i < ncells; i += a->ncolumns) {
			words[i].s = cell_text(&t, &a->columns[c], &tab->cells[i], &tab->cells[i - c]);
			words[i].n = strlen(words[i].s);
			width[c] = WW_MAX(width[c], words[i].n);
		}
		longest = WW_MAX(longest, width[c] + 2);
	}
	const uint32_t n = columns_that_fit(a, width, o->table_width);
	if (is_words(&a->columns[n - 1]))
		width[n - 1] = 0; /* nothing stands behind it */
	for (uint32_t c = 0; c < n; c++)
		fprintf(out, "%s%s%*s%s%s", c ? "  " : "", ww_paint_on(&t, WW_P_BOLD),
			(int)width[c] * (is_words(&a->columns[c]) ? -1 : 1), a->columns[c].heading,
			ww_paint_off(&t, WW_P_BOLD), c + 1 == n ? "\n" : "");
	put_rows(out, tab, words, width, n, longest);
	if (n < a->ncolumns)
		name_left_out(&t, a, n);
	ww_arena_release(&t.mem);
}

/* The series of a row, and how many rows one point of time has. */
static uint32_t chart_series(const struct ww_table *t)
{
	const uint32_t width = t->analysis->ncolumns, col = t->analysis->chart->series;
	uint32_t n = 1;

	while (n < t->nrows && t->cells[(size_t)n * width + col].i != t->cells[col].i)
		n++;
	return n;
}

/* `n` slices of a series from the first on, and their mean; `nseries`: rows of one slice. */
static void chart_line(FILE *out, const struct ww_table *tab, uint32_t series, uint32_t nseries, uint32_t first, uint32_t n)
{
	static const char *const blocks[] = {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	const struct ww_chart *chart = tab->analysis->chart;
	const union ww_cell *row = tab->cells + ((size_t)first * nseries + series) * tab->analysis->ncolumns;
	char label[32];
	double sum = 0;

	if (row[chart->series].i < 0)
		snprintf(label, sizeof(label), "all");
	else
		snprintf(label, sizeof(label), chart->label, (int)row[chart->series].i);
	fprintf(out, "%-8s |", label);
	for (uint32_t k = 0; k < n; k++, row += (size_t)nseries * tab->analysis->ncolumns) {
		const double v = row[chart->value].d;
		const int level = (int)(v * 8 / 100 + 0.5);

		sum += v;
		/* What is not nothing is seen. */
		fputs(blocks[WW_MAX(WW_MIN(level, 8), v > 0)], out);
	}
	fprintf(out, "| %5.1f %%\n", sum / n);
}

void ww_table_chart(FILE *out, const struct ww_table *tab, uint32_t columns)
{
	const uint32_t nseries = tab->nrows ? chart_series(tab) : 1, nslices = tab->nrows / nseries;
	struct ww_text t = {.out = out, .f = tab->facts};
	uint32_t ts = 0;

	while (tab->analysis->columns[ts].type != WW_T_TIME)
		ts++;
	ww_arena_init(&t.mem);
	for (uint32_t first = 0; first < nslices; first += columns) {
		if (nslices > columns)
			fprintf(out, "%s%s s\n", first ? "\n" : "",
				ww_text_at(&t, tab->cells[(size_t)first * nseries * tab->analysis->ncolumns + ts].i));
		for (uint32_t s = 0; s < nseries; s++)
			chart_line(out, tab, s, nseries, first, WW_MIN(columns, nslices - first));
	}
	ww_arena_release(&t.mem);
}

static void cell_json(struct ww_json *j, const struct ww_column *c, const union ww_cell *v, int64_t offset_ns)
{
	if (is_words(c))
		ww_json_str(j, c->name, v->s);
	else if (c->type == WW_T_PERCENT)
		ww_json_f64(j, c->name, v->d);
	else if (v->i == WW_NO_VALUE)
		ww_json_null(j, c->name);
	else
		ww_json_i64(j, c->name, v->i + (c->type == WW_T_TIME ? offset_ns : 0));
}

int ww_table_json(FILE *out, const struct ww_table *tab, const struct ww_lack *lacks, uint32_t nlacks)
{
	const struct ww_analysis *a = tab->analysis;
	const struct ww_facts *f = tab->facts;
	int64_t offset = f->host.epoch_known ? f->host.clock_offset_ns : 0;
	struct ww_json j;

	ww_json_init(&j, out, true);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "whywait", a->name);
	ww_json_i64(&j, "version", 1);
	ww_json_str(&j, "trace", f->host.trace_path);
	ww_json_str(&j, "host", f->host.name);
	ww_json_clock(&j, f, NULL);
	ww_json_arr(&j, "rows");
	for (uint32_t r = 0; r < tab->nrows; r++) {
		const union ww_cell *v = tab->cells + (size_t)r * a->ncolumns;
		ww_json_obj(&j, NULL);
		for (uint32_t c = 0; c < a->ncolumns; c++)
			cell_json(&j, &a->columns[c], &v[c], offset);
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_lacks(&j, lacks, nlacks);
	ww_json_loss(&j, &f->loss);
	ww_json_end(&j);
	return ww_json_finish(&j);
}
