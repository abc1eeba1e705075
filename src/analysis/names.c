/* names.c - facts in words. */
#include <arpa/inet.h>
#include <endian.h>

#include "analysis/names.h"
#include "base/units.h"

const char *ww_name_comm(const struct ww_facts *f, uint32_t thread)
{
	return thread < f->thread.n ? ww_facts_str(f, f->thread.comm[thread]) : "";
}

uint32_t ww_name_comm_id(const struct ww_facts *f, uint32_t thread, int64_t ts_ns)
{
	uint32_t name, i, before;

	if (thread >= f->thread.n)
		return 0;
	name = f->thread.comm[thread];
	for (i = f->thread.renamed[thread]; i < f->name_change.n; i = before) {
		if (f->name_change.thread[i] != thread || f->name_change.ts_ns[i] <= ts_ns)
			break;
		name = f->name_change.old[i];
		before = f->name_change.before[i];
		if (before >= i)
			break;
	}
	return name;
}

const char *ww_name_comm_at(const struct ww_facts *f, uint32_t thread, int64_t ts_ns)
{
	return thread < f->thread.n ? ww_facts_str(f, ww_name_comm_id(f, thread, ts_ns)) : "";
}

uint32_t ww_name_comms(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		       const char ***ret)
{
	uint32_t rows[WW_COMMS_MAX], n = 0;

	*ret = WW_ARENA_ARRAY(mem, const char *, WW_COMMS_MAX + 1);
	if (thread >= f->thread.n)
		return 0;
	for (uint32_t i = f->thread.renamed[thread]; i < f->name_change.n && f->name_change.thread[i] == thread;) {
		int64_t ts = f->name_change.ts_ns[i];

		if (ts > from_ts_ns && ts < to_ts_ns) {
			if (n == WW_COMMS_MAX - 1) /* of more the last ones */
				break;
			rows[n++] = i;
		}
		if (f->name_change.before[i] >= i)
			break;
		i = f->name_change.before[i];
	}
	(*ret)[0] = ww_name_comm_at(f, thread, n ? f->name_change.ts_ns[rows[n - 1]] - 1 : from_ts_ns);
	for (uint32_t k = 0; k < n; k++)
		(*ret)[k + 1] = ww_name_comm_at(f, thread, f->name_change.ts_ns[rows[n - 1 - k]]);
	return n + 1;
}

int32_t ww_name_tid(const struct ww_facts *f, uint32_t thread)
{
	return thread < f->thread.n ? f->thread.tid[thread] : -1;
}

const char *ww_name_comm_told(const struct ww_facts *f, uint32_t thread, int64_t ts_ns)
{
	if (thread < f->thread.n && f->thread.flags[thread] & WW_TF_RECORDER)
		return "the recorder";
	return ww_name_comm_at(f, thread, ts_ns);
}

const char *ww_name_thread(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread)
{
	return ww_name_thread_at(mem, f, thread, INT64_MAX);
}

const char *ww_name_thread_at(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread, int64_t ts_ns)
{
	if (thread >= f->thread.n)
		return "";
	if (f->thread.flags[thread] & WW_TF_IDLE)
		return "idle CPU";
	const char *comm = ww_name_comm_told(f, thread, ts_ns);
	return ww_arena_printf(mem, "%s (%d)", *comm ? comm : "?", f->thread.tid[thread]);
}

const char *ww_name_file(const struct ww_facts *f, uint32_t file)
{
	if (file >= f->file.n)
		return "";
	const char *name = ww_facts_str(f, f->file.name[file]);
	if (*name)
		return name;
	return f->file.kind[file] == WW_FK_UNKNOWN ? "" : ww_file_kind_name(f->file.kind[file]);
}

const char *ww_name_syscall_only(const struct ww_facts *f, uint32_t syscall)
{
	if (syscall >= f->syscall.n)
		return NULL;
	const char *name = ww_facts_str(f, f->syscall.name[syscall]);
	return *name ? name : NULL;
}

