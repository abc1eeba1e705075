/* analysis_merges.c - block requests that went into others, and bios that name a partition, on events laid by hand.
 *
 *   disk 8 "sda" with the partition 9 "sda1" (named), disk 40 with the partition 41 (not named), mirrors 60 and 70
 *   with the partitions 61 and 71, to which thread 12 writes the same sectors
 */
#include "analysis/analysis.h"
#include "fake_model.h"

#define BIO(dev, sector) "dev=" dev " sector=" sector " nr_sector=8 rwbs=1 tid=0"
#define RQ(dev, sector, nr) "dev=" dev " sector=" sector " nr_sector=" nr " rwbs=1 tid=0"

static void lay(struct fake *k, bool merges)
{
	fake_event(k, 1, 0, "lttng_statedump_block_device", "dev=8 diskname='sda'");
	fake_event(k, 1, 0, "lttng_statedump_block_device", "dev=9 diskname='sda1'");
	fake_event(k, 1, 0, "lttng_statedump_block_device", "dev=16 diskname='sda1x'");
	fake_event(k, 5, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0 next_prio=20");
	fake_event(k, 10, 0, "block_getrq", BIO("9", "100"));
	if (merges) {
		fake_event(k, 11, 0, "block_bio_backmerge", BIO("9", "108"));
		fake_event(k, 12, 0, "block_bio_frontmerge", BIO("9", "92"));
	}
	fake_event(k, 13, 0, "block_rq_insert", RQ("8", "100", "24"));
	fake_event(k, 14, 0, "block_rq_insert", RQ("8", "124", "8"));
	if (merges)
		fake_event(k, 15, 0, "block_rq_merge", RQ("8", "124", "8"));
	fake_event(k, 16, 0, "block_rq_issue", RQ("8", "100", "32"));
	fake_event(k, 20, 0, "block_getrq", BIO("41", "500"));
	if (merges)
		fake_event(k, 21, 0, "block_bio_backmerge", BIO("41", "508"));
	fake_event(k, 22, 0, "block_rq_issue", RQ("40", "500", "16"));
	fake_event(k, 25, 0, "block_getrq", BIO("41", "600"));
	fake_event(k, 26, 0, "block_rq_issue", RQ("40", "600", "8"));
	fake_event(k, 30, 0, "sched_switch", "prev_tid=10 next_tid=12 prev_state=1 next_prio=20");
	fake_event(k, 31, 0, "block_getrq", BIO("61", "700"));
	fake_event(k, 32, 0, "block_getrq", BIO("71", "700"));
	fake_event(k, 33, 0, "block_rq_issue", RQ("60", "700", "8"));
	fake_event(k, 34, 0, "block_rq_issue", RQ("70", "700", "8"));
	fake_event(k, 40, 0, "block_rq_complete", RQ("8", "100", "32"));
	fake_event(k, 41, 0, "block_rq_complete", RQ("40", "500", "16"));
	fake_event(k, 42, 0, "block_rq_complete", RQ("40", "600", "8"));
	fake_event(k, 43, 0, "block_rq_complete", RQ("60", "700", "8"));
	fake_event(k, 44, 0, "block_rq_complete", RQ("70", "700", "8"));
	fake_event(k, 60, 0, "sched_switch", "prev_tid=12 next_tid=0 prev_state=1 next_prio=20");
}

static const struct ww_query everything = {
	.tid = -1, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX,
};

static int64_t cell(const struct ww_table *t, const char *what, const char *column)
{
	const struct ww_analysis *a = t->analysis;

	for (uint32_t i = 0; i < t->nrows; i++)
		for (uint32_t c = 0; c < a->ncolumns; c++)
			if (!strcmp(t->cells[(size_t)i * a->ncolumns].s, what) && !strcmp(a->columns[c].name, column))
				return t->cells[(size_t)i * a->ncolumns + c].i;
	return -9;
}

static void figures(bool merges)
{
	struct ww_lack lacks[WW_LACK_N];
	struct fake *k = fake_new("lttng");
	struct ww_arena mem;
	struct ww_table t;
	struct ww_facts f;
	struct ww_err err = {0};

	lay(k, merges);
	ww_arena_init(&mem);
	fake_model(k, NULL, &f);
	const struct ww_analysis *io = ww_analysis_find("io");
	TAP_NEED(io->run(&mem, &f, &everything, &t, &err) == 0, "io: %s", err.message);
	is_i64(cell(&t, "sda", "merged"), merges ? 3 : WW_NO_VALUE, "a back merge and a front merge for a partition, and a request");
	is_i64(cell(&t, "sda", "count"), merges ? 1 : 2, "these are no requests of their own");
	is_i64(cell(&t, "sda", "bytes"), merges ? 32 * 512 : 40 * 512, "and their bytes are in the one that they went into");
	is_i64(cell(&t, "sda1", "count"), -9, "a partition has no requests");
	is_i64(cell(&t, "device 0:40", "merged"), merges ? 1 : WW_NO_VALUE, "whose partition it is, its requests tell");
	is_i64(cell(&t, "device 0:40", "count"), 2, "of each bio one request");
	is_i64(cell(&t, "device 0:40", "queue_ns"), 2 + 1, "which waited since there was the bio");
	is_i64(cell(&t, "device 0:41", "count"), -9, "and none of the partition");
	is_i64(cell(&t, "device 0:60", "count") + cell(&t, "device 0:70", "count"), 2, "of two mirrors each has its own");
	is_i64(ww_analysis_lacks(&f, io, &everything, lacks), merges ? 0 : 1, "what is not recorded is said");
	ww_arena_release(&mem);
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	figures(true);
	figures(false);
	return done_testing();
}
