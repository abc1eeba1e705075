/* statedump.c - tasks and their open files, from /proc.
 *
 * Order within the dump: sockets first, so that a descriptor's kind is known when it comes; then each
 * process: its threads, then its descriptors; then devices. A file is named once (whywait_file), however
 * many descriptors name it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/bpf/event_ids.h"
#include "record/statedump.h"

#define PF_KTHREAD 0x00200000u
#define INIT_PID_NS 4026531836u /* PROC_PID_INIT_INO */

/* lttng-modules: enum lttng_execution_mode, lttng_process_status. */
enum { MODE_UNKNOWN = 5, SUBMODE_NONE = 0 };
enum { STATUS_WAIT_CPU = 2, STATUS_ZOMBIE = 4, STATUS_WAIT = 5, STATUS_DEAD = 7 };

struct dump {
	struct ww_ctf_out *o;
	struct ww_err *err;
	struct ww_dump_socks socks;
	struct ww_u64map named;  /* hash of (dev, ino) already named */
	struct ww_u64map vpids;  /* pid -> innermost pid */
	struct ww_u64map pid_ns; /* pid -> its pid namespace */
};

uint64_t ww_dump_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int ww_dump_read(int dirfd, const char *path, char *buf, size_t size)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return -1;
	while (n < size - 1) {
		ssize_t r = read(fd, buf + n, size - 1 - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	close(fd);
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = 0;
	return (int)n;
}

/* ---- single events ---- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void ww_dump_clock(struct ww_ctf_out *o, struct ww_err *err)
{
	uint64_t mono = 0, boot = 0, real = 0, tai = 0, raw = 0, best = UINT64_MAX;

	/* One instant: of three tries the one that took the least time, so an interrupt does not skew it. */
	for (int i = 0; i < 3; i++) {
		uint64_t m0 = clock_ns(CLOCK_MONOTONIC), b = clock_ns(CLOCK_BOOTTIME),
			 r = clock_ns(CLOCK_REALTIME), t = clock_ns(CLOCK_TAI), w = clock_ns(CLOCK_MONOTONIC_RAW),
			 m1 = clock_ns(CLOCK_MONOTONIC);
		if (m1 - m0 >= best)
			continue;
		best = m1 - m0;
		mono = m0 + best / 2;
		boot = b, real = r, tai = t, raw = w;
	}
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_CLOCK, ww_dump_now_ns(), err))
		return;
	ww_ctf_rec_u64(o, mono);
	ww_ctf_rec_u64(o, boot);
	ww_ctf_rec_u64(o, real);
	ww_ctf_rec_u64(o, tai);
	ww_ctf_rec_u64(o, raw);
	ww_ctf_rec_end(o);
}

void ww_dump_cost(struct ww_ctf_out *o, uint64_t cpu_ns, uint64_t bytes, struct ww_err *err)
{
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_COST, ww_dump_now_ns(), err))
		return;
	ww_ctf_rec_u64(o, cpu_ns);
	ww_ctf_rec_u64(o, bytes);
	ww_ctf_rec_end(o);
}

void ww_dump_recorder(struct ww_ctf_out *o, int32_t tid, struct ww_err *err)
{
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_RECORDER, ww_dump_now_ns(), err))
		return;
	ww_ctf_rec_i32(o, tid);
	ww_ctf_rec_end(o);
}

void ww_dump_target(struct ww_ctf_out *o, uint64_t ts_ns, int32_t tid, bool begin, int32_t status,
		    const char *comm, const char *cmdline, struct ww_err *err)
{
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_TARGET, ts_ns, err))
		return;
	ww_ctf_rec_i32(o, tid);
	ww_ctf_rec_i32(o, tid); /* a main thread: its process has the same number */
	ww_ctf_rec_u8(o, begin);
	ww_ctf_rec_i32(o, status);
	ww_ctf_rec_str(o, comm);
	ww_ctf_rec_str(o, cmdline);
	ww_ctf_rec_end(o);
}

/* ---- tasks ---- */

struct task {
	int32_t tid, pid, ppid;
	char comm[16], state;
	uint32_t flags, cpu;
};

/* The kernel's own name: /proc shows what a kworker works on behind it ("kworker/0:1-events"). */
static void comm_set(struct task *t, const char *s, size_t n)
{
	if (n > 8 && !strncmp(s, "kworker/", 8) && s[8] != 'R') {
		size_t k = 8;
		while (k < n && s[k] != '-' && s[k] != '+')
			k++;
		n = k;
	}
	n = WW_MIN(n, sizeof(t->comm) - 1);
	memcpy(t->comm, s, n);
	memset(t->comm + n, 0, sizeof(t->comm) - n);
}

