/* model_truth.c - the facts of a real LTTng trace against what the workload itself wrote down, and
 * against babeltrace2's sched_switch events. */
#include <stdio.h>
#include <unistd.h>

#include "../tap.h"
#include "base/u64map.h"
#include "model/model.h"

struct phase {
	char name[32], role[32], note[160];
	int tid;
	int64_t start, end;
};

static struct ww_facts f;

static const char *traces_dir(void)
{
	static char path[512];
	const char *env = getenv("WW_TRACES"), *src = getenv("WW_SRC");

	if (env)
		return env;
	snprintf(path, sizeof(path), "%s/../shared/traces", src ? src : ".");
	return path;
}

/* The number that follows `word` in the note; -1 none. */
static int note_number(const char *note, const char *word)
{
	const char *p = strstr(note, word);

	return p ? atoi(p + strlen(word)) : -1;
}

struct sums {
	int64_t blocked, right_cause, right_thread, running;
	uint32_t last_waker; /* of the last blocked row */
};

/* Of the thread's blocked time in the phase: how much has this cause, how much this waker (-1 any). */
static struct sums look(const struct phase *p, enum ww_cause cause, int waker)
{
	struct sums s = {.last_waker = WW_NONE};
	uint32_t first, n, t = ww_facts_thread_find(&f, p->tid, p->start);

	ww_facts_states(&f, t, p->start, p->end, &first, &n);
	for (uint32_t r = first; r < first + n; r++) {
		int64_t a = WW_MAX(f.state.start_ts_ns[r], p->start);
		int64_t b = WW_MIN(f.state.start_ts_ns[r] + f.state.dur_ns[r], p->end);
		uint32_t w = ww_state_wakeup(&f, r), who = w == WW_NONE ? WW_NONE : f.wakeup.waker[w];

		if (f.state.state[r] == WW_ST_RUNNING_USER || f.state.state[r] == WW_ST_RUNNING_KERNEL)
			s.running += b - a;
		if (f.state.state[r] != WW_ST_BLOCKED)
			continue;
		s.blocked += b - a;
		s.last_waker = who;
		if (f.state.cause[r] == cause)
			s.right_cause += b - a;
		if (waker < 0 || (who != WW_NONE && f.thread.tid[who] == waker))
			s.right_thread += b - a;
	}
	return s;
}

static void check(const struct phase *p, enum ww_cause cause, int waker)
{
	struct sums s = look(p, cause, waker);

	ok(s.blocked > 0 && s.right_cause * 100 >= s.blocked * 98, "%s %s %d: %.3f of %.3f ms are %s", p->name,
	   p->role, p->tid, s.right_cause / 1e6, s.blocked / 1e6, ww_cause_name(cause));
	if (waker >= 0)
		ok(s.right_thread * 100 >= s.blocked * 98, "%s %s %d: %.3f of %.3f ms because of %d", p->name,
		   p->role, p->tid, s.right_thread / 1e6, s.blocked / 1e6, waker);
}

static void check_lock(const struct phase *p)
{
	int holder = note_number(p->note, "last holder was ");
	struct sums s = look(p, WW_CA_FUTEX, holder);

	if (s.blocked < 100000) /* nobody waited: the lock was free or nearly so */
		return;
	ok(s.right_cause * 100 >= s.blocked * 98, "%s %d waited for the futex", p->role, p->tid);
	ok(s.last_waker != WW_NONE && f.thread.tid[s.last_waker] == holder, "%s %d got it from %d", p->role, p->tid,
	   holder);
}

/* Two spinners on one CPU: while one does not run it is preempted, by the other for the most part. */
static void check_spin(const struct phase *p, const struct phase *other)
{
	uint32_t first, n, t = ww_facts_thread_find(&f, p->tid, p->start);
	int64_t by_other = 0, off = 0, from = WW_MAX(p->start, other->start), to = WW_MIN(p->end, other->end);

	ww_facts_states(&f, t, from, to, &first, &n);
	for (uint32_t r = first; r < first + n; r++) {
		uint32_t o = ww_state_other(&f, r);

		if (f.state.state[r] != WW_ST_PREEMPTED)
			continue;
		off += f.state.dur_ns[r];
		if (o != WW_NONE && f.thread.tid[o] == other->tid)
			by_other += f.state.dur_ns[r];
	}
	ok(off > 20000000 && by_other * 10 >= off * 9, "%s %d: preempted %.1f ms, %.1f of it by %d", p->role, p->tid,
	   off / 1e6, by_other / 1e6, other->tid);
}

