/* holders.c - who had a lock: the times at which it was given up, by lock, and the waits cut at them. */
#include <stdlib.h>

#include "analysis/holders.h"

#include "analysis/names.h"

enum { OP_WAIT, OP_WAKE, OP_WAKE_OP = 5, OP_LOCK_PI, OP_UNLOCK_PI, OP_WAIT_BITSET = 9, OP_WAKE_BITSET, OP_WAIT_REQUEUE_PI,
       OP_LOCK_PI2 = 13, OP_BITS = 0x7f, OP_PRIVATE = 0x80 }; /* include/uapi/linux/futex.h */
enum { TAKEN_AND_WAITED_FOR = 2 };

/* A futex call with its arguments: its op; -1 another call, or not known. */
static int64_t futex_op(const struct ww_facts *f, uint32_t call)
{
	if (call >= f->syscall.n || !(f->syscall.known[call] & WW_SK_ARGS))
		return -1;
	const char *name = ww_facts_str(f, f->syscall.name[call]);
	return strcmp(name, "futex") && strcmp(name, "futex_time64") ? -1 : (int64_t)(f->syscall.arg1[call] & 0xffffffff);
}

static bool op_waits(int64_t op)
{
	const int64_t o = op & OP_BITS;

	return op >= 0 && (o == OP_WAIT || o == OP_WAIT_BITSET || o == OP_LOCK_PI || o == OP_LOCK_PI2 || o == OP_WAIT_REQUEUE_PI);
}

static bool op_wakes(int64_t op)
{
	const int64_t o = op & OP_BITS;

	return op >= 0 && (o == OP_WAKE || o == OP_WAKE_BITSET || o == OP_WAKE_OP || o == OP_UNLOCK_PI);
}

bool ww_lock_wait_open(const struct ww_facts *f, uint32_t i)
{
	return ww_state_wakeup(f, i) >= f->wakeup.n && f->state.start_ts_ns[i] + f->state.dur_ns[i] >= f->end_ts_ns;
}

/* Is it in a call that waits for a lock of a file? */
static bool in_file_lock(const struct ww_facts *f, uint32_t call)
{
	enum { SETLKW = 7, SETLKW64 = 14, OFD_SETLKW = 38 };
	const char *name = ww_name_syscall_only(f, call);

	if (!name)
		return false;
	const uint64_t cmd = f->syscall.arg1[call];
	return !strcmp(name, "flock") || ((!strcmp(name, "fcntl") || !strcmp(name, "fcntl64")) &&
					  (cmd == SETLKW || cmd == SETLKW64 || cmd == OFD_SETLKW));
}

enum ww_cause ww_lock_wait(const struct ww_facts *f, uint32_t i)
{
	const enum ww_cause cause = f->state.cause[i];
	const uint32_t call = f->state.syscall[i];

	if (f->state.state[i] != WW_ST_BLOCKED)
		return WW_CA_NONE;
	if (cause == WW_CA_FUTEX || cause == WW_CA_LOCK || cause == WW_CA_FILELOCK)
		return cause;
	if ((cause != WW_CA_TIMER && cause != WW_CA_SIGNAL && cause != WW_CA_UNKNOWN) || ww_state_fault(f, i) < f->fault.n)
		return WW_CA_NONE;
	if (ww_state_object(f, i) && op_waits(futex_op(f, call)) && ww_state_object(f, i) == f->syscall.arg0[call])
		return WW_CA_FUTEX;
	if (cause == WW_CA_UNKNOWN && !ww_lock_wait_open(f, i))
		return WW_CA_NONE;
	if (ww_state_object(f, i)) /* the only other thing that is one */
		return cause == WW_CA_UNKNOWN && futex_op(f, call) < 0 ? WW_CA_LOCK : WW_CA_NONE;
	return in_file_lock(f, call) ? WW_CA_FILELOCK : WW_CA_NONE;
}

/* ---- whose it was ---- */

