/* match.c - which streams of many hosts belong together; match_part.c makes them, match_stream.c matches two.
 *
 * All streams of a flow are one job's: what a job writes (packets of its streams) is its own.
 */
#include "base/par.h"
#include "clock/match_private.h"

enum { COUNTS = WW_MATCH_MAX_HOSTS * WW_MATCH_MAX_HOSTS };

struct ww_matcher *ww_matcher_new(void)
{
	struct ww_matcher *m = ww_xcalloc(1, sizeof(*m));

	m->count = ww_xcalloc(COUNTS, sizeof(*m->count));
	return m;
}

void ww_matcher_free(struct ww_matcher *m)
{
	if (!m)
		return;
	for (size_t h = 0; h < m->host.n; h++)
		ww_match_host_release(&m->host.v[h]);
	for (size_t i = 0; i < m->stream.n; i++) {
		ww_vec_free(&m->stream.v[i].again_sent);
		ww_vec_free(&m->stream.v[i].again_received);
	}
	ww_vec_free(&m->host);
	ww_vec_free(&m->flow);
	ww_vec_free(&m->stream);
	ww_u64map_release(&m->flows);
	ww_u64map_release(&m->by_isn);
	free(m->count);
	free(m);
}

/* The matcher's flow with these addresses. */
static uint32_t flow_get(struct ww_matcher *m, const struct ww_match_flow *fl)
{
	for (uint64_t key = ww_match_flow_key(fl);; key++) {
		bool fresh;
		uint64_t at = *ww_u64map_get(&m->flows, key, m->flow.n, &fresh);
		if (fresh) {
			*ww_vec_push(&m->flow) = *fl;
			return (uint32_t)at;
		}
		if (ww_match_same_flow(&m->flow.v[at], fl))
			return (uint32_t)at;
	}
}

static void join_stream(struct ww_matcher *m, const struct ww_match_stream *own, uint32_t flow)
{
	uint32_t i = (uint32_t)m->stream.n;
	struct ww_match_flow *fl = &m->flow.v[flow];
	struct ww_match_stream *s = ww_vec_push(&m->stream);

	*s = *own;
	s->flow = flow;
	s->host = (uint32_t)m->host.n - 1;
	s->next_of_flow = fl->first_stream;
	s->next_of_isn = WW_NONE;
	fl->first_stream = i;
	if (s->sent && s->has_isn) {
		bool fresh;
		uint64_t *head = ww_u64map_get(&m->by_isn, ww_match_isn_key(flow, s->isn), i, &fresh);
		if (!fresh) {
			s->next_of_isn = (uint32_t)*head;
			*head = i;
		}
	}
	*(s->sent ? &fl->sent_on : &fl->received_on) |= 1ull << s->host;
}

uint64_t ww_match_isn_key(uint32_t flow, uint32_t isn)
{
	return (uint64_t)flow << 32 | isn;
}

int ww_matcher_join(struct ww_matcher *m, struct ww_match_part *p, const char *path, struct ww_err *err)
{
	if (m->host.n == WW_MATCH_MAX_HOSTS || p->host.n >= WW_NONE - 1 - m->packets)
		return ww_err_set(err, WW_ELIMIT, path, WW_ERR_NO_OFFSET,
				  "at most %d hosts and 2^32 packets are matched at a time", WW_MATCH_MAX_HOSTS);
	struct ww_match_host *h = ww_vec_push(&m->host);
	*h = p->host;
	h->base = m->packets;
	m->packets += h->n;
	p->host = (struct ww_match_host){0};
	uint32_t *flow = ww_xmalloc(sizeof(*flow) * (p->flow.n + 1));
	for (size_t i = 0; i < p->flow.n; i++)
		flow[i] = flow_get(m, &p->flow.v[i]);
	for (size_t i = 0; i < p->stream.n; i++)
		join_stream(m, &p->stream.v[i], flow[p->stream.v[i].flow]);
	free(flow);
	return 0;
}

