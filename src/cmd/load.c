/* load.c - from a path to facts: open, model, notes about damage and loss, the time range. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cache.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "model/model.h"
#include "model/vocab.h"
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

/* ---- --from and --to ---- */

struct find_text {
	const char *text;
	bool found;
};

static void look_at_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct find_text *s = ctx;

	if (v->kind == WW_V_STR && v->len && memmem(v->p, v->len, s->text, strlen(s->text)))
		s->found = true;
	if (label && strstr(label, s->text))
		s->found = true;
}

/* Whom an event names. */
static void look_at_tid(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct ww_event_place *at = ctx;
	const enum ww_kind kind = ww_vocab_find(at->name, false).row->kind;
	static const char *const tids[][2] = {{"next_tid", "next_pid"}, {"child_tid", "child_pid"}, {"tid", "pid"}};
	const char *const *want = tids[kind == WW_K_SWITCH ? 0 : kind == WW_K_FORK ? 1 : 2];

	if (!name || (v->kind != WW_V_INT && v->kind != WW_V_UINT) || v->i < 0 || v->i > INT32_MAX)
		return;
	if (at->named_tid < 0 && (!strcmp(name, want[0]) || !strcmp(name, want[1])))
		at->named_tid = (int32_t)v->i;
	if (kind == WW_K_SWITCH && (!strcmp(name, "prev_tid") || !strcmp(name, "prev_pid")))
		at->left_tid = (int32_t)v->i;
}

static void look_at_nothing(void *ctx, const char *name, bool array)
{
}

static void look_at_end(void *ctx)
{
}

static void take_place(struct ww_trace *t, const struct ww_event *ev, struct ww_event_place *ret)
{
	const struct ww_visitor v = {look_at_nothing, look_at_end, look_at_tid};

	*ret = (struct ww_event_place){.ts_ns = ev->ts_ns, .cpu = ev->cpu, .left_tid = -1, .named_tid = -1};
	snprintf(ret->name, sizeof(ret->name), "%s", ww_trace_class(t, ev->cls)->name);
	const struct ww_vocab_match m = ww_vocab_find(ret->name, false);
	if (m.row && (m.row->kind == WW_K_SWITCH || m.row->kind == WW_K_FORK ||
		      (m.row->kind >= WW_K_WAKING && m.row->kind <= WW_K_WAKEUP_NEW)))
		ww_trace_visit(t, ev, &v, ret, NULL);
}

/* "sched_switch" of "sched:sched_switch" too. */
static bool is_named(const char *name, const char *text)
{
	const char *colon = strchr(name, ':');

	return !strcmp(name, text) || (colon && !strcmp(colon + 1, text));
}

static bool has_text(struct ww_trace *t, const struct ww_event *ev, const char *text)
{
	const struct ww_visitor v = {look_at_nothing, look_at_end, look_at_value};
	struct find_text s = {.text = text};

	if (strstr(ww_trace_class(t, ev->cls)->name, text))
		return true;
	ww_trace_visit(t, ev, &v, &s, NULL);
	return s.found;
}

/* 1: found. An event of that name is looked for to the end before one with the text counts. */
static int find_event(struct ww_trace *t, const char *text, int64_t after_ts_ns, struct ww_event_place *ret, struct ww_err *err)
{
	bool may_be_name = false, is_name = false, found = false;
	struct ww_event ev;
	int rc = 0;

	for (uint32_t i = 0; i < ww_trace_info(t)->nclasses; i++)
		may_be_name = may_be_name || is_named(ww_trace_class(t, i)->name, text);
	while ((!found || may_be_name) && (rc = ww_trace_next(t, &ev, err)) == 1) {
		if (ev.cls == WW_CLS_GAP)
			continue;
		if (may_be_name && is_named(ww_trace_class(t, ev.cls)->name, text)) {
			if (ev.ts_ns > after_ts_ns) {
				take_place(t, &ev, ret);
				return 1;
			}
			is_name = true;
		} else if (!found && !is_name && ev.ts_ns > after_ts_ns && has_text(t, &ev, text)) {
			take_place(t, &ev, ret);
			found = true;
		}
	}
	return found && !is_name ? 1 : rc;
}

