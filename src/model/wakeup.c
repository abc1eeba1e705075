/* wakeup.c - who really woke whom.
 *
 * The waker's context decides, not the current thread: see design "Who woke whom". Where the trace
 * does not record interrupts, a wakeup that seems to come from a thread may come from an interrupt
 * on top of it; then the thread is named only if what both were doing proves it.
 */
#include "model/model_private.h"

/* The thread that sent the packet, on this host; a packet sent from a softirq leads to what
 * triggered it. A few steps: an ACK of an ACK of ... is nobody's. */
static uint32_t packet_sender(const struct ww_facts *f, uint32_t packet)
{
	for (int step = 0; step < 4 && packet < f->packet.n; step++) {
		if (!f->packet.sent[packet]) {
			packet = f->packet.match[packet];
			continue;
		}
		if (f->packet.thread[packet] != WW_NONE)
			return f->packet.thread[packet];
		if (f->packet.trigger_kind[packet] != WW_WK_PACKET)
			break;
		packet = f->packet.trigger[packet];
	}
	return WW_NONE;
}

uint32_t ww_wakeup_waker(const struct ww_facts *f, uint8_t kind, uint32_t fact)
{
	switch (kind) {
	case WW_WK_BLOCK: return f->block_io.submitter[fact];
	case WW_WK_PACKET: return packet_sender(f, fact);
	case WW_WK_TIMER: return f->timer.armed_by[fact];
	case WW_WK_WORK: return f->work.thread[fact];
	default: return WW_NONE;
	}
}

static void explain(struct ww_model *m, struct ww_wakeup *w, struct ww_done d)
{
	w->kind = d.kind;
	w->fact = d.fact;
	w->waker = d.nobodys ? WW_NONE : ww_wakeup_waker(m->f, d.kind, d.fact);
}

static void from_frame(struct ww_model *m, const struct ww_thr *wakee, bool waking, struct ww_wakeup *w)
{
	const struct ww_frame *fr = &m->cpu->frame[m->cpu->depth - 1];

	w->name = fr->name;
	w->vector = fr->vector;
	if (fr->done.kind != WW_WK_UNKNOWN) {
		explain(m, w, fr->done);
		return;
	}
	if (fr->timer != WW_NONE) {
		explain(m, w, (struct ww_done){.kind = WW_WK_TIMER, .fact = fr->timer});
		w->name = m->f->timer.name[fr->timer];
		return;
	}
	if (ww_loopback_woke(m, wakee, waking, w->target_cpu)) {
		w->kind = WW_WK_THREAD;
		w->waker = m->cpu->cur;
		w->syscall = fr->sent_in;
		return;
	}
	static const uint8_t kinds[WW_IK_N] = {[WW_IK_HARD] = WW_WK_IRQ, [WW_IK_SOFT] = WW_WK_SOFTIRQ,
					       [WW_IK_TIMER] = WW_WK_TIMER, [WW_IK_NMI] = WW_WK_IRQ,
					       [WW_IK_IPI] = WW_WK_IPI};
	w->kind = kinds[fr->kind];
	/* What is not woken here, but only put on the run queue here, may be another's than the interrupt is. */
	w->waker = waking ? fr->sender : WW_NONE;
}

/* Do the two calls prove that the one woke the other? */
static bool calls_meet(struct ww_model *m, const struct ww_thr *waker, const struct ww_thr *wakee)
{
	if (wakee->in_syscall && wakee->sc->wait == WW_W_CHILD)
		return waker->exiting && m->f->thread.parent[waker->index] != WW_NONE &&
		       m->f->thread.process[m->f->thread.parent[waker->index]] == wakee->proc;
	if (!waker->in_syscall || !wakee->in_syscall)
		return false;
	if (wakee->sc->wait == WW_W_FUTEX)
		return waker->sc->wait == WW_W_FUTEX && waker->sc_arg[0] == wakee->sc_arg[0];
	uint32_t a = waker->sc_file, b = wakee->sc_file;
	if (wakee->sc->wait != WW_W_FD || a == WW_NONE || b == WW_NONE)
		return false;
	return a == b ? m->f->file.kind[a] == WW_FK_PIPE || m->f->file.kind[a] == WW_FK_FIFO ||
				m->f->file.kind[a] == WW_FK_EVENTFD
		      : m->f->file.peer[a] == b || m->f->file.peer[b] == a;
}

bool ww_contexts_are_recorded(const struct ww_model *m)
{
	return m->has_irq && m->has_softirq && (m->has_timers || m->has_timer_vector);
}

static void from_thread(struct ww_model *m, struct ww_thr *wakee, bool waking, struct ww_wakeup *w)
{
	struct ww_thr *cur = ww_thr_current(m);

	const struct ww_done loose = m->cpu->loose;
	if (loose.kind != WW_WK_UNKNOWN && ww_contexts_are_recorded(m)) {
		explain(m, w, loose);
		return;
	}
	/* Without them the interrupt in which it completed may be long over: only who asked for it is woken by it. */
	if (loose.kind != WW_WK_UNKNOWN && !(cur && !cur->idle && calls_meet(m, cur, wakee))) {
		if (loose.kind != WW_WK_BLOCK || m->f->block_io.submitter[loose.fact] == wakee->index)
			explain(m, w, loose);
		return;
	}
	if (!cur || cur->idle)
		return; /* the idle thread wakes nobody: an interrupt that is not recorded */
	/* sched_wakeup on the target's CPU may run there on behalf of another CPU's waker. */
	bool direct = waking || (w->target_cpu != WW_NONE && w->target_cpu != m->cpu_nr);
	bool says = m->wake_flags >= 0;
	if (says && (m->wake_flags & WW_IN_INTERRUPT))
		return; /* an interrupt that is not recorded */
	if (!(direct && (says || ww_contexts_are_recorded(m))) && !calls_meet(m, cur, wakee))
		return;
	w->kind = WW_WK_THREAD;
	w->waker = cur->index;
	if (cur->work_row != WW_NONE) {
		w->kind = WW_WK_WORK;
		w->fact = cur->work_row;
		w->name = m->f->work.name[cur->work_row];
	}
	w->syscall = cur->in_syscall ? cur->sc_row : WW_NONE;
}

uint32_t ww_wakeup_make(struct ww_model *m, struct ww_thr *wakee, int64_t target_cpu, bool waking)
{
	struct ww_cpu *c = m->cpu;
	struct ww_wakeup w = {.ts_ns = m->now, .cpu = m->cpu_nr, .wakee = wakee->index,
			      .target_cpu = target_cpu >= 0 ? (uint32_t)target_cpu : WW_NONE,
			      .kind = WW_WK_UNKNOWN, .certainty = waking ? WW_SURE : WW_UNCERTAIN,
			      .waker = WW_NONE, .current_thread = c->cur, .fact = WW_NONE, .vector = -1,
			      .syscall = WW_NONE};

	if (c->depth)
		from_frame(m, wakee, waking, &w);
	else
		from_thread(m, wakee, waking, &w);
	return ww_wakeup_push(m->f, &w);
}
