/* files.c - what was read, written and waited for, by file, pipe or socket; by process and by thread.
 *
 * Bytes and calls are those of the system calls on the file: what a call returned, so a read served from
 * the page cache counts like one from the disk. How much of the time was waiting, and how much of that for
 * the disk, is of the states within those calls that have both ends. A read of a regular file that did not block, and made no request
 * that was done before its end, was served from the page cache; it may have set the disk to read ahead. Entries of directories are no bytes. By thread and by
 * process, calls that read or write count also where the trace does not tell on which file.
 */
#include "analysis/names.h"
#include "analysis/ranges.h"

extern const struct ww_analysis ww_analysis_files, ww_analysis_files_process, ww_analysis_files_thread;

/* What both tables have, behind the columns that say of what. */
enum { READ, READS, CACHED, WRITTEN, WRITES, OTHER, RECORDED, TIME, IN_CACHE, BLOCKED, DISK, OTHER_BLOCKED, P50, P99, MAX, FAILED, NSUMS };

#define SUM_COLUMNS(at)                                                                            \
	[(at) + READ] = {"read_bytes", "read", WW_T_BYTES, "returned by read-like calls, as far as it was recorded; null: of none of them, or of some it is not to be known (recvmmsg, vmsplice)"}, \
	[(at) + READS] = {"reads", "reads", WW_T_COUNT,                                            \
			  "null, as writes and other_calls: of threads whose calls were not all recorded, which have rows of their own"}, \
	[(at) + CACHED] = {"cached_bytes", "from cache", WW_T_BYTES,                               \
			   "of those read: of regular files, by reads that waited for nothing, so from the page cache, or a " \
			   "file of no disk as in /proc; null: not known"},                        \
	[(at) + WRITTEN] = {"written_bytes", "written", WW_T_BYTES, "returned by write-like calls; null: the same (sendmmsg, vmsplice)"}, \
	[(at) + WRITES] = {"writes", "writes", WW_T_COUNT, ""},                                    \
	[(at) + OTHER] = {"other_calls", "other calls", WW_T_COUNT, "fsync, poll, fstat, ..."},    \
	[(at) + RECORDED] = {"recorded", "recorded", WW_T_COUNT, "so many calls, of all these, the trace has"}, \
	[(at) + TIME] = {"total_ns", "in calls", WW_T_DUR,                                         \
			 "entry to exit, together, of those that have both; null: none has"},      \
	[(at) + IN_CACHE] = {"cached_ns", "in those from cache", WW_T_DUR,                         \
			     "of that, in those reads; null: not known"},       \
	[(at) + BLOCKED] = {"blocked_ns", "blocked", WW_T_DUR, "of total_ns"},                     \
	[(at) + DISK] = {"disk_ns", "for the disk", WW_T_DUR, "of that"},                          \
	[(at) + OTHER_BLOCKED] = {"other_blocked_ns", "blocked otherwise", WW_T_DUR,               \
				  "in the range, threads were blocked in calls that began before it, or of which begin or end is not in the trace"}, \
	[(at) + P50] = {"p50_ns", "median", WW_T_DUR, "of a call"},                                \
	[(at) + P99] = {"p99_ns", "99 %", WW_T_DUR, ""},                                           \
	[(at) + MAX] = {"max_ns", "longest", WW_T_DUR, ""},                                        \
	[(at) + FAILED] = {"failed", "failed", WW_T_COUNT, "calls that returned an error; null: of none it is known"}

enum { NAME, KIND, F_SUMS, USER = F_SUMS + NSUMS, F_NCOLUMNS };

static const struct ww_column columns[F_NCOLUMNS] = {
	[NAME] = {"file", "file", WW_T_STR, "path, or what it is"},
	[KIND] = {"kind", "kind", WW_T_STR, ""},
	SUM_COLUMNS(F_SUMS),
	[USER] = {"last_comm", "last used by", WW_T_STR, ""},
};

