/* spurious.c - woken in vain. A condition variable that another one's broadcast wakes though nothing is there for the
 * waiter, which goes back to sleep: each of its waits is that one's who ended it. And an eventfd that two read: one
 * write wakes both, one of them finds nothing any more and sleeps again inside the same call. */
#include "truth.h"

#include <sys/eventfd.h>

enum { WAITER, NOISE, SIGNALLER, READER_A, READER_B, WRITER };
#define ROUNDS 5
#define NOISES 2          /* a round */
#define WRITES 10
#define READY  T.sh->i64[0] /* rounds signalled */
#define BY     T.sh->i64[1] /* role whose broadcast was first since the waiter began to wait; -1 none yet */
#define AT     T.sh->i64[2] /* rounds seen by the waiter */
#define VAIN   T.sh->i64[3] /* broadcasts for nothing in this round */
#define TAKEN  T.sh->i64[4] /* writes that a reader got */

static void waiter(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&T.sh->mutex[0]);
		while (READY <= i) {
			struct t_span s;

			T_in(&s);
			BY = -1;
			pthread_cond_wait(&T.sh->cond[0], &T.sh->mutex[0]);
			T_out(&s);
			if (BY >= 0) /* no role: the library let it go by itself */
				T_wait(&s, "futex", "thread", (int)BY, "futex", "");
		}
		AT = i + 1;
		VAIN = 0;
		pthread_mutex_unlock(&T.sh->mutex[0]);
	}
}

static void broadcast(int role)
{
	pthread_mutex_lock(&T.sh->mutex[0]);
	if (BY < 0)
		BY = role;
	if (role == SIGNALLER)
		READY++;
	else
		VAIN++;
	pthread_mutex_unlock(&T.sh->mutex[0]);
	pthread_cond_broadcast(&T.sh->cond[0]);
}

static void noise(void)
{
	while (AT < ROUNDS) {
		T_sleep(T_rand(2 * MS, 5 * MS));
		if (AT < ROUNDS && VAIN < NOISES)
			broadcast(NOISE);
	}
}

static void signaller(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (AT != i || VAIN < NOISES)
			T_sleep(MS / 2);
		T_sleep(T_rand(3 * MS, 9 * MS));
		broadcast(SIGNALLER);
	}
}

static void reader(void)
{
	for (;;) {
		struct t_span s;
		uint64_t n;

		T_in(&s);
		T_TRY(read(T.sh->fd[0], &n, sizeof(n)));
		T_out(&s);
		if (n > WRITES)
			break;
		T_wait(&s, "eventfd", "thread", WRITER, "read", "");
		__atomic_add_fetch(&TAKEN, 1, __ATOMIC_SEQ_CST);
	}
}

static void writer(void)
{
	uint64_t one = 1, last = 1 << 20;

	for (int i = 0; i < WRITES + 2; i++) {
		T_sleep(T_rand(4 * MS, 9 * MS));
		while (i <= WRITES && TAKEN < i) /* what was written last is not yet taken */
			T_sleep(MS / 2);
		if (i >= WRITES) /* one each */
			T_TRY(write(T.sh->fd[0], &last, sizeof(last)));
		else
			T_TRY(write(T.sh->fd[0], &one, sizeof(one)));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"waiter", waiter, NULL}, {"noise", noise, NULL}, {"signaller", signaller, NULL},
				       {"reader", reader, NULL}, {"reader", reader, NULL}, {"writer", writer, NULL}};

	T_begin(argc, argv, "spurious", 1);
	BY = -1;
	T.sh->fd[0] = T_TRY(eventfd(0, 0));
	T_roles(parts, 6, T_ANY);
	return T_end();
}
