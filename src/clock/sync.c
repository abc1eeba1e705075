/* sync.c - hosts come in, their packets are matched, and corrections go out. */
#include "clock/sync_private.h"
#include "base/par.h"
#include "clock/stored.h"

struct ww_sync_part {
	struct sync_clk clk;
	struct ww_match_part *packets;
};

struct ww_sync *ww_sync_new(void)
{
	struct ww_sync *s = ww_xcalloc(1, sizeof(*s));

	s->m = ww_matcher_new();
	return s;
}

static void release_clk(struct sync_clk *c)
{
	free(c->name);
	free(c->path);
	free(c->uuid);
	ww_vec_free(&c->bent);
}

void ww_sync_free(struct ww_sync *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->pairs && i < s->clk.n * s->clk.n; i++) {
		ww_hull_release(&s->pairs[i].hull);
		ww_vec_free(&s->pairs[i].bent);
	}
	free(s->pairs);
	for (size_t i = 0; i < s->clk.n; i++)
		release_clk(&s->clk.v[i]);
	ww_vec_free(&s->clk);
	for (size_t i = 0; i < s->parts.n; i++)
		ww_sync_part_free(s->parts.v[i]);
	ww_vec_free(&s->parts);
	free(s->inner);
	free(s->outer);
	ww_matcher_free(s->m);
	free(s);
}

struct ww_sync_part *ww_sync_part_new(void)
{
	struct ww_sync_part *p = ww_xcalloc(1, sizeof(*p));

	p->packets = ww_match_part_new();
	return p;
}

void ww_sync_part_take(struct ww_sync_part *p, const struct ww_facts *f, uint32_t n)
{
	ww_match_part_take(p->packets, f, n);
}

void ww_sync_part_end(struct ww_sync_part *p, const struct ww_facts *f)
{
	const int64_t off = ww_set_epoch_offset(f);

	ww_match_part_take(p->packets, f, f->packet.n);
	ww_match_part_end(p->packets);
	p->clk = (struct sync_clk){
		.name = ww_xstrdup(f->host.name ? f->host.name : ""), .via = WW_NONE,
		.path = ww_xstrdup(f->host.trace_path ? f->host.trace_path : ""),
		.uuid = ww_xstrdup(f->host.clock_uuid ? f->host.clock_uuid : ""), .epoch_offset_ns = off,
		.t0_ns = f->begin_ts_ns + off, .end_ns = f->end_ts_ns + off};
}

void ww_sync_part_free(struct ww_sync_part *p)
{
	if (!p)
		return;
	ww_match_part_free(p->packets);
	release_clk(&p->clk);
	free(p);
}

void ww_sync_join(struct ww_sync *s, struct ww_sync_part *p)
{
	*ww_vec_push(&s->parts) = p;
}

void ww_sync_add(struct ww_sync *s, const struct ww_facts *f)
{
	struct ww_sync_part *p = ww_sync_part_new();

	ww_sync_part_end(p, f);
	ww_sync_join(s, p);
}

/* ---- the order of the hosts ---- */

struct place {
	const struct sync_clk *clk;
	uint32_t outer;
};

static int in_order(const void *a, const void *b)
{
	const struct place *p = a, *q = b;
	const struct sync_clk *x = p->clk, *y = q->clk;
	int r = strcmp(x->name, y->name);

	r = r ? r : strcmp(x->uuid, y->uuid);
	r = r ? r : (x->t0_ns > y->t0_ns) - (x->t0_ns < y->t0_ns);
	r = r ? r : (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
	return r ? r : (p->outer > q->outer) - (p->outer < q->outer);
}

/* From the parts to clocks and the matcher. */
static int take_parts(struct ww_sync *s, struct ww_err *err)
{
	const uint32_t n = (uint32_t)s->parts.n;
	struct place *at = ww_xcalloc((size_t)n + 1, sizeof(*at));
	int rc = 0;

	s->inner = ww_xcalloc((size_t)n + 1, sizeof(*s->inner));
	s->outer = ww_xcalloc((size_t)n + 1, sizeof(*s->outer));
	for (uint32_t i = 0; i < n; i++)
		at[i] = (struct place){&s->parts.v[i]->clk, i};
	qsort(at, n, sizeof(*at), in_order);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct ww_sync_part *p = s->parts.v[at[i].outer];

		s->outer[i] = at[i].outer;
		s->inner[at[i].outer] = i;
		rc = ww_matcher_join(s->m, p->packets, p->clk.path, err);
		if (!rc) {
			*ww_vec_push(&s->clk) = p->clk;
			p->clk = (struct sync_clk){0};
		}
		ww_sync_part_free(p);
		s->parts.v[at[i].outer] = NULL;
	}
	free(at);
	return rc;
}

