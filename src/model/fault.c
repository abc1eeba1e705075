/* fault.c - page faults on a program's memory, signals, contended locks of the kernel.
 *
 * A fault's entry is an event everywhere; its end only whywait records. Without the end, only a
 * wait outside any system call proves that the thread was still in it.
 */
#include <signal.h>
#include <stdio.h>

#include "model/model_private.h"

void ww_on_fault(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	struct ww_fault r = {.start_ts_ns = m->now, .dur_ns = -1, .address = ww_v_u64(ev, S_FLT_ADDR),
			     .file = WW_NONE, .major = 2,
			     .write = (ww_v_u64(ev, S_FLT_CODE) & 2) != 0};

	if (!t || t->idle || t->kernel || m->cpu->depth)
		return;
	if (t->in_syscall) /* user space faults: the call's return was lost, or is not recorded */
		ww_syscall_forget(t);
	if (t->full_syscalls) /* else calls may have come before it that nobody tells of */
		ww_thr_known_mode(t, WW_MODE_USER);
	t->kernel_fault = WW_NONE;
	r.thread = t->index;
	r.file = ww_vma_file(m, t, r.address, &r.offset);
	t->fault_row = ww_fault_push(m->f, &r);
	ww_thr_running(m, t, m->now);
}

/* The kernel reads or writes a program's memory, in a call of it: that the call goes on with is no other state. */
void ww_on_fault_kernel(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	struct ww_fault r = {.start_ts_ns = m->now, .dur_ns = -1, .address = ww_v_u64(ev, S_FLT_ADDR), .file = WW_NONE, .major = 2,
			     .write = (ww_v_u64(ev, S_FLT_CODE) & 2) != 0, .kernel = 1};

	if (!t || t->idle || t->kernel || m->cpu->depth || r.address >> 63)
		return;
	r.thread = t->index;
	r.file = ww_vma_file(m, t, r.address, &r.offset);
	t->kernel_fault = ww_fault_push(m->f, &r);
}

static bool ends_kernel_fault(const struct ww_model *m, const struct ww_thr *t, uint64_t address)
{
	enum { PAGE_SHIFT = 12 };

	return t->kernel_fault != WW_NONE && m->f->fault.address[t->kernel_fault] >> PAGE_SHIFT == address >> PAGE_SHIFT;
}

void ww_on_own_fault_end(struct ww_model *m, const struct ww_event *ev)
{
	enum { TID, ADDRESS, MAJOR, DEV, INO, OFFSET };
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, TID, -1));
	struct ww_facts *f = m->f;

	if (!t)
		return;
	const bool kernel = ends_kernel_fault(m, t, ww_v_u64(ev, ADDRESS));
	const uint32_t row = kernel ? t->kernel_fault : t->fault_row;
	if (row == WW_NONE)
		return;
	uint32_t file = f->fault.file[row];
	if (ww_v_u64(ev, INO))
		file = ww_file_intern(m, WW_FK_REG, (uint32_t)ww_v_u64(ev, DEV), ww_v_u64(ev, INO));
	f->fault.dur_ns[row] = m->now - f->fault.start_ts_ns[row];
	f->fault.major[row] = (uint8_t)ww_v_u64(ev, MAJOR);
	f->fault.file[row] = file;
	f->fault.offset[row] = ww_v_u64(ev, OFFSET);
	if (ww_v_u64(ev, MAJOR) && file != WW_NONE)
		ww_block_of_fault(m, t, row);
	if (kernel) {
		t->kernel_fault = WW_NONE;
		return;
	}
	if (t->wait_row != WW_NONE && ww_state_fault(f, t->wait_row) == row)
		ww_state_set_file(f, t->wait_row, file);
	t->wait_row = t->fault_row = WW_NONE;
	t->mode = t->full_syscalls ? WW_MODE_USER : WW_MODE_UNKNOWN;
	if (t->cpu >= 0)
		ww_thr_running(m, t, m->now);
}

void ww_on_own_page_in(struct ww_model *m, const struct ww_event *ev)
{
	enum { DEV, INO, OFFSET, BYTES };
	struct ww_thr *t = ww_thr_current(m);
	struct ww_page_in r = {.offset = ww_v_u64(ev, OFFSET), .bytes = (uint32_t)ww_v_u64(ev, BYTES)};

	if (!t)
		return;
	r.fault = t->kernel_fault != WW_NONE ? t->kernel_fault : t->in_syscall ? WW_NONE : t->fault_row;
	if (r.fault == WW_NONE || m->cpu->depth || !r.bytes || r.bytes > WW_PAGE_IN_MAX_BYTES || r.offset > INT64_MAX - r.bytes)
		return;
	r.file = ww_file_intern(m, WW_FK_REG, (uint32_t)ww_v_u64(ev, DEV), ww_v_u64(ev, INO));
	ww_page_in_push(m->f, &r);
}

void ww_on_signal_gen(struct ww_model *m, const struct ww_event *ev)
{
	const int64_t nr = ww_v_int(ev, S_SIG_NR, 0);

	m->cpu->signal_tid = (int32_t)ww_v_int(ev, S_SIG_PID, -1);
	struct ww_thr *t = ww_thr_find(m, m->cpu->signal_tid);
	if (t && nr != SIGCHLD && nr != SIGCONT && nr != SIGURG && nr != SIGWINCH) /* these kill nobody */
		t->signal = (uint8_t)nr;
}

/* "SIGINT"; the numbers are those of this machine's architecture, which all that have eBPF share but for MIPS. */
static uint32_t signal_name(struct ww_model *m, int64_t nr)
{
	const char *abbrev = nr > 0 && nr < 64 ? sigabbrev_np((int)nr) : NULL;
	char name[32];

	if (abbrev)
		snprintf(name, sizeof(name), "SIG%s", abbrev);
	else
		snprintf(name, sizeof(name), "signal %d", (int)nr);
	return ww_strtab_intern_cstr(&m->f->strs, name);
}

void ww_on_signal_deliver(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);

	if (t && !t->in_syscall)
		t->fault_row = WW_NONE; /* a fault that ended in a signal (SIGSEGV, SIGBUS) */
	if (!t || t->signal_row == WW_NONE)
		return;
	int64_t nr = ww_v_int(ev, S_SIG_NR, 0);
	/* Of whatever a process dies, the kernel has each of its threads take a SIGKILL. */
	struct ww_thr *leader = nr == SIGKILL ? ww_thr_find(m, m->f->thread.pid[t->index]) : NULL;
	if (nr == SIGKILL && (t->signal || (leader && leader->signal)))
		nr = t->signal ? t->signal : leader->signal;
	ww_state_set_detail(m->f, t->signal_row, signal_name(m, nr));
	t->signal_row = WW_NONE;
}

void ww_on_lock_begin(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);

	if (t && !m->cpu->depth)
		t->lock = ww_v_u64(ev, 0);
}

void ww_on_lock_end(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);

	(void)ev;
	if (t && !m->cpu->depth)
		t->lock = 0;
}
