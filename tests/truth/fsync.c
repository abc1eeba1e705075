/* fsync.c - fsync of fresh data on a disk's file system. */
#include "truth.h"

#include <sys/vfs.h>

static void syncer(void)
{
	static char b[262144];
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/var/tmp/truth-fsync-%d", T_gettid());
	fd = T_TRY(open(path, O_CREAT | O_RDWR | O_TRUNC, 0600));
	for (int i = 0; i < 12; i++) {
		struct t_span s;

		memset(b, (int)T_rand(1, 255), sizeof(b));
		T_TRY(pwrite(fd, b, (size_t)T_rand(1, 64) * 4096, i * 262144));
		T_in(&s);
		T_TRY(i & 1 ? fsync(fd) : fdatasync(fd));
		T_out(&s);
		T_wait(&s, "disk", "", -1, "fsync|fdatasync", "truth-fsync");
	}
	unlink(path);
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"syncer", syncer, NULL}};
	struct statfs fs;

	if (!statfs("/var/tmp", &fs) && (fs.f_type == 0x01021994 || fs.f_type == 0x794c7630))
		T_skip("/var/tmp is not on a disk");
	T_begin(argc, argv, "fsync", 1);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
