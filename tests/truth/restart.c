/* restart.c - signals that interrupt a wait which then goes on: a read that the kernel restarts after the handler waits
 * twice, once for the signal's sender and once for the writer; a sleep that is stopped and continued is waited for,
 * not run, is over by the timer, and in between it was stopped. */
#include "truth.h"

enum { READER, WRITER, SLEEPER, STOPPER };
#define ROUNDS 6
#define STOPS  3
#define ROUND  T.sh->i64[0]
#define SEEN   T.sh->i64[1] /* rounds whose signal was handled */
#define TURN   T.sh->i64[2] /* rounds that the sleeper may begin */
#define SLEPT  T.sh->i64[3] /* rounds slept through */
#define READY_NS T.sh->i64[4] /* run delay of the last of them */
#define OVER   T.sh->i64[5] /* when it was over */
#define NAP_NS T.sh->i64[6] /* how long of it it had or wanted no CPU */
#define BEGUN(i) T.sh->i64[8 + (i)] /* when its sleep began, T_now() */
#define NAP    ((int64_t)(40 * MS))

static struct t_span before, after;

static void handler(int sig)
{
	(void)sig;
	T_out(&before);
	T_in(&after);
	SEEN++;
}

static void reader(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	char c;

	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span end;

		T_in(&before);
		ROUND = i + 1;
		T_TRY(read(T.sh->fd[0], &c, 1));
		end = after;
		T_out(&end);
		T_wait(&before, "signal", "thread|signal", WRITER, "read", "");
		T_wait(&end, "pipe", "thread", WRITER, "read", "");
	}
}

static void writer(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (ROUND <= i)
			T_sleep(MS / 2);
		T_sleep(T_rand(3 * MS, 9 * MS));
		T_TRY(kill(T.sh->tid[READER], SIGUSR1));
		while (SEEN <= i)
			T_sleep(MS / 2);
		T_sleep(T_rand(3 * MS, 9 * MS));
		T_TRY(write(T.sh->fd[1], "x", 1));
	}
}

static void sleeper(void)
{
	for (int i = 0; i < STOPS; i++) {
		struct timespec nap = T_ts(NAP);
		struct t_span s;

		while (TURN <= i)
			T_sleep(MS / 2);
		T_in(&s);
		BEGUN(i) = T_now();
		if (i & 1)
			nanosleep(&nap, NULL);
		else
			clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		T_out(&s);
		READY_NS = s.delay;
		OVER = s.t1;
		NAP_NS = s.known;
		SLEPT = i + 1;
	}
}

/* Of the sleeper's wait. */
static void say(const char *cause, const char *kinds, int waker, int64_t from, int64_t to, int64_t known)
{
	T_say("{\"t\":\"wait\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"known\":%" PRId64
	      ",\"cause\":\"%s\",\"kind\":\"%s\",\"waker\":%d,\"syscall\":\"\",\"hint\":\"\"}", T.sh->tid[SLEEPER], from, to,
	      known, cause, kinds, waker < 0 ? 0 : T.sh->tid[waker]);
}

static void stopper(void)
{
	for (int i = 0; i < STOPS; i++) {
		int64_t stop, stopped, go, gone;

		TURN = i + 1;
		while (!BEGUN(i))
			T_sleep(MS / 2);
		T_sleep(T_rand(4 * MS, 8 * MS));
		stop = T_now();
		T_TRY(kill(T.sh->tid[SLEEPER], SIGSTOP));
		stopped = T_now();
		T_sleep(T_rand(5 * MS, 10 * MS));
		go = T_now();
		T_TRY(kill(T.sh->tid[SLEEPER], SIGCONT));
		gone = T_now();
		while (SLEPT == i)
			T_sleep(MS / 2);
		/* On a busy machine: who had to wait for a CPU in between, or had slept enough before it went on, did not
		 * wait as long as this says. */
		if (READY_NS > MS / 5 || gone - go > MS / 5 || stopped - stop > MS / 5 || gone > BEGUN(i) + NAP - 2 * MS)
			continue;
		say("signal", "thread|signal", STOPPER, BEGUN(i), stopped, stop - BEGUN(i) - MS / 10);
		T_say("{\"t\":\"state\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"state\":\"stopped\"}",
		      T.sh->tid[SLEEPER], stopped, go);
		say("timer", "timer|irq|softirq", -1, go, OVER, NAP_NS - (gone - BEGUN(i)));
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"reader", reader, NULL}, {"writer", writer, NULL}, {"sleeper", sleeper, NULL},
				       {"stopper", stopper, NULL}};

	T_begin(argc, argv, "restart", 1);
	T_TRY(pipe(T.sh->fd));
	T_roles(parts, 4, T_PROCESSES);
	return T_end();
}
