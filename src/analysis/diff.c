/* diff.c - adds up the reports of recordings by their words; diff.h says what comes of it.
 *
 * Each row of each report goes into one sum a recording, found by list, thread's name, state, cause, call
 * and words. Rows below a thousandth of the wall time are not judged: each more question makes all
 * intervals wider.
 */
#include <ctype.h>
#include <math.h>

#include "analysis/diff.h"
#include "analysis/names.h"
#include "analysis/rows.h"

#define ALPHA 0.05
#define JUDGED_PERMILLE 1

enum list { TARGET, CHAINS, FAMILY, ROLES };

struct sum {
	uint8_t list, state, cause;
	const char *who, *syscall, *detail;
	int64_t v[]; /* ns of each recording, then how many of each */
};

struct ww_diff_maker {
	struct ww_arena *mem;
	uint32_t nbefore, n;
	int64_t *wall_ns;
	struct ww_strtab keys;
	struct ww_rows sums;
};

struct ww_diff_maker *ww_diff_begin(struct ww_arena *mem, uint32_t nbefore, uint32_t nafter)
{
	struct ww_diff_maker *m = WW_ARENA_NEW(mem, struct ww_diff_maker);

	m->mem = mem;
	m->nbefore = nbefore;
	m->n = nbefore + nafter;
	m->wall_ns = WW_ARENA_ARRAY(mem, int64_t, m->n);
	ww_strtab_init(&m->keys);
	ww_rows_init(&m->sums, sizeof(struct sum) + 2 * m->n * sizeof(int64_t));
	return m;
}

/* Digits that a run has of its own: how many characters of s they are, and what stands for them. */
static size_t own_number(const char *s, char before, const char **ret)
{
	size_t n;

	*ret = "";
	if (!strncmp(s, "kworker/", 8)) {
		*ret = "kworker";
		return strcspn(s, " ,)");
	}
	if (s[0] == ' ' && s[1] == '(' && (n = strspn(s + 2, "0123456789")) && s[2 + n] == ')')
		return n + 3;
	if (s[0] == ':' && s[1] == '[' && (n = strspn(s + 2, "0123456789")) && s[2 + n] == ']')
		return n + 3;
	*ret = "*";
	if (isdigit((unsigned char)before)) /* the rest of a short one */
		return 0;
	if (s[0] == '0' && s[1] == 'x' && (n = strspn(s + 2, "0123456789abcdef")) > 3)
		return n + 2;
	n = strspn(s, "0123456789");
	if (n > 3 || (n && before == '/' && (s[n] == '/' || !s[n])))
		return n;
	return 0;
}

const char *ww_diff_words(struct ww_arena *mem, const char *s)
{
	char *to = ww_arena_alloc(mem, strlen(s) + 8), *w = to, before = 0;
	const char *put;

	while (*s) {
		size_t n = own_number(s, before, &put);
		if (n && strlen(put) <= n) {
			w = stpcpy(w, put);
			before = s[n - 1];
			s += n;
		} else {
			before = *w++ = *s++;
		}
	}
	*w = 0;
	return to;
}

static void add(struct ww_diff_maker *m, uint32_t rec, enum list list, const char *who, uint8_t state,
		uint8_t cause, const char *syscall, const char *detail, int64_t ns, int64_t count)
{
	struct ww_arena words;

	ww_arena_init(&words);
	detail = ww_diff_words(&words, detail);
	who = who ? ww_diff_words(&words, who) : NULL;
	const char *key = ww_arena_printf(&words, "%u\n%u\n%u\n%s\n%s\n%s", list, state, cause,
					  who ? who : "", syscall, detail);
	struct sum *s = ww_rows_get(&m->sums, ww_strtab_intern_cstr(&m->keys, key));
	if (!s->detail) {
		s->list = (uint8_t)list;
		s->state = state;
		s->cause = cause;
		s->who = who ? ww_arena_strdup(m->mem, who) : NULL;
		s->syscall = ww_arena_strdup(m->mem, syscall);
		s->detail = ww_arena_strdup(m->mem, detail);
	}
	s->v[rec] += ns;
	s->v[m->n + rec] += count;
	ww_arena_release(&words);
}

