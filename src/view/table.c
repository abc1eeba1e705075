/* table.c - any result of rows as text or JSON, from its columns alone. */
#include "base/jsonout.h"
#include "base/units.h"
#include "view/text.h"

static const char *cell_text(struct ww_text *t, const struct ww_column *c, const union ww_cell *v)
{
	char buf[24];

	switch (c->type) {
	case WW_T_DUR:
		return ww_text_dur(t, v->i);
	case WW_T_TIME:
		return ww_arena_printf(&t->mem, "%s s", ww_text_at(t, v->i));
	case WW_T_BYTES:
		return ww_arena_strdup(&t->mem, ww_bytes_format((uint64_t)v->i, buf, sizeof(buf)));
	case WW_T_STR:
		return ww_text_fit(t, v->s, 40);
	default:
		return ww_arena_printf(&t->mem, "%" PRId64, v->i);
	}
}

void ww_table_text(FILE *out, const struct ww_table *tab, const struct ww_text_opts *o)
{
	const struct ww_analysis *a = tab->analysis;
	struct ww_text t = {.out = out, .f = tab->facts, .o = o};
	size_t ncells = (size_t)tab->nrows * a->ncolumns;

	ww_arena_init(&t.mem);
	const char **words = WW_ARENA_ARRAY(&t.mem, const char *, ncells + 1);
	size_t *width = WW_ARENA_ARRAY(&t.mem, size_t, a->ncolumns);
	for (uint32_t c = 0; c < a->ncolumns; c++)
		width[c] = strlen(a->columns[c].heading);
	for (size_t i = 0; i < ncells; i++) {
		uint32_t c = (uint32_t)(i % a->ncolumns);
		words[i] = cell_text(&t, &a->columns[c], &tab->cells[i]);
		width[c] = WW_MAX(width[c], strlen(words[i]));
	}
	for (uint32_t c = 0; c < a->ncolumns; c++)
		fprintf(out, "%s%s%*s%s%s", c ? "  " : "", ww_paint_on(&t, WW_P_BOLD),
			(int)width[c] * (a->columns[c].type == WW_T_STR ? -1 : 1), a->columns[c].heading,
			ww_paint_off(&t, WW_P_BOLD), c + 1 == a->ncolumns ? "\n" : "");
	for (size_t i = 0; i < ncells; i++) {
		uint32_t c = (uint32_t)(i % a->ncolumns);
		fprintf(out, "%s%*s%s", c ? "  " : "", (int)width[c] * (a->columns[c].type == WW_T_STR ? -1 : 1),
			words[i], c + 1 == a->ncolumns ? "\n" : "");
	}
	ww_arena_release(&t.mem);
}

int ww_table_json(FILE *out, const struct ww_table *tab)
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
	ww_json_obj(&j, "clock");
	ww_json_str(&j, "name", f->host.clock_name);
	ww_json_i64(&j, "offset_ns", offset);
	ww_json_bool(&j, "epoch_known", f->host.epoch_known);
	ww_json_end(&j);
	ww_json_arr(&j, "rows");
	for (uint32_t r = 0; r < tab->nrows; r++) {
		const union ww_cell *v = tab->cells + (size_t)r * a->ncolumns;
		ww_json_obj(&j, NULL);
		for (uint32_t c = 0; c < a->ncolumns; c++) {
			const struct ww_column *col = &a->columns[c];
			if (col->type == WW_T_STR)
				ww_json_str(&j, col->name, v[c].s);
			else
				ww_json_i64(&j, col->name, v[c].i + (col->type == WW_T_TIME ? offset : 0));
		}
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_obj(&j, "loss");
	ww_json_u64(&j, "lost_events", f->loss.lost_events);
	ww_json_u64(&j, "bad_packets", f->loss.bad_packets);
	ww_json_u64(&j, "out_of_order", f->loss.out_of_order);
	ww_json_i64(&j, "gap_ns", f->loss.gap_ns);
	ww_json_end(&j);
	ww_json_end(&j);
	return ww_json_finish(&j);
}
