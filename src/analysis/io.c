/* io.c - block requests: by device, by process that asked for them, by file, and their latency's distribution.
 *
 * queue: from being queued to being issued to the device; device: from there to its completion. Requests of
 * which the trace has not both begin and completion are counted as partial and are in no sum of time. They
 * count by when they were queued (or issued, or completed, if that is the first that is known). What was merged into
 * another one is counted beside them, for who asked for it.
 */
#include "analysis/histogram.h"
#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_io, ww_analysis_io_process, ww_analysis_io_file, ww_analysis_io_latency;

enum { WHAT, OP, COUNT, MERGED, BYTES, SECTORS, QUEUE, DEVICE, AVG, P50, P99, MAX, MAX_AT, OPEN, NCOLUMNS };

#define SHARED_COLUMNS                                                                                          \
	[OP] = {"op", "does", WW_T_STR, "read, write, flush, discard"},                                         \
	[COUNT] = {"count", "requests", WW_T_COUNT, "in the range"},                                     \
	[MERGED] = {"merged", "merged", WW_T_COUNT,                                                            \
		    "more that went into one of these or of another's, so that they are none of their own; null: not recorded"}, \
	[BYTES] = {"bytes", "bytes", WW_T_BYTES, ""},                                                           \
	[SECTORS] = {"sectors", "sectors", WW_T_COUNT, "of 512 bytes: of the disk, read, written or discarded"}, \
	[QUEUE] = {"queue_ns", "queued", WW_T_DUR, "before they were issued, together; null: all are partial"}, \
	[DEVICE] = {"device_ns", "in the device", WW_T_DUR, "issued to completed, together"},                   \
	[AVG] = {"avg_ns", "mean", WW_T_DUR, "of queue and device time"},                                       \
	[P50] = {"p50_ns", "median", WW_T_DUR, ""},                                                             \
	[P99] = {"p99_ns", "99 %", WW_T_DUR, ""},                                                               \
	[MAX] = {"max_ns", "longest", WW_T_DUR, ""},                                                            \
	[MAX_AT] = {"max_ts_ns", "at", WW_T_TIME, "when the longest one began"},                                \
	[OPEN] = {"partial", "partial", WW_T_COUNT, "of these, whose begin or completion is not in the trace"}

static const struct ww_column device_columns[NCOLUMNS] = {
	[WHAT] = {"device", "device", WW_T_STR, ""}, SHARED_COLUMNS,
};
static const struct ww_column process_columns[NCOLUMNS] = {
	[WHAT] = {"submitter", "asked for by", WW_T_STR, "thread that queued them; of write-back a kernel worker"},
	SHARED_COLUMNS,
};
static const struct ww_column file_columns[NCOLUMNS] = {
	[WHAT] = {"file", "file", WW_T_STR, "that its submitter read, wrote or synced then; empty: not known, as of write-back"},
	SHARED_COLUMNS,
};

struct sum {
	uint32_t dev, submitter, file, count, merged, open, done;
	uint8_t op;
	int64_t bytes, sectors, queue, device, max, max_at;
};

static const char *op_name(uint8_t op)
{
	static const char *const names[] = {"read", "write", "flush", "discard"};

	return op < WW_ARRAY_SIZE(names) ? names[op] : "unknown";
}

static bool taken(const struct ww_facts *f, const struct ww_query *q, uint32_t i)
{
	uint32_t t = f->block_io.submitter[i];

	return t < f->thread.n ? ww_query_takes_at(f, q, t, ww_facts_block_seen(f, i)) : !ww_query_asks(q);
}

static void add(const struct ww_facts *f, uint32_t i, struct ww_rows *rows, uint64_t key, struct ww_samples *samples)
{
	int64_t begin = ww_facts_block_begin(f, i), issued = f->block_io.issued_ts_ns[i], end = f->block_io.completed_ts_ns[i];
	struct sum *s = ww_rows_get(rows, key);

	s->dev = f->block_io.dev[i];
	s->submitter = f->block_io.submitter[i];
	s->file = f->block_io.file[i];
	s->op = f->block_io.write[i];
	if (f->block_io.merged[i]) { /* its bytes are in the other's */
		s->merged++;
		return;
	}
	s->count++;
	s->bytes += f->block_io.bytes[i];
	s->sectors += f->block_io.bytes[i] / 512;
	if (end < 0 || begin < 0) { /* its end or its begin is not in the trace */
		s->open++;
		return;
	}
	if (issued >= begin)
		s->queue += issued - begin;
	s->device += end - WW_MAX(issued, begin);
	if (end - begin > s->max || !s->done) {
		s->max = end - begin;
		s->max_at = begin;
	}
	s->done++;
	ww_samples_push(samples, ww_rows_index(rows, s), end - begin);
}

