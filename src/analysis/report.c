/* report.c - puts the report together; report.h says what is in it. */
#include "analysis/report.h"

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

int ww_report_make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		   const struct ww_report_opts *opts, struct ww_report *ret, struct ww_err *err)
{
	struct ww_chain_opts copts = {.max_depth = q->max_depth ? q->max_depth : WW_CHAIN_DEPTH,
				      .budget = WW_CHAIN_BUDGET};
	struct ww_report r = {.facts = f};
	uint32_t *family, n;
	int rc = ww_target_find(f, q, &r.target, err);

	if (rc)
		return rc;
	make_thread(mem, f, q, &copts, r.target.thread, r.target.from_ts_ns, r.target.to_ts_ns, opts->waits,
		    &r.main);
	ww_target_family(mem, f, &r.target, &family, &n);
	r.family = WW_ARENA_ARRAY(mem, struct ww_thread_report, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		int64_t from, to;
		if (ww_thread_range(f, family[i], r.target.from_ts_ns, r.target.to_ts_ns, &from, &to))
			make_thread(mem, f, q, &copts, family[i], from, to, opts->family_waits,
				    &r.family[r.nfamily++]);
	}
	ww_findings_make(mem, &r);
	*ret = r;
	return 0;
}
