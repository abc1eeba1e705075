/* load.c - from a path to facts: open, model, notes about damage and loss, the time range. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cache.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/when.h"
#include "model/model.h"
#include "record/outdir.h"

struct progress {
	struct timespec begin;
	bool on, shown;
};

/* One line on a terminal, once reading has taken a second. */
static bool show_progress(void *ctx, uint64_t events)
{
	struct progress *p = ctx;
	struct timespec now;

	if (!p->on)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - p->begin.tv_sec < 1)
		return false;
	fprintf(stderr, "\rreading: %.1f million events ", (double)events / 1e6);
	p->shown = true;
	return false;
}

static void put_notes(FILE *to, const struct ww_facts_notes *damage, const struct ww_facts *f, const struct ww_opts *o)
{
	uint32_t n = damage->n, shown = o->verbose ? n : WW_MIN(n, 3u);

	if (o->quiet)
		return;
	for (uint32_t i = 0; i < shown; i++)
		fprintf(to, "whywait: damaged: %s\n", damage->line[i]);
	if (shown < n)
		fprintf(to, "whywait: damaged: %u more places (-v)\n", n - shown);
	if (f->loss.lost_events && !o->answer_has_loss)
		fprintf(to, "whywait: events lost while recording: %" PRIu64 "; what overlaps the gaps is uncertain\n",
			f->loss.lost_events);
	if (f->loss.unseen_switches > f->run.n / 100)
		fprintf(to, "whywait: the trace does not show %" PRIu64 " of the times that a thread came to a CPU: %s; when those waits "
			"ended is not known\n", f->loss.unseen_switches,
			strncmp(f->host.tracer, "whywait", 7) ? "it may be of single threads (perf record without -a, a tracer that follows some)" :
								"a virtual machine hides the threads that run it");
}

static void take_notes(const struct ww_trace *t, struct ww_facts_notes *ret)
{
	const struct ww_damage *damage;
	uint32_t n = ww_trace_damage(t, &damage);
	char buf[1200];

	for (uint32_t i = 0; i < n; i++) {
		ww_err_format(&damage[i].err, buf, sizeof(buf));
		ww_facts_notes_add(ret, buf);
	}
}

void ww_load_notes(FILE *to, const struct ww_trace *t, const struct ww_facts *f, const struct ww_opts *o)
{
	struct ww_facts_notes notes = {0};

	take_notes(t, &notes);
	put_notes(to, &notes, f, o);
	ww_facts_notes_release(&notes);
}

void ww_load_note_state(const char *path, const struct ww_opts *o)
{
	enum ww_outdir_state state = o->quiet ? WW_OUTDIR_WHOLE : ww_outdir_state(path);

	if (state == WW_OUTDIR_CUT)
		fprintf(stderr, "whywait: %s: its recording did not come to its end (the recorder was killed?): up to a second "
			"of what it saw last may be missing\n", path);
	else if (state == WW_OUTDIR_RECORDING)
		fprintf(stderr, "whywait: %s is being recorded just now: this is what was in it a moment ago\n", path);
}

int ww_load_model(const char *path, const struct ww_opts *o, struct ww_facts *f, struct ww_facts_notes *notes,
		  struct ww_err *err)
{
	struct progress p = {.on = !o->quiet && isatty(STDERR_FILENO)};
	struct ww_model_opts mo = {.progress = show_progress, .progress_ctx = &p};
	struct ww_trace *t = NULL;
	int rc = ww_trace_open(path, NULL, &t, err);

	if (rc)
		return rc;
	clock_gettime(CLOCK_MONOTONIC, &p.begin);
	rc = ww_model_run(t, &mo, f, err);
	if (p.shown)
		fputs("\r\033[K", stderr);
	take_notes(t, notes);
	ww_trace_close(t);
	return rc;
}

