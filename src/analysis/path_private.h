/* path_private.h - between the path's own files: path.c walks along a thread, path_edges.c goes over to
 * what ended a wait.
 *
 * The walk stands at time t on thread (host, thread) and goes backward. `stack` says where it goes when it
 * comes to a time: `until` of the top is the largest, so the top alone is looked at. Each wait puts one entry
 * there (come back to the waiter where its wait began), unless the entry could never be met because an outer
 * wait began later; so the stack is no deeper than the waits that are open at t.
 */
#ifndef WW_PATH_PRIVATE_H
#define WW_PATH_PRIVATE_H

#include "analysis/path.h"
#include "base/vec.h"

struct ww_turn { /* at `until` the path goes over to `visit` */
	int64_t until;
	uint32_t visit, from_visit, fact;
	uint8_t kind; /* enum ww_via_kind */
	bool after;   /* not to the visit's thread but to what completed in the interrupt that queued work `fact`; the
		       * wait that the visit explains was for that */
};

/* The work items that a worker ran, by thread and start. */
struct ww_work_index {
	uint32_t *first, *rows; /* rows of thread t: rows[first[t]] .. rows[first[t + 1] - 1]; NULL: no work */
};

/* How a host's time becomes the set's: by an addition, where its clock is one with the set's but for an offset; the
 * walk asks this several times a segment. */
struct ww_walk_shift {
	int64_t ns;
	bool drifts; /* then not: ww_set_time */
};

struct ww_walk {
	struct ww_arena *mem;
	const struct ww_set *set;
	int64_t from, t;
	uint32_t host, thread; /* of `visit` */
	uint32_t visit, arrow;
	uint32_t row;          /* state row that ends at t; WW_NONE: to be looked up */
	uint32_t stuck;        /* steps since t last moved */
	struct ww_work_index *work; /* per host, made when first asked for */
	const struct ww_walk_shift *shift; /* per host */
	WW_VEC(struct ww_turn) stack;
	WW_VEC(struct ww_segment) segments; /* latest first */
	WW_VEC(struct ww_visit) visits;
	WW_VEC(struct ww_arrow) arrows;
};

/* So many steps without moving in time: the facts contradict each other. */
#define WW_WALK_STUCK 32

static inline const struct ww_facts *ww_walk_facts(const struct ww_walk *w, uint32_t host)
{
	return w->set->hosts[host];
}

static inline int64_t ww_walk_time(const struct ww_walk *w, uint32_t host, int64_t ts_ns)
{
	const struct ww_walk_shift *s = &w->shift[host];

	return WW_LIKELY(!s->drifts) ? ts_ns + s->ns : ww_set_time(w->set, host, ts_ns);
}

/* Down to where what is being explained now goes: nothing is laid below. */
static inline int64_t ww_walk_bound(const struct ww_walk *w)
{
	return w->stack.n ? w->stack.v[w->stack.n - 1].until : w->from;
}

/* Lays [to, t) (clipped to the bound) and moves t there; NULL when there is nothing between. The segment is
 * the current thread's; the caller fills in the rest. */
struct ww_segment *ww_walk_lay(struct ww_walk *w, int64_t to);
/* Goes over to a thread now. `up` and `wait_row`: whose wait it explains. */
void ww_walk_go(struct ww_walk *w, uint32_t host, uint32_t thread, uint32_t up, uint32_t wait_row,
		enum ww_via_kind kind, uint32_t fact);
/* When the path comes to `until`, it goes over to that visit. */
void ww_walk_turn(struct ww_walk *w, int64_t until, uint32_t visit, enum ww_via_kind kind, uint32_t fact);
uint32_t ww_walk_visit(struct ww_walk *w, uint32_t host, uint32_t thread, uint32_t up, uint32_t wait_row);

/* path_edges.c: t is in or at the end of the blocked state row `row` of the current thread. */
void ww_walk_wait(struct ww_walk *w, uint32_t row);
/* At a turn `after`: the path is on the one whose wait `visit` explains, and goes on to what the work was queued after. */
void ww_walk_after(struct ww_walk *w, uint32_t visit, uint32_t work);
/* The current thread was just come to: if it is running a work item, what queued that is behind it. */
void ww_walk_enter_work(struct ww_walk *w);

#endif
