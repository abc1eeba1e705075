/* table_cmd.c - whywait usage, sched, syscalls, ...: the analyses of analyses.c as commands.
 *
 * One function serves them all: load, run, sort, cut, print. An analysis NAME_X is `whywait NAME --by=X`; with --every
 * it is NAME_X_time, where there is one.
 */
#include "analysis/target.h"
#include "base/units.h"
#include "cmd/table_cmd.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_run.h"
#include "view/view.h"

enum { OPT_SORT, OPT_ALL, OPT_BY, OPT_EVERY, OPT_WIDTH, NOPT };

#define CHART_FRAME 20 /* columns of a chart that are its label, frame and mean */
#define CHART_TOP 20   /* rows below a chart */

struct table_opts {
	const struct ww_analysis *first, *analysis;
	const char *sort;
	bool all; /* not the command's threads alone */
	int64_t every_ns;
	uint32_t width; /* of the chart; 0: the terminal's */
};

/* The analysis `first`_`by`; NULL none. */
static const struct ww_analysis *find_by(const struct ww_analysis *first, const char *by)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", first->name, by);
	return ww_analysis_find(name);
}

static bool is_of(const struct ww_analysis *first, const struct ww_analysis *a)
{
	const size_t len = strlen(first->name);

	return !strncmp(a->name, first->name, len) && (!a->name[len] || a->name[len] == '_');
}

/* The analysis that is drawn above the rows of `first`; NULL none. */
static const struct ww_analysis *chart_of(const struct ww_analysis *first)
{
	const struct ww_analysis *a = find_by(first, "time");

	return a && a->chart ? a : NULL;
}

/* "process, cpu, time": what --by of this command takes. */
static const char *list_by(const struct ww_analysis *first, char *buf, size_t size)
{
	const size_t len = strlen(first->name);
	size_t n = 0;

	*buf = 0;
	for (const struct ww_analysis *const *a = ww_analyses; *a && n < size; a++)
		if (is_of(first, *a) && *a != first)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", (*a)->name + len + 1);
	return buf;
}

/* The columns, of every kind of rows. */
static void help_columns(void *ctx, FILE *out)
{
	const struct table_opts *t = ctx;

	for (const struct ww_analysis *const *a = ww_analyses; *a; a++) {
		if (!is_of(t->first, *a))
			continue;
		fprintf(out, "\n%s: %s\n", (*a)->name, (*a)->summary);
		for (uint32_t c = 0; c < (*a)->ncolumns; c++) {
			const struct ww_column *col = &(*a)->columns[c];
			fprintf(out, *col->doc ? "  %-18s %s\n" : "  %s\n", col->name, col->doc);
		}
	}
}

static bool on_extra(void *ctx, int index, const char *arg)
{
	struct table_opts *t = ctx;

	switch (index) {
	case OPT_BY:
		t->analysis = find_by(t->first, arg);
		return t->analysis;
	case OPT_SORT:
		t->sort = arg;
		return true;
	case OPT_ALL:
		return t->all = true;
	case OPT_EVERY:
		return ww_dur_parse(arg, &t->every_ns) && t->every_ns > 0;
	default:
		t->width = (uint32_t)strtoul(arg, NULL, 10);
		return t->width >= CHART_FRAME + 10 && t->width <= 10000;
	}
}

/* Sorted by the column of that name; 0 or -WW_EUSAGE. */
static int sort_rows(struct ww_arena *mem, struct ww_table *t, const char *name, struct ww_err *err)
{
	const struct ww_analysis *a = t->analysis;
	char names[512] = "";
	size_t n = 0;

	for (uint32_t c = 0; c < a->ncolumns; c++) {
		if (!strcmp(a->columns[c].name, name)) {
			ww_table_sort(mem, t, c);
			return 0;
		}
		if (n < sizeof(names))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", c ? ", " : "", a->columns[c].name);
	}
	ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "no column '%s' to sort by", name);
	return ww_err_hint(err, "the columns are %s", names);
}

