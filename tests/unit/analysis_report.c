/* analysis_report.c - breakdown, chains and findings of facts that are laid by hand, so that the right
 * answer is known from the picture:
 *
 *   time    0    10    20    30    40    50    60    70    80    90    100
 *   A (1)   user | read pipe, blocked 10..60        |rq| user | fsync 70..90, disk | user
 *   B (2)      user 5..20| nanosleep 20..40 |rq 40..42| user 42..60+ ...
 *   disk vda                                               request queued 72, issued 74, done 90
 */
#include "../tap.h"

#include "analysis/names.h"
#include "path_scene.h"

static const struct ww_breakdown_row *row(const struct ww_thread_report *t, enum ww_thread_state s, enum ww_cause c)
{
	for (uint32_t i = 0; i < t->nrows; i++)
		if (t->rows[i].state == s && t->rows[i].cause == c)
			return &t->rows[i];
	return NULL;
}

/* The links lie end to end and cover the wait; in each of them the same. */
static bool covers(const struct ww_link *l)
{
	int64_t at = l->start_ts_ns;

	for (uint32_t i = 0; i < l->nchain; i++) {
		if (l->chain[i].start_ts_ns != at || l->chain[i].dur_ns <= 0 || !covers(&l->chain[i]))
			return false;
		at += l->chain[i].dur_ns;
	}
	return !l->nchain || at == l->start_ts_ns + l->dur_ns;
}

static const char *link_detail(struct ww_arena *mem, const struct ww_facts *f, const struct ww_link *l)
{
	struct ww_link_words w;

	ww_link_words(mem, f, l, &w);
	return w.detail;
}

static const struct ww_query whole = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
static const struct ww_report_opts full = {.waits = true, .family_waits = true};

static void check_breakdown(const struct ww_thread_report *t)
{
	int64_t sum = 0, states = 0;

	for (uint32_t i = 0; i < t->nrows; i++)
		sum += t->rows[i].ns;
	for (int i = 0; i < WW_ST_N; i++)
		states += t->by_state_ns[i];
	is_i64(sum, t->wall_ns, "rows add up to the wall time");
	is_i64(states, t->wall_ns, "states add up to the wall time");
}

