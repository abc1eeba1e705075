/* pingpong.h - a client that asks and a server that sleeps before it answers, over two connected
 * descriptors. The file that includes it defines PINGPONG_CAUSE and PINGPONG_KIND, what a wait of the client is
 * for and what wakes it, and sets client_fd and server_fd. */
#ifndef WW_TRUTH_PINGPONG_H
#define WW_TRUTH_PINGPONG_H

#include <sys/socket.h>

#include "truth.h"

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
		T_wait(&s, PINGPONG_CAUSE, PINGPONG_KIND, SERVER, "recvfrom|recv", "");
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

#endif
