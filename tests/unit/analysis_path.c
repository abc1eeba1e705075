/* analysis_path.c - the critical path through waits whose answer is known: each is laid by hand, and the
 * path is compared word for word. (tests/truth has programs that do most of these; there the path must agree
 * with the tree and with what the program knows.)
 */
#include "../tap.h"

#include "analysis/chain.h"
#include "path_scene.h"

/* The reader, the writer and the disk of scene.h. */
static void two_and_a_disk(void)
{
	static const struct ww_query whole = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	struct scene s;
	struct ww_arena mem;
	struct ww_set set;
	struct ww_path p;
	struct ww_path_sum sum;
	const struct ww_facts *hosts[] = {&s.f};

	build(&s);
	ww_arena_init(&mem);
	ww_set_make(&mem, hosts, 1, NULL, &set, NULL);
	is_i64(ww_path_make(&mem, &set, 0, &whole, &p, NULL), 0, "path is made");
	ok(path_is_whole(&p), "segments lie end to end");
	is_str(path_words(&mem, &p),
	       "reader running-user 0..10, writer running-user 10..20, writer timer 20..40, writer runqueue 40..42, "
	       "writer running-user 42..60, reader runqueue by writer 60..62, reader running-user 62..68, "
	       "reader running-kernel 68..70, reader disk 70..90, reader running-user 90..97, reader unknown 97..100",
	       "reader and writer, and the disk");
	ww_path_sum(&mem, &p, &sum);
	int64_t kinds = 0, threads = 0, pipe = 0, vda = 0;
	for (uint32_t i = 0; i < sum.first[WW_SH_N]; i++) {
		const struct ww_path_share *h = &sum.shares[i];
		kinds += h->kind == WW_SH_KIND ? h->ns : 0;
		threads += h->kind == WW_SH_THREAD ? h->ns : 0;
		pipe += h->kind == WW_SH_FILE && !strcmp(h->name, "pipe:[7]") ? h->ns : 0;
		vda += h->kind == WW_SH_DEVICE && !strcmp(h->name, "vda") ? h->ns : 0;
	}
	is_i64(kinds, 100, "kinds sum to the whole");
	is_i64(threads, 100, "threads sum to the whole");
	is_i64(pipe, 50, "the pipe was waited for 50 ns");
	is_i64(vda, 20, "the device for 20 ns");
	const struct ww_segment *w = &p.segments[4];
	is_str(ww_segment_via(&mem, &p, w), "woke reader (1)", "why the path came to the writer");
	is_str(ww_segment_via(&mem, &p, &p.segments[0]), "then waited in read(3 pipe:[7]) for writer (2)", "why it went back");
	is_str(ww_segment_call(&mem, &p, &p.segments[2], true), "nanosleep", "the call of the sleep");
	ww_arena_release(&mem);
	ww_facts_release(&s.f);
}

/* Eight come to a barrier at 10, 20 .. 80; the last wakes all. */
static void barrier(void)
{
	struct play p;
	uint32_t t[8];
	char name[8];

	play_begin(&p);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		t[i] = actor(&p, name, 0, 100);
	}
	for (int i = 0; i < 8; i++) {
		runs(&p, t[i], 10 * (i + 1));
		if (i < 7)
			waits(&p, t[i], 80, WW_CA_FUTEX, WW_WK_THREAD, t[7], WW_NONE);
		runs(&p, t[i], 100);
	}
	play_end(&p);
	is_str(path_of(&p, t[0]), "t0 running-user 0..10, t7 running-user 10..80, t0 running-user 80..100", "barrier: the last of eight");
	is_str(path_of(&p, t[7]), "t7 running-user 0..100", "barrier: the last itself waits for nobody");
	play_release(&p);
}

