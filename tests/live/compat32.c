/* compat32.c - a 32-bit program without a C library: what it calls stands in the table of i386. A sleep of 60 ms, a
 * poll that times out after 40 ms, one that finds the pipe ready; exit status 32. */
static long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return ret;
}

enum { EXIT = 1, WRITE = 4, OPEN = 5, CLOSE = 6, PIPE = 42, NANOSLEEP = 162, POLL = 168 }; /* i386 */

void _start(void)
{
	struct {
		int fd;
		short events, revents;
	} p;
	int fd[2], ts[2] = {0, 60000000};
	long f = call(OPEN, (long)"/etc/hostname", 0, 0);

	call(PIPE, (long)fd, 0, 0);
	call(NANOSLEEP, (long)ts, 0, 0);
	p.fd = fd[0];
	p.events = 1;
	call(POLL, (long)&p, 1, 40);
	call(WRITE, fd[1], (long)"x", 1);
	call(POLL, (long)&p, 1, 40);
	call(CLOSE, f, 0, 0);
	call(EXIT, p.revents == 1 ? 32 : 1, 0, 0);
}
