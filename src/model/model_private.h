/* model_private.h - the state machine's own structures, between the files of src/model only.
 *
 * Who does what:
 *   model.c     binds event classes to handlers, runs the loop
 *   thread.c    threads, processes, their open state; emits `state`
 *   cpu.c       what runs on a CPU: current thread and the nesting of interrupt contexts
 *   sched.c     switch, wakeup, fork, exec, exit
 *   wakeup.c    who really woke whom: from the context
 *   loopback.c  who, when it was a packet from this host and the trace has no packets
 *   cause.c     what ended a wait
 *   syscall.c   system calls; fd.c descriptors and files; ready.c what poll found
 *   stack.c where threads blocked; symbols.c names for it
 *   block.c timer.c net.c work.c fault.c statedump.c own.c   one kind of event each
 *   numa.c      the scheduler's moves between memory nodes
 *   cgroup.c    which cgroup a thread is in
 *   in_full.c   of whom everything was recorded
 *   finish.c    end of the trace: open states, gaps, what the producer knew
 */
#ifndef WW_MODEL_PRIVATE_H
#define WW_MODEL_PRIVATE_H

#include "base/syscalls.h"
#include "base/u64map.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/sysinfo.h"
#include "model/vocab.h"

#define WW_KNOWN_CALLS 512
#define WW_MAX_CPUS   4096
#define WW_MAX_NEST   8
#define WW_SOFT_VECTORS 10 /* the kernel's NR_SOFTIRQS */
#define WW_MAX_FD     65536
#define WW_MAX_TID    (1 << 22) /* the kernel's PID_MAX_LIMIT */

/* What completed in a context, most recent first: a wakeup from there is because of it. */
struct ww_done {
	uint8_t kind; /* enum ww_waker; WW_WK_UNKNOWN: nothing */
	uint32_t fact;
	bool nobodys; /* who asked for what is done is not who made the fact's row, and not known */
};

struct ww_frame {
	uint8_t kind; /* enum ww_irq_kind */
	int32_t vector;
	uint32_t name;
	int64_t start, raised; /* raised: kind SOFT, -1 not seen */
	struct ww_done done;
	uint32_t timer; /* kind TIMER: timer row */
	uint32_t sender; /* kind IPI: thread that asked for it; WW_NONE */
	uint32_t sent_in; /* NET_RX: the call below it that sent all that is received; WW_NONE not proven */
};

#define WW_STACK_TOPS 8
#define WW_STACK_FREE 3
struct ww_stack_top { /* what may be return addresses, from the frame before `frame` outwards */
	uint32_t frame;
	uint64_t address[WW_STACK_TOPS], offset[WW_STACK_TOPS];
	uint32_t file[WW_STACK_TOPS];
};

/* The flushes of a device: block_io rows, or WW_NONE. */
struct ww_flushes {
	uint32_t in_flight, issued, completed; /* how many; the last ones */
};

/* The last sends of a flow that are larger than a frame: packet rows. */
struct ww_large {
	uint32_t row[16], n; /* n: ever */
};

struct ww_armed { /* a timer that waits to fire */
	uint64_t object;
	uint32_t by, trigger; /* thread; packet */
	int64_t ts, expires;
};

struct ww_cpu {
	uint32_t cur;  /* thread index, WW_NONE unknown */
	uint32_t idle; /* its idle thread */
	int64_t run_start;
	int32_t run_prio;
	uint8_t depth;
	struct ww_frame frame[WW_MAX_NEST];
	/* A completion seen in no known context (an untraced interrupt); forgotten at the next
	 * event that shows that the context is another. */
	struct ww_done loose;
	struct ww_done trigger; /* received packet or expired timer that a sent packet answers */
	bool seen;              /* it has events */
	int64_t last, before;   /* event that the model looked at, and the one before that */
	int64_t known_from;     /* first event, or end of the last gap */
	int64_t gap_from;       /* begin of that gap, or known_from */
	struct ww_armed expiring; /* taken off its queue just now: a timer that fires is, before it does */
	int64_t raised[WW_SOFT_VECTORS]; /* softirqs that were asked for and did not come yet: time + 1; 0 none */
	bool rx_known;    /* all that NET_RX has to do now is rx_call's; nothing where that is WW_NONE */
	uint32_t rx_call; /* the call that raised NET_RX */
	uint32_t ipi_by;        /* thread that sent an interrupt to this CPU, until it comes */
	int32_t signal_tid;     /* signal just generated for it in this context; -1 none */
};

