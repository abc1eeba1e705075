/* demo.c - a small program that waits in six different ways, for ./try without a command.
 *
 * It says what it does, so that the report can be compared: a sleep, a pipe whose writer computes, a
 * mutex that another thread holds while it sleeps, an fsync, a server on loopback that is slow, and a
 * child that takes its time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

static void nap(int ms)
{
	struct timespec ts = {.tv_nsec = ms * 1000000L};

	nanosleep(&ts, NULL);
}

static void compute(int ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static pid_t child(const char *name)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid)
		prctl(PR_SET_NAME, name);
	return pid;
}

static void wait_for_pipe(void)
{
	int fd[2];
	char c;

	puts("2. a pipe whose writer computes for 60 ms");
	if (pipe(fd))
		fail("pipe");
	if (!child("demo-cruncher")) {
		compute(60);
		_exit(write(fd[1], "x", 1) != 1);
	}
	if (read(fd[0], &c, 1) != 1)
		fail("read");
	wait(NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *hold(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "demo-holder");
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&both);
	nap(50);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void wait_for_mutex(void)
{
	pthread_t t;

	puts("3. a mutex that another thread holds while it sleeps for 50 ms");
	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&t, NULL, hold, NULL))
		fail("pthread_create");
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(t, NULL);
}

static void wait_for_disk(void)
{
	char path[] = "/var/tmp/whywait-demo-XXXXXX";
	static char block[1 << 16];
	int fd = mkstemp(path);

	puts("4. fsync, five times, of a file in /var/tmp");
	if (fd < 0)
		fail(path);
	for (int i = 0; i < 5; i++) {
		memset(block, 'a' + i, sizeof(block));
		for (int k = 0; k < 16; k++)
			if (write(fd, block, sizeof(block)) < 0)
				fail("write");
		if (fsync(fd))
			fail("fsync");
	}
	close(fd);
	unlink(path);
}

static void wait_for_server(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), s;
	char c = 'x';

	puts("5. a server on 127.0.0.1 that takes 30 ms to answer");
	if (l < 0 || bind(l, (struct sockaddr *)&a, len) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&a, &len))
		fail("listen");
	if (!child("demo-server")) {
		s = accept(l, NULL, NULL);
		if (s < 0 || read(s, &c, 1) != 1)
			_exit(1);
		nap(30);
		_exit(write(s, &c, 1) != 1);
	}
	s = socket(AF_INET, SOCK_STREAM, 0);
	if (s < 0 || connect(s, (struct sockaddr *)&a, len) || write(s, &c, 1) != 1 || read(s, &c, 1) != 1)
		fail("client");
	close(s);
	close(l);
	wait(NULL);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("1. sleeps for 80 ms");
	nap(80);
	wait_for_pipe();
	wait_for_mutex();
	wait_for_disk();
	wait_for_server();
	puts("6. a child that runs for 20 ms and sleeps for 20 ms");
	if (!child("demo-child")) {
		compute(20);
		nap(20);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
