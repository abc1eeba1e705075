/* facts.h - what happened, in columns: the one thing that every analysis reads.
 *
 * The model appends (ww_NAME_push), then ww_facts_seal sorts and indexes; after that facts are
 * read-only and may be read from any thread. Row structs, column arrays, push and get functions and
 * the column descriptors all come from facts.def:
 *
 *   struct ww_run r = {...};  uint32_t i = ww_run_push(f, &r);   f->run.n;   f->run.dur_ns[i];
 *   struct ww_run r = ww_run_get(f, i);
 */
#ifndef WW_FACTS_H
#define WW_FACTS_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/pages.h"
#include "base/strtab.h"
#include "base/touch.h"

/* The tokens are those of JSON and SQL; the lists grow at the end. Names: ww_*_name(). */
enum ww_thread_state { /* struct ww_state is the row */
	WW_ST_UNKNOWN, WW_ST_RUNNING_USER, WW_ST_RUNNING_KERNEL, WW_ST_INTERRUPTED, WW_ST_STOLEN,
	WW_ST_PREEMPTED, WW_ST_RUNQUEUE, WW_ST_THROTTLED, WW_ST_STOPPED, WW_ST_BLOCKED,
	WW_ST_RUNNING, /* on a CPU, but whether in user space or the kernel is not known */
	WW_ST_N
};
enum ww_cause {
	WW_CA_NONE, WW_CA_UNKNOWN, WW_CA_DISK, WW_CA_TIMER, WW_CA_FUTEX, WW_CA_PIPE, WW_CA_UNIX, WW_CA_TCP,
	WW_CA_UDP, WW_CA_CHILD, WW_CA_SIGNAL, WW_CA_FAULT, WW_CA_WORK, WW_CA_RECLAIM, WW_CA_LOCK,
	WW_CA_EVENTFD, WW_CA_TTY, WW_CA_FILELOCK, WW_CA_IPC, WW_CA_FUSE, WW_CA_NETLINK, WW_CA_VSOCK,
	WW_CA_RPC, WW_CA_IDLE, WW_CA_N
};
enum ww_waker {
	WW_WK_UNKNOWN, WW_WK_THREAD, WW_WK_IRQ, WW_WK_SOFTIRQ, WW_WK_TIMER, WW_WK_PACKET, WW_WK_BLOCK,
	WW_WK_WORK, WW_WK_IPI, WW_WK_SIGNAL, WW_WK_N
};
enum ww_certainty { WW_SURE, WW_UNCERTAIN };
enum ww_run_end { WW_RE_UNKNOWN, WW_RE_PREEMPTED, WW_RE_BLOCKED, WW_RE_EXITED, WW_RE_TRACE_END, WW_RE_N };
#define WW_RUN_STATE_SEEN 0x8000u /* of run.end_state: below it are prev_state's bits: S 1, D 2, T 4, t 8, X 16, Z 32, P 64, I 128, + 256 */
enum ww_irq_kind { WW_IK_HARD, WW_IK_SOFT, WW_IK_TIMER, WW_IK_NMI, WW_IK_IPI, WW_IK_N };
enum ww_context { WW_CX_THREAD, WW_CX_SOFTIRQ, WW_CX_IRQ, WW_CX_NMI, WW_CX_UNKNOWN, WW_CX_N };
enum ww_file_kind {
	WW_FK_UNKNOWN, WW_FK_REG, WW_FK_DIR, WW_FK_CHR, WW_FK_BLK, WW_FK_PIPE, WW_FK_FIFO, WW_FK_SOCK_UNIX,
	WW_FK_SOCK_TCP, WW_FK_SOCK_UDP, WW_FK_SOCK_NETLINK, WW_FK_SOCK_VSOCK, WW_FK_SOCK_OTHER,
	WW_FK_EVENTFD, WW_FK_EPOLL, WW_FK_TIMERFD, WW_FK_SIGNALFD, WW_FK_INOTIFY, WW_FK_PIDFD,
	WW_FK_IO_URING, WW_FK_TTY, WW_FK_ANON_OTHER, WW_FK_N
};
enum ww_thread_flag {
	WW_TF_IDLE = 1, WW_TF_KERNEL = 2, WW_TF_TARGET = 4, WW_TF_RECORDER = 8, WW_TF_FORKED = 16,
	WW_TF_EXITED = 32,
	WW_TF_CALLS = 64,  /* all its system calls were recorded, where anybody's were */
	WW_TF_FAULTS = 128 /* so were its page faults, and the call stacks of its waits */
};
#define WW_PAGE_IN_MAX_BYTES (128u << 20) /* a folio of 2^15 pages; the kernel's largest today has 2^13 */
enum ww_syscall_known { WW_SK_ENTRY = 1, WW_SK_EXIT = 2, WW_SK_ARGS = 4, WW_SK_RET = 8, WW_SK_REGS = 16 };

