/* outdir.c - the trace directory.
 *
 * We are often root in a directory that is somebody else's: links are not followed, nothing is removed that
 * does not look like a trace of ours (a metadata file with CTF's magic number, flat files beside it), and nothing
 * that another recorder has locked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/writer.h"
#include "record/outdir.h"

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static DIR *open_list(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static bool is_empty(int dirfd)
{
	DIR *d = open_list(dirfd);
	bool empty = d != NULL;

	for (struct dirent *e; empty && (e = readdir(d));)
		empty = is_dot(e->d_name);
	if (d)
		closedir(d);
	return empty;
}

static bool has_metadata(int dirfd)
{
	uint32_t magic = 0;
	int fd = openat(dirfd, "metadata", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	bool yes = read(fd, &magic, sizeof(magic)) == sizeof(magic) && magic == WW_CTF_META_MAGIC;
	close(fd);
	return yes;
}

/* A trace, or a flight recorder's directory of them. */
static bool is_trace(int dirfd)
{
	if (has_metadata(dirfd))
		return true;
	int fd = openat(dirfd, "flight.pid", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void remove_tree(int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		unlinkat(parent, name, 0);
		return;
	}
	DIR *d = depth > 0 ? fdopendir(fd) : NULL;
	if (!d) {
		close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));)
		if (!is_dot(e->d_name))
			remove_tree(fd, e->d_name, depth - 1);
	closedir(d);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static int refuse(const char *path, const char *why, struct ww_err *err)
{
	ww_err_set(err, WW_EUSAGE, path, WW_ERR_NO_OFFSET, "%s", why);
	return ww_err_hint(err, "it was left alone; choose another directory with -o");
}

static int refuse_busy(const char *path, struct ww_err *err)
{
	return refuse(path, "is being recorded by another whywait", err);
}

static int refuse_full(const char *path, struct ww_err *err)
{
	return refuse(path, "is a directory that holds something other than a trace", err);
}

enum open_result { OPENED, BUSY, GONE, FAILED };

/* Opens and locks what is at `path` now. Where locks are not known (an old NFS) nobody can be asked. */
static enum open_result open_locked(const char *path, int *ret_fd)
{
	struct stat a, b;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? GONE : FAILED;
	bool busy = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	/* Moved away between the two calls: it was another's, and so is the lock. */
	bool same = !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	if (busy || !same) {
		close(fd);
		return same ? BUSY : GONE;
	}
	*ret_fd = fd;
	return OPENED;
}

/* Moves the trace at `path` to `path`.1. */
static int rotate(const char *path, struct ww_err *err)
{
	char old[4096 + 2];
	int fd;

	snprintf(old, sizeof(old), "%s.1", path);
	enum open_result r = open_locked(old, &fd);
	if (r == BUSY)
		return refuse(old, "is in the way of the older trace, and is being recorded by another whywait", err);
	if (r == OPENED) {
		bool ours = is_trace(fd) || is_empty(fd);
		if (ours)
			remove_tree(AT_FDCWD, old, 4);
		close(fd);
		if (!ours)
			return refuse(old, "is in the way of the older trace, and is not a trace", err);
	}
	if (renameat(AT_FDCWD, path, AT_FDCWD, old))
		return ww_err_errno(err, path, "cannot move the older trace to %s", old);
	return 0;
}

/* One try: 0 with *ret_dirfd >= 0, 0 with -1 when things changed under us, -WW_EUSAGE with *ret_busy. */
static int make_once(const char *path, int *ret_dirfd, bool *ret_busy, struct ww_err *err)
{
	struct stat st;
	int fd;

	*ret_dirfd = -1;
	if (mkdir(path, 0750) && errno != EEXIST)
		return ww_err_errno(err, path, "cannot make the trace directory");
	if (!lstat(path, &st) && !S_ISDIR(st.st_mode))
		return refuse(path, "exists and is not a directory", err);
	switch (open_locked(path, &fd)) {
	case GONE: return 0;
	case FAILED: return ww_err_errno(err, path, "cannot open");
	case BUSY: *ret_busy = true; return -WW_EUSAGE;
	case OPENED: break;
	}
	if (is_empty(fd)) {
		*ret_dirfd = fd;
		return 0;
	}
	int rc = is_trace(fd) ? rotate(path, err) : refuse_full(path, err);
	close(fd);
	return rc;
}

/* The directory that `path` is to be made in. */
static int look_at_parent(const char *path, struct ww_err *err)
{
	char parent[4000];
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	if (n >= sizeof(parent))
		return 0; /* ww_outdir_make says so */
	snprintf(parent, sizeof(parent), "%.*s", n ? (int)n : 1, n ? path : ".");
	if (faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS))
		return ww_err_errno(err, path, "cannot make the trace directory");
	return 0;
}

