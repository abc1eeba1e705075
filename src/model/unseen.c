/* unseen.c - a thread turns out to have a CPU, and the switch to it was not told: events were lost, or the machine
 * hides some (docs/formats/whywait-events.md, whywait_current).
 */
#include "model/model_private.h"

/* What was laid to `old` as its own doing on this CPU since it came: packets, work, requests and timers. Their rows
 * stand nearly in the order of their begin, and what is older than `since` ends the search. */
static void disown_facts(struct ww_model *m, uint32_t old, int64_t since)
{
	struct ww_facts *f = m->f;

	for (uint32_t p = f->packet.n; p-- > 0 && f->packet.ts_ns[p] >= since;)
		if (f->packet.cpu[p] == m->cpu_nr && f->packet.thread[p] == old)
			f->packet.thread[p] = WW_NONE;
	for (uint32_t w = f->work.n; w-- > 0 && WW_MAX(f->work.queued_ts_ns[w], f->work.start_ts_ns[w]) >= since;)
		if (f->work.queued_by[w] == old && f->work.queued_ts_ns[w] >= since)
			f->work.queued_by[w] = WW_NONE;
	for (uint32_t b = f->block_io.n; b-- > 0 && WW_MAX(f->block_io.queued_ts_ns[b], f->block_io.issued_ts_ns[b]) >= since;)
		if (f->block_io.submitter[b] == old && f->block_io.queued_ts_ns[b] >= since)
			f->block_io.submitter[b] = f->block_io.file[b] = WW_NONE;
	for (uint32_t t = f->timer.n; t-- > 0 && f->timer.fired_ts_ns[t] >= since;)
		if (f->timer.armed_by[t] == old && f->timer.armed_ts_ns[t] >= since)
			f->timer.armed_by[t] = WW_NONE;
	for (size_t i = 0; i < m->armed.n; i++)
		if (m->armed.v[i].by == old && m->armed.v[i].ts >= since)
			m->armed.v[i].by = WW_NONE;
}

/* A switch away from `old` was not told: what happened on this CPU since old came, and was taken for its
 * doing, may be another thread's. Takes the name back; what only the context told stays. */
static void disown(struct ww_model *m, const struct ww_thr *old)
{
	struct ww_facts *f = m->f;
	int64_t since = m->cpu->run_start;

	disown_facts(m, old->index, since);
	for (uint32_t w = f->wakeup.n; w-- > 0 && f->wakeup.ts_ns[w] >= since;) {
		const uint8_t kind = f->wakeup.kind[w];

		if (f->wakeup.waker[w] == old->index && f->wakeup.fact[w] != WW_NONE)
			f->wakeup.waker[w] = ww_wakeup_waker(f, kind, f->wakeup.fact[w]);
		if (f->wakeup.cpu[w] != m->cpu_nr || f->wakeup.current_thread[w] != old->index)
			continue;
		f->wakeup.certainty[w] = WW_UNCERTAIN;
		f->wakeup.current_thread[w] = f->wakeup.syscall[w] = WW_NONE;
		if (kind != WW_WK_THREAD && kind != WW_WK_WORK)
			continue;
		f->wakeup.kind[w] = WW_WK_UNKNOWN;
		f->wakeup.waker[w] = f->wakeup.fact[w] = WW_NONE;
	}
	for (uint32_t r = f->state.n; r-- > 0 && f->state.start_ts_ns[r] + f->state.dur_ns[r] >= since;) {
		uint32_t w = ww_state_wakeup(f, r);

		if (ww_state_other(f, r) == old->index && w != WW_NONE && f->wakeup.current_thread[w] == WW_NONE)
			ww_state_set_other(f, r, WW_NONE);
	}
}

/* Two events contradict each other: `old`, which was thought to have the CPU, left it at some time after the event before
 * this one. */