/* /proc/TID/stat: "tid (comm) S ppid pgrp session tty tpgid flags ... processor(39) ..."; comm may hold
 * anything, so its end is the last ')'. */
static bool task_parse(struct task *t, char *stat)
{
	char *open = strchr(stat, '('), *close = strrchr(stat, ')');

	if (!open || !close || close < open || close[1] != ' ')
		return false;
	comm_set(t, open + 1, (size_t)(close - open - 1));
	char *save = NULL;
	int field = 3;
	for (char *w = strtok_r(close + 2, " ", &save); w; w = strtok_r(NULL, " ", &save), field++) {
		if (field == 3)
			t->state = *w;
		else if (field == 4)
			t->ppid = atoi(w);
		else if (field == 9)
			t->flags = (uint32_t)strtoul(w, NULL, 10);
		else if (field == 39)
			t->cpu = (uint32_t)strtoul(w, NULL, 10);
	}
	return field > 39;
}

static int status_of(char state)
{
	switch (state) {
	case 'R': return STATUS_WAIT_CPU; /* as LTTng: runnable; the switches tell who really runs */
	case 'Z': return STATUS_ZOMBIE;
	case 'X': return STATUS_DEAD;
	default: return STATUS_WAIT;
	}
}

static int write_task(struct dump *d, const struct task *t)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_LTTNG_STATEDUMP_PROCESS_STATE, ww_dump_now_ns(), d->err);

	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, t->tid);
	ww_ctf_rec_i32(d->o, t->pid);
	ww_ctf_rec_i32(d->o, t->ppid);
	ww_ctf_rec_text(d->o, t->comm, 16);
	ww_ctf_rec_i32(d->o, t->flags & PF_KTHREAD ? 1 : 0);
	ww_ctf_rec_i32(d->o, MODE_UNKNOWN);
	ww_ctf_rec_i32(d->o, SUBMODE_NONE);
	ww_ctf_rec_i32(d->o, status_of(t->state));
	ww_ctf_rec_u32(d->o, t->cpu);
	ww_ctf_rec_u64(d->o, (uint64_t)t->pid);
	ww_ctf_rec_end(d->o);
	return 0;
}

/* "NSpid:\t12\t1": how many, first and last. */
static int ns_numbers(const char *status, const char *key, int32_t *ret_last)
{
	const char *p = strstr(status, key);
	int n = 0;

	if (!p)
		return 0;
	p += strlen(key);
	while (*p == '\t') {
		*ret_last = atoi(p + 1);
		n++;
		p++;
		while (*p >= '0' && *p <= '9')
			p++;
	}
	return n;
}

static int write_pid_ns(struct dump *d, const struct task *t, int32_t vtid, int32_t vpid, int32_t vppid,
			int level, uint32_t inum)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_LTTNG_STATEDUMP_PROCESS_PID_NS, ww_dump_now_ns(), d->err);

	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, t->tid);
	ww_ctf_rec_i32(d->o, vtid);
	ww_ctf_rec_i32(d->o, vpid);
	ww_ctf_rec_i32(d->o, vppid);
	ww_ctf_rec_i32(d->o, level);
	ww_ctf_rec_u32(d->o, inum);
	ww_ctf_rec_end(d->o);
	return 0;
}

/* Innermost namespace first, then the first one, in which the recorder's ids are. */
static int dump_pid_ns(struct dump *d, const struct task *t, int taskfd, uint32_t inum)
{
	char status[4096];
	int32_t vtid = t->tid, vpid = t->pid, vppid = 0;

	if (ww_dump_read(taskfd, "status", status, sizeof(status)) < 0)
		return 0;
	int n = ns_numbers(status, "\nNSpid:", &vtid);
	ns_numbers(status, "\nNStgid:", &vpid);
	if (t->tid == t->pid) {
		ww_u64map_put(&d->vpids, (uint64_t)t->pid, (uint64_t)(uint32_t)vpid);
		ww_u64map_put(&d->pid_ns, (uint64_t)t->pid, inum);
	}
	if (n > 1) {
		const uint64_t *pns = ww_u64map_find(&d->pid_ns, (uint64_t)t->ppid);
		const uint64_t *pv = ww_u64map_find(&d->vpids, (uint64_t)t->ppid);
		if (pns && pv && *pns == inum)
			vppid = (int32_t)*pv;
		int rc = write_pid_ns(d, t, vtid, vpid, vppid, n - 1, inum);
		if (rc)
			return rc;
	}
	return write_pid_ns(d, t, t->tid, t->pid, t->ppid, 0, n > 1 ? INIT_PID_NS : inum);
}

