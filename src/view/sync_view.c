/* sync_view.c - the clocks of a set of hosts as text and JSON. */
#include "base/jsonout.h"
#include "base/units.h"
#include "view/host_json.h"
#include "view/text.h"

/* Rounded to 10^-9 ppm, as JSON has it. */
static double ppm(int64_t drift_e15)
{
	return (double)drift_e15 / 1e9;
}

/* ---- text ---- */

enum { MAX_CELLS = 10 };

struct grid { /* cells of rows, the first row is the heading; columns that are numbers stand right */
	struct ww_text *t;
	WW_VEC(const char *) cell;
	uint32_t ncols;
	bool left[MAX_CELLS];
};

static void put(struct grid *g, const char *text)
{
	*ww_vec_push(&g->cell) = ww_text_printable(g->t, text);
}

/* A row as lines, a cell each, behind its heading. */
static void print_records(struct grid *g, struct ww_text *t)
{
	size_t widest = 0;

	for (uint32_t c = 0; c < g->ncols; c++)
		widest = WW_MAX(widest, strlen(g->cell.v[c]));
	for (size_t i = g->ncols; i < g->cell.n; i++) {
		uint32_t c = (uint32_t)(i % g->ncols);
		if (!c && i > g->ncols)
			fputc('\n', t->out);
		if (!*g->cell.v[i])
			continue;
		fprintf(t->out, "%s%-*s%s  ", ww_paint_on(t, WW_P_BOLD), (int)widest, g->cell.v[c], ww_paint_off(t, WW_P_BOLD));
		ww_text_wrap(t, (uint32_t)widest + 2, (uint32_t)widest + 2, g->cell.v[i], WW_P_NONE);
	}
}

/* `below`: the last column stands on a line of its own. */
static void print_rows(struct grid *g, struct ww_text *t, const size_t *width, bool below)
{
	for (size_t i = 0; i < g->cell.n; i++) {
		uint32_t c = (uint32_t)(i % g->ncols);
		bool end = c + 1 == g->ncols, last = end || (below && c + 2 == g->ncols);
		int pad = end && g->left[c] ? 0 : (int)width[c] * (g->left[c] ? -1 : 1);

		if (end && below)
			fprintf(t->out, "%*s", (int)width[0] + 2, "");
		else if (c)
			fputs("  ", t->out);
		fprintf(t->out, "%s%*s%s%s", i < g->ncols ? ww_paint_on(t, WW_P_BOLD) : "", last && g->left[c] ? 0 : pad, g->cell.v[i],
			i < g->ncols ? ww_paint_off(t, WW_P_BOLD) : "", last ? "\n" : "");
	}
}

static void print_grid(struct grid *g, struct ww_text *t)
{
	size_t width[MAX_CELLS] = {0}, all = 0;

	for (size_t i = 0; i < g->cell.n; i++)
		width[i % g->ncols] = WW_MAX(width[i % g->ncols], strlen(g->cell.v[i]));
	for (uint32_t c = 0; c < g->ncols; c++)
		all += width[c] + (c ? 2 : 0);
	const size_t last = width[g->ncols - 1];
	if (all <= t->o->width)
		print_rows(g, t, width, false);
	else if (all - last - 2 <= t->o->width && width[0] + 2 + last <= t->o->width)
		print_rows(g, t, width, true);
	else
		print_records(g, t);
	ww_vec_free(&g->cell);
}

static const char *seconds(struct ww_arena *mem, int64_t ns)
{
	uint64_t u = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	return ww_arena_printf(mem, "%s%" PRIu64 ".%09" PRIu64 " s", ns < 0 ? "-" : "+",
			       u / (uint64_t)WW_NS_PER_S, u % (uint64_t)WW_NS_PER_S);
}

static const char *bound(struct ww_text *t, int64_t ns)
{
	return ns < 0 ? "unknown" : ww_text_dur(t, ns);
}

/* Is a host corrected over another one than the reference? */
static bool is_far(const struct ww_set *s)
{
	for (uint32_t h = 0; h < s->nhosts; h++)
		if (s->corrections[h].via != WW_NONE && s->corrections[h].via != s->reference)
			return true;
	return false;
}

