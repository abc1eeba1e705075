/* loopdev.h - a file system of the program's own: ext4 on a loop device, in a mount namespace that nobody else sees. */
#ifndef WW_LOOPDEV_H
#define WW_LOOPDEV_H

#include <linux/loop.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "truth.h"

#define SIZE (96LL << 20)
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

/* `flags`: LO_FLAGS_*. Leaves nothing behind when it dies: the mount is in a namespace of its own, the device cleared with its last user. */
static bool make_device(unsigned flags)
{
	struct loop_config c = {.info.lo_flags = LO_FLAGS_AUTOCLEAR | flags};
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

static void make_fs(unsigned flags)
{
	struct statfs fs;

	if (!statfs("/var/tmp", &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC))
		T_skip("/var/tmp is not on a disk");
	snprintf(image, sizeof(image), "/var/tmp/truth-loop-%d.img", (int)getpid());
	snprintf(where, sizeof(where), "/var/tmp/truth-loop-%d", (int)getpid());
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		T_skip("no mount namespaces");
	if (!make_device(flags)) {
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

static void remove_fs(void)
{
	umount2(where, MNT_DETACH);
	rmdir(where);
}

#endif
