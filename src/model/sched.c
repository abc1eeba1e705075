/* sched.c - switches, wakeups and migrations.
 *
 * prev_state as every producer writes it: bits 1 S, 2 D, 4 T, 8 t, 0x10 X, 0x20 Z, 0x40 P, 0x80 I;
 * 0, or 0x100 (0x400 before 4.14) for "R+": still runnable, so preempted.
 * source include/trace/events/sched.h:__trace_sched_switch_state, include/linux/sched.h
 */
#include "model/model_private.h"

enum { ST_SLEEPS = 0x1, ST_STOPPED = 0x4 | 0x8, ST_DEAD = 0x10 | 0x20, ST_IDLE = 0x80, ST_PREEMPTED = 0x100 | 0x400, ST_BITS = 0xff };

struct ww_thr *ww_cpu_thread(struct ww_model *m, int64_t tid)
{
	if (!tid)
		return ww_thr_at(m, m->cpu->idle);
	struct ww_thr *t = ww_thr_last(m, tid);
	/* It runs, so it is another thread with the number of a dead one, whose birth was lost. */
	if (t && t->dead)
		return ww_thr_new(m, (int32_t)tid, WW_MAX(m->f->thread.end_ts_ns[t->index], m->cpu->gap_from));
	return ww_thr_get(m, tid);
}

struct ww_thr *ww_cpu_thread_alive(struct ww_model *m, int64_t tid)
{
	return tid ? ww_thr_get(m, tid) : ww_thr_at(m, m->cpu->idle);
}

/* The wakeup was traced a moment before the switch: the waker waits for this CPU to let go. */
static bool woken_before_switch(struct ww_model *m, struct ww_thr *t)
{
	if (t->early_wakeup == WW_NONE)
		return false;
	ww_thr_state(m, t, m->now, WW_ST_RUNQUEUE);
	ww_open_more(&t->st)->wakeup = t->early_wakeup;
	t->early_queued = true;
	return true;
}

static void start_wait(struct ww_model *m, struct ww_thr *t, int64_t bits)
{
	/* Without system calls recorded nobody knows whether a fault went on when it slept. */
	bool known = t->full_syscalls || m->has_fault_end;

	t->idle_sleep = bits & ST_IDLE;
	ww_thr_state(m, t, m->now, WW_ST_BLOCKED);
	t->wait_row = WW_NONE;
	ww_open_more(&t->st)->file = t->in_syscall ? t->sc_file : WW_NONE;
	if (t->lock)
		ww_open_more(&t->st)->object = t->lock;
	else if (t->in_syscall && t->sc->wait == WW_W_FUTEX)
		ww_open_more(&t->st)->object = (uint64_t)t->sc_arg[0];
	if (known && !t->in_syscall && !t->kernel && t->fault_row != WW_NONE) {
		/* User code sleeps of itself only in a page fault; this proves that it goes on. */
		ww_open_more(&t->st)->fault = t->fault_row;
		ww_open_more(&t->st)->file = m->f->fault.file[t->fault_row];
		if (!m->has_fault_end)
			t->mode = WW_MODE_UNKNOWN;
	} else if (!t->in_syscall && t->mode == WW_MODE_USER) {
		t->mode = WW_MODE_UNKNOWN;
	}
}

/* Nothing is asked of a process without threads. A main thread that was not met may still be there. */
static void forget_dead_process(struct ww_model *m, const struct ww_thr *t)
{
	struct ww_proc *p = ww_proc_of(m, t);

	if (!p || p->living || t->tid != p->pid)
		return;
	ww_vec_free(&p->fds);
	ww_vec_free(&p->vmas);
}

/* prev goes and next comes; false: damaged, for no switch goes to itself. */
static bool is_switch(struct ww_model *m, struct ww_thr *prev, const struct ww_thr *next)
{
	if (!prev || !next || prev == next)
		return false;
	if (m->cpu->cur != prev->index)
		ww_cpu_resync(m, prev);
	return true;
}