const char *ww_name_syscall(struct ww_arena *mem, const struct ww_facts *f, uint32_t syscall)
{
	const char *name = ww_name_syscall_only(f, syscall);

	if (!name || f->syscall.fd[syscall] < 0)
		return name;
	const char *file = ww_name_file(f, f->syscall.file[syscall]);
	return ww_arena_printf(mem, "%s(%d%s%s)", name, f->syscall.fd[syscall], *file ? " " : "", file);
}

const char *ww_name_device(struct ww_arena *mem, const struct ww_facts *f, uint32_t dev)
{
	for (uint32_t i = 0; i < f->device.n; i++)
		if (f->device.dev[i] == dev && *ww_facts_str(f, f->device.name[i]))
			return ww_facts_str(f, f->device.name[i]);
	/* the kernel's internal numbering: 12 bits major, 20 bits minor */
	return dev ? ww_arena_printf(mem, "device %u:%u", dev >> 20, dev & 0xfffff) : "disk";
}

const char *ww_name_block(struct ww_arena *mem, const struct ww_facts *f, uint32_t io)
{
	static const char *const op[] = {"read", "write", "flush", "discard"};
	char size[24];

	if (io >= f->block_io.n)
		return "";
	const struct ww_block_io b = ww_block_io_get(f, io);
	const char *dev = ww_name_device(mem, f, b.dev);
	const char *what = op[b.write & 3];
	if (!b.bytes)
		return ww_arena_printf(mem, "%s %s", dev, what);
	return ww_arena_printf(mem, "%s %s %s, sector %" PRIu64, dev, what,
			       ww_bytes_format(b.bytes, size, sizeof(size)), b.sector);
}

const char *ww_name_request_times(struct ww_arena *mem, const struct ww_facts *f, uint32_t io)
{
	char queued[24], busy[24];

	if (io >= f->block_io.n)
		return "";
	const struct ww_block_io b = ww_block_io_get(f, io);
	if (b.queued_ts_ns < 0 || b.issued_ts_ns < b.queued_ts_ns || b.completed_ts_ns < b.issued_ts_ns)
		return "";
	return ww_arena_printf(mem, "queued %s, device %s",
			       ww_dur_format(b.issued_ts_ns - b.queued_ts_ns, queued, sizeof(queued)),
			       ww_dur_format(b.completed_ts_ns - b.issued_ts_ns, busy, sizeof(busy)));
}

uint32_t ww_wait_block(const struct ww_facts *f, uint32_t wakeup)
{
	uint32_t io = WW_NONE, fact;

	if (wakeup >= f->wakeup.n)
		return WW_NONE;
	fact = f->wakeup.fact[wakeup];
	if (f->wakeup.kind[wakeup] == WW_WK_BLOCK)
		io = fact;
	else if (f->wakeup.kind[wakeup] == WW_WK_WORK)
		for (int step = 0; step < 4 && fact < f->work.n; step++) {
			uint8_t kind = f->work.trigger_kind[fact];

			fact = f->work.trigger[fact];
			io = kind == WW_WK_BLOCK ? fact : WW_NONE;
			if (kind != WW_WK_WORK)
				break;
		}
	return io < f->block_io.n ? io : WW_NONE;
}

uint32_t ww_wait_peer(const struct ww_facts *f, uint32_t state)
{
	uint32_t w = ww_state_wakeup(f, state), peer;

	if (f->state.state[state] != WW_ST_BLOCKED || w >= f->wakeup.n)
		return WW_NONE;
	switch (f->wakeup.kind[w]) {
	case WW_WK_WORK: /* what was typed: the kernel's worker only passes it on from who wrote it, a terminal emulator or sshd */
		peer = f->wakeup.fact[w] < f->work.n && f->state.cause[state] == WW_CA_TTY ?
			f->work.queued_by[f->wakeup.fact[w]] : WW_NONE;
		peer = peer < f->thread.n ? peer : f->wakeup.waker[w];
		break;
	case WW_WK_THREAD:
	case WW_WK_PACKET:
	case WW_WK_IPI:
	case WW_WK_SIGNAL:
		peer = f->wakeup.waker[w];
		break;
	default:
		return WW_NONE;
	}
	return peer == f->state.thread[state] || peer >= f->thread.n ? WW_NONE : peer;
}

