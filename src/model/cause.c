/* cause.c - what ended a wait.
 *
 * Two looks at it. When the wakeup is seen: from the system call, the kind of its file and who woke.
 * When the call returns: its return value and the descriptor that was ready settle what the wakeup
 * left open. What neither shows stays `unknown`: no rule here guesses.
 *
 * Example: read(3) on a pipe, woken by thread 7 -> pipe. poll(), woken by thread 7 -> unknown so far;
 * its return reports fd 5, a unix socket -> unix. nanosleep woken by a thread -> unknown so far;
 * returns EINTR -> signal.
 */
#include <stdio.h>

#include "model/model_private.h"

struct verdict {
	enum ww_cause cause;
	uint32_t other, file;
	uint32_t words; /* string; 0 none */
};

struct look { /* everything that a rule may use */
	struct ww_model *m;
	struct ww_thr *t;
	enum ww_waker kind; /* of the wakeup */
	uint32_t waker;     /* thread, when kind is thread or work */
	uint32_t fact;
	uint32_t row;
	uint32_t writer;    /* thread that woke it by what it is writing in its call now; WW_NONE */
	bool over_net;      /* by what the waker sent */
	bool signalled;     /* a signal for it was generated in the same context just before */
	bool returned;      /* ret is known */
	int64_t ret;
};

enum { E_INTR = 4, E_AGAIN = 11, E_TIMEDOUT = 110, E_RESTART_FIRST = 512, E_RESTART_LAST = 516 };

static const uint8_t file_causes[WW_FK_N] = {
	[WW_FK_PIPE] = WW_CA_PIPE, [WW_FK_FIFO] = WW_CA_PIPE, [WW_FK_SOCK_UNIX] = WW_CA_UNIX,
	[WW_FK_SOCK_TCP] = WW_CA_TCP, [WW_FK_SOCK_UDP] = WW_CA_UDP,
	[WW_FK_SOCK_NETLINK] = WW_CA_NETLINK, [WW_FK_SOCK_VSOCK] = WW_CA_VSOCK,
	[WW_FK_EVENTFD] = WW_CA_EVENTFD, [WW_FK_TIMERFD] = WW_CA_TIMER,
	[WW_FK_SIGNALFD] = WW_CA_SIGNAL, [WW_FK_TTY] = WW_CA_TTY, [WW_FK_PIDFD] = WW_CA_CHILD,
};

enum ww_cause ww_cause_of_file(enum ww_file_kind kind)
{
	enum ww_cause c = (unsigned)kind < WW_FK_N ? file_causes[kind] : WW_CA_NONE;

	return c == WW_CA_NONE ? WW_CA_UNKNOWN : c;
}

static enum ww_cause cause_of(const struct look *l, uint32_t file)
{
	return file == WW_NONE ? WW_CA_UNKNOWN : ww_cause_of_file(l->m->f->file.kind[file]);
}

static bool interrupted(const struct look *l)
{
	return l->returned && (l->ret == -E_INTR || (l->ret <= -E_RESTART_FIRST && l->ret >= -E_RESTART_LAST));
}

static bool by_thread(const struct look *l)
{
	return l->kind == WW_WK_THREAD || l->kind == WW_WK_WORK;
}

static enum ww_cause packet_cause(const struct look *l)
{
	uint8_t proto = l->fact < l->m->f->packet.n ? l->m->f->packet.proto[l->fact] : 0;

	return proto == 6 ? WW_CA_TCP : proto == 17 ? WW_CA_UDP : WW_CA_UNKNOWN;
}

/* Was the work, or the work that queued it (and so on, a few steps), queued because a block request was done? */
static bool work_after_disk(const struct ww_facts *f, uint32_t work)
{
	for (int step = 0; step < 4 && work < f->work.n; step++) {
		if (f->work.trigger_kind[work] != WW_WK_WORK)
			return f->work.trigger_kind[work] == WW_WK_BLOCK;
		work = f->work.trigger[work];
	}
	return false;
}

/* A helper (jbd2, kworker) woke it: if the helper itself came from the disk meanwhile, it was the
 * disk. */