/* a waits for lock 1 of b, which waits meanwhile for lock 2 of c. */
static void nested_locks(void)
{
	struct play p;
	struct ww_path path;
	struct ww_path_sum sum;
	int64_t lock1 = 0, lock2 = 0;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), b = actor(&p, "b", 0, 60), c = actor(&p, "c", 0, 60);
	runs(&p, a, 10), waits_on(&p, a, 50, WW_CA_FUTEX, WW_WK_THREAD, b, WW_NONE, 0x1000), runs(&p, a, 60);
	runs(&p, b, 20), waits_on(&p, b, 40, WW_CA_FUTEX, WW_WK_THREAD, c, WW_NONE, 0x2000), runs(&p, b, 60);
	runs(&p, c, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b running-user 10..20, c running-user 20..40, b running-user 40..50, "
			       "a running-user 50..60", "nested locks: down to the inner one and back");
	make_path(&p, a, &path);
	ww_path_sum(&p.mem, &path, &sum);
	for (uint32_t i = sum.first[WW_SH_LOCK]; i < sum.first[WW_SH_LOCK + 1]; i++) {
		lock1 += strstr(sum.shares[i].name, "0x1000") ? sum.shares[i].ns : 0;
		lock2 += strstr(sum.shares[i].name, "0x2000") ? sum.shares[i].ns : 0;
	}
	is_i64(lock1, 40, "the outer lock owns all of it");
	is_i64(lock2, 20, "the inner one its part");
	play_release(&p);
}

static void spurious_wakeup(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), b = actor(&p, "b", 0, 60), c = actor(&p, "c", 0, 60);
	runs(&p, a, 10), waits(&p, a, 20, WW_CA_FUTEX, WW_WK_THREAD, b, WW_NONE);
	runs(&p, a, 22), waits(&p, a, 50, WW_CA_FUTEX, WW_WK_THREAD, c, WW_NONE), runs(&p, a, 60);
	runs(&p, b, 60);
	runs(&p, c, 30), waits(&p, c, 45, WW_CA_TIMER, WW_WK_TIMER, WW_NONE, WW_NONE), runs(&p, c, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b running-user 10..20, a running-user 20..22, c running-user 22..30, "
			       "c timer 30..45, c running-user 45..50, a running-user 50..60",
	       "spurious wakeup: each wait by its own waker");
	play_release(&p);
}

/* Woken at 20 behind b; before it has run, c takes the CPU. */
static void woken_then_preempted(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), b = actor(&p, "b", 0, 60), c = actor(&p, "c", 0, 60);
	runs(&p, a, 10), waits(&p, a, 20, WW_CA_FUTEX, WW_WK_THREAD, b, WW_NONE);
	is_in(&p, a, 40, WW_ST_RUNQUEUE, b);
	runs(&p, a, 45), is_in(&p, a, 50, WW_ST_PREEMPTED, c), runs(&p, a, 60);
	runs(&p, b, 60), runs(&p, c, 60);
	on_cpu(&p, 0, a, 0, 10), on_cpu(&p, 0, b, 10, 30), on_cpu(&p, 0, c, 30, 38), on_cpu(&p, 0, a, 40, 45);
	on_cpu(&p, 0, c, 45, 50), on_cpu(&p, 0, a, 50, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b running-user 10..20, a runqueue by b 20..40, "
			       "a running-user 40..45, a preempted by c 45..50, a running-user 50..60",
	       "woken, and others first: who had the CPU for most of the wait");
	play_release(&p);
}

/* b is ready from 0 to 30; of what a waited for, 10 to 30, y had the CPU for most, of the whole x. */
static void piece_of_a_wait_for_a_cpu(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), b = actor(&p, "b", 0, 60), x = actor(&p, "x", 0, 60), y = actor(&p, "y", 0, 60);
	runs(&p, a, 10), waits(&p, a, 35, WW_CA_PIPE, WW_WK_THREAD, b, WW_NONE), runs(&p, a, 60);
	is_in(&p, b, 30, WW_ST_PREEMPTED, x), runs(&p, b, 60);
	runs(&p, x, 60), runs(&p, y, 60);
	on_cpu(&p, 0, x, 0, 18), on_cpu(&p, 0, y, 18, 30), on_cpu(&p, 0, b, 30, 60), on_cpu(&p, 1, a, 0, 60);
	play_end(&p);
	is_str(path_of(&p, b), "b preempted by x 0..30, b running-user 30..60", "the whole wait is laid to who had the CPU for most of it");
	is_str(path_of(&p, a), "a running-user 0..10, b preempted by y 10..30, b running-user 30..35, a running-user 35..60",
	       "a piece of it to who had the CPU for most of the piece");
	play_release(&p);
}

