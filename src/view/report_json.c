/* report_json.c - report and tree as JSON; docs/json.md and tests/schema say what stands where. */
#include <sys/wait.h>

#include "analysis/names.h"
#include "base/jsonout.h"
#include "view/host_json.h"
#include "view/view.h"

#define JSON_VERSION 1

/* Deeper chains than the writer can nest are cut; each level of a chain takes two. */
#define MAX_CHAIN_LEVELS ((WW_JSON_MAX_DEPTH - 16) / 2)

struct out {
	struct ww_json j;
	struct ww_arena mem; /* words of the link in hand */
	const struct ww_facts *f;
	int64_t offset_ns;
};

static void put_woken(struct out *o, const struct ww_woken *w)
{
	ww_json_obj(&o->j, "woken_by");
	ww_json_str(&o->j, "kind", ww_waker_name(w->kind));
	if (w->thread == WW_NONE) {
		ww_json_null(&o->j, "tid");
		ww_json_null(&o->j, "comm");
	} else {
		ww_json_i64(&o->j, "tid", ww_name_tid(o->f, w->thread));
		ww_json_str(&o->j, "comm", ww_name_comm_at(o->f, w->thread, w->ts_ns));
	}
	ww_json_str(&o->j, "name", w->name);
	ww_json_str(&o->j, "in", w->in);
	if (w->certainty != WW_SURE)
		ww_json_bool(&o->j, "uncertain", true);
	ww_json_end(&o->j);
}

static void put_chain(struct out *o, const struct ww_link *l, int level);

/* What a wait and a link of a chain have in common. */
static void put_link_body(struct out *o, const struct ww_link *l, int level)
{
	struct ww_link_words w;

	ww_arena_reset(&o->mem);
	ww_link_words(&o->mem, o->f, l, &w);
	ww_json_str(&o->j, "cause", l->cause == WW_CA_NONE ? NULL : ww_cause_name(l->cause));
	ww_json_str(&o->j, "detail", w.detail);
	ww_json_i64(&o->j, "start_ns", l->start_ts_ns + o->offset_ns);
	ww_json_i64(&o->j, "dur_ns", l->dur_ns);
	ww_json_str(&o->j, "syscall", w.syscall);
	ww_json_str(&o->j, "call", w.call);
	if (l->certainty != WW_SURE)
		ww_json_bool(&o->j, "uncertain", true);
	if (l->state == WW_ST_BLOCKED && l->thread != WW_NONE)
		put_woken(o, &w.woken_by);
	else
		ww_json_null(&o->j, "woken_by");
	if (l->cut || level >= MAX_CHAIN_LEVELS)
		ww_json_bool(&o->j, "cut", true);
	put_chain(o, l, level);
}

static void put_chain(struct out *o, const struct ww_link *l, int level)
{
	ww_json_arr(&o->j, "chain");
	for (uint32_t i = 0; i < l->nchain && level < MAX_CHAIN_LEVELS; i++) {
		const struct ww_link *c = &l->chain[i];
		ww_json_obj(&o->j, NULL);
		if (c->thread == WW_NONE) {
			ww_json_null(&o->j, "tid");
			ww_json_null(&o->j, "comm");
		} else {
			ww_json_i64(&o->j, "tid", ww_name_tid(o->f, c->thread));
			ww_json_str(&o->j, "comm", ww_name_comm_at(o->f, c->thread, ww_link_named_at(c)));
		}
		ww_json_str(&o->j, "state", ww_state_name(c->state));
		put_link_body(o, c, level + 1);
		ww_json_end(&o->j);
	}
	ww_json_end(&o->j);
}

static void put_target(struct out *o, const struct ww_thread_report *t)
{
	const uint32_t thread = t->thread;
	struct ww_arena mem;
	const char **comms;

	ww_json_obj(&o->j, "target");
	ww_json_i64(&o->j, "tid", ww_name_tid(o->f, thread));
	ww_json_i64(&o->j, "pid", o->f->thread.pid[thread]);
	ww_json_str(&o->j, "comm", ww_name_comm(o->f, thread));
	ww_json_str(&o->j, "exe", ww_facts_str(o->f, o->f->thread.exe[thread]));
	ww_arena_init(&mem);
	uint32_t n = ww_name_comms(&mem, o->f, thread, t->from_ts_ns, t->to_ts_ns, &comms);
	ww_json_arr(&o->j, "comms");
	for (uint32_t i = 0; i < n; i++)
		ww_json_str(&o->j, NULL, comms[i]);
	ww_json_end(&o->j);
	ww_arena_release(&mem);
	ww_json_end(&o->j);
}

static void put_waits(struct out *o, const struct ww_thread_report *t)
{
	ww_json_arr(&o->j, "waits");
	for (uint32_t i = 0; i < t->nwaits; i++) {
		ww_json_obj(&o->j, NULL);
		put_link_body(o, &t->waits[i], 0);
		ww_json_end(&o->j);
	}
	ww_json_end(&o->j);
	ww_json_i64(&o->j, "waits_total", t->nwaits_all);
}

