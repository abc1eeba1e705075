/* sync.c - hulls of all pairs, the tree, and the corrections along it.
 *
 * Within this file a host's time x is ns since its own first event, so numbers are small; a fit of the pair
 * (a, b) gives b's x from a's. What leaves are corrections in epoch ns.
 */
#include "clock/sync.h"
#include "base/par.h"
#include "clock/agree.h"
#include "clock/match.h"
#include "clock/pieces.h"
#include "clock/stored.h"

enum { MAX_HOSTS = WW_MATCH_MAX_HOSTS };

struct clk { /* a host's */
	char *name, *path, *uuid;
	int64_t t0_ns, end_ns; /* epoch */
	int64_t epoch_offset_ns;
	uint32_t via;          /* towards the reference */
	bool reached;
	uint8_t worst;         /* accuracy of the path so far */
	struct ww_fit fit;     /* own x -> reference's x */
	ww_points bent;        /* the same where a pair on the way is; empty: fit */
	int64_t bound_ns;
};

struct pair {
	struct ww_hull hull;
	struct ww_fit fit;
	ww_points bent;        /* a's x -> b's, where no line can be; empty: fit. Then fit leads from its one end to the other */
	uint8_t accuracy;
	int64_t bound_ns;      /* over a's range; -1 unknown */
	uint64_t violations;
	int64_t violation_max_ns;
};

struct ww_sync {
	struct ww_matcher *m;
	WW_VEC(struct clk) clk;
	struct pair *pairs;    /* [a * n + b], a < b */
};

struct ww_sync_part {
	struct clk clk;
	struct ww_match_part *packets;
};

struct ww_sync *ww_sync_new(void)
{
	struct ww_sync *s = ww_xcalloc(1, sizeof(*s));

	s->m = ww_matcher_new();
	return s;
}

static void release_clk(struct clk *c)
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
	ww_matcher_free(s->m);
	free(s);
}

struct ww_sync_part *ww_sync_part_new(const struct ww_facts *f)
{
	const int64_t off = ww_set_epoch_offset(f);
	struct ww_sync_part *p = ww_xcalloc(1, sizeof(*p));

	p->packets = ww_match_part_new(f);
	p->clk = (struct clk){
		.name = ww_xstrdup(f->host.name ? f->host.name : ""), .via = WW_NONE,
		.path = ww_xstrdup(f->host.trace_path ? f->host.trace_path : ""),
		.uuid = ww_xstrdup(f->host.clock_uuid ? f->host.clock_uuid : ""), .epoch_offset_ns = off,
		.t0_ns = f->begin_ts_ns + off, .end_ns = f->end_ts_ns + off};
	return p;
}

void ww_sync_part_free(struct ww_sync_part *p)
{
	if (!p)
		return;
	ww_match_part_free(p->packets);
	release_clk(&p->clk);
	free(p);
}

int ww_sync_join(struct ww_sync *s, struct ww_sync_part *p, struct ww_err *err)
{
	int rc = ww_matcher_join(s->m, p->packets, p->clk.path, err);

	if (!rc) {
		*ww_vec_push(&s->clk) = p->clk;
		p->clk = (struct clk){0};
	}
	ww_sync_part_free(p);
	return rc;
}

int ww_sync_add(struct ww_sync *s, const struct ww_facts *f, struct ww_err *err)
{
	return ww_sync_join(s, ww_sync_part_new(f), err);
}

static struct pair *pair_of(const struct ww_sync *s, uint32_t a, uint32_t b)
{
	return &s->pairs[a < b ? a * s->clk.n + b : b * s->clk.n + a];
}

struct ww_packet_ref ww_sync_match(const struct ww_sync *s, uint32_t host, uint32_t packet)
{
	uint32_t p = s->m->host.v[host].partner[packet];

	if (p == WW_NONE)
		return (struct ww_packet_ref){WW_NONE, WW_NONE};
	uint32_t other = ww_matcher_host_of(s->m, p);
	return (struct ww_packet_ref){other, p - s->m->host.v[other].base};
}

/* ---- pairs ---- */

/* The messages of a with the hosts after it, in a's time order: pairs that no other host feeds. */
static void feed_hulls(void *ctx, uint32_t a)
{
	struct ww_sync *s = ctx;
	const struct ww_match_host *h = &s->m->host.v[a];

	for (uint32_t i = 0; i < h->n; i++) {
		struct ww_packet_ref r = ww_sync_match(s, a, i);
		if (r.host == WW_NONE || r.host <= a)
			continue;
		ww_hull_add(&pair_of(s, a, r.host)->hull, ww_match_is_sent(h, i) ? WW_SENT : WW_RECEIVED,
			    h->ts_ns[i] - s->clk.v[a].t0_ns,
			    s->m->host.v[r.host].ts_ns[r.packet] - s->clk.v[r.host].t0_ns);
	}
}

