/* doings.c - does one kind of thing for real and says what it did; events.py compares the recorder's events.
 *
 * usage: live-doings WHAT      one JSON object a line, {"do": what it was, ...}; the last is {"do":"end"}
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRY(x)                                                          \
	({                                                              \
		__typeof__(x) r_ = (x);                                 \
		if ((long)r_ == -1) {                                   \
			fprintf(stderr, "%s: %s\n", #x, strerror(errno)); \
			exit(1);                                        \
		}                                                       \
		r_;                                                     \
	})

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	va_list ap;

	flockfile(stdout); /* a line of one thread is not cut by another's */
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	funlockfile(stdout);
}

static int tid(void) { return (int)syscall(SYS_gettid); }

/* ---- ready: what poll, select and epoll_wait are asked and answer ---- */

static int ready_fd(void)
{
	int fd = TRY(eventfd(1, 0));

	return fd;
}

static void do_poll(void)
{
	int a = TRY(eventfd(0, 0)), b = ready_fd();
	struct pollfd p[3] = {{a, POLLIN, 0}, {b, POLLIN | POLLPRI, 0}, {b, POLLOUT, 0}};

	TRY(poll(p, 3, 777));
	say("{\"do\":\"poll\",\"tid\":%d,\"timeout\":777,\"in\":[[%d,1],[%d,3],[%d,4]],\"out\":[[%d,1],[%d,4]]}", tid(),
	    a, b, b, b, b);
	TRY(poll(p, 1, 0));
	say("{\"do\":\"poll\",\"tid\":%d,\"timeout\":0,\"in\":[[%d,1]],\"out\":[]}", tid(), a);

	struct pollfd many[200];
	for (int i = 0; i < 200; i++)
		many[i] = (struct pollfd){i == 150 ? b : a, POLLIN, 0};
	TRY(poll(many, 200, 778));
	say("{\"do\":\"poll\",\"tid\":%d,\"timeout\":778,\"many\":200,\"fd\":%d,\"out\":[[%d,1]]}", tid(), a, b);

	struct timespec ts = {.tv_sec = 1};
	TRY(ppoll(p, 2, &ts, NULL));
	say("{\"do\":\"ppoll\",\"tid\":%d,\"in\":[[%d,1],[%d,3]],\"out\":[[%d,1]]}", tid(), a, b, b);
	/* An array that is not there: the call fails, and no list is made up. */
	if (syscall(SYS_poll, 16, 2, 779) != -1 || errno != EFAULT)
		exit(1);
	say("{\"do\":\"poll\",\"tid\":%d,\"timeout\":779,\"in\":[],\"out\":[]}", tid());
}

static void do_select(void)
{
	int b = TRY(fcntl(ready_fd(), F_DUPFD, 77)), c = TRY(fcntl(TRY(eventfd(0, 0)), F_DUPFD, 100));
	struct timeval tv = {.tv_sec = 1};
	struct timespec ts = {.tv_sec = 1};
	fd_set in, out;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(b, &in);
	FD_SET(c, &in);
	FD_SET(c, &out);
	fd_set in2 = in, out2 = out;
	TRY((int)syscall(SYS_select, c + 1, &in, &out, NULL, &tv));
	say("{\"do\":\"select\",\"tid\":%d,\"n\":%d,\"in\":[[%d,%d],[%d],[]],\"out\":[[%d],[%d],[]]}", tid(), c + 1, b, c, c,
	    b, c);
	TRY((int)syscall(SYS_pselect6, c + 1, &in2, NULL, &out2, &ts, NULL));
	say("{\"do\":\"pselect6\",\"tid\":%d,\"n\":%d,\"in\":[[%d,%d],[],[%d]],\"out\":[[%d],[],[]]}", tid(), c + 1, b, c,
	    c, b);
}

static void do_epoll(void)
{
	int ep = TRY(epoll_create1(0));
	struct epoll_event ev, got[8];
	uint64_t sum = 0;

	for (int i = 0; i < 3; i++) {
		ev = (struct epoll_event){.events = EPOLLIN, .data.u64 = 0x1122334400000000ull + (uint64_t)i};
		TRY(epoll_ctl(ep, EPOLL_CTL_ADD, i == 1 ? TRY(eventfd(0, 0)) : ready_fd(), &ev));
	}
	int n = TRY(epoll_wait(ep, got, 8, 500));
	for (int i = 0; i < n; i++)
		sum += got[i].data.u64;
	say("{\"do\":\"epoll_wait\",\"tid\":%d,\"epfd\":%d,\"n\":%d,\"first\":%llu,\"sum\":%llu}", tid(), ep, n,
	    (unsigned long long)got[0].data.u64, (unsigned long long)sum);
}