static void check_phase(const struct phase *p, const struct phase *all, int n)
{
	if (!strcmp(p->role, "main") && strcmp(p->name, "futex"))
		check(p, WW_CA_CHILD, note_number(p->note, "leader "));
	else if (!strcmp(p->role, "sleeper"))
		check(p, WW_CA_TIMER, p->tid);
	else if (!strcmp(p->role, "parent"))
		check(p, WW_CA_CHILD, note_number(p->note, "child "));
	else if (!strcmp(p->role, "consumer"))
		check(p, WW_CA_PIPE, note_number(p->note, "producer "));
	else if (!strcmp(p->role, "writer"))
		check(p, WW_CA_DISK, -1);
	else if (!strcmp(p->role, "client") && !strcmp(p->name, "poll"))
		check(p, WW_CA_UNIX, note_number(p->note, "server "));
	else if (!strcmp(p->role, "client"))
		check(p, WW_CA_TCP, note_number(p->note, "server "));
	else if (!strncmp(p->role, "wl-lock", 7))
		check_lock(p);
	else if (!strcmp(p->role, "faulter"))
		check(p, WW_CA_FAULT, -1);
	for (int i = 0; i < n; i++)
		if (!strcmp(p->name, "preempt") && !strncmp(p->role, "spin", 4) && !strcmp(all[i].name, "preempt") &&
		    !strncmp(all[i].role, "spin", 4) && all[i].tid != p->tid)
			check_spin(p, &all[i]);
}

static int read_truth(const char *path, struct phase *p, int max)
{
	FILE *in = fopen(path, "r");
	char line[512];
	int n = 0;

	while (in && n < max && fgets(line, sizeof(line), in))
		if (line[0] != '#' &&
		    sscanf(line, "%31[^\t]\t%31[^\t]\t%d\t%" SCNd64 "\t%" SCNd64 "\t%*d\t%*d\t%159[^\n]", p[n].name,
			   p[n].role, &p[n].tid, &p[n].start, &p[n].end, p[n].note) == 6)
			n++;
	if (in)
		fclose(in);
	return n;
}

static void check_contiguous(void)
{
	uint32_t bad = 0;

	for (uint32_t t = 0; t < f.thread.n; t++) {
		int64_t at = f.thread.start_ts_ns[t];

		if (f.thread.flags[t] & WW_TF_IDLE)
			continue;
		for (uint32_t r = f.state_first[t]; r < f.state_first[t + 1]; r++) {
			bad += f.state.start_ts_ns[r] != at || f.state.dur_ns[r] <= 0;
			at += f.state.dur_ns[r];
		}
		bad += at != f.thread.end_ts_ns[t];
	}
	is_i64(bad, 0, "every thread's states are contiguous and sum to its life");
}

/* Per thread: ns on a CPU between the switch to it and the switch from it, as babeltrace2 prints. */
static bool babeltrace_runs(const char *trace, struct ww_u64map *sum)
{
	char cmd[800], line[1024];
	int64_t since[64];
	uint64_t on[64];

	snprintf(cmd, sizeof(cmd), "babeltrace2 --clock-seconds --no-delta '%s' 2>/dev/null", trace);
	memset(since, -1, sizeof(since));
	FILE *in = popen(cmd, "r");
	uint64_t lines = 0;
	while (in && fgets(line, sizeof(line), in)) {
		const char *sw = strstr(line, " sched_switch: "), *cpu = strstr(line, "cpu_id = ");
		const char *prev = strstr(line, "prev_tid = "), *next = strstr(line, "next_tid = ");
		int64_t s, ns;

		lines++;
		if (!sw || !cpu || !prev || !next || sscanf(line, "[%" SCNd64 ".%" SCNd64 "]", &s, &ns) != 2)
			continue;
		unsigned c = (unsigned)atoi(cpu + 9) & 63;
		int64_t ts = s * 1000000000 + ns;
		if (since[c] >= 0 && on[c] == (uint64_t)atoi(prev + 11))
			*ww_u64map_get(sum, on[c], 0, NULL) += (uint64_t)(ts - since[c]);
		since[c] = ts;
		on[c] = (uint64_t)atoi(next + 11);
	}
	if (in)
		pclose(in);
	return lines > 0;
}

