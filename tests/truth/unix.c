/* unix.c - ping-pong over a socket pair with a server that sleeps. */
#include "truth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { CLIENT, SERVER };
#define ROUNDS 6
static int client_fd, server_fd;

static void client(void)
{
	char b[64] = {0};

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_TRY(send(client_fd, b, sizeof(b), 0));
		T_in(&s);
		T_TRY(recv(client_fd, b, sizeof(b), 0));
		T_out(&s);
		T_wait(&s, "unix", "thread", SERVER, "recvfrom|recv", "");
	}
}

static void server(void)
{
	char b[64];

	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_TRY(recv(server_fd, b, sizeof(b), 0));
		T_in(&s);
		T_sleep(T_rand(4 * MS, 20 * MS));
		T_out(&s);
		T_chain(CLIENT, SERVER, s.t0, s.t1, s.known, "blocked", "timer");
		T_TRY(send(server_fd, b, sizeof(b), 0));
	}
}

static void connect_both(void)
{
	int fd[2];

	T_TRY(socketpair(AF_UNIX, T_rand(0, 1) ? SOCK_STREAM : SOCK_SEQPACKET, 0, fd));
	client_fd = fd[0];
	server_fd = fd[1];
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"client", client, NULL}, {"server", server, NULL}};

	T_begin(argc, argv, "unix", 2);
	connect_both();
	T_roles(parts, 2, T_ANY);
	return T_end();
}
