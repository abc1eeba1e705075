/* path_words.c - segments of the critical path in words. */
#include <stdio.h>

#include "analysis/names.h"
#include "analysis/path.h"
#include "analysis/stacks.h"

const char *ww_via_name(enum ww_via_kind k)
{
	static const char *const names[WW_VIA_N] = {
		[WW_VIA_END] = "end",     [WW_VIA_WOKE] = "wakeup", [WW_VIA_WAIT] = "wait",
		[WW_VIA_FORKED] = "fork", [WW_VIA_SUBMIT] = "block", [WW_VIA_ARMED] = "timer",
		[WW_VIA_SENT] = "packet", [WW_VIA_QUEUED] = "work",  [WW_VIA_ENDED] = "exit",
	};

	return (unsigned)k < WW_VIA_N ? names[k] : "?";
}

const char *ww_segment_kind(const struct ww_segment *s)
{
	if (s->state == WW_ST_BLOCKED && s->cause != WW_CA_NONE)
		return ww_cause_name(s->cause);
	return ww_state_name(s->state == WW_ST_BLOCKED ? WW_ST_UNKNOWN : s->state);
}

static const struct ww_facts *facts_of(const struct ww_path *p, uint32_t host)
{
	return p->set->hosts[host];
}

/* "nginx (7)", and where, when the path is on several hosts. */
static const char *who(struct ww_arena *mem, const struct ww_path *p, uint32_t host, uint32_t thread, uint32_t seen_from)
{
	const char *name = ww_name_thread(mem, facts_of(p, host), thread);

	if (!*name)
		name = "an unknown thread";
	if (host == seen_from)
		return name;
	return ww_arena_printf(mem, "%s on %s", name, p->set->who[host].label);
}

static const char *note_words(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s)
{
	const struct ww_facts *f = facts_of(p, s->host);

	switch (s->note) {
	case WW_PN_UNBORN:
		return "before it was there";
	case WW_PN_NO_ROW:
		return "nothing recorded";
	case WW_PN_NO_SENDER:
		return ww_arena_printf(mem, "the trace does not show what sent %s",
				       s->fact < f->packet.n ? ww_name_packet(mem, f, s->fact) : "the packet");
	case WW_PN_NO_ARMER:
		return ww_arena_printf(mem, "the trace does not show who armed the timer%s%s", s->fact < f->timer.n ? " " : "",
				       s->fact < f->timer.n ? ww_facts_str(f, f->timer.name[s->fact]) : "");
	default:
		return "";
	}
}

static const char *timer_words(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s)
{
	const struct ww_facts *f = facts_of(p, s->host);
	const char *name = s->fact < f->timer.n ? ww_facts_str(f, f->timer.name[s->fact]) : "timer";

	bool named = *name && strcmp(name, "timer");
	if (s->note == WW_PN_NAGLE)
		return ww_arena_printf(mem, "delayed ACK, until which Nagle's algorithm held data back%s%s%s", named ? " (" : "",
				       named ? name : "", named ? ")" : "");
	if (s->note == WW_PN_DELACK)
		return ww_arena_printf(mem, "delayed ACK%s%s%s", named ? " (" : "", named ? name : "", named ? ")" : "");
	return name;
}

/* ---- a packet that stayed on its host ---- */

#define LONG_WAY_NS 100000 /* within a host a packet takes less */

static uint32_t ksoftirqd_of(const struct ww_facts *f, uint32_t cpu)
{
	char name[24];

	snprintf(name, sizeof(name), "ksoftirqd/%u", cpu);
	for (uint32_t t = 0; t < f->thread.n; t++)
		if ((f->thread.flags[t] & WW_TF_KERNEL) && !strcmp(ww_facts_str(f, f->thread.comm[t]), name))
			return t;
	return WW_NONE;
}

/* There is no wire then. If it was not received at once, the softirq that does it was put off, to a thread of the CPU
 * that may have had no CPU. "" when that is not most of it. */
static const char *softirq_words(struct ww_arena *mem, const struct ww_facts *f, uint32_t sent)
{
	uint32_t got = sent < f->packet.n ? f->packet.match[sent] : WW_NONE, first, n;

	if (got >= f->packet.n || f->packet.ts_ns[got] - f->packet.ts_ns[sent] < LONG_WAY_NS)
		return "";
	const int64_t from = f->packet.ts_ns[sent], to = f->packet.ts_ns[got];
	const uint32_t t = ksoftirqd_of(f, f->packet.cpu[got]);
	int64_t ready = 0;
	if (t == WW_NONE)
		return "";
	ww_facts_states(f, t, from, to, &first, &n);
	for (uint32_t i = first; i < first + n; i++)
		if (f->state.state[i] == WW_ST_RUNQUEUE || f->state.state[i] == WW_ST_PREEMPTED)
			ready += WW_MIN(f->state.start_ts_ns[i] + f->state.dur_ns[i], to) - WW_MAX(f->state.start_ts_ns[i], from);
	if (ready * 2 < to - from)
		return "";
	return ww_arena_printf(mem, "; never on a wire: receiving it was put off, and %s had no CPU", ww_name_thread(mem, f, t));
}

