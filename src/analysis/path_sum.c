/* path_sum.c - who and what owns how much of the critical path. */
#include <stdlib.h>

#include "analysis/names.h"
#include "analysis/path.h"
#include "base/u64map.h"
#include "base/vec.h"

#define LEVELS 16 /* of waits above a segment that are looked at */

struct key {
	uint32_t kind, host;
	uint64_t id, more;
};

struct sum {
	struct key key;
	const struct ww_segment *example;
	int64_t ns;
	uint32_t count;
};

/* The sums that a segment adds to, each once. */
struct targets {
	uint32_t sum[2 * LEVELS + 8], n;
};

/* Neighbouring segments that add to the same sums are added together. */
struct tally {
	const struct ww_segment *example;
	int64_t ns;
	uint32_t count;
};

struct adder {
	const struct ww_path *p;
	struct tally kinds[WW_ST_N][WW_CA_N];
	struct tally stretch; /* of one visit's running and being ready */
	struct ww_u64map map;
	WW_VEC(struct sum) sums;
	uint32_t last[WW_SH_N]; /* the sum that was added to last, of each kind */
	uint32_t visit;         /* whose waits above are in: */
	struct targets above;
};

static bool same(const struct key *a, const struct key *b)
{
	return a->kind == b->kind && a->host == b->host && a->id == b->id && a->more == b->more;
}

static uint32_t sum_get(struct adder *a, const struct key *k)
{
	uint32_t last = a->last[k->kind];

	if (last < a->sums.n && same(&a->sums.v[last].key, k))
		return last;
	for (uint64_t h = ww_hash_mix(ww_hash_mix(k->id, k->more), (uint64_t)k->kind << 32 | k->host);; h++) {
		bool fresh = false;
		uint64_t *at = ww_u64map_get(&a->map, h, a->sums.n, &fresh);
		if (fresh)
			ww_vec_push(&a->sums)->key = *k;
		else if (!same(&a->sums.v[*at].key, k))
			continue;
		return a->last[k->kind] = (uint32_t)*at;
	}
}

static void aim(struct adder *a, struct targets *t, enum ww_share_kind kind, uint32_t host, uint64_t id, uint64_t more)
{
	const struct key k = {kind, host, id, more};
	uint32_t sum = sum_get(a, &k);

	for (uint32_t i = 0; i < t->n; i++)
		if (t->sum[i] == sum)
			return; /* one wait in another's, for the same thing */
	if (t->n < WW_ARRAY_SIZE(t->sum))
		t->sum[t->n++] = sum;
}

/* What the wait in this row was for. */
static void aim_wait(struct adder *a, struct targets *t, uint32_t host, uint32_t row)
{
	const struct ww_facts *f = a->p->set->hosts[host];
	enum ww_cause c;

	if (row >= f->state.n || f->state.state[row] != WW_ST_BLOCKED)
		return;
	uint32_t file = ww_state_file(f, row);
	if (file >= f->file.n && ww_state_fault(f, row) < f->fault.n)
		file = f->fault.file[ww_state_fault(f, row)];
	if (file < f->file.n)
		aim(a, t, WW_SH_FILE, host, file, 0);
	c = ww_state_cause(f, row);
	if ((c == WW_CA_FUTEX || c == WW_CA_LOCK) && ww_state_object(f, row))
		aim(a, t, WW_SH_LOCK, host, ww_state_object(f, row),
		    f->thread.process[f->state.thread[row]] + 1ull + ((uint64_t)c << 40));
}

static void find_above(struct adder *a, uint32_t visit)
{
	const struct ww_path *p = a->p;
	const struct ww_visit *v = &p->visits[visit];

	a->visit = visit;
	a->above.n = 0;
	for (int level = 0; level < LEVELS && v->up != WW_NONE; level++, v = &p->visits[v->up])
		aim_wait(a, &a->above, p->visits[v->up].host, v->wait_row);
}

static void tally(struct tally *t, const struct ww_segment *s)
{
	if (!t->count++)
		t->example = s;
	t->ns += s->dur_ns;
}

static void add(struct adder *a, const struct targets *t, const struct tally *y)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct sum *sum = &a->sums.v[t->sum[i]];

		if (!sum->example)
			sum->example = y->example;
		sum->ns += y->ns;
		sum->count += y->count;
	}
}

/* To `t`, and to the host and the thread. */
static void add_with_owner(struct adder *a, struct targets *t, const struct tally *y)
{
	const struct ww_segment *s = y->example;

	aim(a, t, WW_SH_HOST, s->host, 0, 0);
	aim(a, t, WW_SH_THREAD, s->host, s->thread, s->thread == WW_NONE ? 1ull + s->thing : 0);
	add(a, t, y);
}

static void end_stretch(struct adder *a)
{
	struct targets t = {.n = 0};

	if (!a->stretch.count)
		return;
	add(a, &a->above, &a->stretch);
	add_with_owner(a, &t, &a->stretch);
	a->stretch = (struct tally){0};
}