static int most_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	int64_t i = x->queue + x->device, k = y->queue + y->device;

	return i < k ? 1 : i > k ? -1 : 0;
}

static bool put(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[WHAT].s = x->analysis == &ww_analysis_io_process ? ww_name_thread(x->mem, x->f, s->submitter)
		    : x->analysis == &ww_analysis_io_file  ? ww_name_file(x->f, s->file)
							   : ww_name_device(x->mem, x->f, s->dev);
	c[OP].s = op_name(s->op);
	c[COUNT].i = s->count;
	c[MERGED].i = x->f->knows.merges ? s->merged : WW_NO_VALUE;
	c[BYTES].i = s->bytes;
	c[SECTORS].i = s->sectors;
	c[QUEUE].i = s->done ? s->queue : WW_NO_VALUE;
	c[DEVICE].i = s->done ? s->device : WW_NO_VALUE;
	c[AVG].i = s->done ? (s->queue + s->device) / s->done : WW_NO_VALUE;
	c[P50].i = ww_samples_part(x->samples, row, 500);
	c[P99].i = ww_samples_part(x->samples, row, 990);
	c[MAX].i = s->done ? s->max : WW_NO_VALUE;
	c[MAX_AT].i = s->done ? s->max_at : WW_NO_VALUE;
	c[OPEN].i = s->open;
	return true;
}

static int make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		const struct ww_analysis *a)
{
	struct ww_samples samples = {0};
	struct ww_rows rows;
	uint32_t first, end;

	ww_rows_init(&rows, sizeof(struct sum));
	ww_block_range(f, q->from_ts_ns, q->to_ts_ns, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		const uint64_t who = a == &ww_analysis_io_process ? f->block_io.submitter[i]
				     : a == &ww_analysis_io_file  ? f->block_io.file[i]
								  : f->block_io.dev[i];
		if (taken(f, q, i))
			add(f, i, &rows, who << 8 | f->block_io.write[i], &samples);
	}
	const struct ww_fill fill = {
		.analysis = a, .f = f, .q = q, .mem = mem, .order = most_first, .put = put, .samples = &samples,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

static int run_devices(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		       struct ww_table *ret, struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_io);
}

static int run_processes(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
			 struct ww_table *ret, struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_io_process);
}

static int run_files(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		     struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_io_file);
}

/* ---- the histogram ---- */

static const struct ww_column latency_columns[WW_HISTOGRAM_NCOLUMNS] = {
	WW_HISTOGRAM_COLUMNS("requests", "queued in the range and completed"),
};

static int run_latency(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q,
		       struct ww_table *ret, struct ww_err *err)
{
	struct ww_histogram h = {0};
	uint32_t first, end;

	ww_block_range(f, q->from_ts_ns, q->to_ts_ns, &first, &end);
	for (uint32_t i = first; i < end; i++)
		if (taken(f, q, i) && f->block_io.completed_ts_ns[i] >= 0 && ww_facts_block_begin(f, i) >= 0 && !f->block_io.merged[i])
			ww_histogram_add(&h, f->block_io.completed_ts_ns[i] - ww_facts_block_begin(f, i));
	ww_histogram_table(mem, f, &ww_analysis_io_latency, &h, ret);
	return 0;
}

const struct ww_analysis ww_analysis_io = {
	.needs = WW_NEED(WW_NEED_BLOCK), .parts = WW_NEED(WW_NEED_MERGES),
	.name = "io", .summary = "block requests by device: how many, how much, queued and in the device",
	.columns = device_columns, .ncolumns = NCOLUMNS, .run = run_devices,
};
const struct ww_analysis ww_analysis_io_process = {
	.needs = WW_NEED(WW_NEED_BLOCK), .parts = WW_NEED(WW_NEED_MERGES),
	.name = "io_process", .summary = "block requests by who asked for them",
	.columns = process_columns, .ncolumns = NCOLUMNS, .run = run_processes,
};
const struct ww_analysis ww_analysis_io_file = {
	.needs = WW_NEED(WW_NEED_BLOCK), .parts = WW_NEED(WW_NEED_MERGES),
	.name = "io_file", .summary = "block requests by the file that they were for",
	.columns = file_columns, .ncolumns = NCOLUMNS, .run = run_files,
};
const struct ww_analysis ww_analysis_io_latency = {
	.needs = WW_NEED(WW_NEED_BLOCK),
	.name = "io_latency", .summary = "how long block requests took, as a histogram",
	.columns = latency_columns, .ncolumns = WW_HISTOGRAM_NCOLUMNS, .run = run_latency,
};