enum { TID, PID, COMM, T_SUMS, T_NCOLUMNS = T_SUMS + NSUMS };

static const struct ww_column thread_columns[T_NCOLUMNS] = {
	[TID] = {"tid", "tid", WW_T_INT, "thread id"},
	[PID] = {"pid", "process", WW_T_ID, "process id; -1 unknown"},
	[COMM] = {"comm", "name", WW_T_STR, "last name of the thread"},
	SUM_COLUMNS(T_SUMS),
};

enum { P_PID, P_COMM, P_SUMS, P_NCOLUMNS = P_SUMS + NSUMS };

static const struct ww_column process_columns[P_NCOLUMNS] = {
	[P_PID] = {"pid", "process", WW_T_ID, "process id; -1 unknown"},
	[P_COMM] = {"comm", "name", WW_T_STR, "last name of its main thread"},
	SUM_COLUMNS(P_SUMS),
};

enum by { BY_FILE, BY_PROCESS, BY_THREAD };

struct sum {
	bool in_full; /* of threads whose calls were all recorded */
	uint32_t file, reads, writes, other, failed, thread, done; /* done: with both ends */
	uint32_t calls, returned, returned_read, returned_written;
	uint32_t unknown_reads; /* on a descriptor of which it is not known what it is */
	uint8_t untold; /* UNTOLD_READ, UNTOLD_WRITE: there were such */
	int64_t read, cached, written, ns, in_cache, blocked, disk, other_blocked, max, last_ts_ns;
};

/* UNTOLD: how many bytes it moved it does not return. */
enum direction {
	OTHER_CALL = 0, READ_CALL = 1, WRITE_CALL = 2, MOVE_CALL = READ_CALL | WRITE_CALL,
	UNTOLD_READ = 4, UNTOLD_WRITE = 8,
};

/* By name, since numbers differ between architectures and producers. */
static enum direction direction_of(const char *name)
{
	static const struct {
		const char *name;
		enum direction dir;
	} calls[] = {
		{"read", READ_CALL}, {"readv", READ_CALL}, {"pread64", READ_CALL}, {"preadv", READ_CALL},
		{"preadv2", READ_CALL}, {"recvfrom", READ_CALL}, {"recvmsg", READ_CALL}, {"recv", READ_CALL},
		{"write", WRITE_CALL}, {"writev", WRITE_CALL}, {"pwrite64", WRITE_CALL}, {"pwritev", WRITE_CALL},
		{"pwritev2", WRITE_CALL}, {"sendto", WRITE_CALL}, {"sendmsg", WRITE_CALL}, {"send", WRITE_CALL},
		{"sendfile", MOVE_CALL}, {"sendfile64", MOVE_CALL}, {"splice", MOVE_CALL}, {"tee", MOVE_CALL},
		{"copy_file_range", MOVE_CALL},
		{"recvmmsg", UNTOLD_READ}, {"sendmmsg", UNTOLD_WRITE}, {"vmsplice", UNTOLD_READ | UNTOLD_WRITE},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(calls); i++)
		if (!strcmp(name, calls[i].name))
			return calls[i].dir;
	return OTHER_CALL;
}

/* A sum that a call is in, and what it is there: of files one that moves bytes is read from one, written to another. Calls of
 * threads that were not recorded in full are no part of the sums of others. */
struct part {
	uint64_t owner;
	enum direction dir;
};

static struct sum *sum_of(const struct ww_facts *f, struct ww_rows *rows, struct part part, uint32_t thread)
{
	const uint64_t in_full = !!(f->thread.flags[thread] & WW_TF_CALLS);
	struct sum *s = ww_rows_get(rows, part.owner | in_full << 40);

	s->in_full = in_full;
	return s;
}

