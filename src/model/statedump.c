/* statedump.c - what was there before the trace began: LTTng's state dump (whywait writes it too). */
#include "model/model_private.h"

enum { DUMP_KERNEL_THREAD = 1 };
enum { DUMP_WAIT = 5 };

void ww_on_dump_proc(struct ww_model *m, const struct ww_event *ev)
{
	enum { TID, PID, PPID, NAME, TYPE, STATUS, TABLE };
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, TID, -1));
	int64_t ppid = ww_v_int(ev, PPID, -1);

	if (!t)
		return;
	ww_thr_set_pid(m, t, (int32_t)ww_v_int(ev, PID, -1));
	if (ww_v_has(ev, NAME) && !m->f->thread.comm[t->index])
		ww_thr_set_comm(m, t, ww_v_at(ev, NAME));
	if (ww_v_int(ev, TYPE, 0) == DUMP_KERNEL_THREAD) {
		t->kernel = true;
		m->f->thread.flags[t->index] |= WW_TF_KERNEL;
		if (t->st.state == WW_ST_RUNNING)
			t->st.state = WW_ST_RUNNING_KERNEL;
	}
	struct ww_proc *p = ww_proc_of(m, t);
	if (p && ppid > 0 && ppid <= WW_MAX_TID)
		m->f->process.parent[p->index] = ww_proc_get(m, (int32_t)ppid)->index;
	if (p && ww_v_u64(ev, TABLE))
		ww_u64map_put(&m->fd_tables, ww_v_u64(ev, TABLE), p->index + 1);
	/* It sleeps, and no event of it was seen since the begin: it has slept since then. */
	if (ww_v_int(ev, STATUS, -1) == DUMP_WAIT && t->st.state == WW_ST_UNKNOWN && t->cpu < 0 &&
	    t->st.start == m->begin && m->last_gap_end <= m->begin)
		t->st.state = WW_ST_BLOCKED;
}

void ww_on_dump_fd(struct ww_model *m, const struct ww_event *ev)
{
	enum { TABLE_OR_PID, FD, NAME };
	uint64_t table = ww_v_u64(ev, TABLE_OR_PID), *i = ww_u64map_find(&m->fd_tables, table);
	uint32_t name = ww_v_str(m, ev, NAME);
	struct ww_proc *p = NULL;

	if (i)
		p = m->proc.v[*i - 1];
	else if (table && table <= WW_MAX_TID) /* LTTng before 2.12 wrote the pid */
		p = ww_proc_get(m, (int32_t)table);
	if (p && name)
		ww_fd_set(p, ww_v_int(ev, FD, -1), ww_file_by_name(m, name));
}

void ww_on_dump_irq(struct ww_model *m, const struct ww_event *ev)
{
	int32_t nr = (int32_t)ww_v_int(ev, 0, -1);
	struct ww_irq r = {.number = nr, .name = ww_v_str(m, ev, 1)};

	if (!ww_u64map_find(&m->irqs, (uint32_t)nr))
		ww_u64map_put(&m->irqs, (uint32_t)nr, ww_irq_push(m->f, &r));
}

void ww_on_dump_blk(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_device r = {.dev = (uint32_t)ww_v_u64(ev, 0), .name = ww_v_str(m, ev, 1)};
	uint64_t *i = ww_u64map_find(&m->devices, r.dev);

	if (i)
		m->f->device.name[*i] = r.name;
	else
		ww_u64map_put(&m->devices, r.dev, ww_device_push(m->f, &r));
}

void ww_on_dump_ns(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, 0, -1));

	if (!t)
		return;
	/* One event a level; the deepest is the namespace that it lives in. LTTng begins with it. */
	int32_t level = (int32_t)ww_v_int(ev, 3, 0);
	if (m->f->thread.pid_ns[t->index] && level < t->ns_level)
		return;
	t->ns_level = level;
	m->f->thread.vtid[t->index] = (int32_t)ww_v_int(ev, 1, -1);
	m->f->thread.pid_ns[t->index] = (uint32_t)ww_v_u64(ev, 2);
}
