/* cpu.c - what runs on a CPU: the current thread, and on top of it the nesting of contexts
 * thread < softirq < hard interrupt (timer, IPI) < NMI.
 *
 * A handler's entry pushes a frame and its exit pops it; whatever completes meanwhile (a block
 * request, a received packet, a timer) is noted in the top frame, and a wakeup is explained by it.
 */
#include <stdio.h>

#include "model/model_private.h"

enum { NET_RX = 3 }; /* its place in the kernel's softirq vectors, as below */
static const char *const soft_names[] = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK",
					 "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};

uint32_t ww_cpu_soft_name(struct ww_model *m, int32_t vec)
{
	if (vec < 0 || (size_t)vec >= WW_ARRAY_SIZE(soft_names))
		return 0;
	if (!m->soft_names[vec])
		m->soft_names[vec] = ww_intern(m, soft_names[vec]);
	return m->soft_names[vec];
}

static void new_cpu(struct ww_model *m)
{
	struct ww_cpu *c = ww_vec_push(&m->cpus);
	struct ww_thr *idle = ww_thr_new(m, 0, m->begin);
	char name[32];

	snprintf(name, sizeof(name), "swapper/%zu", m->cpus.n - 1);
	idle->idle = idle->kernel = true;
	m->f->thread.comm[idle->index] = ww_intern(m, name);
	m->f->thread.flags[idle->index] = WW_TF_IDLE | WW_TF_KERNEL;
	m->f->thread.pid[idle->index] = 0;
	c->idle = idle->index;
	c->cur = WW_NONE;
	c->run_prio = -1;
	c->ipi_by = WW_NONE;
	c->signal_tid = -1;
	ww_loopback_forget(c);
	c->run_start = c->known_from = c->gap_from = m->begin;
}

bool ww_cpu_new(struct ww_model *m, int32_t cpu)
{
	if (cpu < 0 || cpu >= WW_MAX_CPUS)
		return false;
	while (m->cpus.n <= (size_t)cpu)
		new_cpu(m);
	return true;
}

uint32_t ww_cpu_end_run(struct ww_model *m, const struct ww_cpu *c, uint32_t thread, int64_t end_ts_ns, enum ww_run_end why,
			uint16_t state, uint32_t next)
{
	const struct ww_run r = {.cpu = (uint32_t)(c - m->cpus.v), .thread = thread, .start_ts_ns = c->run_start,
				 .dur_ns = end_ts_ns - c->run_start, .end_reason = (uint8_t)why, .end_state = state,
				 .prio = c->run_prio, .end_prio = -1, .next = next};

	return r.dur_ns > 0 ? ww_run_push(m->f, &r) : WW_NONE;
}

/* The thread below goes on, or is interrupted, from now. */
static void update_current(struct ww_model *m)
{
	struct ww_thr *t = ww_thr_current(m);

	if (t)
		ww_thr_running(m, t, m->now);
}

void ww_cpu_push(struct ww_model *m, enum ww_irq_kind kind, int32_t vector, uint32_t name)
{
	struct ww_cpu *c = m->cpu;

	c->loose = (struct ww_done){0};
	c->signal_tid = -1;
	if (c->depth)
		c->frame[c->depth - 1].sent_in = WW_NONE;
	if (c->depth == WW_MAX_NEST) /* only damaged input nests this deep */
		c->depth = 0;
	c->frame[c->depth++] = (struct ww_frame){.kind = (uint8_t)kind, .vector = vector, .name = name,
						 .start = m->now, .raised = -1, .timer = WW_NONE, .sender = WW_NONE,
						 .sent_in = WW_NONE};
	if (c->depth == 1)
		update_current(m);
}

static void emit_interrupt(struct ww_model *m, const struct ww_frame *fr, uint8_t nesting)
{
	struct ww_interrupt r = {.cpu = m->cpu_nr, .kind = fr->kind, .vector = fr->vector, .name = fr->name,
				 .start_ts_ns = fr->start, .dur_ns = m->now - fr->start, .raised_ts_ns = fr->raised,
				 .nesting = nesting, .thread = m->cpu->cur};

	ww_interrupt_push(m->f, &r);
}

