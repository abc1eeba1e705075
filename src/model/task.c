/* task.c - threads and processes come, are given names, run other programs, and go. */
#include "model/model_private.h"

enum { CLONE_THREAD_FLAG = 0x10000 };

/* The new thread's process, where the event does not tell: from the call that made it; -1. */
static int32_t child_pid(struct ww_model *m, const struct ww_thr *parent, int32_t tid)
{
	if (parent->kernel)
		return tid;
	if (!parent->in_syscall)
		return -1;
	const char *name = parent->sc->name;
	if (!strcmp(name, "fork") || !strcmp(name, "vfork"))
		return tid;
	if (!strcmp(name, "clone"))
		return parent->sc_arg[0] & CLONE_THREAD_FLAG ? m->f->thread.pid[parent->index] : tid;
	return -1;
}

static void new_process(struct ww_model *m, const struct ww_thr *parent, const struct ww_thr *child)
{
	struct ww_proc *from = ww_proc_of(m, parent), *to = ww_proc_of(m, child);

	if (!from || !to || from == to)
		return;
	m->f->process.parent[to->index] = from->index;
	m->f->process.exe[to->index] = m->f->process.exe[from->index];
	ww_fd_copy(to, from);
}

static void forget_pid(struct ww_model *m, int32_t pid)
{
	ww_u64map_del(&m->by_pid, (uint32_t)pid); /* the number is used again by another process */
}

/* The thread of that number begins now, as a child of `parent`; what the event calls it, if it says, else as its parent
 * is called. */
static struct ww_thr *born(struct ww_model *m, const struct ww_thr *parent, int32_t tid, int32_t pid,
			   const struct ww_value *comm)
{
	struct ww_facts *f = m->f;
	struct ww_thr *t = ww_thr_find(m, tid);

	if (t && t->cpu < 0 && t->st.state == WW_ST_UNKNOWN && t->st.start == m->begin && f->thread.start_ts_ns[t->index] == m->begin) {
		f->thread.start_ts_ns[t->index] = t->st.start = m->now; /* the dump, which has no time, was after this */
	} else {
		if (t)
			ww_thr_end(m, t, m->now);
		t = ww_thr_new(m, tid, m->now);
		if (pid == tid)
			forget_pid(m, pid);
	}
	ww_thr_set_pid(m, t, pid);
	f->thread.parent[t->index] = parent->index;
	f->thread.exe[t->index] = f->thread.exe[parent->index];
	f->thread.cgroup[t->index] = f->thread.cgroup[parent->index];
	f->thread.flags[t->index] = WW_TF_FORKED | (f->thread.flags[parent->index] & (WW_TF_KERNEL | WW_TF_TARGET));
	if (comm)
		ww_thr_set_comm(m, t, comm);
	/* The parent may have named itself since it was seen last, so what the event says comes first. */
	if (!*ww_facts_str(f, f->thread.comm[t->index]))
		f->thread.comm[t->index] = f->thread.comm[parent->index];
	t->kernel = parent->kernel;
	/* It will return from the call that made it, where calls are recorded. */
	t->mode = parent->full_syscalls ? WW_MODE_KERNEL : WW_MODE_UNKNOWN;
	t->full_syscalls = parent->full_syscalls;
	t->st.state = WW_ST_RUNQUEUE;
	new_process(m, parent, t);
	return t;
}

bool ww_thr_newborn(const struct ww_model *m, const struct ww_thr *t)
{
	return (m->f->thread.flags[t->index] & WW_TF_FORKED) && t->cpu < 0 && t->st.start == m->f->thread.start_ts_ns[t->index];
}

