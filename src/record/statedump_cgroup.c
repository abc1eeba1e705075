/* statedump_cgroup.c - the cgroups of the second version's hierarchy by name: its directories' inode numbers are the
 * ids that the kernel's side tells of tasks.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "record/statedump_private.h"

#define CGROUP2_MAGIC 0x63677270 /* include/uapi/linux/magic.h */
#define DEPTH_MAX     32

int ww_dump_cgroup_write(struct ww_dump *d, int32_t tid, bool group, uint64_t id, const char *path)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_WHYWAIT_CGROUP, ww_dump_now_ns(), d->err);

	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, tid);
	ww_ctf_rec_u8(d->o, group);
	ww_ctf_rec_u64(d->o, id);
	ww_ctf_rec_str(d->o, path);
	ww_ctf_rec_end(d->o);
	return 0;
}

/* The directory of `path` (4096 bytes, n of them used) and what is below it; takes fd over. */
static int walk(struct ww_dump *d, int fd, char *path, size_t n, int depth)
{
	DIR *dir = fdopendir(fd);
	struct stat st;
	int rc = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	if (!fstat(fd, &st))
		rc = ww_dump_cgroup_write(d, 0, false, st.st_ino, n ? path : "/");
	for (struct dirent *e; !rc && depth < DEPTH_MAX && (e = readdir(dir));) {
		size_t len = strlen(e->d_name);
		if (e->d_type != DT_DIR || e->d_name[0] == '.' || n + len + 2 > 4096)
			continue;
		int sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			continue;
		path[n] = '/';
		memcpy(path + n + 1, e->d_name, len + 1);
		rc = walk(d, sub, path, n + 1 + len, depth + 1);
		path[n] = 0;
	}
	closedir(dir);
	return rc;
}

int ww_dump_cgroups(struct ww_dump *d)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char path[4096] = "";
	struct statfs fs;

	for (size_t i = 0; i < WW_ARRAY_SIZE(places); i++) {
		if (statfs(places[i], &fs) || fs.f_type != CGROUP2_MAGIC)
			continue;
		int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return fd < 0 ? 0 : walk(d, fd, path, 0, 0);
	}
	return 0;
}