static void report_of_reader(void)
{
	struct scene s;
	struct ww_arena mem;
	struct ww_report r;

	build(&s);
	ww_arena_init(&mem);
	is_i64(ww_report_make(&mem, &s.f, &whole, &full, &r, NULL), 0, "report is made");
	is_i64(r.main.thread, s.a, "the target is the recorded command");
	is_i64(r.main.wall_ns, 100, "wall time");
	check_breakdown(&r.main);
	const struct ww_breakdown_row *p = row(&r.main, WW_ST_BLOCKED, WW_CA_PIPE);
	is_i64(p ? p->ns : -1, 50, "50 ns for the pipe");
	is_str(p ? p->detail : NULL, "pipe:[7], from writer (2)", "the pipe's row names the peer");
	is_str(p ? p->syscall : NULL, "read", "and the call");
	const struct ww_breakdown_row *d = row(&r.main, WW_ST_BLOCKED, WW_CA_DISK);
	is_i64(d ? d->ns : -1, 20, "20 ns for the disk");
	is_str(d ? d->detail : NULL, "/tmp/x on vda", "the disk's row names file and device");
	const struct ww_breakdown_row *q = row(&r.main, WW_ST_RUNQUEUE, WW_CA_NONE);
	is_str(q ? q->detail : NULL, "behind writer (2)", "the run queue's row names who had the CPU");
	const struct ww_breakdown_row *u = row(&r.main, WW_ST_UNKNOWN, WW_CA_NONE);
	is_i64(u ? u->ns : -1, 3, "what no state covers is unknown");
	const struct ww_breakdown_row *run = row(&r.main, WW_ST_RUNNING_USER, WW_CA_NONE);
	is_i64(run ? run->ns : -1, 23, "running in user space");
	is_i64(run ? run->count : 0, 3, "in three stretches");
	is_i64(r.nfamily, 1, "the child belongs to the family");
	check_breakdown(&r.family[0]);
	is_i64(r.family[0].wall_ns, 95, "the child's wall time begins with it");

	is_i64(r.main.nwaits, 2, "two waits");
	const struct ww_link *w = &r.main.waits[0];
	ok(covers(w) && covers(&r.main.waits[1]), "chains cover their waits end to end");
	is_i64(w->dur_ns, 50, "the first is 50 ns long");
	is_i64(w->nchain, 4, "and has four links");
	is_i64(w->chain[0].state, WW_ST_RUNNING_USER, "the writer computes,");
	is_i64(w->chain[0].dur_ns, 10, "clipped to the wait,");
	is_i64(w->chain[1].cause, WW_CA_TIMER, "sleeps,");
	is_i64(w->chain[1].nchain, 1, "of which the timer is the reason,");
	is_i64(w->chain[2].state, WW_ST_RUNQUEUE, "waits for a CPU");
	is_i64(w->chain[3].dur_ns, 18, "and computes until it writes");
	const struct ww_link *dw = &r.main.waits[1];
	is_i64(dw->nchain, 2, "the disk wait: before the request, the request");
	is_i64(dw->chain[0].state, WW_ST_UNKNOWN, "before it was queued nothing is known");
	is_i64(dw->chain[1].start_ts_ns, 72, "the request begins when it was queued");
	const char *detail = link_detail(&mem, &s.f, &dw->chain[1]);
	ok(strstr(detail, "vda write") != NULL, "and is named: %s", detail);

	int64_t blame = 0;
	for (uint32_t i = 0; i < r.main.nblame; i++)
		blame += r.main.blame[i].ns;
	is_i64(blame, 70, "the blame adds up to the waits");
	is_i64(r.main.blame[0].ns, 28, "and its first row is the writer's computing");
	ok(r.nfindings > 0 && strstr(r.findings[0].text, "pipe"), "the first finding is the pipe: %s",
	   r.nfindings ? r.findings[0].text : "none");
	ww_arena_release(&mem);
	ww_facts_release(&s.f);
}

static void ranges_and_choices(void)
{
	struct scene s;
	struct ww_arena mem;
	struct ww_report r;
	struct ww_err err = {0};
	struct ww_query q = whole;

	build(&s);
	ww_arena_init(&mem);
	q.from_ts_ns = 15;
	q.to_ts_ns = 75;
	is_i64(ww_report_make(&mem, &s.f, &q, &full, &r, NULL), 0, "a report of a part");
	is_i64(r.main.wall_ns, 60, "has the part as wall time");
	check_breakdown(&r.main);
	is_i64(r.main.waits[0].dur_ns, 45, "waits are cut to it");
	ok(covers(&r.main.waits[0]) && covers(&r.main.waits[1]), "and covered");
	q = whole;
	q.min_dur_ns = 30;
	ww_report_make(&mem, &s.f, &q, &full, &r, NULL);
	is_i64(r.main.nwaits, 1, "min_dur leaves one wait");
	is_i64(r.main.nwaits_all, 2, "and tells that there were two");
	q = whole;
	q.comm = "writer";
	ww_report_make(&mem, &s.f, &q, &full, &r, NULL);
	is_i64(r.main.thread, s.b, "a thread by its name");
	q.comm = "nobody";
	is_i64(ww_report_make(&mem, &s.f, &q, &full, &r, &err), -WW_ENOTHREAD, "nobody is an error");
	q = whole;
	q.max_depth = 1;
	ww_report_make(&mem, &s.f, &q, &full, &r, NULL);
	is_i64(r.main.waits[0].chain[1].nchain, 0, "depth 1 does not follow the writer's own wait");
	ok(r.main.waits[0].chain[1].cut, "and says that it was cut");
	ww_arena_release(&mem);
	ww_facts_release(&s.f);
}

