/* tcp.c - ping-pong over TCP on loopback: the packet's sender is the waker, not who was interrupted. */
#define PINGPONG_CAUSE "tcp"
#define PINGPONG_KIND  "packet|thread"
#include "pingpong.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void connect_both(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int l = T_TRY(socket(AF_INET, SOCK_STREAM, 0)), one = 1;

	T_TRY(bind(l, (struct sockaddr *)&a, len));
	T_TRY(listen(l, 1));
	T_TRY(getsockname(l, (struct sockaddr *)&a, &len));
	client_fd = T_TRY(socket(AF_INET, SOCK_STREAM, 0));
	T_TRY(connect(client_fd, (struct sockaddr *)&a, len));
	server_fd = T_TRY(accept(l, NULL, NULL));
	setsockopt(client_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(server_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"client", client, NULL}, {"server", server, NULL}};

	T_begin(argc, argv, "tcp", 2);
	connect_both();
	T_roles(parts, 2, T_ANY);
	return T_end();
}