static bool helper_came_from_disk(const struct look *l)
{
	const struct ww_state_cols *s = &l->m->f->state;

	if (l->kind == WW_WK_WORK && work_after_disk(l->m->f, l->fact))
		return true;
	if (l->returned || !by_thread(l) || l->waker == WW_NONE || l->over_net)
		return false; /* by the time of the return the helper does something else */
	const struct ww_thr *h = l->m->thr.v[l->waker];
	if (h->last_wait_row == WW_NONE || h->last_wait_end <= s->start_ts_ns[l->row])
		return false;
	uint32_t w = ww_state_wakeup(l->m->f, h->last_wait_row);
	return s->cause[h->last_wait_row] == WW_CA_DISK ||
	       (w != WW_NONE && l->m->f->wakeup.kind[w] == WW_WK_BLOCK);
}

static void rule_sleep(const struct look *l, struct verdict *v)
{
	if (l->kind == WW_WK_TIMER || (l->returned && l->ret == 0))
		v->cause = WW_CA_TIMER;
}

static void rule_futex(const struct look *l, struct verdict *v)
{
	if (l->kind == WW_WK_THREAD) {
		v->cause = WW_CA_FUTEX;
		v->other = l->waker;
	} else if (l->returned && l->ret == 0) {
		v->cause = WW_CA_FUTEX;
	}
	if (l->kind == WW_WK_TIMER || (l->returned && l->ret == -E_TIMEDOUT)) {
		v->cause = WW_CA_TIMER;
		v->other = WW_NONE;
	}
}

static bool is_storage(const struct look *l, uint32_t file)
{
	uint8_t k = file == WW_NONE ? WW_FK_UNKNOWN : l->m->f->file.kind[file];

	return k == WW_FK_REG || k == WW_FK_DIR || k == WW_FK_BLK;
}

static void rule_fd(const struct look *l, struct verdict *v)
{
	bool ended = l->kind != WW_WK_UNKNOWN || (l->returned && l->ret >= 0);

	if (is_storage(l, l->t->sc_file)) {
		/* A timer, and yet the kernel counts it as waiting for I/O: paused until the disk has taken some of the
		 * pages that are to be written (mm/page-writeback.c:balance_dirty_pages). */
		if (helper_came_from_disk(l) || (l->kind == WW_WK_TIMER && l->t->io_wait))
			v->cause = WW_CA_DISK;
		return;
	}
	if (ended)
		v->cause = cause_of(l, l->t->sc_file);
	if (v->cause == WW_CA_UNKNOWN && l->kind == WW_WK_PACKET)
		v->cause = packet_cause(l);
	if (v->cause != WW_CA_UNKNOWN && l->kind == WW_WK_TIMER && l->returned && l->ret == -E_AGAIN)
		v->cause = WW_CA_TIMER; /* SO_RCVTIMEO */
	if (v->cause == WW_CA_UNKNOWN && helper_came_from_disk(l))
		v->cause = WW_CA_DISK;
}

/* poll woken by a thread that is writing to something: what it writes to is what is polled. */
static uint32_t file_written_by_waker(const struct look *l)
{
	if (l->returned || l->writer == WW_NONE)
		return WW_NONE;
	const struct ww_thr *w = l->m->thr.v[l->writer];
	if (!w->in_syscall || w->sc->wait != WW_W_FD || w->sc_file == WW_NONE)
		return WW_NONE;
	uint32_t peer = l->m->f->file.peer[w->sc_file];
	return peer != WW_NONE ? peer : w->sc_file;
}

/* The timer is no timeout of the call, but of a descriptor. */
static bool is_timerfd(const struct look *l)
{
	const struct ww_timer_cols *t = &l->m->f->timer;

	return l->fact < t->n && !strcmp(ww_facts_str(l->m->f, t->name[l->fact]), "timerfd_tmrproc");
}

/* A program may poll several of one name, such as pipes: only the number tells which. */
static uint32_t ready_words(const struct look *l)
{
	char words[32];

	snprintf(words, sizeof(words), "descriptor %d", (int)l->t->ready_fd);
	return ww_strtab_intern_cstr(&l->m->f->strs, words);
}

