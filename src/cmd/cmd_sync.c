/* cmd_sync.c - whywait sync: the clocks of several hosts made one.
 *
 * Traces are read at once, a thread each, as many as there are CPUs. What the clocks need is taken from the packets'
 * facts while a trace is read, so that of the facts only the last packets are in memory.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/par.h"
#include "clock/stored.h"
#include "clock/sync.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_run.h"
#include "model/model.h"
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

struct reading {
	const struct ww_opts *o;
	pthread_t main; /* which prints */
	bool on, shown;
	struct timespec begin;
	atomic_ullong events; /* of all traces */
	struct one {
		struct reading *all;
		uint64_t events;
		struct ww_sync_part *part;
		char *notes;
		bool loss;
		int rc;
		struct ww_err err;
	} *one; /* of ntraces */
};

static bool show_progress(void *ctx, uint64_t events)
{
	struct one *one = ctx;
	struct reading *r = one->all;
	uint64_t all = atomic_fetch_add(&r->events, events - one->events) + events - one->events;
	struct timespec now;

	one->events = events;
	if (!r->on || !pthread_equal(pthread_self(), r->main))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - r->begin.tv_sec >= 1) {
		fprintf(stderr, "\rreading: %.1f million events ", (double)all / 1e6);
		r->shown = true;
	}
	return false;
}

static void take_packets(void *ctx, const struct ww_facts *f, uint32_t n)
{
	const struct one *one = ctx;

	ww_sync_part_take(one->part, f, n);
}

static void read_one(void *ctx, uint32_t i)
{
	struct reading *r = ctx;
	struct one *one = &r->one[i];
	struct ww_model_opts mo = {.progress = show_progress, .progress_ctx = one, .packets_only = true,
				   .packets = take_packets, .packets_ctx = one,
				   .one_thread = (unsigned)r->o->ntraces >= ww_par_threads()};
	struct ww_trace *t = NULL;
	struct ww_facts f;
	size_t size;

	if ((one->rc = ww_trace_open(r->o->traces[i], NULL, &t, &one->err)))
		return;
	ww_facts_init(&f);
	one->part = ww_sync_part_new();
	one->rc = ww_model_run(t, &mo, &f, &one->err);
	FILE *notes = open_memstream(&one->notes, &size);
	if (notes) {
		ww_load_notes(notes, t, &f, r->o);
		fclose(notes);
	}
	one->loss = f.loss.lost_events || f.loss.bad_packets;
	if (!one->rc)
		ww_sync_part_end(one->part, &f);
	ww_trace_close(t);
	ww_facts_release(&f);
}

/* Messages come in the order of the traces; after the first that cannot be read there are none. */
static int join_traces(struct ww_sync *s, struct reading *r)
{
	int worst = WW_EXIT_DONE;

	for (int i = 0; i < r->o->ntraces && worst != WW_EXIT_FAILED; i++) {
		struct one *one = &r->one[i];
		struct ww_sync_part *part = one->part;

		if (one->notes)
			fputs(one->notes, stderr);
		if (one->rc)
			return ww_opts_fail(&one->err);
		one->part = NULL;
		ww_sync_join(s, part);
		if (one->loss)
			worst = WW_EXIT_PARTIAL;
	}
	return worst;
}

static int read_traces(struct ww_sync *s, const struct ww_opts *o)
{
	struct reading r = {.o = o, .main = pthread_self(), .on = !o->quiet && isatty(STDERR_FILENO)};

	clock_gettime(CLOCK_MONOTONIC, &r.begin);
	r.one = ww_xcalloc((size_t)o->ntraces, sizeof(*r.one));
	for (int i = 0; i < o->ntraces; i++)
		r.one[i].all = &r;
	ww_par_run((uint32_t)o->ntraces, read_one, &r);
	if (r.shown)
		fputs("\r\033[K", stderr);
	int rc = join_traces(s, &r);
	for (int i = 0; i < o->ntraces; i++) {
		ww_sync_part_free(r.one[i].part);
		free(r.one[i].notes);
	}
	free(r.one);
	return rc;
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
		.groups = WW_OG_JSON | WW_OG_FACTS, .extra = extra, .on_extra = on_extra, .ctx = &a,
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
			struct ww_text_opts to = {.color = ww_opts_color(&o, stdout), .width = ww_text_columns(stdout, 100), .verbose = o.verbose > 0};
			if (o.json)
				bad = ww_sync_json(stdout, &set);
			else
				ww_sync_text(stdout, &set, &to, a.stats);
			if (!a.no_store)
				store(&set, &o);
			rc = ww_set_is_whole(&set) ? rc : WW_EXIT_PARTIAL;
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
