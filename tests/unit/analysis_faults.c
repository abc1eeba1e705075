/* analysis_faults.c - the pattern and the chart of page faults by file, of faults laid by hand. */
#include "../tap.h"
#include "scene.h"

/* A file touched n times, page by page as `at` says. */
static void touched(struct ww_facts *f, uint32_t thread, const char *name, uint32_t n, uint64_t (*at)(uint32_t i))
{
	const struct ww_file file = {.kind = WW_FK_REG, .name = str(f, name), .peer = WW_NONE};
	const uint32_t id = ww_file_push(f, &file);
	static int64_t now;

	for (uint32_t i = 0; i < n; i++) {
		const struct ww_fault x = {.thread = thread, .start_ts_ns = now, .dur_ns = 1, .file = id, .offset = at(i) << 12};
		ww_fault_push(f, &x);
		now += 2;
	}
}

static uint64_t one_after_the_other(uint32_t i)
{
	return i;
}

static uint64_t two_in_turn(uint32_t i)
{
	return i / 2 + i % 2 * 1024;
}

static uint64_t four_in_turn(uint32_t i)
{
	return i / 4 + i % 4 * 512;
}

static uint64_t always_the_same(uint32_t i)
{
	return 7;
}

static const char *words(const struct ww_table *t, const char *file, const char *column)
{
	const uint32_t n = t->analysis->ncolumns;
	uint32_t at = 0;

	while (at < n && strcmp(t->analysis->columns[at].name, column))
		at++;
	for (uint32_t i = 0; at < n && i < t->nrows; i++)
		if (!strcmp(t->cells[i * n].s, file))
			return t->cells[i * n + at].s;
	return "none";
}

/* Digits from `from` to `to`. */
static uint32_t digits(const char *chart, char from, char to)
{
	uint32_t n = 0;

	for (; *chart; chart++)
		n += *chart >= from && *chart <= to;
	return n;
}

int main(void)
{
	struct ww_query q = {.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	struct ww_err err = {0};
	struct ww_arena mem;
	struct ww_facts f;
	struct ww_table t;
	bool rises = true;

	ww_facts_init(&f);
	f.end_ts_ns = 100000;
	f.target = WW_NONE;
	f.knows.faults = true;
	const uint32_t thread = add_thread(&f, 1, 1, "a", 0, 100000, WW_NONE, 0);
	touched(&f, thread, "sequential", 2048, one_after_the_other);
	touched(&f, thread, "two", 2048, two_in_turn);
	touched(&f, thread, "four", 2048, four_in_turn);
	touched(&f, thread, "same", 20, always_the_same);
	ww_facts_seal(&f, NULL);
	ww_arena_init(&mem);
	TAP_NEED(ww_analysis_find("faults_file")->run(&mem, &f, &q, &t, &err) == 0, "the table is made: %s", err.message);
	const char *chart = words(&t, "sequential", "chart");
	is_str(words(&t, "sequential", "pattern"), "sequential", "one page after the other");
	for (const char *c = chart; *c && c[1]; c++)
		rises = rises && c[1] >= c[0];
	ok(rises && strlen(chart) == 32 && chart[0] == '0' && chart[31] >= '8', "its chart rises from begin to end: %s", chart);
	chart = words(&t, "two", "chart");
	ok(digits(chart, '0', '4') >= 10 && digits(chart, '5', '9') >= 10, "two streams in turn: both show: %s", chart);
	chart = words(&t, "four", "chart");
	ok(digits(chart, '0', '2') >= 4 && digits(chart, '3', '4') >= 3 && digits(chart, '5', '6') >= 3 && digits(chart, '7', '9') >= 4,
	   "four streams in turn: all show: %s", chart);
	is_str(words(&t, "same", "pattern"), "same", "always the same page is a pattern");
	is_str(words(&t, "same", "chart"), "00000000000000000000", "and is at no end of anything");
	ww_arena_release(&mem);
	ww_facts_release(&f);
	return done_testing();
}