static int no_switches(const struct ww_loaded *l, struct ww_err *err)
{
	const bool cut = l->facts.loss.lost_events || l->facts.loss.bad_packets;

	if (cut)
		return ww_err_set(err, WW_EUNSUPPORTED, l->path, WW_ERR_NO_OFFSET,
				  "no sched_switch event could be read: the trace is damaged, or events were lost; what is left does not tell who waited");
	ww_err_set(err, WW_EUNSUPPORTED, l->path, WW_ERR_NO_OFFSET, "the trace has no sched_switch events, so nobody can say who waited");
	return ww_err_hint(err, "what else is in it `whywait info`, syscalls, files, io, irq, net, faults, procs and sql say");
}

/* --from and --to, in the trace's clock. */
static int resolve_range(struct ww_loaded *l, const struct ww_opts *o, struct ww_err *err)
{
	const int64_t begin = l->facts.begin_ts_ns,
		      offset = l->facts.host.epoch_known ? l->facts.host.clock_offset_ns : 0;
	struct ww_query *q = &l->query;
	int rc;

	if (o->from && (rc = ww_time_resolve(l->path, begin, offset, o->from, &q->from_ts_ns, err)))
		return rc;
	if (o->to && (rc = ww_time_resolve(l->path, begin, offset, o->to, &q->to_ts_ns, err)))
		return rc;
	if (q->from_ts_ns < q->to_ts_ns)
		return 0;
	return ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "--from is not before --to");
}

static int make_query(struct ww_loaded *l, const struct ww_opts *o, struct ww_err *err)
{
	int rc;

	l->query = (struct ww_query){.tid = o->tid, .pid = o->pid, .comm = o->comm, .cgroup = o->cgroup, .from_ts_ns = INT64_MIN,
				     .to_ts_ns = INT64_MAX, .min_dur_ns = WW_MAX(o->min_dur_ns, 0),
				     .max_depth = o->depth > 0 ? (uint32_t)o->depth : 0,
				     .top = o->top > 0 ? (uint32_t)o->top : 0};
	if (o->cgroup && (rc = ww_query_need_cgroups(&l->facts, err)))
		return rc;
	return resolve_range(l, o, err);
}

/* l is where the facts stay. */
static int load(const char *path, const struct ww_opts *opts, struct ww_loaded *l, struct ww_err *err)
{
	struct ww_facts_notes notes = {0};
	int rc = 0;

	*l = (struct ww_loaded){.path = ww_xstrdup(path), .cache = ww_cache_new(path, opts)};
	ww_facts_init(&l->facts);
	if (!ww_cache_read(l->cache, &l->facts, &notes)) {
		rc = ww_load_model(path, opts, &l->facts, &notes, err);
		if (!rc && opts->verbose)
			fprintf(stderr, "whywait: the trace itself was read: %s\n", path);
		if (!rc)
			ww_cache_keep(l->cache, &l->facts, &notes);
	}
	ww_load_note_state(path, opts);
	put_notes(stderr, &notes, &l->facts, opts);
	ww_facts_notes_release(&notes);
	if (!rc && !l->facts.knows.switches && !opts->no_switches)
		rc = no_switches(l, err);
	return rc ? rc : make_query(l, opts, err);
}

int ww_load(const char *path, const struct ww_opts *opts, struct ww_loaded *ret)
{
	struct ww_err err = {0};
	int rc = load(path, opts, ret, &err);

	if (rc) {
		rc = ww_opts_fail(&err);
		ww_load_release(ret);
	}
	return rc;
}

void ww_load_release(struct ww_loaded *l)
{
	ww_cache_wait(l->cache);
	ww_facts_release(&l->facts);
	ww_cache_free(l->cache);
	l->cache = NULL;
	free(l->path);
	l->path = NULL;
}

int ww_load_status(const struct ww_loaded *l)
{
	const struct ww_loss *loss = &l->facts.loss;

	return loss->lost_events || loss->bad_packets ? WW_EXIT_PARTIAL : WW_EXIT_DONE;
}

