/* session.c - one recording from the first directory entry to the last packet.
 *
 * Files: metadata, c0_N (the kernel side's, one a CPU), dump_0 (ours: state dump, clocks, target). dump_0 is
 * flushed each second, like the rings, so that after kill -9 no more than a second is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/bpf/event_ids.h"
#include "record/classes.h"
#include "record/outdir.h"
#include "record/privilege.h"
#include "record/session.h"
#include "record/statedump.h"

#define SECOND_NS 1000000000ull
#define MAX_TARGETS 64

struct target {
	int32_t pid;
	char comm[16];
	char *cmdline;
	uint64_t begin_ts_ns, end_ts_ns; /* end 0: it lives */
	int32_t status;
};

struct ww_session {
	struct ww_session_opts opts; /* its outdir is dir */
	char dir[4200];
	struct ww_recorder *rec;
	int dirfd, pid_fd;
	uint8_t uuid[16];
	struct ww_ctf_out dump;
	uint64_t tick_ts_ns;
	uint64_t cpu_before_ns; /* what loading and attaching took, before there was anything to disturb */
	bool started, stopped;
	struct target targets[MAX_TARGETS]; /* for snapshots, which say again who they are */
	uint32_t ntargets;
	int32_t child_pid; /* 0: none */
	uint32_t nsnapshots;
	char snapshot_path[4200];
};

static uint64_t clock_now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* Epoch minus monotonic: of several readings the one whose two monotonic stamps are closest. */
static int64_t clock_offset_ns(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t a = clock_now_ns(CLOCK_MONOTONIC), r = clock_now_ns(CLOCK_REALTIME),
			 b = clock_now_ns(CLOCK_MONOTONIC);
		if (b - a < best) {
			best = b - a;
			offset = (int64_t)(r - (a + best / 2));
		}
	}
	return offset;
}

/* Without system call tracepoints no system call event can be in the trace. */
static bool class_possible(const struct ww_session *s, const char *name)
{
	if (!s->opts.light)
		return true;
	return strncmp(name, "syscall_", 8) && strncmp(name, "compat_syscall_", 15) &&
	       strncmp(name, "whywait_syscall_", 16);
}

static int write_metadata(struct ww_session *s, int dirfd, struct ww_err *err)
{
	char boot_id[64] = "", creation[32], name[256];
	const char *base = strrchr(s->opts.outdir, '/');
	struct ww_ctf_class *classes = ww_xcalloc(ww_classes_count, sizeof(*classes));
	/* Of whom system calls, page faults and call stacks are recorded; of system calls see also class_possible. */
	const struct ww_ctf_env env[] = {{"whywait_version", WW_VERSION},
					 {"whywait_in_full", s->opts.all_syscalls ? "all" : "tree"},
					 {NULL, NULL}};
	time_t now = time(NULL);
	struct tm tm;
	uint32_t n = 0;

	for (size_t i = 0; i < ww_classes_count; i++)
		if (class_possible(s, ww_classes[i].name))
			classes[n++] = (struct ww_ctf_class){ww_classes[i].id, ww_classes[i].name,
							     ww_classes[i].body};
	ww_dump_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
	localtime_r(&now, &tm);
	strftime(creation, sizeof(creation), "%Y%m%dT%H%M%S%z", &tm);
	snprintf(name, sizeof(name), "%s", base && base[1] ? base + 1 : s->opts.outdir);
	struct ww_ctf_meta m = {.clock_uuid = boot_id, .clock_offset_ns = clock_offset_ns(),
				.trace_name = name, .creation = creation, .classes = classes, .nclasses = n,
				.env = env};
	memcpy(m.uuid, s->uuid, 16);
	int rc = ww_ctf_meta_write(dirfd, "metadata", &m, err);
	free(classes);
	return rc;
}

static int open_dump(struct ww_session *s, int dirfd, uint32_t number, struct ww_ctf_out *o, struct ww_err *err)
{
	char name[16];

	snprintf(name, sizeof(name), "dump_%u", number);
	return ww_ctf_out_open(o, dirfd, name, s->uuid, ww_recorder_cpus(s->rec) + number, 0, err);
}