int ww_matcher_add(struct ww_matcher *m, const struct ww_facts *f, struct ww_err *err)
{
	struct ww_match_part *p = ww_match_part_new();

	ww_match_part_take(p, f, f->packet.n);
	ww_match_part_end(p);
	int rc = ww_matcher_join(m, p, f->host.trace_path, err);

	ww_match_part_free(p);
	return rc;
}

uint32_t ww_matcher_host_of(const struct ww_matcher *m, uint32_t number)
{
	uint32_t h = (uint32_t)m->host.n - 1;

	while (h && m->host.v[h].base > number)
		h--;
	return h;
}

/* ---- which streams belong together ---- */

/* A host that passes a flow on both received and sent it. Of two such hosts nothing says which came first. */
static bool may_be_sender(const struct ww_match_flow *fl, const struct ww_match_stream *s, const struct ww_match_stream *r)
{
	return s->sent && s->host != r->host &&
	       (!(fl->received_on & 1ull << s->host) || !(fl->sent_on & 1ull << r->host));
}

struct candidate {
	uint32_t stream; /* WW_NONE: none yet */
	uint64_t shared; /* sequence numbers in both */
	int64_t shift;
	bool passes_on;  /* its host received the flow too: nearer to the receiver than who only sent it */
};

static void consider(const struct ww_matcher *m, const struct ww_match_stream *r, uint32_t at, struct candidate *best)
{
	const struct ww_match_stream *s = &m->stream.v[at];
	const struct ww_match_flow *fl = &m->flow.v[s->flow];
	struct candidate c = {.stream = at, .passes_on = fl->received_on >> s->host & 1};

	if (!may_be_sender(fl, s, r))
		return;
	if (fl->proto != WW_PROTO_TCP) {
		c.shared = WW_MIN(s->n, r->n);
	} else if (s->has_isn && r->has_isn) {
		if (s->isn != r->isn)
			return;
		c.shared = WW_MIN(s->hi, r->hi) - WW_MAX(s->lo, r->lo) + 1;
	} else {
		/* Without the SYN the numbers are known but for multiples of 2^32. */
		int64_t turns = (int64_t)(s->lo >> 32) - (int64_t)(r->lo >> 32) - 1;
		for (int64_t end = (int64_t)(s->hi >> 32) - (int64_t)(r->lo >> 32) + 1; turns <= end; turns++) {
			uint64_t lo = WW_MAX(s->lo, r->lo + ((uint64_t)turns << 32)),
				 hi = WW_MIN(s->hi, r->hi + ((uint64_t)turns << 32));
			if (hi >= lo && hi < UINT64_MAX / 2 && hi - lo + 1 > c.shared) {
				c.shared = hi - lo + 1;
				c.shift = turns * (1LL << 32);
			}
		}
	}
	if (c.shared && (best->stream == WW_NONE || c.passes_on > best->passes_on ||
			 (c.passes_on == best->passes_on && c.shared > best->shared)))
		*best = c;
}

static struct candidate sender_of(const struct ww_matcher *m, const struct ww_match_stream *r)
{
	struct candidate best = {.stream = WW_NONE};
	const uint64_t *head;

	if (r->has_isn && (head = ww_u64map_find(&m->by_isn, ww_match_isn_key(r->flow, r->isn))))
		for (uint32_t s = (uint32_t)*head; s != WW_NONE; s = m->stream.v[s].next_of_isn)
			consider(m, r, s, &best);
	if (best.stream != WW_NONE)
		return best;
	for (uint32_t s = m->flow.v[r->flow].first_stream; s != WW_NONE; s = m->stream.v[s].next_of_flow)
		if (!r->has_isn || !m->stream.v[s].has_isn)
			consider(m, r, s, &best);
	return best;
}

