/* path_edges.c - from the end of a wait to what ended it: threads, block requests, timers, packets, work.
 *
 * The same edges as chain.c lays over a wait, but walked backward and one after the other instead of
 * recursively. What is no thread's doing (a device at work, a running timer, a packet on its way) is laid as
 * a segment; then the path goes over to the thread that set it going, if that was after the wait began.
 *
 * Example, TCP between two hosts: C blocks in recv 0..50. The packet that ended it was sent at 49 in softirq
 * on S, because an ACK of C came; C's delayed-ACK timer had sent that at 48, armed at 8 when S's first
 * packet came, which thread s of S sent at 7:
 *   s 0..7, wire 7..8, timer 8..48 on C, wire 48..50
 */
#include <stdlib.h>

#include "analysis/names.h"
#include "analysis/path_private.h"

enum { TCP = 6, UDP = 17 };

/* ---- work items ---- */

struct work_key {
	uint32_t thread, row;
	int64_t start;
};

static int by_thread_and_start(const void *a, const void *b)
{
	const struct work_key *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void index_work(const struct ww_facts *f, struct ww_work_index *ix)
{
	struct work_key *keys = ww_xcalloc((size_t)f->work.n + 1, sizeof(*keys));
	uint32_t n = 0;

	ix->first = ww_xcalloc((size_t)f->thread.n + 2, sizeof(*ix->first));
	ix->rows = ww_xcalloc((size_t)f->work.n + 1, sizeof(*ix->rows));
	for (uint32_t i = 0; i < f->work.n; i++)
		if (f->work.thread[i] < f->thread.n && f->work.start_ts_ns[i] >= 0)
			keys[n++] = (struct work_key){f->work.thread[i], i, f->work.start_ts_ns[i]};
	qsort(keys, n, sizeof(*keys), by_thread_and_start);
	for (uint32_t i = 0; i < n; i++) {
		ix->rows[i] = keys[i].row;
		ix->first[keys[i].thread + 1]++;
	}
	for (uint32_t t = 0; t < f->thread.n; t++)
		ix->first[t + 1] += ix->first[t];
	free(keys);
}

/* The work item that the current thread is executing at t; WW_NONE. */
static uint32_t work_at(struct ww_walk *w)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	struct ww_work_index *ix = &w->work[w->host];

	if (!f->work.n || w->thread >= f->thread.n)
		return WW_NONE;
	if (!ix->rows)
		index_work(f, ix);
	uint32_t lo = ix->first[w->thread], begin = lo, hi = ix->first[w->thread + 1];
	while (lo < hi) { /* first that starts at t or later */
		uint32_t mid = lo + (hi - lo) / 2;

		if (ww_walk_time(w, w->host, f->work.start_ts_ns[ix->rows[mid]]) < w->t)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == begin)
		return WW_NONE;
	uint32_t row = ix->rows[lo - 1];
	int64_t end = f->work.end_ts_ns[row];
	return end < 0 || ww_walk_time(w, w->host, end) >= w->t ? row : WW_NONE;
}

static bool is_trigger(const struct ww_facts *f, uint32_t work)
{
	uint32_t t = f->work.trigger[work];

	switch (f->work.trigger_kind[work]) {
	case WW_WK_BLOCK:
		return t < f->block_io.n;
	case WW_WK_TIMER:
		return t < f->timer.n;
	case WW_WK_PACKET:
		return t < f->packet.n;
	default:
		return false;
	}
}