static void hosts_text(struct ww_text *t, const struct ww_set *s, bool stats)
{
	struct grid g = {.t = t, .left = {true}};
	static const char *const heads[] = {"host", "offset", "drift", "within", "over", "start time", "accuracy", "trace"};
	const bool over = is_far(s);

	for (int c = 0; c < 8; c++) {
		if ((c == 4 && !over) || (c == 5 && !stats))
			continue;
		g.left[g.ncols++] = c == 0 || c == 4 || c > 5;
		put(&g, heads[c]);
	}
	for (uint32_t h = 0; h < s->nhosts; h++) {
		const struct ww_correction *c = &s->corrections[h];
		bool none = c->accuracy == WW_AC_NONE;
		put(&g, s->who[h].label);
		put(&g, none ? "-" : seconds(&t->mem, c->offset_ns));
		put(&g, none ? "-" : ww_arena_printf(&t->mem, "%+.3f ppm", ppm(c->drift_e15)));
		put(&g, none ? "-" : bound(t, c->bound_ns));
		if (over)
			put(&g, c->via == WW_NONE || c->via == s->reference ? "" : s->who[c->via].label);
		if (stats)
			put(&g, seconds(&t->mem, ww_correction_apply(c, s->who[h].begin_ns)) + 1);
		put(&g, ww_accuracy_name(c->accuracy));
		put(&g, s->who[h].path);
	}
	print_grid(&g, t);
}

static void pairs_text(struct ww_text *t, const struct ww_set *s)
{
	struct grid g = {.t = t, .ncols = 8, .left = {true, true, false, false, false, false, false, true}};
	static const char *const heads[] = {"between", "and", "matched", "unmatched", "drift", "within",
					    "arrived too early", "accuracy"};

	for (size_t i = 0; i < WW_ARRAY_SIZE(heads); i++)
		put(&g, heads[i]);
	for (uint32_t i = 0; i < s->npairs; i++) {
		const struct ww_pair *p = &s->pairs[i];
		put(&g, s->who[p->a].label);
		put(&g, s->who[p->b].label);
		put(&g, ww_arena_printf(&t->mem, "%" PRIu64, p->matched));
		put(&g, ww_arena_printf(&t->mem, "%" PRIu64, p->unmatched));
		put(&g, p->accuracy == WW_AC_NONE ? "-" : ww_arena_printf(&t->mem, "%+.3f ppm", ppm(p->drift_e15)));
		put(&g, p->accuracy == WW_AC_NONE ? "-" : bound(t, p->bound_ns));
		put(&g, p->violations_after ? ww_arena_printf(&t->mem, "%" PRIu64 ", by up to %s", p->violations_after,
							      ww_text_dur(t, p->violation_max_ns)) : "0");
		put(&g, ww_accuracy_name(p->accuracy));
	}
	print_grid(&g, t);
}

static void put_remark(struct ww_text *t, const char *words)
{
	if (*words == '\n')
		fputc(*words++, t->out);
	ww_text_wrap(t, 0, 2, words, WW_P_NONE);
}

static void remarks_text(struct ww_text *t, const struct ww_set *s)
{
	uint64_t violations = 0;

	for (uint32_t i = 0; i < s->npairs; i++)
		violations += s->pairs[i].violations_after;
	if (violations)
		put_remark(t, ww_arena_printf(&t->mem, "\nAfter correction %" PRIu64 " packet%s arrive%s before being sent: a clock did not "
					      "run at a steady rate.", violations, violations == 1 ? "" : "s", violations == 1 ? "s" : ""));
	for (uint32_t h = 0; h < s->nhosts; h++)
		if (s->corrections[h].nbends)
			put_remark(t, ww_arena_printf(&t->mem, "\n%s: the clock changed its speed (it was slewed): the correction has "
						      "%u pieces, its drift is their mean.", s->who[h].label, s->corrections[h].nbends - 1));
	if (!ww_set_is_whole(s))
		fputc('\n', t->out);
	ww_set_remarks(t->out, s, "", t->o->width);
}

void ww_set_remarks(FILE *out, const struct ww_set *s, const char *before, uint32_t width)
{
	const struct ww_text_opts o = {.width = width};
	struct ww_text t = {.out = out, .o = &o};
	const char *why;

	ww_arena_init(&t.mem);
	for (uint32_t h = 0; h < s->nhosts; h++) {
		if (s->corrections[h].accuracy == WW_AC_FAIL)
			why = ": no steady clock agrees with all its packets (it was set): its times are right only until then.";
		else if (s->corrections[h].accuracy != WW_AC_NONE)
			continue;
		else if (s->who[h].packets)
			why = ww_arena_printf(&t.mem, " shares no packets with %s: its clock is not corrected.", s->who[s->reference].label);
		else
			why = " recorded no packets: its clock is not corrected.";
		put_remark(&t, ww_arena_printf(&t.mem, "%s%s%s", before, s->who[h].label, why));
	}
	ww_arena_release(&t.mem);
}

