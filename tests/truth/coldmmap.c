/* coldmmap.c - touches pages of a mapped file that is not in memory: major faults, each a disk read. */
#include "truth.h"

#include <sys/vfs.h>

#define PAGES 2048

static void toucher(void)
{
	static char b[1 << 20];
	volatile char *m;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/var/tmp/truth-mmap-%d", T_gettid());
	fd = T_TRY(open(path, O_CREAT | O_RDWR | O_TRUNC, 0600));
	memset(b, 3, sizeof(b));
	for (int i = 0; i < PAGES * 4096 / (int)sizeof(b); i++)
		T_TRY(write(fd, b, sizeof(b)));
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	m = mmap(NULL, PAGES * 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		T_die("mmap");
	madvise((void *)m, PAGES * 4096, MADV_RANDOM);
	for (int i = 0; i < 60; i++) {
		struct t_span s;
		int page = (i * 37 + (int)T_rand(0, 3)) % PAGES;

		T_in(&s);
		(void)m[(size_t)page * 4096];
		T_out(&s);
		T_wait(&s, "fault|disk", "block|irq|softirq", -1, "", "truth-mmap");
	}
	unlink(path);
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"toucher", toucher, NULL}};
	struct statfs fs;

	if (!statfs("/var/tmp", &fs) && (fs.f_type == 0x01021994 || fs.f_type == 0x794c7630))
		T_skip("/var/tmp is not on a disk");
	T_begin(argc, argv, "coldmmap", 1);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
