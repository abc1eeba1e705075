/* faults.c - which pages of which file were faulted in: each in order, and by file with the pattern of access.
 *
 * The pattern of a file is told by the steps between one fault and the next of the same file: strided when three of five
 * are as long as the one before, sequential when four of five go to what is near, same when all are at one place, else
 * random. Near is 64 KiB forward: so much a fault maps of what is in the page cache (fault-around; what was read ahead is
 * mapped by later faults). But behind a fault that read its own page and nothing else, near is the next page: nothing
 * beside it was there to be mapped. Of a file that is there in huge pages a fault maps one, so that there is one fault in
 * each: then the next one is near. Every 64th page of a file: strided, but for huge pages, of which nobody knows what was
 * touched in them. What was read ahead, and came into use later: ahead.h.
 */
#include "analysis/ahead.h"
#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_faults, ww_analysis_faults_file;

enum { TS, TID, COMM, FILE_NAME, OFFSET, ADDRESS, DUR, MAJOR, READ, AHEAD, HIT, ASKED, WRITE, KERNEL, NCOLUMNS };

#define AHEAD_COLUMNS(at)                                                                                              \
	[at] = {"ahead_bytes", "ahead", WW_T_BYTES, "of the file read ahead: brought in besides the page; null: not known"}, \
	[(at) + 1] = {"hit_bytes", "hit", WW_T_BYTES, "of that, mapped later by a fault for it or for a page beside it"},  \
	[(at) + 2] = {"asked_bytes", "asked", WW_T_BYTES, "of that, surely used: a later fault was for it"}

static const struct ww_column columns[NCOLUMNS] = {
	[TS] = {"ts_ns", "at", WW_T_TIME, "when it began"},
	[TID] = {"tid", "tid", WW_T_INT, "thread id"},
	[COMM] = {"comm", "name", WW_T_STR, "last name of the thread"},
	[FILE_NAME] = {"file", "file", WW_T_STR, "empty: anonymous memory, or not known"},
	[OFFSET] = {"offset_bytes", "offset", WW_T_INT, "in the file"},
	[ADDRESS] = {"address", "address", WW_T_INT, ""},
	[DUR] = {"dur_ns", "took", WW_T_DUR, "null: its end is not in the trace"},
	[MAJOR] = {"major", "major", WW_T_ID, "1: had to be read from the disk; 0 not; null: not known"},
	[READ] = {"read_bytes", "read", WW_T_BYTES, "by requests to the disk that it made: its page and what was read ahead; null: not known"},
	AHEAD_COLUMNS(AHEAD),
	[WRITE] = {"write", "write", WW_T_INT, "1: for writing"},
	[KERNEL] = {"kernel", "by the kernel", WW_T_INT, "1: the kernel came to the page, in a system call"},
};

static const char *file_name(const struct ww_facts *f, uint32_t file)
{
	return file < f->file.n ? ww_name_file(f, file) : "";
}

/* The kernel may try first whether it finds the page without one: that is none. */
static bool in_vain(const struct ww_facts *f, uint32_t i)
{
	return f->fault.kernel[i] && f->fault.dur_ns[i] < 0 && f->knows.faults;
}

/* The faults that the query takes, in the order of time. */
static uint32_t *select_faults(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, uint32_t *ret_n)
{
	uint32_t first, end, n = 0;

	ww_query_times(q, f->fault.start_ts_ns, f->fault.n, &first, &end);
	uint32_t *faults = WW_ARENA_ARRAY(mem, uint32_t, end - first + 1);
	for (uint32_t i = first; i < end; i++)
		if (!in_vain(f, i) && ww_query_takes_at(f, q, f->fault.thread[i], f->fault.start_ts_ns[i]))
			faults[n++] = i;
	*ret_n = n;
	return faults;
}

