/* statedump_proc.c - tasks, their open files and sockets from /proc and sock_diag, where the kernel's iterators do
 * not show them.
 *
 * Sockets come first, so that a descriptor's kind is known when it comes; then each process: its threads, then its
 * descriptors. What changes while it is read is seen half; what cannot be read is left out.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/statedump_private.h"

#define INIT_PID_NS 4026531836u /* PROC_PID_INIT_INO */

/* The kernel's own name: /proc shows what a kworker works on behind it ("kworker/0:1-events"). */
static void comm_set(struct ww_dump_task *t, const char *s, size_t n)
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

static enum ww_dump_status status_of(char state)
{
	switch (state) {
	case 'R': return WW_DS_WAIT_CPU; /* as LTTng: runnable; the switches tell who really runs */
	case 'S': case 'D': case 'I': return WW_DS_WAIT;
	case 'Z': return WW_DS_ZOMBIE;
	case 'X': return WW_DS_DEAD;
	default: return WW_DS_UNNAMED;
	}
}

/* /proc/TID/stat: "tid (comm) S ppid pgrp session tty tpgid flags ... processor(39) ..."; comm may hold
 * anything, so its end is the last ')'. */
static bool task_parse(struct ww_dump_task *t, char *stat)
{
	char *open = strchr(stat, '('), *close = strrchr(stat, ')');

	if (!open || !close || close < open || close[1] != ' ')
		return false;
	comm_set(t, open + 1, (size_t)(close - open - 1));
	char *save = NULL;
	int field = 3;
	for (char *w = strtok_r(close + 2, " ", &save); w; w = strtok_r(NULL, " ", &save), field++) {
		if (field == 3)
			t->status = status_of(*w);
		else if (field == 4)
			t->ppid = atoi(w);
		else if (field == 9)
			t->flags = (uint32_t)strtoul(w, NULL, 10);
		else if (field == 39)
			t->cpu = (uint32_t)strtoul(w, NULL, 10);
	}
	return field > 39;
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

/* Innermost namespace first, then the first one, in which the recorder's ids are. */
static int dump_pid_ns(struct ww_dump *d, const struct ww_dump_task *t, int taskfd, uint32_t inum)
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
		int rc = ww_dump_pid_ns_write(d, t->tid, vtid, vpid, vppid, (uint32_t)n - 1, inum);
		if (rc)
			return rc;
	}
	return ww_dump_pid_ns_write(d, t->tid, t->tid, t->pid, t->ppid, 0, n > 1 ? INIT_PID_NS : inum);
}

static int dump_threads(struct ww_dump *d, int32_t pid, int procfd)
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
		struct ww_dump_task t = {.tid = atoi(e->d_name), .pid = pid};
		if (t.tid <= 0)
			continue;
		snprintf(path, sizeof(path), "%d", t.tid);
		int fd = openat(taskfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (ww_dump_read(fd, "stat", stat, sizeof(stat)) > 0 && task_parse(&t, stat)) {
			rc = ww_dump_task_write(d, &t);
			if (!rc)
				rc = dump_pid_ns(d, &t, fd, inum);
		}
		close(fd);
	}
	closedir(dir);
	return rc;
}

/* "0::/path" is the second version's; of a process, whose threads are in one but in a threaded cgroup. */
static int dump_cgroup(struct ww_dump *d, int32_t pid, int procfd)
{
	char text[4096];

	if (ww_dump_read(procfd, "cgroup", text, sizeof(text)) < 0)
		return 0;
	const char *p = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
	if (!p)
		return 0;
	char *path = strchr(p, '/');
	if (!path)
		return 0;
	path[strcspn(path, "\n")] = 0;
	return ww_dump_cgroup_write(d, pid, true, 0, path);
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

static uint8_t kind_of(const struct ww_dump *d, const struct statx *st, const char *link)
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
static const char *socket_name(const struct ww_dump *d, uint64_t ino, const char *link)
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

static int write_fd(struct ww_dump *d, int32_t pid, int32_t fd, int procfd, const struct statx *st,
		    const char *link)
{
	struct ww_dump_fd f = {.pid = pid, .fd = fd, .flags = fd_flags(procfd, fd), .kind = kind_of(d, st, link),
			       .dev = (st->stx_dev_major << 20) | st->stx_dev_minor, .ino = st->stx_ino,
			       .link = link, .name = link};
	uint32_t mode = f.flags & O_ACCMODE; /* FMODE_READ 1, FMODE_WRITE 2 = access mode + 1 */

	f.mode = mode == O_ACCMODE ? 0 : mode + 1;
	if ((st->stx_mode & S_IFMT) == S_IFSOCK)
		f.name = socket_name(d, f.ino, link);
	return ww_dump_fd_write(d, &f);
}

static int dump_fds(struct ww_dump *d, int32_t pid, int procfd)
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

int ww_dump_from_proc(struct ww_dump *d)
{
	DIR *dir = opendir("/proc");
	bool first = true;
	int rc = 0;

	if (!dir)
		return ww_err_errno(d->err, "/proc", "cannot read");
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		int32_t pid = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? atoi(e->d_name) : 0;
		if (pid <= 0 || ww_u64map_find(&d->seen, (uint32_t)pid))
			continue;
		if (first) {
			ww_dump_socks_collect(&d->socks);
			rc = ww_dump_socks_write(&d->socks, d->o, d->err);
			first = false;
		}
		int fd = openat(dirfd(dir), e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!rc)
			rc = dump_threads(d, pid, fd);
		if (!rc)
			rc = dump_cgroup(d, pid, fd);
		if (!rc)
			rc = dump_fds(d, pid, fd);
		close(fd);
	}
	closedir(dir);
	return rc;
}