/* Returns how many, 0..2. Of a thread or process also the calls that say by their name that they read or write. */
static uint32_t parts_of(const struct ww_facts *f, uint32_t call, enum by by, struct part ret[2])
{
	const enum direction dir = direction_of(ww_facts_str(f, f->syscall.name[call]));
	const uint32_t file = f->syscall.file[call], out = f->syscall.file_out[call];
	uint32_t n = 0;

	if (by != BY_FILE) {
		ret[0] = (struct part){by == BY_THREAD ? f->syscall.thread[call] : ww_process_key(f, f->syscall.thread[call]), dir};
		return file < f->file.n || out < f->file.n || dir != OTHER_CALL;
	}
	if (dir != MOVE_CALL || file == out) {
		ret[0] = (struct part){file, dir};
		return file < f->file.n;
	}
	if (file < f->file.n)
		ret[n++] = (struct part){file, READ_CALL};
	if (out < f->file.n)
		ret[n++] = (struct part){out, WRITE_CALL};
	return n;
}

static bool taken(const struct ww_facts *f, const struct ww_query *q, uint32_t i)
{
	return ww_query_holds(q, f->syscall.start_ts_ns[i]) && ww_query_takes_at(f, q, f->syscall.thread[i], f->syscall.start_ts_ns[i]);
}

/* Was a request to a disk made in the call that was completed before its end? */
static bool made_request(const struct ww_facts *f, uint32_t call)
{
	const int64_t from = f->syscall.start_ts_ns[call], to = from + f->syscall.dur_ns[call];
	uint32_t first, end;

	ww_block_range(f, from, to, &first, &end);
	for (uint32_t i = first; i < end; i++)
		if (f->block_io.submitter[i] == f->syscall.thread[call] && !f->block_io.write[i] && ww_facts_block_begin(f, i) >= 0 &&
		    f->block_io.completed_ts_ns[i] >= 0 && f->block_io.completed_ts_ns[i] <= to)
			return true;
	return false;
}

/* Was it a read of a file's bytes that found them in memory? One that blocked may have waited for a disk, or a server;
 * a fast disk is done before anybody waits. */
static bool is_from_cache(const struct ww_facts *f, uint32_t call)
{
	const uint32_t file = f->syscall.file[call];
	uint32_t first, n;

	if (file >= f->file.n || f->file.kind[file] != WW_FK_REG || f->syscall.dur_ns[call] < 0)
		return false;
	ww_facts_states(f, f->syscall.thread[call], f->syscall.start_ts_ns[call],
			f->syscall.start_ts_ns[call] + f->syscall.dur_ns[call], &first, &n);
	for (uint32_t i = first; i < first + n; i++)
		if (f->state.state[i] == WW_ST_BLOCKED)
			return false;
	return !made_request(f, call);
}

static void add_read(const struct ww_facts *f, uint32_t i, int64_t bytes, struct sum *s)
{
	const uint32_t file = f->syscall.file[i];

	s->reads++;
	s->read += bytes;
	s->unknown_reads += file >= f->file.n || f->file.kind[file] == WW_FK_UNKNOWN;
	if (is_from_cache(f, i)) {
		s->cached += bytes;
		s->in_cache += f->syscall.dur_ns[i];
	}
}

static void add_part(const struct ww_facts *f, uint32_t i, struct part part, enum by by,
		     struct ww_rows *rows, struct ww_samples *samples)
{
	struct sum *s = sum_of(f, rows, part, f->syscall.thread[i]);
	const bool known = f->syscall.known[i] & WW_SK_RET;
	int64_t ret = known ? f->syscall.ret[i] : 0, ns = f->syscall.dur_ns[i];

