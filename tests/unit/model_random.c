/* model_random.c - events that make no sense must not break the model: whatever comes, in whatever
 * order, with losses anywhere, a thread's states stay contiguous and a CPU runs one thread at a time. */
#include "../tap.h"
#include "fake_trace.h"
#include "model/model.h"

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* %t a tid, %n a small number, %b prev_state, %x anything at all */
static const struct {
	const char *name, *fields;
} kinds[] = {
	{"sched_switch", "prev_tid=%t next_tid=%t prev_state=%b next_prio=%n next_comm='a' prev_comm='b'"},
	{"sched_waking", "tid=%t target_cpu=%n"},
	{"sched_wakeup", "tid=%t target_cpu=%n"},
	{"sched_wakeup_new", "tid=%t target_cpu=%x"},
	{"sched_migrate_task", "tid=%t dest_cpu=%x"},
	{"sched_process_fork", "parent_tid=%t child_tid=%t child_pid=%t vtids=[%t,%t]"},
	{"sched_process_exec", "filename='/bin/x' tid=%t old_tid=%t"},
	{"sched_process_exit", "tid=%t"},
	{"irq_handler_entry", "irq=%n name='i'"},
	{"irq_handler_exit", "irq=%n"},
	{"irq_softirq_entry", "vec=%n"},
	{"irq_softirq_exit", "vec=%n"},
	{"irq_softirq_raise", "vec=3 common_flags=%n"},
	{"syscall_entry_sendto", "fd=%n"},
	{"timer_hrtimer_start", "hrtimer=%n expires=%x"},
	{"timer_hrtimer_expire_entry", "hrtimer=%n"},
	{"timer_hrtimer_expire_exit", "hrtimer=%n"},
	{"timer_hrtimer_cancel", "hrtimer=%n"},
	{"block_rq_insert", "dev=%n sector=%n nr_sector=%x rwbs=%x"},
	{"block_rq_issue", "dev=%n sector=%n nr_sector=%n bytes=%x rwbs='WS'"},
	{"block_rq_complete", "dev=%n sector=%n nr_sector=%n rwbs=%x"},
	{"net_dev_queue", "skbaddr=%n len=%x network_header.ipv4.protocol=6 network_header.ipv4.saddr=#7f00"},
	{"net_if_receive_skb", "skbaddr=%n len=%n network_header.ipv4.protocol=%n"},
	{"whywait_function", "address=%n name='f'"},
	{"workqueue_queue_work", "work=%n function=%n"},
	{"workqueue_execute_start", "work=%n"},
	{"workqueue_execute_end", "work=%n"},
	{"syscall_entry_read", "fd=%x count=%n"},
	{"syscall_exit_read", "ret=%x"},
	{"syscall_entry_poll", "nfds=%n"},
	{"syscall_exit_poll", "ret=%n fds=<fd=%n,raw_events=1>"},
	{"syscall_entry_mmap", "fd=%n addr=%x len=%x offset=%x"},
	{"syscall_exit_mmap", "ret=%x"},
	{"syscall_exit_pipe2", "ret=0 fildes=[%n,%n]"},
	{"syscall_entry_close", "fd=%n"},
	{"syscall_exit_close", "ret=%n"},
	{"syscall_entry_unknown", "id=%x args=[%x,%x,%x]"},
	{"syscall_exit_unknown", "id=%x ret=%x"},
	{"signal_generate", "sig=%n pid=%t"},
	{"x86_exceptions_page_fault_user", "address=%x error_code=%n"},
	{"whywait_fault_end", "tid=%t major=%n dev=%n ino=%n offset=%x"},
	{"whywait_page_in", "dev=%n ino=%n offset=%x bytes=%x"},
	{"whywait_block", "tid=%t nr=%n abi=%x flags=%n fd_kind=%x dev=%n ino=%n arg0=%x"},
	{"whywait_fd", "pid=%t fd=%x kind=%x dev=%n ino=%n"},
	{"whywait_file", "kind=%x dev=%n ino=%n name='f'"},
	{"whywait_sock", "ino=%n family=%n proto=6 sport=%n dport=%n saddr=#00 daddr=#00 peer_ino=%n"},
	{"whywait_ready", "tid=%t fd=%x data=%n"},
	{"whywait_target", "tid=%t pid=%t begin=%n status=%x"},
	{"whywait_throttle", "tid=%t on=%n"},
	{"whywait_stolen", "ns=%n"},
	{"whywait_uring", "op=%n req=%n"},
	{"whywait_timer_task", "timer=%n tid=%t"},
	{"lttng_statedump_process_state", "tid=%t pid=%t ppid=%x name='n' type=%n status=5"},
	{"lttng_statedump_file_descriptor", "pid=%t fd=%x filename='socket:[3]'"},
};

