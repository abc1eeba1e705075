/* cmd_sync.c - whywait sync: the clocks of several hosts made one. */
#include "clock/stored.h"
#include "clock/sync.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "view/view.h"

struct args {
	struct ww_set_opts set;
	bool stats, no_store;
};

enum { X_REFERENCE, X_STATS, X_NO_STORE };

static const struct ww_opt_extra extra[] = {
	{"reference", 'r', "TRACE", "the clock that the others are corrected to: a trace or a host's name"},
	{"sync-stats", 's', NULL, "also each pair of hosts: packets matched and not, what arrives too early"},
	{"no-store", 0, NULL, "do not store the corrections beside the traces"},
	{NULL},
};

static bool on_extra(void *ctx, int index, const char *arg)
{
	struct args *a = ctx;

	if (index == X_REFERENCE)
		a->set.reference = arg;
	else if (index == X_STATS)
		a->stats = true;
	else
		a->no_store = true;
	return true;
}

/* Packets of one trace after the other: only what the clocks need of them is kept. */
static int read_traces(struct ww_sync *s, const struct ww_opts *o)
{
	int worst = WW_EXIT_DONE;

	for (int i = 0; i < o->ntraces; i++) {
		struct ww_err err = {0};
		struct ww_facts f;
		int rc = ww_load_packets(o->traces[i], o, &f);
		if (rc)
			return rc;
		if (f.loss.lost_events || f.loss.bad_packets)
			worst = WW_EXIT_PARTIAL;
		rc = ww_sync_add(s, &f, &err);
		ww_facts_release(&f);
		if (rc)
			return ww_opts_fail(&err);
	}
	return worst;
}

static bool is_whole(const struct ww_set *set)
{
	for (uint32_t h = 0; h < set->nhosts; h++)
		if (set->corrections[h].accuracy == WW_AC_NONE || set->corrections[h].accuracy == WW_AC_FAIL)
			return false;
	return true;
}

static void store(const struct ww_set *set, const struct ww_opts *o)
{
	struct ww_err err = {0};

	if (ww_stored_save(set, &err) && !o->quiet)
		ww_opts_fail(&err); /* the answer stands all the same */
}

int cmd_sync(int argc, char **argv)
{
	struct args a = {0};
	const struct ww_opts_spec spec = {
		.name = "sync", .args = "TRACE TRACE...", .max_traces = WW_OPTS_MAX_TRACES,
		.summary = "Clock corrections of several hosts' traces, from the packets that they exchanged: offset, drift,\n"
			   "and how far off they can be.",
		.groups = WW_OG_JSON, .extra = extra, .on_extra = on_extra, .ctx = &a,
	};
	struct ww_err err = {0};
	struct ww_arena mem;
	struct ww_set set;
	struct ww_opts o;
	int rc = ww_opts_parse(&o, argc, argv, &spec), bad = 0;

	if (rc >= 0)
		return rc;
	if (o.ntraces < 2) {
		fputs("whywait sync: it takes the traces of two hosts or more\n", stderr);
		return WW_EXIT_USAGE;
	}
	struct ww_sync *s = ww_sync_new();
	ww_arena_init(&mem);
	rc = read_traces(s, &o);
	if (rc == WW_EXIT_DONE || rc == WW_EXIT_PARTIAL) {
		if (ww_sync_solve(s, &mem, &a.set, &set, &err)) {
			rc = ww_opts_fail(&err);
		} else {
			struct ww_text_opts to = {.color = ww_opts_color(&o, stdout), .width = 100, .verbose = o.verbose > 0};
			if (o.json)
				bad = ww_sync_json(stdout, &set);
			else
				ww_sync_text(stdout, &set, &to, a.stats);
			if (!a.no_store)
				store(&set, &o);
			rc = is_whole(&set) ? rc : WW_EXIT_PARTIAL;
		}
	}
	ww_arena_release(&mem);
	ww_sync_free(s);
	if (bad || fflush(stdout) || ferror(stdout)) {
		fputs("whywait: the output could not be written\n", stderr);
		return WW_EXIT_FAILED;
	}
	return rc;
}