void ww_on_fork(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *parent = ww_thr_get(m, ww_v_int(ev, S_FK_PARENT, -1));
	int64_t tid = ww_v_int(ev, S_FK_CHILD, -1);
	struct ww_thr *t = ww_thr_find(m, tid);
	int64_t vtids[32];

	if (!parent || tid <= 0 || tid > WW_MAX_TID)
		return;
	ww_thr_set_pid(m, parent, (int32_t)ww_v_int(ev, S_FK_PARENT_PID, -1));
	if (t && ww_thr_newborn(m, t) && m->f->thread.parent[t->index] == parent->index) {
		t->st.state = WW_ST_RUNQUEUE; /* perf has told of this fork */
	} else {
		t = born(m, parent, (int32_t)tid, (int32_t)ww_v_int(ev, S_FK_PID, child_pid(m, parent, (int32_t)tid)),
			 ww_v_at(ev, S_FK_COMM));
	}
	m->f->thread.pid_ns[t->index] = (uint32_t)ww_v_u64(ev, S_FK_NS);
	uint32_t n = ww_v_has(ev, S_FK_VTIDS) ? ww_v_array(m, ev, "vtids", vtids, 32) : 0;
	if (n)
		m->f->thread.vtid[t->index] = (int32_t)vtids[n - 1];
}

struct ww_handover ww_thr_hand_over(struct ww_model *m, struct ww_thr *t)
{
	const struct ww_handover h = {.st = t->st, .cpu = t->cpu, .mode = t->mode, .full_syscalls = t->full_syscalls};

	if (t->cpu >= 0 && (size_t)t->cpu < m->cpus.n)
		ww_cpu_end_run(m, &m->cpus.v[t->cpu], t->index, m->now, WW_RE_UNKNOWN, 0, WW_NONE);
	t->cpu = -1; /* so that the CPU is not thought to be lost */
	ww_syscall_forget(t);
	ww_thr_end(m, t, m->now);
	return h;
}

void ww_thr_take_over(struct ww_model *m, struct ww_thr *t, const struct ww_handover *h)
{
	t->mode = h->mode;
	t->full_syscalls = h->full_syscalls;
	t->cpu = t->st.cpu = h->cpu;
	t->st.state = h->st.state;
	if (h->st.has_more)
		ww_open_more(&t->st)->detail = h->st.more.detail;
	if (h->cpu >= 0 && (size_t)h->cpu < m->cpus.n) {
		m->cpus.v[h->cpu].cur = t->index;
		m->cpus.v[h->cpu].run_start = m->now;
	}
}

/* A thread that the kernel has let die to give its number to the one that executes: its life goes on with that. */
static void revive(struct ww_model *m, struct ww_thr *t)
{
	if (t->dead)
		t->st = ww_open_unknown(m->f->thread.end_ts_ns[t->index]);
	t->dead = t->exiting = false;
	if (t->proc != WW_NONE)
		m->proc.v[t->proc]->living++;
	m->f->thread.flags[t->index] &= (uint8_t)~WW_TF_EXITED;
	ww_cpu_lose(m, t->cpu);
	t->cpu = -1;
	ww_syscall_forget(t);
	t->fault_row = t->kernel_fault = t->wait_row = t->early_wakeup = t->signal_row = WW_NONE;
	ww_thr_state(m, t, m->now, WW_ST_UNKNOWN);
}

/* exec by a thread that is not the main one: all others die, and it goes on under the main one's number, which is what
 * others know the process by. So the main thread's life goes on, and this one's ends. Before the event it may have been
 * seen on its CPU by the new number.
 * source fs/exec.c:de_thread */
static struct ww_thr *take_over(struct ww_model *m, struct ww_thr *t, int32_t tid)
{
	struct ww_proc *p = ww_proc_of(m, t);
	struct ww_thr *first = p ? ww_thr_at(m, m->f->process.main_thread[p->index]) : NULL, *on = ww_thr_current(m);

