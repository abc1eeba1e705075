/* udp.c - ping-pong over UDP on loopback. */
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
		T_wait(&s, "udp", "packet|thread", SERVER, "recvfrom|recv", "");
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
