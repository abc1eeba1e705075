/* path_json.c - the critical path as JSON (docs/json.md) and as folded stacks for flame graphs. */
#include "analysis/names.h"
#include "base/jsonout.h"
#include "view/host_json.h"
#include "view/view.h"

#define JSON_VERSION 1
#define FOLD_LEVELS 48 /* of waits in one folded stack */

struct out {
	struct ww_json j;
	const struct ww_path *p;
	struct ww_arena mem; /* words of the segment in hand */
	/* Why the path came here, in words, is the same for most segments as for the one before. */
	struct ww_arena via_mem;
	const struct ww_segment *via_of; /* NULL none */
	const char *via;
};

static const struct ww_facts *facts_of(const struct out *o, uint32_t host)
{
	return o->p->set->hosts[host];
}

static void put_who(struct out *o, uint32_t host, uint32_t thread)
{
	const struct ww_facts *f = facts_of(o, host);

	if (thread >= f->thread.n) {
		ww_json_null(&o->j, "tid");
		ww_json_null(&o->j, "comm");
		return;
	}
	ww_json_i64(&o->j, "tid", ww_name_tid(f, thread));
	ww_json_str(&o->j, "comm", ww_name_comm(f, thread));
}

static void put_hosts(struct out *o)
{
	const struct ww_set *set = o->p->set;

	ww_json_arr(&o->j, "hosts");
	for (uint32_t h = 0; h < set->nhosts; h++) {
		const struct ww_facts *f = set->hosts[h];

		ww_json_obj(&o->j, NULL);
		ww_json_str(&o->j, "host", f->host.name);
		ww_json_str(&o->j, "trace", f->host.trace_path);
		ww_json_clock(&o->j, f, ww_accuracy_name(set->corrections[h].accuracy));
		ww_json_loss(&o->j, &f->loss);
		ww_json_end(&o->j);
	}
	ww_json_end(&o->j);
}

static const char *via_words(struct out *o, const struct ww_segment *s)
{
	const struct ww_segment *was = o->via_of;

	if (was && was->arrow == s->arrow && was->visit == s->visit && was->host == s->host && was->thread == s->thread &&
	    was->thing == s->thing)
		return o->via;
	ww_arena_reset(&o->via_mem);
	o->via_of = s;
	o->via = ww_segment_via(&o->via_mem, o->p, s);
	return o->via;
}

static void put_segment(struct out *o, const struct ww_segment *s)
{
	const struct ww_path *p = o->p;

	ww_arena_reset(&o->mem);
	ww_json_obj(&o->j, NULL);
	ww_json_str(&o->j, "host", o->p->set->who[s->host].label);
	put_who(o, s->host, s->thread);
	ww_json_i64(&o->j, "start_ns", s->start_ns);
	ww_json_i64(&o->j, "dur_ns", s->dur_ns);
	ww_json_str(&o->j, "kind", ww_segment_kind(s));
	ww_json_str(&o->j, "detail", ww_segment_detail(&o->mem, p, s, true));
	ww_json_str(&o->j, "call", ww_segment_call(&o->mem, p, s, true));
	ww_json_str(&o->j, "via", via_words(o, s));
	ww_json_i64(&o->j, "depth", p->visits[s->visit].depth);
	if (s->certainty != WW_SURE)
		ww_json_bool(&o->j, "uncertain", true);
	ww_json_end(&o->j);
}

static void put_arrow(struct out *o, const struct ww_arrow *a)
{
	static const char *const keys[] = {"from", "to"};
	const uint32_t hosts[] = {a->from_host, a->to_host}, threads[] = {a->from_thread, a->to_thread};

	ww_json_obj(&o->j, NULL);
	ww_json_str(&o->j, "kind", ww_via_name(a->kind));
	ww_json_i64(&o->j, "time_ns", a->ts_ns);
	for (int i = 0; i < 2; i++) {
		ww_json_obj(&o->j, keys[i]);
		ww_json_str(&o->j, "host", o->p->set->who[hosts[i]].label);
		put_who(o, hosts[i], threads[i]);
		ww_json_end(&o->j);
	}
	ww_json_end(&o->j);
}