/* Two threads that each are said to wake the other out of one wait: chains must end. */
static void cycles_end(void)
{
	struct ww_facts f;
	struct ww_arena mem;
	struct ww_report r;

	ww_facts_init(&f);
	f.end_ts_ns = 1000;
	uint32_t a = add_thread(&f, 1, 1, "a", 0, 1000, WW_NONE, 0), b = add_thread(&f, 2, 2, "b", 0, 1000, WW_NONE, 0);
	f.target = a;
	uint32_t wa = add_wakeup(&f, 900, a, WW_WK_THREAD, b, WW_NONE);
	uint32_t wb = add_wakeup(&f, 900, b, WW_WK_THREAD, a, WW_NONE);
	struct ww_state_full x = state(a, 0, 900, WW_ST_BLOCKED, WW_CA_FUTEX);
	x.has.wakeup = wa;
	add(&f, x);
	x = state(b, 0, 900, WW_ST_BLOCKED, WW_CA_FUTEX);
	x.has.wakeup = wb;
	add(&f, x);
	ww_facts_seal(&f, NULL);
	ww_arena_init(&mem);
	is_i64(ww_report_make(&mem, &f, &whole, &full, &r, NULL), 0, "a cycle of waits is reported");
	ok(covers(&r.main.waits[0]), "its chain covers the wait");
	is_i64(r.main.waits[0].chain[0].nchain, 1, "b's wait is explained by a");
	ok(r.main.waits[0].chain[0].chain[0].cut, "and a's own wait is not followed again");
	check_breakdown(&r.main);
	ww_arena_release(&mem);
	ww_facts_release(&f);
}

/* Random states with random wakers, ranges cut anywhere: sums and covers hold whatever the facts. */
static void random_facts_hold(void)
{
	unsigned bad_sum = 0, bad_cover = 0, made = 0;

	srand(11);
	for (int round = 0; round < 300; round++) {
		struct ww_facts f;
		struct ww_arena mem;
		struct ww_report r;
		struct ww_query q = whole;

		ww_facts_init(&f);
		f.end_ts_ns = 2000;
		for (int t = 0; t < 6; t++)
			add_thread(&f, t + 1, t + 1, "t", rand() % 200, 2000 - rand() % 200, t ? 0 : WW_NONE, 0);
		f.target = 0;
		for (uint32_t t = 0; t < 6; t++)
			for (int64_t at = f.thread.start_ts_ns[t]; at < f.thread.end_ts_ns[t];) {
				int64_t end = at + 1 + rand() % 150;
				struct ww_state_full x = state(t, at, end, (enum ww_thread_state)(rand() % WW_ST_N),
							  (enum ww_cause)(rand() % WW_CA_N));
				if (rand() % 4)
					x.has.wakeup = add_wakeup(&f, end, t, (enum ww_waker)(rand() % WW_WK_N),
							      (uint32_t)rand() % 7, (uint32_t)rand() % 3);
				add(&f, x);
				at = end + (rand() % 8 ? 0 : rand() % 20);
			}
		for (int i = 0; i < 2; i++) {
			struct ww_block_io io = {.queued_ts_ns = rand() % 2000, .issued_ts_ns = rand() % 2000,
						 .completed_ts_ns = rand() % 2000, .submitter = (uint32_t)rand() % 7};
			ww_block_io_push(&f, &io);
			struct ww_timer tm = {.armed_by = (uint32_t)rand() % 7, .armed_ts_ns = rand() % 2000};
			ww_timer_push(&f, &tm);
			struct ww_work wk = {.queued_by = (uint32_t)rand() % 7, .queued_ts_ns = rand() % 2000,
					     .start_ts_ns = rand() % 2000, .thread = (uint32_t)rand() % 7};
			ww_work_push(&f, &wk);
			struct ww_packet p = {.ts_ns = rand() % 2000, .sent = (uint8_t)(rand() % 2), .proto = 6,
					      .context = (uint8_t)(rand() % WW_CX_N), .thread = (uint32_t)rand() % 7,
					      .trigger = rand() % 2 ? WW_NONE : (uint32_t)rand() % 3,
					      .trigger_kind = (uint8_t)(rand() % WW_WK_N),
					      .match = (uint32_t)rand() % 3};
			ww_packet_push(&f, &p);
		}
		ww_facts_seal(&f, NULL);
		q.from_ts_ns = rand() % 900;
		q.to_ts_ns = 1000 + rand() % 1000;
		ww_arena_init(&mem);
		if (!ww_report_make(&mem, &f, &q, &full, &r, NULL)) {
			made++;
			for (uint32_t k = 0; k <= r.nfamily; k++) {
				const struct ww_thread_report *t = k ? &r.family[k - 1] : &r.main;
				int64_t sum = 0;
				for (uint32_t i = 0; i < t->nrows; i++)
					sum += t->rows[i].ns;
				bad_sum += sum != t->wall_ns;
				for (uint32_t i = 0; i < t->nwaits; i++)
					bad_cover += !covers(&t->waits[i]);
			}
		}
		ww_arena_release(&mem);
		ww_facts_release(&f);
	}
	is_i64(made, 300, "300 reports of random facts are made");
	is_i64(bad_sum, 0, "all breakdowns add up");
	is_i64(bad_cover, 0, "all chains cover their waits");
}