static void random_event(struct fake *k, int64_t ts)
{
	static const int64_t odd[] = {-1, 0, 1, 70000, INT32_MAX, INT64_MAX, INT64_MIN, 4194305};
	static const int states[] = {0, 1, 2, 4, 8, 16, 32, 128, 256, 1024};
	uint32_t i = rnd(WW_ARRAY_SIZE(kinds));
	char text[400];
	size_t n = 0;

	if (rnd(3) == 0)
		i = rnd(4); /* mostly the scheduler */
	for (const char *s = kinds[i].fields; *s && n < sizeof(text) - 32; s++) {
		if (*s != '%') {
			text[n++] = *s;
			continue;
		}
		int64_t v = *++s == 't' ? rnd(8) : *s == 'n' ? rnd(4) : *s == 'b' ? states[rnd(10)] : odd[rnd(8)];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%" PRId64, v);
	}
	text[n] = 0;
	fake_event(k, ts, (int32_t)rnd(3) - (rnd(200) == 0), kinds[i].name, text);
}

static uint32_t broken(const struct ww_facts *f)
{
	uint32_t bad = 0;

	for (uint32_t t = 0; t < f->thread.n; t++) {
		int64_t at = f->thread.start_ts_ns[t];

		if (f->thread.flags[t] & WW_TF_IDLE)
			continue;
		for (uint32_t r = f->state_first[t]; r < f->state_first[t + 1]; r++) {
			bool off = f->state.start_ts_ns[r] != at || f->state.dur_ns[r] <= 0;
			if (off && !bad)
				printf("# tid %d: state %" PRId64 "+%" PRId64 ", expected at %" PRId64 "\n",
				       f->thread.tid[t], f->state.start_ts_ns[r], f->state.dur_ns[r], at);
			bad += off;
			at += f->state.dur_ns[r];
		}
		if (at != f->thread.end_ts_ns[t] && !bad)
			printf("# tid %d: states of %" PRId64 " end at %" PRId64 ", thread at %" PRId64 "\n",
			       f->thread.tid[t], f->thread.start_ts_ns[t], at, f->thread.end_ts_ns[t]);
		bad += at != f->thread.end_ts_ns[t];
	}
	ww_facts_index(f);
	for (uint32_t c = 0; c < f->host.ncpus; c++)
		for (uint32_t i = f->run_first[c] + 1; i < f->run_first[c + 1]; i++) {
			uint32_t a = f->run_of_cpu[i - 1], b = f->run_of_cpu[i];

			bool over = f->run.start_ts_ns[a] + f->run.dur_ns[a] > f->run.start_ts_ns[b];
			if (over && !bad)
				printf("# cpu %u: runs overlap at %" PRId64 "\n", c, f->run.start_ts_ns[b]);
			bad += over;
		}
	return bad;
}

int main(void)
{
	const char *env = getenv("WW_SEED");
	uint64_t first = env ? strtoull(env, NULL, 0) : 1;

	for (uint64_t s = first; s < first + 60; s++) {
		struct fake *k = fake_new(s & 1 ? "lttng" : "whywait");
		struct ww_facts f;
		struct ww_err err = {0};
		int64_t ts = 1000;

		seed = s * 0x9e3779b97f4a7c15u;
		fake_event(k, ts, 0, "sched_switch", "prev_tid=0 next_tid=1 prev_state=0");
		for (int i = 0; i < 1500; i++) {
			ts += rnd(50);
			if (rnd(300) == 0) {
				int64_t end = ts + rnd(2000);

				fake_gap(k, ts, end, (int32_t)rnd(4) - 1, rnd(9));
				ts = end;
			} else {
				random_event(k, ts);
			}
		}
		ww_facts_init(&f);
		int r = ww_model_run(fake_open(k), NULL, &f, &err);
		uint32_t bad = r ? 1 : broken(&f);
		ok(!r && !bad, "seed %" PRIu64 ": %u states of %u threads, %u broken", s, f.state.n, f.thread.n, bad);
		ww_facts_release(&f);
		fake_free(k);
	}
	return done_testing();
}