struct ww_packet_ref ww_sync_match(const struct ww_sync *s, uint32_t host, uint32_t packet)
{
	struct ww_packet_ref r = ww_sync_other_end(s, s->inner[host], packet);

	if (r.host != WW_NONE)
		r.host = s->outer[r.host];
	return r;
}

/* ---- the answer ---- */

static struct ww_correction correction_of(const struct ww_sync *s, struct ww_arena *mem, uint32_t h, uint32_t reference)
{
	const struct sync_clk *c = &s->clk.v[h], *ref = &s->clk.v[reference];

	struct ww_correction r = {
		.t0_ns = c->t0_ns, .accuracy = c->worst, .via = c->via, .bound_ns = c->bound_ns,
		.offset_ns = c->reached ? c->fit.offset_ns + (ref->t0_ns - c->t0_ns) : 0,
		.drift_e15 = c->fit.drift_e15};
	struct ww_bend *bends = c->bent.n ? WW_ARENA_ARRAY(mem, struct ww_bend, c->bent.n) : NULL;

	for (size_t i = 0; i < c->bent.n; i++)
		bends[i] = (struct ww_bend){c->bent.v[i].x + c->t0_ns, c->bent.v[i].y + ref->t0_ns};
	r.bends = bends;
	r.nbends = (uint32_t)c->bent.n;
	if (r.nbends && !r.drift_e15)
		r.drift_e15 = 1; /* nobody takes it for a clock that an addition corrects */
	return r;
}

static struct ww_set_host *describe_hosts(const struct ww_sync *s, struct ww_arena *mem)
{
	struct ww_set_host *who = WW_ARENA_ARRAY(mem, struct ww_set_host, s->clk.n);

	for (size_t h = 0; h < s->clk.n; h++) {
		const struct sync_clk *c = &s->clk.v[h];
		who[h] = (struct ww_set_host){ww_arena_strdup(mem, c->name), ww_arena_strdup(mem, c->path),
					      ww_arena_strdup(mem, c->uuid), c->t0_ns, c->end_ns, s->m->host.v[h].n, NULL};
	}
	ww_set_label(who, (uint32_t)s->clk.n);
	return who;
}

/* Corrections to a reference that may not be here: then to the host that is asked for, or is known best. Returns it. */
static uint32_t use_stored(struct ww_sync *s, const struct ww_correction *known, const struct ww_set_opts *o)
{
	const uint32_t n = (uint32_t)s->clk.n;
	uint32_t ref = o->host_is_reference ? o->host : 0;

	for (uint32_t h = 1; h < n && !o->host_is_reference; h++)
		if ((uint64_t)known[h].bound_ns < (uint64_t)known[ref].bound_ns)
			ref = h;
	/* The stored reference's x begins at this host's first event. */
	const int64_t zero = ww_correction_apply(&known[ref], known[ref].t0_ns);
	const struct ww_fit from_ref = {.known = true, .drift_e15 = known[ref].drift_e15};
	const struct ww_fit back = ww_fit_inverse(&from_ref);
	for (uint32_t h = 0; h < n; h++) {
		struct sync_clk *c = &s->clk.v[h];
		const struct ww_fit f = {.known = true, .drift_e15 = known[h].drift_e15,
					 .offset_ns = ww_correction_apply(&known[h], known[h].t0_ns) - zero};
		c->reached = true;
		c->fit = h == ref ? (struct ww_fit){.known = true} : ww_fit_compose(&f, &back);
		c->worst = h == ref ? WW_AC_REFERENCE : known[h].accuracy == WW_AC_REFERENCE ? known[ref].accuracy :
			   ww_sync_rank(known[ref].accuracy) > ww_sync_rank(known[h].accuracy) ? known[ref].accuracy : known[h].accuracy;
		c->bound_ns = h == ref ? 0 : known[h].bound_ns < 0 || known[ref].bound_ns < 0 ? -1 :
			      known[h].bound_ns + known[ref].bound_ns;
		c->via = WW_NONE; /* which hosts were on the way is not stored, and they need not be here */
	}
	return ref;
}