/* Preempted 10..50 while the CPU went round: y 10..20, x 20..32, y 32..42, z 42..50; then 60..64, all of it y's.
 * x had it longest at a stretch, z last, y for most of the time. b waits for a meanwhile. */
static void one_answer_about_whom(void)
{
	struct play p;
	struct ww_report r;
	struct ww_table t;
	struct ww_query q = whole;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), b = actor(&p, "b", 0, 70), x = actor(&p, "x", 0, 70);
	uint32_t y = actor(&p, "y", 0, 70), z = actor(&p, "z", 0, 70);
	runs(&p, a, 10), is_in(&p, a, 50, WW_ST_PREEMPTED, x), runs(&p, a, 60), is_in(&p, a, 64, WW_ST_PREEMPTED, z), runs(&p, a, 70);
	runs(&p, b, 5), waits(&p, b, 66, WW_CA_PIPE, WW_WK_THREAD, a, WW_NONE), runs(&p, b, 70);
	on_cpu(&p, 0, a, 0, 10), on_cpu(&p, 0, y, 10, 20), on_cpu(&p, 0, x, 20, 32), on_cpu(&p, 0, y, 32, 42);
	on_cpu(&p, 0, z, 42, 50), on_cpu(&p, 0, a, 50, 60), on_cpu(&p, 0, y, 60, 64), on_cpu(&p, 0, a, 64, 70);
	play_end(&p);
	for (int part = 0; part < 2; part++) { /* of a range too the wait is whose it is in whole */
		q.tid = p.f.thread.tid[a];
		q.from_ts_ns = part ? 45 : INT64_MIN;
		is_i64(ww_report_make(&p.mem, &p.f, &q, &full, &r, NULL), 0, "a report");
		check_breakdown(&r.main);
		const struct ww_breakdown_row *w = row(&r.main, WW_ST_PREEMPTED, WW_CA_NONE);
		is_str(w ? w->detail : NULL, "by y (103)", "preempted by who had the CPU for most of the time");
		is_i64(w ? w->ns : -1, part ? 9 : 44, "the whole wait is laid to it");
		is_i64(w ? w->count : 0, 2, "waits are counted, not who had the CPU in turn");
		is_i64(w ? w->max_ns : -1, part ? 5 : 40, "and the longest is the longest wait");
	}
	q = whole;
	is_i64(ww_analysis_find("sched")->run(&p.mem, &p.f, &q, &t, NULL), 0, "delays");
	is_i64(t.cells[5].i, 2, "as many delays as the report has waits");
	is_i64(t.cells[11].i, 40, "the longest as long");
	is_str(path_of(&p, a), "a running-user 0..10, a preempted by y 10..50, a running-user 50..60, a preempted by y 60..64, "
			       "a running-user 64..70", "the path lays them to the same");
	q.tid = p.f.thread.tid[b];
	is_i64(ww_report_make(&p.mem, &p.f, &q, &full, &r, NULL), 0, "a report of who waited for it");
	is_str(link_detail(&p.mem, &p.f, &r.main.waits[0].chain[1]), "by y (103)", "so does the tree");
	bool blamed = false;
	for (uint32_t i = 0; i < r.main.nblame; i++)
		blamed |= r.main.blame[i].ns == 44 && !strcmp(r.main.blame[i].detail, "by y");
	ok(blamed, "and what the wait comes down to");
	play_release(&p);
}