	if (!first || first == t || first->tid != tid) { /* not known: the thread has another number from now on */
		struct ww_thr *other = ww_thr_find(m, tid);
		if (other && other != t)
			ww_thr_end(m, other, m->now);
		m->by_tid[t->tid] = 0;
		t->tid = tid;
		m->f->thread.tid[t->index] = tid;
		m->by_tid[tid] = t->index + 1;
		return t;
	}
	if (!on || on->tid != tid)
		on = t;
	struct ww_handover h = ww_thr_hand_over(m, on);
	ww_thr_end(m, t, m->now);
	m->by_tid[tid] = first->index + 1;
	revive(m, first);
	ww_thr_take_over(m, first, &h);
	return first;
}

void ww_on_exec(struct ww_model *m, const struct ww_event *ev)
{
	int64_t tid = ww_v_int(ev, S_EX_TID, -1), old = ww_v_int(ev, S_EX_OLD, tid);
	struct ww_thr *t = ww_thr_get(m, old);

	if (!t || tid <= 0 || tid > WW_MAX_TID)
		return;
	if (old != tid)
		t = take_over(m, t, (int32_t)tid);
	ww_thr_set_pid(m, t, t->tid); /* all other threads are gone */
	uint32_t exe = ww_v_str(m, ev, S_EX_FILE);
	const char *path = ww_facts_str(m->f, exe), *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	m->f->thread.exe[t->index] = exe;
	t->before_exec = false;
	ww_thr_rename(m, t, ww_strtab_intern(&m->f->strs, base, strnlen(base, 15)), m->now);
	struct ww_proc *p = ww_proc_of(m, t);
	if (p) {
		m->f->process.exe[p->index] = exe;
		if (!p->perf_maps)
			ww_vec_clear(&p->vmas);
	}
}

void ww_on_exit(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, 0, -1));

	if (t)
		t->exiting = true;
}

void ww_on_rename(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, 0, -1));

	if (!t || !ww_v_has(ev, 1))
		return;
	t->named_ts_ns = m->now;
	ww_thr_set_comm(m, t, ww_v_at(ev, 1));
}

/* ---- perf's own records of tasks. Before the first event it writes one for each task that there is already. ---- */

void ww_on_perf_fork(struct ww_model *m, const struct ww_event *ev)
{
	const int32_t tid = (int32_t)ww_v_int(ev, S_PF_TID, -1), pid = (int32_t)ww_v_int(ev, S_PF_PID, -1);
	int64_t ppid = ww_v_int(ev, S_PF_PPID, -1);
	struct ww_thr *parent = ww_thr_get(m, ww_v_int(ev, S_PF_PTID, -1));

	if (!ww_v_u64(ev, S_PF_TIME)) { /* it was there */
		struct ww_thr *t = ww_thr_get(m, tid);
		if (!t)
			return;
		ww_thr_set_pid(m, t, pid);
		struct ww_proc *p = ww_proc_of(m, t);
		if (p && t->tid == pid && ppid > 0 && ppid <= WW_MAX_TID && ppid != pid)
			m->f->process.parent[p->index] = ww_proc_get(m, (int32_t)ppid)->index;
		return;
	}
	if (!parent || tid <= 0 || tid > WW_MAX_TID)
		return;
	ww_thr_set_pid(m, parent, (int32_t)ppid);
	struct ww_thr *t = born(m, parent, tid, pid, NULL);
	/* perf opens its events one by one, so this record may come long before the first switch; where the event of its
	 * birth is recorded too, that says whether it wants a CPU. */
	if (m->cpu->cur == WW_NONE || m->has_births)
		t->st.state = WW_ST_UNKNOWN;
}

/* A name: of a task that was there, given by itself, or by exec. */
void ww_on_perf_comm(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, S_PC_TID, -1));

	if (!t)
		return;
	ww_thr_set_pid(m, t, (int32_t)ww_v_int(ev, S_PC_PID, -1));
	t->named_ts_ns = m->now;
	ww_thr_set_comm(m, t, ww_v_at(ev, S_PC_COMM));
	struct ww_proc *p = ww_v_u64(ev, S_PC_EXEC) ? ww_proc_of(m, t) : NULL;
	if (p) /* the mappings of the new program follow */
		ww_vec_clear(&p->vmas);
}