/* The line through the ends of one that bends. */
static struct ww_fit chord_of(const ww_points *line)
{
	const struct ww_point l = line->v[0], r = line->v[line->n - 1];
	__int128 dx = (__int128)r.x - l.x;
	struct ww_fit f = {.known = true};

	f.drift_e15 = (int64_t)(((__int128)r.y - l.y - dx) * WW_DRIFT_ONE / dx);
	f.offset_ns = l.y - l.x - (int64_t)((__int128)l.x * f.drift_e15 / WW_DRIFT_ONE);
	return f;
}

/* A pair that no steady clocks satisfy. */
static void bend_pair(struct ww_sync *s, uint32_t a, uint32_t b, struct pair *p)
{
	const struct ww_match_host *h = &s->m->host.v[a];
	WW_VEC(struct ww_message) m = {0};

	for (uint32_t i = 0; i < h->n; i++) {
		struct ww_packet_ref r = ww_sync_match(s, a, i);
		if (r.host == b)
			*ww_vec_push(&m) = (struct ww_message){h->ts_ns[i] - s->clk.v[a].t0_ns,
							       s->m->host.v[b].ts_ns[r.packet] - s->clk.v[b].t0_ns,
							       !ww_match_is_sent(h, i)};
	}
	if (ww_pieces_find(m.v, m.n, 0, s->clk.v[a].end_ns - s->clk.v[a].t0_ns, &p->bent, &p->bound_ns)) {
		p->fit = chord_of(&p->bent);
		p->accuracy = WW_AC_APPROXIMATE;
	}
	ww_vec_free(&m);
}

static void fit_pair(struct ww_sync *s, uint32_t a, uint32_t b)
{
	const struct clk *ca = &s->clk.v[a], *cb = &s->clk.v[b];
	struct pair *p = pair_of(s, a, b);

	if (*ca->uuid && !strcmp(ca->uuid, cb->uuid)) {
		p->accuracy = WW_AC_SHARED;
		p->fit = (struct ww_fit){.known = true, .bounded = true,
					 .offset_ns = (ca->t0_ns - ca->epoch_offset_ns) - (cb->t0_ns - cb->epoch_offset_ns)};
		return;
	}
	p->fit = ww_hull_fit(&p->hull);
	p->bound_ns = ww_hull_bound(&p->hull, &p->fit, 0, ca->end_ns - ca->t0_ns);
	p->accuracy = !p->fit.known ? WW_AC_NONE : p->hull.failed ? WW_AC_FAIL :
		      p->fit.bounded ? WW_AC_ACCURATE : WW_AC_APPROXIMATE;
	if (p->accuracy == WW_AC_FAIL)
		bend_pair(s, a, b, p);
}

/* A pair's possible error for b's or a's times in [from, to] of host `of`. */
static int64_t bound_over(const struct ww_sync *s, uint32_t a, uint32_t b, uint32_t of, int64_t from, int64_t to,
			  const struct ww_fit *to_a)
{
	const struct pair *p = pair_of(s, a, b);

	if (p->accuracy == WW_AC_SHARED)
		return 0;
	if (p->bent.n)
		return p->bound_ns;
	if (of != WW_MIN(a, b)) {
		from = ww_fit_apply(to_a, from);
		to = ww_fit_apply(to_a, to);
	}
	return ww_hull_bound(&p->hull, &p->fit, from, to);
}

/* ---- fits, one after the other ---- */

static int64_t mul_e15(int64_t a, int64_t b)
{
	__int128 v = (__int128)a * b;

	return (int64_t)((v < 0 ? v - WW_DRIFT_ONE / 2 : v + WW_DRIFT_ONE / 2) / WW_DRIFT_ONE);
}

/* x of b from x of a -> x of a from x of b. */
static struct ww_fit inverse(const struct ww_fit *f)
{
	struct ww_fit r = *f;
	const __int128 one = (__int128)WW_DRIFT_ONE + f->drift_e15;

	if (one <= 0) /* not a clock */
		return (struct ww_fit){0};
	r.drift_e15 = (int64_t)(-(__int128)f->drift_e15 * WW_DRIFT_ONE / one);
	r.offset_ns = (int64_t)(-(__int128)f->offset_ns * WW_DRIFT_ONE / one);
	return r;
}