/* Nobody asked for others, and the trace names a command. */
static bool of_command(const struct ww_loaded *l, const struct table_opts *to, const struct ww_opts *o)
{
	const struct ww_query *q = &l->query;

	return to->analysis->of_command && !to->all && q->tid < 0 && q->pid < 0 && !q->comm && !q->cgroup &&
	       l->facts.target != WW_NONE;
}

static struct ww_query query_of(const struct ww_loaded *l, const struct table_opts *to, const struct ww_opts *o)
{
	struct ww_query q = l->query;

	q.top = 0; /* cut after sorting */
	q.every_ns = to->every_ns;
	q.command_only = of_command(l, to, o);
	return q;
}

static int make(struct ww_arena *mem, const struct ww_loaded *l, const struct table_opts *to, const struct ww_opts *o,
		struct ww_table *ret, struct ww_err *err)
{
	const struct ww_query q = query_of(l, to, o);
	int rc;

	rc = ww_query_check(&l->facts, &q, err);
	if (!rc)
		rc = to->analysis->run(mem, &l->facts, &q, ret, err);
	if (!rc && to->sort)
		rc = sort_rows(mem, ret, to->sort, err);
	return rc;
}

/* How the same went over time, above the rows. */
static int put_chart(struct ww_arena *mem, const struct ww_loaded *l, const struct table_opts *to, uint32_t width,
		     struct ww_err *err)
{
	const struct ww_analysis *a = chart_of(to->first);
	const int64_t from = WW_MAX(l->query.from_ts_ns, l->facts.begin_ts_ns),
		      to_ts = WW_MIN(l->query.to_ts_ns, l->facts.end_ts_ns);
	struct ww_query q = l->query;
	struct ww_table t;
	int rc;

	if (from >= to_ts)
		return 0;
	width = WW_MAX(width, CHART_FRAME + 10) - CHART_FRAME;
	q.every_ns = to->every_ns ? to->every_ns : (to_ts - from + width - 1) / width;
	q.top = 0;
	rc = a->run(mem, &l->facts, &q, &t, err);
	if (rc)
		return rc;
	ww_table_chart(stdout, &t, width);
	putchar('\n');
	return 0;
}

static void put_whose(const struct ww_loaded *l, const struct table_opts *to, const struct ww_query *q)
{
	const struct ww_facts *f = &l->facts;
	struct ww_query everybody = *q;
	struct ww_lack lacks[WW_LACK_N];

	everybody.command_only = false;
	const uint32_t n = ww_analysis_lacks(f, to->analysis, &everybody, lacks);
	printf("Of %s (%d) and its children; --all: of everybody%s\n", ww_facts_str(f, f->thread.comm[f->target]),
	       f->thread.tid[f->target], n && lacks[n - 1].threads ? ", of whom less is recorded" : "");
}

static int print(const struct ww_loaded *l, const struct table_opts *to, const struct ww_opts *o)
{
	struct ww_text_opts text = ww_text_opts_of(o, stdout, 0, false);
	struct ww_lack lacks[WW_LACK_N];
	const struct ww_query q = query_of(l, to, o);
	const uint32_t n = ww_analysis_lacks(&l->facts, to->analysis, &q, lacks);
	const bool chart = !o->json && to->analysis == to->first && chart_of(to->first) && !(n && lacks[0].all);
	struct ww_err err = {0};
	struct ww_arena mem;
	struct ww_table t;
	int rc, bad = 0;

	text.table_width = o->verbose > 0 ? 0 : ww_text_columns(stdout, 0);
	ww_arena_init(&mem);
	rc = make(&mem, l, to, o, &t, &err);
	const uint32_t made = rc ? 0 : t.nrows, top = o->top > 0 ? (uint32_t)o->top : chart && o->top < 0 ? CHART_TOP : made;
	if (!rc)
		t.nrows = WW_MIN(made, top);
	if (rc)
		rc = ww_opts_fail(&err);
	else if (o->json)
		bad = ww_table_json(stdout, &t, lacks, n);
	else if (chart && (rc = put_chart(&mem, l, to, to->width ? to->width : text.width, &err)))
		rc = ww_opts_fail(&err);
	else
		ww_table_text(stdout, &t, &text);
	if (!rc && !o->json && !o->quiet && made > top)
		printf("%u more %s: --top=0 shows all\n", made - top, made - top > 1 ? "rows" : "row");
	if (!rc && !o->json && !o->quiet && q.cgroup && to->analysis->whole_threads)
		printf("Of all that were ever in %s, their whole time\n", q.cgroup);
	if (!rc && !o->json && !o->quiet && q.command_only)
		put_whose(l, to, &q);
	ww_arena_release(&mem);
	return ww_output_finish(stdout, bad, rc ? rc : ww_exit_worse(ww_load_status(l), ww_load_note_lacks(lacks, n, o->quiet)));
}

