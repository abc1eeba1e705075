/* model_loopback.c - who woke whom where a packet did and the trace has no packets: 20 sends to 10, and each
 * thing that takes the proof away, one at a time.
 *
 *   CPU 1   10 in recvfrom (tcp), sleeps          130 ...................... 270 runs
 *   CPU 0   idle 150 | 200: 20 in sendto: 220 raise, 230 NET_RX { 240 wakes 10 } 250 | 260 back | 290 idle
 */
#include "fake_model.h"

#define SW(prev, next, st) "prev_tid=" #prev " next_tid=" #next " prev_state=" #st " next_prio=20"

struct row {
	int64_t ts;
	int32_t cpu;
	const char *event, *fields;
};

static const struct row base[] = {
	{1, 0, "irq_handler_entry", "irq=9 name='acpi'"}, /* the producer records interrupts */
	{2, 0, "irq_handler_exit", "irq=9"},
	{3, 0, "irq_softirq_entry", "vec=7"},
	{4, 0, "irq_softirq_exit", "vec=7"},
	{5, 0, "timer_hrtimer_expire_entry", "hrtimer=0x77 now=5 function=1"},
	{6, 0, "timer_hrtimer_expire_exit", "hrtimer=0x77"},
	{7, 0, "syscall_entry_unknown", "id=999"}, /* and all calls */
	{10, 0, "lttng_statedump_process_state", "tid=10 pid=10 ppid=1 name='client' type=0 status=5"},
	{100, 1, "sched_switch", SW(0, 10, 0)},
	{110, 1, "syscall_entry_socket", "family=2 type=1 protocol=0"},
	{115, 1, "syscall_exit_socket", "ret=3"},
	{120, 1, "syscall_entry_recvfrom", "fd=3"},
	{130, 1, "sched_switch", SW(10, 0, 1)},
	{140, 0, "sched_switch", SW(0, 30, 0)},
	{150, 0, "sched_switch", SW(30, 0, 1)},
	{200, 0, "sched_switch", SW(0, 20, 0)},
	{210, 0, "syscall_entry_sendto", "fd=4"},
	{220, 0, "irq_softirq_raise", "vec=3"},
	{230, 0, "irq_softirq_entry", "vec=3"},
	{240, 0, "sched_waking", "tid=10 target_cpu=1"},
	{250, 0, "irq_softirq_exit", "vec=3"},
	{260, 0, "syscall_exit_sendto", "ret=9"},
	{270, 1, "sched_switch", SW(0, 10, 0)},
	{280, 1, "syscall_exit_recvfrom", "ret=9"},
	{290, 0, "sched_switch", SW(20, 0, 1)},
};

#define YES "blocked/tcp/thread/20"
#define NO  "blocked/tcp/softirq/-1"