static void vfork_and_fork(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "parent", 0, 60), v = born_of(&p, a, "child", 10, 60);
	runs(&p, a, 11), waits(&p, a, 40, WW_CA_CHILD, WW_WK_THREAD, v, WW_NONE), runs(&p, a, 60);
	runs(&p, v, 60);
	play_end(&p);
	is_str(path_of(&p, a), "parent running-user 0..11, child running-user 11..40, parent running-user 40..60",
	       "vfork: the child until it lets go");
	play_release(&p);

	/* q waits for a thread that was not there yet when the wait began. */
	play_begin(&p);
	uint32_t q = actor(&p, "q", 0, 40), m = actor(&p, "maker", 0, 40), n = born_of(&p, m, "new", 20, 40);
	runs(&p, q, 5), waits(&p, q, 30, WW_CA_FUTEX, WW_WK_THREAD, n, WW_NONE), runs(&p, q, 40);
	runs(&p, m, 40), runs(&p, n, 40);
	play_end(&p);
	is_str(path_of(&p, q), "q running-user 0..5, maker running-user 5..20, new running-user 20..30, q running-user 30..40",
	       "fork: before it was there, who made it");
	play_release(&p);
}

/* exit and waitpid, of a child that itself waited for its own child. */
static void exit_and_wait(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "sh", 0, 60), b = born_of(&p, a, "make", 5, 50), c = born_of(&p, b, "cc", 15, 45);
	runs(&p, a, 10), waits(&p, a, 50, WW_CA_CHILD, WW_WK_THREAD, b, WW_NONE), runs(&p, a, 60);
	runs(&p, b, 20), waits(&p, b, 45, WW_CA_CHILD, WW_WK_THREAD, c, WW_NONE), runs(&p, b, 50);
	runs(&p, c, 45);
	play_end(&p);
	is_str(path_of(&p, a), "sh running-user 0..10, make running-user 10..20, cc running-user 20..45, make running-user 45..50, "
			       "sh running-user 50..60", "waitpid: through the children");
	play_release(&p);
}

/* No wakeup is recorded, but waitpid returned the child's number. */
static void exit_without_wakeup(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "sh", 0, 60), b = born_of(&p, a, "cc", 5, 40);
	struct ww_state_full x = state(a, 10, 50, WW_ST_BLOCKED, WW_CA_CHILD);
	runs(&p, a, 10);
	x.has.other = b;
	add(&p.f, x);
	p.at[a] = 50;
	runs(&p, a, 60), runs(&p, b, 40);
	play_end(&p);
	is_str(path_of(&p, a), "sh running-user 0..10, cc running-user 10..40, sh child 40..50, sh running-user 50..60",
	       "waitpid without a wakeup: the child, and the rest as what it was");
	play_release(&p);
}

/* A pool: the boss writes to an eventfd, the worker in epoll_wait takes it, works and writes back. */
static void thread_pool(void)
{
	struct play p;

	play_begin(&p);
	uint32_t boss = actor(&p, "boss", 0, 60), w = actor(&p, "worker", 0, 60);
	runs(&p, boss, 22), waits(&p, boss, 45, WW_CA_EVENTFD, WW_WK_THREAD, w, WW_NONE), runs(&p, boss, 60);
	waits(&p, w, 20, WW_CA_EVENTFD, WW_WK_THREAD, boss, WW_NONE);
	is_in(&p, w, 25, WW_ST_RUNQUEUE, WW_NONE), runs(&p, w, 46);
	waits(&p, w, 60, WW_CA_IDLE, WW_WK_UNKNOWN, WW_NONE, WW_NONE);
	play_end(&p);
	is_str(path_of(&p, boss), "boss running-user 0..22, worker runqueue 22..25, worker running-user 25..45, boss running-user 45..60",
	       "thread pool: the worker");
	is_str(path_of(&p, w), "boss running-user 0..20, worker runqueue 20..25, worker running-user 25..46, worker idle 46..60",
	       "thread pool: the worker's own path begins with the boss and ends idle");
	play_release(&p);
}

static void pipe_with_several_writers(void)
{
	struct play p;

	play_begin(&p);
	uint32_t r = actor(&p, "reader", 0, 60), w1 = actor(&p, "first", 0, 60), w2 = actor(&p, "second", 0, 60);
	runs(&p, r, 10), waits(&p, r, 30, WW_CA_PIPE, WW_WK_THREAD, w2, WW_NONE);
	runs(&p, r, 31), waits(&p, r, 50, WW_CA_PIPE, WW_WK_THREAD, w1, WW_NONE), runs(&p, r, 60);
	waits(&p, w1, 40, WW_CA_PIPE, WW_WK_THREAD, w2, WW_NONE), runs(&p, w1, 60);
	runs(&p, w2, 60);
	play_end(&p);
	is_str(path_of(&p, r), "reader running-user 0..10, second running-user 10..30, reader running-user 30..31, "
			       "second running-user 31..40, first running-user 40..50, reader running-user 50..60",
	       "several writers: whoever wrote");
	play_release(&p);
}