static void check_runs(const char *trace)
{
	struct ww_u64map want = {0}, got = {0};
	uint32_t bad = 0, n = 0;

	if (!babeltrace_runs(trace, &want)) {
		tap_skip(1, "no babeltrace2");
		return;
	}
	for (uint32_t i = 0; i < f.run.n; i++) /* the first and the last run of a CPU have no two switches */
		if (f.run.end_reason[i] != WW_RE_TRACE_END && f.run.start_ts_ns[i] > f.begin_ts_ns)
			*ww_u64map_get(&got, (uint64_t)f.thread.tid[f.run.thread[i]], 0, NULL) +=
				(uint64_t)f.run.dur_ns[i];
	for (size_t i = 0; i < want.cap; i++) {
		if (!want.slots[i].key)
			continue;
		uint64_t *v = ww_u64map_find(&got, want.slots[i].key);

		n++;
		if ((v ? *v : 0) != want.slots[i].value) {
			printf("# tid %" PRIu64 ": %" PRIu64 " of %" PRIu64 " ns\n", want.slots[i].key, v ? *v : 0,
			       want.slots[i].value);
			bad++;
		}
	}
	ok(n > 10 && !bad, "run time of %u threads is babeltrace2's to the ns", n);
	ww_u64map_release(&want);
	ww_u64map_release(&got);
}

static int load(const char *trace, const char *const *without)
{
	struct ww_trace *t = NULL;
	struct ww_err err = {0};
	struct ww_model_opts o = {.without = without};

	ww_facts_init(&f);
	int r = ww_trace_open(trace, NULL, &t, &err);
	if (!r)
		r = ww_model_run(t, &o, &f, &err);
	if (r)
		printf("# %s\n", err.message);
	ww_trace_close(t);
	return r;
}

/* Taking knowledge away may make a cause unknown, never another one. */
static void check_without(const char *trace, const char *const *without)
{
	struct ww_facts full = f;
	uint32_t wrong = 0, kept = 0;

	if (!ok(load(trace, without) == 0, "the model runs without %s", without[0]))
		return;
	for (uint32_t r = 0; r < f.state.n; r++) {
		uint32_t t = f.state.thread[r], first, n;
		int64_t mid = f.state.start_ts_ns[r] + f.state.dur_ns[r] / 2;

		if (f.state.state[r] != WW_ST_BLOCKED || f.state.cause[r] == WW_CA_UNKNOWN)
			continue;
		uint32_t u = ww_facts_thread_find(&full, f.thread.tid[t], mid);
		ww_facts_states(&full, u, mid, mid + 1, &first, &n);
		/* A wait that the disk ended is `disk` or, if it is known to be a page fault, `fault`. */
		bool finer = n && full.state.cause[first] == WW_CA_FAULT && f.state.cause[r] == WW_CA_DISK;
		if (n && !finer && full.state.state[first] == WW_ST_BLOCKED &&
		    full.state.cause[first] != f.state.cause[r]) {
			printf("# tid %d at %" PRId64 ": %s, was %s (%s)\n", f.thread.tid[t], mid,
			       ww_cause_name(f.state.cause[r]), ww_cause_name(full.state.cause[first]),
			       full.state.syscall[first] == WW_NONE ? "" : ww_facts_str(&full, full.syscall.name[full.state.syscall[first]]));
			wrong++;
		} else {
			kept++;
		}
	}
	ok(!wrong, "without %s no cause becomes another one (%u stay)", without[0], kept);
	ww_facts_release(&f);
	f = full;
}

int main(void)
{
	char trace[600], truth[600];
	struct phase p[128];

	snprintf(trace, sizeof(trace), "%s/single/trace", traces_dir());
	snprintf(truth, sizeof(truth), "%s/single/truth.txt", traces_dir());
	int n = read_truth(truth, p, 128);
	if (access(trace, R_OK) || n == 0) {
		tap_skip(1, "no shared traces (WW_TRACES)");
		return done_testing();
	}
	TAP_NEED(load(trace, NULL) == 0, "the facts of %s", trace);
	check_contiguous();
	for (int i = 0; i < n; i++)
		check_phase(&p[i], p, n);
	check_runs(trace);
	check_without(trace, (const char *const[]){"sched_waking", NULL});
	check_without(trace, (const char *const[]){"irq_handler_entry", "irq_softirq_entry", NULL});
	check_without(trace, (const char *const[]){"irq_handler_entry", "irq_softirq_entry",
						   "timer_hrtimer_expire_entry", "timer_expire_entry", NULL});
	check_without(trace, (const char *const[]){"block_rq_complete", NULL});
	check_without(trace, (const char *const[]){"net_if_receive_skb", NULL});
	check_without(trace, (const char *const[]){"syscall_entry", "syscall_exit", "sys_enter", "sys_exit", NULL});
	check_without(trace, (const char *const[]){"sys_enter", "sys_exit", "syscall_entry_clock_nanosleep",
						   "syscall_exit_clock_nanosleep", "syscall_entry_poll",
						   "syscall_exit_poll", NULL});
	check_without(trace, (const char *const[]){"lttng_statedump_file_descriptor", NULL});
	ww_facts_release(&f);
	return done_testing();
}
