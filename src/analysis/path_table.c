/* path_table.c - the critical path of one host as rows, oldest first: one a segment, and one each time that it goes over from
 * one thread to another. */
#include "analysis/names.h"
#include "analysis/path.h"

extern const struct ww_analysis ww_analysis_path, ww_analysis_path_arrows;

enum { HOST, TID, COMM, START, DUR, KIND, SYSCALL, DETAIL, VIA, DEPTH, UNCERTAIN, NCOLUMNS };

static const struct ww_column columns[NCOLUMNS] = {
	[HOST] = {"host", "host", WW_T_STR, "where"},
	[TID] = {"tid", "tid", WW_T_ID, "thread that ran, was ready, or whose wait ends the chain; -1: none, or not known"},
	[COMM] = {"comm", "name", WW_T_STR, "its name"},
	[START] = {"start_ns", "from", WW_T_TIME, "begin of the segment"},
	[DUR] = {"dur_ns", "time", WW_T_DUR, "its length; the lengths sum to the range exactly"},
	[KIND] = {"kind", "kind", WW_T_STR, "state of a thread that ran or was ready, else cause of the wait"},
	[SYSCALL] = {"syscall", "call", WW_T_STR, "system call that it is in"},
	[DETAIL] = {"detail", "detail", WW_T_STR, "file, device, timer, packet; who had the CPU"},
	[VIA] = {"via", "because it", WW_T_STR, "why the path came here, seen backward from the end"},
	[DEPTH] = {"depth", "depth", WW_T_INT, "waits above: 0 is the target itself"},
	[UNCERTAIN] = {"uncertain", "unsure", WW_T_INT, "1: events were lost there"},
};

static void fill(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s, union ww_cell *c)
{
	const struct ww_facts *f = p->set->hosts[s->host];
	const char *call = ww_segment_call(mem, p, s, true);

	c[HOST].s = p->set->who[s->host].label;
	c[TID].i = ww_name_tid(f, s->thread);
	c[COMM].s = ww_name_comm(f, s->thread);
	/* A table's times are of the trace's clock; a view adds the offset to the epoch. */
	c[START].i = ww_set_local(p->set, s->host, s->start_ns);
	c[DUR].i = s->dur_ns;
	c[KIND].s = ww_segment_kind(s);
	c[SYSCALL].s = call ? call : "";
	c[DETAIL].s = ww_segment_detail(mem, p, s, true);
	c[VIA].s = ww_segment_via(mem, p, s);
	c[DEPTH].i = p->visits[s->visit].depth;
	c[UNCERTAIN].i = s->certainty != WW_SURE;
}

enum { A_TIME, A_KIND, A_FROM_HOST, A_FROM_TID, A_FROM_COMM, A_TO_HOST, A_TO_TID, A_TO_COMM, A_COLUMNS };

static const struct ww_column arrow_columns[A_COLUMNS] = {
	[A_TIME] = {"at_ns", "at", WW_T_TIME, "when"},
	[A_KIND] = {"kind", "kind", WW_T_STR, "wakeup, fork, block, timer, packet, work: from acted, and to was let go by it; wait: from "
					      "went to wait for to; exit: to waited for the end of from"},
	[A_FROM_HOST] = {"from_host", "from host", WW_T_STR, "where from is"},
	[A_FROM_TID] = {"from_tid", "from tid", WW_T_ID, "from; -1: no thread"},
	[A_FROM_COMM] = {"from_comm", "from", WW_T_STR, "its name"},
	[A_TO_HOST] = {"to_host", "to host", WW_T_STR, "where to is"},
	[A_TO_TID] = {"to_tid", "to tid", WW_T_ID, "to; -1: no thread"},
	[A_TO_COMM] = {"to_comm", "to", WW_T_STR, "its name"},
};

static void fill_arrow(const struct ww_path *p, const struct ww_arrow *a, union ww_cell *c)
{
	const struct ww_facts *from = p->set->hosts[a->from_host], *to = p->set->hosts[a->to_host];

	c[A_TIME].i = ww_set_local(p->set, p->host, a->ts_ns);
	c[A_KIND].s = ww_via_name(a->kind);
	c[A_FROM_HOST].s = p->set->who[a->from_host].label;
	c[A_FROM_TID].i = ww_name_tid(from, a->from_thread);
	c[A_FROM_COMM].s = ww_name_comm(from, a->from_thread);
	c[A_TO_HOST].s = p->set->who[a->to_host].label;
	c[A_TO_TID].i = ww_name_tid(to, a->to_thread);
	c[A_TO_COMM].s = ww_name_comm(to, a->to_thread);
}

static int make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_path *ret, struct ww_err *err)
{
	const struct ww_facts **hosts = WW_ARENA_ARRAY(mem, const struct ww_facts *, 1);
	struct ww_set *set = WW_ARENA_NEW(mem, struct ww_set);
	int rc;

	hosts[0] = f;
	rc = ww_set_make(mem, hosts, 1, NULL, set, err);
	return rc ? rc : ww_path_make(mem, set, 0, q, ret, err);
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	struct ww_path p;
	int rc = make(mem, f, q, &p, err);

	if (rc)
		return rc;
	uint32_t n = q->top ? WW_MIN(p.nsegments, q->top) : p.nsegments;
	union ww_cell *cells = WW_ARENA_ARRAY(mem, union ww_cell, ((size_t)n + 1) * NCOLUMNS);
	for (uint32_t i = 0; i < n; i++)
		fill(mem, &p, &p.segments[i], cells + (size_t)i * NCOLUMNS);
	*ret = (struct ww_table){.analysis = &ww_analysis_path, .facts = f, .cells = cells, .nrows = n};
	return 0;
}

static int run_arrows(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		      struct ww_err *err)
{
	struct ww_path p;
	int rc = make(mem, f, q, &p, err);
	uint32_t n = 0;

	if (rc)
		return rc;
	union ww_cell *cells = WW_ARENA_ARRAY(mem, union ww_cell, ((size_t)p.narrows + 1) * A_COLUMNS);
	for (uint32_t i = p.narrows; i-- > 0 && (!q->top || n < q->top);)
		if (p.arrows[i].kind != WW_VIA_END)
			fill_arrow(&p, &p.arrows[i], cells + (size_t)n++ * A_COLUMNS);
	*ret = (struct ww_table){.analysis = &ww_analysis_path_arrows, .facts = f, .cells = cells, .nrows = n};
	return 0;
}

const struct ww_analysis ww_analysis_path = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "path", .summary = "the critical path: the chain of activity that decided when the target finished",
	.columns = columns, .ncolumns = NCOLUMNS, .one_thread = true, .run = run,
};

const struct ww_analysis ww_analysis_path_arrows = {
	.needs = WW_NEED(WW_NEED_SWITCHES),
	.name = "path_arrows", .summary = "where the critical path goes over from one thread to another, and why",
	.columns = arrow_columns, .ncolumns = A_COLUMNS, .one_thread = true, .run = run_arrows,
};