/* The condition is signalled at 30, which only moves the waiter to the mutex; its holder wakes it at 60. */
static void futex_requeue(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), s = actor(&p, "signaller", 0, 70), h = actor(&p, "holder", 0, 70);
	runs(&p, a, 10), waits_on(&p, a, 60, WW_CA_FUTEX, WW_WK_THREAD, h, WW_NONE, 0x1000), runs(&p, a, 70);
	runs(&p, s, 70);
	runs(&p, h, 20), waits(&p, h, 55, WW_CA_TIMER, WW_WK_TIMER, WW_NONE, WW_NONE), runs(&p, h, 70);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, holder running-user 10..20, holder timer 20..55, holder running-user 55..60, "
			       "a running-user 60..70", "requeue: who let the mutex go, not who signalled");
	play_release(&p);
}

/* The holder of a PI lock is preempted all the same: by a deadline task. */
static void pi_futex(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), h = actor(&p, "holder", 0, 60), d = actor(&p, "rusher", 0, 60);
	runs(&p, a, 10), waits_on(&p, a, 50, WW_CA_FUTEX, WW_WK_THREAD, h, WW_NONE, 0x1000), runs(&p, a, 60);
	runs(&p, h, 20), is_in(&p, h, 40, WW_ST_PREEMPTED, d), runs(&p, h, 60);
	runs(&p, d, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, holder running-user 10..20, holder preempted by rusher 20..40, "
			       "holder running-user 40..50, a running-user 50..60", "a preempted lock holder: who preempted it");
	play_release(&p);
}

/* b queues i2 at 20; worker k2 runs it and queues i1 at 40; k1, busy until 50, runs that and wakes a at 80. */
static void work_two_deep(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 90), b = actor(&p, "b", 0, 90), k1 = actor(&p, "k1", 0, 90), k2 = actor(&p, "k2", 0, 90);
	work(&p, "i0", WW_NONE, -1, k1, 30, 50);
	work(&p, "i2", b, 20, k2, 25, 45);
	uint32_t i1 = work(&p, "i1", k2, 40, k1, 50, 82);
	runs(&p, a, 10), waits(&p, a, 80, WW_CA_WORK, WW_WK_WORK, k1, i1), runs(&p, a, 90);
	runs(&p, b, 90);
	waits(&p, k2, 20, WW_CA_WORK, WW_WK_THREAD, b, WW_NONE), is_in(&p, k2, 25, WW_ST_RUNQUEUE, WW_NONE), runs(&p, k2, 90);
	waits(&p, k1, 30, WW_CA_WORK, WW_WK_IRQ, WW_NONE, WW_NONE), runs(&p, k1, 90);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b running-user 10..20, k2 runqueue 20..25, k2 running-user 25..40, "
			       "k1 running-user 40..80, a running-user 80..90", "work two deep: who queued each");
	play_release(&p);
}

/* fsync: the flusher, to which the pages were given at 15, submits at 30; the disk ends the wait at 60. */
static void writeback(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), k = actor(&p, "flusher", 0, 70);
	work(&p, "wb_workfn", a, 15, k, 20, 40);
	uint32_t io = request(&p, k, 30, 60);
	runs(&p, a, 16), waits(&p, a, 60, WW_CA_DISK, WW_WK_BLOCK, k, io), runs(&p, a, 70);
	waits(&p, k, 15, WW_CA_WORK, WW_WK_THREAD, a, WW_NONE), is_in(&p, k, 20, WW_ST_RUNQUEUE, WW_NONE), runs(&p, k, 70);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..16, flusher runqueue 16..20, flusher running-user 20..30, a disk 30..60, "
			       "a running-user 60..70", "writeback: the flusher until it submits, then the disk");
	play_release(&p);
}