struct release { /* the lock was given up */
	uint64_t lock;
	int64_t ts_ns, since_ns; /* since_ns: one had waited from then on, so that nobody else had it after that */
	uint32_t thread;
};

struct releases {
	const struct ww_facts *f;
	struct ww_u64map wanted; /* locks that are waited for */
	WW_VEC(struct release) all;
};

static uint64_t lock_of_futex(const struct ww_facts *f, uint32_t thread, uint64_t address, int64_t op)
{
	/* A private one is of its process; a shared one is known only where others have it at the same address. */
	return ww_hash_mix(address, op >= 0 && !(op & OP_PRIVATE) ? WW_CA_FUTEX : ww_process_key(f, thread) << 8 | WW_CA_FUTEX);
}

static uint64_t lock_of(const struct ww_facts *f, uint32_t i, enum ww_cause kind)
{
	if (kind == WW_CA_FUTEX)
		return lock_of_futex(f, f->state.thread[i], ww_state_object(f, i), futex_op(f, f->state.syscall[i]));
	return ww_hash_mix(kind == WW_CA_LOCK ? ww_state_object(f, i) : ww_state_file(f, i), kind);
}

static bool is_pi(int64_t op)
{
	return op >= 0 && ((op & OP_BITS) == OP_LOCK_PI || (op & OP_BITS) == OP_LOCK_PI2);
}

bool ww_lock_has_holder(const struct ww_facts *f, uint32_t i)
{
	const enum ww_cause kind = ww_lock_wait(f, i);
	const int64_t op = kind == WW_CA_FUTEX ? futex_op(f, f->state.syscall[i]) : -1, o = op & OP_BITS;

	if (kind != WW_CA_FUTEX)
		return true;
	return is_pi(op) || (op >= 0 && (o == OP_WAIT || o == OP_WAIT_BITSET) &&
			     (uint32_t)f->syscall.arg2[f->state.syscall[i]] == TAKEN_AND_WAITED_FOR);
}

static int64_t end_of(const struct ww_facts *f, uint32_t i)
{
	return f->state.start_ts_ns[i] + f->state.dur_ns[i];
}

/* Who ended the wait, by giving up what was waited for. */
static uint32_t ended_by(const struct ww_facts *f, uint32_t i)
{
	const enum ww_cause cause = f->state.cause[i];

	if (cause != WW_CA_FUTEX && cause != WW_CA_LOCK && cause != WW_CA_FILELOCK)
		return WW_NONE;
	return ww_state_other(f, i) < f->thread.n ? ww_state_other(f, i) : ww_wait_peer(f, i);
}

static void add_wakeups(struct releases *r, uint32_t thread, int64_t from, int64_t to)
{
	const struct ww_facts *f = r->f;
	uint32_t first, n;

	ww_facts_states(f, thread, from, to, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		const uint32_t by = f->state.state[i] == WW_ST_BLOCKED ? ended_by(f, i) : WW_NONE;

		if (by >= f->thread.n)
			continue;
		const struct release x = {lock_of(f, i, f->state.cause[i]), end_of(f, i), f->state.start_ts_ns[i], by};
		if (ww_u64map_find(&r->wanted, x.lock))
			*ww_vec_push(&r->all) = x;
	}
}

static void add_calls(struct releases *r, uint32_t thread, int64_t from)
{
	const struct ww_facts *f = r->f;
	uint32_t first, n;

	ww_facts_calls(f, thread, from, INT64_MAX, &first, &n);
	for (uint32_t k = first; k < first + n; k++) {
		const uint32_t call = f->syscall_of_thread[k];
		const int64_t op = futex_op(f, call);

		if (!op_wakes(op))
			continue;
		const struct release x = {lock_of_futex(f, thread, f->syscall.arg0[call], op), f->syscall.start_ts_ns[call], INT64_MIN, thread};
		if (ww_u64map_find(&r->wanted, x.lock))
			*ww_vec_push(&r->all) = x;
	}
}

