/* finish.c - the end of the trace: open states become rows, gaps make what they touch uncertain. */
#include <stdlib.h>

#include "base/par.h"
#include "model/model_private.h"

static void end_cpu(struct ww_model *m, uint32_t cpu)
{
	struct ww_cpu *c = &m->cpus.v[cpu];

	if (c->cur != WW_NONE)
		ww_cpu_end_run(m, c, c->cur, m->now, WW_RE_TRACE_END, 0, WW_NONE);
}

static void end_thread(struct ww_model *m, struct ww_thr *t)
{
	if (t->dead)
		return;
	bool blocked = t->st.state == WW_ST_BLOCKED;
	bool poll = t->in_syscall && t->sc->wait == WW_W_POLL;
	uint32_t row = ww_thr_state(m, t, m->now, WW_ST_UNKNOWN);
	if (row != WW_NONE && blocked)
		m->f->state.cause[row] = poll ? WW_CA_IDLE : WW_CA_UNKNOWN;
	m->f->thread.end_ts_ns[t->index] = m->now;
}

/* ---- gaps ---- */
struct span {
	int64_t from, to;
};

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* The gaps of all CPUs as sorted, disjoint spans: a wakeup lost on any CPU may have ended a wait. */
static uint32_t merge_gaps(const struct ww_facts *f, struct span *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->gap.n; i++)
		s[i] = (struct span){f->gap.start_ts_ns[i], f->gap.start_ts_ns[i] + f->gap.dur_ns[i]};
	qsort(s, f->gap.n, sizeof(*s), by_from);
	for (uint32_t i = 0; i < f->gap.n; i++) {
		if (n && s[i].from <= s[n - 1].to)
			s[n - 1].to = WW_MAX(s[n - 1].to, s[i].to);
		else
			s[n++] = s[i];
	}
	return n;
}

/* The first span that ends at or after `from`. */
static uint32_t first_span(const struct span *s, uint32_t n, int64_t from)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s[mid].to < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Most intervals that are asked for lie between the two spans that the one before lay between. */
struct spans {
	const struct span *v;
	uint32_t n;
	int64_t from, to; /* no span touches what begins after `from` and ends before `to` */
};

static bool touched(struct spans *s, int64_t from, int64_t to)
{
	if (from > s->from && to < s->to)
		return false;
	const uint32_t i = first_span(s->v, s->n, from);
	s->from = i ? s->v[i - 1].to : INT64_MIN;
	s->to = i < s->n ? s->v[i].from : INT64_MAX;
	return to >= s->to;
}

struct marking {
	struct ww_facts *f;
	struct spans spans;
	uint32_t parts;
};

static void mark_part(void *ctx, uint32_t part)
{
	const struct marking *m = ctx;
	struct ww_state_cols *st = &m->f->state;
	struct ww_wakeup_cols *w = &m->f->wakeup;
	struct spans s = m->spans;

	for (uint32_t i = ww_par_begin(st->n, m->parts, part), end = ww_par_begin(st->n, m->parts, part + 1); i < end; i++)
		if (touched(&s, st->start_ts_ns[i], st->start_ts_ns[i] + st->dur_ns[i]))
			st->certainty[i] = WW_UNCERTAIN;
	for (uint32_t i = ww_par_begin(w->n, m->parts, part), end = ww_par_begin(w->n, m->parts, part + 1); i < end; i++)
		if (touched(&s, w->ts_ns[i], w->ts_ns[i]))
			w->certainty[i] = WW_UNCERTAIN;
}

static void mark_gaps(struct ww_facts *f)
{
	if (!f->gap.n)
		return;
	struct span *v = ww_xcalloc(f->gap.n, sizeof(*v));
	struct marking m = {.f = f, .spans = {.v = v, .n = merge_gaps(f, v), .from = INT64_MAX}, .parts = ww_par_threads()};

	ww_par_run(m.parts, mark_part, &m);
	for (uint32_t i = 0; i < m.spans.n; i++)
		f->loss.gap_ns += v[i].to - v[i].from;
	free(v);
}

/* Who is put into the queue of a CPU that the trace has no event of (perf record -C) is out of sight. */
static void doubt_absent_cpus(struct ww_model *m)
{
	struct ww_state_cols *s = &m->f->state;
	bool absent = false;

	for (int16_t c = 0; c <= m->queued_cpu && !absent; c++)
		absent = (size_t)c >= m->cpus.n || !m->cpus.v[c].seen;
	for (uint32_t i = 0; absent && i < s->n; i++)
		if ((s->state[i] == WW_ST_RUNQUEUE || s->state[i] == WW_ST_PREEMPTED) && s->cpu[i] >= 0 &&
		    ((size_t)s->cpu[i] >= m->cpus.n || !m->cpus.v[s->cpu[i]].seen))
			s->state[i] = WW_ST_UNKNOWN;
}

/* Names that the recording saved beside its events, for threads that no event named. */
static void saved_names(struct ww_model *m)
{
	const struct ww_trace_info *i = ww_trace_info(m->trace);

	for (uint32_t k = 0; k < i->ncomms; k++) {
		const struct ww_saved_comm *c = &i->comms[k];
		uint32_t t = c->tid > 0 && c->tid <= WW_MAX_TID ? m->by_tid[c->tid] : 0;
		if (t && !m->f->thread.comm[t - 1])
			m->f->thread.comm[t - 1] = ww_strtab_intern_cstr(&m->f->strs, c->comm);
	}
}

/* Nobody was seen to come to a CPU or to leave it: what threads did in between is not known. */
static void forget_states(struct ww_facts *f)
{
	f->run.n = f->state.n = 0;
	f->loss.unseen_switches = 0;
	for (uint32_t t = 0; t < f->thread.n; t++) {
		const struct ww_state s = {.thread = t, .start_ts_ns = f->thread.start_ts_ns[t],
					   .dur_ns = f->thread.end_ts_ns[t] - f->thread.start_ts_ns[t], .state = WW_ST_UNKNOWN, .cpu = -1,
					   .syscall = WW_NONE};
		if (s.dur_ns > 0 && !(f->thread.flags[t] & WW_TF_IDLE))
			ww_state_push(f, &s);
	}
}

int ww_model_finish(struct ww_model *m, struct ww_err *err)
{
	const struct ww_trace_stats *st = ww_trace_stats(m->trace);
	struct ww_facts *f = m->f;

	if (!m->begun)
		m->now = m->begin = st->begin_ts_ns;
	m->now = WW_MAX(m->now, st->end_ts_ns);
	for (uint32_t i = 0; i < m->cpus.n; i++)
		end_cpu(m, i);
	for (size_t i = 0; i < m->thr.n; i++)
		end_thread(m, m->thr.v[i]);
	saved_names(m);
	f->begin_ts_ns = m->begin;
	f->end_ts_ns = m->now;
	if (f->target != WW_NONE && f->target_end_ts_ns == 0)
		f->target_end_ts_ns = f->thread.end_ts_ns[f->target];
	f->loss.lost_events = st->lost_events;
	f->loss.bad_packets = st->bad_packets;
	f->loss.out_of_order = st->out_of_order;
	if (!f->knows.switches)
		forget_states(f);
	mark_gaps(f);
	doubt_absent_cpus(m);
	ww_block_finish(m);
	ww_in_full_mark(m);
	ww_symbols_resolve(m);
	return ww_facts_seal(f, err);
}