static void journal(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), j = actor(&p, "jbd2", 0, 70), io = request(&p, j, 19, 55);
	runs(&p, a, 10), waits(&p, a, 60, WW_CA_DISK, WW_WK_THREAD, j, WW_NONE), runs(&p, a, 70);
	waits(&p, j, 9, WW_CA_UNKNOWN, WW_WK_THREAD, a, WW_NONE), runs(&p, j, 20);
	waits(&p, j, 55, WW_CA_DISK, WW_WK_BLOCK, j, io), runs(&p, j, 70);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, jbd2 running-user 10..20, jbd2 disk 20..55, jbd2 running-user 55..60, "
			       "a running-user 60..70", "jbd2: through the journal's thread to the disk");
	play_release(&p);
}

/* The disk's interrupt does not wake the waiter but queues work, whose worker does; and the same of a timer's, where
 * that work only queues another's. */
static void work_of_an_interrupt(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), k = actor(&p, "k", 0, 70), io = request(&p, a, 10, 50);
	uint32_t item = work(&p, "end_io", WW_NONE, 50, k, 54, 58);
	p.f.work.trigger_kind[item] = WW_WK_BLOCK;
	p.f.work.trigger[item] = io;
	runs(&p, a, 11), waits(&p, a, 57, WW_CA_DISK, WW_WK_WORK, k, item), runs(&p, a, 70);
	waits(&p, k, 50, WW_CA_WORK, WW_WK_IRQ, WW_NONE, WW_NONE), is_in(&p, k, 54, WW_ST_RUNQUEUE, WW_NONE), runs(&p, k, 70);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..11, a disk 11..50, k runqueue 50..54, k running-user 54..57, a running-user 57..70",
	       "work that the disk's interrupt queued: before it, the disk");
	play_release(&p);

	play_begin(&p);
	a = actor(&p, "a", 0, 70), k = actor(&p, "k", 0, 70);
	uint32_t k2 = actor(&p, "k2", 0, 70), t = timer(&p, "delayed", WW_NONE, 5, 40);
	item = work(&p, "first", WW_NONE, 40, k2, 42, 46);
	p.f.work.trigger_kind[item] = WW_WK_TIMER;
	p.f.work.trigger[item] = t;
	uint32_t last = work(&p, "second", k2, 45, k, 47, 60);
	runs(&p, a, 10), waits(&p, a, 55, WW_CA_UNKNOWN, WW_WK_WORK, k, last), runs(&p, a, 70);
	waits(&p, k2, 40, WW_CA_WORK, WW_WK_IRQ, WW_NONE, WW_NONE), is_in(&p, k2, 42, WW_ST_RUNQUEUE, WW_NONE), runs(&p, k2, 70);
	waits(&p, k, 45, WW_CA_WORK, WW_WK_THREAD, k2, WW_NONE), is_in(&p, k, 47, WW_ST_RUNQUEUE, WW_NONE), runs(&p, k, 70);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, a timer 10..40, k2 runqueue 40..42, k2 running-user 42..45, k runqueue 45..47, "
			       "k running-user 47..55, a running-user 55..70", "two workers deep, a timer at the bottom");
	play_release(&p);
}

/* The links of the thread's first wait, in one line. */
static const char *chain_of(struct play *p, uint32_t t)
{
	struct ww_chain_opts opts = {.max_depth = 10, .budget = 1000};
	uint32_t row = p->f.state_first[t];
	const char *s = "";
	struct ww_link l;

	while (p->f.state.state[row] != WW_ST_BLOCKED)
		row++;
	ww_chain_expand(&p->mem, &p->f, &opts, row, 0, 1000, &l);
	ww_chain_free(&opts);
	for (uint32_t i = 0; i < l.nchain; i++) {
		const struct ww_link *c = &l.chain[i];

		s = ww_arena_printf(&p->mem, "%s%s%s %s %d..%d", s, i ? ", " : "",
				    c->thread == WW_NONE ? ww_link_said(c).brief : ww_facts_str(&p->f, p->f.thread.comm[c->thread]),
				    ww_state_name(c->state), (int)c->start_ts_ns, (int)(c->start_ts_ns + c->dur_ns));
	}
	return s;
}

/* The echo at a terminal: b's work runs on k and there queues more, which runs on k as well; what k did before, and what
 * it waited for then, was another's. */