void ww_cpu_pop(struct ww_model *m, enum ww_irq_kind kind, int32_t vector)
{
	struct ww_cpu *c = m->cpu;
	int i;

	c->loose = (struct ww_done){0};
	for (i = c->depth - 1; i >= 0; i--)
		if (c->frame[i].kind == kind && c->frame[i].vector == vector)
			break;
	if (i < 0)
		return; /* its entry was before the trace or in a gap */
	emit_interrupt(m, &c->frame[i], (uint8_t)i);
	c->depth = (uint8_t)i;
	if (!i)
		update_current(m);
	c->trigger = (struct ww_done){0};
}

void ww_cpu_drop_frames(struct ww_model *m)
{
	m->cpu->depth = 0;
	m->cpu->loose = m->cpu->trigger = (struct ww_done){0};
	m->cpu->signal_tid = -1;
}

void ww_cpu_done(struct ww_model *m, enum ww_waker kind, uint32_t fact)
{
	ww_cpu_is_done(m, (struct ww_done){.kind = (uint8_t)kind, .fact = fact});
}

void ww_cpu_is_done(struct ww_model *m, struct ww_done d)
{
	struct ww_cpu *c = m->cpu;

	if (c->depth)
		c->frame[c->depth - 1].done = d;
	else
		c->loose = d;
}

enum ww_context ww_cpu_context(const struct ww_cpu *c)
{
	if (!c->depth)
		return WW_CX_THREAD;
	/* A classic timer's handler runs inside the TIMER softirq. */
	for (int i = c->depth - 1; i >= 0; i--) {
		if (c->frame[i].kind == WW_IK_NMI)
			return WW_CX_NMI;
		if (c->frame[i].kind == WW_IK_SOFT)
			return WW_CX_SOFTIRQ;
		if (c->frame[i].kind == WW_IK_HARD || c->frame[i].kind == WW_IK_IPI)
			return WW_CX_IRQ;
	}
	return WW_CX_IRQ;
}

void ww_cpu_lose(struct ww_model *m, int16_t cpu)
{
	if (cpu < 0 || (size_t)cpu >= m->cpus.n)
		return;
	struct ww_cpu *c = &m->cpus.v[cpu];
	c->cur = WW_NONE;
	c->depth = 0;
	c->loose = c->trigger = (struct ww_done){0};
	ww_loopback_forget(c);
	c->known_from = c->gap_from = m->now;
}

/* Events of one CPU were lost: who runs there and in what context is not known any more. */
static void forget_cpu(struct ww_model *m, struct ww_cpu *c, int64_t from)
{
	struct ww_thr *t = ww_thr_at(m, c->cur);

	if (t) {
		ww_cpu_end_run(m, c, t->index, from, WW_RE_UNKNOWN, 0, WW_NONE);
		t->cpu = -1;
		t->mode = WW_MODE_UNKNOWN;
		ww_syscall_forget(t);
		ww_thr_state(m, t, WW_MAX(from, t->st.start), WW_ST_UNKNOWN);
	}
	c->cur = WW_NONE;
	c->depth = 0;
	c->loose = c->trigger = (struct ww_done){0};
	c->signal_tid = -1;
	memset(c->raised, 0, sizeof(c->raised));
	ww_loopback_forget(c);
	c->known_from = m->now;
	c->gap_from = from;
}

void ww_cpu_gap(struct ww_model *m, const struct ww_event *ev)
{
	int64_t from = WW_MIN(ww_v_int(ev, 1, m->now), m->now);
	struct ww_gap r = {.cpu = ev->cpu, .start_ts_ns = from, .dur_ns = m->now - from,
			   .lost = ww_v_u64(ev, 0)};

	ww_gap_push(m->f, &r);
	m->last_gap_end = m->now;
	for (size_t i = 0; i < m->cpus.n; i++)
		if (ev->cpu < 0 || (size_t)ev->cpu == i)
			forget_cpu(m, &m->cpus.v[i], from);
	/* What waited for a CPU may have run meanwhile. What slept is more likely to sleep still:
	 * its state goes on, marked uncertain. */
	for (size_t i = 0; i < m->thr.n; i++) {
		struct ww_thr *t = m->thr.v[i];

		if (!t->dead && t->cpu < 0 && !t->idle &&
		    (t->st.state == WW_ST_RUNQUEUE || t->st.state == WW_ST_PREEMPTED))
			ww_thr_state(m, t, WW_MAX(from, t->st.start), WW_ST_UNKNOWN);
	}
}