void ww_walk_enter_work(struct ww_walk *w)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	uint32_t work = work_at(w);

	if (work == WW_NONE)
		return;
	/* Queued by this worker itself while it was executing other work: that is what it came to be here for. */
	uint32_t by = f->work.queued_by[work];
	for (int steps = 0; by == w->thread && steps < WW_WALK_STUCK; steps++) {
		uint32_t outer = f->work.trigger[work];

		if (f->work.trigger_kind[work] != WW_WK_WORK || outer >= work)
			return;
		work = outer;
		by = f->work.queued_by[work];
	}
	if (f->work.queued_ts_ns[work] < 0 || by == w->thread)
		return;
	int64_t queued = ww_walk_time(w, w->host, f->work.queued_ts_ns[work]);
	if (by < f->thread.n) {
		/* What the worker did since then is on the path (it was busy, or had no CPU); then who queued it. */
		ww_walk_turn(w, queued, ww_walk_visit(w, w->host, by, w->visit, WW_NONE), WW_VIA_QUEUED, work);
		return;
	}
	/* The wait that all this explains, if it is of the same host: an interrupt's work is known by row. */
	uint32_t v = w->visit;
	while (v != WW_NONE && w->visits.v[v].wait_row == WW_NONE)
		v = w->visits.v[v].up;
	if (v == WW_NONE || !is_trigger(f, work) || w->visits.v[w->visits.v[v].up].host != w->host)
		return;
	size_t n = w->stack.n;
	ww_walk_turn(w, queued, v, WW_VIA_QUEUED, work);
	if (w->stack.n > n)
		w->stack.v[n].after = true;
}

/* ---- what ends the chain ---- */

static enum ww_cause packet_cause(const struct ww_facts *f, uint32_t p)
{
	uint8_t proto = p < f->packet.n ? f->packet.proto[p] : 0;

	return proto == TCP ? WW_CA_TCP : proto == UDP ? WW_CA_UDP : WW_CA_UNKNOWN;
}

struct wait { /* the wait that is being explained */
	uint32_t host, thread, visit, row;
	int64_t begin;
};

/* The wait itself, down to `to`: its own cause, or that of what ended it where the call does not tell. (That an
 * idle worker waited for work says nothing.) */
static void lay_wait(struct ww_walk *w, uint32_t row, int64_t to, enum ww_waker thing, uint32_t fact,
		     enum ww_cause otherwise)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	struct ww_segment *s = ww_walk_lay(w, to);

	if (!s)
		return;
	s->row = row;
	s->state = WW_ST_BLOCKED;
	s->cause = ww_state_cause(f, row);
	if (otherwise != WW_CA_UNKNOWN && (s->cause == WW_CA_UNKNOWN || s->cause == WW_CA_WORK))
		s->cause = otherwise;
	s->certainty = f->state.certainty[row];
	s->thing = thing;
	s->fact = fact;
}

/* Something on `host` that is no thread's doing. */
static struct ww_segment *lay_thing(struct ww_walk *w, const struct wait *x, int64_t to, uint32_t host,
				    enum ww_waker thing, uint32_t fact, enum ww_cause cause)
{
	struct ww_segment *s = ww_walk_lay(w, to);

	if (!s)
		return NULL;
	s->row = x->row;
	s->certainty = ww_walk_facts(w, x->host)->state.certainty[x->row];
	s->host = host;
	s->thread = WW_NONE;
	s->state = cause == WW_CA_UNKNOWN && thing == WW_WK_UNKNOWN ? WW_ST_UNKNOWN : WW_ST_BLOCKED;
	s->cause = cause;
	s->thing = thing;
	s->fact = fact;
	return s;
}

/* fact: the packet or timer that nobody is known behind; WW_NONE. */
static void lay_lost(struct ww_walk *w, const struct wait *x, uint32_t host, uint32_t fact, enum ww_path_note note)
{
	struct ww_segment *s = lay_thing(w, x, ww_walk_bound(w), host, WW_WK_UNKNOWN, fact, WW_CA_UNKNOWN);

	if (s)
		s->note = (uint8_t)note;
}

/* ---- one kind of edge each; the way back to the waiter is on the stack already ---- */