const char *ww_state_name(enum ww_thread_state s);       /* "running-user" */
const char *ww_cause_name(enum ww_cause c);       /* "disk"; WW_CA_NONE: "" */
const char *ww_waker_name(enum ww_waker k);
const char *ww_run_end_name(enum ww_run_end r);
const char *ww_irq_kind_name(enum ww_irq_kind k);
const char *ww_context_name(enum ww_context c);
const char *ww_file_kind_name(enum ww_file_kind k);

/* Row structs: struct ww_run { uint32_t cpu; ... }; */
#define WW_FACT(name, doc) struct ww_##name {
#define WW_COL(fact, type, col, sql, unit, doc) type col;
#define WW_END(name) };
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* Column arrays: struct ww_run_cols { uint32_t n, cap; uint32_t *cpu; ... }; */
#define WW_FACT(name, doc) struct ww_##name##_cols { uint32_t n, cap, room; /* room: rows that there is memory for */
#define WW_COL(fact, type, col, sql, unit, doc) type *col;
#define WW_END(name) };
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* One number for each column of each fact, and for the row numbers that sealing makes. */
enum ww_column_id {
#define WW_FACT(name, doc)
#define WW_COL(fact, type, col, sql, unit, doc) WW_COLUMN_##fact##_##col,
#define WW_END(name) WW_COLUMNS_END_##name,
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
	WW_COLUMN_RUN_OF_CPU, WW_COLUMN_SYSCALL_OF_THREAD, WW_COLUMN_N
};

struct ww_loss {
	uint64_t lost_events, bad_packets, out_of_order;
	uint64_t unseen_switches; /* a thread turned out to have a CPU, and no switch had given it to him */
	int64_t gap_ns; /* sum of the gaps' durations over CPUs */
};

struct ww_host { /* one host a facts */
	const char *name, *clock_name, *clock_uuid, *kernel_release, *trace_path, *tracer;
	int64_t clock_offset_ns; /* + ts = ns since the epoch */
	bool epoch_known;
	uint32_t ncpus;
};

/* What the producer recorded, so that an answer can say what it cannot know. */
struct ww_knowledge {
	bool switches, waking, wakeup, irq, softirq, timers, syscalls, block, packets, faults, files, work,
		exceptions, target,
		vectors, locks, numa, addresses, merges, threads; /* addresses: of packets; merges: of block requests; threads: each event says its own */
};

/* Left by indexing, for slices.h: a mark every so many rows. */
#define WW_STATE_MARK_ROWS 1024u
#define WW_RUN_MARK_ROWS 64u
struct ww_marks {
	uint32_t n, nsums;  /* nsums: n times the kinds */
	int64_t *start_ns;  /* of the row that is marked */
	uint64_t *sum_ns;   /* [kind * n + mark]: durations of that kind in all rows before it, of whatever thread or CPU */
};