static int dump_threads(struct dump *d, int32_t pid, int procfd)
{
	char link[64], stat[1024], path[32];
	uint32_t inum = 0;
	int rc = 0;

	ssize_t n = readlinkat(procfd, "ns/pid", link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = 0;
		(void)sscanf(link, "pid:[%u]", &inum);
	}
	int taskfd = openat(procfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (taskfd < 0)
		return 0;
	DIR *dir = fdopendir(taskfd);
	if (!dir) {
		close(taskfd);
		return 0;
	}
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		struct task t = {.tid = atoi(e->d_name), .pid = pid};
		if (t.tid <= 0)
			continue;
		snprintf(path, sizeof(path), "%d", t.tid);
		int fd = openat(taskfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (ww_dump_read(fd, "stat", stat, sizeof(stat)) > 0 && task_parse(&t, stat)) {
			rc = write_task(d, &t);
			if (!rc)
				rc = dump_pid_ns(d, &t, fd, inum);
		}
		close(fd);
	}
	closedir(dir);
	return rc;
}

/* ---- open files ---- */

static const struct anon {
	const char *link;
	uint8_t kind;
} anons[] = {
	{"anon_inode:[eventfd]", WW_DK_EVENTFD},   {"anon_inode:[eventpoll]", WW_DK_EPOLL},
	{"anon_inode:[timerfd]", WW_DK_TIMERFD},   {"anon_inode:[signalfd]", WW_DK_SIGNALFD},
	{"anon_inode:inotify", WW_DK_INOTIFY},     {"anon_inode:[pidfd]", WW_DK_PIDFD},
	{"anon_inode:[io_uring]", WW_DK_IO_URING}, {"pidfd:", WW_DK_PIDFD},
	{"anon_inode:", WW_DK_ANON_OTHER},
};

static uint8_t kind_of(const struct dump *d, const struct statx *st, const char *link)
{
	switch (st->stx_mode & S_IFMT) {
	case S_IFREG: break; /* some kernels give pidfs files a regular mode */
	case S_IFDIR: return WW_DK_DIR;
	case S_IFBLK: return WW_DK_BLK;
	case S_IFIFO: return strncmp(link, "pipe:", 5) ? WW_DK_FIFO : WW_DK_PIPE;
	case S_IFCHR: /* Documentation/admin-guide/devices.txt: 4, 5 tty; 136-143 pseudo-terminals */
		return st->stx_rdev_major == 4 || st->stx_rdev_major == 5 ||
				       (st->stx_rdev_major >= 136 && st->stx_rdev_major <= 143)
			       ? WW_DK_TTY
			       : WW_DK_CHR;
	case S_IFSOCK: {
		const uint64_t *i = ww_u64map_find(&d->socks.by_ino, st->stx_ino);
		return i ? d->socks.v[*i].kind : WW_DK_SOCK_OTHER;
	}
	}
	for (size_t i = 0; i < WW_ARRAY_SIZE(anons); i++)
		if (!strncmp(link, anons[i].link, strlen(anons[i].link)))
			return anons[i].kind;
	return (st->stx_mode & S_IFMT) == S_IFREG ? WW_DK_REG : WW_DK_UNKNOWN;
}

/* A unix socket is called by its bound name, or by that of the one it is connected to. */
static const char *socket_name(const struct dump *d, uint64_t ino, const char *link)
{
	const uint64_t *i = ww_u64map_find(&d->socks.by_ino, ino);

	if (!i)
		return link;
	const struct ww_dump_sock *s = &d->socks.v[*i];
	if (s->path)
		return s->path;
	i = s->peer_ino ? ww_u64map_find(&d->socks.by_ino, s->peer_ino) : NULL;
	return i && d->socks.v[*i].path ? d->socks.v[*i].path : link;
}

static int write_file(struct dump *d, uint8_t kind, uint32_t dev, uint64_t ino, const char *name)
{
	bool is_new;

	ww_u64map_get(&d->named, ww_hash_mix(dev, ino), 1, &is_new);
	if (!is_new)
		return 0;
	int rc = ww_ctf_rec_begin(d->o, WW_EV_WHYWAIT_FILE, ww_dump_now_ns(), d->err);
	if (rc)
		return rc;
	ww_ctf_rec_u8(d->o, kind);
	ww_ctf_rec_u32(d->o, dev);
	ww_ctf_rec_u64(d->o, ino);
	ww_ctf_rec_str(d->o, name);
	ww_ctf_rec_end(d->o);
	return 0;
}

static uint32_t fd_flags(int procfd, int fd)
{
	char path[32], info[512];
	unsigned flags = 0;

	snprintf(path, sizeof(path), "fdinfo/%d", fd);
	if (ww_dump_read(procfd, path, info, sizeof(info)) < 0)
		return 0;
	const char *p = strstr(info, "flags:\t");
	if (p)
		(void)sscanf(p + 7, "%o", &flags);
	return flags;
}

static int write_fd(struct dump *d, int32_t pid, int32_t fd, int procfd, const struct statx *st,
		    const char *link)
{
	uint8_t kind = kind_of(d, st, link);
	uint32_t dev = (st->stx_dev_major << 20) | st->stx_dev_minor;
	uint32_t flags = fd_flags(procfd, fd);
	uint32_t mode = flags & O_ACCMODE; /* FMODE_READ 1, FMODE_WRITE 2 = access mode + 1 */

	int rc = ww_ctf_rec_begin(d->o, WW_EV_LTTNG_STATEDUMP_FILE_DESCRIPTOR, ww_dump_now_ns(), d->err);
	if (rc)
		return rc;
	ww_ctf_rec_u64(d->o, (uint64_t)pid);
	ww_ctf_rec_i32(d->o, fd);
	ww_ctf_rec_u32(d->o, flags);
	ww_ctf_rec_u32(d->o, mode == O_ACCMODE ? 0 : mode + 1);
	ww_ctf_rec_str(d->o, link);
	ww_ctf_rec_end(d->o);
	rc = write_file(d, kind, dev, st->stx_ino,
			(st->stx_mode & S_IFMT) == S_IFSOCK ? socket_name(d, st->stx_ino, link) : link);
	if (!rc)
		rc = ww_ctf_rec_begin(d->o, WW_EV_WHYWAIT_FD, ww_dump_now_ns(), d->err);
	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, pid);
	ww_ctf_rec_i32(d->o, fd);
	ww_ctf_rec_u8(d->o, kind);
	ww_ctf_rec_u32(d->o, dev);
	ww_ctf_rec_u64(d->o, st->stx_ino);
	ww_ctf_rec_end(d->o);
	return 0;
}