static void rule_poll(const struct look *l, struct verdict *v)
{
	if (l->returned && l->ret == 0) {
		v->cause = WW_CA_TIMER;
		return;
	}
	if (l->t->ready_file != WW_NONE) {
		v->file = l->t->ready_file;
		v->cause = cause_of(l, v->file);
		v->words = ready_words(l);
	}
	if (v->cause == WW_CA_UNKNOWN && l->kind == WW_WK_PACKET)
		v->cause = packet_cause(l);
	if (v->cause == WW_CA_UNKNOWN) {
		uint32_t file = file_written_by_waker(l);

		v->cause = cause_of(l, file);
		v->file = v->cause == WW_CA_UNKNOWN ? v->file : file;
	}
	if (v->cause == WW_CA_UNKNOWN && l->kind == WW_WK_TIMER && (!l->returned || is_timerfd(l)))
		v->cause = WW_CA_TIMER;
}

/* Whom the call returned: one of its own children, as the number may be that of another process namespace. */
static uint32_t child_returned(const struct look *l)
{
	const struct ww_thr *child = ww_thr_last(l->m, l->ret);

	if (child && child->proc != WW_NONE && l->m->f->process.parent[child->proc] == l->t->proc)
		return child->index;
	return by_thread(l) ? l->waker : WW_NONE;
}

static void rule_child(const struct look *l, struct verdict *v)
{
	if (l->returned && l->ret > 0) {
		v->cause = WW_CA_CHILD;
		v->other = child_returned(l);
	} else if (l->kind == WW_WK_THREAD || (l->returned && l->ret == 0)) {
		v->cause = WW_CA_CHILD;
		v->other = l->kind == WW_WK_THREAD ? l->waker : WW_NONE;
	}
}

static void rule_vfork(const struct look *l, struct verdict *v)
{
	if (l->kind == WW_WK_THREAD && l->waker != WW_NONE &&
	    l->m->f->thread.parent[l->waker] == l->t->index) {
		v->cause = WW_CA_CHILD;
		v->other = l->waker;
	} else if (helper_came_from_disk(l)) {
		v->cause = WW_CA_DISK;
	}
}

static void rule_signal(const struct look *l, struct verdict *v)
{
	/* Woken by a timer it may have timed out, or the timer sent the signal: the return tells. */
	if (l->returned && l->ret == -E_AGAIN) {
		v->cause = WW_CA_TIMER;
	} else if (l->kind == WW_WK_THREAD || l->signalled || (l->returned && l->ret > 0)) {
		v->cause = WW_CA_SIGNAL;
		v->other = l->kind == WW_WK_THREAD ? l->waker : WW_NONE;
	}
}

static void rule_sync(const struct look *l, struct verdict *v)
{
	if (helper_came_from_disk(l)) {
		v->cause = WW_CA_DISK;
	} else if (l->kind == WW_WK_WORK && !l->returned) { /* the flusher's: what was to be written is on its way */
		v->cause = WW_CA_WORK;
		v->other = l->waker;
	}
}

static void wait_for_thread(const struct look *l, struct verdict *v, enum ww_cause cause)
{
	if (l->kind == WW_WK_THREAD) {
		v->cause = cause;
		v->other = l->waker;
	} else if (l->kind == WW_WK_TIMER) {
		v->cause = WW_CA_TIMER;
	} else if (l->returned && l->ret >= 0) {
		v->cause = cause;
	}
}

static void rule_flock(const struct look *l, struct verdict *v)
{
	wait_for_thread(l, v, WW_CA_FILELOCK);
}

static void rule_fcntl(const struct look *l, struct verdict *v)
{
	int64_t cmd = l->t->sc_arg[1];

	if (cmd == 7 || cmd == 14 || cmd == 38) /* F_SETLKW, F_SETLKW64, F_OFD_SETLKW */
		wait_for_thread(l, v, WW_CA_FILELOCK);
}

static void rule_ipc(const struct look *l, struct verdict *v)
{
	wait_for_thread(l, v, WW_CA_IPC);
}