static int64_t corrected(void *ctx, uint32_t host, int64_t ts_ns)
{
	const struct ww_set *set = ctx;

	return ww_correction_apply(&set->corrections[host], ts_ns);
}

struct violations { uint64_t n; int64_t max_ns; };

struct counting {
	struct ww_sync *s;
	struct ww_set *set;
	struct violations *v; /* [receiver * hosts + sender] */
};

static void count_arrivals(void *ctx, uint32_t h)
{
	const struct counting *c = ctx;
	const struct ww_sync *s = c->s;
	const struct ww_match_host *mh = &s->m->host.v[h];

	for (uint32_t i = 0; i < mh->n && s->clk.v[h].reached; i++) {
		if (ww_match_is_sent(mh, i))
			continue;
		struct ww_packet_ref r = ww_sync_other_end(s, h, i);
		if (r.host == WW_NONE || !s->clk.v[r.host].reached)
			continue;
		int64_t early = corrected(c->set, r.host, s->m->host.v[r.host].ts_ns[r.packet]) -
				corrected(c->set, h, mh->ts_ns[i]);
		struct violations *v = &c->v[h * s->clk.n + r.host];
		v->n += early > 0;
		v->max_ns = WW_MAX(v->max_ns, early);
	}
}

static void count_violations(struct ww_sync *s, struct ww_set *set)
{
	const uint32_t n = (uint32_t)s->clk.n;
	struct counting c = {s, set, ww_xcalloc((size_t)n * n, sizeof(*c.v))};

	ww_par_run(n, count_arrivals, &c);
	for (uint32_t h = 0; h < n; h++)
		for (uint32_t from = 0; from < n; from++) {
			const struct violations *v = &c.v[h * n + from];
			struct sync_pair *p = ww_sync_pair(s, h, from);
			p->violations += v->n;
			p->violation_max_ns = WW_MAX(p->violation_max_ns, v->max_ns);
		}
	free(c.v);
}

/* By the numbers that the hosts came with. */
static void put_pair(const struct ww_sync *s, struct ww_set *set, uint32_t outer_a, uint32_t outer_b)
{
	const uint32_t a = s->inner[outer_a], b = s->inner[outer_b];
	const struct sync_pair *p = ww_sync_pair(s, a, b);
	const struct ww_match_count *ab = &s->m->count[a * WW_MATCH_MAX_HOSTS + b], *ba = &s->m->count[b * WW_MATCH_MAX_HOSTS + a];

	if (p->accuracy == WW_AC_NONE && !ab->unmatched && !ba->unmatched)
		return;
	const struct ww_fit there = ww_sync_fit(s, a, b), back = ww_sync_fit(s, b, a);
	set->pairs[set->npairs++] = (struct ww_pair){
		.a = outer_a, .b = outer_b, .matched = ab->matched + ba->matched, .unmatched = ab->unmatched + ba->unmatched,
		.violations_after = p->violations, .violation_max_ns = p->violation_max_ns, .accuracy = p->accuracy,
		.bound_ns = a < b || p->bound_ns < 0 ? p->bound_ns :
			    ww_sync_bound(s, a, b, a, 0, s->clk.v[a].end_ns - s->clk.v[a].t0_ns, &there),
		.offset_ns = p->fit.known ? back.offset_ns + s->clk.v[a].t0_ns - s->clk.v[b].t0_ns : 0,
		.drift_e15 = back.drift_e15};
}

