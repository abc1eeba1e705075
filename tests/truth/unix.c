/* unix.c - ping-pong over a socket pair with a server that sleeps. */
#define PINGPONG_CAUSE "unix"
#define PINGPONG_KIND  "thread"
#include "pingpong.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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