static void go_thread(struct ww_walk *w, const struct wait *x, uint32_t host, uint32_t thread,
		      enum ww_via_kind kind, uint32_t fact)
{
	if (w->t > x->begin)
		ww_walk_go(w, host, thread, x->visit, x->row, kind, fact);
}

/* submitter: who asked for it; WW_NONE not known. */
static void by_block(struct ww_walk *w, const struct wait *x, uint32_t io, uint32_t submitter)
{
	const struct ww_facts *f = ww_walk_facts(w, x->host);

	if (io >= f->block_io.n) {
		lay_wait(w, x->row, x->begin, WW_WK_BLOCK, WW_NONE, WW_CA_DISK);
		return;
	}
	const struct ww_block_io b = ww_block_io_get(f, io);
	int64_t ts = b.queued_ts_ns >= 0 ? b.queued_ts_ns : b.issued_ts_ns;
	/* Before the request existed, its submitter was on the way to it. */
	bool other = submitter < f->thread.n && submitter != x->thread && ts >= 0;

	lay_wait(w, x->row, other ? WW_MIN(ww_walk_time(w, x->host, ts), w->t) : x->begin, WW_WK_BLOCK, io, WW_CA_DISK);
	if (other)
		go_thread(w, x, x->host, submitter, WW_VIA_SUBMIT, io);
}

static void by_timer(struct ww_walk *w, const struct wait *x, uint32_t timer)
{
	const struct ww_facts *f = ww_walk_facts(w, x->host);
	struct ww_timer t = {.armed_by = WW_NONE};

	if (timer < f->timer.n)
		t = ww_timer_get(f, timer);
	bool other = timer < f->timer.n && t.armed_by < f->thread.n && t.armed_by != x->thread && t.armed_ts_ns >= 0;
	lay_wait(w, x->row, other ? WW_MIN(ww_walk_time(w, x->host, t.armed_ts_ns), w->t) : x->begin, WW_WK_TIMER,
		 timer, WW_CA_TIMER);
	if (other)
		go_thread(w, x, x->host, t.armed_by, WW_VIA_ARMED, timer);
}

static struct ww_packet_ref other_end(const struct ww_walk *w, uint32_t host, uint32_t p)
{
	if (w->set->match)
		return w->set->match[host][p];
	return (struct ww_packet_ref){host, ww_walk_facts(w, host)->packet.match[p]};
}

/* By its function's name; without one, by what it did: armed while data came in, it sent an ACK and no data. */
static bool is_delayed_ack(const struct ww_facts *f, uint32_t timer, uint32_t sent)
{
	uint32_t trigger = f->timer.trigger[timer];

	if (strstr(ww_facts_str(f, f->timer.name[timer]), "delack"))
		return true;
	return !strcmp(ww_facts_str(f, f->timer.name[timer]), "timer") && f->packet.proto[sent] == TCP &&
	       !f->packet.payload[sent] && trigger < f->packet.n && f->packet.payload[trigger];
}

/* A timer sent the packet `sent`. Returns the packet during whose handling it was armed, WW_NONE: gone on, or the
 * chain ends. `held`: the ACK that it sent let go data which had waited for it. */
static uint32_t sent_by_timer(struct ww_walk *w, const struct wait *x, uint32_t host, uint32_t sent, bool held)
{
	const struct ww_facts *f = ww_walk_facts(w, host);
	uint32_t timer = f->packet.trigger[sent];
	struct ww_segment *s;

	if (timer >= f->timer.n) {
		lay_lost(w, x, host, WW_NONE, WW_PN_NO_ARMER);
		return WW_NONE;
	}
	const struct ww_timer t = ww_timer_get(f, timer);
	int64_t armed = t.armed_ts_ns < 0 ? x->begin : ww_walk_time(w, host, t.armed_ts_ns);
	s = lay_thing(w, x, WW_MIN(armed, w->t), host, WW_WK_TIMER, timer, WW_CA_TIMER);
	if (s && is_delayed_ack(f, timer, sent))
		s->note = held ? WW_PN_NAGLE : WW_PN_DELACK;
	if (t.trigger < f->packet.n)
		return t.trigger;
	if (t.armed_by < f->thread.n)
		go_thread(w, x, host, t.armed_by, WW_VIA_ARMED, timer);
	else
		lay_lost(w, x, host, timer, WW_PN_NO_ARMER);
	return WW_NONE;
}

