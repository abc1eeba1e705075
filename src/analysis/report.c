/* report.c - puts the report together; report.h says what is in it. */
#include "analysis/report.h"
#include "base/par.h"

/* A thread's own part: breakdown, then waits and blame when asked for. */
static void make_thread(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
			struct ww_chain_opts *copts, uint32_t thread, int64_t from, int64_t to, bool waits,
			struct ww_thread_report *ret)
{
	ww_breakdown_make(mem, f, thread, from, to, ret);
	if (!waits)
		return;
	ww_waits_make(mem, f, q, copts, ret);
	ww_blame_make(mem, f, ret);
}

/* Threads are made side by side; each in an arena of its own, which the report's takes over. */
struct jobs {
	const struct ww_facts *f;
	const struct ww_query *q;
	struct ww_chain_opts *copts;
	const struct ww_report_opts *opts;
	struct ww_thread_report **to;
	struct ww_arena *mem; /* one each */
};

static void make_one(void *ctx, uint32_t i)
{
	const struct jobs *j = ctx;
	struct ww_thread_report *r = j->to[i];

	make_thread(&j->mem[i], j->f, j->q, j->copts, r->thread, r->from_ts_ns, r->to_ts_ns,
		    i ? j->opts->family_waits : j->opts->waits, r);
}

static void make_all(struct ww_arena *mem, struct jobs *j, struct ww_report *r)
{
	uint32_t n = r->nfamily + 1;

	j->to = WW_ARENA_ARRAY(mem, struct ww_thread_report *, n);
	j->mem = WW_ARENA_ARRAY(mem, struct ww_arena, n);
	for (uint32_t i = 0; i < n; i++)
		j->to[i] = i ? &r->family[i - 1] : &r->main;
	/* The family's waits have what the target's leave of the budget: one after the other. */
	if (j->opts->family_waits)
		for (uint32_t i = 0; i < n; i++)
			make_one(j, i);
	else
		ww_par_run(n, make_one, j);
	for (uint32_t i = 0; i < n; i++)
		ww_arena_adopt(mem, &j->mem[i]);
}

int ww_report_make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		   const struct ww_report_opts *opts, struct ww_report *ret, struct ww_err *err)
{
	struct ww_chain_opts copts = {.max_depth = q->max_depth ? q->max_depth : WW_CHAIN_DEPTH,
				      .budget = WW_CHAIN_BUDGET};
	struct jobs jobs = {.f = f, .q = q, .copts = &copts, .opts = opts};
	struct ww_report r = {.facts = f};
	uint32_t *family, n;
	int rc = ww_target_find(f, q, &r.target, err);

	if (rc)
		return rc;
	r.main = (struct ww_thread_report){.thread = r.target.thread, .from_ts_ns = r.target.from_ts_ns,
					   .to_ts_ns = r.target.to_ts_ns};
	ww_target_family(mem, f, &r.target, &family, &n);
	r.family = WW_ARENA_ARRAY(mem, struct ww_thread_report, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		struct ww_thread_report *t = &r.family[r.nfamily];

		t->thread = family[i];
		if (ww_thread_range(f, family[i], r.target.from_ts_ns, r.target.to_ts_ns, &t->from_ts_ns,
				    &t->to_ts_ns))
			r.nfamily++;
	}
	make_all(mem, &jobs, &r);
	ww_chain_free(&copts);
	ww_findings_make(mem, &r);
	*ret = r;
	return 0;
}
