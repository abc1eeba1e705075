/* analysis_locks.c - who had a lock while others waited, on facts laid by hand: a mutex that is handed on, one that others
 * take in between, waits that a timeout, a signal or the end of the trace ends, a condition, a lock of the kernel.
 */
#include "../tap.h"
#include "scene.h"

enum { OP_WAIT = 128, OP_WAKE = 129, OP_LOCK_PI = 134, TAKEN = 2 };

struct world {
	struct ww_facts f;
	uint32_t m, a, b, c; /* threads of one process */
	uint32_t other;      /* of another one */
};

static void begin(struct world *w)
{
	struct ww_facts *f = &w->f;

	ww_facts_init(f);
	f->end_ts_ns = 1000;
	f->knows.switches = f->knows.waking = f->knows.syscalls = f->knows.locks = true;
	f->target = WW_NONE;
	w->m = add_thread(f, 1, 1, "m", 0, 1000, WW_NONE, 0);
	w->a = add_thread(f, 2, 1, "a", 0, 1000, WW_NONE, 0);
	w->b = add_thread(f, 3, 1, "b", 0, 1000, WW_NONE, 0);
	w->c = add_thread(f, 4, 1, "c", 0, 1000, WW_NONE, 0);
	w->other = add_thread(f, 9, 9, "other", 0, 1000, WW_NONE, 0);
}

static uint32_t call(struct world *w, uint32_t t, int64_t from, int64_t to, uint64_t address, uint64_t op, uint64_t val)
{
	uint32_t i = add_syscall(&w->f, t, "futex", from, to, -1, WW_NONE);

	w->f.syscall.arg0[i] = address;
	w->f.syscall.arg1[i] = op;
	w->f.syscall.arg2[i] = val;
	return i;
}

/* A wait in a futex call; by: who woke it, WW_NONE nobody. */
static void waits(struct world *w, uint32_t t, int64_t from, int64_t to, uint64_t address, uint64_t op, uint64_t val, enum ww_cause ca,
		  uint32_t by)
{
	struct ww_state_full s = state(t, from, to, WW_ST_BLOCKED, ca);

	s.is.syscall = call(w, t, from, to, address, op, val);
	s.has.object = address;
	if (by != WW_NONE)
		s.has.wakeup = add_wakeup(&w->f, to, t, WW_WK_THREAD, by, WW_NONE);
	else if (ca == WW_CA_TIMER)
		s.has.wakeup = add_wakeup(&w->f, to, t, WW_WK_TIMER, WW_NONE, WW_NONE);
	s.has.other = by;
	add(&w->f, s);
}

static int64_t cell(const struct ww_table *t, uint32_t row, const char *column, const char **ret_words)
{
	uint32_t at = 0, n = t->analysis->ncolumns;

	while (at < n && strcmp(t->analysis->columns[at].name, column))
		at++;
	if (ret_words)
		*ret_words = at < n ? t->cells[row * n + at].s : "no column";
	return at < n ? t->cells[row * n + at].i : -99;
}