/* A wait that ends the chain: what it was for, and what there was to be done meanwhile. */
static const char *wait_words(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s, bool exact)
{
	const struct ww_facts *f = facts_of(p, s->host);
	const char *words = ww_name_state(mem, f, s->row, exact), *more = "";

	if (s->thing == WW_WK_BLOCK && exact)
		more = ww_name_request_times(mem, f, s->fact);
	else if (s->thing == WW_WK_BLOCK && s->fact < f->block_io.n && s->cause != WW_CA_DISK)
		more = ww_name_device(mem, f, f->block_io.dev[s->fact]); /* a fault: from where */
	else if (s->note == WW_PN_CIRCLE)
		more = "the waits go in a circle";
	else if (!*words)
		words = ww_name_woken(mem, f, ww_state_wakeup(f, s->row)).name;
	if (s->cause == WW_CA_UNKNOWN && exact) { /* what the trace does not tell, the kernel's functions may */
		const char *stack = ww_stack_text(mem, f, ww_stack_of_wait(f, s->row, true));
		if (*stack)
			more = ww_arena_printf(mem, "%s%sin %s", more, *more ? "; " : "", stack);
	}
	if (!*words)
		return more;
	return *more ? ww_arena_printf(mem, "%s; %s", words, more) : words;
}

const char *ww_segment_detail(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s, bool exact)
{
	const struct ww_facts *f = facts_of(p, s->host);

	if (s->state == WW_ST_PREEMPTED || s->state == WW_ST_RUNQUEUE)
		return ww_name_ready(mem, f, s->state, s->other, s->row < f->state.n ? ww_state_named_at(f, s->row) : INT64_MAX);
	if (s->thread == WW_NONE && s->thing == WW_WK_TIMER)
		return timer_words(mem, p, s);
	if (s->thread == WW_NONE && s->thing == WW_WK_PACKET)
		return exact ? ww_arena_printf(mem, "%s%s", ww_name_packet(mem, f, s->fact), softirq_words(mem, f, s->fact)) : "network";
	if (s->row == WW_NONE || s->thread == WW_NONE)
		return note_words(mem, p, s);
	if (s->state == WW_ST_BLOCKED)
		return wait_words(mem, p, s, exact);
	return ww_name_state(mem, f, s->row, exact);
}

const char *ww_segment_call(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s, bool exact)
{
	const struct ww_facts *f = facts_of(p, s->host);

	if (s->row == WW_NONE || s->thread == WW_NONE)
		return NULL;
	return exact ? ww_name_syscall(mem, f, f->state.syscall[s->row]) : ww_name_syscall_only(f, f->state.syscall[s->row]);
}

static const char *woke_words(struct ww_arena *mem, const struct ww_path *p, const struct ww_arrow *a)
{
	const struct ww_facts *f = facts_of(p, a->to_host);
	uint32_t syscall = a->fact < f->wakeup.n ? f->wakeup.syscall[a->fact] : WW_NONE;
	const char *call = ww_name_syscall(mem, f, syscall);

	return ww_arena_printf(mem, "woke %s%s%s", who(mem, p, a->to_host, a->to_thread, a->from_host), call ? ", in " : "",
			       call ? call : "");
}

static const char *wait_begin_words(struct ww_arena *mem, const struct ww_path *p, const struct ww_arrow *a)
{
	const struct ww_facts *f = facts_of(p, a->from_host);
	const char *call = a->fact < f->state.n ? ww_name_syscall(mem, f, f->state.syscall[a->fact]) : NULL;
	const char *for_whom = a->to_thread == WW_NONE ? "" : who(mem, p, a->to_host, a->to_thread, a->from_host);

	return ww_arena_printf(mem, "then waited%s%s%s%s", call ? " in " : "", call ? call : "", *for_whom ? " for " : "",
			       for_whom);
}

const char *ww_segment_via(struct ww_arena *mem, const struct ww_path *p, const struct ww_segment *s)
{
	const struct ww_arrow *a = &p->arrows[s->arrow];
	const struct ww_visit *v = &p->visits[s->visit];
	const struct ww_facts *f = facts_of(p, a->from_host);

	if (s->thing != WW_WK_UNKNOWN || s->thread == WW_NONE)
		return ww_arena_printf(mem, "%s waited for it", who(mem, p, v->host, v->thread, s->host));
	switch (a->kind) {
	case WW_VIA_END:
		return ww_arena_printf(mem, "the end of %s", who(mem, p, a->from_host, a->from_thread, s->host));
	case WW_VIA_WOKE:
		return woke_words(mem, p, a);
	case WW_VIA_WAIT:
		return wait_begin_words(mem, p, a);
	case WW_VIA_FORKED:
		return ww_arena_printf(mem, "created %s", who(mem, p, a->to_host, a->to_thread, a->from_host));
	case WW_VIA_SUBMIT:
		return ww_arena_printf(mem, "submitted %s", ww_name_block(mem, f, a->fact));
	case WW_VIA_ARMED:
		return ww_arena_printf(mem, "armed %s", a->fact < f->timer.n ? ww_facts_str(f, f->timer.name[a->fact]) : "the timer");
	case WW_VIA_SENT:
		return ww_arena_printf(mem, "sent %s", ww_name_packet(mem, f, a->fact));
	case WW_VIA_QUEUED:
		return ww_arena_printf(mem, "queued %s", a->fact < f->work.n ? ww_facts_str(f, f->work.name[a->fact]) : "the work");
	default:
		return ww_arena_printf(mem, "%s waited for its end", who(mem, p, a->to_host, a->to_thread, a->from_host));
	}
}