enum ww_cause ww_state_cause(const struct ww_facts *f, uint32_t state)
{
	enum ww_cause c = f->state.cause[state];

	return f->state.state[state] != WW_ST_BLOCKED ? WW_CA_NONE : c == WW_CA_NONE ? WW_CA_UNKNOWN : c;
}

/* The CPU on which a ready thread got to run; -1 unknown. */
static int32_t next_cpu(const struct ww_facts *f, uint32_t state)
{
	uint32_t t = f->state.thread[state], next = state + 1;

	if (next < f->state_first[t + 1])
		switch (f->state.state[next]) {
		case WW_ST_RUNNING:
		case WW_ST_RUNNING_USER:
		case WW_ST_RUNNING_KERNEL:
		case WW_ST_INTERRUPTED:
			return f->state.cpu[next];
		default:
			break;
		}
	return -1;
}

struct had {
	uint32_t thread;
	int64_t ns;
};

struct hads { /* who had the CPU, run by run */
	struct had few[16], *v;
	uint32_t n, room;
	int64_t told_ns;
};

static void add_had(struct hads *h, uint32_t thread, int64_t ns)
{
	if (h->n == h->room) {
		struct had *v = ww_xmalloc(sizeof(*v) * h->room * 2);
		memcpy(v, h->v, sizeof(*v) * h->n);
		if (h->v != h->few)
			free(h->v);
		h->v = v;
		h->room *= 2;
	}
	h->v[h->n++] = (struct had){thread, ns};
	h->told_ns += ns;
}

/* In [from, to) on that CPU. */
static void add_runs(struct hads *h, const struct ww_facts *f, int32_t cpu, int64_t from, int64_t to, uint32_t but)
{
	uint32_t first = 0, n = 0;

	if (from < to && cpu >= 0 && (uint32_t)cpu < f->host.ncpus)
		ww_facts_runs(f, (uint32_t)cpu, from, to, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t r = f->run_of_cpu[i];
		int64_t ns = WW_MIN(f->run.start_ts_ns[r] + f->run.dur_ns[r], to) - WW_MAX(f->run.start_ts_ns[r], from);
		if (ns > 0 && f->run.thread[r] != but)
			add_had(h, f->run.thread[r], ns);
	}
}

