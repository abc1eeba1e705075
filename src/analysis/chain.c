/* chain.c - expands waits over what their wakers did; chain.h has the rule and an example. */
#include "analysis/chain.h"
#include "analysis/names.h"

/* The chain of one wait [at, end) while it is being laid: links are appended from left to right. */
struct cover {
	struct ww_arena *mem;
	const struct ww_facts *f;
	struct ww_chain_opts *opts;
	const struct cover *up; /* the wait that this one explains a part of */
	uint32_t row;           /* the wait's own state row */
	uint32_t depth;
	int64_t at, end;
	size_t first; /* of its links, on opts->stack */
};

static void expand(struct ww_arena *mem, const struct ww_facts *f, struct ww_chain_opts *opts,
		   const struct cover *up, uint32_t row, int64_t from, int64_t to, struct ww_link *ret);

static struct ww_link *push_link(struct ww_chain_opts *o)
{
	if (o->nstack == o->cap_stack) {
		o->cap_stack = o->cap_stack ? o->cap_stack * 2 : 256;
		o->stack = ww_xrealloc(o->stack, o->cap_stack * sizeof(*o->stack));
	}
	return &o->stack[o->nstack++];
}

void ww_chain_free(struct ww_chain_opts *opts)
{
	free(opts->stack);
	opts->stack = NULL;
	opts->nstack = opts->cap_stack = 0;
}

/* Appends [at, to); NULL when there is nothing between. Good until the next one. */
static struct ww_link *cover_add(struct cover *c, int64_t to)
{
	to = WW_MIN(to, c->end);
	if (to <= c->at)
		return NULL;
	struct ww_link *l = push_link(c->opts);
	*l = (struct ww_link){.start_ts_ns = c->at, .dur_ns = to - c->at, .thread = WW_NONE, .row = WW_NONE,
			      .state = WW_ST_UNKNOWN};
	c->at = to;
	if (c->opts->budget)
		c->opts->budget--;
	return l;
}

static const struct ww_link_said *said(struct cover *c, const char *detail, const char *brief)
{
	struct ww_link_said *s = WW_ARENA_NEW(c->mem, struct ww_link_said);

	*s = (struct ww_link_said){detail, brief};
	return s;
}

static void cover_unknown(struct cover *c, int64_t to, const char *why)
{
	struct ww_link *l = cover_add(c, to);

	if (l && *why)
		l->said = said(c, why, "");
}

/* A device, a timer or the network had the matter in hand until `to`. */
static void cover_thing(struct cover *c, int64_t to, enum ww_cause cause, const char *detail,
			const char *brief)
{
	struct ww_link *l = cover_add(c, to);

	if (l) {
		l->state = WW_ST_BLOCKED;
		l->cause = cause;
		l->said = said(c, detail, brief);
	}
}

static bool is_ancestor(const struct cover *c, uint32_t row)
{
	for (; c; c = c->up)
		if (c->row == row)
			return true;
	return false;
}

static bool waits_above(const struct cover *c, uint32_t thread)
{
	for (; c; c = c->up)
		if (c->f->state.thread[c->row] == thread)
			return true;
	return false;
}

/* What thread t did in [at, to). Before it was there, its creator was on the way to create it. */
static void cover_thread(struct cover *c, uint32_t t, int64_t to)
{
	const struct ww_facts *f = c->f;
	uint32_t first, n;

	to = WW_MIN(to, c->end);
	if (t >= f->thread.n || to <= c->at)
		return;
	int64_t start = WW_MIN(to, f->thread.start_ts_ns[t]);
	if (start > c->at) {
		uint32_t parent = f->thread.parent[t];
		if (parent != t && parent < f->thread.n && f->thread.start_ts_ns[parent] <= c->at &&
		    !waits_above(c, parent))
			cover_thread(c, parent, start);
		cover_unknown(c, start, ww_arena_printf(c->mem, "before %s was started",
							ww_name_thread(c->mem, f, t)));
	}
	ww_facts_states(f, t, c->at, to, &first, &n);
	for (uint32_t i = first; i < first + n && c->at < to; i++) {
		int64_t end = WW_MIN(f->state.start_ts_ns[i] + f->state.dur_ns[i], to);

		if (!c->opts->budget)
			break;
		cover_unknown(c, WW_MIN(f->state.start_ts_ns[i], to), "");
		start = c->at;
		struct ww_link *l = cover_add(c, end);
		if (!l)
			continue;
		if (is_ancestor(c, i)) { /* it waits for us, while we wait for it */
			l->thread = t;
			l->row = i;
			l->state = f->state.state[i];
			l->cause = ww_state_cause(f, i);
			l->cut = l->again = true;
			continue;
		}
		size_t at = c->opts->nstack - 1;
		struct ww_link full;
		expand(c->mem, f, c->opts, c, i, start, end, &full);
		c->opts->stack[at] = full;
	}
	cover_unknown(c, to, "");
}

