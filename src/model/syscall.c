/* syscall.c - system calls: entry, return, and what is known without either.
 *
 * Named events (LTTng, perf's syscalls:*), raw ones (raw_syscalls:*, with number and registers) and
 * whywait's own end in the same two functions.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/syscalls.h"
#include "model/model_private.h"

static int32_t real_fd(const struct ww_thr *t, int32_t fd)
{
	return t->sc->fd_arg >= 0 ? fd : -1;
}

/* t->sc and its arguments are known. */
static uint32_t file_out(struct ww_model *m, struct ww_thr *t)
{
	return t->sc->out ? ww_fd_file(m, t, (int32_t)t->sc_arg[t->sc->out - 1]) : WW_NONE;
}

static inline void forget(struct ww_thr *t)
{
	t->in_syscall = t->regs_call = t->dumped_call = t->fd_told = false;
	t->sc_row = t->sc_file = t->wait_row = t->ready_file = WW_NONE;
	t->sc_fd = -1;
	t->lock = 0;
}

void ww_syscall_forget(struct ww_thr *t)
{
	forget(t);
}

/* After a stop, a signal without a handler, or a tracer the kernel goes on with a wait that has a timeout in
 * restart_syscall, which has no arguments: it waits for what the interrupted call waited for.
 * source kernel/signal.c:handle_signal, include/linux/restart_block.h */
static const struct ww_sysinfo *gone_on_with(struct ww_thr *t, const struct ww_sysinfo *sc)
{
	const struct ww_sysinfo *before = t->restart;

	t->restart = NULL;
	if (sc->wait != WW_W_RESTART || !before)
		return sc;
	memcpy(t->sc_arg, t->restart_arg, sizeof(t->sc_arg));
	return before;
}

static void may_be_restarted(struct ww_thr *t, int64_t ret)
{
	enum { ERESTART_RESTARTBLOCK = 516 };

	t->restart = NULL;
	if (ret != -ERESTART_RESTARTBLOCK)
		return;
	t->restart = t->sc;
	memcpy(t->restart_arg, t->sc_arg, sizeof(t->restart_arg));
}

/* t->sc_arg, sc_fd, sc_str are already those of the new call. */
void ww_syscall_enter(struct ww_model *m, struct ww_thr *t, const struct ww_sysinfo *sc, uint32_t name,
		      int32_t nr)
{
	t->sc = gone_on_with(t, sc);
	t->sc_fd = real_fd(t, t->sc_fd);
	t->sc_file = t->sc_fd >= 0 ? ww_fd_file(m, t, t->sc_fd) : WW_NONE;
	struct ww_syscall r = {.thread = t->index, .start_ts_ns = m->now, .dur_ns = -1, .number = nr,
			       .name = name, .known = WW_SK_ENTRY | WW_SK_ARGS, .fd = t->sc_fd,
			       .file = t->sc_file, .file_out = file_out(m, t), .arg0 = (uint64_t)t->sc_arg[0],
			       .arg1 = (uint64_t)t->sc_arg[1], .arg2 = (uint64_t)t->sc_arg[2]};
	t->sc_row = ww_syscall_push(m->f, &r);
	if (m->all_syscalls)
		ww_thr_known_mode(t, WW_MODE_USER);
	t->in_syscall = true;
	t->full_syscalls = m->all_syscalls;
	t->regs_call = t->dumped_call = t->fd_told = false;
	t->mode = WW_MODE_KERNEL;
	t->wait_row = t->ready_file = t->fault_row = t->kernel_fault = t->signal_row = WW_NONE;
	t->lock = 0;
	m->cpu->loose = (struct ww_done){0};
	m->cpu->signal_tid = -1;
	ww_thr_running(m, t, m->now);
	if (t->sc->effect == WW_FX_CLOSE || t->sc->effect == WW_FX_EPOLL_CTL)
		ww_fd_before_call(m, t);
}