/* first, then second. */
static struct ww_fit compose(const struct ww_fit *first, const struct ww_fit *second)
{
	struct ww_fit r = *first;

	r.drift_e15 = first->drift_e15 + second->drift_e15 + mul_e15(first->drift_e15, second->drift_e15);
	r.offset_ns = first->offset_ns + second->offset_ns + mul_e15(first->offset_ns, second->drift_e15);
	r.known = first->known && second->known;
	return r;
}

/* x of `to` from x of `from`. */
static struct ww_fit fit_between(const struct ww_sync *s, uint32_t from, uint32_t to)
{
	const struct ww_fit *f = &pair_of(s, from, to)->fit;

	return from < to ? *f : inverse(f);
}

/* ---- the tree ---- */

static int class_rank(uint8_t accuracy)
{
	static const int rank[WW_AC_N] = {[WW_AC_REFERENCE] = 0, [WW_AC_SHARED] = 1, [WW_AC_ACCURATE] = 2,
					  [WW_AC_APPROXIMATE] = 3, [WW_AC_FAIL] = 4, [WW_AC_NONE] = 5};
	return rank[accuracy];
}

static bool better(const struct pair *a, const struct pair *b)
{
	int ra = class_rank(a->accuracy), rb = class_rank(b->accuracy);

	return ra != rb ? ra < rb : (uint64_t)a->bound_ns < (uint64_t)b->bound_ns; /* -1 is the largest */
}

/* x of `to` from x of `from` as points: of a pair that does not bend, two. */
static void bent_between(const struct ww_sync *s, uint32_t from, uint32_t to, int64_t end, ww_points *ret)
{
	const struct pair *p = pair_of(s, from, to);
	const struct ww_fit f = fit_between(s, from, to);

	if (p->bent.n && from > to) {
		ww_bent_invert(&p->bent, ret);
		return;
	}
	for (size_t i = 0; i < p->bent.n; i++)
		*ww_vec_push(ret) = p->bent.v[i];
	for (int i = 0; i < 2 && !p->bent.n; i++)
		*ww_vec_push(ret) = (struct ww_point){i * end, ww_fit_apply(&f, i * end)};
}

/* Along the tree, when a pair on the way bends. */
static void reach_bent(struct ww_sync *s, uint32_t host, uint32_t via)
{
	struct clk *c = &s->clk.v[host], *next = &s->clk.v[via];
	ww_points step = {0}, rest = {0};

	ww_vec_clear(&c->bent);
	if (!pair_of(s, host, via)->bent.n && !next->bent.n)
		return;
	bent_between(s, host, via, WW_MAX(c->end_ns - c->t0_ns, 1000), &step);
	for (size_t i = 0; i < next->bent.n; i++)
		*ww_vec_push(&rest) = next->bent.v[i];
	for (int i = 0; i < 2 && !next->bent.n; i++) {
		int64_t x = i * WW_MAX(next->end_ns - next->t0_ns, 1000);
		*ww_vec_push(&rest) = (struct ww_point){x, ww_fit_apply(&next->fit, x)};
	}
	ww_bent_compose(&step, &rest, &c->bent);
	ww_vec_free(&step);
	ww_vec_free(&rest);
	c->fit = chord_of(&c->bent);
}

static void reach(struct ww_sync *s, uint32_t host, uint32_t via)
{
	struct clk *c = &s->clk.v[host], *next = &s->clk.v[via];
	const struct pair *p = pair_of(s, host, via);
	const struct ww_fit step = fit_between(s, host, via);
	int64_t from = 0, to = c->end_ns - c->t0_ns, bound = 0;

	c->reached = true;
	c->via = via;
	c->worst = class_rank(p->accuracy) > class_rank(next->worst) ? p->accuracy : next->worst;
	c->fit = compose(&step, &next->fit);
	reach_bent(s, host, via);
	/* The host's range walks to the reference; each step adds its error over it, and a ns of rounding. */
	for (uint32_t at = host; s->clk.v[at].via != WW_NONE; at = s->clk.v[at].via) {
		uint32_t up = s->clk.v[at].via;
		const struct ww_fit f = fit_between(s, at, up);
		int64_t b = bound_over(s, at, up, at, from, to, &f);
		bound = b < 0 || bound < 0 ? -1 : bound + b + (pair_of(s, at, up)->accuracy != WW_AC_SHARED);
		from = ww_fit_apply(&f, from);
		to = ww_fit_apply(&f, to);
	}
	c->bound_ns = bound;
}

