/* path.c - walks backward along threads; path_edges.c knows where to go from a wait, path.h has the rule.
 *
 * One step lays what the current thread did before t, down to the begin of that state or to where the wait
 * that is being explained began. A wait lays nothing itself but turns to another thread. Every step moves t
 * back or is counted; after WW_WALK_STUCK that do not, the facts go in a circle and the time down to the
 * begin of the wait is laid as it stands. So the walk ends, however the facts contradict each other.
 */
#include <stdlib.h>

#include "analysis/names.h"
#include "analysis/path_private.h"

struct ww_segment *ww_walk_lay(struct ww_walk *w, int64_t to)
{
	to = WW_MAX(to, ww_walk_bound(w));
	if (to >= w->t)
		return NULL;
	ww_vec_reserve(&w->segments, w->segments.n + 1);
	struct ww_segment *s = &w->segments.v[w->segments.n++];
	*s = (struct ww_segment){.start_ns = to, .dur_ns = w->t - to, .host = w->host, .thread = w->thread,
				 .visit = w->visit, .arrow = w->arrow, .row = WW_NONE, .fact = WW_NONE,
				 .other = WW_NONE, .state = WW_ST_UNKNOWN};
	w->t = to;
	return s;
}

static void lay_unknown(struct ww_walk *w, int64_t to, enum ww_path_note note)
{
	struct ww_segment *s = ww_walk_lay(w, to);

	if (s)
		s->note = (uint8_t)note;
}

uint32_t ww_walk_visit(struct ww_walk *w, uint32_t host, uint32_t thread, uint32_t up, uint32_t wait_row)
{
	uint32_t i = (uint32_t)w->visits.n;
	uint32_t depth = up == WW_NONE ? 0 : w->visits.v[up].depth + 1;

	*ww_vec_push(&w->visits) = (struct ww_visit){host, thread, up, wait_row, depth};
	return i;
}

static void arrive(struct ww_walk *w, uint32_t visit, enum ww_via_kind kind, uint32_t from_visit, uint32_t fact)
{
	const struct ww_visit *here = &w->visits.v[visit], *there = from_visit == WW_NONE ? NULL : &w->visits.v[from_visit];

	w->arrow = (uint32_t)w->arrows.n;
	*ww_vec_push(&w->arrows) = (struct ww_arrow){
		.ts_ns = w->t, .from_host = here->host, .from_thread = here->thread,
		.to_host = there ? there->host : here->host, .to_thread = there ? there->thread : WW_NONE,
		.fact = fact, .kind = (uint8_t)kind,
	};
	w->visit = visit;
	w->host = here->host;
	w->thread = here->thread;
	w->row = WW_NONE;
}

void ww_walk_go(struct ww_walk *w, uint32_t host, uint32_t thread, uint32_t up, uint32_t wait_row,
		enum ww_via_kind kind, uint32_t fact)
{
	arrive(w, ww_walk_visit(w, host, thread, up, wait_row), kind, up, fact);
	ww_walk_enter_work(w);
}

void ww_walk_turn(struct ww_walk *w, int64_t until, uint32_t visit, enum ww_via_kind kind, uint32_t fact)
{
	if (until <= ww_walk_bound(w) || until >= w->t)
		return; /* an outer wait began later: never met; or a cause that came after its effect */
	*ww_vec_push(&w->stack) = (struct ww_turn){until, visit, w->visit, fact, (uint8_t)kind, false};
}

static void take_turn(struct ww_walk *w)
{
	struct ww_turn turn = w->stack.v[--w->stack.n];
	uint32_t from = turn.from_visit;

	if (turn.after) { /* nobody queued it: no thread is the arrow's */
		arrive(w, w->visits.v[turn.visit].up, turn.kind, turn.from_visit, turn.fact);
		w->arrows.v[w->arrow].from_thread = WW_NONE;
		ww_walk_after(w, turn.visit, turn.fact);
		return;
	}
	if (turn.visit == w->visit) { /* its wait ended the chain itself: it has never been left */
		w->row = turn.fact ? turn.fact - 1 : WW_NONE;
		return;
	}
	/* Back at the begin of its wait: it went to wait for the one that the path comes from. */
	if (turn.kind == WW_VIA_WAIT)
		from = w->visit;
	arrive(w, turn.visit, turn.kind, from, turn.fact);
	if (turn.kind != WW_VIA_WAIT)
		ww_walk_enter_work(w);
}