/* Three cells; only our own recordings tell of pages that are read ahead. */
static void put_ahead(const struct ww_facts *f, const struct ww_ahead *a, union ww_cell *c)
{
	c[0].i = f->knows.faults ? a->ahead_bytes : WW_NO_VALUE;
	c[1].i = f->knows.faults ? a->hit_bytes : WW_NO_VALUE;
	c[2].i = f->knows.faults ? a->asked_bytes : WW_NO_VALUE;
}

/* Which requests are a fault's is told by when it ended. */
static bool knows_read(const struct ww_facts *f)
{
	return f->knows.faults && f->knows.block;
}

/* What the requests read that its thread queued within it. One whose end is not in the trace lasts as long as it is known
 * to: a state tells of it. */
static int64_t read_bytes(const struct ww_facts *f, uint32_t fault)
{
	const int64_t from = f->fault.start_ts_ns[fault], dur = f->fault.dur_ns[fault];
	uint32_t first, end, state, n = 0;
	int64_t bytes = 0;

	ww_block_range(f, from, dur < 0 ? INT64_MAX : from + dur + 1, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		const int64_t at = ww_facts_block_begin(f, i);

		if (f->block_io.submitter[i] != f->fault.thread[fault] || at < 0 || f->block_io.write[i] || f->block_io.merged[i])
			continue;
		if (dur < 0)
			ww_facts_states(f, f->fault.thread[fault], at, at + 1, &state, &n);
		if (dur >= 0 || (n && ww_state_fault(f, state) == fault))
			bytes += f->block_io.bytes[i];
	}
	return bytes;
}

static int run(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
	       struct ww_err *err)
{
	uint32_t n, *order = select_faults(mem, f, q, &n);
	const struct ww_ahead *ahead;
	int rc = ww_ahead_make(mem, f, order, n, &ahead, err);

	if (rc)
		return rc;
	union ww_cell *c = ww_table_init(mem, ret, &ww_analysis_faults, f, n);

	for (uint32_t k = 0; k < n; k++, c += NCOLUMNS) {
		uint32_t i = order[k];
		c[TS].i = f->fault.start_ts_ns[i];
		c[TID].i = f->thread.tid[f->fault.thread[i]];
		c[COMM].s = ww_name_comm(f, f->fault.thread[i]);
		c[FILE_NAME].s = file_name(f, f->fault.file[i]);
		c[OFFSET].i = (int64_t)f->fault.offset[i];
		c[ADDRESS].i = (int64_t)f->fault.address[i];
		c[DUR].i = f->fault.dur_ns[i] < 0 ? WW_NO_VALUE : f->fault.dur_ns[i];
		c[MAJOR].i = f->fault.major[i] > 1 ? WW_NO_VALUE : f->fault.major[i];
		c[READ].i = knows_read(f) ? read_bytes(f, i) : WW_NO_VALUE;
		put_ahead(f, &ahead[k], &c[AHEAD]);
		c[WRITE].i = f->fault.write[i];
		c[KERNEL].i = f->fault.kernel[i];
	}
	return 0;
}

/* ---- by file ---- */

enum { F_NAME, F_FAULTS, F_MAJOR, F_READ, F_AHEAD, F_HIT, F_ASKED, F_TOTAL, F_AVG, F_P99, F_MAX, F_PATTERN,
       F_CHART, F_NCOLUMNS };

static const struct ww_column file_columns[F_NCOLUMNS] = {
	[F_NAME] = {"file", "file", WW_T_STR, "empty: anonymous memory, or not known"},
	[F_FAULTS] = {"count", "faults", WW_T_COUNT, "that began in the range"},
	[F_MAJOR] = {"major", "major", WW_T_COUNT, "of these, read from the disk; null: of none of them it is known"},
	[F_READ] = {"read_bytes", "read", WW_T_BYTES, "by their requests to the disk: their pages and what was read ahead; null: not known"},
	AHEAD_COLUMNS(F_AHEAD),
	[F_TOTAL] = {"total_ns", "together", WW_T_DUR, "of those whose end is in the trace; null: of none"},
	[F_AVG] = {"avg_ns", "mean", WW_T_DUR, ""},
	[F_P99] = {"p99_ns", "99 %", WW_T_DUR, ""},
	[F_MAX] = {"max_ns", "longest", WW_T_DUR, ""},
	[F_PATTERN] = {"pattern", "pattern", WW_T_STR, "sequential, strided, random; same: all at one place; empty: fewer than 4 faults"},
	[F_CHART] = {"chart", "offsets in order of time", WW_T_STR,
		     "a digit for each of up to 32 equal parts of its faults: how far one of them was, 0 the begin of the file to 9 the last place touched; another one in each part, so that places touched in turn all show"},
};