int ww_event_find(const char *path, const char *text, int64_t after_ts_ns, struct ww_event_place *ret, struct ww_err *err)
{
	struct ww_event_place at;
	struct ww_trace *t = NULL;
	int rc = 0;

	if (*text) {
		rc = ww_trace_open(path, NULL, &t, err);
		if (rc)
			return rc;
		rc = find_event(t, text, after_ts_ns, &at, err);
		ww_trace_close(t);
	}
	if (rc > 0)
		*ret = at;
	if (rc)
		return WW_MIN(rc, 0);
	ww_err_set(err, WW_EUSAGE, path, WW_ERR_NO_OFFSET,
		   *text ? "'%s' is no time and no event has this text" : "'%s' is no time, and no text either", text);
	return ww_err_hint(err, "write +1.5s, 13:02:59.5, seconds or ns since the epoch, or a text of an event");
}

/* 13:02, 13:02:59 or 13:02:59.5, as `events` prints the time: of the day on which that is nearest to the trace's begin.
 * False: it is none. */
static bool clock_parse(const char *s, int64_t begin_epoch_ns, int64_t *ret_epoch_ns)
{
	unsigned h, min, sec = 0;
	int n = 0, m = 0;
	int64_t frac = 0, unit = WW_NS_PER_S / 10;

	if (sscanf(s, "%2u:%2u%n", &h, &min, &n) != 2 || !n || h > 23 || min > 59)
		return false;
	if (s[n] == ':' && sscanf(s + n + 1, "%2u%n", &sec, &m) == 1 && m)
		n += 1 + m;
	if (m && s[n] == '.')
		for (n++; s[n] >= '0' && s[n] <= '9'; n++, unit /= 10)
			frac += (s[n] - '0') * unit;
	if (s[n] || sec > 60)
		return false;
	time_t begin = (time_t)(begin_epoch_ns / WW_NS_PER_S);
	int64_t best = INT64_MAX;
	for (int day = -1; day <= 1; day++) {
		struct tm tm;
		localtime_r(&begin, &tm);
		tm.tm_mday += day;
		tm.tm_hour = (int)h, tm.tm_min = (int)min, tm.tm_sec = (int)sec, tm.tm_isdst = -1;
		int64_t ns = (int64_t)mktime(&tm) * WW_NS_PER_S + frac, off = ns - begin_epoch_ns;
		if (best == INT64_MAX || (off < 0 ? -off : off) < (best < 0 ? -best : best))
			best = off;
	}
	*ret_epoch_ns = begin_epoch_ns + best;
	return true;
}

#define MAX_SECONDS 9000000000LL /* that int64 has ns for */

bool ww_time_parse(int64_t begin_ts_ns, int64_t offset, const char *s, int64_t *ret)
{
	char *end;
	int64_t ns;

	if (*s == '+' && ww_dur_parse(s + 1, &ns)) {
		*ret = begin_ts_ns + ns;
		return true;
	}
	if (clock_parse(s, begin_ts_ns + offset, &ns)) {
		*ret = ns - offset;
		return true;
	}
	errno = 0;
	long long whole = strtoll(s, &end, 10);
	if (end == s || errno || whole < 0)
		return false;
	if (!*end && whole >= MAX_SECONDS) { /* ns since the epoch, or of the trace's clock where it has no date */
		*ret = whole - offset;
		return true;
	}
	int64_t frac = 0, unit = WW_NS_PER_S / 10;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			frac += (*end - '0') * unit;
	if (*end || whole >= MAX_SECONDS)
		return false;
	*ret = whole * WW_NS_PER_S + frac - offset;
	return true;
}

int ww_time_resolve(const char *path, int64_t begin_ts_ns, int64_t offset, const char *s, int64_t *ret,
		    struct ww_err *err)
{
	struct ww_event_place at = {0};

	if (ww_time_parse(begin_ts_ns, offset, s, ret))
		return 0;
	int rc = ww_event_find(path, s, INT64_MIN, &at, err);
	*ret = at.ts_ns;
	return rc;
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
		if (!rc)
			ww_cache_keep(l->cache, &l->facts, &notes);
	}
	ww_load_note_state(path, opts);
	put_notes(stderr, &notes, &l->facts, opts);
	ww_facts_notes_release(&notes);
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
	for (uint32_t h = 0; h < s->n; h++)
		if (!strcmp(s->host[h].path, name) || !strcmp(s->host[h].facts.host.name, name)) {
			*ret = h;
			return 0;
		}
	ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "no trace is of a host called '%s'", name);
	return ww_err_hint(err, "`whywait info TRACE` says a trace's host");
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
