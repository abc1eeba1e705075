/* work.c - work items of the kernel's work queues, and io_uring requests. */
#include "model/model_private.h"

/* What completed in the interrupt that queues work: the disk's answer, for one, is often passed on by a worker. An
 * interrupt's thread (PREEMPT_RT) completes it in a thread's context. Or the work during which more is queued: a loop
 * device's, that of the writeback to what is on it. */
static struct ww_done queued_after(const struct ww_model *m, const struct ww_thr *t)
{
	const struct ww_cpu *c = m->cpu;
	const struct ww_frame *fr = c->depth ? &c->frame[c->depth - 1] : NULL;

	if (!fr && (c->loose.kind == WW_WK_BLOCK || c->loose.kind == WW_WK_PACKET) && ww_contexts_are_recorded(m))
		return c->loose;
	if (!fr && t && t->work_row != WW_NONE)
		return (struct ww_done){.kind = WW_WK_WORK, .fact = t->work_row};
	if (!fr)
		return (struct ww_done){.kind = WW_WK_UNKNOWN, .fact = WW_NONE};
	if (fr->done.kind == WW_WK_UNKNOWN && fr->timer != WW_NONE)
		return (struct ww_done){.kind = WW_WK_TIMER, .fact = fr->timer};
	return fr->done.kind == WW_WK_BLOCK || fr->done.kind == WW_WK_PACKET
		       ? fr->done : (struct ww_done){.kind = WW_WK_UNKNOWN, .fact = WW_NONE};
}

void ww_on_work_queue(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	struct ww_done after = queued_after(m, t);
	bool passed_on = after.kind == WW_WK_BLOCK || after.kind == WW_WK_PACKET; /* nobody's own doing */
	struct ww_work r = {.object = ww_v_u64(ev, S_WQ_WORK), .name = ww_v_function(m, ev, S_WQ_FUNCTION),
			    .queued_by = !m->cpu->depth && t && !t->idle && !passed_on ? t->index : WW_NONE,
			    .queued_ts_ns = m->now, .start_ts_ns = -1, .end_ts_ns = -1,
			    .trigger_kind = after.kind, .trigger = after.fact, .thread = WW_NONE};

	ww_u64map_put(&m->work_open, r.object, ww_work_push(m->f, &r));
}

void ww_on_work_start(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	uint64_t object = ww_v_u64(ev, S_WQ_WORK), *i = ww_u64map_find(&m->work_open, object);
	uint32_t row;

	if (i) {
		row = (uint32_t)*i;
		ww_u64map_del(&m->work_open, object);
	} else {
		struct ww_work r = {.object = object, .name = ww_v_function(m, ev, S_WQ_FUNCTION),
				    .queued_by = WW_NONE, .queued_ts_ns = -1, .end_ts_ns = -1,
				    .trigger = WW_NONE, .thread = WW_NONE};
		row = ww_work_push(m->f, &r);
	}
	m->f->work.start_ts_ns[row] = m->now;
	if (t && !m->cpu->depth) {
		m->f->work.thread[row] = t->index;
		t->work_row = row;
	}
}

void ww_on_work_end(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);

	(void)ev;
	if (!t || m->cpu->depth || t->work_row == WW_NONE)
		return;
	m->f->work.end_ts_ns[t->work_row] = m->now;
	t->work_row = WW_NONE;
}

void ww_on_own_uring(struct ww_model *m, const struct ww_event *ev)
{
	enum { OP, CTX, REQ };
	enum { SUBMIT, QUEUED, COMPLETE };
	struct ww_thr *t = ww_thr_current(m);
	uint64_t op = ww_v_u64(ev, OP), req = ww_v_u64(ev, REQ), *i = ww_u64map_find(&m->work_open, req);

	if (op == SUBMIT) {
		struct ww_work r = {.object = req, .name = ww_intern(m, "io_uring"),
				    .queued_by = t && !t->idle ? t->index : WW_NONE,
				    .queued_ts_ns = m->now, .start_ts_ns = m->now, .end_ts_ns = -1,
				    .trigger = WW_NONE, .thread = WW_NONE};

		ww_u64map_put(&m->work_open, req, ww_work_push(m->f, &r));
		return;
	}
	if (op != COMPLETE || !i)
		return;
	uint32_t row = (uint32_t)*i;
	m->f->work.end_ts_ns[row] = m->now;
	if (!m->cpu->depth && t && !t->idle)
		m->f->work.thread[row] = t->index;
	ww_u64map_del(&m->work_open, req);
	/* In an interrupt the request that completed (block, packet) already says more. */
	if (m->cpu->depth && m->cpu->frame[m->cpu->depth - 1].done.kind == WW_WK_UNKNOWN)
		ww_cpu_done(m, WW_WK_WORK, row);
}