/* A return without an entry: the call began before the trace, or its entry was lost. */
static void enter_late(struct ww_model *m, struct ww_thr *t, const struct ww_sysinfo *sc, uint32_t name,
		       int32_t nr)
{
	struct ww_syscall r = {.thread = t->index, .start_ts_ns = m->f->thread.start_ts_ns[t->index],
			       .dur_ns = -1, .number = nr, .name = name, .fd = -1, .file = WW_NONE, .file_out = WW_NONE};

	if (m->last_gap_end > r.start_ts_ns)
		r.start_ts_ns = m->last_gap_end;
	t->sc = sc;
	t->sc_fd = -1;
	t->sc_file = WW_NONE;
	memset(t->sc_arg, 0, sizeof(t->sc_arg));
	t->sc_row = ww_syscall_push(m->f, &r);
	t->in_syscall = true;
	if (t->st.state == WW_ST_RUNNING_KERNEL || t->st.state == WW_ST_RUNNING)
		t->st.syscall = t->sc_row;
	if (t->wait_row != WW_NONE && m->f->state.syscall[t->wait_row] == WW_NONE)
		m->f->state.syscall[t->wait_row] = t->sc_row;
}

void ww_syscall_exit(struct ww_model *m, struct ww_thr *t, const struct ww_sysinfo *sc, uint32_t name,
		     int32_t nr, int64_t ret, const struct ww_event *ev)
{
	bool other_call = t->in_syscall && name && m->f->syscall.name[t->sc_row] != name;

	/* A child's first return is that of the call that made it. execve returns as another ABI's
	 * call at times, and rt_sigreturn restores registers: believe the return. */
	if (other_call || (t->regs_call && !t->dumped_call))
		ww_syscall_forget(t);
	ww_thr_known_mode(t, WW_MODE_KERNEL);
	if (!t->in_syscall)
		enter_late(m, t, sc, name, nr);
	m->f->syscall.dur_ns[t->sc_row] = m->now - m->f->syscall.start_ts_ns[t->sc_row];
	m->f->syscall.ret[t->sc_row] = ret;
	m->f->syscall.known[t->sc_row] |= WW_SK_EXIT | WW_SK_RET;
	if (t->sc->wait == WW_W_POLL && ev)
		ww_ready_at_exit(m, t, ev, ret);
	if (t->wait_row != WW_NONE)
		ww_cause_at_exit(m, t, ret);
	if (t->sc->effect != WW_FX_NONE)
		ww_fd_after_call(m, t, ev, ret);
	if (t->sc->effect == WW_FX_PRCTL && t->sc_arg[0] == PR_SET_NAME && !ret)
		t->named_ts_ns = m->now;
	may_be_restarted(t, ret);
	t->kernel_fault = WW_NONE;
	t->last_call = t->sc_row;
	t->last_call_end = m->now;
	forget(t);
	t->full_syscalls = m->all_syscalls;
	t->mode = m->all_syscalls ? WW_MODE_USER : WW_MODE_UNKNOWN;
	m->cpu->loose = (struct ww_done){0};
	m->cpu->signal_tid = -1;
	ww_thr_running(m, t, m->now);
}

/* ---- named ---- */
void ww_on_sys_entry(struct ww_model *m, const struct ww_event *ev)
{
	const struct ww_bound *b = m->now_bound;
	struct ww_thr *t = ww_thr_current(m);

	if (!t || t->idle)
		return;
	t->sc_fd = (int32_t)ww_v_int(ev, S_SE_FD, -1);
	t->sc_arg[0] = ww_v_int(ev, S_SE_A0, b->sc->fields ? 0 : t->sc_fd);
	if (b->sc->fd_arg == 0 && !ww_v_has(ev, S_SE_A0))
		t->sc_arg[0] = t->sc_fd;
	t->sc_arg[1] = ww_v_int(ev, S_SE_A1, 0);
	t->sc_arg[2] = ww_v_int(ev, S_SE_A2, 0);
	t->sc_str = ww_v_has(ev, S_SE_STR) ? ww_v_str(m, ev, S_SE_STR) : 0;
	ww_syscall_enter(m, t, b->sc, b->sc_name, b->sc_nr);
}

