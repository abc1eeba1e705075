/* model_scene.h - what the tests of the model's states on traces laid by hand have in common. */
#ifndef WW_MODEL_SCENE_H
#define WW_MODEL_SCENE_H

#include "fake_model.h"

#define SW(prev, next, st) "prev_tid=" #prev " next_tid=" #next " prev_state=" #st " next_prio=20"

/* The n-th state of the thread as "state/cause/waker-kind/waker-tid". */
static __attribute__((unused)) const char *nth(const struct ww_facts *f, int32_t tid, uint32_t n)
{
	static char buf[4][96];
	static int turn;
	char *b = buf[turn++ & 3];

	for (uint32_t t = 0; t < f->thread.n; t++) {
		if (f->thread.tid[t] != tid || f->state_first[t] + n >= f->state_first[t + 1])
			continue;
		uint32_t r = f->state_first[t] + n, w = ww_state_wakeup(f, r);
		uint32_t waker = w == WW_NONE ? WW_NONE : f->wakeup.waker[w];
		snprintf(b, 96, "%s/%s/%s/%d", ww_state_name(f->state.state[r]), ww_cause_name(f->state.cause[r]),
			 w == WW_NONE ? "-" : ww_waker_name(f->wakeup.kind[w]),
			 waker == WW_NONE ? -1 : f->thread.tid[waker]);
		return b;
	}
	return "none";
}

/* Every thread's states are contiguous from its start to its end. */
static __attribute__((unused)) bool contiguous(const struct ww_facts *f)
{
	for (uint32_t t = 0; t < f->thread.n; t++) {
		int64_t at = f->thread.start_ts_ns[t];

		if (f->thread.flags[t] & WW_TF_IDLE)
			continue;
		for (uint32_t r = f->state_first[t]; r < f->state_first[t + 1]; r++) {
			if (f->state.start_ts_ns[r] != at || f->state.dur_ns[r] <= 0)
				return false;
			at += f->state.dur_ns[r];
		}
		if (at != f->thread.end_ts_ns[t])
			return false;
	}
	return true;
}

/* Declares that the producer records interrupts, so that thread context can be believed. */
static __attribute__((unused)) void contexts(struct fake *k)
{
	fake_event(k, 1, 0, "irq_handler_entry", "irq=9 name='acpi'");
	fake_event(k, 2, 0, "irq_handler_exit", "irq=9 ret=1");
	fake_event(k, 3, 0, "irq_softirq_entry", "vec=7");
	fake_event(k, 4, 0, "irq_softirq_exit", "vec=7");
	fake_event(k, 5, 0, "timer_hrtimer_expire_entry", "hrtimer=0x77 now=5 function=1");
	fake_event(k, 6, 0, "timer_hrtimer_expire_exit", "hrtimer=0x77");
	fake_event(k, 7, 0, "syscall_entry_unknown", "id=999"); /* so all calls are recorded */
}

/* Nanoseconds of a thread in a state. */
static __attribute__((unused)) int64_t time_in(const struct ww_facts *f, int32_t tid, enum ww_thread_state s)
{
	int64_t ns = 0;

	for (uint32_t r = 0; r < f->state.n; r++)
		if (f->thread.tid[f->state.thread[r]] == tid && f->state.state[r] == s)
			ns += f->state.dur_ns[r];
	return ns;
}

#endif