/* told: bits as the run keeps them; 0 where the trace only tells whether it wanted to go on. */
static void leave_cpu(struct ww_model *m, struct ww_thr *t, struct ww_thr *next, int64_t bits, uint16_t told, int32_t prio)
{
	bool runnable = !(bits & ST_BITS) || (bits & ST_PREEMPTED);
	bool dead = !runnable && (bits & ST_DEAD);

	ww_cpu_drop_frames(m);
	ww_loopback_switched(m->cpu, next->idle);
	uint32_t run = ww_cpu_end_run(m, m->cpu, t->index, m->now, runnable ? WW_RE_PREEMPTED : dead ? WW_RE_EXITED : WW_RE_BLOCKED,
				      told, next->index);
	if (run != WW_NONE)
		m->f->run.end_prio[run] = prio;
	t->cpu = -1;
	if (t->idle)
		return;
	if (dead) {
		m->f->thread.flags[t->index] |= WW_TF_EXITED;
		ww_thr_end(m, t, m->now);
		forget_dead_process(m, t);
	} else if (runnable) {
		ww_thr_state(m, t, m->now, t->throttled ? WW_ST_THROTTLED : WW_ST_PREEMPTED);
		t->st.cpu = (int16_t)m->cpu_nr;
		ww_open_more(&t->st)->other = next->idle ? WW_NONE : next->index;
	} else if (!woken_before_switch(m, t)) {
		if (bits & ST_STOPPED)
			ww_thr_state(m, t, m->now, WW_ST_STOPPED);
		else
			start_wait(m, t, bits);
	}
	t->early_wakeup = WW_NONE;
}

void ww_cpu_take(struct ww_model *m, struct ww_thr *t, int32_t prio)
{
	struct ww_cpu *c = m->cpu;

	ww_left_unseen(m, t);
	c->cur = t->index;
	c->run_start = m->now;
	c->run_prio = prio;
	uint8_t was = t->st.state;
	uint32_t first = m->f->state.n;
	t->cpu = (int16_t)m->cpu_nr;
	t->early_wakeup = WW_NONE;
	t->early_queued = false;
	if (t->idle)
		return;
	ww_thr_running(m, t, m->now);
	/* It runs, so it was woken, but nobody saw by whom nor when. */
	if (was == WW_ST_BLOCKED && m->f->state.n > first)
		ww_cause_at_wakeup(m, t, first, WW_NONE);
	if (t->regs_call && !t->dumped_call) /* of a dumped call the return may be recorded */
		ww_syscall_forget(t);
}

int32_t ww_v_prio(const struct ww_model *m, const struct ww_event *ev, uint32_t slot)
{
	return (int32_t)ww_v_int(ev, slot, -1 - m->prio_base) + m->prio_base;
}

void ww_on_switch(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *prev = ww_cpu_thread(m, ww_v_int(ev, S_SW_PREV, -1));
	struct ww_thr *next = ww_cpu_thread(m, ww_v_int(ev, S_SW_NEXT, -1));

	if (!is_switch(m, prev, next))
		return;
	if (!prev->idle && ww_v_has(ev, S_SW_PREV_COMM))
		ww_thr_set_comm(m, prev, &ev->v[S_SW_PREV_COMM]);
	if (!next->idle && ww_v_has(ev, S_SW_NEXT_COMM))
		ww_thr_set_comm(m, next, &ev->v[S_SW_NEXT_COMM]);
	if (WW_UNLIKELY(ww_v_has(ev, S_SW_CHAIN) || ww_v_has(ev, S_SW_KERNEL_STACK) || ww_v_has(ev, S_SW_USER_STACK)))
		ww_stack_at_switch(m, prev, ev);
	const int64_t bits = ww_v_int(ev, S_SW_STATE, 0);
	const uint16_t told = (uint16_t)(WW_RUN_STATE_SEEN | (bits & ST_BITS) | (bits & ST_PREEMPTED ? 0x100 : 0));
	leave_cpu(m, prev, next, bits, told, ww_v_prio(m, ev, S_SW_PREV_PRIO));
	ww_cpu_take(m, next, ww_v_prio(m, ev, S_SW_NEXT_PRIO));
}

/* perf record -a --switch-events, where the tracepoint is not recorded: each switch is told twice, by who goes and by
 * who comes. Of single threads it does not tell who comes. */
void ww_on_perf_switch(struct ww_model *m, const struct ww_event *ev)
{
	enum { OUT, PREEMPT, NEXT, TID };

	if (m->has_switch || !ww_v_int(ev, OUT, 0) || !ww_v_has(ev, NEXT))
		return;
	m->f->knows.switches = true;
	const int64_t tid = ww_v_int(ev, TID, -1); /* -1 of one that has exited: its number is given back */
	struct ww_thr *prev = tid < 0 ? ww_thr_current(m) : ww_cpu_thread(m, tid), *next = ww_cpu_thread(m, ww_v_int(ev, NEXT, -1));
	if (!is_switch(m, prev, next))
		return;
	leave_cpu(m, prev, next, ww_v_int(ev, PREEMPT, 0) ? 0 : prev->exiting ? ST_DEAD : ST_SLEEPS, 0, -1);
	ww_cpu_take(m, next, -1);
}

