/* report_run.c - load, analyse, print: the report and the tree. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_run.h"
#include "view/view.h"

#define TEXT_KINDS 6 /* kinds of waits of the text report, unless --top or -v ask for single ones */

uint32_t ww_text_columns(FILE *out, uint32_t otherwise)
{
	const char *env = getenv("COLUMNS");
	long n = env ? strtol(env, NULL, 10) : 0;
	struct winsize w;

	if (n <= 0 && isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &w))
		n = w.ws_col;
	return n <= 0 ? otherwise : (uint32_t)WW_MAX(WW_MIN(n, 400), 40);
}

/* Of a chain a report shows what matters most, a tree more of it. */
struct ww_text_opts ww_text_opts_of(const struct ww_opts *o, FILE *out, uint32_t top, bool tree)
{
	return (struct ww_text_opts){.color = ww_opts_color(o, out), .width = WW_MIN(ww_text_columns(out, 100), 200u), .top = top,
				     .steps = tree ? 12 : 4, .permille = tree ? 10 : 50,
				     .kinds = tree || o->verbose || o->top >= 0 || o->min_dur_ns > 0 ? 0 : TEXT_KINDS,
				     .min_dur_ns = WW_MAX(o->min_dur_ns, 0), .family = o->threads,
				     .verbose = o->verbose > 0};
}

int ww_output_finish(FILE *out, int bad, int rc)
{
	if (!fflush(out) && !ferror(out) && !bad)
		return rc;
	fputs("whywait: the output could not be written\n", stderr);
	return WW_EXIT_FAILED;
}

static int run(const struct ww_opts *opts, FILE *out, bool tree)
{
	struct ww_report_opts ro = {.waits = true, .family_waits = opts->threads};
	struct ww_arena mem;
	struct ww_report r;
	struct ww_loaded l;
	struct ww_err err = {0};
	struct ww_opts lo = *opts;
	uint32_t top = 0;

	lo.answer_has_loss = true;
	int rc = ww_load(opts->traces[0], &lo, &l), bad = 0;

	if (rc)
		return rc;
	if (!tree && !opts->json) { /* the text's sums are of all waits; only what it lists is short */
		top = opts->top >= 0 ? (uint32_t)opts->top : 0;
		l.query.top = 0;
		l.query.min_dur_ns = 0;
	}
	ww_arena_init(&mem);
	rc = ww_report_make(&mem, &l.facts, &l.query, &ro, &r, &err);
	if (rc) {
		rc = ww_opts_fail(&err);
	} else {
		struct ww_text_opts to = ww_text_opts_of(opts, out, top, tree);
		to.width = ww_text_columns(out, 160); /* so wide that few are folded */
		if (opts->json)
			bad = tree ? ww_tree_json(out, &r, opts->threads) : ww_report_json(out, &r, opts->threads);
		else if (tree)
			ww_tree_text(out, &r, &to);
		else
			ww_report_text(out, &r, &to);
		rc = ww_load_status(&l);
	}
	ww_arena_release(&mem);
	ww_load_release(&l);
	return ww_output_finish(out, bad, rc);
}

int ww_report_run(const struct ww_opts *opts, FILE *out)
{
	return run(opts, out, false);
}

int ww_tree_run(const struct ww_opts *opts, FILE *out)
{
	return run(opts, out, true);
}