/* The last state row of the current thread that began before t; WW_NONE. */
static uint32_t find_row(const struct ww_walk *w)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	uint32_t begin = f->state_first[w->thread], end = f->state_first[w->thread + 1], lo = begin, hi = end;
	const int64_t *start = f->state.start_ts_ns;

	if (w->row >= begin && w->row < end && ww_walk_time(w, w->host, start[w->row]) < w->t)
		return w->row; /* the one before the row just laid */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ww_walk_time(w, w->host, start[mid]) < w->t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo == begin ? WW_NONE : lo - 1;
}

/* Before its first state: what the thread that made it did. */
static void before_birth(struct ww_walk *w)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	uint32_t parent = f->thread.parent[w->thread];
	bool forked = f->thread.flags[w->thread] & WW_TF_FORKED;

	if (!forked || parent >= f->thread.n || parent == w->thread || w->stuck > WW_WALK_STUCK)
		lay_unknown(w, w->from, WW_PN_UNBORN);
	else
		ww_walk_go(w, w->host, parent, w->visit, WW_NONE, WW_VIA_FORKED, WW_NONE);
}

static void lay_row(struct ww_walk *w, uint32_t row, int64_t to, uint32_t other)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	struct ww_segment *s = ww_walk_lay(w, to);

	if (!s)
		return;
	s->row = row;
	s->state = f->state.state[row];
	s->cause = ww_state_cause(f, row);
	s->certainty = f->state.certainty[row];
	s->other = other;
}

/* Who had the CPU for most of what lies on the path of a wait for it, whose begin and end in the set's time these are. */
static uint32_t behind(const struct ww_walk *w, uint32_t row, int64_t start, int64_t end)
{
	const int64_t bound = ww_walk_bound(w);

	return ww_ready_behind(ww_walk_facts(w, w->host), row,
			       start < bound ? ww_set_local(w->set, w->host, bound) : INT64_MIN,
			       end > w->t ? ww_set_local(w->set, w->host, w->t) : INT64_MAX);
}

static void step(struct ww_walk *w)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	uint32_t row;

	if (w->thread >= f->thread.n) {
		lay_unknown(w, w->from, WW_PN_NO_ROW);
		return;
	}
	row = find_row(w);
	if (row == WW_NONE) {
		before_birth(w);
		return;
	}
	int64_t start = ww_walk_time(w, w->host, f->state.start_ts_ns[row]);
	int64_t end = ww_walk_time(w, w->host, f->state.start_ts_ns[row] + f->state.dur_ns[row]);
	if (end < w->t) {
		lay_unknown(w, end, WW_PN_NO_ROW);
		return;
	}
	switch (f->state.state[row]) {
	case WW_ST_BLOCKED:
		ww_walk_wait(w, row);
		return;
	case WW_ST_PREEMPTED:
	case WW_ST_RUNQUEUE:
		lay_row(w, row, start, behind(w, row, start, end));
		break;
	default:
		lay_row(w, row, start, WW_NONE);
		break;
	}
	w->row = row ? row - 1 : WW_NONE;
}

static void walk(struct ww_walk *w)
{
	while (w->t > w->from) {
		int64_t before = w->t;

		if (w->t <= ww_walk_bound(w)) {
			take_turn(w);
			continue;
		}
		step(w);
		w->stuck = w->t < before ? 0 : w->stuck + 1;
	}
}

/* ---- lost events ---- */