struct ww_facts {
	struct ww_strtab strs;
	struct ww_arena mem;
	struct ww_host host;
	struct ww_knowledge knows;
	struct ww_loss loss;
	int64_t begin_ts_ns, end_ts_ns;
	uint32_t target; /* thread index of the recorded command's main thread, or WW_NONE */
	int32_t target_status; /* wait status, -1 unknown */
	uint32_t target_cmdline; /* str, "" unknown */
	int64_t target_begin_ts_ns, target_end_ts_ns; /* exec of the command to its exit */
	bool sealed;
#define WW_FACT(name, doc) struct ww_##name##_cols name;
#define WW_COL(fact, type, col, sql, unit, doc)
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
	struct ww_pages pages[WW_COLUMN_N]; /* where the columns are: long ones in a temporary file */
	struct ww_facts_lazy *lazy; /* unpacks columns of a facts file as they are read; NULL: they are in `pages` */
	struct ww_touch *touch; /* makes their pages ahead; NULL until a column is long, and when sealed */
	uint32_t *state_first; /* sealed: states of thread t are rows state_first[t] .. state_first[t + 1] - 1, by start */
	/* Made by ww_facts_index: the same for runs per CPU through run_of_cpu (row numbers, by start). */
	atomic_bool indexed;
	uint32_t *run_first, *run_of_cpu;
	uint32_t *syscall_first, *syscall_of_thread; /* row numbers by (thread, start) */
	struct ww_marks state_marks; /* kinds: the states */
	struct ww_marks run_marks;   /* of run_of_cpu; kinds: idle, busy */
};

void ww_facts_init(struct ww_facts *f);
void ww_facts_release(struct ww_facts *f);
/* Sorts. After it nothing is pushed. */
int ww_facts_seal(struct ww_facts *f, struct ww_err *err);
/* Of sealed facts, what not every question needs: made when it is asked for first, by any thread. The look-ups below ask
 * for it; so does who reads it himself. */
void ww_facts_index(const struct ww_facts *f);