enum ww_mode { WW_MODE_UNKNOWN, WW_MODE_USER, WW_MODE_KERNEL };

/* The state that the thread is in now; becomes a row when it ends. */
#define WW_LAST_ROWS 4

struct ww_open_state {
	int64_t start;
	uint8_t state;
	bool has_more; /* else more is nothing, as of most */
	int16_t cpu;
	uint32_t syscall;
	struct ww_state_more more; /* to be changed by ww_open_more */
};
static inline struct ww_state_more *ww_open_more(struct ww_open_state *o)
{
	o->has_more = true;
	return &o->more;
}

/* Nothing is known of it since then. */
static inline struct ww_open_state ww_open_unknown(int64_t start)
{
	return (struct ww_open_state){.start = start, .state = WW_ST_UNKNOWN, .cpu = -1, .syscall = WW_NONE,
				      .more = WW_STATE_MORE_NONE};
}

struct ww_thr {
	int32_t tid;
	int32_t ns_level; /* of the process namespace in thread.vtid */
	uint32_t index, proc;
	bool dead, kernel, idle, exiting, in_syscall, full_syscalls, regs_call, io_worker, throttled;
	bool fd_told;    /* whywait_fd came within this call */
	bool dumped_call; /* a regs_call that the state dump told of */
	bool idle_sleep; /* its last wait was in state I */
	bool io_wait;    /* its last wait counted as waiting for I/O in the kernel's books (in_iowait) */
	uint8_t mode;
	int16_t cpu; /* running there, -1 not running */
	struct ww_open_state st;
	uint32_t rows[WW_LAST_ROWS]; /* its last closed states, by ww_thr_row */
	uint32_t nrows;              /* how many it has closed */
	uint32_t long_row;           /* the longest closed one of running in this run; WW_NONE */
	/* the call it is in */
	const struct ww_sysinfo *sc;
	uint32_t sc_row, sc_file;
	int64_t sc_arg[3];
	uint32_t sc_str;
	int32_t sc_fd;
	/* the last call that has returned; WW_NONE */
	uint32_t last_call;
	int64_t last_call_end;
	/* the call that was interrupted last and goes on as restart_syscall; NULL none */
	const struct ww_sysinfo *restart;
	int64_t restart_arg[3];
	uint32_t fault_row; /* page fault it is in (or the last one that may still go on) */
	uint32_t kernel_fault; /* one in which the kernel came to the program's memory; it is part of the call, and no state of its own */
	uint64_t lock;      /* contended kernel lock it is in, 0 none */
	/* the last wait of this call: its cause may be settled only by the call's return */
	uint32_t wait_row;
	/* woken before it was seen leaving the CPU */
	uint32_t early_wakeup;
	int64_t early_ts;
	bool early_queued; /* on the run queue straight from the switch because of that */
	uint32_t ready_file; /* of the descriptor that poll reported, ready_fd; WW_NONE */
	int32_t ready_fd;
	uint32_t work_row;      /* work item that it executes */
	int64_t named_ts_ns;    /* it named itself then, and how is not known yet; 0 no */
	bool before_exec;       /* still called as the recorder, whose command it is about to be */
	uint8_t signal;         /* last one that was sent to it and may kill; 0 none */
	uint32_t signal_row;    /* wait that a signal ended, until it is delivered; WW_NONE */
	uint32_t last_wait_row; /* last wait that ended, to follow a helper's own wait */
	int64_t last_wait_end;
};

struct ww_vma {
	uint64_t start, end, offset;
	uint32_t file;
};

struct ww_proc {
	int32_t pid;
	uint32_t index;
	uint32_t living;       /* threads that were met and have not ended */
	WW_VEC(uint32_t) fds;  /* file index + 1 by descriptor; 0 unknown */
	WW_VEC(struct ww_vma) vmas;
	bool perf_maps; /* perf tells of these, an exec between the old ones and the new */
};

struct ww_model;
typedef void (*ww_handler)(struct ww_model *m, const struct ww_event *ev);

