/* waits.c - the blocked intervals of a thread with their chains, and what the chains end in. */
#include "analysis/names.h"
#include "analysis/report.h"
#include "analysis/state_key.h"
#include "base/par.h"
#include "base/u64map.h"
#include "base/units.h"
#include "base/vec.h"

struct wait_ref {
	uint32_t row;
	int64_t from, to;
};

static int longest_first(const void *a, const void *b)
{
	const struct wait_ref *x = a, *y = b;
	int64_t dx = x->to - x->from, dy = y->to - y->from;

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int earliest_first(const void *a, const void *b)
{
	const struct wait_ref *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

void ww_waits_make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		   struct ww_chain_opts *copts, struct ww_thread_report *io)
{
	WW_VEC(struct wait_ref) refs = {0};
	uint32_t first, n;

	ww_facts_states(f, io->thread, io->from_ts_ns, io->to_ts_ns, &first, &n);
	for (uint32_t i = first; i < first + n; i++) {
		if (f->state.state[i] != WW_ST_BLOCKED)
			continue;
		int64_t from = WW_MAX(f->state.start_ts_ns[i], io->from_ts_ns);
		int64_t to = WW_MIN(f->state.start_ts_ns[i] + f->state.dur_ns[i], io->to_ts_ns);
		if (to <= from)
			continue;
		io->nwaits_all++;
		if (to - from >= q->min_dur_ns)
			*ww_vec_push(&refs) = (struct wait_ref){i, from, to};
	}
	if (refs.n) /* the budget of chain links goes to the longest waits first */
		qsort(refs.v, refs.n, sizeof(*refs.v), longest_first);
	if (q->top && refs.n > q->top)
		refs.n = q->top;
	struct ww_link *links = WW_ARENA_ARRAY(mem, struct ww_link, refs.n + 1);
	struct ww_link *by_row = WW_ARENA_ARRAY(mem, struct ww_link, refs.n + 1);
	struct ww_u64map at = {0};
	for (size_t i = 0; i < refs.n; i++) {
		ww_chain_expand(mem, f, copts, refs.v[i].row, refs.v[i].from, refs.v[i].to, &by_row[i]);
		ww_u64map_put(&at, refs.v[i].row, i);
	}
	if (refs.n)
		qsort(refs.v, refs.n, sizeof(*refs.v), earliest_first);
	for (size_t i = 0; i < refs.n; i++)
		links[i] = by_row[*ww_u64map_find(&at, refs.v[i].row)];
	io->waits = links;
	io->nwaits = (uint32_t)refs.n;
	ww_u64map_release(&at);
	ww_vec_free(&refs);
}

/* ---- the bottom of the chains ---- */

#define BLAME_RECENT 64u
#define WAITS_A_PART 16u /* below that a thread costs more than it saves */

/* What was looked up: leaves of one key, thread and name are one row. */
struct blame_memo {
	struct ww_state_key key;
	uint32_t thread, comm, row;
};

struct blame {
	struct ww_arena *mem;
	const struct ww_facts *f;
	struct ww_u64map map;   /* hash of all of a row -> its index */
	struct ww_u64map known; /* hash of a memo -> its index */
	WW_VEC(struct blame_memo) memos;
	uint32_t recent[BLAME_RECENT]; /* index of a memo + 1; 0 none: the same few leaves come again and again */
	WW_VEC(struct ww_blame_row) rows; /* without times */
	WW_VEC(struct ww_blame_share) shares;
	WW_VEC(uint32_t) share_of; /* by row: index + 1 of its last share */
	uint32_t wait_first;       /* where the shares of the wait in hand begin */
};

static const char *leaf_detail(struct blame *b, const struct ww_link *l)
{
	/* Without what differs from one time to the next, so that equal things add up. */
	if (l->state == WW_ST_PREEMPTED || l->state == WW_ST_RUNQUEUE) { /* by name: the tids would be many */
		uint32_t by = ww_link_behind(b->f, l);
		int64_t ts = ww_state_named_at(b->f, l->row);
		const char *comm = ww_name_comm_told(b->f, by, ts);
		if (by < b->f->thread.n && (b->f->thread.flags[by] & WW_TF_IDLE))
			return ww_name_ready(b->mem, b->f, l->state, by, ts);
		return *comm ? ww_arena_printf(b->mem, "%s %s", l->state == WW_ST_PREEMPTED ? "by" : "behind", comm) : "";
	}
	if (l->row != WW_NONE)
		return ww_name_state(b->mem, b->f, l->row, false);
	const struct ww_link_said s = ww_link_said(l);
	return *s.brief ? s.brief : s.detail;
}

/* The row like this one, by its index. */
static uint32_t row_of_words(struct blame *b, const struct ww_blame_row *like)
{
	uint64_t h = ww_hash_mix(like->thread | (uint64_t)like->comm << 32, like->state | (uint64_t)like->cause << 8);

	for (const char *p = like->detail; *p; p++)
		h = ww_hash_mix(h, (unsigned char)*p);
	for (;; h++) {
		bool fresh = false;
		uint64_t *at = ww_u64map_get(&b->map, h, b->rows.n, &fresh);
		const struct ww_blame_row *r;
		if (fresh) {
			*ww_vec_push(&b->rows) = *like;
			*ww_vec_push(&b->share_of) = 0;
			return (uint32_t)*at;
		}
		r = &b->rows.v[*at];
		if (r->thread == like->thread && r->comm == like->comm && r->state == like->state && r->cause == like->cause &&
		    !strcmp(r->detail, like->detail))
			return (uint32_t)*at;
	}
}

static uint32_t blame_row(struct blame *b, const struct ww_link *l, uint32_t comm)
{
	return row_of_words(b, &(struct ww_blame_row){.thread = l->thread, .comm = comm, .state = l->state, .cause = l->cause,
						      .detail = leaf_detail(b, l)});
}

static bool memo_is(const struct blame_memo *m, const struct ww_state_key *k, uint32_t thread, uint32_t comm)
{
	return m->thread == thread && m->comm == comm && !memcmp(&m->key, k, sizeof(*k));
}

static uint32_t blame_row_known(struct blame *b, const struct ww_link *l, uint32_t comm)
{
	struct ww_state_key k = ww_state_key_make(b->f, l->row, l->start_ts_ns, l->start_ts_ns + l->dur_ns);
	uint32_t *recent = &b->recent[(k.state + k.syscall_name * 5 + k.detail + l->thread * 7) % BLAME_RECENT];

	if (*recent && memo_is(&b->memos.v[*recent - 1], &k, l->thread, comm))
		return b->memos.v[*recent - 1].row;
	for (uint64_t h = ww_hash_mix(ww_state_key_hash(&k), l->thread | (uint64_t)comm << 32);; h++) {
		bool fresh = false;
		uint64_t *at = ww_u64map_get(&b->known, h, b->memos.n, &fresh);
		if (fresh) {
			const struct blame_memo new = {k, l->thread, comm, blame_row(b, l, comm)};
			*ww_vec_push(&b->memos) = new;
		}
		if (memo_is(&b->memos.v[*at], &k, l->thread, comm)) {
			*recent = (uint32_t)*at + 1;
			return b->memos.v[*at].row;
		}
	}
}

static void blame_leaf(struct blame *b, const struct ww_link *l)
{
	uint32_t comm = ww_name_comm_id(b->f, l->thread, ww_link_named_at(l));
	uint32_t row = l->row == WW_NONE ? blame_row(b, l, comm) : blame_row_known(b, l, comm);

	uint32_t *at = &b->share_of.v[row];
	if (*at <= b->wait_first) {
		*ww_vec_push(&b->shares) = (struct ww_blame_share){.row = row};
		*at = (uint32_t)b->shares.n;
	}
	b->shares.v[*at - 1].ns += l->dur_ns;
	b->shares.v[*at - 1].count++;
}

static void blame_link(struct blame *b, const struct ww_link *l)
{
	bool threads = false;

	/* A wait for a device or a timer is the waiting thread's: who, and in which call, says more
	 * than "a timer". */
	for (uint32_t i = 0; i < l->nchain; i++)
		threads |= l->chain[i].thread != WW_NONE;
	if (!threads) {
		blame_leaf(b, l);
		return;
	}
	for (uint32_t i = 0; i < l->nchain; i++)
		blame_link(b, &l->chain[i]);
}

static int most_first(const void *a, const void *b)
{
	const struct ww_blame_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->detail, y->detail);
}