static void rule_uring(const struct look *l, struct verdict *v)
{
	if (l->kind == WW_WK_TIMER)
		v->cause = WW_CA_TIMER;
	else if (by_thread(l) && helper_came_from_disk(l))
		v->cause = WW_CA_DISK;
	else if (l->kind == WW_WK_PACKET)
		v->cause = packet_cause(l);
	else if (l->kind == WW_WK_WORK || (l->returned && l->ret >= 0) ||
		 (by_thread(l) && l->waker != WW_NONE && l->m->thr.v[l->waker]->io_worker))
		v->cause = WW_CA_WORK; /* a request was completed */
}

/* open of a FIFO waits for the other end. */
static void rule_other(const struct look *l, struct verdict *v)
{
	uint32_t file = l->returned && l->t->sc->effect == WW_FX_OPEN ? ww_fd_file(l->m, l->t, l->ret) : WW_NONE;

	if (file != WW_NONE && l->m->f->file.kind[file] == WW_FK_FIFO && by_thread(l)) {
		v->cause = WW_CA_PIPE;
		v->file = file;
	} else {
		rule_sync(l, v);
	}
}

/* Of restart_syscall, where what it goes on with is not known: something with a timeout. */
static void rule_restart(const struct look *l, struct verdict *v)
{
	if (l->kind == WW_WK_TIMER)
		v->cause = WW_CA_TIMER;
}

static void (*const rules[])(const struct look *, struct verdict *) = {
	[WW_W_OTHER] = rule_other, [WW_W_SLEEP] = rule_sleep, [WW_W_FUTEX] = rule_futex,
	[WW_W_FD] = rule_fd, [WW_W_POLL] = rule_poll, [WW_W_CHILD] = rule_child,
	[WW_W_VFORK] = rule_vfork, [WW_W_SIGNAL] = rule_signal, [WW_W_SYNC] = rule_sync,
	[WW_W_FLOCK] = rule_flock, [WW_W_FCNTL] = rule_fcntl, [WW_W_IPC] = rule_ipc,
	[WW_W_URING] = rule_uring, [WW_W_RESTART] = rule_restart,
};

/* An idle worker sleeps in state I until something is queued, whoever queues it. */
static bool idle_worker(const struct look *l)
{
	const char *comm = ww_facts_str(l->m->f, l->m->f->thread.comm[l->t->index]);

	return l->t->kernel && l->t->idle_sleep && !strncmp(comm, "kworker", 7);
}

static void kernel_thread(const struct look *l, struct verdict *v)
{
	if (l->kind == WW_WK_TIMER)
		v->cause = WW_CA_TIMER;
	else if (helper_came_from_disk(l))
		v->cause = WW_CA_DISK;
}

/* The file that the disk was asked for: the call's, if it is storage, else the request's. */
static uint32_t disk_file(const struct look *l)
{
	if (l->t->in_syscall && is_storage(l, l->t->sc_file))
		return l->t->sc_file;
	return l->kind == WW_WK_BLOCK && l->fact < l->m->f->block_io.n ? l->m->f->block_io.file[l->fact]
									: WW_NONE;
}

/* A timeout ended the wait, and before it got a CPU to return from it the event came as well: the return tells of the
 * event, but it was not waited for any longer. (A socket's own timers may end a wait for it.) */
static bool event_after_timeout(const struct look *l, enum ww_cause c)
{
	const struct ww_timer_cols *t = &l->m->f->timer;

	if (l->kind != WW_WK_TIMER)
		return false;
	if (c == WW_CA_PIPE || c == WW_CA_UNIX || c == WW_CA_EVENTFD || c == WW_CA_FUTEX || c == WW_CA_TTY)
		return true;
	if ((c != WW_CA_TCP && c != WW_CA_UDP) || l->fact >= t->n)
		return false;
	const char *name = ww_facts_str(l->m->f, t->name[l->fact]);
	return !strcmp(name, "hrtimer_wakeup") || !strcmp(name, "process_timeout");
}

static struct verdict decide(const struct look *l)
{
	struct ww_facts *f = l->m->f;
	struct verdict v = {WW_CA_UNKNOWN, WW_NONE, ww_state_file(f, l->row), 0};