/* Until `to`: the request that was done then; submitter: who asked for it, WW_NONE not known. */
static void cover_block(struct cover *c, uint32_t io, uint32_t submitter, uint32_t waiter, int64_t to)
{
	const struct ww_facts *f = c->f;

	if (io >= f->block_io.n) {
		cover_thing(c, to, WW_CA_DISK, "block request", "block request");
		return;
	}
	const struct ww_block_io b = ww_block_io_get(f, io);
	int64_t begin = WW_MIN(to, b.queued_ts_ns >= 0 ? b.queued_ts_ns : b.issued_ts_ns);
	/* Before the request existed, its submitter was on the way to it. */
	if (submitter < f->thread.n) {
		if (submitter != waiter)
			cover_thread(c, submitter, begin);
		cover_unknown(c, begin, "before the request was made");
	}
	const char *what = ww_name_block(c->mem, f, io), *times = ww_name_request_times(c->mem, f, io);
	if (*times)
		what = ww_arena_printf(c->mem, "%s; %s", what, times);
	/* A flush is asked for by a worker of the kernel, of no file; who waited for it did for his. */
	const char *brief = ww_name_device(c->mem, f, b.dev), *file = "";
	if (ww_state_cause(f, c->row) == WW_CA_DISK)
		file = ww_name_file(f, ww_state_file(f, c->row));
	cover_thing(c, to, WW_CA_DISK, what, *file ? ww_arena_printf(c->mem, "%s on %s", file, brief) : brief);
}

static void cover_timer(struct cover *c, uint32_t timer, uint32_t waiter, const char *name)
{
	const struct ww_facts *f = c->f;
	const char *what = *name ? name : "timer";

	if (timer < f->timer.n) {
		const struct ww_timer t = ww_timer_get(f, timer);
		if (t.armed_by != waiter && t.armed_by < f->thread.n) {
			cover_thread(c, t.armed_by, t.armed_ts_ns);
			what = ww_arena_printf(c->mem, "%s, armed by %s", what, ww_name_thread_at(c->mem, f, t.armed_by, t.armed_ts_ns));
		}
	}
	cover_thing(c, c->end, WW_CA_TIMER, what, "timer");
}

static enum ww_cause packet_cause(const struct ww_facts *f, uint32_t p)
{
	if (p >= f->packet.n)
		return WW_CA_UNKNOWN;
	return f->packet.proto[p] == 6 ? WW_CA_TCP : f->packet.proto[p] == 17 ? WW_CA_UDP : WW_CA_UNKNOWN;
}

/* A packet that arrived: its sender until it was sent; what a packet sent from softirq was itself
 * triggered by; then the way. */
static void cover_packet(struct cover *c, uint32_t p, uint32_t sender, const char *name)
{
	const struct ww_facts *f = c->f;

	for (int hops = 0; p < f->packet.n && hops < 8; hops++) {
		uint32_t sent = f->packet.sent[p] ? p : f->packet.match[p];
		if (sent >= f->packet.n)
			break;
		int64_t ts = f->packet.ts_ns[sent];
		uint32_t trigger = f->packet.trigger[sent];
		if (f->packet.context[sent] == WW_CX_THREAD || trigger == WW_NONE) {
			uint32_t t = f->packet.thread[sent] < f->thread.n ? f->packet.thread[sent] : sender;
			cover_thread(c, t, ts);
			break;
		}
		if (f->packet.trigger_kind[sent] == WW_WK_TIMER) {
			cover_thing(c, ts, WW_CA_TIMER,
				    trigger < f->timer.n ? ww_facts_str(f, f->timer.name[trigger]) : "timer", "timer");
			break;
		}
		p = trigger;
	}
	if (p >= f->packet.n && sender < f->thread.n) {
		cover_thread(c, sender, c->end);
		return;
	}
	cover_thing(c, c->end, packet_cause(f, p), *name ? name : "network", "network");
}

/* Until a work item was queued: who or what led to that. */
static void cover_before_queued(struct cover *c, const struct ww_work *w, uint32_t waiter)
{
	const struct ww_facts *f = c->f;

	if (w->trigger_kind == WW_WK_WORK)
		cover_thing(c, w->queued_ts_ns, WW_CA_WORK, "earlier work", "earlier work"); /* too long a chain */
	cover_thread(c, w->queued_by, w->queued_ts_ns);
	if (w->trigger_kind == WW_WK_BLOCK)
		cover_block(c, w->trigger, w->trigger < f->block_io.n ? f->block_io.submitter[w->trigger] : WW_NONE, waiter,
			    w->queued_ts_ns);
	else if (w->trigger_kind == WW_WK_TIMER)
		cover_thing(c, w->queued_ts_ns, WW_CA_TIMER, "timer", "timer");
	else if (w->trigger_kind == WW_WK_PACKET)
		cover_thing(c, w->queued_ts_ns, packet_cause(f, w->trigger), "packet", "network");
	cover_unknown(c, w->queued_ts_ns, "before the work was queued");
}

/* Until `to`: the work item, in its queue and then on its worker. */
static void cover_item(struct cover *c, const struct ww_work *w, int64_t to)
{
	const char *name = ww_facts_str(c->f, w->name);

	name = *name ? ww_arena_printf(c->mem, "%s, queued and not yet begun", name) : "queued work, not yet begun";
	cover_thing(c, WW_MIN(w->start_ts_ns, to), WW_CA_WORK, name, name);
	cover_thread(c, w->thread, to);
}