struct ww_bound { /* per event class */
	ww_handler handle; /* NULL: not ours */
	enum ww_kind kind;
	uint32_t nslots;   /* up to the last that the class has; v[nslots] is the current tid, where the producer says it */
	const struct ww_sysinfo *sc;
	uint32_t sc_name;  /* interned */
	int32_t sc_nr;
	uint32_t name;     /* interned: vectors */
	bool compat, noted; /* noted: its kind counts as known to the producer */
};

struct ww_model {
	struct ww_facts *f;
	struct ww_trace *trace;
	struct ww_err *err;
	struct ww_arena mem;
	struct ww_bound *bound;
	const struct ww_bound *now_bound; /* of the event in hand */
	int64_t now;
	uint32_t cpu_nr;
	struct ww_cpu *cpu; /* of the event in hand */
	WW_VEC(struct ww_cpu) cpus;
	WW_VEC(struct ww_thr *) thr; /* each stays where it is */
	WW_VEC(struct ww_proc *) proc;
	uint32_t *by_tid; /* thread index + 1 of the last thread of that number; 0 none; WW_MAX_TID + 1 of them */
	struct ww_u64map by_pid, files, irqs, devices;
	struct ww_u64map block_open;  /* (dev, sector) -> block_io row */
	struct ww_u64map disks;       /* number of a disk or partition -> of the disk */
	struct ww_u64map block_done;  /* the same -> row that completed there last, with data */
	struct ww_u64map flushes;     /* device -> struct ww_flushes, index */
	struct ww_u64map bios;        /* (sector, thread) -> row of the bio whose disk is not known */
	struct ww_u64map timer_open;  /* address -> index in armed */
	WW_VEC(struct ww_armed) armed;
	WW_VEC(struct ww_flushes) flush;
	WW_VEC(struct ww_large) large;
	WW_VEC(uint32_t) armed_free;
	WW_VEC(struct ww_stack_top) stack_tops;
	struct ww_u64map skb_sent;    /* skb address -> packet row */
	struct ww_u64map flow_sent;   /* headers -> packet row */
	struct ww_u64map large_sent;  /* addresses and ports -> index in large */
	struct ww_sent *sent_ring;    /* the last sends, in order: what leaves it leaves the maps */
	uint32_t sent_at;
	const struct ww_model_opts *give; /* packets are given away: to its `packets`; NULL not */
	uint32_t given, give_at;      /* so many rows are gone; when there are so many, the next go. Rows are counted with those */
	struct ww_u64map sock_ino;    /* socket inode -> file */
	struct ww_u64map work_open;   /* address -> work row */
	struct ww_u64map functions;   /* the kernel's: address -> name */
	struct ww_u64map epoll;       /* (process, epfd, data) -> fd */
	struct ww_u64map fd_tables;   /* state dump: table address -> process + 1 */
	struct ww_u64map files_by_name;
	struct ww_u64map cgroups;     /* id -> path */
	struct ww_u64map sock_addr;   /* addresses and ports -> file */
	bool has_switch, has_waking, has_wakeup, has_births, has_fault_end, has_exceptions, has_softirq, has_irq, has_syscalls,
		has_timer_vector, has_timers;
	bool own, has_own_entry; /* recorded by whywait; with entries of system calls, so not --light */
	bool events_tell; /* the thread that they are of: the kernel's common_pid */
	int32_t wake_flags; /* common_flags of the wakeup in hand; -1: not told */
	/* Every system call is recorded, so that a thread in none of them is in user space. */
	bool all_syscalls;
	bool before_2_6; /* of LTTng: see vocab.h */
	uint32_t named_calls;
	int32_t prio_base; /* LTTng writes the kernel's priority - 100 */
	int64_t begin;
	bool begun;
	enum ww_abi abi;
	struct ww_call_known { /* what by_number found */
		const struct ww_sysinfo *sc; /* NULL: not asked yet */
		uint32_t name;
	} calls[WW_ABI_N][WW_KNOWN_CALLS];
	int64_t last_gap_end;
	int16_t queued_cpu; /* the highest that a thread was ever put into the queue of */
	uint32_t recorder; /* thread; WW_NONE: not told */
	uint32_t soft_names[16], hrtimer_name, timer_name; /* 0: not needed yet */
	struct ww_shared_more { /* row of state_more */
		uint32_t detail, row;
	} interrupted_by[32];
};