void ww_sync_text(FILE *out, const struct ww_set *s, const struct ww_text_opts *o, bool stats)
{
	struct ww_text t = {.out = out, .o = o};

	ww_arena_init(&t.mem);
	put_remark(&t, ww_arena_printf(&t.mem, "Clocks of %u hosts, as offsets to that of %s", s->nhosts, s->who[s->reference].label));
	putc('\n', out);
	hosts_text(&t, s, stats);
	if (stats && s->npairs) {
		putc('\n', out);
		pairs_text(&t, s);
		putc('\n', out);
		ww_text_wrap(&t, 0, 0, "Within, of a pair: from its own packets alone, over the trace of the first. Of a host: over its own "
			     "trace, the sum of what is possible between each two on its way to the reference.", WW_P_DIM);
	}
	remarks_text(&t, s);
	ww_arena_release(&t.mem);
}

/* ---- JSON ---- */

void ww_json_not_reached(struct ww_json *j, const struct ww_set *s)
{
	ww_json_arr(j, "not_reached");
	for (uint32_t i = 0; i < s->nunreached; i++)
		ww_json_str(j, NULL, s->who[s->unreached[i]].label);
	ww_json_end(j);
}

static void put_bound(struct ww_json *j, int64_t bound_ns)
{
	if (bound_ns < 0)
		ww_json_null(j, "bound_ns");
	else
		ww_json_i64(j, "bound_ns", bound_ns);
}

static void host_json(struct ww_json *j, const struct ww_set *s, uint32_t h)
{
	const struct ww_correction *c = &s->corrections[h];

	ww_json_obj(j, NULL);
	ww_json_str(j, "host", s->who[h].name);
	ww_json_str(j, "trace", s->who[h].path);
	ww_json_i64(j, "t0_ns", c->t0_ns);
	ww_json_i64(j, "offset_ns", c->offset_ns);
	ww_json_f64(j, "drift_ppm", ppm(c->drift_e15));
	put_bound(j, c->bound_ns);
	ww_json_str(j, "accuracy", ww_accuracy_name(c->accuracy));
	ww_json_bool(j, "reference", h == s->reference);
	ww_json_str(j, "via", c->via == WW_NONE ? NULL : s->who[c->via].label);
	ww_json_u64(j, "packets", s->who[h].packets);
	if (c->nbends) {
		ww_json_arr(j, "bends");
		for (uint32_t i = 0; i < c->nbends; i++) {
			ww_json_obj(j, NULL);
			ww_json_i64(j, "t_ns", c->bends[i].t_ns);
			ww_json_i64(j, "reference_ns", c->bends[i].ref_ns);
			ww_json_end(j);
		}
		ww_json_end(j);
	}
	ww_json_end(j);
}

int ww_sync_json(FILE *out, const struct ww_set *s)
{
	struct ww_json j;

	ww_json_init(&j, out, true);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "whywait", "sync");
	ww_json_i64(&j, "version", 1);
	ww_json_arr(&j, "hosts");
	for (uint32_t h = 0; h < s->nhosts; h++)
		host_json(&j, s, h);
	ww_json_end(&j);
	ww_json_arr(&j, "pairs");
	for (uint32_t i = 0; i < s->npairs; i++) {
		const struct ww_pair *p = &s->pairs[i];
		ww_json_obj(&j, NULL);
		ww_json_str(&j, "a", s->who[p->a].label);
		ww_json_str(&j, "b", s->who[p->b].label);
		ww_json_u64(&j, "matched", p->matched);
		ww_json_u64(&j, "unmatched", p->unmatched);
		ww_json_u64(&j, "violations_after", p->violations_after);
		ww_json_i64(&j, "violation_max_ns", p->violation_max_ns);
		put_bound(&j, p->accuracy == WW_AC_NONE ? -1 : p->bound_ns);
		ww_json_str(&j, "accuracy", ww_accuracy_name(p->accuracy));
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_not_reached(&j, s);
	ww_json_end(&j);
	return ww_json_finish(&j);
}
