/* fifo.c - a named pipe: opening it waits for the other side, reading it for the writer. */
#include "truth.h"

#include <sys/stat.h>

enum { READER, WRITER };
static char path[64];

static void reader(void)
{
	struct t_span s;
	char c;
	int fd;

	T_in(&s);
	fd = T_TRY(open(path, O_RDONLY));
	T_out(&s);
	T_wait(&s, "pipe|unknown", "thread", WRITER, "open|openat", "");
	for (int i = 0; i < 5; i++) {
		T_in(&s);
		T_TRY(read(fd, &c, 1));
		T_out(&s);
		T_wait(&s, "pipe", "thread", WRITER, "read", "");
	}
}

static void writer(void)
{
	int fd;

	T_sleep(T_rand(2 * MS, 5 * MS));
	fd = T_TRY(open(path, O_WRONLY));
	for (int i = 0; i < 5; i++) {
		T_sleep(T_rand(10 * MS, 25 * MS));
		T_TRY(write(fd, "x", 1));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"writer", writer, NULL}};

	T_begin(argc, argv, "fifo", 0);
	snprintf(path, sizeof(path), "/tmp/truth-fifo-%d", (int)getpid());
	T_TRY(mkfifo(path, 0600));
	T_roles(parts, 2, T_ANY);
	unlink(path);
	return T_end();
}