void ww_diff_add(struct ww_diff_maker *m, uint32_t rec, const struct ww_report *r)
{
	WW_ASSERT(rec < m->n);
	m->wall_ns[rec] = r->main.wall_ns;
	for (uint32_t i = 0; i < r->main.nrows; i++) {
		const struct ww_breakdown_row *b = &r->main.rows[i];
		add(m, rec, TARGET, NULL, b->state, b->cause, b->syscall, b->detail, b->ns, b->count);
	}
	for (uint32_t i = 0; i < r->main.nblame; i++) {
		const struct ww_blame_row *b = &r->main.blame[i];
		add(m, rec, CHAINS, b->who ? b->who : ww_facts_str(r->facts, b->comm), b->state, b->cause,
		    "", b->detail, b->ns, b->count);
	}
	for (uint32_t k = 0; k < r->nfamily; k++) {
		const struct ww_thread_report *t = &r->family[k];
		const char *comm = ww_name_comm(r->facts, t->thread);
		add(m, rec, ROLES, comm, 0, 0, "", "", t->wall_ns, 1);
		for (uint32_t i = 0; i < t->nrows; i++)
			add(m, rec, FAMILY, comm, t->rows[i].state, t->rows[i].cause, t->rows[i].syscall,
			    t->rows[i].detail, t->rows[i].ns, t->rows[i].count);
	}
}

/* What is beyond noise before what may be chance. */
static int largest_first(const void *a, const void *b)
{
	const struct ww_diff_row *x = a, *y = b;
	double p = fabs(x->ns.diff_ns), q = fabs(y->ns.diff_ns);

	if (x->ns.beyond != y->ns.beyond)
		return x->ns.beyond ? -1 : 1;
	return p < q ? 1 : p > q ? -1 : strcmp(x->detail, y->detail);
}

static double mean_of(const int64_t *v, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)v[i];
	return sum / n;
}

/* The rows of a list, of one thread's name or (who NULL) of all. */
static void make_table(struct ww_diff_maker *m, enum list list, const char *who, double least_ns,
		       struct ww_diff_table *ret)
{
	const uint32_t nafter = m->n - m->nbefore;
	uint32_t *of = WW_ARENA_ARRAY(m->mem, uint32_t, m->sums.n + 1), njudged = 0;

	*ret = (struct ww_diff_table){.rows = NULL};
	for (uint32_t i = 0; i < m->sums.n; i++) {
		const struct sum *s = ww_rows_at(&m->sums, i);
		if (s->list != list || (who && strcmp(s->who, who)))
			continue;
		of[ret->n++] = i;
		njudged +=
			WW_MAX(mean_of(s->v, m->nbefore), mean_of(s->v + m->nbefore, nafter)) >= least_ns;
	}
	ret->rows = WW_ARENA_ARRAY(m->mem, struct ww_diff_row, ret->n + 1);
	for (uint32_t i = 0; i < ret->n; i++) {
		const struct sum *s = ww_rows_at(&m->sums, of[i]);
		struct ww_diff_row *r = &ret->rows[i];
		*r = (struct ww_diff_row){.state = s->state,
					  .cause = s->cause,
					  .who = s->who,
					  .syscall = s->syscall,
					  .detail = s->detail,
					  .before_count = mean_of(s->v + m->n, m->nbefore),
					  .after_count = mean_of(s->v + m->n + m->nbefore, nafter)};
		ww_diff_number_make(s->v, m->nbefore, nafter, ALPHA / WW_MAX(njudged, 1u), &r->ns);
		r->ns.judged = WW_MAX(r->ns.before_ns, r->ns.after_ns) >= least_ns && !isnan(r->ns.half_ns);
		r->ns.beyond &= r->ns.judged;
	}
	if (ret->n)
		qsort(ret->rows, ret->n, sizeof(*ret->rows), largest_first);
}

void ww_diff_finish(struct ww_diff_maker *m, struct ww_diff *ret)
{
	const uint32_t nafter = m->n - m->nbefore;
	struct ww_diff d = {.nbefore = m->nbefore,
			    .nafter = nafter,
			    .noise = ww_diff_noise_known(m->nbefore, nafter),
			    .wall_ns = m->wall_ns};
	struct ww_diff_table roles;

	ww_diff_number_make(m->wall_ns, m->nbefore, nafter, ALPHA, &d.wall);
	d.wall.judged = !isnan(d.wall.half_ns);
	double least = WW_MAX(d.wall.before_ns, d.wall.after_ns) * JUDGED_PERMILLE / 1000;
	make_table(m, TARGET, NULL, least, &d.target);
	make_table(m, CHAINS, NULL, least, &d.chains);
	make_table(m, ROLES, NULL, least, &roles);
	d.roles = WW_ARENA_ARRAY(m->mem, struct ww_diff_role, roles.n + 1);
	d.nroles = roles.n;
	for (uint32_t i = 0; i < roles.n; i++) {
		const struct ww_diff_row *r = &roles.rows[i];
		d.roles[i] = (struct ww_diff_role){.comm = r->who,
						   .before_threads = r->before_count,
						   .after_threads = r->after_count,
						   .wall = r->ns};
		make_table(m, FAMILY, r->who, least, &d.roles[i].table);
	}
	ww_rows_release(&m->sums);
	ww_strtab_release(&m->keys);
	*ret = d;
}
