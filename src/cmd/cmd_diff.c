/* cmd_diff.c - whywait diff: recordings of a command before and after a change.
 *
 * `diff A B`, or several a side with `--` between the sides: `diff A1 A2 A3 -- B1 B2 B3`. getopt forgets
 * where the
 * `--` stood, so the operands behind it are counted first. One trace is in memory at a time.
 */
#include "analysis/diff.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_run.h"
#include "view/view.h"

/* How many operands stand behind the first "--"; -1: there is none. */
static int count_after(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return argc - i - 1;
	return -1;
}

static int add(struct ww_diff_maker *m, struct ww_arena *mem, const struct ww_opts *o, uint32_t i,
	       struct ww_diff_recording *ret)
{
	const struct ww_report_opts ro = {.waits = true};
	struct ww_arena own;
	struct ww_loaded l;
	struct ww_report r;
	struct ww_err err = {0};
	int rc = ww_load(o->traces[i], o, &l);

	if (rc)
		return rc;
	ww_arena_init(&own);
	if (ww_report_make(&own, &l.facts, &l.query, &ro, &r, &err)) {
		rc = ww_opts_fail(&err);
	} else {
		const struct ww_facts *f = &l.facts;
		uint32_t t = r.main.thread;
		const char *cmd = t == f->target ? ww_facts_str(f, f->target_cmdline) : "";
		*ret = (struct ww_diff_recording){
			.trace = o->traces[i],
			.lost_events = f->loss.lost_events,
			.comm = ww_arena_strdup(mem, ww_facts_str(f, f->thread.comm[t])),
			.command = ww_arena_strdup(mem, *cmd ? cmd : ww_facts_str(f, f->thread.exe[t]))};
		ww_diff_add(m, i, &r);
		rc = ww_load_status(&l);
	}
	ww_arena_release(&own);
	ww_load_release(&l);
	return rc;
}

static const char *title_of(const struct ww_diff_recording *r)
{
	return *r->command ? r->command : r->comm;
}

static int run(const struct ww_opts *o, uint32_t nbefore)
{
	struct ww_text_opts text = ww_text_opts_of(o, stdout, o->top > 0 ? (uint32_t)o->top : 0, false);
	struct ww_diff_recording recordings[WW_OPTS_MAX_TRACES] = {0};
	const uint32_t n = (uint32_t)o->ntraces;
	struct ww_arena mem;
	struct ww_diff d;
	int rc = WW_EXIT_DONE, bad = 0;

	ww_arena_init(&mem);
	struct ww_diff_maker *m = ww_diff_begin(&mem, nbefore, n - nbefore);
	for (uint32_t i = 0; i < n && rc != WW_EXIT_FAILED && rc != WW_EXIT_USAGE; i++) {
		int one = add(m, &mem, o, i, &recordings[i]);
		rc = one == WW_EXIT_USAGE ? one : ww_exit_worse(rc, one);
	}
	ww_diff_finish(m, &d);
	if (rc == WW_EXIT_FAILED || rc == WW_EXIT_USAGE)
		;
	else if (o->json)
		bad = ww_diff_json(stdout, &d, recordings);
	else
		ww_diff_text(stdout, &d, title_of(&recordings[0]), title_of(&recordings[nbefore]), &text);
	ww_arena_release(&mem);
	return ww_output_finish(stdout, bad, rc);
}

int cmd_diff(int argc, char **argv)
{
	const struct ww_opts_spec spec = {
		.name = "diff",
		.args = "BEFORE AFTER  |  BEFORE... -- AFTER...",
		.max_traces = WW_OPTS_MAX_TRACES,
		.summary = "What takes longer now: recordings of a command before and after a change, "
			   "compared by cause.\n"
			   "Several recordings a side tell the change from chance.",
		.groups = WW_OG_TARGET | WW_OG_RANGE | WW_OG_JSON | WW_OG_TOP | WW_OG_FACTS,
	};
	const int after = count_after(argc, argv);
	struct ww_opts o;
	int rc = ww_opts_parse(&o, argc, argv, &spec);

	if (rc >= 0)
		return rc;
	int nbefore = after < 0 ? 1 : o.ntraces - after;
	if (nbefore < 1 || o.ntraces - nbefore < 1 || (after < 0 && o.ntraces != 2)) {
		fputs("whywait diff: two traces, or several a side: whywait diff A1 A2 A3 -- B1 B2 B3\n",
		      stderr);
		return WW_EXIT_USAGE;
	}
	return run(&o, (uint32_t)nbefore);
}
