/* dirty.c - writes faster than the device may take: the kernel pauses the writer (balance_dirty_pages) for a time that it
 * computes from how fast pages are written back. A timer ends each pause; what is waited for is the disk. */
#include "loopdev.h"

#define WRITES 60

/* Only so much may be dirty on this device; the limits of all others stay. It keeps them when it is used again. */
static bool limit(bool on)
{
	static const char *const sets[2][2][2] = {{{"strict_limit", "0"}, {"max_ratio", "100"}},
						  {{"strict_limit", "1"}, {"max_bytes", "4194304"}}};
	const char *const(*set)[2] = sets[on];

	for (size_t i = 0; i < 2; i++) {
		char path[100];

		snprintf(path, sizeof(path), "/sys/class/bdi/7:%d/%s", loop_nr, set[i][0]);
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		bool done = fd >= 0 && write(fd, set[i][1], strlen(set[i][1])) > 0;
		close(fd);
		if (!done)
			return false;
	}
	return true;
}

static void writer(void)
{
	static char b[1 << 20];
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "%s/file", where);
	fd = T_TRY(open(path, O_CREAT | O_RDWR, 0600));
	memset(b, (int)T_rand(1, 255), sizeof(b));
	for (int i = 0; i < WRITES; i++) {
		struct t_span s;

		T_in(&s);
		T_TRY(pwrite(fd, b, sizeof(b), (off_t)i * (off_t)sizeof(b)));
		T_out(&s);
		if (s.known > 4 * MS) /* shorter ones are for a page or the journal */
			T_wait(&s, "disk", "", -1, "pwrite64", "/file");
	}
	close(fd);
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"writer", writer, NULL}};

	T_begin(argc, argv, "dirty", 0);
	make_fs(LO_FLAGS_DIRECT_IO);
	if (!limit(true)) {
		remove_fs();
		T_skip("this kernel has no limits of one device");
	}
	T_roles(parts, 1, T_THREADS);
	limit(false);
	remove_fs();
	return T_end();
}
