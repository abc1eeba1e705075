/* futex_requeue.c - three wait for a condition; it is signalled to all with FUTEX_CMP_REQUEUE: one is woken, the others
 * are moved to wait for the lock and never ran meanwhile. Who gives the lock back is the one that ended their wait,
 * not who moved them. */
#include "truth.h"

#include <linux/futex.h>

enum { BOSS, W0, W1, W2, N };
#define ROUNDS 4
#define CONDITION ((volatile uint32_t *)&T.sh->i64[10]) /* never changes: who waits always sleeps */
#define LOCK ((volatile uint32_t *)&T.sh->i64[11])
#define WAKER T.sh->i64[0]   /* the role that wakes next; one at a time */
#define ASLEEP T.sh->i64[1]  /* that many are on their way to sleep */
#define DONE T.sh->i64[2]

static long futex(volatile uint32_t *at, int op, uint32_t val, uint64_t val2, volatile uint32_t *at2, uint32_t val3)
{
	return syscall(SYS_futex, at, op, val, val2, at2, val3);
}

static bool all_sleep(void)
{
	for (int w = W0; w < N; w++)
		if (!T_asleep(T.sh->tid[w]))
			return false;
	return true;
}

static void boss(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (ASLEEP < (i + 1) * 3 || !all_sleep())
			T_sleep(MS / 2);
		T_sleep(T_rand(6 * MS, 12 * MS));
		WAKER = BOSS;
		if (futex(CONDITION, FUTEX_CMP_REQUEUE, 1, N, LOCK, 0) != 3)
			T_die("FUTEX_CMP_REQUEUE");
		while (DONE < (i + 1) * 3)
			T_sleep(MS / 2);
	}
}

static void worker(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		T_in(&s);
		__atomic_fetch_add(&ASLEEP, 1, __ATOMIC_SEQ_CST);
		T_TRY(futex(CONDITION, FUTEX_WAIT, 0, 0, NULL, 0));
		T_out(&s);
		T_wait(&s, "futex", "thread", (int)WAKER, "futex", "");
		T_sleep(T_rand(3 * MS, 8 * MS)); /* with the lock */
		WAKER = me;
		futex(LOCK, FUTEX_WAKE, 1, 0, NULL, 0);
		__atomic_fetch_add(&DONE, 1, __ATOMIC_SEQ_CST);
		while (DONE < (i + 1) * 3)
			T_sleep(MS / 2);
	}
}

static void w0(void) { worker(W0); }
static void w1(void) { worker(W1); }
static void w2(void) { worker(W2); }

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"boss", boss, NULL}, {"w0", w0, NULL}, {"w1", w1, NULL}, {"w2", w2, NULL}};

	T_begin(argc, argv, "futex_requeue", 1);
	T_roles(parts, N, T_ANY);
	return T_end();
}