/* What a line is about, when that differs from row to row: in which calls, behind whom. */
struct blame_part {
	const char *detail;
	int64_t ns;
};

const char *ww_blame_who(struct ww_arena *mem, const struct ww_facts *f, const struct ww_blame_row *r)
{
	const char *comm = ww_facts_str(f, r->comm);

	if (r->thread >= f->thread.n)
		return "";
	return ww_arena_printf(mem, "%s (%d)", *comm ? comm : "?", f->thread.tid[r->thread]);
}

/* One line for a person: rows of one name and kind. */
struct blame_kind {
	const char *comm, *detail;
	uint8_t state, cause;
	struct ww_u64map threads; /* distinct ones */
	WW_VEC(struct blame_part) parts; /* distinct details */
};

#define MERGED_ROWS 3000u /* of the longest; the others would change no line that is shown */

static bool is_kind(const struct ww_facts *f, const struct blame_kind *k, const struct ww_blame_row *r)
{
	if (strcmp(k->comm, ww_facts_str(f, r->comm)) || k->cause != r->cause || k->state != r->state)
		return false;
	return r->state != WW_ST_BLOCKED || !strcmp(k->detail, r->detail);
}

static void add_part(struct blame_kind *k, const struct ww_blame_row *r)
{
	size_t i = 0;

	while (i < k->parts.n && strcmp(k->parts.v[i].detail, r->detail))
		i++;
	if (i == k->parts.n)
		*ww_vec_push(&k->parts) = (struct blame_part){r->detail, 0};
	k->parts.v[i].ns += r->ns;
}