/* ---- values ---- */
static inline uint64_t ww_v_u64(const struct ww_event *ev, uint32_t slot)
{
	if (slot >= ev->nval || (ev->v[slot].kind != WW_V_UINT && ev->v[slot].kind != WW_V_INT))
		return 0;
	return ev->v[slot].u;
}
/* Of WW_V_NONE where the class has none. */
static inline const struct ww_value *ww_v_at(const struct ww_event *ev, uint32_t slot)
{
	static const struct ww_value none;

	return slot < ev->nval ? &ev->v[slot] : &none;
}
static inline bool ww_v_has(const struct ww_event *ev, uint32_t slot)
{
	return slot < ev->nval && ev->v[slot].kind != WW_V_NONE;
}
static inline int64_t ww_v_int(const struct ww_event *ev, uint32_t slot, int64_t absent)
{
	if (slot >= ev->nval || (ev->v[slot].kind != WW_V_UINT && ev->v[slot].kind != WW_V_INT))
		return absent;
	return ev->v[slot].i;
}
/* Interned text; 0 ("") when absent. A fixed-size char array counts up to its NUL. */
uint32_t ww_v_str(struct ww_model *m, const struct ww_event *ev, uint32_t slot);
/* The name of a kernel's function, from its text or its address; 0: not told. */
uint32_t ww_v_function(struct ww_model *m, const struct ww_event *ev, uint32_t slot);
/* Integers of an array field, by visiting; returns how many of them (<= max). */
uint32_t ww_v_array(struct ww_model *m, const struct ww_event *ev, const char *field, int64_t *to,
		    uint32_t max);
static inline uint32_t ww_intern(struct ww_model *m, const char *s)
{
	return ww_strtab_intern_cstr(&m->f->strs, s);
}

/* ---- thread.c ---- */
struct ww_thr *ww_thr_get(struct ww_model *m, int64_t tid); /* created when new; NULL: dead, bad tid */
/* NULL: not met; dead ones too. */
static inline struct ww_thr *ww_thr_last(const struct ww_model *m, int64_t tid)
{
	const uint32_t i = tid > 0 && tid <= WW_MAX_TID ? m->by_tid[tid] : 0;

	return i ? m->thr.v[i - 1] : NULL;
}
/* Its closed state of so many before the last one; WW_NONE. */
static inline uint32_t ww_thr_row(const struct ww_thr *t, uint32_t before)
{
	return t->rows[(t->nrows - 1 - before) % WW_LAST_ROWS];
}
/* NULL: not met, or dead. */
static inline struct ww_thr *ww_thr_find(const struct ww_model *m, int64_t tid)
{
	struct ww_thr *t = ww_thr_last(m, tid);

	return t && !t->dead ? t : NULL;
}
struct ww_thr *ww_thr_new(struct ww_model *m, int32_t tid, int64_t start);
/* task.c: forked, and not seen since. */
bool ww_thr_newborn(const struct ww_model *m, const struct ww_thr *t);
/* What a thread does goes on as another thread's: the one ends now, with its run; the other, open since now, takes it. */
struct ww_handover {
	struct ww_open_state st;
	int16_t cpu;
	uint8_t mode;
	bool full_syscalls;
};
struct ww_handover ww_thr_hand_over(struct ww_model *m, struct ww_thr *t);
void ww_thr_take_over(struct ww_model *m, struct ww_thr *t, const struct ww_handover *h);
static inline struct ww_thr *ww_thr_at(const struct ww_model *m, uint32_t index)
{
	return index < m->thr.n ? m->thr.v[index] : NULL;
}
/* Of the event's CPU; NULL unknown. */
static inline struct ww_thr *ww_thr_current(const struct ww_model *m)
{
	return ww_thr_at(m, m->cpu->cur);
}
struct ww_proc *ww_proc_get(struct ww_model *m, int32_t pid);
/* NULL unknown. */
static inline struct ww_proc *ww_proc_of(const struct ww_model *m, const struct ww_thr *t)
{
	return t->proc < m->proc.n ? m->proc.v[t->proc] : NULL;
}
void ww_thr_set_pid(struct ww_model *m, struct ww_thr *t, int32_t pid);
void ww_thr_rename(struct ww_model *m, struct ww_thr *t, uint32_t comm, int64_t ts_ns); /* str; remembers the name until then */
void ww_thr_set_comm(struct ww_model *m, struct ww_thr *t, const struct ww_value *v);
void ww_thr_end(struct ww_model *m, struct ww_thr *t, int64_t ts);
/* Ends the open state at ts and begins another; the ended one's row, WW_NONE when it took no time. */
uint32_t ww_thr_state(struct ww_model *m, struct ww_thr *t, int64_t ts, enum ww_thread_state s);
/* Is it one of running in the thread's own context? */
static inline bool ww_thr_runs(uint8_t state)
{
	return state == WW_ST_RUNNING_USER || state == WW_ST_RUNNING_KERNEL || state == WW_ST_RUNNING;
}
/* Runs on its CPU: user, kernel (call or fault), or interrupted, as things stand now. */
void ww_thr_running(struct ww_model *m, struct ww_thr *t, int64_t ts);
/* Until now it was in this mode, where that was not known. */
static inline void ww_thr_known_mode(struct ww_thr *t, enum ww_mode before)
{
	if (t->mode == WW_MODE_UNKNOWN && t->st.state == WW_ST_RUNNING)
		t->st.state = before == WW_MODE_USER ? WW_ST_RUNNING_USER : WW_ST_RUNNING_KERNEL;
	t->mode = before;
}