static void grow_tree(struct ww_sync *s, uint32_t root)
{
	const uint32_t n = (uint32_t)s->clk.n;

	for (uint32_t h = 0; h < n; h++) {
		struct clk *c = &s->clk.v[h];
		c->reached = h == root;
		c->via = WW_NONE;
		c->worst = h == root ? WW_AC_REFERENCE : WW_AC_NONE;
		c->fit = (struct ww_fit){.known = h == root, .bounded = true};
		ww_vec_clear(&c->bent);
		c->bound_ns = h == root ? 0 : -1;
	}
	for (;;) {
		uint32_t host = WW_NONE, via = WW_NONE;
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = 0; b < n; b++)
				if (s->clk.v[a].reached && !s->clk.v[b].reached && pair_of(s, a, b)->fit.known &&
				    (host == WW_NONE || better(pair_of(s, a, b), pair_of(s, host, via)))) {
					host = b;
					via = a;
				}
		if (host == WW_NONE)
			return;
		reach(s, host, via);
	}
}

/* How bad a tree is: hosts that it does not reach, then classes, then bounds. */
struct score {
	uint32_t unreached, rank;
	uint64_t bounds;
};

static struct score score_of(const struct ww_sync *s)
{
	struct score r = {0};

	for (size_t h = 0; h < s->clk.n; h++) {
		const struct clk *c = &s->clk.v[h];
		r.unreached += !c->reached;
		r.rank += (uint32_t)class_rank(c->worst);
		r.bounds += c->bound_ns < 0 ? WW_DRIFT_ONE : (uint64_t)WW_MIN(c->bound_ns, WW_DRIFT_ONE);
	}
	return r;
}

static bool lower(const struct score *a, const struct score *b)
{
	if (a->unreached != b->unreached)
		return a->unreached < b->unreached;
	return a->rank != b->rank ? a->rank < b->rank : a->bounds < b->bounds;
}

static int find_reference(struct ww_sync *s, const struct ww_set_opts *o, uint32_t *ret, struct ww_err *err)
{
	struct score best = {UINT32_MAX, 0, 0};
	const char *name = o ? o->reference : NULL;

	*ret = o && o->host_is_reference ? o->host : WW_NONE;
	if (*ret != WW_NONE)
		return 0;
	for (uint32_t h = 0; h < s->clk.n && name; h++)
		if (!strcmp(s->clk.v[h].path, name))
			*ret = h;
	for (uint32_t h = 0; h < s->clk.n && name && *ret == WW_NONE; h++)
		if (!strcmp(s->clk.v[h].name, name))
			*ret = h;
	if (name && *ret == WW_NONE) {
		int rc = ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "no trace and no host is called '%s'", name);
		ww_err_hint(err, "the reference is one of the traces, by its path as written or its host's name");
		return rc;
	}
	for (uint32_t h = 0; h < s->clk.n && !name; h++) {
		grow_tree(s, h);
		struct score sc = score_of(s);
		if (*ret == WW_NONE || lower(&sc, &best)) {
			best = sc;
			*ret = h;
		}
	}
	return 0;
}

/* ---- the answer ---- */