static const struct variant {
	const char *what, *want;
	struct row more[8];
	int64_t less[6]; /* rows of base with these stamps are not there */
	const char *without[2];
	int64_t lost_at; /* events of CPU 0 were lost until then; 0 none */
} variants[] = {
	{"what it sent in its call woke the other", YES, {{0}}, {0}, {NULL}},
	{"several raises, all in this call", YES, {{215, 0, "irq_softirq_raise", "vec=3"}}, {0}, {NULL}},
	{"other softirqs may be raised by anybody", YES, {{225, 0, "irq_handler_entry", "irq=9"},
		{226, 0, "irq_softirq_raise", "vec=9"}, {227, 0, "irq_handler_exit", "irq=9"}}, {0}, {NULL}},
	{"what an interrupt raised before was worked off before", YES, {{201, 0, "irq_handler_entry", "irq=9"},
		{202, 0, "irq_softirq_raise", "vec=3"}, {203, 0, "irq_handler_exit", "irq=9"},
		{204, 0, "irq_softirq_entry", "vec=3"}, {205, 0, "irq_softirq_exit", "vec=3"}}, {0}, {NULL}},
	{"an interrupt raised it too, before", NO, {{201, 0, "irq_handler_entry", "irq=9"},
		{202, 0, "irq_softirq_raise", "vec=3"}, {203, 0, "irq_handler_exit", "irq=9"}}, {0}, {NULL}},
	{"an interrupt raised it too, after", NO, {{225, 0, "irq_handler_entry", "irq=9"},
		{226, 0, "irq_softirq_raise", "vec=3"}, {227, 0, "irq_handler_exit", "irq=9"}}, {0}, {NULL}},
	{"an interrupt alone raised it", NO, {{225, 0, "irq_handler_entry", "irq=9"},
		{226, 0, "irq_softirq_raise", "vec=3"}, {227, 0, "irq_handler_exit", "irq=9"}}, {220}, {NULL}},
	{"NET_RX left something over", NO, {{201, 0, "irq_softirq_entry", "vec=3"},
		{202, 0, "irq_softirq_raise", "vec=3"}, {203, 0, "irq_softirq_exit", "vec=3"}}, {0}, {NULL}},
	{"an interrupt on top of NET_RX may have added to it", NO, {{235, 0, "irq_handler_entry", "irq=9"},
		{236, 0, "irq_handler_exit", "irq=9"}}, {0}, {NULL}},
	{"the wakeup is in an interrupt on top of NET_RX", "blocked/tcp/irq/-1", {{235, 0, "irq_handler_entry", "irq=9"},
		{245, 0, "irq_handler_exit", "irq=9"}}, {0}, {NULL}},
	{"raised in an earlier call too", NO, {{201, 0, "syscall_entry_write", "fd=4"},
		{202, 0, "irq_softirq_raise", "vec=3"}, {203, 0, "syscall_exit_write", "ret=1"}}, {0}, {NULL}},
	{"raised in no call", NO, {{201, 0, "irq_softirq_raise", "vec=3"}}, {220}, {NULL}},
	{"raised by a thread before it", NO, {{201, 0, "sched_switch", SW(20, 30, 0)},
		{202, 0, "syscall_entry_write", "fd=4"}, {203, 0, "irq_softirq_raise", "vec=3"},
		{204, 0, "sched_switch", SW(30, 20, 0)}}, {0}, {NULL}},
	{"raised by a thread before it, and not by it", NO, {{201, 0, "sched_switch", SW(20, 30, 0)},
		{202, 0, "syscall_entry_write", "fd=4"}, {203, 0, "irq_softirq_raise", "vec=3"},
		{204, 0, "sched_switch", SW(30, 20, 0)}}, {220}, {NULL}},
	{"it had not the CPU all the time from the raise", NO, {{225, 0, "sched_switch", SW(20, 30, 0)},
		{226, 0, "sched_switch", SW(30, 20, 0)}}, {0}, {NULL}},
	{"ksoftirqd does it", NO, {{225, 0, "sched_switch", SW(20, 30, 0)}}, {260, 290}, {NULL}},
	{"nobody was seen raising it", NO, {{0}}, {220}, {NULL}},
	{"raises are not recorded", NO, {{0}}, {0}, {"irq_softirq_raise"}},
	{"another CPU's raise", NO, {{219, 1, "irq_softirq_raise", "vec=3"}}, {220}, {NULL}},
	{"a call that does not send may raise it for a device", NO, {{211, 0, "syscall_entry_recvfrom", "fd=4"},
		{261, 0, "syscall_exit_recvfrom", "ret=9"}}, {210, 260}, {NULL}},
	{"the call's begin was not seen", NO, {{0}}, {210}, {NULL}},
	{"the CPU was not seen idle, nor NET_RX on it", NO, {{0}}, {140, 150}, {NULL}},
	{"but NET_RX cleared what there was", YES, {{201, 0, "irq_softirq_entry", "vec=3"},
		{203, 0, "irq_softirq_exit", "vec=3"}}, {140, 150}, {NULL}},
	{"who is woken wanted to send", NO, {{121, 1, "syscall_entry_sendto", "fd=3"},
		{281, 1, "syscall_exit_sendto", "ret=1"}}, {120, 280}, {NULL}},
	{"who is woken waits for no descriptor", "blocked/timer/softirq/-1", {{121, 1, "syscall_entry_nanosleep", "rqtp=1"},
		{281, 1, "syscall_exit_nanosleep", "ret=0"}}, {120, 280}, {NULL}},
	{"a packet was recorded, so this one is missing", NO, {{8, 0, "net_if_receive_skb",
		"skbaddr=0x55 len=60 network_header.ipv4.protocol=6"}}, {0}, {NULL}},
	{"only put on the run queue there", NO, {{241, 0, "sched_wakeup", "tid=10 target_cpu=0"}}, {0}, {"sched_waking"}},
	{"sent to another CPU's run queue", YES, {{241, 0, "sched_wakeup", "tid=10 target_cpu=1"}}, {0}, {"sched_waking"}},
	{"interrupts are not recorded", NO, {{0}}, {0}, {"irq_handler_entry"}},
	{"timers are not recorded, nor does the event tell its context", NO, {{0}}, {0}, {"timer_hrtimer_expire_entry"}},
	{"the events tell their context", YES, {{221, 0, "irq_softirq_raise", "vec=3 common_flags=0"},
		{242, 0, "sched_waking", "tid=10 target_cpu=1 common_flags=0x10"}}, {220, 240}, {"timer_hrtimer_expire_entry"}},
	{"the events tell their context, but an interrupt on top of NET_RX would not be seen", NO, {
		{221, 0, "irq_softirq_raise", "vec=3 common_flags=0"},
		{242, 0, "sched_waking", "tid=10 target_cpu=1 common_flags=0x10"}}, {220, 240}, {"irq_handler_entry"}},
	{"only the raise tells its context", NO, {{221, 0, "irq_softirq_raise", "vec=3 common_flags=0"}}, {220},
		{"timer_hrtimer_expire_entry"}},
	{"a call of which only the state dump told", NO, {{8, 0, "lttng_statedump_process_state",
		"tid=20 pid=20 ppid=1 name='server' type=0 status=5"}, {9, 0, "whywait_block",
		"tid=20 nr=44 abi=0 flags=16 fd_kind=0 dev=0 ino=0 arg0=4"},
		{141, 0, "sched_waking", "tid=20 target_cpu=0"}}, {210}, {NULL}},
	{"raised in an interrupt that is not recorded", NO, {{221, 0, "irq_softirq_raise", "vec=3 common_flags=8"},
		{242, 0, "sched_waking", "tid=10 target_cpu=1 common_flags=0x10"}}, {220, 240}, {"timer_hrtimer_expire_entry"}},
	{"woken in an interrupt that is not recorded", NO, {{221, 0, "irq_softirq_raise", "vec=3 common_flags=0"},
		{242, 0, "sched_waking", "tid=10 target_cpu=1 common_flags=0x18"}}, {220, 240}, {"timer_hrtimer_expire_entry"}},
	{"the sender's disk is not what the other waits for", "blocked/unknown/thread/20", {
		{205, 0, "block_rq_issue", "dev=8 sector=1 nr_sector=8 bytes=4096 rwbs=1"}, {206, 0, "sched_switch", SW(20, 0, 2)},
		{207, 0, "block_rq_complete", "dev=8 sector=1 nr_sector=8 rwbs=1"}, {207, 0, "sched_waking", "tid=20 target_cpu=0"},
		{208, 0, "sched_switch", SW(0, 20, 0)}}, {110, 115}, {NULL}},
	{"the packet is recorded without headers, for a poll: what the sender writes to tells", "blocked/tcp/packet/20", {
		{11, 0, "lttng_statedump_process_state", "tid=20 pid=20 ppid=1 name='server' type=0 status=5"},
		{121, 1, "syscall_entry_poll", "nfds=1"}, {201, 0, "syscall_entry_socket", "family=2 type=1 protocol=0"},
		{202, 0, "syscall_exit_socket", "ret=4"}, {212, 0, "net_dev_queue", "skbaddr=0x55 len=60"},
		{235, 0, "net_if_receive_skb", "skbaddr=0x55 len=60"}, {281, 1, "syscall_exit_poll", "ret=1"}}, {120, 280}, {NULL}},
	{"events were lost, then the CPU was idle", YES, {{0}}, {0}, {NULL}, 145},
	{"events were lost since the CPU was idle", NO, {{206, 0, "sched_switch", SW(30, 20, 0)}}, {0}, {NULL}, 205},
	{"the same, and then NET_RX cleared what there was", YES, {{206, 0, "sched_switch", SW(30, 20, 0)},
		{207, 0, "irq_softirq_entry", "vec=3"}, {208, 0, "irq_softirq_exit", "vec=3"}}, {0}, {NULL}, 205},
	{"events were lost between raise and NET_RX", NO, {{0}}, {0}, {NULL}, 225},
	{"events were lost within NET_RX", "blocked/tcp/unknown/-1", {{0}}, {0}, {NULL}, 235},
};

