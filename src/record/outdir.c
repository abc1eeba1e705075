/* outdir.c - the trace directory.
 *
 * We are often root in a directory that is somebody else's: links are not followed, nothing is removed that
 * does not look like a trace of ours (a metadata file with CTF's magic number, flat files beside it).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* Moves the trace at `path` to `path`.1. */
static int rotate(const char *path, struct ww_err *err)
{
	char old[4096 + 2];

	snprintf(old, sizeof(old), "%s.1", path);
	int fd = open(old, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		bool ours = is_trace(fd) || is_empty(fd);
		close(fd);
		if (!ours)
			return refuse(old, "is in the way of the older trace, and is not a trace", err);
		remove_tree(AT_FDCWD, old, 4);
	}
	if (renameat(AT_FDCWD, path, AT_FDCWD, old))
		return ww_err_errno(err, path, "cannot move the older trace to %s", old);
	return 0;
}

int ww_outdir_make(const char *path, int *ret_dirfd, struct ww_err *err)
{
	char clean[4096];
	struct stat st;
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(clean))
		return ww_err_set(err, WW_EUSAGE, path, WW_ERR_NO_OFFSET, "not a name for a directory");
	memcpy(clean, path, n + 1);
	while (n > 1 && clean[n - 1] == '/')
		clean[--n] = 0;
	if (!lstat(clean, &st)) {
		if (!S_ISDIR(st.st_mode))
			return refuse(clean, "exists and is not a directory", err);
		int fd = open(clean, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return ww_err_errno(err, clean, "cannot open");
		if (is_empty(fd)) {
			*ret_dirfd = fd;
			return 0;
		}
		bool ours = is_trace(fd);
		close(fd);
		if (!ours)
			return refuse(clean, "is a directory that holds something other than a trace", err);
		int rc = rotate(clean, err);
		if (rc)
			return rc;
	}
	if (mkdir(clean, 0750))
		return ww_err_errno(err, clean, "cannot make the trace directory");
	int fd = open(clean, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ww_err_errno(err, clean, "cannot open");
	*ret_dirfd = fd;
	return 0;
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