static int dump_fds(struct dump *d, int32_t pid, int procfd)
{
	char link[4096];
	int rc = 0;
	int dirfd = openat(procfd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = dirfd < 0 ? NULL : fdopendir(dirfd);

	if (!dir) {
		if (dirfd >= 0)
			close(dirfd);
		return 0;
	}
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		struct statx st;
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		ssize_t n = readlinkat(dirfd, e->d_name, link, sizeof(link) - 1);
		/* No sync: a file on a server that does not answer must not hold up the recording. */
		if (n < 0 || statx(dirfd, e->d_name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st))
			continue;
		link[n] = 0;
		rc = write_fd(d, pid, atoi(e->d_name), procfd, &st, link);
	}
	closedir(dir);
	return rc;
}

static int dump_processes(struct dump *d)
{
	DIR *dir = opendir("/proc");
	int rc = 0;

	if (!dir)
		return ww_err_errno(d->err, "/proc", "cannot read");
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		int32_t pid = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? atoi(e->d_name) : 0;
		if (pid <= 0)
			continue;
		int fd = openat(dirfd(dir), e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		rc = dump_threads(d, pid, fd);
		if (!rc)
			rc = dump_fds(d, pid, fd);
		close(fd);
	}
	closedir(dir);
	return rc;
}

static int write_mark(struct dump *d, uint32_t id)
{
	int rc = ww_ctf_rec_begin(d->o, id, ww_dump_now_ns(), d->err);

	if (!rc)
		ww_ctf_rec_end(d->o);
	return rc;
}

int ww_statedump_write(struct ww_ctf_out *o, struct ww_err *err)
{
	struct dump d = {.o = o, .err = err};

	ww_dump_socks_collect(&d.socks);
	int rc = write_mark(&d, WW_EV_LTTNG_STATEDUMP_START);
	if (!rc)
		rc = ww_dump_socks_write(&d.socks, o, err);
	if (!rc)
		rc = dump_processes(&d);
	if (!rc)
		rc = ww_dump_devices_write(o, err);
	if (!rc)
		rc = write_mark(&d, WW_EV_LTTNG_STATEDUMP_END);
	ww_dump_socks_release(&d.socks);
	ww_u64map_release(&d.named);
	ww_u64map_release(&d.vpids);
	ww_u64map_release(&d.pid_ns);
	return rc;
}