static void work_queued_by_work(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), b = actor(&p, "b", 0, 70), c = actor(&p, "c", 0, 70), k = actor(&p, "k", 0, 70);
	work(&p, "others", c, 20, k, 22, 28);
	uint32_t first = work(&p, "first", b, 40, k, 42, 46), second = work(&p, "second", k, 45, k, 47, 56);
	p.f.work.trigger_kind[second] = WW_WK_WORK;
	p.f.work.trigger[second] = first;
	runs(&p, a, 10), waits(&p, a, 55, WW_CA_TTY, WW_WK_WORK, k, second), runs(&p, a, 70);
	runs(&p, b, 5), waits(&p, b, 38, WW_CA_TIMER, WW_WK_TIMER, WW_NONE, WW_NONE), runs(&p, b, 70);
	runs(&p, c, 70);
	waits(&p, k, 20, WW_CA_WORK, WW_WK_THREAD, c, WW_NONE), is_in(&p, k, 22, WW_ST_RUNQUEUE, WW_NONE), runs(&p, k, 30);
	waits(&p, k, 40, WW_CA_WORK, WW_WK_THREAD, b, WW_NONE), is_in(&p, k, 42, WW_ST_RUNQUEUE, WW_NONE), runs(&p, k, 70);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b timer 10..38, b running-user 38..40, k runqueue 40..42, k running-user 42..55, "
			       "a running-user 55..70", "work that work queued: who queued the first");
	is_str(chain_of(&p, a), "b blocked 10..38, b running-user 38..40, first, queued and not yet begun blocked 40..42, k running-user 42..45, "
				"second, queued and not yet begun blocked 45..47, k running-user 47..55", "and the tree of the wait says so too");
	play_release(&p);
}

static void signals_and_timeouts(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), s = actor(&p, "killer", 0, 60);
	runs(&p, a, 10), waits(&p, a, 30, WW_CA_SIGNAL, WW_WK_SIGNAL, s, WW_NONE), runs(&p, a, 60);
	runs(&p, s, 15), waits(&p, s, 25, WW_CA_TIMER, WW_WK_TIMER, WW_NONE, WW_NONE), runs(&p, s, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, killer running-user 10..15, killer timer 15..25, killer running-user 25..30, "
			       "a running-user 30..60", "a wait that a signal interrupted: who sent it");
	play_release(&p);

	/* Times out at 30; b's wakeup, at 31, comes when it already runs. */
	play_begin(&p);
	a = actor(&p, "a", 0, 60);
	uint32_t b = actor(&p, "b", 0, 60), tm = timer(&p, "hrtimer_wakeup", a, 10, 30);
	runs(&p, a, 10), waits(&p, a, 30, WW_CA_TIMER, WW_WK_TIMER, a, tm), runs(&p, a, 60);
	runs(&p, b, 60);
	add_wakeup(&p.f, 31, a, WW_WK_THREAD, b, WW_NONE);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, a timer 10..30, a running-user 30..60", "a timeout just before the event is one");
	play_release(&p);

	/* A timerfd that another armed at 20. */
	play_begin(&p);
	a = actor(&p, "a", 0, 60);
	b = actor(&p, "b", 0, 60), tm = timer(&p, "timerfd_tmrproc", b, 20, 40);
	runs(&p, a, 10), waits(&p, a, 40, WW_CA_TIMER, WW_WK_TIMER, b, tm), runs(&p, a, 60);
	runs(&p, b, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b running-user 10..20, a timer 20..40, a running-user 40..60",
	       "a timer that another armed: the other until then");
	play_release(&p);
}

/* poll is woken at 20, finds nothing, and waits on within the same call until c writes. */
static void two_phase_poll(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), b = actor(&p, "b", 0, 60), c = actor(&p, "c", 0, 60);
	uint32_t poll = add_syscall(&p.f, a, "poll", 9, 41, -1, WW_NONE);
	runs(&p, a, 10), waits(&p, a, 20, WW_CA_UNKNOWN, WW_WK_THREAD, b, WW_NONE);
	is_in(&p, a, 21, WW_ST_RUNNING_KERNEL, WW_NONE), waits(&p, a, 40, WW_CA_UNIX, WW_WK_THREAD, c, WW_NONE), runs(&p, a, 60);
	for (uint32_t i = 1; i < 4; i++)
		p.f.state.syscall[i] = poll;
	runs(&p, b, 60), runs(&p, c, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b running-user 10..20, a running-kernel 20..21, c running-user 21..40, "
			       "a running-user 40..60", "poll in two phases: each by its own waker");
	play_release(&p);
}

