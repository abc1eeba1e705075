/* loop.c - a file system on a loop device: what is written there goes through the flusher's worker, the journal's thread and
 * the loop device's worker to the disk that the backing file is on. All of it is waiting for the disk, whoever passes
 * it on; the device's own counters say that requests went through it. */
#include "truth.h"

#include <linux/loop.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define ROUNDS 12
#define SIZE   (96LL << 20)
static char image[64], where[64], device[32];
static int loop_nr;

static int quiet(const char *fmt, ...)
{
	char cmd[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd);
}

/* Leaves nothing behind when it dies: the mount is in a namespace of its own, the device cleared with its last user. */
static bool make_device(void)
{
	struct loop_config c = {.info.lo_flags = LO_FLAGS_AUTOCLEAR};
	int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd;

	if (ctl < 0)
		return false;
	c.fd = (unsigned)T_TRY(open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	T_TRY(posix_fallocate((int)c.fd, 0, SIZE));
	for (int try = 0; try < 20; try++) {
		loop_nr = ioctl(ctl, LOOP_CTL_GET_FREE);
		snprintf(device, sizeof(device), "/dev/loop%d", loop_nr);
		fd = loop_nr < 0 ? -1 : open(device, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !ioctl(fd, LOOP_CONFIGURE, &c))
			return true; /* fd stays open: the device lives as long as this process */
		if (fd >= 0)
			close(fd);
	}
	return false;
}

static void make_fs(void)
{
	snprintf(image, sizeof(image), "/var/tmp/truth-loop-%d.img", (int)getpid());
	snprintf(where, sizeof(where), "/var/tmp/truth-loop-%d", (int)getpid());
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		T_skip("no mount namespaces");
	if (!make_device()) {
		unlink(image);
		T_skip("no loop devices");
	}
	unlink(image);
	T_TRY(mkdir(where, 0700));
	if (quiet("PATH=$PATH:/sbin:/usr/sbin mkfs.ext4 -q -F %s >/dev/null 2>&1", device) || mount(device, where, "ext4", 0, NULL)) {
		rmdir(where);
		T_skip("no ext4");
	}
}

/* Requests written to a block device until now. */
static long writes(const char *dev)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/block/%s/stat", dev);
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f && fscanf(f, "%*d %*d %*d %*d %ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void writer(void)
{
	static char b[262144];
	char path[100], name[16];
	int fd;

	snprintf(name, sizeof(name), "loop%d", loop_nr);
	snprintf(path, sizeof(path), "%s/file", where);
	fd = T_TRY(open(path, O_CREAT | O_RDWR, 0600));
	for (int i = 0; i < ROUNDS; i++) {
		static const char *const calls[] = {"fsync", "fdatasync", "syncfs", "sync_file_range"};
		long before = writes(name);
		struct t_span s;

		memset(b, (int)T_rand(1, 255), sizeof(b));
		T_TRY(pwrite(fd, b, (size_t)T_rand(8, 64) * 4096, (off_t)i * (off_t)sizeof(b)));
		T_in(&s);
		T_TRY(i % 4 == 0 ? fsync(fd) : i % 4 == 1 ? fdatasync(fd) : i % 4 == 2 ? syncfs(fd)
			: sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
		T_out(&s);
		if (writes(name) == before)
			continue; /* the flusher was there first */
		/* syncfs has the flusher write, and goes on as soon as it has submitted. */
		T_wait(&s, i % 4 == 2 ? "disk|work" : "disk", "", -1, calls[i % 4], "");
		/* The journal's thread commits what fsync and syncfs ask for. */
		T_say("{\"t\":\"through\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"names\":[\"%s \"%s%s]}",
		      T_gettid(), s.t0, s.t1, name, i % 2 == 0 ? ",\"jbd2/loop\"" : "", i % 4 == 2 ? ",\"wb_workfn\"" : "");
	}
	close(fd);
	umount2(where, MNT_DETACH);
	rmdir(where);
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"writer", writer, NULL}};
	struct statfs fs;

	if (!statfs("/var/tmp", &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC))
		T_skip("/var/tmp is not on a disk");
	T_begin(argc, argv, "loop", 0);
	make_fs();
	T_roles(parts, 1, T_THREADS);
	return T_end();
}
