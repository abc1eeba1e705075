/* ready.c - meets the tracepoint sk_data_ready on one CPU while a program of the recorder's runs there for the same
 * one, so that the kernel skips the inner run.
 *
 * usage: live-ready SECONDS, in a network namespace whose `lo` is up and gives its packets to CPU 0 (rps_cpus 1)
 * On CPU 0 a thread sends to itself through a unix socket: sk_data_ready once for each, in a system call. On CPU 1
 * another sends UDP datagrams to itself: each is delivered by a softirq that interrupts CPU 0, with sk_data_ready once.
 * Prints: unix N INODE udp N PORT.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile int end;
static unsigned long udp_sent;
static int udp_port;

static void pin(int cpu)
{
	cpu_set_t s;

	CPU_ZERO(&s);
	CPU_SET(cpu, &s);
	if (sched_setaffinity(0, sizeof(s), &s))
		exit(77);
}

/* As many as were sent are waited for, so that none is dropped for want of room. */
static void *udp(void *arg)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int s = *(int *)arg;
	char b[64];

	pin(1);
	if (getsockname(s, (struct sockaddr *)&a, &len) || connect(s, (struct sockaddr *)&a, len))
		exit(1);
	udp_port = ntohs(a.sin_port);
	while (!end) {
		for (int i = 0; i < 32; i++)
			if (send(s, "x", 1, 0) != 1)
				exit(1);
		udp_sent += 32;
		for (int i = 0; i < 32;)
			i += recv(s, b, sizeof(b), MSG_DONTWAIT) == 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	unsigned long n = 0;
	struct stat st;
	pthread_t t;
	int u[2], s = socket(AF_INET, SOCK_DGRAM, 0);
	char b[64];

	if (argc != 2 || s < 0 || bind(s, (struct sockaddr *)&a, sizeof(a)) || socketpair(AF_UNIX, SOCK_STREAM, 0, u) ||
	    fstat(u[1], &st) || pthread_create(&t, NULL, udp, &s))
		return 1;
	pin(0);
	time_t until = time(NULL) + atoi(argv[1]);
	for (; time(NULL) < until; n++)
		if (write(u[0], "x", 1) != 1 || read(u[1], b, sizeof(b)) != 1)
			return 1;
	end = 1;
	pthread_join(t, NULL);
	usleep(300000); /* what is in the CPU's backlog still comes */
	printf("unix %lu %lu udp %lu %d\n", n, (unsigned long)st.st_ino, udp_sent, udp_port);
	return 0;
}