static int by_lock(const void *a, const void *b)
{
	const struct release *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	return x->ts_ns < y->ts_ns ? -1 : x->ts_ns > y->ts_ns;
}

/* The first after that time, of that lock or of a later one. */
static size_t first_after(const struct releases *r, uint64_t lock, int64_t ts_ns)
{
	size_t lo = 0, hi = r->all.n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		const struct release *x = &r->all.v[mid];

		if (x->lock < lock || (x->lock == lock && x->ts_ns <= ts_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Who is woken has the lock not before it runs: it takes it itself, if it is still free. (One that inherits priority, and
 * the kernel's, may be handed on.) */
static int64_t taken_at(const struct ww_facts *f, uint32_t thread, int64_t from, int64_t to)
{
	uint32_t first, n;

	ww_facts_states(f, thread, from, to, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		const uint8_t s = f->state.state[i];

		if (s != WW_ST_RUNQUEUE && s != WW_ST_PREEMPTED && s != WW_ST_THROTTLED && s != WW_ST_BLOCKED && s != WW_ST_STOPPED)
			return WW_MAX(f->state.start_ts_ns[i], from);
	}
	return n ? to : from;
}

static void cut(const struct releases *r, uint32_t i, uint32_t row, struct ww_rows *shares)
{
	const struct ww_facts *f = r->f;
	const enum ww_cause kind = ww_lock_wait(f, i);
	const int64_t begin = f->state.start_ts_ns[i];
	const bool handed_on = kind != WW_CA_FUTEX || is_pi(futex_op(f, f->state.syscall[i]));
	const uint64_t lock = lock_of(f, i, kind);
	int64_t at = begin;
	const int64_t end = end_of(f, i);
	size_t k = first_after(r, lock, at);

	for (; k < r->all.n && r->all.v[k].lock == lock && r->all.v[k].ts_ns <= end; k++) {
		const struct release *x = &r->all.v[k];

		if (at > begin && !handed_on)
			at = taken_at(f, x->thread, at, x->ts_ns);
		ww_share_add(shares, row, x->thread, x->ts_ns - at);
		at = x->ts_ns;
	}
	/* It gave up waiting: who had it then gives it up later. */
	if (at < end && k < r->all.n && r->all.v[k].lock == lock && r->all.v[k].since_ns <= end &&
	    r->all.v[k].thread != f->state.thread[i])
		ww_share_add(shares, row, r->all.v[k].thread, end - at);
}

void ww_holders_share(const struct ww_facts *f, const uint32_t *states, const uint32_t *rows, uint32_t n, struct ww_rows *shares)
{
	struct releases r = {.f = f};
	int64_t from = INT64_MAX, to = INT64_MIN, given_up = INT64_MAX;

	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = states[k], by = ended_by(f, i);
		if (!ww_lock_has_holder(f, i)) {
			if (by < f->thread.n)
				ww_share_add(shares, rows[k], by, f->state.dur_ns[i]);
			continue;
		}
		ww_u64map_put(&r.wanted, lock_of(f, i, ww_lock_wait(f, i)), 1);
		from = WW_MIN(from, f->state.start_ts_ns[i]);
		to = WW_MAX(to, end_of(f, i) + 1);
		if (by >= f->thread.n && !ww_lock_wait_open(f, i))
			given_up = WW_MIN(given_up, end_of(f, i));
	}
	for (uint32_t t = 0; t < f->thread.n && from < to; t++) {
		add_wakeups(&r, t, from, given_up < INT64_MAX ? INT64_MAX : to);
		if (given_up < INT64_MAX)
			add_calls(&r, t, given_up);
	}
	if (r.all.n)
		qsort(r.all.v, r.all.n, sizeof(*r.all.v), by_lock);
	for (uint32_t k = 0; k < n; k++)
		if (ww_lock_has_holder(f, states[k]))
			cut(&r, states[k], rows[k], shares);
	ww_vec_free(&r.all);
	ww_u64map_release(&r.wanted);
}