static void ready(void)
{
	do_poll();
	do_select();
	do_epoll();
}

/* ---- inet: addresses of connect and accept, headers on the wire ---- */

struct inet_pair {
	int listener, client, server;
	struct sockaddr_storage at, from;
	socklen_t len;
};

static uint16_t port_of(const struct sockaddr_storage *s)
{
	return ntohs(((const struct sockaddr_in *)s)->sin_port); /* the same place in both families */
}

static struct sockaddr_storage loopback(int family, socklen_t *len)
{
	struct sockaddr_storage s = {.ss_family = (sa_family_t)family};

	if (family == AF_INET)
		((struct sockaddr_in *)&s)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&s)->sin6_addr = in6addr_loopback;
	*len = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	return s;
}

static void do_tcp(int family)
{
	struct inet_pair p = {.at = loopback(family, &p.len)};
	socklen_t len = p.len;
	char text[100] = "x";

	p.listener = TRY(socket(family, SOCK_STREAM, 0));
	TRY(bind(p.listener, (struct sockaddr *)&p.at, p.len));
	TRY(getsockname(p.listener, (struct sockaddr *)&p.at, &len));
	TRY(listen(p.listener, 1));
	p.client = TRY(socket(family, SOCK_STREAM, 0));
	TRY(connect(p.client, (struct sockaddr *)&p.at, p.len));
	len = sizeof(p.from);
	p.server = TRY(accept(p.listener, (struct sockaddr *)&p.from, &len));
	TRY(send(p.client, text, 100, 0));
	TRY(recv(p.server, text, 100, MSG_WAITALL));
	say("{\"do\":\"tcp\",\"tid\":%d,\"family\":%d,\"port\":%d,\"from\":%d,\"client\":%d,\"server\":%d,\"bytes\":100}", tid(),
	    family, port_of(&p.at), port_of(&p.from), p.client, p.server);
	p.client = TRY(socket(family, SOCK_STREAM, 0));
	TRY(connect(p.client, (struct sockaddr *)&p.at, p.len));
	p.server = TRY(accept4(p.listener, NULL, NULL, SOCK_CLOEXEC)); /* who does not ask for the address */
	say("{\"do\":\"accept4\",\"tid\":%d,\"server\":%d}", tid(), p.server);
}

static void do_udp(int family)
{
	socklen_t len;
	struct sockaddr_storage at = loopback(family, &len), from;
	int a = TRY(socket(family, SOCK_DGRAM, 0)), b = TRY(socket(family, SOCK_DGRAM, 0));
	char text[64] = "datagram";

	TRY(bind(a, (struct sockaddr *)&at, len));
	TRY(getsockname(a, (struct sockaddr *)&at, &len));
	TRY(sendto(b, text, 64, 0, (struct sockaddr *)&at, len));
	len = sizeof(from);
	TRY(recvfrom(a, text, 64, 0, (struct sockaddr *)&from, &len));
	say("{\"do\":\"udp\",\"tid\":%d,\"family\":%d,\"port\":%d,\"from\":%d,\"bytes\":64}", tid(), family, port_of(&at),
	    port_of(&from));
}

static void do_ping(void)
{
	socklen_t len;
	struct sockaddr_storage at = loopback(AF_INET, &len);
	struct {
		struct icmphdr h;
		char data[24];
	} m = {.h = {.type = ICMP_ECHO, .un.echo = {htons(0x1234), htons(7)}}};
	int fd = TRY(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(m) / 2; i++)
		sum += ((uint16_t *)&m)[i];
	m.h.checksum = (uint16_t)~((sum & 0xffff) + (sum >> 16));
	TRY(sendto(fd, &m, sizeof(m), 0, (struct sockaddr *)&at, len));
	usleep(2000);
	say("{\"do\":\"ping\",\"tid\":%d,\"type\":8,\"checksum\":%d,\"id\":4660,\"seq\":7,\"bytes\":%zu}", tid(),
	    ntohs(m.h.checksum), sizeof(m));
}

static void inet(void)
{
	do_tcp(AF_INET);
	do_tcp(AF_INET6);
	do_udp(AF_INET);
	do_udp(AF_INET6);
	do_ping();
}

/* ---- uring: requests submitted, given to a worker, completed ---- */

