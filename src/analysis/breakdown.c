/* breakdown.c - sums a thread's states into rows that add up to its wall time exactly. */
#include "analysis/names.h"
#include "analysis/report.h"
#include "analysis/state_key.h"
#include "base/par.h"
#include "base/u64map.h"
#include "base/vec.h"

struct group {
	struct ww_state_key key;
	uint32_t example; /* a state row; WW_NONE: time that no state covers */
	int64_t ns, max_ns, uncertain_ns;
	uint32_t count;
};

/* Groups by key; the same few come again and again, so the last ones are looked at first. */
#define RECENT 16u
struct groups {
	struct group *v;
	size_t n, cap;
	struct ww_u64map map;
	uint32_t recent[RECENT]; /* index + 1; 0 none */
};

static struct group *group_find(struct groups *groups, const struct ww_state_key *k, uint32_t example)
{
	for (uint64_t h = ww_state_key_hash(k);; h++) {
		bool fresh = false;
		uint64_t *at = ww_u64map_get(&groups->map, h, groups->n, &fresh);
		if (fresh) {
			struct group *g = ww_vec_push(groups);
			g->key = *k;
			g->example = example;
			return g;
		}
		if (!memcmp(&groups->v[*at].key, k, sizeof(*k)))
			return &groups->v[*at];
	}
}

static struct group *group_get(struct groups *groups, const struct ww_state_key *k, uint32_t example)
{
	uint32_t *recent = &groups->recent[(k->state + k->syscall_name * 5 + k->detail + k->other * 3) % RECENT];

	if (WW_LIKELY(*recent) && !memcmp(&groups->v[*recent - 1].key, k, sizeof(*k)))
		return &groups->v[*recent - 1];
	struct group *g = group_find(groups, k, example);
	*recent = (uint32_t)(g - groups->v) + 1;
	return g;
}

static void groups_free(struct groups *groups)
{
	ww_vec_free(groups);
	ww_u64map_release(&groups->map);
}

static void group_add(struct group *g, int64_t ns, bool uncertain)
{
	g->ns += ns;
	g->max_ns = WW_MAX(g->max_ns, ns);
	g->uncertain_ns += uncertain ? ns : 0;
	g->count++;
}

static void add_uncovered(struct groups *groups, int64_t ns)
{
	struct ww_state_key k;

	if (ns <= 0)
		return;
	memset(&k, 0, sizeof(k));
	k.state = WW_ST_UNKNOWN;
	k.detail = UINT32_MAX; /* of no state row */
	group_add(group_get(groups, &k, WW_NONE), ns, true);
}

static int by_time(const void *a, const void *b)
{
	const struct ww_breakdown_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->state != y->state)
		return x->state - y->state;
	return strcmp(x->detail, y->detail);
}

static bool same_row(const struct ww_breakdown_row *a, const struct ww_breakdown_row *b)
{
	return a->state == b->state && a->cause == b->cause && !strcmp(a->detail, b->detail) &&
	       !strcmp(a->syscall, b->syscall);
}

static uint64_t row_hash(const struct ww_breakdown_row *r)
{
	uint64_t h = ww_hash_mix(r->state | (uint64_t)r->cause << 8, 0);

	for (const char *p = r->detail; *p; p++)
		h = ww_hash_mix(h, (unsigned char)*p);
	for (const char *p = r->syscall; *p; p++)
		h = ww_hash_mix(h, (unsigned char)*p);
	return h;
}

/* Adds r to the row of the same words in rows[0..*n), or as a new one; its index. */
static uint32_t row_put(struct ww_breakdown_row *rows, uint32_t *n, struct ww_u64map *map,
			const struct ww_breakdown_row *r)
{
	for (uint64_t h = row_hash(r);; h++) {
		bool fresh = false;
		uint64_t *at = ww_u64map_get(map, h, *n, &fresh);
		struct ww_breakdown_row *have = &rows[*at];
		if (fresh) {
			*have = *r;
			return (*n)++;
		}
		if (!same_row(have, r))
			continue;
		have->ns += r->ns;
		have->max_ns = WW_MAX(have->max_ns, r->max_ns);
		have->uncertain_ns += r->uncertain_ns;
		have->count += r->count;
		return (uint32_t)*at;
	}
}