	s->file = by == BY_FILE ? (uint32_t)part.owner : WW_NONE;
	if (!s->calls++ || f->syscall.start_ts_ns[i] >= s->last_ts_ns) {
		s->last_ts_ns = f->syscall.start_ts_ns[i];
		s->thread = f->syscall.thread[i];
	}
	s->failed += ret < 0 && ret >= -4095;
	s->returned += known;
	s->returned_read += known && part.dir & READ_CALL;
	s->returned_written += known && part.dir & WRITE_CALL;
	if (part.dir & READ_CALL)
		add_read(f, i, WW_MAX(ret, 0), s);
	if (part.dir & WRITE_CALL) {
		s->writes++;
		s->written += WW_MAX(ret, 0);
	}
	s->other += !(part.dir & MOVE_CALL);
	s->untold |= part.dir;
	if (!ww_call_is_whole(f, i))
		return;
	s->done++;
	s->ns += ns;
	s->max = WW_MAX(s->max, ns);
	ww_samples_push(samples, ww_rows_index(rows, s), ns);
}

static void add_call(const struct ww_facts *f, const struct ww_query *q, uint32_t i, enum by by,
		     struct ww_rows *rows, struct ww_samples *samples)
{
	struct part parts[2];

	if (taken(f, q, i))
		for (uint32_t n = parts_of(f, i, by, parts), k = 0; k < n; k++)
			add_part(f, i, parts[k], by, rows, samples);
}

struct waits {
	struct ww_rows *rows;
	enum by by;
};

static void add_wait(void *ctx, const struct ww_facts *f, uint32_t state, bool whole, int64_t ns)
{
	const struct waits *w = ctx;
	struct part parts[2];

	for (uint32_t k = parts_of(f, f->state.syscall[state], w->by, parts); k-- > 0;) {
		struct sum *s = sum_of(f, w->rows, parts[k], f->state.thread[state]);

		s->file = w->by == BY_FILE ? (uint32_t)parts[k].owner : WW_NONE;
		if (!s->calls)
			s->thread = f->state.thread[state];
		if (!whole) {
			s->other_blocked += ns;
			continue;
		}
		s->blocked += ns;
		if (ww_state_cause(f, state) == WW_CA_DISK)
			s->disk += ns;
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->in_full != y->in_full)
		return x->in_full ? -1 : 1;
	const int64_t x_ns = x->in_full ? x->ns : x->other_blocked, y_ns = y->in_full ? y->ns : y->other_blocked;

	return x_ns < y_ns ? 1 : x_ns > y_ns ? -1 : 0;
}

/* Without switches nobody knows whether a call waited. */
static void put_sums(const struct ww_fill *x, const struct sum *s, uint32_t row, union ww_cell *c)
{
	const struct ww_samples *samples = x->samples;
	const bool read = s->in_full && (s->returned_read || !s->reads) && !(s->untold & UNTOLD_READ);

	c[READ].i = read ? s->read : WW_NO_VALUE;
	c[READS].i = s->in_full ? s->reads : WW_NO_VALUE;
	const bool cached = read && x->f->knows.switches && !s->unknown_reads;
	c[CACHED].i = cached ? s->cached : WW_NO_VALUE;
	c[IN_CACHE].i = cached ? s->in_cache : WW_NO_VALUE;
	c[WRITTEN].i = s->in_full && (s->returned_written || !s->writes) && !(s->untold & UNTOLD_WRITE) ? s->written : WW_NO_VALUE;
	c[WRITES].i = s->in_full ? s->writes : WW_NO_VALUE;
	c[OTHER].i = s->in_full ? s->other : WW_NO_VALUE;
	c[RECORDED].i = s->calls;
	c[TIME].i = s->done ? s->ns : WW_NO_VALUE;
	c[BLOCKED].i = s->done && x->f->knows.switches ? s->blocked : WW_NO_VALUE;
	c[DISK].i = s->done && x->f->knows.switches ? s->disk : WW_NO_VALUE;
	c[OTHER_BLOCKED].i = x->f->knows.switches ? s->other_blocked : WW_NO_VALUE;
	c[P50].i = ww_samples_part(samples, row, 500);
	c[P99].i = ww_samples_part(samples, row, 990);
	c[MAX].i = s->done ? s->max : WW_NO_VALUE;
	c[FAILED].i = s->returned ? s->failed : WW_NO_VALUE;
}

