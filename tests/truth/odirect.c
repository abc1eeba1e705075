/* odirect.c - O_DIRECT reads: each waits for its own request, ended by the device. */
#include "truth.h"

#include <sys/vfs.h>

static void reader(void)
{
	char path[64];
	void *b;
	int fd;

	if (posix_memalign(&b, 4096, 1 << 20))
		T_die("posix_memalign");
	memset(b, 7, 1 << 20);
	snprintf(path, sizeof(path), "/var/tmp/truth-odirect-%d", T_gettid());
	fd = T_TRY(open(path, O_CREAT | O_RDWR | O_TRUNC | O_DIRECT, 0600));
	for (int i = 0; i < 8; i++)
		T_TRY(pwrite(fd, b, 1 << 20, (off_t)i << 20));
	fsync(fd);
	for (int i = 0; i < 40; i++) {
		struct t_span s;
		size_t len = (size_t)1 << T_rand(16, 20);

		T_in(&s);
		T_TRY(pread(fd, b, len, (off_t)T_rand(0, 7) << 20));
		T_out(&s);
		T_wait(&s, "disk", "block|irq|softirq", -1, "pread64", "truth-odirect");
	}
	unlink(path);
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}};
	struct statfs fs;

	if (!statfs("/var/tmp", &fs) && (fs.f_type == 0x01021994 || fs.f_type == 0x794c7630))
		T_skip("/var/tmp is not on a disk");
	T_begin(argc, argv, "odirect", 1);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