	if (ww_state_fault(f, l->row) != WW_NONE) {
		v.cause = WW_CA_FAULT;
		v.file = f->fault.file[ww_state_fault(f, l->row)];
		if (v.file == WW_NONE)
			v.file = disk_file(l);
	} else if (ww_state_object(f, l->row) && l->t->lock) {
		v.cause = WW_CA_LOCK;
		v.other = by_thread(l) ? l->waker : WW_NONE;
	} else if (idle_worker(l)) {
		v.cause = l->kind == WW_WK_UNKNOWN ? WW_CA_UNKNOWN : WW_CA_WORK;
	} else if (l->kind == WW_WK_BLOCK) {
		v.cause = WW_CA_DISK;
		v.file = disk_file(l);
	} else if (l->t->kernel) {
		kernel_thread(l, &v);
	} else if (l->t->in_syscall) {
		if (interrupted(l) || (l->signalled && l->t->sc->wait != WW_W_CHILD)) {
			v.cause = WW_CA_SIGNAL;
			v.other = by_thread(l) ? l->waker : WW_NONE;
		} else {
			rules[l->t->sc->wait](l, &v);
			if (event_after_timeout(l, v.cause))
				v = (struct verdict){WW_CA_TIMER, WW_NONE, ww_state_file(f, l->row), 0};
		}
		if (v.cause == WW_CA_DISK)
			v.file = disk_file(l);
	}
	return v;
}

static void write_verdict(struct ww_model *m, struct ww_thr *t, uint32_t row, struct verdict v)
{
	t->signal_row = v.cause == WW_CA_SIGNAL ? row : WW_NONE;
	m->f->state.cause[row] = (uint8_t)v.cause;
	ww_state_set_other(m->f, row, v.other);
	ww_state_set_file(m->f, row, v.file);
	if (v.words)
		ww_state_set_detail(m->f, row, v.words);
}

static struct look look_at(struct ww_model *m, struct ww_thr *t, uint32_t row, uint32_t w)
{
	struct look l = {.m = m, .t = t, .row = row, .kind = WW_WK_UNKNOWN, .waker = WW_NONE, .fact = WW_NONE,
			 .writer = WW_NONE};

	if (w != WW_NONE) {
		l.kind = m->f->wakeup.kind[w];
		l.fact = m->f->wakeup.fact[w];
		l.waker = by_thread(&l) ? m->f->wakeup.waker[w] : WW_NONE;
		/* Over loopback the packet arrives on top of the call that sent it. */
		if (l.kind == WW_WK_THREAD ||
		    (l.kind == WW_WK_PACKET && m->f->wakeup.waker[w] == m->f->wakeup.current_thread[w]))
			l.writer = m->f->wakeup.waker[w];
		l.over_net = l.kind == WW_WK_THREAD && m->f->wakeup.vector[w] >= 0;
	}
	return l;
}

void ww_cause_at_wakeup(struct ww_model *m, struct ww_thr *t, uint32_t row, uint32_t wakeup)
{
	struct look l = look_at(m, t, row, wakeup);

	l.signalled = wakeup != WW_NONE && m->cpu->signal_tid >= 0 &&
		      (m->cpu->signal_tid == t->tid || m->cpu->signal_tid == m->f->thread.pid[t->index]);
	write_verdict(m, t, row, decide(&l));
	t->wait_row = t->last_wait_row = row;
	t->last_wait_end = m->now;
}

void ww_cause_at_exit(struct ww_model *m, struct ww_thr *t, int64_t ret)
{
	const uint32_t row = t->wait_row;

	if (t->kernel)
		return;
	struct look l = look_at(m, t, row, ww_state_wakeup(m->f, row));
	l.returned = true;
	l.ret = ret;
	enum ww_cause before = m->f->state.cause[row];
	struct verdict v = decide(&l);
	/* The helper and the lock are only visible at the wakeup itself. */
	if (before == WW_CA_LOCK || (t->sc->wait == WW_W_URING && before != WW_CA_UNKNOWN) || (v.cause == WW_CA_UNKNOWN && before != WW_CA_TIMER))
		return;
	write_verdict(m, t, row, v);
}
