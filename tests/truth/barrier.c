/* barrier.c - eight threads at a barrier: the last to come wakes the others. */
#include "truth.h"

#define N 8
#define ROUNDS 5

/* i64[i]: who is to come last in round i; i64[ROUNDS + i]: who did, as the barrier says, plus one. */
static void member(int me)
{
	struct t_span s[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		/* The last is drawn beforehand and comes well after the others, unless it is a very busy machine. */
		T_sleep(T.sh->i64[i] == me ? T_rand(20 * MS, 30 * MS) : T_rand(MS, 5 * MS));
		T_in(&s[i]);
		/* glibc gives this value to the last: nptl/pthread_barrier_wait.c */
		const int r = pthread_barrier_wait(&T.sh->barrier);
		T_out(&s[i]);
		if (r == PTHREAD_BARRIER_SERIAL_THREAD)
			__atomic_store_n(&T.sh->i64[ROUNDS + i], me + 1, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < ROUNDS; i++) {
		int64_t last;

		while (!(last = __atomic_load_n(&T.sh->i64[ROUNDS + i], __ATOMIC_ACQUIRE)))
			T_sleep(MS);
		if (last - 1 != me)
			T_wait(&s[i], "futex", "thread", (int)last - 1, "futex", "");
	}
}

static void m0(void) { member(0); }
static void m1(void) { member(1); }
static void m2(void) { member(2); }
static void m3(void) { member(3); }
static void m4(void) { member(4); }
static void m5(void) { member(5); }
static void m6(void) { member(6); }
static void m7(void) { member(7); }

int main(int argc, char **argv)
{
	const struct t_part parts[N] = {{"m0", m0, NULL}, {"m1", m1, NULL}, {"m2", m2, NULL},
					{"m3", m3, NULL}, {"m4", m4, NULL}, {"m5", m5, NULL},
					{"m6", m6, NULL}, {"m7", m7, NULL}};
	pthread_barrierattr_t ba;

	T_begin(argc, argv, "barrier", 1);
	pthread_barrierattr_init(&ba);
	pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&T.sh->barrier, &ba, N);
	for (int i = 0; i < ROUNDS; i++)
		T.sh->i64[i] = T_rand(0, N - 1);
	T_roles(parts, N, T_ANY);
	return T_end();
}