/* ---- several hosts ---- */

/* The reference's range in host h's clock. */
static void range_of_host(struct ww_loaded_set *s, uint32_t h)
{
	const uint32_t ref = s->set.reference;
	const struct ww_query *of = &s->host[ref].query;
	struct ww_query *q = &s->host[h].query;

	if (of->from_ts_ns != INT64_MIN)
		q->from_ts_ns = ww_set_local(&s->set, h, ww_set_time(&s->set, ref, of->from_ts_ns));
	if (of->to_ts_ns != INT64_MAX)
		q->to_ts_ns = ww_set_local(&s->set, h, ww_set_time(&s->set, ref, of->to_ts_ns));
}

static int find_host(const struct ww_loaded_set *s, const char *name, uint32_t *ret, struct ww_err *err)
{
	struct ww_set_host *who = ww_xcalloc(s->n, sizeof(*who));

	for (uint32_t h = 0; h < s->n; h++)
		who[h] = (struct ww_set_host){.name = s->host[h].facts.host.name, .path = s->host[h].path};
	int rc = ww_set_find(who, s->n, name, ret, err);
	free(who);
	return rc;
}

static int join(struct ww_loaded_set *s, const struct ww_opts *opts, const char *reference, struct ww_err *err)
{
	struct ww_set_opts so = {.stored = true, .host_is_reference = reference};
	int rc = reference ? find_host(s, reference, &so.host, err) : 0;

	if (!rc)
		rc = ww_set_make(&s->mem, s->facts, s->n, &so, &s->set, err);
	if (!rc)
		rc = resolve_range(&s->host[s->set.reference], opts, err);
	for (uint32_t h = 0; h < s->n && !rc; h++)
		if (h != s->set.reference)
			range_of_host(s, h);
	return rc;
}

int ww_load_set(const char *const *paths, uint32_t n, const struct ww_opts *opts, const char *reference,
		struct ww_loaded_set *ret)
{
	struct ww_loaded_set s = {.host = ww_xcalloc(n, sizeof(*s.host)), .facts = ww_xcalloc(n, sizeof(*s.facts))};
	struct ww_opts each = *opts;
	struct ww_err err = {0};
	int rc = 0;

	each.from = each.to = NULL; /* only with the set there is a time to read them in */
	ww_arena_init(&s.mem);
	while (s.n < n && !rc) {
		s.facts[s.n] = &s.host[s.n].facts;
		rc = load(paths[s.n], &each, &s.host[s.n], &err);
		s.n++;
	}
	if (!rc)
		rc = join(&s, opts, reference, &err);
	if (rc) {
		rc = ww_opts_fail(&err);
		ww_load_set_release(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

void ww_load_set_release(struct ww_loaded_set *s)
{
	for (uint32_t h = 0; h < s->n; h++)
		ww_load_release(&s->host[h]);
	free(s->host);
	free(s->facts);
	ww_arena_release(&s->mem);
}

int ww_load_set_status(const struct ww_loaded_set *s)
{
	int rc = WW_EXIT_DONE;

	for (uint32_t h = 0; h < s->n; h++)
		rc = ww_exit_worse(rc, ww_load_status(&s->host[h]));
	return rc;
}

int ww_load_note_lacks(const struct ww_lack *lacks, uint32_t n, bool quiet)
{
	int rc = WW_EXIT_DONE;

	for (uint32_t i = 0; i < n; i++) {
		const bool some = lacks[i].threads;
		if (!quiet)
			fprintf(stderr, "whywait: not recorded in this trace: %s (%s); %s\n", lacks[i].what, lacks[i].events,
				lacks[i].all ? "what there was of them is not known" :
				some	     ? "how many there were of them is not known" :
					       "what is said of the rest is without them");
		if (lacks[i].all || some)
			rc = WW_EXIT_PARTIAL;
	}
	return rc;
}