/* Preempted on CPU 0 by x 10..40, put into CPU 1's queue at 40, where y has 3 ms more; it runs there from 43. CPU 1 was
 * idle till 40. Then the same without a word of the migration: it was pulled over when it got to run. */
static void behind_whom_in_which_queue(void)
{
	for (int told = 0; told < 2; told++) {
		struct play p;

		play_begin(&p);
		uint32_t a = actor(&p, "a", 0, 70), x = actor(&p, "x", 0, 70), y = actor(&p, "y", 0, 70), idle = actor(&p, "swapper/1", 0, 70);
		p.f.thread.flags[idle] |= WW_TF_IDLE;
		runs(&p, a, 10), is_in(&p, a, 43, WW_ST_PREEMPTED, x), runs(&p, a, 70);
		p.f.state.cpu[p.f.state.n - 1] = 1;
		on_cpu(&p, 0, a, 0, 10), on_cpu(&p, 0, x, 10, 50), on_cpu(&p, 1, idle, 0, 40), on_cpu(&p, 1, y, 40, 43);
		on_cpu(&p, 1, a, 43, 70);
		struct ww_migration m = {.thread = a, .ts_ns = 40, .from_cpu = 0, .to_cpu = 1};
		if (told)
			ww_migration_push(&p.f, &m);
		play_end(&p);
		is_str(path_of(&p, a), "a running-user 0..10, a preempted by x 10..43, a running-user 43..70",
		       told ? "behind who had the CPU in whose queue it was" : "and so where no migration is told");
		play_release(&p);
	}
}

/* Preempted by three and queued behind one: lines of their own, and nobody is named for what was another's. */
static void ready_kinds_stay_apart(void)
{
	struct play p;
	struct ww_blame_row *rows;
	uint32_t n;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), b = actor(&p, "a", 0, 70);
	const uint32_t comm = p.f.thread.comm[a];
	const struct ww_blame_row all[] = {
		{a, comm, NULL, WW_ST_RUNQUEUE, WW_CA_NONE, "behind qemu", 175700, 9}, {a, comm, NULL, WW_ST_PREEMPTED, WW_CA_NONE, "by cc1", 40000, 1},
		{b, comm, NULL, WW_ST_PREEMPTED, WW_CA_NONE, "by qemu", 26700, 2}, {a, comm, NULL, WW_ST_PREEMPTED, WW_CA_NONE, "by whywait", 20900, 3},
		{a, comm, NULL, WW_ST_RUNNING_KERNEL, WW_CA_NONE, "read", 400, 2}, {a, comm, NULL, WW_ST_RUNNING_KERNEL, WW_CA_NONE, "write", 300, 1},
	};
	play_end(&p);
	n = ww_blame_merge(&p.mem, &p.f, all, WW_ARRAY_SIZE(all), &rows);
	is_i64(n, 3, "three lines");
	is_str(rows[0].detail, "behind qemu", "queued behind one");
	is_i64(rows[0].ns, 175700, "only that");
	is_str(rows[1].detail, "by cc1 40.00 us, qemu 26.70 us, 1 more", "preempted by three");
	is_i64(rows[1].ns, 87600, "together");
	is_str(rows[1].who, "a (2 of them)", "two threads of one name");
	is_str(rows[2].detail, "read 400 ns, write 300 ns", "in two calls");
	play_release(&p);
}

