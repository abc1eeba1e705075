/* loop.c - a file system on a loop device: what is written there goes through the flusher's worker, the journal's thread and
 * the loop device's worker to the disk that the backing file is on. All of it is waiting for the disk, whoever passes
 * it on; the device's own counters say that requests went through it. */
#include "loopdev.h"

#define ROUNDS 12

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
		/* The journal's thread commits what fsync asks for; syncfs may come when that is done already. */
		T_say("{\"t\":\"through\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"names\":[\"%s \"%s%s]}",
		      T_gettid(), s.t0, s.t1, name, i % 4 == 0 ? ",\"jbd2/loop\"" : "", i % 4 == 2 ? ",\"wb_workfn\"" : "");
	}
	close(fd);
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"writer", writer, NULL}};
	T_begin(argc, argv, "loop", 0);
	make_fs(0);
	T_roles(parts, 1, T_THREADS);
	remove_fs();
	return T_end();
}
