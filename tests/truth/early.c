/* early.c - woken before it waits: the token is always there first, so the consumer never blocks for
 * the producer; what it sleeps itself is a timer's. */
#include "truth.h"

#include <semaphore.h>

enum { CONSUMER, PRODUCER };
#define ROUNDS 6
static sem_t *sem;

static void consumer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		T_sleep(T_rand(12 * MS, 20 * MS));
		T_out(&s);
		T_wait(&s, "timer", "timer|irq|softirq", -1, "clock_nanosleep", "");
		while (T.sh->i64[0] <= i)
			T_sleep(MS);
		sem_wait(sem);
	}
}

static void producer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		T_sleep(T_rand(2 * MS, 8 * MS));
		sem_post(sem);
		T.sh->i64[0]++;
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"consumer", consumer, ",\"never_cause\":\"futex\",\"allow_before\":true"},
				       {"producer", producer, NULL}};

	T_begin(argc, argv, "early", 2);
	sem = (sem_t *)&T.sh->i64[32];
	sem_init(sem, 1, 0);
	T_roles(parts, 2, T_ANY);
	return T_end();
}