struct span {
	int64_t from, to;
};

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Marks the host's segments that overlap one of its gaps; segments are in time order. */
static void mark_gaps(struct ww_path *p, uint32_t host)
{
	const struct ww_facts *f = p->set->hosts[host];
	struct span *gaps = ww_xcalloc((size_t)f->gap.n + 1, sizeof(*gaps));
	int64_t lost_to = INT64_MIN; /* the furthest end of the gaps that began before the segment's end */
	uint32_t g = 0;

	for (uint32_t i = 0; i < f->gap.n; i++)
		gaps[i] = (struct span){ww_set_time(p->set, host, f->gap.start_ts_ns[i]),
					ww_set_time(p->set, host, f->gap.start_ts_ns[i] + f->gap.dur_ns[i])};
	qsort(gaps, f->gap.n, sizeof(*gaps), by_from);
	for (uint32_t i = 0; i < p->nsegments; i++) {
		struct ww_segment *s = &p->segments[i];

		for (; g < f->gap.n && gaps[g].from < s->start_ns + s->dur_ns; g++)
			lost_to = WW_MAX(lost_to, gaps[g].to);
		if (s->host == host && lost_to >= s->start_ns)
			s->certainty = WW_UNCERTAIN;
	}
	free(gaps);
}

/* ---- the whole ---- */

/* What grew is the path's, where it is. */
#define KEEP(w, vec) (ww_arena_own((w)->mem, (vec).v), (vec).v)

static void finish(struct ww_walk *w, struct ww_path *p)
{
	size_t n = w->segments.n;

	for (size_t i = 0; i < n / 2; i++) {
		struct ww_segment x = w->segments.v[i];
		w->segments.v[i] = w->segments.v[n - 1 - i];
		w->segments.v[n - 1 - i] = x;
	}
	p->segments = KEEP(w, w->segments);
	p->visits = KEEP(w, w->visits);
	p->arrows = KEEP(w, w->arrows);
	p->nsegments = (uint32_t)n;
	p->nvisits = (uint32_t)w->visits.n;
	p->narrows = (uint32_t)w->arrows.n;
	for (uint32_t h = 0; h < p->set->nhosts; h++)
		if (p->set->hosts[h]->gap.n)
			mark_gaps(p, h);
}

static const struct ww_walk_shift *make_shifts(struct ww_arena *mem, const struct ww_set *set)
{
	struct ww_walk_shift *s = WW_ARENA_ARRAY(mem, struct ww_walk_shift, set->nhosts);

	for (uint32_t h = 0; h < set->nhosts; h++)
		s[h] = (struct ww_walk_shift){ww_set_time(set, h, 0), set->corrections[h].drift_e15 || set->corrections[h].nbends};
	return s;
}

static void release(struct ww_walk *w)
{
	for (uint32_t h = 0; h < w->set->nhosts; h++) {
		free(w->work[h].first);
		free(w->work[h].rows);
	}
	free(w->work);
	ww_vec_free(&w->stack);
}

int ww_path_make(struct ww_arena *mem, const struct ww_set *set, uint32_t host, const struct ww_query *q,
		 struct ww_path *ret, struct ww_err *err)
{
	struct ww_path p = {.set = set, .host = host};
	int rc = ww_target_find(set->hosts[host], q, &p.target, err);

	if (rc)
		return rc;
	p.from_ns = ww_set_time(set, host, p.target.from_ts_ns);
	p.to_ns = WW_MAX(ww_set_time(set, host, p.target.to_ts_ns), p.from_ns + 1);
	struct ww_walk w = {.mem = mem, .set = set, .from = p.from_ns, .t = p.to_ns, .shift = make_shifts(mem, set),
			    .work = ww_xcalloc(set->nhosts, sizeof(*w.work))};
	ww_walk_go(&w, host, p.target.thread, WW_NONE, WW_NONE, WW_VIA_END, WW_NONE);
	walk(&w);
	finish(&w, &p);
	release(&w);
	*ret = p;
	return 0;
}