void ww_on_sys_exit(struct ww_model *m, const struct ww_event *ev)
{
	const struct ww_bound *b = m->now_bound;
	struct ww_thr *t = ww_thr_current(m);

	if (t && !t->idle)
		ww_syscall_exit(m, t, b->sc, b->sc_name, b->sc_nr, ww_v_int(ev, S_SX_RET, 0), ev);
}

/* ---- by number ---- */
static const struct ww_sysinfo *by_number(struct ww_model *m, enum ww_abi abi, int64_t nr, uint32_t *ret_name)
{
	struct ww_call_known one = {0}, *k = nr >= 0 && nr < WW_KNOWN_CALLS ? &m->calls[abi][nr] : &one;

	if (WW_UNLIKELY(!k->sc)) {
		const char *name = ww_syscall_name(abi, nr);

		char unknown[40];

		snprintf(unknown, sizeof(unknown), "syscall_0x%" PRIx64, (uint64_t)nr); /* as strace calls it */
		k->name = ww_intern(m, name ? name : unknown);
		k->sc = ww_sysinfo_find(name ? name : "");
	}
	*ret_name = k->name;
	return k->sc;
}

static void set_args(struct ww_thr *t, const struct ww_sysinfo *sc, const int64_t *args, uint32_t n)
{
	for (uint32_t i = 0; i < 3; i++)
		t->sc_arg[i] = i < n ? args[i] : 0;
	t->sc_fd = sc->fd_arg >= 0 && (uint32_t)sc->fd_arg < n ? (int32_t)args[sc->fd_arg] : -1;
	t->sc_str = 0;
}

void ww_on_raw_entry(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	int64_t nr = ww_v_int(ev, S_RAW_NR, -1), args[6] = {0};
	uint32_t n = 0, name;

	if (!t || t->idle || nr < 0)
		return;
	if (ev->nval > S_RAW_ARGS && ev->v[S_RAW_ARGS].kind == WW_V_BYTES) {
		n = WW_MIN(ev->v[S_RAW_ARGS].len / 8, 6);
		memcpy(args, ev->v[S_RAW_ARGS].p, n * 8);
	} else if (ww_v_has(ev, S_RAW_ARGS)) {
		n = ww_v_array(m, ev, "args", args, 6);
	}
	const struct ww_sysinfo *sc = by_number(m, m->now_bound->compat ? WW_ABI_I386 : m->abi, nr, &name);
	set_args(t, sc, args, n);
	ww_syscall_enter(m, t, sc, name, (int32_t)nr);
}

/* A return under no number: that of rt_sigreturn, which has put back the registers from before the signal (on x86, with -1
 * for the number). It ends the call that was entered, whichever that is. */
static bool ends_unnamed(struct ww_model *m, struct ww_thr *t, int64_t nr, int64_t ret, const struct ww_event *ev)
{
	if (nr != -1 || !t->in_syscall || t->regs_call)
		return false;
	ww_syscall_exit(m, t, t->sc, 0, -1, ret, ev);
	return true;
}

void ww_on_raw_exit(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	int64_t nr = ww_v_int(ev, S_RAWX_NR, -1);
	uint32_t name = 0;

	if (!t || t->idle || ends_unnamed(m, t, nr, ww_v_int(ev, S_RAWX_RET, 0), ev))
		return;
	const struct ww_sysinfo *sc =
		by_number(m, m->now_bound->compat ? WW_ABI_I386 : m->abi, nr, &name);
	ww_syscall_exit(m, t, sc, name, (int32_t)nr, ww_v_int(ev, S_RAWX_RET, 0), ev);
}

static enum ww_abi abi_of(int64_t v)
{
	static const enum ww_abi abis[] = {WW_ABI_X86_64, WW_ABI_I386, WW_ABI_X32, WW_ABI_AARCH64};

	return v >= 0 && (size_t)v < WW_ARRAY_SIZE(abis) ? abis[v] : WW_ABI_X86_64;
}