/* Groups of different numbers may come out in the same words: one row for each wording. */
static void rows_from_groups(struct ww_arena *mem, const struct ww_facts *f, const struct groups *groups,
			     struct ww_thread_report *ret)
{
	struct ww_breakdown_row *rows = WW_ARENA_ARRAY(mem, struct ww_breakdown_row, groups->n + 1);
	struct ww_u64map words = {0};
	uint32_t n = 0;

	for (size_t i = 0; i < groups->n; i++) {
		const struct group *g = &groups->v[i];
		struct ww_breakdown_row r = {.state = g->key.state, .cause = g->key.cause, .syscall = "",
					     .detail = "nothing recorded", .ns = g->ns, .max_ns = g->max_ns,
					     .uncertain_ns = g->uncertain_ns, .count = g->count};
		if (g->example != WW_NONE) {
			const char *sc = ww_state_has_call(r.state) ? ww_name_syscall_only(f, f->state.syscall[g->example])
							   : NULL;
			if (r.state == WW_ST_PREEMPTED || r.state == WW_ST_RUNQUEUE)
				r.detail = ww_name_ready(mem, f, r.state, g->key.other, ww_state_named_at(f, g->example));
			else
				r.detail = ww_name_state(mem, f, g->example, false);
			r.syscall = sc ? sc : "";
		}
		row_put(rows, &n, &words, &r);
	}
	ww_u64map_release(&words);
	qsort(rows, n, sizeof(*rows), by_time);
	ret->rows = rows;
	ret->nrows = n;
}

/* "sleep (12)" and "by cc1 (7)" without the numbers. */
static const char *without_tids(struct ww_arena *mem, const char *s)
{
	char *to = ww_arena_strdup(mem, s), *w = to;

	for (const char *p = s; *p;) {
		size_t digits = p[0] == ' ' && p[1] == '(' ? strspn(p + 2, "0123456789") : 0;
		if (digits && p[2 + digits] == ')')
			p += digits + 3;
		else
			*w++ = *p++;
	}
	*w = 0;
	return to;
}

bool ww_breakdown_alike(struct ww_arena *mem, const char *a, const char *b)
{
	return !strcmp(a, b) || !strcmp(without_tids(mem, a), without_tids(mem, b));
}

uint32_t ww_breakdown_merge(struct ww_arena *mem, const struct ww_breakdown_row *rows, uint32_t n,
			    struct ww_breakdown_row **ret)
{
	struct ww_breakdown_row *out = WW_ARENA_ARRAY(mem, struct ww_breakdown_row, n + 1);
	uint32_t *members = WW_ARENA_ARRAY(mem, uint32_t, n + 1), *first = WW_ARENA_ARRAY(mem, uint32_t, n + 1);
	struct ww_u64map words = {0};
	uint32_t nout = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct ww_breakdown_row r = rows[i];
		r.detail = without_tids(mem, r.detail);
		uint32_t at = row_put(out, &nout, &words, &r);
		if (!members[at]++)
			first[at] = i;
	}
	ww_u64map_release(&words);
	for (uint32_t i = 0; i < nout; i++)
		out[i].detail = members[i] == 1 ? rows[first[i]].detail /* one of its kind keeps its number */
						: ww_arena_printf(mem, "%s (%u of them)", out[i].detail, members[i]);
	if (nout)
		qsort(out, nout, sizeof(*out), by_time);
	*ret = out;
	return nout;
}

/* ---- sums ---- */

#define ROWS_A_PART 65536u /* below that a thread costs more than it saves */