#define CHART 32
#define NEAR_BYTES (64 << 10) /* mm/memory.c: fault_around_bytes */
#define HUGE_BYTES (2 << 20)

struct sum {
	uint32_t file, count, major, judged, ended, near, same; /* judged: it is known whether major */
	int64_t ns, max, last_step, read, reach; /* reach: so far from the last fault a step is near */
	struct ww_ahead ahead;
	uint64_t last_offset, begin, end;
	uint32_t *faults, nfaults;
};

/* `minor`: it is known that it was not read from the disk; own_bytes: of the page, when nothing but that was. */
static void add_step(struct sum *s, uint64_t offset, bool minor, int64_t own_bytes)
{
	const uint64_t huge = offset / HUGE_BYTES;
	int64_t step = (int64_t)(offset - s->last_offset);

	if (s->count > 1) {
		bool alone = s->count == 2 || (s->last_offset - (uint64_t)s->last_step) / HUGE_BYTES != s->last_offset / HUGE_BYTES;
		bool next_huge = minor && alone && huge == s->last_offset / HUGE_BYTES + 1;
		s->near += (step > 0 && step <= s->reach) || next_huge;
		s->same += s->count > 2 && step == s->last_step && (step < 0 || step > s->reach) && !(minor && step == HUGE_BYTES);
		s->last_step = step;
	}
	s->reach = own_bytes ? own_bytes : NEAR_BYTES;
	s->last_offset = offset;
	s->begin = s->count > 1 ? WW_MIN(s->begin, offset) : offset;
	s->end = WW_MAX(s->end, offset);
}

static const char *pattern_of(const struct sum *s)
{
	if (s->count < 4 || s->file == WW_NONE)
		return "";
	if (s->begin == s->end)
		return "same";
	if (10 * s->same >= 6 * (s->count - 2))
		return "strided";
	return 10 * s->near >= 8 * (s->count - 1) ? "sequential" : "random";
}

static const char *chart_of(struct ww_arena *mem, const struct ww_facts *f, const struct sum *s)
{
	uint32_t n = WW_MIN(s->nfaults, CHART);
	char *text = ww_arena_alloc(mem, CHART + 1);

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t first = (uint64_t)i * s->nfaults / n, many = (uint64_t)(i + 1) * s->nfaults / n - first;
		/* By the golden ratio from part to part, which is in step with no pattern of the faults. */
		const uint64_t one = first + ((uint32_t)(i * 2654435769u) * many >> 32);
		const uint64_t at = f->fault.offset[s->faults[one]];

		text[i] = (char)('0' + (s->begin < s->end ? at * 9 / s->end : 0));
	}
	text[s->file == WW_NONE ? 0 : n] = 0;
	return text;
}

static int longest_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void add_fault(const struct ww_facts *f, uint32_t i, const struct ww_ahead *a, struct ww_rows *rows, struct ww_samples *samples)
{
	const bool alone = f->fault.major[i] == 1 && a->own_bytes > 0 && !a->ahead_bytes;
	struct sum *s = ww_rows_get(rows, f->fault.file[i]);

	s->faults[s->count++] = i;
	s->major += f->fault.major[i] == 1;
	s->judged += f->fault.major[i] <= 1;
	add_step(s, f->fault.offset[i], f->fault.major[i] == 0, alone ? a->own_bytes : 0);
	if (f->fault.dur_ns[i] < 0)
		return;
	s->ended++;
	s->ns += f->fault.dur_ns[i];
	s->max = WW_MAX(s->max, f->fault.dur_ns[i]);
	ww_samples_push(samples, ww_rows_index(rows, s), f->fault.dur_ns[i]);
}

