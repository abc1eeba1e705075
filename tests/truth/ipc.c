/* ipc.c - System V and POSIX message queues and a System V semaphore. */
#include "truth.h"

#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>

enum { TAKER, GIVER };
#define ROUNDS 6
static int sem, msg;
static mqd_t mq;

static void taker(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct { long type; char c; } m;
		struct sembuf op = {.sem_op = -1};
		char b[64];
		struct t_span s;

		T_in(&s);
		if (i % 3 == 0)
			T_TRY(semop(sem, &op, 1));
		else if (i % 3 == 1)
			T_TRY(msgrcv(msg, &m, 1, 0, 0));
		else
			T_TRY(mq_receive(mq, b, sizeof(b), NULL));
		T_out(&s);
		T_wait(&s, "ipc", "thread", GIVER, "semop|semtimedop|msgrcv|mq_timedreceive", "");
	}
}

static void giver(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct { long type; char c; } m = {1, 'x'};
		struct sembuf op = {.sem_op = 1};

		T_sleep(T_rand(6 * MS, 15 * MS));
		if (i % 3 == 0)
			T_TRY(semop(sem, &op, 1));
		else if (i % 3 == 1)
			T_TRY(msgsnd(msg, &m, 1, 0));
		else
			T_TRY(mq_send(mq, "x", 1, 0));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"taker", taker, NULL}, {"giver", giver, NULL}};
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 64};
	char name[64];
	int r;

	T_begin(argc, argv, "ipc", 0);
	snprintf(name, sizeof(name), "/truth-%d", (int)getpid());
	sem = T_TRY(semget(IPC_PRIVATE, 1, 0600));
	msg = T_TRY(msgget(IPC_PRIVATE, 0600));
	mq = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	if (mq == (mqd_t)-1)
		T_die("mq_open");
	mq_unlink(name);
	T_roles(parts, 2, T_ANY);
	semctl(sem, 0, IPC_RMID);
	msgctl(msg, IPC_RMID, NULL);
	r = T_end();
	return r;
}
