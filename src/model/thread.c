/* thread.c - threads and processes, and the state that each thread is in now.
 *
 * A thread has exactly one open state at any time; ww_thr_state ends it and begins the next at the
 * same stamp, so that a thread's rows are contiguous and sum to its life.
 */
#include "model/model_private.h"

uint32_t ww_v_str(struct ww_model *m, const struct ww_event *ev, uint32_t slot)
{
	if (slot >= ev->nval || (ev->v[slot].kind != WW_V_STR && ev->v[slot].kind != WW_V_BYTES))
		return 0;
	return ww_strtab_intern(&m->f->strs, ev->v[slot].p, strnlen(ev->v[slot].p, ev->v[slot].len));
}

uint32_t ww_v_function(struct ww_model *m, const struct ww_event *ev, uint32_t slot)
{
	uint64_t *name = m->functions.n ? ww_u64map_find(&m->functions, ww_v_u64(ev, slot)) : NULL;

	return name ? (uint32_t)*name : ww_v_str(m, ev, slot);
}

struct ww_thr *ww_thr_new(struct ww_model *m, int32_t tid, int64_t start)
{
	struct ww_thr *t = WW_ARENA_NEW(&m->mem, struct ww_thr);
	struct ww_thread row = {.tid = tid, .pid = -1, .vtid = -1, .start_ts_ns = start, .end_ts_ns = start,
				.parent = WW_NONE, .process = WW_NONE, .renamed = WW_NONE};

	t->index = ww_thread_push(m->f, &row);
	t->tid = tid;
	t->proc = WW_NONE;
	t->cpu = -1;
	t->sc_row = t->sc_file = t->last_call = t->fault_row = t->kernel_fault = t->wait_row = t->early_wakeup = WW_NONE;
	t->ready_file = t->work_row = t->last_wait_row = t->signal_row = WW_NONE;
	memset(t->rows, 0xff, sizeof(t->rows)); /* WW_NONE */
	t->long_row = WW_NONE;
	t->sc_fd = -1;
	t->st = ww_open_unknown(start);
	*ww_vec_push(&m->thr) = t;
	if (tid)
		m->by_tid[tid] = t->index + 1;
	return t;
}

struct ww_thr *ww_thr_get(struct ww_model *m, int64_t tid)
{
	if (tid <= 0 || tid > WW_MAX_TID)
		return NULL;
	struct ww_thr *t = ww_thr_last(m, tid);
	/* Met for the first time without a fork: it was there from the beginning. What comes after a
	 * thread's end is its wake (a wait for it, an exit status), not another thread. */
	if (t)
		return t->dead ? NULL : t;
	t = ww_thr_new(m, (int32_t)tid, m->begin);
	const uint64_t *p = ww_u64map_find(&m->by_pid, (uint64_t)tid);
	if (p && m->f->process.main_thread[*p] == WW_NONE)
		ww_thr_set_pid(m, t, (int32_t)tid);
	return t;
}

struct ww_proc *ww_proc_get(struct ww_model *m, int32_t pid)
{
	bool isnew;
	uint64_t *i = ww_u64map_get(&m->by_pid, (uint32_t)pid, m->proc.n, &isnew);

	if (!isnew)
		return m->proc.v[*i];
	struct ww_proc *p = WW_ARENA_NEW(&m->mem, struct ww_proc);
	struct ww_process row = {.pid = pid, .main_thread = WW_NONE, .parent = WW_NONE};
	p->pid = pid;
	p->index = ww_process_push(m->f, &row);
	*ww_vec_push(&m->proc) = p;
	return p;
}

void ww_thr_set_pid(struct ww_model *m, struct ww_thr *t, int32_t pid)
{
	if (pid < 0 || pid > WW_MAX_TID || (t->proc != WW_NONE && m->proc.v[t->proc]->pid == pid))
		return;
	struct ww_proc *p = ww_proc_get(m, pid);
	if (!t->dead) {
		if (t->proc != WW_NONE)
			m->proc.v[t->proc]->living--;
		p->living++;
	}
	t->proc = p->index;
	m->f->thread.pid[t->index] = pid;
	m->f->thread.process[t->index] = p->index;
	if (t->tid == pid)
		m->f->process.main_thread[p->index] = t->index;
	struct ww_thr *first = t->tid == pid ? NULL : ww_thr_find(m, pid);
	if (first && !first->dead && first->proc == WW_NONE)
		ww_thr_set_pid(m, first, pid);
}

void ww_thr_rename(struct ww_model *m, struct ww_thr *t, uint32_t comm, int64_t ts_ns)
{
	uint32_t *is = &m->f->thread.comm[t->index];

	if (*is == comm)
		return;
	if (*ww_facts_str(m->f, *is)) {
		uint32_t last = m->f->thread.renamed[t->index];
		struct ww_name_change r = {.ts_ns = last == WW_NONE ? ts_ns : WW_MAX(ts_ns, m->f->name_change.ts_ns[last]),
					   .thread = t->index, .old = *is, .before = last};
		m->f->thread.renamed[t->index] = ww_name_change_push(m->f, &r);
	}
	*is = comm;
	t->named_ts_ns = 0;
}

void ww_thr_set_comm(struct ww_model *m, struct ww_thr *t, const struct ww_value *v)
{
	if ((v->kind != WW_V_STR && v->kind != WW_V_BYTES) || t->before_exec)
		return;
	const uint32_t old = m->f->thread.comm[t->index];
	const size_t old_len = m->f->strs.lens[old];
	if (old_len <= v->len && !memcmp(m->f->strs.strs[old], v->p, old_len) && (old_len == v->len || !v->p[old_len]))
		return;
	/* It named itself: in the call that is known, else in the run that it is seen in by the new name, for it had the
	 * old one until then; most do so as the first thing. */
	int64_t ts = t->named_ts_ns ? t->named_ts_ns : t->index == m->cpu->cur ? m->cpu->run_start : m->now;
	ww_thr_rename(m, t, ww_strtab_intern(&m->f->strs, v->p, strnlen(v->p, v->len)), ts);
}