/* First row of the fact at or after ts_ns. */
static uint32_t migration_at(const struct ww_facts *f, int64_t ts_ns)
{
	uint32_t lo = 0, hi = f->migration.n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (f->migration.ts_ns[mid] < ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A thread waits in one CPU's queue until it is moved to another's. Where the trace does not tell of that: one that was
 * preempted was pulled over only when it got to run; of one that was woken, another CPU was chosen at once. Of the wait,
 * what lies in [piece_from, piece_to). */
static void add_waits(struct hads *h, const struct ww_facts *f, uint32_t state, int64_t piece_from, int64_t piece_to)
{
	const uint32_t t = f->state.thread[state];
	const int64_t to = f->state.start_ts_ns[state] + f->state.dur_ns[state];
	int64_t from = f->state.start_ts_ns[state];
	int32_t last = next_cpu(f, state), cpu = -1;
	bool moved = false;

	for (uint32_t i = migration_at(f, from); i < f->migration.n && f->migration.ts_ns[i] <= to; i++) {
		if (f->migration.thread[i] != t)
			continue;
		add_runs(h, f, f->migration.from_cpu[i], WW_MAX(from, piece_from), WW_MIN(f->migration.ts_ns[i], piece_to), t);
		from = f->migration.ts_ns[i];
		cpu = f->migration.to_cpu[i];
		moved = true;
	}
	if (!moved)
		cpu = f->state.state[state] == WW_ST_PREEMPTED || last < 0 ? f->state.cpu[state] : last;
	add_runs(h, f, cpu, WW_MAX(from, piece_from), WW_MIN(to, piece_to), t);
}

static int by_thread(const void *a, const void *b)
{
	const struct had *x = a, *y = b;

	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Sums up per thread, sorted; who has most, of equal ones the lower number. */
static struct had most_of_all(struct hads *h)
{
	struct had most = {WW_NONE, 0};

	qsort(h->v, h->n, sizeof(*h->v), by_thread);
	for (uint32_t i = 0, k; i < h->n; i = k) {
		struct had sum = h->v[i];
		for (k = i + 1; k < h->n && h->v[k].thread == sum.thread; k++)
			sum.ns += h->v[k].ns;
		if (sum.ns > most.ns)
			most = sum;
	}
	return most;
}

uint32_t ww_ready_behind(const struct ww_facts *f, uint32_t state, int64_t from_ts_ns, int64_t to_ts_ns)
{
	struct hads h = {.v = h.few, .room = WW_ARRAY_SIZE(h.few)};
	const int64_t from = WW_MAX(from_ts_ns, f->state.start_ts_ns[state]),
		      to = WW_MIN(to_ts_ns, f->state.start_ts_ns[state] + f->state.dur_ns[state]);

	add_waits(&h, f, state, from, to);
	if (!h.n)
		return ww_state_other(f, state);
	struct had most = most_of_all(&h);
	if (h.v != h.few)
		free(h.v);
	return most.ns >= to - from - h.told_ns ? most.thread : WW_NONE;
}

const char *ww_name_ready(struct ww_arena *mem, const struct ww_facts *f, enum ww_thread_state s, uint32_t other,
			  int64_t ts_ns)
{
	if (other >= f->thread.n)
		return "";
	if (f->thread.flags[other] & WW_TF_IDLE)
		return "the CPU was idle";
	return ww_arena_printf(mem, "%s %s", s == WW_ST_PREEMPTED ? "by" : "behind",
			       ww_name_thread_at(mem, f, other, ts_ns));
}

int64_t ww_state_named_at(const struct ww_facts *f, uint32_t state)
{
	return f->state.start_ts_ns[state] + f->state.dur_ns[state] - 1;
}

/* a, then b behind `sep` when both are there. */
static const char *join(struct ww_arena *mem, const char *a, const char *sep, const char *b)
{
	if (!*a)
		return b;
	return *b ? ww_arena_printf(mem, "%s%s%s", a, sep, b) : a;
}

/* "words, verb who"; "verb who" without words; only the words when nobody is known. */
static const char *and_who(struct ww_arena *mem, const char *words, const char *verb, const char *who)
{
	if (!*who)
		return words;
	return ww_arena_printf(mem, "%s%s%s %s", words, *words ? ", " : "", verb, who);
}

/* A thread that had to do with how a wait ended, by the name that it had then. */
static const char *name_at_end(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s, uint32_t thread)
{
	return ww_name_thread_at(mem, f, thread, s->is.start_ts_ns + s->is.dur_ns - 1);
}

static const char *from_peer(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s,
			     const char *what, uint32_t peer)
{
	const char *sc = ww_name_syscall_only(f, s->is.syscall);

	/* Who makes room for a writer is a reader: "from" would mislead. */
	bool writes = sc && (strstr(sc, "write") || strstr(sc, "send"));
	return and_who(mem, what, writes ? "reader" : "from", name_at_end(mem, f, s, peer));
}

static const char *name_disk(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s,
			     uint32_t peer, bool exact)
{
	uint32_t io = ww_wait_block(f, s->has.wakeup), file = s->has.file;
	const char *dev = "", *words;

	if (file == WW_NONE && io < f->block_io.n)
		file = f->block_io.file[io];
	if (file == WW_NONE && s->has.fault < f->fault.n)
		file = f->fault.file[s->has.fault];
	if (io < f->block_io.n)
		dev = exact ? ww_name_block(mem, f, io) : ww_name_device(mem, f, f->block_io.dev[io]);
	words = join(mem, ww_name_file(f, file), " on ", dev);
	/* Who passes a completed request on is no news. */
	return io < f->block_io.n ? words : and_who(mem, words, "through", name_at_end(mem, f, s, peer));
}

static const char *name_fault(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s,
			      bool exact)
{
	uint32_t file = s->has.fault < f->fault.n ? f->fault.file[s->has.fault] : s->has.file;
	const char *name = ww_name_file(f, file);

	if (!*name)
		name = file == WW_NONE && s->has.fault < f->fault.n && !f->fault.major[s->has.fault] ? "anonymous memory" : "";
	if (exact && s->has.fault < f->fault.n && file != WW_NONE)
		return ww_arena_printf(mem, "%s + %#" PRIx64, name, f->fault.offset[s->has.fault]);
	if (exact && s->has.fault < f->fault.n && f->fault.address[s->has.fault])
		return ww_arena_printf(mem, "%s%saddress %#" PRIx64, name, *name ? ", " : "",
				       f->fault.address[s->has.fault]);
	return name;
}

/* "127.0.0.1:80 -> 127.0.0.1:3312", "descriptor 5: pipe" */
static const char *name_waited_file(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s)
{
	return join(mem, ww_facts_str(f, s->has.detail), ": ", ww_name_file(f, s->has.file));
}

static const char *name_timer(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s)
{
	const char *sc = ww_name_syscall_only(f, s->is.syscall), *file = name_waited_file(mem, f, s);

	if (sc && strstr(sc, "nanosleep"))
		return "sleep";
	if (*file)
		return file;
	return sc ? ww_arena_printf(mem, "timeout of %s", sc) : "";
}

/* What the terminal's driver passes on: a key (Ctrl-C) or the terminal's end; whoever typed is no thread of ours. */
static bool from_terminal(const struct ww_facts *f, uint32_t wakeup)
{
	if (wakeup >= f->wakeup.n || f->wakeup.kind[wakeup] != WW_WK_WORK || f->wakeup.fact[wakeup] >= f->work.n)
		return false;
	return !strcmp(ww_facts_str(f, f->work.name[f->wakeup.fact[wakeup]]), "flush_to_ldisc");
}

bool ww_wait_ended_by_key(const struct ww_facts *f, uint32_t state)
{
	return f->state.state[state] == WW_ST_BLOCKED && f->state.cause[state] == WW_CA_SIGNAL &&
	       from_terminal(f, ww_state_wakeup(f, state));
}

/* "interrupted by SIGINT, sent by kill (7)", "interrupted by SIGINT, from the terminal". */
static const char *name_signal(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s, uint32_t peer)
{
	const char *signal = ww_facts_str(f, s->has.detail), *words = *signal ? ww_arena_printf(mem, "interrupted by %s", signal) : "";

	if (from_terminal(f, s->has.wakeup))
		return and_who(mem, words, "from", "the terminal");
	return and_who(mem, words, *words ? "sent by" : "woken by", name_at_end(mem, f, s, peer));
}

bool ww_wait_ended_by_end(const struct ww_facts *f, uint32_t wakeup)
{
	const char *call = wakeup < f->wakeup.n ? ww_name_syscall_only(f, f->wakeup.syscall[wakeup]) : NULL;

	return call && (!strcmp(call, "exit") || !strcmp(call, "exit_group"));
}

/* What the trace cannot tell: how the wait ended, for it had not when the recording did. */
static bool is_open(const struct ww_facts *f, const struct ww_state_full *s)
{
	return s->has.wakeup >= f->wakeup.n && s->is.start_ts_ns + s->is.dur_ns >= f->end_ts_ns;
}

static const char *name_blocked(struct ww_arena *mem, const struct ww_facts *f, const struct ww_state_full *s,
				uint32_t peer, bool exact)
{
	const char *words = ww_facts_str(f, s->has.detail);
	const char *other = name_at_end(mem, f, s, s->has.other);

	switch (s->is.cause) {
	case WW_CA_DISK:
	case WW_CA_RECLAIM:
		return name_disk(mem, f, s, peer, exact);
	case WW_CA_FAULT:
		return name_fault(mem, f, s, exact);
	case WW_CA_TIMER:
		return name_timer(mem, f, s);
	case WW_CA_FUTEX:
	case WW_CA_LOCK:
		if (peer != WW_NONE && s->is.cause == WW_CA_FUTEX && ww_wait_ended_by_end(f, s->has.wakeup))
			return ww_arena_printf(mem, "the end of thread %s", name_at_end(mem, f, s, peer));
		if (s->has.object)
			words = join(mem, ww_arena_printf(mem, "%#" PRIx64, s->has.object), " ", words);
		/* Who wakes a waiter has just given the lock up, or signalled the condition. */
		if (*other && s->has.other != peer)
			return and_who(mem, words, "held by", other);
		return and_who(mem, words, "released by", name_at_end(mem, f, s, peer));
	case WW_CA_SIGNAL:
		return name_signal(mem, f, s, peer);
	case WW_CA_CHILD:
		return join(mem, words, ": ", *other ? other : name_at_end(mem, f, s, peer)); /* of poll, a pidfd */
	case WW_CA_UNKNOWN:
	case WW_CA_NONE:
	case WW_CA_WORK:
		words = join(mem, ww_name_file(f, s->has.file), " ", words);
		if (s->is.cause != WW_CA_WORK && is_open(f, s))
			return join(mem, words, ", ", WW_NAME_OPEN);
		return and_who(mem, words, "woken by", name_at_end(mem, f, s, peer));
	default:
		return from_peer(mem, f, s, name_waited_file(mem, f, s), peer);
	}
}

const char *ww_name_state(struct ww_arena *mem, const struct ww_facts *f, uint32_t state, bool exact)
{
	return ww_name_state_in(mem, f, state, INT64_MIN, INT64_MAX, exact);
}

const char *ww_name_state_in(struct ww_arena *mem, const struct ww_facts *f, uint32_t state, int64_t from_ts_ns,
			     int64_t to_ts_ns, bool exact)
{
	const struct ww_state_full s = ww_state_full_get(f, state);
	const char *words = ww_facts_str(f, s.has.detail), *other;

	switch (s.is.state) {
	case WW_ST_BLOCKED:
		return name_blocked(mem, f, &s, ww_wait_peer(f, state), exact);
	case WW_ST_RUNNING_KERNEL:
		if (s.is.syscall != WW_NONE) {
			const char *name = exact ? ww_name_syscall(mem, f, s.is.syscall)
						 : ww_name_syscall_only(f, s.is.syscall);
			return name ? name : "system call";
		}
		if (s.has.fault != WW_NONE)
			return join(mem, "page fault", " ", name_fault(mem, f, &s, exact));
		return words;
	case WW_ST_PREEMPTED:
	case WW_ST_RUNQUEUE:
		other = ww_name_ready(mem, f, s.is.state, ww_ready_behind(f, state, from_ts_ns, to_ts_ns),
				      ww_state_named_at(f, state));
		return *other ? other : words;
	default:
		return words;
	}
}

static const char *name_timer_fact(struct ww_arena *mem, const struct ww_facts *f, uint32_t timer, const char *name)
{
	if (timer < f->timer.n && *ww_facts_str(f, f->timer.name[timer]))
		name = ww_facts_str(f, f->timer.name[timer]);
	return *name ? name : "timer";
}

const char *ww_name_end(struct ww_arena *mem, uint8_t family, uint64_t hi, uint64_t lo, int32_t port)
{
	char buf[INET6_ADDRSTRLEN] = "";
	const uint64_t v6[2] = {htobe64(hi), htobe64(lo)};
	const uint32_t v4 = htonl((uint32_t)lo);

	inet_ntop(family == 6 ? AF_INET6 : AF_INET, family == 6 ? (const void *)v6 : &v4, buf, sizeof(buf));
	if (port < 0)
		return ww_arena_strdup(mem, buf);
	return ww_arena_printf(mem, family == 6 ? "[%s]:%d" : "%s:%d", buf, port);
}

const char *ww_name_packet(struct ww_arena *mem, const struct ww_facts *f, uint32_t packet)
{
	if (packet >= f->packet.n)
		return "";
	const struct ww_packet p = ww_packet_get(f, packet);
	const bool ports = p.proto == IPPROTO_TCP || p.proto == IPPROTO_UDP;
	const char *proto = p.proto == IPPROTO_TCP ? "TCP" : p.proto == IPPROTO_UDP ? "UDP" : p.proto == IPPROTO_ICMP ? "ICMP" :
			    p.proto == IPPROTO_ICMPV6 ? "ICMPv6" : "packet";
	const char *ifname = ww_facts_str(f, p.ifname), *on = *ifname ? " on " : "";

	if (!p.family)
		return ww_arena_printf(mem, "packet%s%s", on, ifname);
	return ww_arena_printf(mem, "%s %s -> %s%s%s", proto, ww_name_end(mem, p.family, p.saddr_hi, p.saddr_lo, ports ? p.sport : -1),
			       ww_name_end(mem, p.family, p.daddr_hi, p.daddr_lo, ports ? p.dport : -1), on, ifname);
}

const char *ww_name_waker(struct ww_arena *mem, const struct ww_facts *f, uint32_t wakeup)
{
	if (wakeup >= f->wakeup.n)
		return "";
	const uint32_t fact = f->wakeup.fact[wakeup];
	const char *name = ww_facts_str(f, f->wakeup.name[wakeup]);
	switch (f->wakeup.kind[wakeup]) {
	case WW_WK_IRQ:
		return ww_arena_printf(mem, "IRQ %d%s%s", f->wakeup.vector[wakeup], *name ? " " : "", name);
	case WW_WK_SOFTIRQ:
		return ww_arena_printf(mem, "softirq %s", *name ? name : "?");
	case WW_WK_TIMER:
		return name_timer_fact(mem, f, fact, name);
	case WW_WK_BLOCK:
		return ww_name_block(mem, f, fact);
	case WW_WK_PACKET:
		return ww_name_packet(mem, f, fact);
	case WW_WK_WORK:
		if (!*name && fact < f->work.n)
			name = ww_facts_str(f, f->work.name[fact]);
		if (ww_wait_block(f, wakeup) != WW_NONE)
			name = ww_arena_printf(mem, "%s%safter %s", name, *name ? " " : "",
					       ww_name_block(mem, f, ww_wait_block(f, wakeup)));
		return name;
	default:
		return name;
	}
}

struct ww_woken ww_name_woken(struct ww_arena *mem, const struct ww_facts *f, uint32_t wakeup)
{
	struct ww_woken r = {.kind = WW_WK_UNKNOWN, .thread = WW_NONE, .name = "", .in = ""};

	if (wakeup >= f->wakeup.n)
		return r;
	const struct ww_wakeup w = ww_wakeup_get(f, wakeup);
	r.kind = w.kind;
	r.certainty = w.certainty;
	r.thread = w.waker < f->thread.n ? w.waker : WW_NONE;
	r.name = ww_name_waker(mem, f, wakeup);
	r.ts_ns = w.ts_ns;
	const char *sc = w.kind == WW_WK_THREAD ? ww_name_syscall(mem, f, w.syscall) : NULL;
	r.in = sc ? sc : "";
	return r;
}