static void add_read(struct sum *s, int64_t read, const struct ww_ahead *a)
{
	s->read += read;
	s->ahead.ahead_bytes += a->ahead_bytes;
	s->ahead.hit_bytes += a->hit_bytes;
	s->ahead.asked_bytes += a->asked_bytes;
}

static bool put_file(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[F_NAME].s = file_name(x->f, s->file);
	c[F_FAULTS].i = s->count;
	c[F_MAJOR].i = s->judged ? s->major : WW_NO_VALUE;
	c[F_READ].i = knows_read(x->f) ? s->read : WW_NO_VALUE;
	put_ahead(x->f, &s->ahead, &c[F_AHEAD]);
	c[F_TOTAL].i = s->ended ? s->ns : WW_NO_VALUE;
	c[F_AVG].i = s->ended ? s->ns / s->ended : WW_NO_VALUE;
	c[F_P99].i = ww_samples_part(x->samples, row, 990);
	c[F_MAX].i = s->ended ? s->max : WW_NO_VALUE;
	c[F_PATTERN].s = pattern_of(s);
	c[F_CHART].s = chart_of(x->mem, x->f, s);
	return true;
}

static int run_files(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		     struct ww_err *err)
{
	uint32_t n, *faults = select_faults(mem, f, q, &n);
	const struct ww_ahead *ahead;
	struct ww_samples samples = {0};
	struct ww_rows rows;
	int rc = ww_ahead_make(mem, f, faults, n, &ahead, err);

	if (rc)
		return rc;
	ww_rows_init(&rows, sizeof(struct sum));
	for (uint32_t k = 0; k < n; k++) { /* counted first, so that each file's list has its place */
		struct sum *s = ww_rows_get(&rows, f->fault.file[faults[k]]);
		s->file = f->fault.file[faults[k]] < f->file.n ? f->fault.file[faults[k]] : WW_NONE;
		s->nfaults++;
	}
	for (uint32_t r = 0; r < rows.n; r++) {
		struct sum *s = ww_rows_at(&rows, r);
		s->faults = WW_ARENA_ARRAY(mem, uint32_t, s->nfaults);
	}
	for (uint32_t k = 0; k < n; k++) {
		add_fault(f, faults[k], &ahead[k], &rows, &samples);
		add_read(ww_rows_get(&rows, f->fault.file[faults[k]]), read_bytes(f, faults[k]), &ahead[k]);
	}
	const struct ww_fill fill = {
		.analysis = &ww_analysis_faults_file, .f = f, .q = q, .mem = mem,
		.order = longest_first, .put = put_file, .samples = &samples,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

const struct ww_analysis ww_analysis_faults = {
	.needs = WW_NEED(WW_NEED_FAULTS),
	.parts = WW_NEED(WW_NEED_SWITCHES) | WW_NEED(WW_NEED_FAULT_ENDS),
	.name = "faults", .summary = "page faults in order: which page of which file, how long",
	.in_full = WW_TF_FAULTS, .columns = columns, .ncolumns = NCOLUMNS, .run = run, .of_command = true,
};
const struct ww_analysis ww_analysis_faults_file = {
	.needs = WW_NEED(WW_NEED_FAULTS),
	.parts = WW_NEED(WW_NEED_SWITCHES) | WW_NEED(WW_NEED_FAULT_ENDS),
	.name = "faults_file", .summary = "page faults by file, with the pattern of access",
	.in_full = WW_TF_FAULTS, .columns = file_columns, .ncolumns = F_NCOLUMNS, .run = run_files, .of_command = true,
};