/* ---- cpu.c ---- */
bool ww_cpu_new(struct ww_model *m, int32_t cpu); /* and those before it; false: there is no such CPU */
static inline bool ww_cpu_enter(struct ww_model *m, int32_t cpu)
{
	if (WW_UNLIKELY((uint32_t)cpu >= m->cpus.n) && !ww_cpu_new(m, cpu))
		return false;
	m->cpu = &m->cpus.v[cpu];
	m->cpu_nr = (uint32_t)cpu;
	m->cpu->before = m->cpu->last;
	m->cpu->last = m->now;
	m->cpu->seen = true;
	return true;
}
void ww_cpu_push(struct ww_model *m, enum ww_irq_kind kind, int32_t vector, uint32_t name);
void ww_cpu_pop(struct ww_model *m, enum ww_irq_kind kind, int32_t vector);
void ww_cpu_drop_frames(struct ww_model *m);
void ww_cpu_done(struct ww_model *m, enum ww_waker kind, uint32_t fact);
void ww_cpu_is_done(struct ww_model *m, struct ww_done d);
enum ww_context ww_cpu_context(const struct ww_cpu *c);
uint32_t ww_cpu_soft_name(struct ww_model *m, int32_t vec);
/* Its thread turned out to be elsewhere, or dead: from now on nobody knows who runs there. */
void ww_cpu_lose(struct ww_model *m, int16_t cpu);
/* The thread's run on the CPU is over: its row, WW_NONE if it did not last. state: as ww_run.end_state; next: who comes, or
 * WW_NONE. */
uint32_t ww_cpu_end_run(struct ww_model *m, const struct ww_cpu *c, uint32_t thread, int64_t end_ts_ns, enum ww_run_end why,
			uint16_t state, uint32_t next);
void ww_cpu_gap(struct ww_model *m, const struct ww_event *ev);

/* ---- sched.c ---- */
/* Of a switch on the event's CPU; tid 0 is the idle one of the CPU. NULL: damaged. */
struct ww_thr *ww_cpu_thread(struct ww_model *m, int64_t tid);
/* The same of another event; NULL also when it has ended. */
struct ww_thr *ww_cpu_thread_alive(struct ww_model *m, int64_t tid);
/* The kernel's priority from one of the event's fields; -1 not there. */
int32_t ww_v_prio(const struct ww_model *m, const struct ww_event *ev, uint32_t slot);
/* From now on t has the event's CPU. */
void ww_cpu_take(struct ww_model *m, struct ww_thr *t, int32_t prio);

/* ---- unseen.c ---- */
/* t turns out to have a CPU, of which it is not known since `from` who had it. What waited for a CPU may have got
 * this one at any time since. */
bool ww_came_unseen(struct ww_model *m, struct ww_thr *t, int64_t from);
/* t turns out to be elsewhere than on the CPU that it had last: it left that after the last event there, unseen. */
void ww_left_unseen(struct ww_model *m, struct ww_thr *t);
/* The switch says that prev ran here, and we did not know: it did since the CPU became known, if it did not wait for a
 * CPU then. */
void ww_cpu_resync(struct ww_model *m, struct ww_thr *prev);
/* An event of a thread where another is thought to be: the switch to it was hidden from the tracer. */
void ww_switch_unseen(struct ww_model *m, struct ww_thr *t, int32_t prio);