static void add_wait(struct adder *a, const struct ww_segment *s)
{
	const struct ww_facts *f = a->p->set->hosts[s->host];
	struct targets t = a->above;

	aim_wait(a, &t, a->p->visits[s->visit].host, s->row);
	if (s->thing == WW_WK_BLOCK && s->fact < f->block_io.n) {
		aim(a, &t, WW_SH_DEVICE, s->host, f->block_io.dev[s->fact], 0);
		if (f->block_io.file[s->fact] < f->file.n)
			aim(a, &t, WW_SH_FILE, s->host, f->block_io.file[s->fact], 0);
	}
	add_with_owner(a, &t, &(struct tally){s, s->dur_ns, 1});
}

static void add_segment(struct adder *a, const struct ww_segment *s)
{
	bool wait = s->state == WW_ST_BLOCKED || s->thread == WW_NONE;

	if (wait || s->visit != a->visit)
		end_stretch(a);
	if (s->visit != a->visit)
		find_above(a, s->visit);
	if (wait)
		add_wait(a, s);
	else
		tally(&a->stretch, s);
	tally(&a->kinds[WW_MIN(s->state, WW_ST_N - 1)][WW_MIN(s->cause, WW_CA_N - 1)], s);
}

/* The first tally of the same token as this one: states and causes share some ("unknown"). */
static uint64_t kind_id(const struct adder *a, const struct ww_segment *s)
{
	const char *token = ww_segment_kind(s);

	for (uint64_t i = 0; i < (uint64_t)WW_ST_N * WW_CA_N; i++) {
		const struct tally *y = &a->kinds[i / WW_CA_N][i % WW_CA_N];

		if (y->count && !strcmp(ww_segment_kind(y->example), token))
			return i;
	}
	return WW_NONE;
}

static void add_kinds(struct adder *a)
{
	for (uint32_t state = 0; state < WW_ST_N; state++)
		for (uint32_t cause = 0; cause < WW_CA_N; cause++) {
			struct targets t = {.n = 0};

			if (!a->kinds[state][cause].count)
				continue;
			aim(a, &t, WW_SH_KIND, 0, kind_id(a, a->kinds[state][cause].example), 0);
			add(a, &t, &a->kinds[state][cause]);
		}
}

static const char *share_name(struct ww_arena *mem, const struct ww_path *p, const struct sum *s)
{
	const struct ww_facts *f = p->set->hosts[s->key.host];
	const char *name;

	switch (s->key.kind) {
	case WW_SH_KIND:
		return ww_segment_kind(s->example);
	case WW_SH_HOST:
		return p->set->who[s->key.host].label;
	case WW_SH_THREAD:
		if (s->example->thread != WW_NONE)
			return ww_name_thread(mem, f, s->example->thread);
		return s->example->thing == WW_WK_PACKET ? "network" : s->example->thing == WW_WK_TIMER ? "timer" : "unknown";
	case WW_SH_FILE:
		name = ww_name_file(f, (uint32_t)s->key.id);
		return *name ? name : "file without a name";
	case WW_SH_LOCK:
		return ww_arena_printf(mem, "%s %#" PRIx64, s->key.more >> 40 == WW_CA_LOCK ? "kernel lock" : "futex", s->key.id);
	default:
		return ww_name_device(mem, f, (uint32_t)s->key.id);
	}
}

static int by_kind_and_time(const void *x, const void *y)
{
	const struct sum *a = x, *b = y;

	if (a->key.kind != b->key.kind)
		return a->key.kind < b->key.kind ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return a->key.id < b->key.id ? -1 : a->key.id > b->key.id;
}

void ww_path_sum(struct ww_arena *mem, const struct ww_path *p, struct ww_path_sum *ret)
{
	struct adder a = {.p = p, .visit = WW_NONE};
	struct ww_path_sum r = {0};

	for (uint32_t i = 0; i < p->nsegments; i++) {
		const struct ww_segment *s = &p->segments[i];

		add_segment(&a, s);
		if (s->note == WW_PN_NAGLE) {
			r.nagle_ns += s->dur_ns;
			r.nagle_count++;
		}
		if (s->certainty != WW_SURE)
			r.uncertain_ns += s->dur_ns;
	}
	end_stretch(&a);
	add_kinds(&a);
	if (a.sums.n)
		qsort(a.sums.v, a.sums.n, sizeof(*a.sums.v), by_kind_and_time);
	r.shares = WW_ARENA_ARRAY(mem, struct ww_path_share, a.sums.n + 1);
	for (size_t i = 0; i < a.sums.n; i++) {
		const struct sum *s = &a.sums.v[i];

		r.shares[i] = (struct ww_path_share){.kind = (uint8_t)s->key.kind, .host = s->key.host,
						.thread = s->key.kind == WW_SH_THREAD ? s->example->thread : WW_NONE,
						.name = share_name(mem, p, s), .ns = s->ns, .count = s->count};
		r.first[s->key.kind + 1]++;
	}
	for (uint32_t k = 0; k < WW_SH_N; k++)
		r.first[k + 1] += r.first[k];
	ww_vec_free(&a.sums);
	ww_u64map_release(&a.map);
	*ret = r;
}