void ww_on_own_sys_entry(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	int64_t nr = ww_v_int(ev, 0, -1);
	int64_t args[3] = {ww_v_int(ev, 2, 0), ww_v_int(ev, 3, 0), ww_v_int(ev, 4, 0)};
	uint32_t name;

	if (!t || t->idle)
		return;
	const struct ww_sysinfo *sc = by_number(m, abi_of(ww_v_int(ev, 1, 0)), nr, &name);
	set_args(t, sc, args, 3);
	ww_syscall_enter(m, t, sc, name, (int32_t)nr);
}

void ww_on_own_sys_exit(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	int64_t nr = ww_v_int(ev, 0, -1);
	uint32_t name;

	if (!t || t->idle || ends_unnamed(m, t, nr, ww_v_int(ev, 2, 0), ev))
		return;
	const struct ww_sysinfo *sc = by_number(m, abi_of(ww_v_int(ev, 1, 0)), nr, &name);
	ww_syscall_exit(m, t, sc, name, (int32_t)nr, ww_v_int(ev, 2, 0), ev);
}

/* Since its last call has returned it has not been in user code: what of its last states was taken for that. */
static void was_in_kernel(struct ww_model *m, struct ww_thr *t)
{
	struct ww_state_cols *s = &m->f->state;

	for (uint32_t i = 0; i < WW_LAST_ROWS && ww_thr_row(t, i) != WW_NONE; i++) {
		uint32_t r = ww_thr_row(t, i);

		if (s->start_ts_ns[r] < t->last_call_end)
			break;
		if (s->state[r] == WW_ST_RUNNING_USER || s->state[r] == WW_ST_RUNNING) {
			s->state[r] = WW_ST_RUNNING_KERNEL;
			s->syscall[r] = t->last_call;
		}
	}
	if (t->st.state == WW_ST_RUNNING_USER || t->st.state == WW_ST_RUNNING) {
		t->st.state = WW_ST_RUNNING_KERNEL;
		t->st.syscall = t->last_call;
	}
}

/* Its last call has returned, and the kernel does what the call has left for the way back to user code: the last close
 * of a file, the taking down of a file system. The call is over in the facts; the wait names it. */
static void wait_after_call(struct ww_model *m, struct ww_thr *t, int64_t nr)
{
	uint32_t last = t->last_call;

	/* A name that is LTTng's alone (umount) has no number. */
	if (t->exiting || last == WW_NONE || m->last_gap_end > t->last_call_end ||
	    (m->f->syscall.number[last] >= 0 && m->f->syscall.number[last] != nr))
		return;
	was_in_kernel(m, t);
	t->sc = ww_sysinfo_find("");
	memset(t->sc_arg, 0, sizeof(t->sc_arg));
	t->sc_row = last;
	t->in_syscall = t->regs_call = true;
	t->mode = WW_MODE_UNKNOWN;
}