/* Of some of the states, which are contiguous. */
struct sum {
	struct groups groups;
	int64_t by_state_ns[WW_ST_N];
};

struct summing {
	const struct ww_facts *f;
	uint32_t first, n, parts;
	int64_t from_ts_ns, to_ts_ns;
	struct sum *of; /* by part */
};

static uint32_t part_begin(const struct summing *s, uint32_t part)
{
	return s->first + ww_par_begin(s->n, s->parts, part);
}

static int64_t end_of(const struct summing *s, uint32_t row)
{
	return WW_MIN(s->f->state.start_ts_ns[row] + s->f->state.dur_ns[row], s->to_ts_ns);
}

static void sum_part(void *ctx, uint32_t part)
{
	const struct summing *s = ctx;
	const struct ww_facts *f = s->f;
	const uint32_t begin = part_begin(s, part), end_row = part_begin(s, part + 1);
	struct sum *sum = &s->of[part];
	int64_t at = part ? WW_MAX(end_of(s, begin - 1), s->from_ts_ns) : s->from_ts_ns;

	for (uint32_t i = begin; i < end_row; i++) {
		int64_t start = WW_MAX(f->state.start_ts_ns[i], at), end = end_of(s, i);
		if (end <= start)
			continue;
		add_uncovered(&sum->groups, start - at);
		sum->by_state_ns[WW_ST_UNKNOWN] += start - at;
		struct ww_state_key k = ww_state_key_make(f, i, INT64_MIN, INT64_MAX);
		group_add(group_get(&sum->groups, &k, i), end - start, f->state.certainty[i] != WW_SURE);
		sum->by_state_ns[f->state.state[i] < WW_ST_N ? f->state.state[i] : WW_ST_UNKNOWN] += end - start;
		at = end;
	}
	if (part + 1 == s->parts) {
		add_uncovered(&sum->groups, s->to_ts_ns - at);
		sum->by_state_ns[WW_ST_UNKNOWN] += s->to_ts_ns - at;
	}
}

/* In the order of the parts, so the groups come in the order in which one thread would have met them. */
static void add_sum(struct sum *all, const struct sum *part)
{
	for (size_t i = 0; i < part->groups.n; i++) {
		const struct group *from = &part->groups.v[i];
		struct group *g = group_get(&all->groups, &from->key, from->example);

		g->ns += from->ns;
		g->max_ns = WW_MAX(g->max_ns, from->max_ns);
		g->uncertain_ns += from->uncertain_ns;
		g->count += from->count;
	}
	for (uint32_t k = 0; k < WW_ST_N; k++)
		all->by_state_ns[k] += part->by_state_ns[k];
}

void ww_breakdown_make(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns,
		       int64_t to_ts_ns, struct ww_thread_report *ret)
{
	struct summing s = {.f = f, .from_ts_ns = from_ts_ns, .to_ts_ns = to_ts_ns};

	*ret = (struct ww_thread_report){.thread = thread, .from_ts_ns = from_ts_ns, .to_ts_ns = to_ts_ns,
					 .wall_ns = to_ts_ns - from_ts_ns};
	ww_facts_states(f, thread, from_ts_ns, to_ts_ns, &s.first, &s.n);
	s.parts = WW_MIN(ww_par_threads(), s.n / ROWS_A_PART + 1);
	s.of = ww_xcalloc(s.parts, sizeof(*s.of));
	ww_par_run(s.parts, sum_part, &s);
	for (uint32_t i = 1; i < s.parts; i++) {
		add_sum(&s.of[0], &s.of[i]);
		groups_free(&s.of[i].groups);
	}
	memcpy(ret->by_state_ns, s.of[0].by_state_ns, sizeof(ret->by_state_ns));
	rows_from_groups(mem, f, &s.of[0].groups, ret);
	groups_free(&s.of[0].groups);
	free(s.of);
}
