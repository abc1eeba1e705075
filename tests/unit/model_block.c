/* model_block.c - block requests that the machinery for flushes completes otherwise than they were issued, on traces laid
 * by hand as kernels 6.1 and 6.18 write them for a commit of ext4's journal.
 */
#include "model_scene.h"

/* rwbs: 33 write + sync, 97 write + sync + meta, 1280 flush. All completions come in an interrupt, which wakes 10. */
static void done(struct fake *k, int64_t ts, const char *fields)
{
	fake_event(k, ts, 0, "irq_handler_entry", "irq=36 name='virtio1'");
	fake_event(k, ts + 1, 0, "block_rq_complete", fields);
	fake_event(k, ts + 2, 0, "sched_waking", "tid=10 target_cpu=0");
	fake_event(k, ts + 3, 0, "irq_handler_exit", "irq=36 ret=1");
	fake_event(k, ts + 4, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, ts + 6, 0, "sched_switch", SW(10, 0, 2));
}

static struct fake *scene(void)
{
	struct fake *k = fake_new("lttng");

	contexts(k);
	fake_event(k, 90, 0, "sched_switch", SW(0, 10, 0));
	fake_event(k, 95, 0, "sched_switch", SW(10, 0, 2));
	return k;
}

static void test_completed_twice(void)
{
	struct fake *k = scene();
	struct ww_facts f;

	fake_event(k, 100, 0, "block_rq_issue", "dev=8388608 sector=640 nr_sector=2 bytes=1024 rwbs=97 tid=10 comm='jbd2'");
	done(k, 200, "dev=8388608 sector=640 nr_sector=2 error=0 rwbs=97");
	fake_event(k, 300, 0, "block_rq_issue", "dev=8388608 sector=0 nr_sector=0 bytes=0 rwbs=1280 tid=10 comm='jbd2'");
	done(k, 400, "dev=8388608 sector=0 nr_sector=0 error=0 rwbs=1280");
	done(k, 410, "dev=8388608 sector=640 nr_sector=0 error=0 rwbs=97"); /* the first again */
	done(k, 500, "dev=8388608 sector=0 nr_sector=0 error=0 rwbs=33");   /* a write that was only a flush */
	fake_model(k, NULL, &f);
	is_i64(f.block_io.n, 2, "a write and a flush");
	is_i64(f.block_io.completed_ts_ns[0], 201, "the write completes when its data is written");
	is_i64(f.block_io.completed_ts_ns[1], 401, "the flush");
	is_i64(f.wakeup.n, 4, "four wakeups");
	is_i64(f.wakeup.fact[2], 0, "the third is for the write, with what it needed behind it");
	is_i64(f.wakeup.fact[3], 1, "the fourth for the flush");
	ww_facts_release(&f);
	fake_free(k);
}

/* Before Linux 6.5: issued at sector 0, completed at -1. */
static void test_flush_elsewhere(void)
{
	struct fake *k = scene();
	struct ww_facts f;

	for (int i = 0; i < 2; i++) {
		fake_event(k, 100 + 100 * i, 0, "block_rq_issue", "dev=8388608 sector=0 nr_sector=0 bytes=0 rwbs=1280 tid=10 comm='jbd2'");
		done(k, 150 + 100 * i, "dev=8388608 sector=18446744073709551615 nr_sector=0 error=0 rwbs=1280");
	}
	fake_model(k, NULL, &f);
	is_i64(f.block_io.n, 2, "two flushes");
	for (uint32_t i = 0; i < f.block_io.n; i++)
		is_i64(f.block_io.completed_ts_ns[i] - f.block_io.issued_ts_ns[i], 51, "issued and completed");
	ww_facts_release(&f);
	fake_free(k);
}

/* Nothing was seen of what completes: its begin is not known, and it is a request of its own. */
static void test_begun_before(void)
{
	struct fake *k = scene();
	struct ww_facts f;

	done(k, 200, "dev=8388608 sector=640 nr_sector=0 error=0 rwbs=97");
	fake_model(k, NULL, &f);
	is_i64(f.block_io.n, 1, "one request");
	is_i64(f.block_io.issued_ts_ns[0], -1, "whose begin is not in the trace");
	ww_facts_release(&f);
	fake_free(k);
}

/* A completion is not in the trace, and later the same is read again; and a request that is issued twice, as it was
 * requeued in between. */
static void test_asked_again(bool requeued)
{
	static const char rq[] = "dev=8388608 sector=640 nr_sector=8 bytes=4096 rwbs=4 tid=10 comm='dd'";
	struct fake *k = scene();
	struct ww_facts f;

	fake_event(k, 100, 0, "block_rq_insert", rq);
	fake_event(k, 110, 0, "block_rq_issue", rq);
	if (requeued)
		fake_event(k, 200, 0, "block_rq_requeue", "dev=8388608 sector=640 nr_sector=8 errors=0 rwbs=4");
	fake_event(k, 300, 0, "block_rq_insert", rq);
	fake_event(k, 310, 0, "block_rq_issue", rq);
	done(k, 400, "dev=8388608 sector=640 nr_sector=8 error=0 rwbs=4");
	fake_model(k, NULL, &f);
	const uint32_t last = f.block_io.n - 1;
	is_i64(f.block_io.n, requeued ? 1 : 2, requeued ? "requeued: one request" : "two requests");
	is_i64(f.block_io.queued_ts_ns[last], requeued ? 100 : 300, "since when it waited");
	is_i64(f.block_io.issued_ts_ns[last], 310, "when it went to the device");
	is_i64(f.block_io.completed_ts_ns[last], 401, "when it was done");
	is_i64(f.block_io.completed_ts_ns[0], requeued ? 401 : -1, "of the first that is known only if it is the same");
	ww_facts_release(&f);
	fake_free(k);
}

int main(void)
{
	test_asked_again(false);
	test_asked_again(true);
	test_completed_twice();
	test_flush_elsewhere();
	test_begun_before();
	return done_testing();
}