static int most_part_first(const void *a, const void *b)
{
	const struct blame_part *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->detail, y->detail);
}

/* "by cc1 40.02 ms, meson 26.70 ms, 3 more"; of one part its own words. */
static const char *parts_words(struct ww_arena *mem, struct blame_kind *k)
{
	static const char *const prefixes[] = {"by ", "behind "};
	const char *words = "";
	char dur[24];
	uint32_t shown = 0, more = 0;

	if (k->parts.n == 1)
		return k->detail;
	qsort(k->parts.v, k->parts.n, sizeof(*k->parts.v), most_part_first);
	for (size_t i = 0; i < k->parts.n; i++) {
		const struct blame_part *p = &k->parts.v[i];
		const char *detail = p->detail;
		if (!*detail)
			continue;
		if (shown == 2) {
			more++;
			continue;
		}
		for (size_t x = 0; shown && x < WW_ARRAY_SIZE(prefixes); x++) /* once is enough */
			if (!strncmp(detail, prefixes[x], strlen(prefixes[x])) && !strncmp(words, prefixes[x], strlen(prefixes[x])))
				detail += strlen(prefixes[x]);
		words = ww_arena_printf(mem, "%s%s%s %s", words, shown++ ? ", " : "", detail, ww_dur_format(p->ns, dur, sizeof(dur)));
	}
	return more ? ww_arena_printf(mem, "%s, %u more", words, more) : words;
}

uint32_t ww_blame_merge(struct ww_arena *mem, const struct ww_facts *f, const struct ww_blame_row *rows, uint32_t n,
			struct ww_blame_row **ret)
{
	uint32_t nout = 0;

	n = WW_MIN(n, MERGED_ROWS);
	struct ww_blame_row *out = WW_ARENA_ARRAY(mem, struct ww_blame_row, n + 1);
	struct blame_kind *kinds = WW_ARENA_ARRAY(mem, struct blame_kind, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct ww_blame_row *r = &rows[i];
		uint32_t k = 0;
		while (k < nout && !is_kind(f, &kinds[k], r))
			k++;
		if (k == nout) {
			kinds[nout] = (struct blame_kind){.comm = ww_facts_str(f, r->comm), .detail = r->detail,
							  .state = r->state, .cause = r->cause};
			out[nout] = *r;
			out[nout].ns = 0;
			out[nout++].count = 0;
		}
		out[k].ns += r->ns;
		out[k].count += r->count;
		add_part(&kinds[k], r);
		ww_u64map_put(&kinds[k].threads, r->thread, 1);
	}
	for (uint32_t k = 0; k < nout; k++) {
		out[k].detail = parts_words(mem, &kinds[k]);
		size_t many = kinds[k].threads.n;
		out[k].who = many > 1 ? ww_arena_printf(mem, "%s (%zu of them)", kinds[k].comm, many)
				      : ww_blame_who(mem, f, &out[k]);
		ww_u64map_release(&kinds[k].threads);
		ww_vec_free(&kinds[k].parts);
	}
	if (nout)
		qsort(out, nout, sizeof(*out), most_first);
	*ret = out;
	return nout;
}

static void *copy_of(struct ww_arena *mem, const void *from, size_t bytes)
{
	void *to = ww_arena_alloc(mem, bytes + 1);

	if (bytes)
		memcpy(to, from, bytes);
	return to;
}

