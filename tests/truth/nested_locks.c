/* nested_locks.c - C wants a lock that B has, who waits for another that A has, who sleeps with it: what C waited for is
 * A's sleep, two locks down. */
#include "truth.h"

enum { A, B, C };
enum { INNER, OUTER };
#define ROUNDS 5
#define TURN T.sh->i64[0]

static void wait_for_turn(int64_t turn)
{
	while (TURN < turn)
		T_sleep(MS / 2);
}

static void a(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		wait_for_turn(i * 4);
		pthread_mutex_lock(&T.sh->mutex[INNER]);
		TURN = i * 4 + 1;
		wait_for_turn(i * 4 + 3); /* C goes to wait now */
		T_sleep(2 * MS);
		T_in(&s);
		T_sleep(T_rand(8 * MS, 16 * MS));
		T_out(&s);
		T_chain(B, A, s.t0, s.t1, s.known, "blocked", "timer");
		T_chain(C, A, s.t0, s.t1, s.known, "blocked", "timer");
		pthread_mutex_unlock(&T.sh->mutex[INNER]);
	}
}

static void b(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		wait_for_turn(i * 4 + 1);
		pthread_mutex_lock(&T.sh->mutex[OUTER]);
		TURN = i * 4 + 2;
		T_in(&s);
		pthread_mutex_lock(&T.sh->mutex[INNER]);
		T_out(&s);
		T_wait(&s, "futex", "thread", A, "futex", "");
		pthread_mutex_unlock(&T.sh->mutex[INNER]);
		T_compute(T_rand(MS, 3 * MS));
		pthread_mutex_unlock(&T.sh->mutex[OUTER]);
	}
}

static void c(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		wait_for_turn(i * 4 + 2);
		T_in(&s);
		TURN = i * 4 + 3;
		pthread_mutex_lock(&T.sh->mutex[OUTER]);
		T_out(&s);
		T_wait(&s, "futex", "thread", B, "futex", "");
		pthread_mutex_unlock(&T.sh->mutex[OUTER]);
		TURN = i * 4 + 4;
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"a", a, NULL}, {"b", b, NULL}, {"c", c, NULL}};

	T_begin(argc, argv, "nested_locks", 2);
	T_roles(parts, 3, T_ANY);
	return T_end();
}