static void put_thread(struct out *o, const struct ww_thread_report *t, bool breakdown, bool waits)
{
	put_target(o, t);
	ww_json_i64(&o->j, "begin_ns", t->from_ts_ns + o->offset_ns);
	ww_json_i64(&o->j, "wall_ns", t->wall_ns);
	ww_json_obj(&o->j, "states");
	for (int s = 0; s < WW_ST_N; s++)
		if (t->by_state_ns[s])
			ww_json_i64(&o->j, ww_state_name(s), t->by_state_ns[s]);
	ww_json_end(&o->j);
	if (breakdown) {
		ww_json_arr(&o->j, "breakdown");
		for (uint32_t i = 0; i < t->nrows; i++) {
			const struct ww_breakdown_row *r = &t->rows[i];
			ww_json_obj(&o->j, NULL);
			ww_json_str(&o->j, "state", ww_state_name(r->state));
			ww_json_str(&o->j, "cause", r->cause == WW_CA_NONE ? NULL : ww_cause_name(r->cause));
			ww_json_str(&o->j, "syscall", *r->syscall ? r->syscall : NULL);
			ww_json_str(&o->j, "detail", r->detail);
			ww_json_i64(&o->j, "ns", r->ns);
			ww_json_i64(&o->j, "count", r->count);
			ww_json_i64(&o->j, "max_ns", r->max_ns);
			ww_json_i64(&o->j, "uncertain_ns", r->uncertain_ns);
			ww_json_end(&o->j);
		}
		ww_json_end(&o->j);
	}
	if (waits)
		put_waits(o, t);
}

static void put_blame(struct out *o, const struct ww_thread_report *t)
{
	ww_json_arr(&o->j, "blame");
	for (uint32_t i = 0; i < t->nblame; i++) {
		const struct ww_blame_row *b = &t->blame[i];
		ww_json_obj(&o->j, NULL);
		if (b->thread == WW_NONE) {
			ww_json_null(&o->j, "tid");
			ww_json_null(&o->j, "comm");
		} else {
			ww_json_i64(&o->j, "tid", ww_name_tid(o->f, b->thread));
			ww_json_str(&o->j, "comm", ww_facts_str(o->f, b->comm));
		}
		ww_json_str(&o->j, "state", ww_state_name(b->state));
		ww_json_str(&o->j, "cause", b->cause == WW_CA_NONE ? NULL : ww_cause_name(b->cause));
		ww_json_str(&o->j, "detail", b->detail);
		ww_json_i64(&o->j, "ns", b->ns);
		ww_json_i64(&o->j, "count", b->count);
		ww_json_end(&o->j);
	}
	ww_json_end(&o->j);
}

static void put_head(struct out *o, FILE *file, const struct ww_report *r, const char *kind)
{
	const struct ww_facts *f = r->facts;

	o->f = f;
	ww_arena_init(&o->mem);
	o->offset_ns = f->host.epoch_known ? f->host.clock_offset_ns : 0;
	ww_json_init(&o->j, file, true);
	ww_json_obj(&o->j, NULL);
	ww_json_str(&o->j, "whywait", kind);
	ww_json_i64(&o->j, "version", JSON_VERSION);
	ww_json_str(&o->j, "trace", f->host.trace_path);
	ww_json_str(&o->j, "host", f->host.name);
	ww_json_clock(&o->j, f, NULL);
	ww_json_str(&o->j, "target_why", r->target.why);
}

static int put_tail(struct out *o, const struct ww_report *r)
{
	ww_json_loss(&o->j, &r->facts->loss);
	ww_json_end(&o->j);
	ww_arena_release(&o->mem);
	return ww_json_finish(&o->j);
}

/* How the recorded command ended: the wait status, and what it says. */
static void put_ending(struct out *o, int status)
{
	if (status < 0)
		return;
	ww_json_i64(&o->j, "target_status", status);
	if (WIFEXITED(status))
		ww_json_i64(&o->j, "exit_status", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		ww_json_i64(&o->j, "signal", WTERMSIG(status));
}

int ww_report_json(FILE *file, const struct ww_report *r, bool family)
{
	struct out o;

	put_head(&o, file, r, "report");
	if (r->main.thread == r->facts->target && *ww_facts_str(o.f, o.f->target_cmdline))
		ww_json_str(&o.j, "command", ww_facts_str(o.f, o.f->target_cmdline));
	if (r->main.thread == r->facts->target)
		put_ending(&o, r->facts->target_status);
	put_thread(&o, &r->main, true, true);
	put_blame(&o, &r->main);
	ww_json_arr(&o.j, "findings");
	for (uint32_t i = 0; i < r->nfindings; i++) {
		ww_json_obj(&o.j, NULL);
		ww_json_i64(&o.j, "ns", r->findings[i].ns);
		ww_json_str(&o.j, "text", r->findings[i].text);
		ww_json_end(&o.j);
	}
	ww_json_end(&o.j);
	ww_json_arr(&o.j, "threads");
	for (uint32_t i = 0; i < r->nfamily; i++) {
		ww_json_obj(&o.j, NULL);
		put_thread(&o, &r->family[i], true, family);
		ww_json_end(&o.j);
	}
	ww_json_end(&o.j);
	return put_tail(&o, r);
}

int ww_tree_json(FILE *file, const struct ww_report *r, bool family)
{
	struct out o;

	put_head(&o, file, r, "tree");
	put_thread(&o, &r->main, false, true);
	ww_json_arr(&o.j, "threads");
	for (uint32_t i = 0; family && i < r->nfamily; i++) {
		ww_json_obj(&o.j, NULL);
		put_thread(&o, &r->family[i], false, true);
		ww_json_end(&o.j);
	}
	ww_json_end(&o.j);
	return put_tail(&o, r);
}