/* Back from packet p, received on `host`, to what sent it: a thread, or what triggered it in softirq, and so
 * on from packet to packet. */
static void by_packet(struct ww_walk *w, const struct wait *x, uint32_t host, uint32_t p)
{
	const struct ww_facts *f = ww_walk_facts(w, host);
	bool first = true, data_waited = false; /* the packet that we come from had data, and came out because an ACK came in */

	for (uint32_t still = 0; w->t > x->begin; still++) {
		struct ww_packet_ref s = f->packet.sent[p] ? (struct ww_packet_ref){host, p} : other_end(w, host, p);
		if (s.packet == WW_NONE || still > WW_WALK_STUCK) {
			if (first) /* whose trace is not here: the wait itself is all that is known */
				lay_wait(w, x->row, x->begin, WW_WK_PACKET, p, packet_cause(f, p));
			else
				lay_lost(w, x, host, p, WW_PN_NO_SENDER);
			return;
		}
		first = false;
		int64_t sent = ww_walk_time(w, s.host, ww_walk_facts(w, s.host)->packet.ts_ns[s.packet]);
		if (lay_thing(w, x, WW_MIN(sent, w->t), s.host, WW_WK_PACKET, s.packet, packet_cause(f, p)))
			still = 0;
		host = s.host;
		p = s.packet;
		f = ww_walk_facts(w, host);
		uint32_t trigger = f->packet.trigger[p];
		if (f->packet.thread[p] < f->thread.n) {
			go_thread(w, x, host, f->packet.thread[p], WW_VIA_SENT, p);
			return;
		}
		if (f->packet.trigger_kind[p] == WW_WK_TIMER)
			trigger = sent_by_timer(w, x, host, p, data_waited);
		else if (f->packet.trigger_kind[p] == WW_WK_PACKET && trigger < f->packet.n)
			data_waited = f->packet.payload[p] && !f->packet.payload[trigger];
		else {
			lay_lost(w, x, host, p, WW_PN_NO_SENDER);
			return;
		}
		if (trigger == WW_NONE)
			return;
		p = trigger;
	}
}

/* What completed in the interrupt that queued the work. */
static void by_trigger(struct ww_walk *w, const struct wait *x, uint32_t work)
{
	const struct ww_facts *f = ww_walk_facts(w, x->host);

	if (w->t <= x->begin)
		return;
	if (f->work.trigger_kind[work] == WW_WK_BLOCK)
		by_block(w, x, f->work.trigger[work],
			 f->work.trigger[work] < f->block_io.n ? f->block_io.submitter[f->work.trigger[work]] : WW_NONE);
	else if (f->work.trigger_kind[work] == WW_WK_TIMER)
		by_timer(w, x, f->work.trigger[work]);
	else
		by_packet(w, x, x->host, f->work.trigger[work]);
}

void ww_walk_after(struct ww_walk *w, uint32_t visit, uint32_t work)
{
	const struct wait x = {w->host, w->thread, w->visit, w->visits.v[visit].wait_row, ww_walk_bound(w)};

	by_trigger(w, &x, work);
}

