/* timer.c - timers: who armed what, and what fired. Only timers that fired become facts.
 *
 * hrtimers expire in a hard interrupt (or the HRTIMER softirq), classic timers in the TIMER softirq;
 * while the handler runs, a frame of kind TIMER is on top of the CPU's contexts.
 */
#include "model/model_private.h"

static struct ww_armed *armed_find(struct ww_model *m, uint64_t object)
{
	uint64_t *i = ww_u64map_find(&m->timer_open, object);

	return i ? &m->armed.v[*i] : NULL;
}

static struct ww_armed *armed_get(struct ww_model *m, uint64_t object)
{
	struct ww_armed *a = armed_find(m, object);
	uint32_t i;

	if (a)
		return a;
	if (m->armed_free.n) {
		i = m->armed_free.v[--m->armed_free.n];
	} else {
		i = (uint32_t)m->armed.n;
		ww_vec_push(&m->armed);
	}
	ww_u64map_put(&m->timer_open, object, i);
	m->armed.v[i] = (struct ww_armed){.object = object, .by = WW_NONE, .trigger = WW_NONE, .ts = -1, .expires = -1};
	return &m->armed.v[i];
}

static void disarm(struct ww_model *m, uint64_t object)
{
	uint64_t *i = ww_u64map_find(&m->timer_open, object);

	if (!i)
		return;
	*ww_vec_push(&m->armed_free) = (uint32_t)*i;
	ww_u64map_del(&m->timer_open, object);
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
	const struct ww_armed *a = armed_find(m, ww_v_u64(ev, S_TM_ADDR));

	if (a)
		m->cpu->expiring = *a;
	disarm(m, ww_v_u64(ev, S_TM_ADDR));
}

static void fire(struct ww_model *m, const struct ww_event *ev, const char *what)
{
	uint64_t object = ww_v_u64(ev, S_TM_ADDR);
	const struct ww_armed *a = armed_find(m, object);
	struct ww_armed expiring = m->cpu->expiring;
	uint32_t name = ww_v_function(m, ev, S_TM_FUNCTION);
	struct ww_timer r = {.object = object, .name = name ? name : ww_intern(m, what), .armed_by = WW_NONE,
			     .armed_ts_ns = -1, .expires_ts_ns = -1, .fired_ts_ns = m->now,
			     .trigger = WW_NONE};

	if (!a && expiring.object == object && expiring.ts >= 0)
		a = &expiring;
	m->cpu->expiring.ts = -1;
	if (a) {
		r.armed_by = a->by;
		r.armed_ts_ns = a->ts;
		r.expires_ts_ns = a->expires;
		r.trigger = a->trigger;
		disarm(m, object);
	}
	uint32_t row = ww_timer_push(m->f, &r);
	ww_cpu_push(m, WW_IK_TIMER, -1, r.name);
	m->cpu->frame[m->cpu->depth - 1].timer = row;
}

void ww_on_hrt_expire(struct ww_model *m, const struct ww_event *ev)
{
	fire(m, ev, "hrtimer");
}

void ww_on_tmr_expire(struct ww_model *m, const struct ww_event *ev)
{
	fire(m, ev, "timer");
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