static void uring_one(struct io_uring *ring, uint64_t data, bool punt)
{
	struct io_uring_cqe *cqe;

	io_uring_submit(ring);
	if (io_uring_wait_cqe(ring, &cqe))
		exit(1);
	say("{\"do\":\"uring\",\"tid\":%d,\"data\":%llu,\"res\":%d,\"punt\":%d}", tid(), (unsigned long long)cqe->user_data,
	    cqe->res, punt);
	if (cqe->user_data != data)
		exit(1);
	io_uring_cqe_seen(ring, cqe);
}

static void uring(void)
{
	struct io_uring ring;
	char b[512];
	int fd = TRY(open("/proc/self/exe", O_RDONLY)), p[2];

	TRY(pipe(p));
	if (io_uring_queue_init(8, &ring, 0) < 0) {
		say("{\"do\":\"skip\",\"why\":\"io_uring is not allowed\"}");
		exit(77);
	}
	for (uint64_t i = 0; i < 5; i++) {
		struct io_uring_sqe *s = io_uring_get_sqe(&ring);
		struct __kernel_timespec ts = {.tv_nsec = 3000000};

		if (i == 0)
			io_uring_prep_nop(s);
		else if (i == 1)
			io_uring_prep_read(s, fd, b, sizeof(b), 0);
		else if (i == 2)
			io_uring_prep_read(s, fd, b, 100, 0);
		else if (i == 3)
			io_uring_prep_timeout(s, &ts, 0, 0);
		else
			io_uring_prep_read(s, -1, b, 1, 0);
		if (i == 2)
			s->flags |= IOSQE_ASYNC;
		io_uring_sqe_set_data64(s, 0xabcd0000 + i);
		uring_one(&ring, 0xabcd0000 + i, i == 2);
	}
	io_uring_queue_exit(&ring);
}

/* ---- signals ---- */

static volatile sig_atomic_t caught;
static void handler(int sig, siginfo_t *info, void *uc)
{
	(void)uc, (void)sig, (void)info;
	caught++;
}

static void signals(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct timespec ts = {.tv_nsec = 2000000};

	TRY(sigaction(SIGUSR1, &sa, NULL));
	TRY(sigaction(SIGRTMIN, &sa, NULL));
	TRY(kill(getpid(), SIGUSR1));
	say("{\"do\":\"signal\",\"tid\":%d,\"sig\":%d,\"code\":0,\"handler\":%llu}", tid(), SIGUSR1,
	    (unsigned long long)(uintptr_t)handler);
	TRY(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 5}));
	say("{\"do\":\"signal\",\"tid\":%d,\"sig\":%d,\"code\":-1,\"handler\":%llu}", tid(), SIGRTMIN,
	    (unsigned long long)(uintptr_t)handler);
	pid_t pid = TRY(fork());
	if (!pid) {
		pause();
		_exit(0);
	}
	nanosleep(&ts, NULL);
	TRY(kill(pid, SIGKILL));
	TRY(waitpid(pid, NULL, 0));
	say("{\"do\":\"kill\",\"tid\":%d,\"sig\":9,\"child\":%d}", tid(), pid);
	TRY(sigaction(SIGALRM, &sa, NULL));
	TRY(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 3000}}, NULL));
	pause();
	say("{\"do\":\"signal\",\"tid\":%d,\"sig\":%d,\"code\":128,\"handler\":%llu}", tid(), SIGALRM,
	    (unsigned long long)(uintptr_t)handler);
}

/* ---- locks: two processes fight for a directory ---- */

static void locks(void)
{
	char dir[] = "/tmp/live-doings-XXXXXX", a[64], b[64];
	struct timespec t0, t1;
	long n = 0;

	if (!mkdtemp(dir))
		exit(1);
	pid_t pid = TRY(fork());
	snprintf(a, sizeof(a), "%s/%c", dir, pid ? 'a' : 'b');
	snprintf(b, sizeof(b), "%s/%c2", dir, pid ? 'a' : 'b');
	close(TRY(open(a, O_CREAT | O_RDWR, 0600)));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	do {
		TRY(rename(a, b));
		TRY(rename(b, a));
		n++;
		clock_gettime(CLOCK_MONOTONIC, &t1);
	} while ((t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000 < 400);
	unlink(a);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	rmdir(dir);
	say("{\"do\":\"locks\",\"tid\":%d,\"other\":%d,\"n\":%ld}", tid(), pid, n);
}

/* ---- files: which descriptor of which process names what, after everything that changes it ---- */

/* The call names each descriptor and does nothing; what it names is the kernel's own answer. */
static void look(const char *when)
{
	for (int fd = 0; fd < 40; fd++) {
		char link[32], name[256];

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		(void)shutdown(fd, 99);
		say("{\"do\":\"look\",\"tid\":%d,\"when\":\"%s\",\"fd\":%d,\"name\":\"%s\"}", tid(), when, fd, name);
	}
}

static void send_fd(int sock, int fd)
{
	char byte = 'f';
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} c = {.h = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c.room)};

	memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
	TRY(sendmsg(sock, &m, 0));
}