/* Ctrl-C, passed on by the terminal's worker, which the typist's process woke: none of them explains the wait. */
static void a_key_ends_a_sleep(bool key)
{
	struct play p;
	struct ww_report r;
	struct ww_query q = whole;

	play_begin(&p);
	uint32_t a = actor(&p, "sleep", 0, 70), k = actor(&p, "kworker", 0, 70), typist = actor(&p, "typist", 0, 70);
	uint32_t item = work(&p, key ? "flush_to_ldisc" : "other_work", typist, 48, k, 49, 51);
	runs(&p, a, 10);
	struct ww_state_full x = state(a, 10, 50, WW_ST_BLOCKED, WW_CA_SIGNAL);
	x.has.wakeup = add_wakeup(&p.f, 50, a, key ? WW_WK_WORK : WW_WK_THREAD, key ? k : typist, key ? item : WW_NONE);
	x.is.syscall = add_syscall(&p.f, a, "pselect6", 9, 51, -1, WW_NONE);
	x.has.detail = str(&p.f, "SIGINT");
	add(&p.f, x);
	p.at[a] = 50;
	runs(&p, a, 70);
	waits(&p, typist, 45, WW_CA_TIMER, WW_WK_TIMER, WW_NONE, WW_NONE), runs(&p, typist, 70);
	waits(&p, k, 49, WW_CA_WORK, WW_WK_THREAD, typist, WW_NONE), runs(&p, k, 70);
	play_end(&p);
	q.tid = p.f.thread.tid[a];
	is_i64(ww_report_make(&p.mem, &p.f, &q, &full, &r, NULL), 0, "a report");
	const struct ww_link *w = &r.main.waits[0];
	ok(covers(w), "the chain covers the wait");
	is_str(link_detail(&p.mem, &p.f, w), key ? "interrupted by SIGINT, from the terminal" : "interrupted by SIGINT, sent by typist (102)",
	       "the signal, and who sent it");
	if (key)
		ok(w->nchain == 1 && w->chain[0].thread == WW_NONE, "nobody's doing before the key explains it");
	else
		ok(w->nchain == 2 && w->chain[0].thread == typist, "what the sender did is there");
	ok(strstr(r.findings[0].text, "that a signal ended: interrupted by SIGINT") && !strstr(r.findings[0].text, "behind that"),
	   "the finding says it too, and nothing behind it: %s", r.findings[0].text);
	is_str(path_of(&p, a), key ? "sleep running-user 0..10, sleep signal 10..50, sleep running-user 50..70"
				   : "sleep running-user 0..10, typist timer 10..45, typist running-user 45..50, sleep running-user 50..70",
	       "the path agrees");
	play_release(&p);
}

static void renamed(struct play *p, uint32_t t, int64_t ts, const char *old)
{
	struct ww_name_change r = {.ts_ns = ts, .thread = t, .old = str(&p->f, old), .before = p->f.thread.renamed[t]};

	p->f.thread.renamed[t] = ww_name_change_push(&p->f, &r);
}