static void put_shares(struct out *o, const struct ww_path_sum *sum)
{
	static const char *const names[WW_SH_N] = {"kinds", "hosts", "threads", "files", "locks", "devices"};

	ww_json_obj(&o->j, "summary");
	for (uint32_t k = 0; k < WW_SH_N; k++) {
		ww_json_arr(&o->j, names[k]);
		for (uint32_t i = sum->first[k]; i < sum->first[k + 1]; i++) {
			const struct ww_path_share *s = &sum->shares[i];

			ww_json_obj(&o->j, NULL);
			if (k != WW_SH_KIND && k != WW_SH_HOST)
				ww_json_str(&o->j, "host", o->p->set->who[s->host].label);
			if (k == WW_SH_THREAD)
				put_who(o, s->host, s->thread);
			ww_json_str(&o->j, "name", s->name);
			ww_json_i64(&o->j, "ns", s->ns);
			ww_json_i64(&o->j, "count", s->count);
			ww_json_end(&o->j);
		}
		ww_json_end(&o->j);
	}
	ww_json_i64(&o->j, "nagle_ns", sum->nagle_ns);
	ww_json_i64(&o->j, "nagle_count", sum->nagle_count);
	ww_json_i64(&o->j, "uncertain_ns", sum->uncertain_ns);
	ww_json_end(&o->j);
}

int ww_path_json(FILE *out, const struct ww_path *p, const struct ww_path_sum *sum)
{
	const struct ww_facts *f = p->set->hosts[p->host];
	struct out o = {.p = p};
	int rc;

	ww_arena_init(&o.mem);
	ww_arena_init(&o.via_mem);
	ww_json_init(&o.j, out, true);
	ww_json_obj(&o.j, NULL);
	ww_json_str(&o.j, "whywait", "path");
	ww_json_i64(&o.j, "version", JSON_VERSION);
	put_hosts(&o);
	ww_json_not_reached(&o.j, p->set);
	ww_json_obj(&o.j, "target");
	ww_json_str(&o.j, "host", p->set->who[p->host].label);
	put_who(&o, p->host, p->target.thread);
	ww_json_i64(&o.j, "pid", f->thread.pid[p->target.thread]);
	ww_json_end(&o.j);
	ww_json_str(&o.j, "target_why", p->target.why);
	ww_json_i64(&o.j, "begin_ns", p->from_ns);
	ww_json_i64(&o.j, "wall_ns", p->to_ns - p->from_ns);
	ww_json_rows(&o.j, "segments");
	for (uint32_t i = 0; i < p->nsegments; i++)
		put_segment(&o, &p->segments[i]);
	ww_json_end(&o.j);
	ww_json_rows(&o.j, "arrows");
	for (uint32_t i = p->narrows; i-- > 0;)
		if (p->arrows[i].kind != WW_VIA_END)
			put_arrow(&o, &p->arrows[i]);
	ww_json_end(&o.j);
	put_shares(&o, sum);
	ww_json_end(&o.j);
	rc = ww_json_finish(&o.j);
	ww_arena_release(&o.mem);
	ww_arena_release(&o.via_mem);
	return rc;
}

/* ---- folded stacks ---- */

/* A frame's name: what would end a frame or a line is shown as another sign. */
static void put_frame(FILE *out, const char *name, const char *sep)
{
	fputs(sep, out);
	for (; *name; name++)
		fputc(*name == ';' ? ':' : (unsigned char)*name < 32 ? '?' : *name, out);
}

static void put_thread_frame(FILE *out, const struct ww_path *p, uint32_t host, uint32_t thread, bool first)
{
	const char *comm = ww_name_comm(p->set->hosts[host], thread);

	put_frame(out, *comm ? comm : "unknown", first ? "" : ";");
	if (p->set->nhosts > 1)
		put_frame(out, p->set->who[host].label, "@");
}

static void put_stack(FILE *out, const struct ww_path *p, struct ww_arena *mem, const struct ww_segment *s)
{
	uint32_t chain[FOLD_LEVELS], n = 0, v = s->visit;
	const char *call = ww_segment_call(mem, p, s, false), *detail = ww_segment_detail(mem, p, s, false);

	for (; v != WW_NONE && n < FOLD_LEVELS; v = p->visits[v].up)
		chain[n++] = v;
	for (uint32_t i = n; i-- > 0;)
		put_thread_frame(out, p, p->visits[chain[i]].host, p->visits[chain[i]].thread, i + 1 == n);
	if (call)
		put_frame(out, call, ";");
	put_frame(out, ww_segment_kind(s), ";");
	if (*detail && s->state != WW_ST_RUNNING_KERNEL)
		put_frame(out, detail, ";");
}

void ww_path_folded(FILE *out, const struct ww_path *p)
{
	struct ww_arena mem;

	ww_arena_init(&mem);
	for (uint32_t i = 0; i < p->nsegments; i++) {
		ww_arena_reset(&mem);
		put_stack(out, p, &mem, &p->segments[i]);
		fprintf(out, " %" PRId64 "\n", p->segments[i].dur_ns);
	}
	ww_arena_release(&mem);
}
