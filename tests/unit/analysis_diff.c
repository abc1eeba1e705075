/* analysis_diff.c - recordings compared: the statistics against published tables and by simulation, the
 * words by hand, and that a change that was put in is the one that is found. */
#include <math.h>

#include "../tap.h"

#include "analysis/diff.h"

static bool near(double a, double b, double within)
{
	return fabs(a - b) <= within;
}

/* Percentage points of Student's t as any table has them. */
static void student(void)
{
	static const struct {
		double tail, df, t;
	} known[] = {{0.025, 1, 12.706}, {0.025, 4, 2.776},   {0.005, 5, 4.032},   {0.05, 10, 1.812},
		     {0.025, 30, 2.042}, {0.0005, 2, 31.599}, {0.0005, 60, 3.460}, {0.25, 3, 0.765}};
	bool good = true;

	for (size_t i = 0; i < WW_ARRAY_SIZE(known); i++)
		good &= near(ww_student_above(known[i].tail, known[i].df), known[i].t, 0.0006);
	ok(good, "Student's t is what the tables say");
	ok(near(ww_student_above(0.025, 1e7), 1.95996, 1e-4),
	   "with many degrees of freedom it is the normal distribution");
}

/* Worked by hand: before 10 12 14 (mean 12, variance 4), after 20 22 24 30 (mean 24, variance 56/3).
 * Error^2 4/3 + 14/3 = 6; df = 36 / (16/9/2 + 196/9/3) = 4.41. */
static void welch(void)
{
	static const int64_t v[] = {10, 12, 14, 20, 22, 24, 30}, one[] = {5, 10, 12, 14},
			     flat[] = {5, 0, 0, 0};
	struct ww_diff_number x;

	ww_diff_number_make(v, 3, 4, 0.05, &x);
	ok(near(x.before_ns, 12, 1e-9) && near(x.after_ns, 24, 1e-9) && near(x.diff_ns, 12, 1e-9), "means");
	ok(near(x.half_ns, ww_student_above(0.025, 36.0 / (16.0 / 9 / 2 + 196.0 / 9 / 3)) * sqrt(6), 1e-6),
	   "Welch's interval of two means");
	ok(x.beyond, "twelve is more than chance");
	ww_diff_number_make(v, 1, 1, 0.05, &x);
	ok(isnan(x.half_ns) && !x.beyond, "one a side has no interval");
	ww_diff_number_make(v, 1, 2, 0.05, &x);
	ok(isnan(x.half_ns) && !x.beyond, "nor has one against two");
	ww_diff_number_make(one, 1, 3, 0.05, &x);
	ok(near(x.half_ns, ww_student_above(0.025, 2) * sqrt(4 + 4.0 / 3), 1e-6),
	   "one against three varies as those do");
	ww_diff_number_make(flat, 1, 3, 0.05, &x);
	ok(isnan(x.half_ns) && !x.beyond, "what never varied says nothing of one");
}

static void words(void)
{
	static const char *const w[][2] = {
		{"pipe:[4711], from sort (12)", "pipe, from sort"},
		{"by kworker/0:1H (71)", "by kworker"},
		{"0x7f3a91d2c0a8 released by python3 (4020)", "* released by python3"},
		{"/proc/31/status", "/proc/*/status"},
		{"127.0.0.1:80 -> 127.0.0.1:43312", "127.0.0.1:80 -> 127.0.0.1:*"},
		{"IRQ 11 virtio0", "IRQ 11 virtio0"},
		{"/usr/lib/libfoo.so.6 on vda", "/usr/lib/libfoo.so.6 on vda"},
		{"/tmp/job12345.o", "/tmp/job*.o"},
		{"sleep (a child)", "sleep (a child)"},
		{"", ""},
	};
	struct ww_arena mem;

	ww_arena_init(&mem);
	for (size_t i = 0; i < WW_ARRAY_SIZE(w); i++)
		is_str(ww_diff_words(&mem, w[i][0]), w[i][1], "words without their own numbers");
	ww_arena_release(&mem);
}

/* Sum of twelve uniform ones: as good as normal; its spread is `sd`. */
static double noise(uint64_t *seed, double sd)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*seed >> 11) / 9007199254740992.0;
	}
	return sum * sd;
}

#define ROWS 12