/* a waits for b twice: b was sh at the first time and perl at the second; now it is sleep. x, that was ld, was in b's way. */
static void names_of_their_time(void)
{
	struct play p;
	struct ww_report r;
	struct ww_query q = whole;
	const char **comms;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), b = actor(&p, "sleep", 0, 70), x = actor(&p, "x", 0, 70);
	runs(&p, a, 10), waits(&p, a, 30, WW_CA_FUTEX, WW_WK_THREAD, b, WW_NONE);
	runs(&p, a, 40), waits(&p, a, 60, WW_CA_FUTEX, WW_WK_THREAD, b, WW_NONE), runs(&p, a, 70);
	runs(&p, b, 12), is_in(&p, b, 20, WW_ST_PREEMPTED, x), runs(&p, b, 70);
	renamed(&p, b, 35, "sh"), renamed(&p, x, 50, "ld"), renamed(&p, b, 65, "perl");
	play_end(&p);
	q.tid = p.f.thread.tid[a];
	is_i64(ww_report_make(&p.mem, &p.f, &q, &full, &r, NULL), 0, "a report");
	is_str(link_detail(&p.mem, &p.f, &r.main.waits[0]), "released by sh (101)", "by the name that it had at the end of the first wait");
	is_str(link_detail(&p.mem, &p.f, &r.main.waits[1]), "released by perl (101)", "and of the second");
	bool sh = false, perl = false, ld = false;
	for (uint32_t i = 0; i < r.main.nrows; i++) {
		sh |= r.main.rows[i].ns == 20 && strstr(r.main.rows[i].detail, "sh (101)");
		perl |= r.main.rows[i].ns == 20 && strstr(r.main.rows[i].detail, "perl (101)");
	}
	ok(sh && perl, "rows of their own");
	is_str(link_detail(&p.mem, &p.f, &r.main.waits[0].chain[1]), "by ld (102)", "who had the CPU too");
	sh = perl = false;
	for (uint32_t i = 0; i < r.main.nblame; i++) {
		const struct ww_blame_row *l = &r.main.blame[i];
		sh |= l->ns == 12 && !strcmp(ww_blame_who(&p.mem, &p.f, l), "sh (101)");
		perl |= l->ns == 20 && !strcmp(ww_blame_who(&p.mem, &p.f, l), "perl (101)");
		ld |= l->ns == 8 && !strcmp(l->detail, "by ld");
	}
	ok(sh && perl && ld, "and what the waits come down to");
	is_i64(ww_name_comms(&p.mem, &p.f, b, 0, 70, &comms), 3, "three names");
	ok(!strcmp(comms[0], "sh") && !strcmp(comms[1], "perl") && !strcmp(comms[2], "sleep"), "in their order");
	is_i64(ww_name_comms(&p.mem, &p.f, b, 36, 60, &comms), 1, "one in between");
	is_str(comms[0], "perl", "perl");
	play_release(&p);
}

/* Disk in two files, 15 + 11, less each than the 40 of running, and the pipe's 12: the disk is one finding and the first. */
static void causes_are_one_finding(void)
{
	struct play p;
	struct ww_report r;
	struct ww_query q = whole;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 78), b = actor(&p, "b", 0, 78);
	struct ww_device dev = {.dev = 8 << 20, .name = str(&p.f, "vda")};
	ww_device_push(&p.f, &dev);
	struct ww_file f1 = {.kind = WW_FK_REG, .name = str(&p.f, "/one"), .peer = WW_NONE};
	struct ww_file f2 = {.kind = WW_FK_REG, .name = str(&p.f, "/two"), .peer = WW_NONE};
	uint32_t one = request(&p, a, 10, 25), two = request(&p, a, 35, 46);
	p.f.block_io.file[one] = ww_file_push(&p.f, &f1);
	p.f.block_io.file[two] = ww_file_push(&p.f, &f2);
	runs(&p, a, 10), waits(&p, a, 25, WW_CA_DISK, WW_WK_BLOCK, a, one);
	runs(&p, a, 35), waits(&p, a, 46, WW_CA_DISK, WW_WK_BLOCK, a, two);
	runs(&p, a, 56), waits(&p, a, 68, WW_CA_PIPE, WW_WK_THREAD, b, WW_NONE), runs(&p, a, 78);
	runs(&p, b, 78);
	play_end(&p);
	q.tid = p.f.thread.tid[a];
	is_i64(ww_report_make(&p.mem, &p.f, &q, &full, &r, NULL), 0, "a report");
	is_i64(r.nfindings, 3, "three findings");
	is_i64(r.findings[0].ns, 26, "the disk's is of both files");
	is_str(r.findings[0].text, "33 % of the wall time (26 ns) went to 2 waits for the disk: 19 % (/one on vda), 14 % (/two on vda).",
	       "and first, before more running");
	ok(strstr(r.findings[1].text, "running, not waiting") && r.findings[1].ns == 40, "then the running: %s", r.findings[1].text);
	ok(strstr(r.findings[2].text, "(pipe)"), "before a wait of less than half of it");
	play_release(&p);
}