/* A flight recorder's directory says who to ask for a snapshot; the lock says that it still lives. */
static int write_pid_file(struct ww_session *s, struct ww_err *err)
{
	int fd = openat(s->dirfd, "flight.pid", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return ww_err_errno(err, "flight.pid", "cannot create");
	s->pid_fd = fd;
	if (flock(fd, LOCK_EX | LOCK_NB) || dprintf(fd, "%d\n", (int)getpid()) <= 0)
		return ww_err_errno(err, "flight.pid", "cannot write");
	return 0;
}

int ww_session_open(const struct ww_session_opts *opts, struct ww_session **ret, struct ww_err *err)
{
	struct ww_session *s = ww_xcalloc(1, sizeof(*s));
	int rc;

	s->opts = *opts;
	snprintf(s->dir, sizeof(s->dir), "%s", opts->outdir);
	s->opts.outdir = s->dir;
	s->dirfd = s->pid_fd = -1;
	s->dump.file.fd = -1;
	rc = ww_ctf_uuid_make(s->uuid, err);
	if (rc)
		goto fail;
	struct ww_recorder_opts ro = {.light = opts->light, .stacks = opts->stacks,
				      .all_syscalls = opts->all_syscalls, .ring_bytes = opts->ring_bytes,
				      .flight_bytes = opts->flight_bytes, .max_bytes = opts->max_bytes};
	memcpy(ro.uuid, s->uuid, 16);
	/* Loading first: when the kernel refuses, an older trace has not been moved for nothing. */
	rc = ww_privilege_check(err);
	if (!rc)
		rc = ww_outdir_look(s->dir, opts->outdir_or_other, err);
	if (!rc)
		rc = ww_recorder_open(&ro, &s->rec, err);
	if (!rc)
		rc = ww_outdir_make(s->dir, sizeof(s->dir), opts->outdir_or_other, &s->dirfd, err);
	if (!rc && !opts->flight_bytes) {
		ww_recorder_write_to(s->rec, s->dir);
		rc = ww_outdir_mark(s->dirfd, err);
		if (!rc)
			rc = write_metadata(s, s->dirfd, err);
		if (!rc)
			rc = open_dump(s, s->dirfd, 0, &s->dump, err);
	}
	if (rc)
		goto fail;
	*ret = s;
	return 0;
fail:
	ww_session_close(s);
	return rc;
}

const char *ww_session_dir(const struct ww_session *s)
{
	return s->dir;
}

int ww_session_lock(const struct ww_session *s)
{
	return fcntl(s->dirfd, F_DUPFD_CLOEXEC, 0);
}

int ww_session_has_process(int32_t pid, struct ww_err *err)
{
	uint32_t process;

	return ww_recorder_process(pid, &process, err);
}

int ww_session_target(struct ww_session *s, int32_t pid, struct ww_err *err)
{
	return ww_recorder_target_add(s->rec, pid, err);
}

void ww_session_child(struct ww_session *s, int32_t pid)
{
	s->child_pid = pid;
}

static void write_clock(struct ww_session *s, struct ww_ctf_out *o, struct ww_err *err)
{
	struct ww_recorder_stats st;

	ww_recorder_stats(s->rec, &st);
	ww_dump_clock(o, err);
	ww_dump_cost(o, clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_before_ns, st.bytes + o->bytes, err);
}

/* What every dump stream begins with. */
static int write_beginning(struct ww_session *s, struct ww_ctf_out *o, struct ww_err *err)
{
	ww_dump_recorder(o, (int32_t)getpid(), err);
	write_clock(s, o, err);
	struct ww_dump_iters it = {.task_fd = ww_recorder_iter_open(s->rec, WW_ITER_TASKS),
				   .file_fd = ww_recorder_iter_open(s->rec, WW_ITER_FILES),
				   .map_fd = s->opts.stacks ? ww_recorder_iter_open(s->rec, WW_ITER_MAPS) : -1};
	const int fds[] = {it.task_fd, it.file_fd, it.map_fd};
	int rc = ww_statedump_write(o, &it, err);
	for (size_t i = 0; i < WW_ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc ? rc : ww_ctf_out_flush(o, err);
}

int ww_session_start(struct ww_session *s, struct ww_err *err)
{
	int rc = ww_recorder_start(s->rec, err);

	if (rc)
		return rc;
	s->started = true;
	s->cpu_before_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	ww_dump_visit_cpus();
	/* The pid file comes last: who reads it may send a signal at once. */
	if (s->opts.stacks)
		ww_dump_kallsyms(s->dirfd);
	rc = s->opts.flight_bytes ? write_pid_file(s, err) : write_beginning(s, &s->dump, err);
	if (rc)
		return rc;
	s->tick_ts_ns = ww_dump_now_ns();
	rc = s->child_pid ? ww_recorder_target_add(s->rec, s->child_pid, err) : 0;
	if (rc)
		return rc;
	if (s->opts.share)
		ww_outdir_share(s->dirfd, s->opts.share_gid);
	return ww_privilege_drop(WW_KEEP_KILL | (s->opts.share ? WW_KEEP_GIVE : 0) |
				 (s->opts.flight_bytes ? WW_KEEP_PROC : 0), err);
}

void ww_session_target_begin(struct ww_session *s, int32_t pid, uint64_t begin_ts_ns, const char *comm,
			     const char *cmdline)
{
	if (s->ntargets < MAX_TARGETS) {
		struct target *t = &s->targets[s->ntargets++];
		t->pid = pid;
		t->begin_ts_ns = begin_ts_ns;
		snprintf(t->comm, sizeof(t->comm), "%s", comm);
		t->cmdline = ww_xstrdup(cmdline);
	}
	if (!s->dump.buf || s->stopped)
		return;
	ww_dump_target(&s->dump, begin_ts_ns, pid, true, 0, comm, cmdline, NULL);
	ww_ctf_out_flush(&s->dump, NULL); /* whom the trace is about is known from now on, whatever kills us */
}

void ww_session_target_end(struct ww_session *s, int32_t pid, uint64_t end_ts_ns, int32_t wait_status)
{
	const char *comm = "", *cmdline = "";

	for (uint32_t i = 0; i < s->ntargets; i++)
		if (s->targets[i].pid == pid) {
			comm = s->targets[i].comm, cmdline = s->targets[i].cmdline;
			s->targets[i].end_ts_ns = end_ts_ns;
			s->targets[i].status = wait_status;
		}
	if (s->dump.buf && !s->stopped)
		ww_dump_target(&s->dump, end_ts_ns, pid, false, wait_status, comm, cmdline, NULL);
}

int ww_session_tick(struct ww_session *s, int timeout_ms, struct ww_err *err)
{
	int rc = ww_recorder_poll(s->rec, timeout_ms, err);
	uint64_t now = ww_dump_now_ns();

	if (rc || !s->dump.buf || now - s->tick_ts_ns < SECOND_NS)
		return rc;
	s->tick_ts_ns = now;
	write_clock(s, &s->dump, err);
	return ww_ctf_out_flush(&s->dump, err);
}

int ww_session_stop(struct ww_session *s, struct ww_err *err)
{
	int rc = 0;

	if (!s->started || s->stopped)
		return 0;
	s->stopped = true;
	/* Before the end: after it there is nothing that the trace tells of. */
	if (s->dump.buf)
		write_clock(s, &s->dump, err);
	rc = ww_recorder_stop(s->rec, err);
	if (s->dump.buf) {
		int rc2 = ww_ctf_out_close(&s->dump, err);
		rc = rc ? rc : rc2;
	}
	return rc;
}

/* The targets that lived within the snapshot's time, which begins at `from`. */
static void write_targets(struct ww_session *s, struct ww_ctf_out *o, uint64_t from, struct ww_err *err)
{
	uint64_t ts = from;

	for (int end = 0; end < 2; end++)
		for (uint32_t i = 0; i < s->ntargets; i++) {
			const struct target *t = &s->targets[i];

			if (t->end_ts_ns ? t->end_ts_ns <= from : end)
				continue;
			ts = WW_MAX(ts, end ? t->end_ts_ns : t->begin_ts_ns);
			ww_dump_target(o, ts, t->pid, !end, end ? t->status : 0, t->comm, t->cmdline, err);
		}
}

/* What explains the oldest events, or happened among them: a stream of its own. */
static int write_explanations(struct ww_session *s, int dirfd, struct ww_err *err)
{
	struct ww_ctf_out out = {.file.fd = -1}, *o = &out;
	uint64_t ts_ns = ww_recorder_oldest_ts_ns(s->rec), address;
	const char *name;
	int rc = open_dump(s, dirfd, 1, o, err);

	for (uint32_t i = 0; ts_ns != UINT64_MAX && !rc && ww_recorder_function(s->rec, i, &address, &name); i++) {
		if (!*name)
			continue;
		rc = ww_ctf_rec_begin(o, WW_EV_WHYWAIT_FUNCTION, ts_ns, err);
		if (rc)
			break;
		ww_ctf_rec_u64(o, address);
		ww_ctf_rec_str(o, name);
		ww_ctf_rec_end(o);
	}
	if (ts_ns != UINT64_MAX)
		write_targets(s, o, ts_ns, err);
	int rc2 = ww_ctf_out_close(o, err);
	return rc ? rc : rc2;
}

/* The state first, then the events that lead to it: what came after the rings' end would be told of a time in which
 * nothing was recorded. */
static int fill_snapshot(struct ww_session *s, int dirfd, struct ww_err *err)
{
	struct ww_ctf_out o = {.file.fd = -1};
	/* A trace of its own: what two of them have in common is twice there, and packets are numbered anew. */
	int rc = ww_ctf_uuid_make(s->uuid, err);

	if (!rc)
		rc = write_metadata(s, dirfd, err);
	if (!rc)
		rc = open_dump(s, dirfd, 0, &o, err);
	if (!rc)
		rc = write_beginning(s, &o, err);
	if (!rc) {
		write_clock(s, &o, err);
		rc = ww_recorder_snapshot(s->rec, s->snapshot_path, s->uuid, err);
	}
	if (!rc)
		rc = write_explanations(s, dirfd, err);
	int rc2 = ww_ctf_out_close(&o, err);
	return rc ? rc : rc2;
}

/* Made under another name, and renamed when it is whole: who waits for it looks for the name. */
int ww_session_snapshot(struct ww_session *s, const char **ret_path, struct ww_err *err)
{
	char name[32], part[48];

	WW_ASSERT(s->opts.flight_bytes);
	snprintf(name, sizeof(name), "snapshot-%u", ++s->nsnapshots);
	snprintf(part, sizeof(part), "%s.part", name);
	snprintf(s->snapshot_path, sizeof(s->snapshot_path), "%s/%s", s->opts.outdir, part);
	if (mkdirat(s->dirfd, part, 0750))
		return ww_err_errno(err, s->snapshot_path, "cannot make the snapshot's directory");
	int fd = openat(s->dirfd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ww_err_errno(err, s->snapshot_path, "cannot open");
	int rc = fill_snapshot(s, fd, err);
	if (s->opts.share)
		ww_outdir_share(fd, s->opts.share_gid);
	close(fd);
	if (!rc && renameat(s->dirfd, part, s->dirfd, name))
		rc = ww_err_errno(err, s->snapshot_path, "cannot rename the snapshot");
	if (rc)
		return rc;
	snprintf(s->snapshot_path, sizeof(s->snapshot_path), "%s/%s", s->opts.outdir, name);
	if (ret_path)
		*ret_path = s->snapshot_path;
	return 0;
}

void ww_session_stats(struct ww_session *s, struct ww_recorder_stats *ret)
{
	ww_recorder_stats(s->rec, ret);
	ret->bytes += s->dump.bytes;
}

const char *const *ww_session_missing(const struct ww_session *s)
{
	return ww_recorder_missing(s->rec);
}

void ww_session_close(struct ww_session *s)
{
	if (!s)
		return;
	ww_session_stop(s, NULL);
	if (s->pid_fd >= 0)
		unlinkat(s->dirfd, "flight.pid", 0);
	ww_ctf_out_close(&s->dump, NULL);
	ww_recorder_close(s->rec);
	for (uint32_t i = 0; i < s->ntargets; i++)
		free(s->targets[i].cmdline);
	if (s->pid_fd >= 0)
		close(s->pid_fd);
	if (s->dirfd >= 0) {
		ww_outdir_unmark(s->dirfd);
		close(s->dirfd);
	}
	free(s);
}