static void by_work(struct ww_walk *w, const struct wait *x, uint32_t work, uint32_t waker, uint32_t wakeup)
{
	const struct ww_facts *f = ww_walk_facts(w, x->host);

	if (waker < f->thread.n && waker != x->thread) {
		go_thread(w, x, x->host, waker, WW_VIA_WOKE, wakeup); /* who queued it: ww_walk_enter_work */
		return;
	}
	uint32_t by = work < f->work.n ? f->work.queued_by[work] : WW_NONE;
	bool other = by < f->thread.n && by != x->thread && f->work.queued_ts_ns[work] >= 0;
	bool after = work < f->work.n && by >= f->thread.n && f->work.queued_ts_ns[work] >= 0 && is_trigger(f, work);
	lay_wait(w, x->row, other || after ? WW_MIN(ww_walk_time(w, x->host, f->work.queued_ts_ns[work]), w->t) : x->begin,
		 WW_WK_WORK, work, WW_CA_WORK);
	if (other)
		go_thread(w, x, x->host, by, WW_VIA_QUEUED, work);
	else if (after)
		by_trigger(w, x, work);
}

/* No wakeup shows who, but what the call returned names a thread (a child, a lock's owner). */
static void by_other(struct ww_walk *w, const struct wait *x)
{
	const struct ww_facts *f = ww_walk_facts(w, x->host);
	uint32_t other = ww_state_other(f, x->row);

	if (other >= f->thread.n || other == x->thread || (f->thread.flags[other] & WW_TF_IDLE)) {
		lay_wait(w, x->row, x->begin, WW_WK_UNKNOWN, WW_NONE, WW_CA_UNKNOWN);
		return;
	}
	/* Between its end and ours nobody knows what happened. */
	lay_wait(w, x->row, WW_MIN(w->t, ww_walk_time(w, x->host, f->thread.end_ts_ns[other])), WW_WK_UNKNOWN, WW_NONE,
		 WW_CA_UNKNOWN);
	go_thread(w, x, x->host, other, WW_VIA_ENDED, WW_NONE);
}

static bool is_thread_of(const struct ww_facts *f, uint32_t t, uint32_t self)
{
	return t < f->thread.n && t != self && !(f->thread.flags[t] & WW_TF_IDLE);
}

void ww_walk_wait(struct ww_walk *w, uint32_t row)
{
	const struct ww_facts *f = ww_walk_facts(w, w->host);
	int64_t begin = ww_walk_time(w, w->host, f->state.start_ts_ns[row]);
	uint32_t i = ww_state_wakeup(f, row);

	if (w->stuck > WW_WALK_STUCK) {
		size_t n = w->segments.n;

		lay_wait(w, row, begin, WW_WK_UNKNOWN, WW_NONE, WW_CA_UNKNOWN);
		if (w->segments.n > n)
			w->segments.v[n].note = WW_PN_CIRCLE;
		return;
	}
	struct wait x = {w->host, w->thread, w->visit, row, WW_MAX(begin, ww_walk_bound(w))};
	ww_walk_turn(w, x.begin, w->visit, WW_VIA_WAIT, row);
	if (i >= f->wakeup.n) {
		by_other(w, &x);
		return;
	}
	if (ww_wait_ended_by_key(f, row)) {
		lay_wait(w, row, x.begin, WW_WK_UNKNOWN, WW_NONE, WW_CA_SIGNAL);
		return;
	}
	const struct ww_wakeup wk = ww_wakeup_get(f, i);
	switch (wk.kind) {
	case WW_WK_BLOCK:
		by_block(w, &x, wk.fact, wk.waker);
		break;
	case WW_WK_TIMER:
		by_timer(w, &x, wk.fact);
		break;
	case WW_WK_PACKET:
		if (wk.fact < f->packet.n)
			by_packet(w, &x, x.host, wk.fact);
		else
			lay_wait(w, row, x.begin, WW_WK_PACKET, WW_NONE, WW_CA_UNKNOWN);
		break;
	case WW_WK_WORK:
		by_work(w, &x, wk.fact, wk.waker, i);
		break;
	default:
		if (is_thread_of(f, wk.waker, x.thread))
			go_thread(w, &x, x.host, wk.waker, WW_VIA_WOKE, i);
		else
			by_other(w, &x);
		break;
	}
}