/* pthread_join: the joined thread's exit wakes. */
static void a_join_is_no_lock(void)
{
	struct play p;
	struct ww_report r;
	struct ww_query q = whole;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 70), b = actor(&p, "b", 0, 70);
	runs(&p, a, 10), waits_on(&p, a, 50, WW_CA_FUTEX, WW_WK_THREAD, b, WW_NONE, 0x1000), runs(&p, a, 70);
	p.f.wakeup.syscall[0] = add_syscall(&p.f, b, "exit", 45, 70, -1, WW_NONE);
	runs(&p, b, 70);
	play_end(&p);
	q.tid = p.f.thread.tid[a];
	is_i64(ww_report_make(&p.mem, &p.f, &q, &full, &r, NULL), 0, "a report");
	is_str(link_detail(&p.mem, &p.f, &r.main.waits[0]), "the end of thread b (101)", "a join waits for a thread's end");
	ok(strstr(r.findings[0].text, "went to 1 wait for the end of thread b (101)") != NULL, "says the finding: %s", r.findings[0].text);
	play_release(&p);
}

/* So many states that they are summed in parts: the rows are those that one thread makes, in its order. */
static void parts_add_up(void)
{
	const int64_t n = 300001;
	struct ww_thread_report one, many;
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 10 * n), b = actor(&p, "b", 0, 10 * n);
	for (int64_t i = 0; i < n; i++)
		if (i % 1000 == 999)
			p.at[a] += 10; /* no state covers this */
		else
			is_in(&p, a, 10 * i + 10, (enum ww_thread_state)(i % 7 * (i % 3) % WW_ST_N), i % 5 ? WW_NONE : b);
	play_end(&p);
	setenv("WHYWAIT_THREADS", "1", 1);
	ww_breakdown_make(&p.mem, &p.f, a, 5, 10 * n - 5, &one);
	unsetenv("WHYWAIT_THREADS");
	ww_breakdown_make(&p.mem, &p.f, a, 5, 10 * n - 5, &many);
	check_breakdown(&one);
	check_breakdown(&many);
	unsigned same = 0;
	for (uint32_t i = 0; i < one.nrows && i < many.nrows; i++) {
		const struct ww_breakdown_row *x = &one.rows[i], *y = &many.rows[i];

		same += x->state == y->state && x->cause == y->cause && x->ns == y->ns && x->max_ns == y->max_ns &&
			x->uncertain_ns == y->uncertain_ns && x->count == y->count && !strcmp(x->detail, y->detail);
	}
	ok(one.nrows > 5 && one.nrows == many.nrows && same == one.nrows, "%u rows are the same in parts", one.nrows);
	ok(!memcmp(one.by_state_ns, many.by_state_ns, sizeof(one.by_state_ns)), "and the sums by state");
	play_release(&p);
}

int main(void)
{
	parts_add_up();
	a_join_is_no_lock();
	causes_are_one_finding();
	names_of_their_time();
	a_key_ends_a_sleep(true);
	a_key_ends_a_sleep(false);
	ready_kinds_stay_apart();
	one_answer_about_whom();
	behind_whom_in_which_queue();
	report_of_reader();
	ranges_and_choices();
	cycles_end();
	random_facts_hold();
	return done_testing();
}
