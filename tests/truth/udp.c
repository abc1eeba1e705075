/* udp.c - ping-pong over UDP on loopback. */
#define PINGPONG_CAUSE "udp"
#define PINGPONG_KIND  "packet|thread"
#include "pingpong.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void connect_both(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, b = a;
	socklen_t len = sizeof(a);

	client_fd = T_TRY(socket(AF_INET, SOCK_DGRAM, 0));
	server_fd = T_TRY(socket(AF_INET, SOCK_DGRAM, 0));
	T_TRY(bind(client_fd, (struct sockaddr *)&a, len));
	T_TRY(bind(server_fd, (struct sockaddr *)&b, len));
	T_TRY(getsockname(client_fd, (struct sockaddr *)&a, &len));
	T_TRY(getsockname(server_fd, (struct sockaddr *)&b, &len));
	T_TRY(connect(client_fd, (struct sockaddr *)&b, len));
	T_TRY(connect(server_fd, (struct sockaddr *)&a, len));
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"client", client, NULL}, {"server", server, NULL}};

	T_begin(argc, argv, "udp", 2);
	connect_both();
	T_roles(parts, 2, T_ANY);
	return T_end();
}