/* The CPU that it is in the queue of. */
static void set_queue(struct ww_model *m, struct ww_thr *t, int64_t cpu)
{
	t->st.cpu = cpu >= 0 && cpu < WW_MAX_CPUS ? (int16_t)cpu : -1;
	m->queued_cpu = WW_MAX(m->queued_cpu, t->st.cpu);
}

static void queue_on(struct ww_model *m, struct ww_thr *t, int64_t cpu, uint32_t wakeup)
{
	ww_open_more(&t->st)->wakeup = wakeup;
	set_queue(m, t, cpu);
	if (cpu >= 0 && (size_t)cpu < m->cpus.n) {
		struct ww_thr *on = ww_thr_at(m, m->cpus.v[cpu].cur);

		if (on && !on->idle && on != t)
			ww_open_more(&t->st)->other = on->index;
	}
}

/* A thread that was never seen and is woken now has slept since the begin, or the last gap. */
static bool slept_all_along(const struct ww_model *m, const struct ww_thr *t)
{
	return t->st.state == WW_ST_UNKNOWN && m->last_gap_end <= t->st.start && t->st.start == m->begin;
}

static void wake(struct ww_model *m, const struct ww_event *ev, bool waking)
{
	int64_t target = ww_v_int(ev, S_WK_CPU, -1);
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, S_WK_TID, -1));

	if (!t)
		return;
	if (ww_v_has(ev, S_WK_COMM))
		ww_thr_set_comm(m, t, &ev->v[S_WK_COMM]);
	m->wake_flags = (int32_t)ww_v_int(ev, S_WK_FLAGS, -1);
	uint32_t w = ww_wakeup_make(m, t, target, waking);
	if (t->cpu >= 0) { /* still on its CPU: it will not block, or is just about to */
		t->early_wakeup = w;
		t->early_ts = m->now;
		return;
	}
	if (t->st.state == WW_ST_RUNQUEUE && t->early_queued)
		t->st.state = WW_ST_BLOCKED; /* so it had blocked after all */
	if (slept_all_along(m, t))
		t->st.state = WW_ST_BLOCKED;
	bool blocked = t->st.state == WW_ST_BLOCKED;
	if (!blocked && t->st.state != WW_ST_STOPPED && t->st.state != WW_ST_UNKNOWN)
		return; /* woken twice */
	t->early_queued = false;
	uint32_t row = ww_thr_state(m, t, m->now, WW_ST_RUNQUEUE);
	queue_on(m, t, target, w);
	if (row == WW_NONE)
		return;
	ww_state_set_wakeup(m->f, row, w);
	if (blocked)
		ww_cause_at_wakeup(m, t, row, w);
}

void ww_on_waking(struct ww_model *m, const struct ww_event *ev)
{
	wake(m, ev, true);
}

void ww_on_wakeup(struct ww_model *m, const struct ww_event *ev)
{
	if (!m->has_waking) {
		wake(m, ev, false);
		return;
	}
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, S_WK_TID, -1));
	if (!t)
		return;
	if (t->cpu >= 0)
		t->early_wakeup = WW_NONE; /* done while it ran on: it did not leave the CPU */
	else if (t->st.state == WW_ST_RUNQUEUE && ww_v_has(ev, S_WK_CPU))
		set_queue(m, t, ww_v_int(ev, S_WK_CPU, -1));
	else if (t->st.state == WW_ST_BLOCKED)
		wake(m, ev, false);
}

void ww_on_wakeup_new(struct ww_model *m, const struct ww_event *ev)
{
	int64_t target = ww_v_int(ev, S_WK_CPU, -1);
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, S_WK_TID, -1));

	if (!t || t->cpu >= 0)
		return;
	m->wake_flags = (int32_t)ww_v_int(ev, S_WK_FLAGS, -1);
	uint32_t w = ww_wakeup_make(m, t, target, true);
	if (ww_thr_newborn(m, t))
		t->st.state = WW_ST_RUNQUEUE;
	else if (t->st.state != WW_ST_RUNQUEUE)
		ww_thr_state(m, t, m->now, WW_ST_RUNQUEUE);
	queue_on(m, t, target, w);
}

void ww_on_migrate(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, 0, -1));
	int64_t cpu = ww_v_int(ev, 1, -1);

	if (!t || t->cpu >= 0 || cpu < 0 || cpu >= WW_MAX_CPUS || cpu == t->st.cpu ||
	    (t->st.state != WW_ST_RUNQUEUE && t->st.state != WW_ST_PREEMPTED))
		return;
	struct ww_migration r = {.thread = t->index, .ts_ns = m->now, .from_cpu = t->st.cpu, .to_cpu = (int32_t)cpu};
	ww_migration_push(m->f, &r);
	set_queue(m, t, cpu);
}