uint32_t ww_blame_of(struct ww_arena *mem, const struct ww_thread_report *r, const uint32_t *waits, uint32_t n,
		     struct ww_blame_row **ret)
{
	struct ww_u64map at = {0}; /* row of all -> row of these */
	WW_VEC(struct ww_blame_row) rows = {0};

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = r->share_first[waits[i]]; k < r->share_first[waits[i] + 1]; k++) {
			const struct ww_blame_share *s = &r->shares[k];
			bool fresh;
			uint64_t *row = ww_u64map_get(&at, s->row, rows.n, &fresh);

			if (fresh)
				*ww_vec_push(&rows) = r->blame_all[s->row];
			rows.v[*row].ns += s->ns;
			rows.v[*row].count += s->count;
		}
	if (rows.n)
		qsort(rows.v, rows.n, sizeof(*rows.v), most_first);
	*ret = copy_of(mem, rows.v, rows.n * sizeof(*rows.v));
	n = (uint32_t)rows.n;
	ww_u64map_release(&at);
	ww_vec_free(&rows);
	return n;
}

/* The waits are looked at in parts, side by side, each of them by a blame of its own. */
struct blame_jobs {
	struct ww_thread_report *io;
	uint32_t n;
	struct blame *v;
	struct ww_arena *mem; /* one each */
};

static uint32_t part_begin(const struct blame_jobs *p, uint32_t i)
{
	return ww_par_begin(p->io->nwaits, p->n, i);
}

static void blame_job(void *ctx, uint32_t part)
{
	struct blame_jobs *p = ctx;
	struct blame *b = &p->v[part];

	for (uint32_t i = part_begin(p, part); i < part_begin(p, part + 1); i++) {
		p->io->share_first[i] = b->wait_first = (uint32_t)b->shares.n;
		if (p->io->waits[i].nchain)
			blame_link(b, &p->io->waits[i]);
	}
}

/* What part b found behind what those before it found: the rows are numbered as if one had looked at all. */
static void add_part_rows(struct blame *all, const struct blame *b)
{
	uint32_t *row = ww_xmalloc(sizeof(*row) * (b->rows.n + 1));

	for (size_t i = 0; i < b->rows.n; i++)
		row[i] = row_of_words(all, &b->rows.v[i]);
	for (size_t i = 0; i < b->shares.n; i++) {
		struct ww_blame_share *s = ww_vec_push(&all->shares);
		*s = b->shares.v[i];
		s->row = row[s->row];
	}
	free(row);
}

static void free_blame(struct blame *b)
{
	ww_u64map_release(&b->map);
	ww_u64map_release(&b->known);
	ww_vec_free(&b->memos);
	ww_vec_free(&b->rows);
	ww_vec_free(&b->shares);
	ww_vec_free(&b->share_of);
}

static void add_parts(struct ww_arena *mem, struct blame_jobs *p)
{
	struct blame *all = &p->v[0];

	for (uint32_t part = 0; part < p->n; part++) {
		const uint32_t before = part ? (uint32_t)all->shares.n : 0;

		for (uint32_t i = part_begin(p, part); i < part_begin(p, part + 1); i++)
			p->io->share_first[i] += before;
		if (part)
			add_part_rows(all, &p->v[part]);
		ww_arena_adopt(mem, &p->mem[part]);
	}
}

void ww_blame_make(struct ww_arena *mem, const struct ww_facts *f, struct ww_thread_report *io)
{
	struct blame_jobs p = {.io = io, .n = WW_MIN(2 * ww_par_threads(), io->nwaits / WAITS_A_PART + 1)};
	struct blame *b = p.v = WW_ARENA_ARRAY(mem, struct blame, p.n);

	p.mem = WW_ARENA_ARRAY(mem, struct ww_arena, p.n);
	for (uint32_t i = 0; i < p.n; i++)
		p.v[i] = (struct blame){.mem = &p.mem[i], .f = f};
	io->share_first = WW_ARENA_ARRAY(mem, uint32_t, io->nwaits + 1);
	ww_par_run(p.n, blame_job, &p);
	add_parts(mem, &p);
	io->share_first[io->nwaits] = (uint32_t)b->shares.n;
	io->blame_all = copy_of(mem, b->rows.v, b->rows.n * sizeof(*b->rows.v));
	io->shares = copy_of(mem, b->shares.v, b->shares.n * sizeof(*b->shares.v));
	io->nblame = (uint32_t)b->rows.n;
	for (size_t i = 0; i < b->shares.n; i++) {
		b->rows.v[b->shares.v[i].row].ns += b->shares.v[i].ns;
		b->rows.v[b->shares.v[i].row].count += b->shares.v[i].count;
	}
	if (b->rows.n)
		qsort(b->rows.v, b->rows.n, sizeof(*b->rows.v), most_first);
	io->blame = copy_of(mem, b->rows.v, b->rows.n * sizeof(*b->rows.v));
	for (uint32_t i = 0; i < p.n; i++)
		free_blame(&p.v[i]);
}