/* Room for more rows, when n == cap. */
#define WW_FACT(name, doc) void ww_##name##_grow(struct ww_facts *f);
#define WW_COL(fact, type, col, sql, unit, doc)
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* Another CPU has made the pages: their lines are asked for before they are written. */
#define WW_AHEAD_ROWS 16u
#define WW_FACT(name, doc)                                                                       \
	static inline void ww_##name##_ask(const struct ww_##name##_cols *c, uint32_t row)       \
	{
#define WW_COL(fact, type, col, sql, unit, doc)                                                  \
	for (size_t at = 0; at < WW_AHEAD_ROWS * sizeof(type); at += 64)                         \
		ww_prefetch_write((const char *)&c->col[row] + at);
#define WW_END(name) }
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* Here, so that a row that is made to be pushed need not be in memory. */
#define WW_FACT(name, doc)                                                                       \
	static inline uint32_t ww_##name##_push(struct ww_facts *f, const struct ww_##name *row) \
	{                                                                                        \
		struct ww_##name##_cols *c = &f->name;                                           \
		WW_DASSERT(!f->sealed);                                                          \
		if (WW_UNLIKELY(c->n == c->cap))                                                 \
			ww_##name##_grow(f);                                                     \
		const uint32_t i = c->n++;                                                       \
		if (WW_UNLIKELY(i % WW_AHEAD_ROWS == 0))                                         \
			ww_##name##_ask(c, i + 2 * WW_AHEAD_ROWS);
#define WW_COL(fact, type, col, sql, unit, doc) c->col[i] = row->col;
#define WW_END(name) return i; }
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* What few states have: X(type, column, what all others have). Read it by ww_state_COLUMN(f, row), change it by
 * ww_state_set_COLUMN(f, row, value). */
#define WW_STATE_MORE(X)                                                                     \
	X(uint32_t, fault, WW_NONE) X(uint32_t, wakeup, WW_NONE) X(uint32_t, file, WW_NONE)  \
	X(uint64_t, object, 0) X(uint32_t, other, WW_NONE) X(uint32_t, detail, 0)
#define WW_X(type, col, none)                                                                 \
	static inline type ww_state_##col(const struct ww_facts *f, uint32_t row)             \
	{                                                                                     \
		return f->state_more.col[f->state.more[row]];                                 \
	}                                                                                     \
	void ww_state_set_##col(struct ww_facts *f, uint32_t row, type v);
WW_STATE_MORE(WW_X)
#undef WW_X
#define WW_STATE_MORE_NONE {.fault = WW_NONE, .wakeup = WW_NONE, .file = WW_NONE, .other = WW_NONE}
/* The number of a row with this; 0 when it is nothing. */
static inline uint32_t ww_state_more_of(struct ww_facts *f, const struct ww_state_more *m)
{
#define WW_X(type, col, none) | (uint64_t)(m->col != (none))
	return WW_LIKELY(!(0 WW_STATE_MORE(WW_X))) ? 0 : ww_state_more_push(f, m);
#undef WW_X
}

#define WW_FACT(name, doc) struct ww_##name ww_##name##_get(const struct ww_facts *f, uint32_t i);
#define WW_COL(fact, type, col, sql, unit, doc)
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END

/* A state with what few have; is.more is not looked at. */
struct ww_state_full {
	struct ww_state is;
	struct ww_state_more has;
};
static inline struct ww_state_full ww_state_full_get(const struct ww_facts *f, uint32_t i)
{
	return (struct ww_state_full){ww_state_get(f, i), ww_state_more_get(f, f->state.more[i])};
}
static inline uint32_t ww_state_full_push(struct ww_facts *f, struct ww_state_full s)
{
	s.is.more = ww_state_more_of(f, &s.has);
	return ww_state_push(f, &s.is);
}

/* Takes the first n packets away, and the others move up; of facts that are not sealed. */
void ww_facts_drop_packets(struct ww_facts *f, uint32_t n);

/* Column descriptors, for views and SQL. */
struct ww_column_desc { const char *name, *sql, *unit, *doc; uint32_t size, offset; bool is_signed; };
struct ww_fact_desc { const char *name, *doc; const struct ww_column_desc *cols; uint32_t ncols, offset; };
extern const struct ww_fact_desc ww_fact_descs[];
extern const uint32_t ww_fact_desc_count;

/* ---- sealed facts ---- */
/* States of the thread that overlap [from, to): first row and count. O(log). */
void ww_facts_states(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		     uint32_t *ret_first, uint32_t *ret_n);
/* System calls of the thread that begin in [from, to), as positions in syscall_of_thread. O(log). */
void ww_facts_calls(const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		    uint32_t *ret_first, uint32_t *ret_n);
/* The first of lo .. hi - 1 whose time is ts or later; hi: none. By position in rows, where they are given, else by row. */
static inline uint32_t ww_first_at(const int64_t *times, const uint32_t *rows, uint32_t lo, uint32_t hi, int64_t ts_ns)
{
	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (times[rows ? rows[mid] : mid] < ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
/* When the request was first there: queued, or else issued; negative: neither is known. */
static inline int64_t ww_facts_block_begin(const struct ww_facts *f, uint32_t i)
{
	return f->block_io.queued_ts_ns[i] >= 0 ? f->block_io.queued_ts_ns[i] : f->block_io.issued_ts_ns[i];
}

/* That, or when it was completed: what the rows are in the order of. */
static inline int64_t ww_facts_block_seen(const struct ww_facts *f, uint32_t i)
{
	return ww_facts_block_begin(f, i) >= 0 ? ww_facts_block_begin(f, i) : f->block_io.completed_ts_ns[i];
}

/* Runs on the CPU that overlap [from, to), as positions in run_of_cpu. */
void ww_facts_runs(const struct ww_facts *f, uint32_t cpu, int64_t from_ts_ns, int64_t to_ts_ns,
		   uint32_t *ret_first, uint32_t *ret_n);
/* The thread with this tid alive at ts (tids are reused); WW_NONE when there is none. */
uint32_t ww_facts_thread_find(const struct ww_facts *f, int32_t tid, int64_t ts_ns);
const char *ww_facts_str(const struct ww_facts *f, uint32_t id);

#endif