static bool left_out(const struct variant *v, int64_t ts)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(v->less); i++)
		if (v->less[i] == ts)
			return true;
	return false;
}

static void lay(struct fake *k, const struct variant *v)
{
	size_t a = 0, b = 0;
	bool lost = !v->lost_at;

	while (a < WW_ARRAY_SIZE(base) || v->more[b].event) {
		bool mine = v->more[b].event && (a == WW_ARRAY_SIZE(base) || v->more[b].ts < base[a].ts);
		const struct row *r = mine ? &v->more[b++] : &base[a++];

		if (!lost && r->ts > v->lost_at) {
			fake_gap(k, v->lost_at - 1, v->lost_at, 0, 3);
			lost = true;
		}
		if (mine || !left_out(v, r->ts))
			fake_event(k, r->ts, r->cpu, r->event, r->fields);
	}
}

/* The wait of 10 as "state/cause/waker-kind/waker-tid". */
static const char *wait_of_10(const struct ww_facts *f)
{
	static char buf[96];
	uint32_t t = ww_facts_thread_find(f, 10, 200);

	for (uint32_t r = t == WW_NONE ? 0 : f->state_first[t]; t != WW_NONE && r < f->state_first[t + 1]; r++) {
		uint32_t w = ww_state_wakeup(f, r);
		if (f->state.state[r] != WW_ST_BLOCKED || f->state.start_ts_ns[r] < 120)
			continue;
		uint32_t waker = w == WW_NONE ? WW_NONE : f->wakeup.waker[w];
		snprintf(buf, sizeof(buf), "blocked/%s/%s/%d", ww_cause_name(f->state.cause[r]),
			 w == WW_NONE ? "-" : ww_waker_name(f->wakeup.kind[w]),
			 waker == WW_NONE ? -1 : f->thread.tid[waker]);
		return buf;
	}
	return "none";
}

static void ask(struct fake *k, const struct variant *v)
{
	const char *const without[] = {v->without[0], v->without[1], NULL};
	struct ww_facts f;

	fake_model(k, without, &f);
	is_str(wait_of_10(&f), v->want, v->what);
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(variants); i++) {
		struct fake *k = fake_new("lttng");

		lay(k, &variants[i]);
		ask(k, &variants[i]);
	}
	return done_testing();
}