/* Just before the switch: the call that it blocks in, from its registers. */
void ww_on_own_block(struct ww_model *m, const struct ww_event *ev)
{
	enum { TID, NR, ABI, FLAGS, KIND, DEV, INO, ARG0, ARG1, ARG2 };
	enum { F_IOWAIT = 1, F_KTHREAD = 2, F_IO_WORKER = 4, F_THROTTLED = 8, F_DUMPED = 16,
	       F_RETURNED = 32 };
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, TID, -1));
	uint64_t flags = ww_v_u64(ev, FLAGS), ino = ww_v_u64(ev, INO);
	int64_t nr = ww_v_int(ev, NR, -1);
	uint32_t file = WW_NONE, name;

	if (!t)
		return;
	/* The state dump tells of one that has slept since the begin; what the events told since is newer. */
	if (flags & F_DUMPED && (t->cpu >= 0 || t->in_syscall || t->st.state != WW_ST_BLOCKED || t->st.start != m->begin))
		return;
	t->kernel = t->kernel || (flags & F_KTHREAD);
	t->io_worker = flags & F_IO_WORKER;
	t->throttled = flags & F_THROTTLED;
	t->io_wait = flags & F_IOWAIT;
	if (flags & F_KTHREAD)
		m->f->thread.flags[t->index] |= WW_TF_KERNEL;
	if (ww_v_u64(ev, KIND) || ino)
		file = ww_file_intern(m, (enum ww_file_kind)ww_v_u64(ev, KIND), (uint32_t)ww_v_u64(ev, DEV), ino);
	if (t->in_syscall && !t->regs_call && nr >= 0) {
		if (file != WW_NONE) {
			t->sc_file = file; /* the first argument's: a wait may be for either */
			if (t->sc->out == 1)
				m->f->syscall.file_out[t->sc_row] = file;
			else
				m->f->syscall.file[t->sc_row] = file;
		}
		return;
	}
	ww_syscall_forget(t);
	if (nr >= 0 && flags & F_RETURNED && t->full_syscalls) {
		wait_after_call(m, t, nr);
		return;
	}
	/* All calls of this thread are told: what its registers hold has returned, or is stopped before its
	 * entry (by a tracer). */
	if (nr < 0 || t->kernel || (t->full_syscalls && m->last_gap_end <= t->st.start))
		return;
	const struct ww_sysinfo *sc = by_number(m, abi_of(ww_v_int(ev, ABI, 0)), nr, &name);
	int64_t args[3] = {ww_v_int(ev, ARG0, 0), ww_v_int(ev, ARG1, 0), ww_v_int(ev, ARG2, 0)};
	set_args(t, sc, args, 3);
	struct ww_syscall r = {.thread = t->index, .start_ts_ns = m->now, .dur_ns = -1, .number = (int32_t)nr,
			       .name = name, .known = WW_SK_ARGS | WW_SK_REGS, .fd = t->sc_fd,
			       .file = file, .file_out = WW_NONE, .arg0 = (uint64_t)args[0], .arg1 = (uint64_t)args[1],
			       .arg2 = (uint64_t)args[2]};
	t->sc = sc;
	if (sc->out == 1) {
		r.file_out = file;
		r.file = ww_fd_file(m, t, t->sc_fd);
	} else {
		r.file_out = file_out(m, t);
	}
	t->sc_file = file != WW_NONE || t->sc_fd < 0 ? file : ww_fd_file(m, t, t->sc_fd);
	if (flags & F_RETURNED) { /* whatever it waits for, not for what the call does */
		t->sc = ww_sysinfo_find("");
		t->sc_file = WW_NONE;
	}
	if (flags & F_DUMPED) { /* entered before the trace began */
		r.start_ts_ns = m->begin;
		r.known = WW_SK_ARGS;
	}
	t->sc_row = ww_syscall_push(m->f, &r);
	t->in_syscall = t->regs_call = true;
	t->mode = WW_MODE_UNKNOWN;
	if (!(flags & F_DUMPED))
		return;
	t->dumped_call = true;
	t->st.syscall = t->sc_row;
	ww_open_more(&t->st)->file = t->sc_file;
	if (sc->wait == WW_W_FUTEX)
		ww_open_more(&t->st)->object = (uint64_t)args[0];
}

/* Just before a waking in thread context: the call of the waker. */
void ww_on_own_waker(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, 0, -1));
	int64_t nr = ww_v_int(ev, 1, -1);
	uint32_t name;

	if (!t || t->full_syscalls || nr < 0 || t->kernel)
		return;
	const struct ww_sysinfo *sc = by_number(m, abi_of(ww_v_int(ev, 2, 0)), nr, &name);
	ww_syscall_forget(t);
	struct ww_syscall r = {.thread = t->index, .start_ts_ns = m->now, .dur_ns = -1, .number = (int32_t)nr,
			       .name = name, .known = WW_SK_REGS, .fd = -1, .file = WW_NONE, .file_out = WW_NONE};
	t->sc = sc;
	t->sc_row = ww_syscall_push(m->f, &r);
	memset(t->sc_arg, 0, sizeof(t->sc_arg));
	t->in_syscall = t->regs_call = true;
}