static bool put_thread(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[TID].i = x->f->thread.tid[s->thread];
	c[PID].i = x->f->thread.pid[s->thread];
	c[COMM].s = ww_name_comm(x->f, s->thread);
	put_sums(x, s, row, c + T_SUMS);
	return true;
}

static bool put_process(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[P_PID].i = x->f->thread.pid[s->thread];
	c[P_COMM].s = ww_name_comm(x->f, ww_process_main(x->f, s->thread));
	put_sums(x, s, row, c + P_SUMS);
	return true;
}

static bool put_file(const struct ww_fill *x, const void *sum, uint32_t row, union ww_cell *c)
{
	const struct sum *s = sum;

	c[NAME].s = ww_name_file(x->f, s->file);
	c[KIND].s = ww_file_kind_name(x->f->file.kind[s->file]);
	c[USER].s = ww_name_thread(x->mem, x->f, s->thread);
	put_sums(x, s, row, c + F_SUMS);
	return true;
}

static int make(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		const struct ww_analysis *a, enum by by)
{
	struct ww_samples samples = {0};
	struct ww_rows rows;

	ww_rows_init(&rows, sizeof(struct sum));
	for (uint32_t t = 0; t < f->thread.n; t++) {
		uint32_t first, n;

		if (!ww_query_meets(f, q, t) || !ww_query_takes(f, q, t))
			continue;
		ww_facts_calls(f, t, q->from_ts_ns, q->to_ts_ns, &first, &n);
		for (uint32_t k = first; k < first + n; k++)
			add_call(f, q, f->syscall_of_thread[k], by, &rows, &samples);
		ww_query_call_waits(f, q, t, add_wait, &(struct waits){&rows, by});
	}
	const struct ww_fill fill = {
		.analysis = a, .f = f, .q = q, .mem = mem, .order = longest_first,
		.put = by == BY_THREAD ? put_thread : by == BY_PROCESS ? put_process : put_file, .samples = &samples,
	};
	ww_rows_fill(&fill, &rows, ret);
	return 0;
}

static int run_files(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		     struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_files, BY_FILE);
}

static int run_processes(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
			 struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_files_process, BY_PROCESS);
}

static int run_threads(struct ww_arena *mem, const struct ww_facts *f, const struct ww_query *q, struct ww_table *ret,
		       struct ww_err *err)
{
	return make(mem, f, q, ret, &ww_analysis_files_thread, BY_THREAD);
}

const struct ww_analysis ww_analysis_files = {
	.parts = WW_NEED(WW_NEED_SWITCHES),
	.needs = WW_NEED(WW_NEED_THREADS) | WW_NEED(WW_NEED_SYSCALLS),
	.name = "files", .summary = "what was read and written, by file: bytes, calls, time, waiting for the disk",
	.in_full = WW_TF_CALLS, .columns = columns, .ncolumns = F_NCOLUMNS, .run = run_files, .of_command = true,
};
const struct ww_analysis ww_analysis_files_process = {
	.parts = WW_NEED(WW_NEED_SWITCHES),
	.needs = WW_NEED(WW_NEED_THREADS) | WW_NEED(WW_NEED_SYSCALLS),
	.name = "files_process", .summary = "what each process read and wrote",
	.in_full = WW_TF_CALLS, .columns = process_columns, .ncolumns = P_NCOLUMNS, .run = run_processes, .of_command = true,
};
const struct ww_analysis ww_analysis_files_thread = {
	.parts = WW_NEED(WW_NEED_SWITCHES),
	.needs = WW_NEED(WW_NEED_THREADS) | WW_NEED(WW_NEED_SYSCALLS),
	.name = "files_thread", .summary = "what each thread read and wrote",
	.in_full = WW_TF_CALLS, .columns = thread_columns, .ncolumns = T_NCOLUMNS, .run = run_threads, .of_command = true,
};