static struct ww_correction correction_of(const struct ww_sync *s, struct ww_arena *mem, uint32_t h, uint32_t reference)
{
	const struct clk *c = &s->clk.v[h], *ref = &s->clk.v[reference];

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

/* ---- pairs beside the tree ---- */

enum { AGREE_MARGIN_NS = 4, AGREE_ROUNDS = 2000 };

/* The host whose clock a host's is, and what its x is beside that one's. */
static uint32_t leader_of(const struct ww_sync *s, uint32_t h, int64_t *ret_offset)
{
	for (uint32_t l = 0; l < h; l++)
		if (pair_of(s, l, h)->accuracy == WW_AC_SHARED) {
			*ret_offset = fit_between(s, h, l).offset_ns;
			return l;
		}
	*ret_offset = 0;
	return h;
}

static double part_of_range(const struct ww_sync *s, uint32_t leader, int64_t x)
{
	int64_t range = s->clk.v[leader].end_ns - s->clk.v[leader].t0_ns;

	return (double)x / (double)WW_MAX(range, 1);
}

typedef WW_VEC(struct ww_limit) limits;

static void add_limits(const struct ww_sync *s, limits *v, uint32_t a, uint32_t b)
{
	const struct ww_hull *h = &pair_of(s, a, b)->hull;
	int64_t off_a, off_b;
	uint32_t lead_a = leader_of(s, a, &off_a), lead_b = leader_of(s, b, &off_b);

	for (int below = 0; below < 2; below++) {
		const ww_points *p = below ? &h->below : &h->above;
		for (size_t i = 0; i < p->n; i++) {
			int64_t late = ww_fit_apply(&s->clk.v[b].fit, p->v[i].y) - ww_fit_apply(&s->clk.v[a].fit, p->v[i].x);
			double at_a = part_of_range(s, lead_a, p->v[i].x + off_a),
			       at_b = part_of_range(s, lead_b, p->v[i].y + off_b);
			*ww_vec_push(v) = below ? (struct ww_limit){lead_b, lead_a, at_b, at_a, (double)-late}
						: (struct ww_limit){lead_a, lead_b, at_a, at_b, (double)late};
		}
	}
}

static void apply_shift(struct ww_sync *s, uint32_t h, const struct ww_shift *shift)
{
	struct clk *c = &s->clk.v[h];
	int64_t off, range = WW_MAX(c->end_ns - c->t0_ns, 1);
	uint32_t lead = leader_of(s, h, &off);
	double at = part_of_range(s, lead, off), to = part_of_range(s, lead, off + range);
	double begin = shift[lead].begin_ns + at * (shift[lead].end_ns - shift[lead].begin_ns);
	double end = shift[lead].begin_ns + to * (shift[lead].end_ns - shift[lead].begin_ns);

	if (begin == 0 && end == 0)
		return;
	c->fit.offset_ns += (int64_t)begin;
	c->fit.drift_e15 += (int64_t)((end - begin) / (double)range * (double)WW_DRIFT_ONE);
	if (c->bound_ns >= 0)
		c->bound_ns += (int64_t)WW_MAX(begin < 0 ? -begin : begin, end < 0 ? -end : end) + 1;
}

/* Where the tree leaves a pair with packets that arrive too early, all clocks give way a little. A pair that no
 * steady clocks satisfy has no say. */
static void make_pairs_agree(struct ww_sync *s, uint32_t reference)
{
	const uint32_t n = (uint32_t)s->clk.n;
	struct ww_shift *shift = ww_xcalloc(n, sizeof(*shift));
	limits v = {0};
	int64_t off;
	bool kept = true;

	for (uint32_t h = 0; h < n; h++)
		if (s->clk.v[h].bent.n) { /* a change at both ends would not keep what is between */
			free(shift);
			return;
		}
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++)
			if (s->clk.v[a].reached && s->clk.v[b].reached && !pair_of(s, a, b)->hull.failed)
				add_limits(s, &v, a, b);
	for (size_t i = 0; i < v.n; i++)
		kept = kept && v.v[i].slack_ns >= 0;
	if (!kept && ww_agree(v.v, v.n, shift, leader_of(s, reference, &off), AGREE_MARGIN_NS, AGREE_ROUNDS))
		for (uint32_t h = 0; h < n; h++)
			if (s->clk.v[h].reached)
				apply_shift(s, h, shift);
	ww_vec_free(&v);
	free(shift);
}

static struct ww_set_host *describe_hosts(const struct ww_sync *s, struct ww_arena *mem)
{
	struct ww_set_host *who = WW_ARENA_ARRAY(mem, struct ww_set_host, s->clk.n);

	for (size_t h = 0; h < s->clk.n; h++) {
		const struct clk *c = &s->clk.v[h];
		who[h] = (struct ww_set_host){ww_arena_strdup(mem, c->name), ww_arena_strdup(mem, c->path),
					      ww_arena_strdup(mem, c->uuid), c->t0_ns, c->end_ns, s->m->host.v[h].n};
	}
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
	const struct ww_fit back = inverse(&from_ref);
	for (uint32_t h = 0; h < n; h++) {
		struct clk *c = &s->clk.v[h];
		const struct ww_fit f = {.known = true, .drift_e15 = known[h].drift_e15,
					 .offset_ns = ww_correction_apply(&known[h], known[h].t0_ns) - zero};
		c->reached = true;
		c->fit = h == ref ? (struct ww_fit){.known = true} : compose(&f, &back);
		c->worst = h == ref ? WW_AC_REFERENCE : known[h].accuracy == WW_AC_REFERENCE ? known[ref].accuracy :
			   class_rank(known[ref].accuracy) > class_rank(known[h].accuracy) ? known[ref].accuracy : known[h].accuracy;
		c->bound_ns = h == ref ? 0 : known[h].bound_ns < 0 || known[ref].bound_ns < 0 ? -1 :
			      known[h].bound_ns + known[ref].bound_ns;
		c->via = h == ref ? WW_NONE : ref;
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
		struct ww_packet_ref r = ww_sync_match(s, h, i);
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
			struct pair *p = pair_of(s, h, from);
			p->violations += v->n;
			p->violation_max_ns = WW_MAX(p->violation_max_ns, v->max_ns);
		}
	free(c.v);
}