int ww_outdir_look(const char *path, bool other, struct ww_err *err)
{
	struct stat st;
	int fd, rc = 0;

	if (lstat(path, &st))
		return look_at_parent(path, err);
	if (!S_ISDIR(st.st_mode))
		return refuse(path, "exists and is not a directory", err);
	switch (open_locked(path, &fd)) {
	case GONE: return 0;
	case FAILED: return ww_err_errno(err, path, "cannot open");
	case BUSY: return other ? 0 : refuse_busy(path, err);
	case OPENED: break;
	}
	if (!is_empty(fd))
		rc = is_trace(fd) ? look_at_parent(path, err) : refuse_full(path, err);
	close(fd);
	return rc;
}

#define MAX_TRIES 100
#define MAX_OTHERS 1000

static int make(const char *path, int *ret_dirfd, bool *ret_busy, struct ww_err *err)
{
	*ret_busy = false;
	for (int i = 0; i < MAX_TRIES; i++) {
		int rc = make_once(path, ret_dirfd, ret_busy, err);
		if (rc || *ret_dirfd >= 0)
			return rc;
	}
	return ww_err_set(err, WW_EIO, path, WW_ERR_NO_OFFSET, "others move this directory faster than we can open it");
}

int ww_outdir_make(char *path, size_t size, bool other, int *ret_dirfd, struct ww_err *err)
{
	char clean[4000];
	size_t n = strlen(path);
	bool busy;

	if (n == 0 || n >= sizeof(clean) || size < sizeof(clean) + 16)
		return ww_err_set(err, WW_EUSAGE, path, WW_ERR_NO_OFFSET, "not a name for a directory");
	while (n > 1 && path[n - 1] == '/')
		path[--n] = 0;
	memcpy(clean, path, n + 1);
	int rc = make(path, ret_dirfd, &busy, err);
	const char *slash = strrchr(clean, '/'), *dot = strrchr(slash ? slash : clean, '.');
	int stem = (int)(dot ? dot - clean : (ptrdiff_t)n);
	for (unsigned i = 2; busy && other && i < MAX_OTHERS; i++) {
		snprintf(path, size, "%.*s-%u%s", stem, clean, i, clean + stem);
		rc = make(path, ret_dirfd, &busy, err);
	}
	return busy ? refuse_busy(path, err) : rc;
}

int ww_outdir_mark(int dirfd, struct ww_err *err)
{
	int fd = openat(dirfd, WW_OUTDIR_MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);

	if (fd < 0)
		return ww_err_errno(err, WW_OUTDIR_MARK, "cannot create");
	close(fd);
	return 0;
}

void ww_outdir_unmark(int dirfd)
{
	unlinkat(dirfd, WW_OUTDIR_MARK, 0);
}

enum ww_outdir_state ww_outdir_state(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum ww_outdir_state r = WW_OUTDIR_WHOLE;

	if (fd < 0)
		return r;
	if (!faccessat(fd, WW_OUTDIR_MARK, F_OK, AT_SYMLINK_NOFOLLOW))
		r = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK ? WW_OUTDIR_RECORDING : WW_OUTDIR_CUT;
	close(fd);
	return r;
}

void ww_outdir_share(int dirfd, gid_t gid)
{
	DIR *d = open_list(dirfd);

	for (struct dirent *e; d && (e = readdir(d));)
		if (!is_dot(e->d_name))
			(void)!fchownat(dirfd, e->d_name, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW);
	if (d)
		closedir(d);
	if (!fchown(dirfd, (uid_t)-1, gid))
		(void)!fchmod(dirfd, 02750); /* set-group-id: new files have the group */
}

static void give_tree(int dirfd, uid_t uid, gid_t gid, int depth)
{
	DIR *d = open_list(dirfd);

	for (struct dirent *e; d && (e = readdir(d));) {
		if (is_dot(e->d_name))
			continue;
		int fd = depth ? openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (fd >= 0) {
			give_tree(fd, uid, gid, depth - 1);
			close(fd);
		} else {
			(void)!fchownat(dirfd, e->d_name, uid, gid, AT_SYMLINK_NOFOLLOW);
		}
	}
	if (d)
		closedir(d);
	(void)!fchown(dirfd, uid, gid);
}

void ww_outdir_give(const char *path, uid_t uid, gid_t gid)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	give_tree(fd, uid, gid, 3);
	close(fd);
}