/* Work that was queued by work, that by work ...: the outermost first. What its worker did before it began to execute
 * the item was for others. */
static void cover_work(struct cover *c, uint32_t work, uint32_t waker, uint32_t waiter)
{
	const struct ww_facts *f = c->f;
	struct ww_work items[16];
	uint32_t n = 0;

	while (work < f->work.n && n < WW_ARRAY_SIZE(items)) {
		items[n] = ww_work_get(f, work);
		const struct ww_work *w = &items[n++];
		if (w->trigger_kind != WW_WK_WORK || w->queued_ts_ns <= c->at)
			break;
		work = w->trigger < work ? w->trigger : WW_NONE;
	}
	if (!n) {
		cover_thread(c, waker, c->end);
		return;
	}
	cover_before_queued(c, &items[n - 1], waiter);
	while (n--)
		cover_item(c, &items[n], n ? WW_MIN(items[n - 1].queued_ts_ns, c->end) : c->end);
}

static void cover_wait(struct cover *c, uint32_t waiter)
{
	const struct ww_facts *f = c->f;
	uint32_t w = ww_state_wakeup(f, c->row);

	if (w >= f->wakeup.n) {
		cover_unknown(c, c->end, "no wakeup seen");
		return;
	}
	if (ww_wait_ended_by_key(f, c->row)) {
		cover_unknown(c, c->end, "a key at the terminal");
		return;
	}
	const struct ww_wakeup wk = ww_wakeup_get(f, w);
	const char *by = ww_name_waker(c->mem, f, w);
	switch (wk.kind) {
	case WW_WK_BLOCK:
		cover_block(c, wk.fact, wk.waker, waiter, c->end);
		break;
	case WW_WK_TIMER:
		cover_timer(c, wk.fact, waiter, by);
		break;
	case WW_WK_PACKET:
		cover_packet(c, wk.fact, wk.waker == waiter ? WW_NONE : wk.waker, by);
		break;
	case WW_WK_WORK:
		cover_work(c, wk.fact, wk.waker, waiter);
		break;
	case WW_WK_THREAD:
	case WW_WK_IPI:
	case WW_WK_SIGNAL:
		if (wk.waker != waiter)
			cover_thread(c, wk.waker, c->end);
		break;
	default:
		break;
	}
	cover_unknown(c, c->end, by);
}

static void expand(struct ww_arena *mem, const struct ww_facts *f, struct ww_chain_opts *opts,
		   const struct cover *up, uint32_t row, int64_t from, int64_t to, struct ww_link *ret)
{
	const int64_t start = f->state.start_ts_ns[row];

	*ret = (struct ww_link){
		.start_ts_ns = WW_MAX(from, start), .thread = f->state.thread[row], .row = row, .state = f->state.state[row],
		.cause = ww_state_cause(f, row), .certainty = f->state.certainty[row],
	};
	ret->dur_ns = WW_MIN(to, start + f->state.dur_ns[row]) - ret->start_ts_ns;
	if (ret->state != WW_ST_BLOCKED)
		return;
	struct cover c = {.mem = mem, .f = f, .opts = opts, .up = up, .row = row,
			  .depth = up ? up->depth + 1 : 1, .at = ret->start_ts_ns,
			  .end = ret->start_ts_ns + ret->dur_ns, .first = opts->nstack};
	if (c.depth > opts->max_depth || !opts->budget || ret->dur_ns < opts->min_dur_ns) {
		ret->cut = true;
		return;
	}
	cover_wait(&c, ret->thread);
	ret->nchain = (uint32_t)(opts->nstack - c.first);
	if (ret->nchain) {
		ret->chain = WW_ARENA_ARRAY(mem, struct ww_link, ret->nchain);
		memcpy(ret->chain, opts->stack + c.first, ret->nchain * sizeof(*ret->chain));
	}
	opts->nstack = c.first;
}

void ww_chain_expand(struct ww_arena *mem, const struct ww_facts *f, struct ww_chain_opts *opts, uint32_t row,
		     int64_t from_ts_ns, int64_t to_ts_ns, struct ww_link *ret)
{
	expand(mem, f, opts, NULL, row, from_ts_ns, to_ts_ns, ret);
}

void ww_link_words(struct ww_arena *mem, const struct ww_facts *f, const struct ww_link *l, struct ww_link_words *ret)
{
	*ret = (struct ww_link_words){.detail = ww_link_said(l).detail, .woken_by = {.thread = WW_NONE, .name = "", .in = ""}};
	if (l->row == WW_NONE || l->again)
		return;
	ret->detail = ww_name_state_in(mem, f, l->row, l->start_ts_ns, l->start_ts_ns + l->dur_ns, true);
	ret->syscall = ww_name_syscall_only(f, f->state.syscall[l->row]);
	ret->call = ww_name_syscall(mem, f, f->state.syscall[l->row]);
	if (l->state == WW_ST_BLOCKED)
		ret->woken_by = ww_name_woken(mem, f, ww_state_wakeup(f, l->row));
}