static void leave_unseen(struct ww_model *m, struct ww_thr *old, const struct ww_thr *next)
{
	struct ww_cpu *c = m->cpu;
	const int64_t last = WW_MAX(WW_MAX(c->before, c->run_start), old->st.start);

	m->f->loss.unseen_switches++;
	/* Where events tell their own thread, what came before this one was old's. */
	if (!m->events_tell && m->f->knows.switches)
		disown(m, old);
	ww_cpu_end_run(m, c, old->index, last, WW_RE_UNKNOWN, 0, next->index);
	old->cpu = -1;
	ww_thr_state(m, old, last, WW_ST_UNKNOWN);
	ww_loopback_forget(c);
	c->known_from = c->gap_from = m->now;
}

bool ww_came_unseen(struct ww_model *m, struct ww_thr *t, int64_t from)
{
	if (t->st.state != WW_ST_RUNQUEUE && t->st.state != WW_ST_PREEMPTED)
		return false;
	ww_thr_state(m, t, WW_MAX(from, t->st.start), WW_ST_UNKNOWN);
	return true;
}

void ww_left_unseen(struct ww_model *m, struct ww_thr *t)
{
	const int16_t cpu = t->cpu;

	if (cpu < 0 || cpu == (int16_t)m->cpu_nr || (size_t)cpu >= m->cpus.n)
		return;
	struct ww_cpu *c = &m->cpus.v[cpu];
	if (c->cur == t->index) {
		const int64_t last = WW_MAX(WW_MAX(c->last, c->run_start), t->st.start);
		ww_cpu_end_run(m, c, t->index, last, WW_RE_UNKNOWN, 0, WW_NONE);
		t->cpu = -1;
		ww_thr_state(m, t, last, WW_ST_UNKNOWN);
	}
	ww_cpu_lose(m, cpu);
}

void ww_cpu_resync(struct ww_model *m, struct ww_thr *prev)
{
	struct ww_cpu *c = m->cpu;
	struct ww_thr *old = ww_thr_current(m);
	bool unseen = ww_came_unseen(m, prev, old ? c->run_start : c->known_from);

	if (old)
		leave_unseen(m, old, prev);
	ww_left_unseen(m, prev);
	c->cur = prev->index;
	c->run_prio = -1;
	prev->cpu = (int16_t)m->cpu_nr;
	if (unseen) {
		c->run_start = m->now;
		ww_thr_running(m, prev, m->now);
		return;
	}
	/* Not before its state in hand began: then it was seen on another CPU. */
	c->run_start = prev->idle ? c->known_from : WW_MAX(c->known_from, prev->st.start);
	if (c->gap_from < c->known_from && prev->st.start < c->gap_from)
		ww_thr_state(m, prev, c->gap_from, WW_ST_UNKNOWN);
	if (prev->st.start < c->known_from)
		ww_thr_state(m, prev, c->known_from, WW_ST_RUNNING);
	prev->st.state = prev->kernel ? WW_ST_RUNNING_KERNEL : WW_ST_RUNNING;
	prev->st.cpu = prev->cpu;
}

void ww_switch_unseen(struct ww_model *m, struct ww_thr *t, int32_t prio)
{
	struct ww_thr *old = ww_thr_current(m);

	ww_came_unseen(m, t, old ? m->cpu->run_start : m->cpu->known_from);
	if (old && old->idle) { /* it does nothing in the name of others; some kernels hide the switches out of it */
		ww_cpu_end_run(m, m->cpu, old->index, m->now, WW_RE_UNKNOWN, 0, t->index);
		old->cpu = -1;
	} else {
		if (old)
			leave_unseen(m, old, t);
		if (!m->cpu->depth) /* else told within an interrupt, which is this thread's: nobody leaves a CPU in one */
			ww_cpu_drop_frames(m);
	}
	ww_cpu_take(m, t, prio);
}

void ww_on_own_current(struct ww_model *m, const struct ww_event *ev)
{
	enum { TID, PRIO, COMM };
	struct ww_thr *t = ww_cpu_thread(m, ww_v_int(ev, TID, -1));

	if (!t || t == ww_thr_current(m))
		return;
	if (!t->idle)
		ww_thr_set_comm(m, t, ww_v_at(ev, COMM));
	ww_switch_unseen(m, t, ww_v_prio(m, ev, PRIO));
}