/* A wait that nothing explains, of a recording with call stacks. */
static void unknown_with_stack(void)
{
	static const char *const functions[] = {"schedule", "balance_dirty_pages", "ext4_write"};
	struct play p;
	struct ww_path path;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 50);
	for (uint32_t i = 0; i < 3; i++)
		ww_stack_frame_push(&p.f, &(struct ww_stack_frame){.address = 0xffffffff81000000 + i, .file = WW_NONE,
								   .symbol = str(&p.f, functions[i])});
	ww_stack_push(&p.f, &(struct ww_stack){.ts_ns = 9, .thread = a, .kernel = 1, .first = 0, .frames = 3});
	runs(&p, a, 10), waits(&p, a, 20, WW_CA_UNKNOWN, WW_WK_SOFTIRQ, WW_NONE, WW_NONE);
	runs(&p, a, 30), waits(&p, a, 40, WW_CA_UNKNOWN, WW_WK_SOFTIRQ, WW_NONE, WW_NONE), runs(&p, a, 50);
	play_end(&p);
	make_path(&p, a, &path);
	is_i64(path.nsegments, 5, "two waits that nothing explains");
	ok(strstr(ww_segment_detail(&p.mem, &path, &path.segments[1], true), "in schedule < balance_dirty_pages < ext4_write"),
	   "of the one with a stack, where in the kernel: %s", ww_segment_detail(&p.mem, &path, &path.segments[1], true));
	ok(!strstr(ww_segment_detail(&p.mem, &path, &path.segments[3], true), "schedule"), "of the other, nothing: %s",
	   ww_segment_detail(&p.mem, &path, &path.segments[3], true));
	play_release(&p);
}

/* Interrupts that nothing explains, an IPI, the end of the range inside a wait, a gap. */
static void what_is_not_known(void)
{
	struct play p;
	struct ww_path path;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 100), b = actor(&p, "b", 0, 100);
	runs(&p, a, 10), waits(&p, a, 20, WW_CA_UNKNOWN, WW_WK_SOFTIRQ, WW_NONE, WW_NONE);
	runs(&p, a, 30), waits(&p, a, 40, WW_CA_FUTEX, WW_WK_IPI, b, WW_NONE);
	runs(&p, a, 50), waits(&p, a, 80, WW_CA_PIPE, WW_WK_THREAD, b, WW_NONE), runs(&p, a, 100);
	runs(&p, b, 100);
	const struct ww_gap gap = {.cpu = 0, .start_ts_ns = 55, .dur_ns = 5, .lost = 3};
	ww_gap_push(&p.f, &gap);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, a unknown 10..20, a running-user 20..30, b running-user 30..40, "
			       "a running-user 40..50, b running-user 50..80, a running-user 80..100", "unknown is said; an IPI's sender");
	const struct ww_query cut = {.tid = 100, .pid = -1, .from_ts_ns = 35, .to_ts_ns = 70};
	is_i64(ww_path_make(&p.mem, &p.set, 0, &cut, &path, NULL), 0, "a range that begins and ends in waits");
	is_str(path_words(&p.mem, &path), "b running-user 35..40, a running-user 40..50, b running-user 50..70", "is cut there");
	make_path(&p, a, &path);
	int64_t unsure = 0;
	for (uint32_t i = 0; i < path.nsegments; i++)
		unsure += path.segments[i].certainty != WW_SURE ? path.segments[i].dur_ns : 0;
	is_i64(unsure, 30, "lost events mark the segment that they touch, and no other");
	const struct ww_query none = {.tid = 7777, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	struct ww_err err = {0};
	is_i64(ww_path_make(&p.mem, &p.set, 0, &none, &path, &err), -WW_ENOTHREAD, "no such thread");
	play_release(&p);
}

int main(void)
{
	two_and_a_disk();
	barrier();
	nested_locks();
	spurious_wakeup();
	woken_then_preempted();
	piece_of_a_wait_for_a_cpu();
	vfork_and_fork();
	exit_and_wait();
	exit_without_wakeup();
	thread_pool();
	pipe_with_several_writers();
	futex_requeue();
	pi_futex();
	work_two_deep();
	work_of_an_interrupt();
	work_queued_by_work();
	writeback();
	journal();
	signals_and_timeouts();
	two_phase_poll();
	unknown_with_stack();
	what_is_not_known();
	return done_testing();
}