static void put_pairs(struct ww_sync *s, struct ww_set *set, struct ww_arena *mem)
{
	const uint32_t n = (uint32_t)s->clk.n;

	set->pairs = WW_ARENA_ARRAY(mem, struct ww_pair, (size_t)n * n);
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++) {
			const struct pair *p = pair_of(s, a, b);
			const struct ww_match_count *ab = &s->m->count[a * MAX_HOSTS + b],
						    *ba = &s->m->count[b * MAX_HOSTS + a];
			const struct ww_fit f = inverse(&p->fit);
			if (p->accuracy == WW_AC_NONE && !ab->unmatched && !ba->unmatched)
				continue;
			set->pairs[set->npairs++] = (struct ww_pair){
				.a = a, .b = b, .matched = ab->matched + ba->matched,
				.unmatched = ab->unmatched + ba->unmatched, .violations_after = p->violations,
				.violation_max_ns = p->violation_max_ns, .accuracy = p->accuracy, .bound_ns = p->bound_ns,
				.offset_ns = p->fit.known ? f.offset_ns + s->clk.v[a].t0_ns - s->clk.v[b].t0_ns : 0,
				.drift_e15 = f.drift_e15};
		}
}

/* One recording given twice, copied or not, is no second host: its packets would match their own copies. */
static bool is_same(const struct ww_sync *s, uint32_t a, uint32_t b)
{
	const struct clk *x = &s->clk.v[a], *y = &s->clk.v[b];

	if (x->t0_ns != y->t0_ns || strcmp(x->uuid, y->uuid) || strcmp(x->name, y->name))
		return false;
	return *x->uuid || (x->end_ns == y->end_ns && s->m->host.v[a].n == s->m->host.v[b].n);
}

static int refuse_same(const struct ww_sync *s, struct ww_err *err)
{
	for (uint32_t a = 0; a < s->clk.n; a++)
		for (uint32_t b = a + 1; b < s->clk.n; b++)
			if (is_same(s, a, b)) {
				ww_err_set(err, WW_EUSAGE, s->clk.v[b].path, WW_ERR_NO_OFFSET,
					   "this is the same recording as %s: the same clock and first event", s->clk.v[a].path);
				return ww_err_hint(err, "give the traces of different hosts, each once");
			}
	return 0;
}

int ww_sync_solve(struct ww_sync *s, struct ww_arena *mem, const struct ww_set_opts *opts, struct ww_set *ret,
		  struct ww_err *err)
{
	const uint32_t n = (uint32_t)s->clk.n;
	struct ww_set set = {.nhosts = n};
	uint64_t known = 0;

	WW_ASSERT(!s->pairs);
	int rc = refuse_same(s, err);
	if (rc)
		return rc;
	s->pairs = ww_xcalloc((size_t)n * n, sizeof(*s->pairs));
	ww_matcher_run(s->m);
	ww_par_run(n, feed_hulls, s);
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++)
			fit_pair(s, a, b);
	set.who = describe_hosts(s, mem);
	set.corrections = WW_ARENA_ARRAY(mem, struct ww_correction, n);
	if (opts && opts->stored && !opts->reference && ww_stored_load(set.who, n, set.corrections)) {
		set.reference = use_stored(s, set.corrections, opts);
	} else {
		rc = find_reference(s, opts, &set.reference, err);
		if (rc)
			return rc;
		grow_tree(s, set.reference);
		make_pairs_agree(s, set.reference);
	}
	set.unreached = WW_ARENA_ARRAY(mem, uint32_t, n);
	for (uint32_t h = 0; h < n; h++) {
		set.corrections[h] = correction_of(s, mem, h, set.reference);
		known |= (uint64_t)s->clk.v[h].reached << h;
		if (!s->clk.v[h].reached)
			set.unreached[set.nunreached++] = h;
	}
	ww_matcher_refine(s->m, corrected, &set, known);
	count_violations(s, &set);
	put_pairs(s, &set, mem);
	*ret = set;
	return 0;
}