struct run {
	struct ww_matcher *m;
	const struct ww_match_job *like; /* what each job begins as */
	uint32_t njobs;
	struct ww_match_count *count; /* a table a job */
};

static void match_stream(struct ww_match_job *job, struct ww_match_stream *r)
{
	const struct ww_match_flow *fl = &job->m->flow.v[r->flow];

	if (r->sent || !(fl->sent_on & ~(1ull << r->host)) || (job->time && !r->repeats))
		return;
	struct candidate c = sender_of(job->m, r);
	if (c.stream == WW_NONE)
		return;
	job->r = r;
	job->s = &job->m->stream.v[c.stream];
	job->shift = c.shift;
	job->tcp = fl->proto == WW_PROTO_TCP;
	if (job->time && !(job->known >> r->host & job->known >> job->s->host & 1))
		return;
	if (job->tcp)
		ww_match_tcp(job);
	else
		ww_match_udp(job);
}

static void count_stream(const struct ww_matcher *m, const struct ww_match_stream *s, struct ww_match_count *count)
{
	const struct ww_match_flow *fl = &m->flow.v[s->flow];
	const struct ww_match_host *h = &m->host.v[s->host];
	uint64_t others = (s->sent ? fl->received_on : fl->sent_on) & ~(1ull << s->host);
	uint64_t alone = 0;

	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t p = h->partner[h->order[s->first + k]];
		alone += p == WW_NONE;
		if (p != WW_NONE && !s->sent)
			count[ww_matcher_host_of(m, p) * WW_MATCH_MAX_HOSTS + s->host].matched++;
	}
	if (!others) /* the other end was not traced, or nothing arrived there */
		return;
	uint32_t other = (uint32_t)__builtin_ctzll(others);
	count[s->sent ? s->host * WW_MATCH_MAX_HOSTS + other : other * WW_MATCH_MAX_HOSTS + s->host].unmatched += alone;
}

static void run_job(void *ctx, uint32_t number)
{
	const struct run *run = ctx;
	struct ww_matcher *m = run->m;
	struct ww_match_job job = *run->like;

	job.m = m;
	for (size_t i = 0; i < m->stream.n; i++)
		if (m->stream.v[i].flow % run->njobs == number)
			match_stream(&job, &m->stream.v[i]);
	ww_match_job_release(&job);
	for (size_t i = 0; i < m->stream.n; i++)
		if (m->stream.v[i].flow % run->njobs == number)
			count_stream(m, &m->stream.v[i], run->count + (size_t)number * COUNTS);
}

static void run_jobs(struct ww_matcher *m, const struct ww_match_job *like)
{
	struct run run = {.m = m, .like = like, .njobs = WW_MIN(ww_par_threads(), 16u)};

	run.count = ww_xcalloc((size_t)run.njobs * COUNTS, sizeof(*run.count));
	ww_par_run(run.njobs, run_job, &run);
	memset(m->count, 0, COUNTS * sizeof(*m->count));
	for (size_t i = 0; i < (size_t)run.njobs * COUNTS; i++) {
		m->count[i % COUNTS].matched += run.count[i].matched;
		m->count[i % COUNTS].unmatched += run.count[i].unmatched;
	}
	free(run.count);
}

void ww_matcher_run(struct ww_matcher *m)
{
	for (size_t h = 0; h < m->host.n; h++) {
		struct ww_match_host *host = &m->host.v[h];
		host->partner = ww_xmalloc(sizeof(*host->partner) * ((size_t)host->n + 1));
		for (uint32_t i = 0; i < host->n; i++)
			host->partner[i] = WW_NONE;
	}
	run_jobs(m, &(struct ww_match_job){0});
}

void ww_matcher_refine(struct ww_matcher *m, int64_t (*time)(void *ctx, uint32_t host, int64_t ts_ns), void *ctx,
		       uint64_t known)
{
	run_jobs(m, &(struct ww_match_job){.time = time, .ctx = ctx, .known = known});
}