/* A call known from registers at a wait: it goes on for nobody knows how long after it. */
static bool in_call(const struct ww_thr *t)
{
	return t->in_syscall && !t->regs_call;
}

static uint32_t call_row(const struct ww_thr *t)
{
	return t->in_syscall ? t->sc_row : WW_NONE;
}

/* Where stolen time may be taken from, when it becomes known. */
static void note_row(const struct ww_model *m, struct ww_thr *t, uint32_t row, const struct ww_state *r)
{
	t->rows[t->nrows++ % WW_LAST_ROWS] = row;
	if (ww_thr_runs(r->state)) {
		if (t->long_row == WW_NONE || r->dur_ns > m->f->state.dur_ns[t->long_row])
			t->long_row = row;
	} else if (r->state > WW_ST_STOLEN) {
		t->long_row = WW_NONE; /* not on a CPU: another run begins */
	}
}

/* Its row of state_more. An interrupted thread's has the handler's name alone, and nobody adds to it: those share. */
static uint32_t more_of(struct ww_model *m, const struct ww_open_state *o)
{
	struct ww_shared_more *last = &m->interrupted_by[o->more.detail % WW_ARRAY_SIZE(m->interrupted_by)];

	if (!o->has_more)
		return 0;
	if (o->state != WW_ST_INTERRUPTED || !o->more.detail || o->more.fault != WW_NONE)
		return ww_state_more_of(m->f, &o->more);
	if (last->detail != o->more.detail)
		*last = (struct ww_shared_more){o->more.detail, ww_state_more_of(m->f, &o->more)};
	return last->row;
}

/* Ends the open state at ts, if it took any time: its row, or WW_NONE. */
static inline uint32_t close_state(struct ww_model *m, struct ww_thr *t, int64_t ts)
{
	const struct ww_open_state *o = &t->st;

	if (ts <= o->start || t->idle)
		return WW_NONE;
	const struct ww_state r = {.thread = t->index, .start_ts_ns = o->start, .dur_ns = ts - o->start,
				   .state = o->state, .cpu = o->cpu, .syscall = o->syscall,
				   .cause = o->state == WW_ST_BLOCKED ? WW_CA_UNKNOWN : WW_CA_NONE, .more = more_of(m, o)};
	const uint32_t row = ww_state_push(m->f, &r);
	note_row(m, t, row, &r);
	return row;
}

static inline void open_state(struct ww_thr *t, int64_t ts, enum ww_thread_state s, uint32_t syscall)
{
	struct ww_open_state *o = &t->st;

	o->start = WW_MAX(ts, o->start);
	o->state = (uint8_t)s;
	o->cpu = t->cpu;
	o->syscall = syscall;
	if (o->has_more) {
		o->more = (struct ww_state_more)WW_STATE_MORE_NONE;
		o->has_more = false;
	}
}

uint32_t ww_thr_state(struct ww_model *m, struct ww_thr *t, int64_t ts, enum ww_thread_state s)
{
	const uint32_t row = close_state(m, t, ts);

	open_state(t, ts, s, in_call(t) || s == WW_ST_BLOCKED ? call_row(t) : WW_NONE);
	return row;
}

/* In the fault: known to be still going on only where its end is recorded or a wait proves it. */
static bool in_fault(const struct ww_model *m, const struct ww_thr *t)
{
	return t->fault_row != WW_NONE && m->has_fault_end;
}

static enum ww_thread_state running_state(const struct ww_model *m, const struct ww_thr *t)
{
	if (t->kernel || in_call(t) || t->mode == WW_MODE_KERNEL || in_fault(m, t))
		return WW_ST_RUNNING_KERNEL;
	return t->mode == WW_MODE_USER ? WW_ST_RUNNING_USER : WW_ST_RUNNING;
}

void ww_thr_running(struct ww_model *m, struct ww_thr *t, int64_t ts)
{
	const struct ww_cpu *c = t->cpu >= 0 && (size_t)t->cpu < m->cpus.n ? &m->cpus.v[t->cpu] : NULL;

	if (!c || t->idle)
		return;
	bool interrupted = c->depth > 0;
	enum ww_thread_state s = interrupted ? WW_ST_INTERRUPTED : running_state(m, t);
	uint32_t sc = in_call(t) ? t->sc_row : WW_NONE;
	uint32_t fault = in_fault(m, t) ? t->fault_row : WW_NONE;
	uint32_t detail = interrupted ? c->frame[0].name : 0;

	if (t->st.state == s && t->st.cpu == t->cpu && t->st.syscall == sc && t->st.more.fault == fault &&
	    t->st.more.detail == detail)
		return;
	close_state(m, t, ts);
	open_state(t, ts, s, sc);
	if (fault == WW_NONE && !detail)
		return;
	ww_open_more(&t->st)->fault = fault;
	t->st.more.detail = detail;
}

void ww_thr_end(struct ww_model *m, struct ww_thr *t, int64_t ts)
{
	if (t->dead)
		return;
	ww_cpu_lose(m, t->cpu);
	t->cpu = -1;
	ww_thr_state(m, t, ts, WW_ST_UNKNOWN);
	m->f->thread.end_ts_ns[t->index] = WW_MAX(ts, t->st.start);
	t->dead = true;
	if (t->proc != WW_NONE)
		m->proc.v[t->proc]->living--;
}