/* ---- wakeup.c ---- */
/* Who is behind a wakeup of this kind, as far as the row that completed tells; WW_NONE. */
uint32_t ww_wakeup_waker(const struct ww_facts *f, uint8_t kind, uint32_t fact);
/* Is it known of every event of the kernel's in what interrupt, softirq or timer it came, or that it came in none? */
bool ww_contexts_are_recorded(const struct ww_model *m);
/* ftrace's common_flags: the context that the event itself was in (TRACE_FLAG_* in
 * include/linux/trace_events.h). -1: the producer does not say. */
#define WW_IN_HARD_INTERRUPT (0x08 | 0x40) /* and NMI */
#define WW_IN_INTERRUPT      (0x10 | WW_IN_HARD_INTERRUPT) /* and softirq */
uint32_t ww_wakeup_make(struct ww_model *m, struct ww_thr *wakee, int64_t target_cpu, bool waking);

/* ---- loopback.c: softirq NET_RX of the CPU in hand ---- */
void ww_loopback_forget(struct ww_cpu *c);
void ww_loopback_switched(struct ww_cpu *c, bool to_idle);
void ww_loopback_raised(struct ww_model *m, int32_t flags); /* flags: common_flags of the event, or -1 */
void ww_loopback_entered(struct ww_model *m);
/* Is it proven that the interrupted thread woke this one, by what it sends in its call? */
bool ww_loopback_woke(const struct ww_model *m, const struct ww_thr *wakee, bool waking, uint32_t target_cpu);

/* ---- cause.c ---- */
/* The wait of t ended with this wakeup (WW_NONE: not seen): fills cause, other, file of the row. */
void ww_cause_at_wakeup(struct ww_model *m, struct ww_thr *t, uint32_t row, uint32_t wakeup);
/* The call in which it waited returned: what only its return tells. */
void ww_cause_at_exit(struct ww_model *m, struct ww_thr *t, int64_t ret);
enum ww_cause ww_cause_of_file(enum ww_file_kind kind);

/* ---- fd.c ---- */
/* No place in a file system: two of one name are two things. */
static inline bool ww_file_is_anonymous(enum ww_file_kind kind)
{
	return kind >= WW_FK_EVENTFD && kind <= WW_FK_ANON_OTHER && kind != WW_FK_TTY;
}

uint32_t ww_file_intern(struct ww_model *m, enum ww_file_kind kind, uint32_t dev, uint64_t ino);
/* The file has this name from now. Another one before: it was another file, whose inode number is reused. */
void ww_file_named(struct ww_model *m, enum ww_file_kind kind, uint32_t dev, uint64_t ino, uint32_t name);
uint32_t ww_file_new(struct ww_model *m, enum ww_file_kind kind, uint32_t name);
uint32_t ww_file_by_name(struct ww_model *m, uint32_t name);
uint32_t ww_fd_file(struct ww_model *m, const struct ww_thr *t, int64_t fd); /* WW_NONE unknown */
void ww_fd_set(struct ww_proc *p, int64_t fd, uint32_t file);
void ww_fd_copy(struct ww_proc *to, const struct ww_proc *from);
/* Of calls with an effect; before: of close and epoll_ctl. */
void ww_fd_after_call(struct ww_model *m, struct ww_thr *t, const struct ww_event *ev, int64_t ret);
void ww_fd_before_call(struct ww_model *m, struct ww_thr *t);
/* The file that is mapped there, and where in it; WW_NONE: none, or p is NULL. The newest mapping counts. */
uint32_t ww_map_of(const struct ww_proc *p, uint64_t address, uint64_t *ret_offset);
uint32_t ww_vma_file(struct ww_model *m, const struct ww_thr *t, uint64_t addr, uint64_t *ret_off);
void ww_ready_at_exit(struct ww_model *m, struct ww_thr *t, const struct ww_event *ev, int64_t ret);
/* epoll_ctl: the descriptor epfd will tell of fd by `data`. */
void ww_ready_registered(struct ww_model *m, const struct ww_proc *p, int64_t epfd, uint64_t data, int64_t fd);
void ww_ready_note(struct ww_model *m, struct ww_thr *t, int64_t fd, uint64_t data);