static void receive_fd(int sock)
{
	char byte, room[CMSG_SPACE(4 * sizeof(int))];
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};

	TRY(recvmsg(sock, &m, 0));
}

static void files(const char *self)
{
	int s[2], a = TRY(open("/etc/passwd", O_RDONLY)), b = TRY(open("/etc/group", O_RDONLY | O_CLOEXEC));

	TRY(dup2(a, 20));
	TRY(dup3(b, 21, O_CLOEXEC));
	TRY(fcntl(b, F_DUPFD_CLOEXEC, 22));
	TRY(dup(b));
	TRY(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	TRY(fcntl(a, F_SETFD, FD_CLOEXEC)); /* made so later */
	pid_t pid = TRY(fork());
	if (!pid) {
		receive_fd(s[1]);
		look("child");
		TRY((int)syscall(SYS_close_range, 20, 22, 0));
		look("closed");
		execl(self, self, "files-exec", (char *)NULL);
		_exit(1);
	}
	int c = TRY(open("/etc/hostname", O_RDONLY));
	send_fd(s[0], c);
	waitpid(pid, NULL, 0);
	TRY(dup2(c, 21)); /* another file takes the number */
	look("parent");
}

/* ---- stacks: blocks three functions deep ---- */

/* What follows the call keeps it from becoming a jump, which leaves no frame. */
#define DEEP __attribute__((noinline, optimize("no-omit-frame-pointer")))
DEEP int doings_inner(long ns)
{
	struct timespec ts = {.tv_nsec = ns};
	int r = (int)syscall(SYS_nanosleep, &ts, NULL);

	__asm__ volatile("");
	return r;
}

DEEP int doings_middle(long ns)
{
	int r = doings_inner(ns);

	__asm__ volatile("");
	return r + 1;
}

DEEP int doings_outer(void)
{
	int r = 0;

	for (int i = 0; i < 5; i++)
		r += doings_middle(8000000);
	return r;
}

/* ---- faults: pages of a file in several mappings, of shared memory, of none ---- */

enum { PAGE = 4096, FILE_PAGES = 200 };

static void touch(const char *how, char *map, int page, bool write, int fd, int map_page)
{
	char link[32], name[256] = "";
	volatile char *p = map + page * (long)PAGE + 7;

	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
	}
	if (write)
		*p = 1;
	else
		(void)*p;
	say("{\"do\":\"touch\",\"tid\":%d,\"how\":\"%s\",\"address\":%lu,\"file\":\"%s\",\"offset\":%ld}", tid(), how,
	    (unsigned long)p, name, fd < 0 ? 0 : (map_page + page) * (long)PAGE + 7);
}

static char *map_pages(int n, int prot, int flags, int fd, int page)
{
	char *p = TRY(mmap(NULL, (size_t)n * PAGE, prot, flags, fd, page * (long)PAGE));

	TRY(madvise(p, (size_t)n * PAGE, MADV_RANDOM));
	return p;
}

