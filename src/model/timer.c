/* timer.c - timers: who armed what, and what fired. Only timers that fired become facts.
 *
 * hrtimers expire in a hard interrupt (or the HRTIMER softirq), classic timers in the TIMER softirq;
 * while the handler runs, a frame of kind TIMER is on top of the CPU's contexts.
 */
#include "model/model_private.h"

static struct ww_armed *armed_get(struct ww_model *m, uint64_t object)
{
	bool isnew;
	uint64_t *i = ww_u64map_get(&m->timer_open, object, m->armed.n, &isnew);

	if (!isnew)
		return &m->armed.v[*i];
	if (m->armed_free.n)
		*i = m->armed_free.v[--m->armed_free.n];
	else
		ww_vec_push(&m->armed);
	m->armed.v[*i] = (struct ww_armed){.object = object, .by = WW_NONE, .trigger = WW_NONE, .ts = -1, .expires = -1};
	return &m->armed.v[*i];
}

/* False: it was not armed. */
static bool disarm(struct ww_model *m, uint64_t object, struct ww_armed *ret)
{
	uint64_t *i = ww_u64map_find(&m->timer_open, object);

	if (!i)
		return false;
	*ret = m->armed.v[*i];
	*ww_vec_push(&m->armed_free) = (uint32_t)*i;
	ww_u64map_del_found(&m->timer_open, i);
	return true;
}

static void arm(struct ww_model *m, const struct ww_event *ev, int64_t expires)
{
	struct ww_armed *a = armed_get(m, ww_v_u64(ev, S_TM_ADDR));
	const struct ww_cpu *c = m->cpu;
	struct ww_thr *t = ww_thr_current(m);

	a->ts = m->now;
	a->expires = expires;
	a->by = !c->depth && t && !t->idle ? t->index : WW_NONE;
	a->trigger = c->depth && c->frame[c->depth - 1].done.kind == WW_WK_PACKET
			     ? c->frame[c->depth - 1].done.fact
			     : WW_NONE;
}

void ww_on_hrt_start(struct ww_model *m, const struct ww_event *ev)
{
	arm(m, ev, ww_v_int(ev, S_TM_EXPIRES, -1));
}

void ww_on_tmr_start(struct ww_model *m, const struct ww_event *ev)
{
	arm(m, ev, -1); /* jiffies, whose zero the trace does not tell */
}

/* The kernel takes a timer off its queue, and traces that as a cancel, right before it calls it.
 * source kernel/time/timer.c:expire_timers(), kernel/time/hrtimer.c:__run_hrtimer() */
void ww_on_hrt_cancel(struct ww_model *m, const struct ww_event *ev)
{
	(void)disarm(m, ww_v_u64(ev, S_TM_ADDR), &m->cpu->expiring);
}

/* Of one whose function is not told; *known is that, once it has been needed. */
static uint32_t plain_name(struct ww_model *m, const char *what, uint32_t *known)
{
	if (!*known)
		*known = ww_intern(m, what);
	return *known;
}

static void fire(struct ww_model *m, const struct ww_event *ev, const char *what, uint32_t *what_name)
{
	uint64_t object = ww_v_u64(ev, S_TM_ADDR);
	struct ww_armed a = m->cpu->expiring;
	uint32_t name = ww_v_function(m, ev, S_TM_FUNCTION);
	struct ww_timer r = {.object = object, .name = name ? name : plain_name(m, what, what_name), .armed_by = WW_NONE,
			     .armed_ts_ns = -1, .expires_ts_ns = -1, .fired_ts_ns = m->now,
			     .trigger = WW_NONE};

	m->cpu->expiring.ts = -1;
	if (disarm(m, object, &a) || (a.object == object && a.ts >= 0)) {
		r.armed_by = a.by;
		r.armed_ts_ns = a.ts;
		r.expires_ts_ns = a.expires;
		r.trigger = a.trigger;
	}
	uint32_t row = ww_timer_push(m->f, &r);
	ww_cpu_push(m, WW_IK_TIMER, -1, r.name);
	m->cpu->frame[m->cpu->depth - 1].timer = row;
}

void ww_on_hrt_expire(struct ww_model *m, const struct ww_event *ev)
{
	fire(m, ev, "hrtimer", &m->hrtimer_name);
}

void ww_on_tmr_expire(struct ww_model *m, const struct ww_event *ev)
{
	fire(m, ev, "timer", &m->timer_name);
}

void ww_on_timer_done(struct ww_model *m, const struct ww_event *ev)
{
	(void)ev;
	ww_cpu_pop(m, WW_IK_TIMER, -1);
}

/* A sleeping task's timer is the task's own, however long ago it was armed. */
void ww_on_own_timer_task(struct ww_model *m, const struct ww_event *ev)
{
	uint64_t object = ww_v_u64(ev, 0);
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, 1, -1));
	struct ww_cpu *c = m->cpu;

	if (!t)
		return;
	uint32_t row = c->depth ? c->frame[c->depth - 1].timer : WW_NONE;
	if (row != WW_NONE && m->f->timer.object[row] == object) {
		if (m->f->timer.armed_by[row] == WW_NONE)
			m->f->timer.armed_by[row] = t->index;
		return;
	}
	struct ww_armed *a = armed_get(m, object);
	if (a->by == WW_NONE)
		a->by = t->index;
}
