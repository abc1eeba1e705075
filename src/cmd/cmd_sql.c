/* cmd_sql.c - whywait sql: SQL over facts and analyses: one query, a file of them, or a prompt.
 *
 * What is a query and what a trace: the last operand is a query when nothing of that name exists and it has a blank or
 * a semicolon in it, as every SELECT has and few paths have.
 */
#include <errno.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_run.h"
#include "cmd/sql_prompt.h"

enum { OPT_CSV, OPT_FILE, OPT_MARKDOWN, NOPT };

#define MAX_FILES 16
#define MAX_TEXT (16u << 20) /* of a file of queries */

struct asked {
	bool csv, markdown;
	const char *files[MAX_FILES];
	int nfiles;
	const char *query;
};

static bool on_extra(void *ctx, int index, const char *arg)
{
	struct asked *a = ctx;

	switch (index) {
	case OPT_CSV:
		a->csv = true;
		return true;
	case OPT_MARKDOWN:
		a->markdown = true;
		return true;
	default:
		if (a->nfiles == MAX_FILES)
			return false;
		a->files[a->nfiles++] = arg;
		return true;
	}
}

static bool is_query(const char *s)
{
	return strpbrk(s, " \t\n;") && access(s, F_OK);
}

/* The whole stream; NULL when it cannot be read, with a message. The caller frees it. */
static char *read_all(FILE *in, const char *name)
{
	char *text = NULL;
	size_t n = 0, got, cap = 0;

	do {
		if (n + 65536 > cap)
			text = ww_xrealloc(text, (cap = 2 * cap + 65536) + 1);
		got = fread(text + n, 1, 65536, in);
		n += got;
	} while (got && n <= MAX_TEXT);
	text[n] = 0;
	if (ferror(in) || n > MAX_TEXT || memchr(text, 0, n)) {
		fprintf(stderr, "whywait sql: %s: %s\n", name,
			ferror(in) ? strerror(errno) : n > MAX_TEXT ? "is too long" : "is not text");
		free(text);
		return NULL;
	}
	return text;
}

static char *read_file(const char *path)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *text = NULL;

	if (!in)
		fprintf(stderr, "whywait sql: %s: %s\n", path, strerror(errno));
	else
		text = read_all(in, path);
	if (in && in != stdin)
		fclose(in);
	return text;
}

static int run_all(struct ww_sql *q, const struct asked *a, struct ww_sql_print *p)
{
	int rc = WW_EXIT_DONE;

	for (int i = 0; i < a->nfiles && !rc; i++) {
		char *text = read_file(a->files[i]);
		rc = text ? ww_sql_script(q, a->files[i], text, p) : WW_EXIT_FAILED;
		free(text);
	}
	if (a->query && !rc) {
		char *text = ww_xstrdup(a->query);
		rc = ww_sql_script(q, "query", text, p);
		free(text);
	}
	if (a->query || a->nfiles || rc)
		return rc;
	if (isatty(STDIN_FILENO))
		return ww_sql_prompt(q, p);
	char *text = read_all(stdin, "stdin");
	rc = text ? ww_sql_script(q, "stdin", text, p) : WW_EXIT_FAILED;
	free(text);
	return rc;
}

static int run(const struct ww_opts *o, const struct asked *a)
{
	struct ww_sql_print p = {.out = stdout, .color = ww_opts_color(o, stdout)};
	struct ww_opts lo = *o;
	struct ww_loaded_set s;
	struct ww_err err = {0};
	struct ww_sql *q;

	p.mode = o->json ? WW_SQL_JSON : a->csv ? WW_SQL_CSV : WW_SQL_TABLE;
	lo.answer_has_loss = o->json;
	lo.no_switches = true;
	int rc = ww_load_set(o->traces, (uint32_t)o->ntraces, &lo, NULL, &s);
	if (rc)
		return rc;
	if (!o->quiet)
		ww_set_remarks(stderr, &s.set, "whywait: ", UINT32_MAX);
	if (ww_sql_open(&s.set, &q, &err)) {
		rc = ww_opts_fail(&err);
	} else {
		if (a->markdown)
			ww_sql_list_markdown(q, stdout);
		else
			rc = run_all(q, a, &p);
		ww_sql_close(q);
		if (!rc)
			rc = ww_exit_worse(ww_load_set_status(&s), ww_set_is_whole(&s.set) ? WW_EXIT_DONE : WW_EXIT_PARTIAL);
		rc = rc == WW_EXIT_FAILED ? rc : ww_exit_worse(rc, ww_load_note_lacks(p.lacks, p.nlacks, o->quiet));
	}
	ww_load_set_release(&s);
	return ww_output_finish(stdout, p.bad, rc);
}

int cmd_sql(int argc, char **argv)
{
	static const struct ww_opt_extra extra[] = {
		[OPT_CSV] = {"csv", 0, NULL, "comma-separated values"},
		[OPT_FILE] = {"file", 'f', "FILE", "the queries of this file (-: stdin); again for more"},
		[OPT_MARKDOWN] = {"markdown", 0, NULL, "the tables and columns there are, as in docs/sql.md"},
		{NULL, 0, NULL, NULL},
	};
	struct asked a = {0};
	const struct ww_opts_spec spec = {
		.name = "sql", .args = "[TRACE...] ['SELECT ...']", .max_traces = WW_OPTS_MAX_TRACES,
		.summary = "SQL over what happened and over every analysis; without a query from stdin, or at a prompt\n"
			   "(.help there; its commands work in a file, too). docs/sql.md and `.tables` name the tables; names are Perfetto's where it has them.",
		.groups = WW_OG_JSON | WW_OG_FACTS, .extra = extra, .on_extra = on_extra, .ctx = &a,
	};
	struct ww_opts o;

	int rc = ww_opts_parse(&o, argc, argv, &spec);
	if (rc >= 0)
		return rc;
	if (o.json && a.csv) {
		fputs("whywait sql: either --json or --csv\n", stderr);
		return WW_EXIT_USAGE;
	}
	if (is_query(o.traces[o.ntraces - 1]) && !a.markdown) {
		a.query = o.traces[--o.ntraces];
		if (!o.ntraces)
			o.traces[o.ntraces++] = WW_DEFAULT_TRACE;
	}
	return run(&o, &a);
}