/* An option that would change nothing is refused. */
static int check_options(const struct table_opts *to, const struct ww_opts *o)
{
	const bool chart = !o->json && to->analysis == to->first && chart_of(to->first);
	const size_t len = strlen(to->analysis->name);
	const bool slices = len > 5 && !strcmp(to->analysis->name + len - 5, "_time");

	if (to->every_ns && !chart && !slices)
		fprintf(stderr, "whywait %s: --every is for slices of time, and these rows are of the whole\n", to->first->name);
	else if (to->width && !chart)
		fprintf(stderr, "whywait %s: --width is for the chart, and these rows have none\n", to->first->name);
	else
		return WW_EXIT_DONE;
	return WW_EXIT_USAGE;
}

int ww_table_cmd(int argc, char **argv)
{
	struct table_opts to = {.first = ww_analysis_find(argv[0])};
	char by[128], by_doc[192];
	struct ww_loaded l;
	struct ww_opts o;
	int rc;

	WW_ASSERT(to.first);
	to.analysis = to.first;
	snprintf(by_doc, sizeof(by_doc), "rows of another kind: %s", list_by(to.first, by, sizeof(by)));
	struct ww_opt_extra extra[NOPT + 1] = {
		[OPT_SORT] = {"sort", 's', "COLUMN", "by this column, named as in JSON"},
		[OPT_BY] = {"by", 'b', "WHAT", by_doc},
		[OPT_ALL] = {"all", 'a', NULL, "of everybody, where it is of the recorded command and its children else"},
		[OPT_EVERY] = {"every", 0, "DUR", "slices of this length (10ms), for --by=time and a chart"},
		[OPT_WIDTH] = {"width", 'w', "N", "columns of the chart, 30 to 10000; else the terminal's. Slices that have no room go on below"},
	};
	if (!*by)
		extra[OPT_BY].name = NULL;
	if (!find_by(to.first, "time"))
		extra[OPT_EVERY].name = NULL;
	if (!chart_of(to.first))
		extra[OPT_WIDTH].name = NULL;
	const struct ww_opts_spec spec = {
		.name = to.first->name, .args = "[TRACE]", .max_traces = 1, .summary = to.first->summary,
		.groups = WW_OG_SELECT | WW_OG_RANGE | WW_OG_JSON | WW_OG_TOP | WW_OG_FACTS,
		.extra = extra, .on_extra = on_extra, .ctx = &to, .more_help = help_columns,
	};
	rc = ww_opts_parse(&o, argc, argv, &spec);
	if (rc >= 0)
		return rc;
	if (to.every_ns && (to.analysis != to.first || o.json || !chart_of(to.first)) && find_by(to.analysis, "time"))
		to.analysis = find_by(to.analysis, "time");
	rc = check_options(&to, &o);
	if (rc)
		return rc;
	o.no_switches = true;
	rc = ww_load(o.traces[0], &o, &l);
	if (rc)
		return rc;
	rc = print(&l, &to, &o);
	ww_load_release(&l);
	return rc;
}