static void faults(void)
{
	char path[] = "/var/tmp/live-doings-XXXXXX";
	int fd = TRY(mkstemp(path)), shm = TRY(memfd_create("live-doings", 0));
	const int rw = PROT_READ | PROT_WRITE;

	for (int i = 0; i < FILE_PAGES; i++)
		TRY(pwrite(fd, &(char[PAGE]){(char)i}, PAGE, i * (long)PAGE));
	TRY(ftruncate(shm, 64 * PAGE));
	char *a = map_pages(100, PROT_READ, MAP_SHARED, fd, 3), *b = map_pages(60, rw, MAP_PRIVATE, fd, 37);
	char *c = map_pages(40, rw, MAP_SHARED, fd, 150), *m = map_pages(64, rw, MAP_SHARED, shm, 0);
	char *n = map_pages(600, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* At least 16 pages apart, as the kernel maps some around. */
	for (int i = 0; i < 6; i++)
		touch("read, shared", a, 1 + 16 * ((i * 5) % 6), false, fd, 3);
	for (int i = 0; i < 3; i++)
		touch("read, private", b, 2 + 20 * i, false, fd, 37);
	touch("write, private", b, 39, true, fd, 37);
	touch("write, shared", c, 0, true, fd, 150);
	touch("write, shared", c, 39, true, fd, 150);
	for (int i = 0; i < 4; i++)
		touch("memfd", m, 16 * (3 - i), true, shm, 0);
	for (int i = 0; i < 20; i++)
		touch("anonymous", n, (i * 7) % 20 * 30, true, -1, 0);
	/* The same places, and something else is there. */
	for (int i = 0; i < 3; i++) {
		char *o = TRY(mmap(n + i * 200L * PAGE, 50 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (10 + i) * (long)PAGE));

		touch("a file over anonymous memory", o, 33, false, fd, 10 + i);
		TRY(mmap(o, 50 * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
		touch("anonymous memory over a file", o, 33, true, -1, 0);
	}
	pid_t pid = TRY(fork());
	if (!pid) {
		touch("anonymous, copied", n, 30, true, -1, 0);
		_exit(0);
	}
	TRY(waitpid(pid, NULL, 0));
	/* One place that is one thing after the other, and is each of them in several processes: where the kernel's
	 * description of a mapping or of an address space was, there is soon another one. */
	for (int i = 0; i < 60; i++) {
		bool file = i % 3 != 1;
		char *o = TRY(mmap(n, 50 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file ? fd : shm, i % 7 * (long)PAGE));

		if (i % 4 == 3 && !(pid = TRY(fork()))) {
			TRY(mmap(n, 50 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (40 + i) * (long)PAGE));
			touch("one place, many processes", o, i % 40, false, fd, 40 + i);
			_exit(0);
		}
		touch("one place, many things", o, i % 40, false, file ? fd : shm, i % 7);
		touch("one place, many things", n + 300L * PAGE, i, true, -1, 0);
		if (i % 4 == 3)
			TRY(waitpid(pid, NULL, 0));
	}
	unlink(path);
}

static void stacks(void)
{
	doings_outer();
	say("{\"do\":\"stack\",\"tid\":%d,\"times\":5,\"ns\":40000000}", tid());
}

/* ---- attached: each thread is in a call before recording begins, and returns from it while it goes on ---- */

static int at_pipe[2], at_event;
static pthread_mutex_t at_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *in_read(void *arg)
{
	char c;

	say("{\"do\":\"wait\",\"tid\":%d,\"call\":\"read\",\"cause\":\"pipe\",\"kind\":\"thread\",\"by\":%d}", tid(),
	    getpid());
	TRY(read(at_pipe[0], &c, 1));
	return arg;
}

static void *in_poll(void *arg)
{
	struct pollfd p = {at_event, POLLIN, 0};

	say("{\"do\":\"wait\",\"tid\":%d,\"call\":\"poll\",\"cause\":\"eventfd\",\"kind\":\"thread\",\"by\":%d}", tid(),
	    getpid());
	TRY(poll(&p, 1, -1));
	return arg;
}

static void *in_futex(void *arg)
{
	say("{\"do\":\"wait\",\"tid\":%d,\"call\":\"futex\",\"cause\":\"futex\",\"kind\":\"thread\",\"by\":%d}", tid(),
	    getpid());
	pthread_mutex_lock(&at_mutex);
	return arg;
}

static void attached(void)
{
	void *(*const calls[])(void *) = {in_read, in_poll, in_futex};
	pthread_t t[3];
	uint64_t one = 1;
	char c;

	TRY(pipe(at_pipe));
	at_event = TRY(eventfd(0, 0));
	pthread_mutex_lock(&at_mutex);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, calls[i], NULL))
			exit(1);
	say("{\"do\":\"wait\",\"tid\":%d,\"call\":\"read\",\"cause\":\"pipe\",\"kind\":\"thread\",\"by\":%d}", tid(),
	    getppid());
	TRY(read(STDIN_FILENO, &c, 1)); /* whoever started us says when recording is under way */
	TRY(write(at_pipe[1], "x", 1));
	TRY(write(at_event, &one, 8));
	pthread_mutex_unlock(&at_mutex);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "ready"))
		ready();
	else if (!strcmp(what, "inet"))
		inet();
	else if (!strcmp(what, "uring"))
		uring();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "locks"))
		locks();
	else if (!strcmp(what, "files"))
		files(argv[0]);
	else if (!strcmp(what, "faults"))
		faults();
	else if (!strcmp(what, "stacks"))
		stacks();
	else if (!strcmp(what, "attached"))
		attached();
	else if (!strcmp(what, "files-exec"))
		look("exec");
	else
		return 2;
	say("{\"do\":\"end\"}");
	return 0;
}
