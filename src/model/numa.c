/* numa.c - the scheduler brings threads to the node where most of their memory is; which it tried, and where it failed.
 * source kernel/sched/fair.c: task_numa_migrate; include/trace/events/sched.h
 */
#include "model/model_private.h"

enum { PID, FROM, TO, OTHER };
enum { MOVED, SWAPPED, STUCK };

static void put(struct ww_model *m, const struct ww_event *ev, uint8_t kind)
{
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, PID, -1)), *with = kind == SWAPPED ? ww_thr_get(m, ww_v_int(ev, OTHER, -1)) : NULL;
	struct ww_numa_move r = {.ts_ns = m->now, .kind = kind, .from_node = (int32_t)ww_v_int(ev, FROM, -1),
				 .to_node = (int32_t)ww_v_int(ev, TO, -1), .other = with ? with->index : WW_NONE};

	if (!t)
		return;
	r.thread = t->index;
	ww_numa_move_push(m->f, &r);
}

void ww_on_numa_move(struct ww_model *m, const struct ww_event *ev)
{
	put(m, ev, MOVED);
}

void ww_on_numa_swap(struct ww_model *m, const struct ww_event *ev)
{
	put(m, ev, SWAPPED);
}

void ww_on_numa_stick(struct ww_model *m, const struct ww_event *ev)
{
	put(m, ev, STUCK);
}