/* ---- syscall.c ---- */
void ww_syscall_enter(struct ww_model *m, struct ww_thr *t, const struct ww_sysinfo *sc, uint32_t name,
		      int32_t nr);
void ww_syscall_exit(struct ww_model *m, struct ww_thr *t, const struct ww_sysinfo *sc, uint32_t name,
		     int32_t nr, int64_t ret, const struct ww_event *ev);
void ww_syscall_forget(struct ww_thr *t);

/* ---- stack.c, symbols.c ---- */
/* Call stacks that the switch itself carries, of who leaves the CPU; before it has left. */
void ww_stack_at_switch(struct ww_model *m, const struct ww_thr *prev, const struct ww_event *ev);
void ww_block_finish(struct ww_model *m);
void ww_block_of_fault(struct ww_model *m, const struct ww_thr *t, uint32_t fault);
void ww_symbols_resolve(struct ww_model *m); /* names for all frames */

/* ---- in_full.c ---- */
void ww_in_full_mark(struct ww_model *m); /* WW_TF_CALLS, WW_TF_FAULTS; when all else is known */

/* ---- finish.c ---- */
int ww_model_finish(struct ww_model *m, struct ww_err *err);

/* ---- handlers, named in model.c's table ---- */
#define WW_HANDLER(name) void ww_on_##name(struct ww_model *m, const struct ww_event *ev)
WW_HANDLER(switch); WW_HANDLER(waking); WW_HANDLER(wakeup); WW_HANDLER(wakeup_new);
WW_HANDLER(migrate); WW_HANDLER(numa_move); WW_HANDLER(numa_swap); WW_HANDLER(numa_stick);
WW_HANDLER(fork); WW_HANDLER(exec); WW_HANDLER(exit); WW_HANDLER(rename); WW_HANDLER(perf_fork); WW_HANDLER(perf_switch); WW_HANDLER(perf_comm);
WW_HANDLER(irq_entry); WW_HANDLER(irq_exit); WW_HANDLER(soft_entry); WW_HANDLER(soft_exit); WW_HANDLER(soft_raise);
WW_HANDLER(vector_entry); WW_HANDLER(vector_exit);
WW_HANDLER(hrt_start); WW_HANDLER(hrt_cancel); WW_HANDLER(hrt_expire); WW_HANDLER(timer_done);
WW_HANDLER(tmr_start); WW_HANDLER(tmr_expire);
WW_HANDLER(perf_map); WW_HANDLER(bio_queue); WW_HANDLER(bio_merge); WW_HANDLER(rq_merge); WW_HANDLER(rq_queue); WW_HANDLER(rq_issue); WW_HANDLER(rq_complete); WW_HANDLER(rq_requeue);
WW_HANDLER(net_send); WW_HANDLER(net_recv);
WW_HANDLER(work_queue); WW_HANDLER(work_start); WW_HANDLER(work_end);
WW_HANDLER(sys_entry); WW_HANDLER(sys_exit); WW_HANDLER(raw_entry); WW_HANDLER(raw_exit);
WW_HANDLER(signal_gen); WW_HANDLER(signal_deliver); WW_HANDLER(fault);
WW_HANDLER(fault_kernel); WW_HANDLER(lock_begin); WW_HANDLER(lock_end);
WW_HANDLER(dump_proc); WW_HANDLER(dump_fd); WW_HANDLER(dump_irq); WW_HANDLER(dump_blk);
WW_HANDLER(dump_ns);
WW_HANDLER(own_target); WW_HANDLER(own_recorder); WW_HANDLER(own_block); WW_HANDLER(own_waker);
WW_HANDLER(own_file); WW_HANDLER(own_fd); WW_HANDLER(own_sock); WW_HANDLER(own_ready);
WW_HANDLER(own_epoll); WW_HANDLER(own_fault_end); WW_HANDLER(own_page_in); WW_HANDLER(own_current); WW_HANDLER(own_uring);
WW_HANDLER(own_throttle); WW_HANDLER(own_stolen); WW_HANDLER(own_timer_task); WW_HANDLER(own_function);
WW_HANDLER(own_sys_entry);
WW_HANDLER(own_sys_exit); WW_HANDLER(own_fds); WW_HANDLER(own_ipi); WW_HANDLER(own_sk_ready); WW_HANDLER(own_map);
WW_HANDLER(own_stack); WW_HANDLER(own_cgroup);

#endif