/* ---- handlers ---- */
static uint32_t irq_name(struct ww_model *m, const struct ww_event *ev, int32_t nr)
{
	bool isnew;
	uint64_t *i = ww_u64map_get(&m->irqs, (uint32_t)nr, m->f->irq.n, &isnew);

	if (isnew) {
		struct ww_irq r = {.number = nr, .name = ww_v_str(m, ev, S_IRQ_NAME)};
		ww_irq_push(m->f, &r);
	} else if (!m->f->irq.name[*i]) {
		m->f->irq.name[*i] = ww_v_str(m, ev, S_IRQ_NAME);
	}
	return m->f->irq.name[*i];
}

void ww_on_irq_entry(struct ww_model *m, const struct ww_event *ev)
{
	int32_t nr = (int32_t)ww_v_int(ev, S_IRQ_NR, -1);

	ww_cpu_push(m, WW_IK_HARD, nr, irq_name(m, ev, nr));
}

void ww_on_irq_exit(struct ww_model *m, const struct ww_event *ev)
{
	ww_cpu_pop(m, WW_IK_HARD, (int32_t)ww_v_int(ev, S_IRQ_NR, -1));
}

void ww_on_soft_entry(struct ww_model *m, const struct ww_event *ev)
{
	int32_t vec = (int32_t)ww_v_int(ev, 0, -1);

	ww_cpu_push(m, WW_IK_SOFT, vec, ww_cpu_soft_name(m, vec));
	if (vec >= 0 && vec < WW_SOFT_VECTORS && m->cpu->raised[vec]) {
		m->cpu->frame[m->cpu->depth - 1].raised = m->cpu->raised[vec] - 1;
		m->cpu->raised[vec] = 0;
	}
	if (vec == NET_RX)
		ww_loopback_entered(m);
}

/* Asked for twice before it comes: it has waited since the first time. */
void ww_on_soft_raise(struct ww_model *m, const struct ww_event *ev)
{
	int32_t vec = (int32_t)ww_v_int(ev, S_SR_VEC, -1);

	if (vec >= 0 && vec < WW_SOFT_VECTORS && !m->cpu->raised[vec])
		m->cpu->raised[vec] = m->now + 1;
	if (vec == NET_RX)
		ww_loopback_raised(m, (int32_t)ww_v_int(ev, S_SR_FLAGS, -1));
}

void ww_on_soft_exit(struct ww_model *m, const struct ww_event *ev)
{
	ww_cpu_pop(m, WW_IK_SOFT, (int32_t)ww_v_int(ev, 0, -1));
}

/* "reschedule_entry" -> "reschedule"; kind by name. */
static uint32_t vector_name(struct ww_model *m, enum ww_irq_kind *ret_kind)
{
	const char *s = ww_facts_str(m->f, m->now_bound->name), *end = strrchr(s, '_');

	*ret_kind = !strncmp(s, "local_timer", 11) ? WW_IK_TIMER : WW_IK_IPI;
	return ww_strtab_intern(&m->f->strs, s, end ? (size_t)(end - s) : strlen(s));
}

void ww_on_vector_entry(struct ww_model *m, const struct ww_event *ev)
{
	enum ww_irq_kind kind;
	uint32_t name = vector_name(m, &kind);

	ww_cpu_push(m, kind, (int32_t)ww_v_int(ev, 0, -1), name);
	if (!strncmp(ww_facts_str(m->f, name), "call_function_single", 20)) {
		m->cpu->frame[m->cpu->depth - 1].sender = m->cpu->ipi_by;
		m->cpu->ipi_by = WW_NONE;
	}
}

/* Somebody asks another CPU to call a function. What wakes a task there is the function, called by him. */
void ww_on_own_ipi(struct ww_model *m, const struct ww_event *ev)
{
	uint64_t cpu = ww_v_u64(ev, 0);
	struct ww_thr *t = ww_thr_current(m);

	if (cpu < m->cpus.n)
		m->cpus.v[cpu].ipi_by = !m->cpu->depth && t && !t->idle ? t->index : WW_NONE;
}

void ww_on_vector_exit(struct ww_model *m, const struct ww_event *ev)
{
	enum ww_irq_kind kind;

	vector_name(m, &kind);
	ww_cpu_pop(m, kind, (int32_t)ww_v_int(ev, 0, -1));
}