/* From the order here to the one in which the hosts came. */
static void put_hosts(const struct ww_sync *s, struct ww_arena *mem, struct ww_set *set)
{
	const uint32_t n = set->nhosts;
	struct ww_set_host *who = WW_ARENA_ARRAY(mem, struct ww_set_host, n);
	struct ww_correction *corrections = WW_ARENA_ARRAY(mem, struct ww_correction, n);

	set->reference = s->outer[set->reference];
	set->pairs = WW_ARENA_ARRAY(mem, struct ww_pair, (size_t)n * n);
	set->unreached = WW_ARENA_ARRAY(mem, uint32_t, n);
	for (uint32_t h = 0; h < n; h++) {
		const uint32_t i = s->inner[h];

		who[h] = set->who[i];
		corrections[h] = set->corrections[i];
		if (corrections[h].via != WW_NONE)
			corrections[h].via = s->outer[corrections[h].via];
		if (!s->clk.v[i].reached)
			set->unreached[set->nunreached++] = h;
		for (uint32_t b = h + 1; b < n; b++)
			put_pair(s, set, h, b);
	}
	set->who = who;
	set->corrections = corrections;
}

/* One recording given twice, copied or not, is no second host: its packets would match their own copies. */
static bool is_same(const struct ww_sync *s, uint32_t a, uint32_t b)
{
	const struct sync_clk *x = &s->clk.v[a], *y = &s->clk.v[b];

	if (x->t0_ns != y->t0_ns || strcmp(x->uuid, y->uuid) || strcmp(x->name, y->name))
		return false;
	return *x->uuid || (x->end_ns == y->end_ns && s->m->host.v[a].n == s->m->host.v[b].n);
}

static int refuse_same(const struct ww_sync *s, struct ww_err *err)
{
	for (uint32_t a = 0; a < s->clk.n; a++)
		for (uint32_t b = a + 1; b < s->clk.n; b++)
			if (is_same(s, s->inner[a], s->inner[b])) {
				ww_err_set(err, WW_EUSAGE, s->clk.v[s->inner[b]].path, WW_ERR_NO_OFFSET,
					   "this is the same recording as %s: the same clock and first event",
					   s->clk.v[s->inner[a]].path);
				return ww_err_hint(err, "give the traces of different hosts, each once");
			}
	return 0;
}

int ww_sync_solve(struct ww_sync *s, struct ww_arena *mem, const struct ww_set_opts *given, struct ww_set *ret,
		  struct ww_err *err)
{
	struct ww_set_opts opts = given ? *given : (struct ww_set_opts){0};
	uint64_t known = 0;

	WW_ASSERT(!s->pairs);
	int rc = take_parts(s, err);
	if (!rc)
		rc = refuse_same(s, err);
	if (rc)
		return rc;
	const uint32_t n = (uint32_t)s->clk.n;
	struct ww_set set = {.nhosts = n};
	if (opts.host_is_reference)
		opts.host = s->inner[opts.host];
	s->pairs = ww_xcalloc((size_t)n * n, sizeof(*s->pairs));
	ww_matcher_run(s->m);
	ww_sync_fit_pairs(s);
	set.who = describe_hosts(s, mem);
	set.corrections = WW_ARENA_ARRAY(mem, struct ww_correction, n);
	if (opts.stored && !opts.reference && ww_stored_load(set.who, n, set.corrections)) {
		set.reference = use_stored(s, set.corrections, &opts);
	} else {
		rc = ww_sync_root(s, set.who, &opts, &set.reference, err);
		if (rc)
			return rc;
		ww_sync_grow(s, set.reference);
		ww_sync_agree(s, set.reference);
	}
	for (uint32_t h = 0; h < n; h++) {
		set.corrections[h] = correction_of(s, mem, h, set.reference);
		known |= (uint64_t)s->clk.v[h].reached << h;
	}
	ww_matcher_refine(s->m, corrected, &set, known);
	count_violations(s, &set);
	put_hosts(s, mem, &set);
	*ret = set;
	return 0;
}
