/* path_scene.h - threads laid state by state, and paths in one line, for the tests of the critical path.
 *
 *   struct play p; play_begin(&p);
 *   uint32_t a = actor(&p, "a", 0, 60), b = actor(&p, "b", 0, 60);
 *   runs(&p, a, 10);  waits(&p, a, 50, WW_CA_PIPE, WW_WK_THREAD, b, WW_NONE);  runs(&p, a, 60);   until when each
 *   play_end(&p);  is_str(path_of(&p, a), "a running-user 0..10, b ...", "...");
 */
#ifndef WW_PATH_SCENE_H
#define WW_PATH_SCENE_H

#include "analysis/path.h"
#include "scene.h"

#define MAX_ACTORS 64

struct play {
	struct ww_facts f;
	struct ww_arena mem;
	struct ww_set set;
	const struct ww_facts *hosts[1];
	int64_t at[MAX_ACTORS]; /* how far each thread's states are laid */
};

static __attribute__((unused)) void play_begin(struct play *p)
{
	memset(p, 0, sizeof(*p));
	ww_facts_init(&p->f);
	ww_arena_init(&p->mem);
	p->f.knows.switches = p->f.knows.waking = true;
	p->f.host.name = "here";
	p->hosts[0] = &p->f;
}

static __attribute__((unused)) uint32_t actor(struct play *p, const char *name, int64_t start, int64_t end)
{
	uint32_t t = add_thread(&p->f, 100 + (int)p->f.thread.n, 100, name, start, end, WW_NONE, 0);

	p->at[t] = start;
	p->f.end_ts_ns = WW_MAX(p->f.end_ts_ns, end);
	return t;
}

static __attribute__((unused)) uint32_t born_of(struct play *p, uint32_t parent, const char *name, int64_t start, int64_t end)
{
	uint32_t t = actor(p, name, start, end);

	p->f.thread.parent[t] = parent;
	p->f.thread.flags[t] = WW_TF_FORKED;
	return t;
}

static __attribute__((unused)) void is_in(struct play *p, uint32_t t, int64_t until, enum ww_thread_state s, uint32_t other)
{
	struct ww_state_full x = state(t, p->at[t], until, s, WW_CA_NONE);

	x.has.other = other;
	add(&p->f, x);
	p->at[t] = until;
}

static __attribute__((unused)) void runs(struct play *p, uint32_t t, int64_t until)
{
	is_in(p, t, until, WW_ST_RUNNING_USER, WW_NONE);
}

/* Blocked until `until`, when a wakeup of that kind ends it. object: a lock's address, 0 none. */
static __attribute__((unused)) void waits_on(struct play *p, uint32_t t, int64_t until, enum ww_cause cause, enum ww_waker kind,
					     uint32_t waker, uint32_t fact, uint64_t object)
{
	struct ww_state_full x = state(t, p->at[t], until, WW_ST_BLOCKED, cause);

	x.has.wakeup = add_wakeup(&p->f, until, t, kind, waker, fact);
	x.has.object = object;
	add(&p->f, x);
	p->at[t] = until;
}

static __attribute__((unused)) void waits(struct play *p, uint32_t t, int64_t until, enum ww_cause cause, enum ww_waker kind,
					  uint32_t waker, uint32_t fact)
{
	waits_on(p, t, until, cause, kind, waker, fact, 0);
}

static __attribute__((unused)) uint32_t work(struct play *p, const char *name, uint32_t by, int64_t queued, uint32_t on, int64_t start,
					     int64_t end)
{
	struct ww_work w = {.name = str(&p->f, name), .queued_by = by, .queued_ts_ns = queued, .start_ts_ns = start,
			    .end_ts_ns = end, .thread = on};
	return ww_work_push(&p->f, &w);
}

static __attribute__((unused)) uint32_t request(struct play *p, uint32_t by, int64_t queued, int64_t done)
{
	struct ww_block_io io = {.dev = 8 << 20, .bytes = 4096, .queued_ts_ns = queued, .issued_ts_ns = queued,
				 .completed_ts_ns = done, .submitter = by, .file = WW_NONE};
	return ww_block_io_push(&p->f, &io);
}

static __attribute__((unused)) uint32_t timer(struct play *p, const char *name, uint32_t by, int64_t armed, int64_t fired)
{
	struct ww_timer t = {.name = str(&p->f, name), .armed_by = by, .armed_ts_ns = armed, .expires_ts_ns = fired,
			     .fired_ts_ns = fired, .trigger = WW_NONE};
	return ww_timer_push(&p->f, &t);
}

static __attribute__((unused)) void on_cpu(struct play *p, uint32_t cpu, uint32_t t, int64_t from, int64_t to)
{
	struct ww_run r = {.cpu = cpu, .thread = t, .start_ts_ns = from, .dur_ns = to - from, .next = WW_NONE};

	ww_run_push(&p->f, &r);
}

static __attribute__((unused)) void play_end(struct play *p)
{
	ww_facts_seal(&p->f, NULL);
	ww_set_make(&p->mem, p->hosts, 1, NULL, &p->set, NULL);
}

static __attribute__((unused)) void play_release(struct play *p)
{
	ww_facts_release(&p->f);
	ww_arena_release(&p->mem);
}

static __attribute__((unused)) bool path_is_whole(const struct ww_path *p)
{
	int64_t at = p->from_ns;

	for (uint32_t i = 0; i < p->nsegments; i++) {
		const struct ww_segment *s = &p->segments[i];

		if (s->start_ns != at || s->dur_ns <= 0 || s->visit >= p->nvisits || s->arrow >= p->narrows)
			return false;
		at += s->dur_ns;
	}
	return p->nsegments && at == p->to_ns;
}

/* "a running-user 0..10, b timer 10..20": equal neighbours as one. With several hosts "here:a". */
static __attribute__((unused)) const char *path_words(struct ww_arena *mem, const struct ww_path *p)
{
	const char *words = "", *last = "";
	int64_t from = p->from_ns;

	for (uint32_t i = 0; i <= p->nsegments; i++) {
		const struct ww_segment *s = &p->segments[i];
		const char *now = "";

		if (i < p->nsegments) {
			const struct ww_facts *f = p->set->hosts[s->host];
			const char *who = s->thread == WW_NONE ? "-" : ww_facts_str(f, f->thread.comm[s->thread]);
			const char *by = s->other < f->thread.n ? ww_facts_str(f, f->thread.comm[s->other]) : "";

			now = ww_arena_printf(mem, "%s%s%s %s%s%s", p->set->nhosts > 1 ? f->host.name : "", p->set->nhosts > 1 ? ":" : "",
					      who, ww_segment_kind(s), *by ? " by " : "", by);
		}
		if (i && strcmp(now, last)) {
			words = ww_arena_printf(mem, "%s%s%s %" PRId64 "..%" PRId64, words, *words ? ", " : "", last, from,
						p->segments[i - 1].start_ns + p->segments[i - 1].dur_ns);
			from = i < p->nsegments ? s->start_ns : 0;
		}
		last = now;
	}
	return words;
}

static __attribute__((unused)) int make_path(struct play *p, uint32_t t, struct ww_path *ret)
{
	const struct ww_query q = {.tid = p->f.thread.tid[t], .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};

	return ww_path_make(&p->mem, &p->set, 0, &q, ret, NULL);
}

static __attribute__((unused)) const char *path_of(struct play *p, uint32_t t)
{
	struct ww_path path;

	if (make_path(p, t, &path))
		return "no path";
	return path_is_whole(&path) ? path_words(&p->mem, &path) : "segments do not lie end to end";
}

#endif