/* "b (3) 100 by m (1), timed out 0, by a signal 0, not over 0" of the first row of that waiter. */
static const char *said(struct world *w, const char *waiter)
{
	struct ww_query q = {.tid = -1, .pid = -1, .comm = waiter, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	static char text[160];
	const char *who, *holder;
	struct ww_arena mem;
	struct ww_table t;

	if (!w->f.sealed)
		ww_facts_seal(&w->f, NULL);
	ww_arena_init(&mem);
	snprintf(text, sizeof(text), "none");
	if (ww_analysis_find("locks")->run(&mem, &w->f, &q, &t, NULL) == 0 && t.nrows) {
		cell(&t, 0, "waiter", &who);
		cell(&t, 0, "holder", &holder);
		snprintf(text, sizeof(text), "%s %d by %s, timed out %d, by a signal %d, not over %d", who, (int)cell(&t, 0, "total_ns", NULL),
			 holder, (int)cell(&t, 0, "timed_out", NULL), (int)cell(&t, 0, "interrupted", NULL), (int)cell(&t, 0, "unfinished", NULL));
	}
	ww_arena_release(&mem);
	return text;
}

/* m has it until 90; a, b and c wait for it, each has it for 5. */
static void test_handed_on(uint64_t op, uint64_t val, const char *c_by, const char *what)
{
	struct world w;

	begin(&w);
	waits(&w, w.a, 0, 90, 0x10, op, val, WW_CA_FUTEX, w.m);
	waits(&w, w.b, 1, 95, 0x10, op, val, WW_CA_FUTEX, w.a);
	waits(&w, w.c, 2, 100, 0x10, op, val, WW_CA_FUTEX, w.b);
	waits(&w, w.other, 3, 100, 0x10, op, val, WW_CA_FUTEX, w.m); /* as many bytes from the begin of another process */
	is_str(said(&w, "a"), "a (2) 90 by m (1), timed out 0, by a signal 0, not over 0", what);
	is_str(said(&w, "c"), c_by, what);
	is_str(said(&w, "other"), "other (9) 97 by m (1), timed out 0, by a signal 0, not over 0", what);
	ww_facts_release(&w.f);
}

/* a was woken at 40 and found that b had it already; m had it before. */
static void test_taken_in_between(void)
{
	struct world w;

	begin(&w);
	waits(&w, w.a, 0, 60, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.m);
	waits(&w, w.a, 61, 100, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.b);
	waits(&w, w.c, 1, 101, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.b);
	is_str(said(&w, "c"), "c (4) 100 by m (1), timed out 0, by a signal 0, not over 0", "m had it for 59 of 100, though b woke it");
	ww_facts_release(&w.f);
}

static void test_ended_otherwise(void)
{
	struct world w;

	begin(&w);
	waits(&w, w.a, 10, 60, 0x10, OP_WAIT, TAKEN, WW_CA_TIMER, WW_NONE);
	call(&w, w.other, 65, 66, 0x10, OP_WAKE, 1); /* another process' */
	call(&w, w.b, 70, 71, 0x20, OP_WAKE, 1);     /* another lock */
	call(&w, w.m, 90, 91, 0x10, OP_WAKE, 1);
	call(&w, w.b, 95, 96, 0x10, OP_WAKE, 1);
	waits(&w, w.b, 100, 150, 0x30, OP_WAIT, TAKEN, WW_CA_SIGNAL, WW_NONE);
	waits(&w, w.c, 200, 1000, 0x40, OP_WAIT, TAKEN, WW_CA_UNKNOWN, WW_NONE);
	is_str(said(&w, "a"), "a (2) 50 by m (1), timed out 1, by a signal 0, not over 0", "a timeout: who had it then gives it up next");
	is_str(said(&w, "b"), "b (3) 50 by , timed out 0, by a signal 1, not over 0", "a signal: nobody is seen to give it up");
	is_str(said(&w, "c"), "c (4) 800 by , timed out 0, by a signal 0, not over 1", "a deadlock is a row");
	ww_facts_release(&w.f);
	begin(&w);
	waits(&w, w.a, 10, 60, 0x10, OP_WAIT, TAKEN, WW_CA_TIMER, WW_NONE);
	waits(&w, w.b, 20, 90, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.m);
	waits(&w, w.c, 300, 350, 0x10, OP_WAIT, TAKEN, WW_CA_TIMER, WW_NONE);
	waits(&w, w.b, 370, 390, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.m);
	is_str(said(&w, "a"), "a (2) 50 by m (1), timed out 1, by a signal 0, not over 0", "another that waits proves who had it");
	is_str(said(&w, "c"), "c (4) 50 by , timed out 1, by a signal 0, not over 0", "one that begins to wait later proves nothing");
	ww_facts_release(&w.f);
}

/* What is in a futex call, and waits for no lock; and what waits for one without a futex call. */
static void test_kinds(void)
{
	struct ww_state_full s;
	struct world w;

	begin(&w);
	waits(&w, w.a, 10, 60, 0x10, OP_WAKE, 1, WW_CA_UNKNOWN, WW_NONE);
	s = state(w.b, 10, 60, WW_ST_BLOCKED, WW_CA_TIMER);
	s.is.syscall = add_syscall(&w.f, w.b, "nanosleep", 10, 60, -1, WW_NONE);
	add(&w.f, s);
	s = state(w.c, 900, 1000, WW_ST_BLOCKED, WW_CA_UNKNOWN);
	s.has.object = 0xffff8881;
	add(&w.f, s);
	s = state(w.m, 900, 1000, WW_ST_BLOCKED, WW_CA_UNKNOWN);
	s.is.syscall = add_syscall(&w.f, w.m, "flock", 900, 1000, 3, WW_NONE);
	add(&w.f, s);
	is_str(said(&w, "a"), "none", "who wakes does not wait for the futex");
	is_str(said(&w, "b"), "none", "a sleep is none");
	is_str(said(&w, "c"), "c (4) 100 by , timed out 0, by a signal 0, not over 1", "a lock in the kernel, still waited for");
	is_str(said(&w, "m"), "m (1) 100 by , timed out 0, by a signal 0, not over 1", "a lock of a file, still waited for");
	ww_facts_release(&w.f);
}

static void test_lacks(void)
{
	const struct ww_analysis *a = ww_analysis_find("locks");
	struct ww_lack lacks[WW_LACK_N];
	struct ww_facts f;

	ww_facts_init(&f);
	ok(ww_analysis_lacks(&f, a, &(struct ww_query){.tid = -1, .pid = -1, .to_ts_ns = INT64_MAX}, lacks) == 1 && lacks[0].all, "without switches nobody can say who waited");
	f.knows.switches = true;
	ok(ww_analysis_lacks(&f, a, &(struct ww_query){.tid = -1, .pid = -1, .to_ts_ns = INT64_MAX}, lacks) == 1 && lacks[0].all, "without calls and locks recorded nothing of it is known");
	f.knows.syscalls = true;
	ok(ww_analysis_lacks(&f, a, &(struct ww_query){.tid = -1, .pid = -1, .to_ts_ns = INT64_MAX}, lacks) == 1 && !lacks[0].all, "with one of them a part");
	f.knows.locks = true;
	is_i64(ww_analysis_lacks(&f, a, &(struct ww_query){.tid = -1, .pid = -1, .to_ts_ns = INT64_MAX}, lacks), 0, "with both all of it");
	ww_facts_release(&f);
}

/* a range in which the waits of test_handed_on are under way, and none of them begins or ends */
static void test_range(void)
{
	const struct ww_query q = {.tid = -1, .pid = 1, .from_ts_ns = 20, .to_ts_ns = 70};
	struct ww_arena mem;
	struct ww_table t;
	struct world w;

	begin(&w);
	waits(&w, w.a, 0, 90, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.m);
	waits(&w, w.b, 1, 95, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.a);
	waits(&w, w.b, 200, 300, 0x10, OP_WAIT, TAKEN, WW_CA_FUTEX, w.m);
	ww_facts_seal(&w.f, NULL);
	ww_arena_init(&mem);
	TAP_NEED(ww_analysis_find("locks")->run(&mem, &w.f, &q, &t, NULL) == 0 && t.nrows == 2, "two waited in the range");
	for (uint32_t i = 0; i < 2; i++) {
		is_i64(cell(&t, i, "other_ns", NULL), 50, "all of it");
		is_i64(cell(&t, i, "count", NULL), 0, "in waits that did not begin there");
		is_i64(cell(&t, i, "max_ns", NULL), WW_NO_VALUE, "of which there is none that is longest");
	}
	ww_arena_release(&mem);
	ww_facts_release(&w.f);
}

int main(void)
{
	test_handed_on(OP_WAIT, TAKEN, "c (4) 98 by m (1), timed out 0, by a signal 0, not over 0", "a mutex");
	test_handed_on(OP_LOCK_PI, 0, "c (4) 98 by m (1), timed out 0, by a signal 0, not over 0", "one with priority inheritance");
	test_handed_on(OP_WAIT, 0, "c (4) 98 by b (3), timed out 0, by a signal 0, not over 0", "a condition");
	test_taken_in_between();
	test_ended_otherwise();
	test_kinds();
	test_range();
	test_lacks();
	return done_testing();
}