/* A report of ROWS rows with noise of a fifth each; the fourth longer by extra. */
static void add_one(struct ww_diff_maker *m, uint32_t rec, const struct ww_facts *f, uint64_t *seed,
		    int64_t extra)
{
	static const char *const names[ROWS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
	struct ww_breakdown_row rows[ROWS];
	struct ww_report r = {.facts = f, .main = {.rows = rows, .nrows = ROWS}};

	for (uint32_t i = 0; i < ROWS; i++) {
		int64_t ns = 1000000 + (int64_t)noise(seed, 200000) + (i == 3 ? extra : 0);
		rows[i] = (struct ww_breakdown_row){.state = WW_ST_BLOCKED,
						    .cause = WW_CA_PIPE,
						    .syscall = "read",
						    .detail = names[i],
						    .ns = ns,
						    .count = 1};
		r.main.wall_ns += ns;
	}
	ww_diff_add(m, rec, &r);
}

/* How many of `runs` comparisons of n with n mark anything, and how many mark the row that is longer. */
static void simulate(uint32_t n, int64_t extra, uint32_t runs, uint32_t *ret_any_other, uint32_t *ret_found)
{
	struct ww_facts f;
	uint64_t seed = 7 + n;

	ww_facts_init(&f);
	*ret_any_other = *ret_found = 0;
	for (uint32_t run = 0; run < runs; run++) {
		struct ww_arena mem;
		struct ww_diff d;
		bool other = false, found = false;
		ww_arena_init(&mem);
		struct ww_diff_maker *m = ww_diff_begin(&mem, n, n);
		for (uint32_t i = 0; i < 2 * n; i++)
			add_one(m, i, &f, &seed, i < n ? 0 : extra);
		ww_diff_finish(m, &d);
		double sum = 0;
		for (uint32_t i = 0; i < d.target.n; i++) {
			const struct ww_diff_row *r = &d.target.rows[i];
			sum += r->ns.diff_ns;
			*(!strcmp(r->detail, "d") ? &found : &other) |= r->ns.beyond;
		}
		WW_ASSERT(d.target.n == ROWS && near(sum, d.wall.diff_ns, 1));
		*ret_any_other += other;
		*ret_found += found;
		ww_arena_release(&mem);
	}
	ww_facts_release(&f);
}

static void chance(void)
{
	uint32_t other, found;

	simulate(4, 0, 1000, &other, &found);
	printf("# nothing changed: a row was marked in %u of 1000 comparisons of 4 with 4\n", other);
	/* 11 of the 12 rows: 4.6 %, and 1000 tries spread by 0.7 */
	ok(other + found <= 72, "in at most one of twenty comparisons chance marks anything");
	simulate(4, 2500000, 300, &other, &found);
	ok(found >= 290, "a row that is longer by far is marked");
	ok(other <= 27, "and with it the others are not");
}

/* Threads of one name are one role; who is only on one side is there too. */
static void roles(void)
{
	struct ww_facts f;
	struct ww_arena mem;
	struct ww_diff d;

	ww_facts_init(&f);
	ww_arena_init(&mem);
	uint32_t t[3];
	static const char *const names[] = {"cc1", "cc1", "ld"};
	for (int i = 0; i < 3; i++) {
		struct ww_thread row = {.tid = 10 + i, .comm = ww_strtab_intern_cstr(&f.strs, names[i])};
		t[i] = ww_thread_push(&f, &row);
	}
	struct ww_breakdown_row user = {
		.state = WW_ST_RUNNING_USER, .syscall = "", .detail = "", .ns = 50, .count = 2};
	struct ww_thread_report family[3];
	for (int i = 0; i < 3; i++)
		family[i] =
			(struct ww_thread_report){.thread = t[i], .wall_ns = 50, .rows = &user, .nrows = 1};
	struct ww_report r = {.facts = &f, .main = {.wall_ns = 100}, .family = family, .nfamily = 2};
	struct ww_diff_maker *m = ww_diff_begin(&mem, 1, 1);
	ww_diff_add(m, 0, &r);
	r.nfamily = 3;
	ww_diff_add(m, 1, &r);
	ww_diff_finish(m, &d);
	is_i64(d.nroles, 2, "two names");
	const struct ww_diff_role *ld = &d.roles[0], *cc1 = &d.roles[1];
	is_str(ld->comm, "ld", "what changed most comes first");
	ok(ld->before_threads == 0 && ld->after_threads == 1 && ld->wall.diff_ns == 50,
	   "there is one more of it");
	ok(cc1->before_threads == 2 && cc1->wall.before_ns == 100 && cc1->wall.diff_ns == 0,
	   "two are taken together");
	ok(cc1->table.n == 1 && cc1->table.rows[0].ns.before_ns == 100 &&
		   cc1->table.rows[0].before_count == 4,
	   "and so are their rows");
	ww_arena_release(&mem);
	ww_facts_release(&f);
}

int main(void)
{
	student();
	welch();
	words();
	chance();
	roles();
	return done_testing();
}
