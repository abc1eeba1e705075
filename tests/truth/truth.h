/* truth.h - a program with known waits that says, while it runs, what the right answer is.
 *
 *   usage: truth-NAME [SEED]      prints JSON lines; check.py records it and compares
 *
 * What is known of a wait comes from two sides that do not use tracing: the program's own clocks
 * around the blocking call, and the kernel's accounting. In [t0, t1] the thread was blocked for
 *
 *   known = (t1 - t0) - CPU time (CLOCK_THREAD_CPUTIME_ID) - run delay (schedstat)
 *
 * so a preemption or a slow dispatch inside the interval is not mistaken for waiting. Example: a read
 * that took 10.00 ms, of which 0.02 on the CPU and 0.03 queued for it, has 9.95 ms known waiting.
 *
 * Order of calls: T_begin -> T_roles (or T_in / T_out in main's own thread) -> T_end. Names,
 * durations, which role the main thread plays, and whether a role is a thread or a process are drawn
 * from the seed. Decoys are further processes that run the same scenario for somebody else, unrecorded.
 */
#ifndef WW_TRUTH_H
#define WW_TRUTH_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define T_MAX_LINES 512
#define T_MAX_ROLES 32
#define T_UNUSED __attribute__((unused))
#define MS 1000000LL

struct t_line {
	char text[600];
};

/* Shared by the processes of one scenario; a decoy has its own. */
struct t_shared {
	volatile uint32_t nlines;
	struct t_line lines[T_MAX_LINES];
	volatile int32_t tid[T_MAX_ROLES];
	char comm[T_MAX_ROLES][16];
	volatile int64_t i64[64]; /* the scenario's own */
	int fd[16];
	pthread_barrier_t start;
	pthread_mutex_t mutex[4];
	pthread_cond_t cond[4];
	pthread_barrier_t barrier;
};

struct t_span {
	int64_t t0, cpu0, delay0;
	int64_t t1, known, delay;
};

struct t_books {
	int64_t at, run, delay;
	long vol, invol, majflt;
};

static struct {
	struct t_shared *sh;
	const char *name;
	bool decoy;
	int64_t clock_shift; /* of a time namespace: what to take off CLOCK_MONOTONIC */
	pid_t decoys[4];
	int ndecoys;
} T;

static __thread uint64_t t_rng;
static __thread int t_role = -1;
static __thread int t_schedstat_fd = -1;
static __thread int t_schedstat_tid;
static __thread struct t_books t_books0;

static inline int T_gettid(void) { return (int)syscall(SYS_gettid); }

static T_UNUSED void T_die(const char *what)
{
	fprintf(stderr, "truth-%s: %s: %s\n", T.name, what, strerror(errno));
	exit(1);
}

#define T_TRY(x)                             \
	({                                   \
		__typeof__(x) t_r = (x);     \
		if ((long)t_r == -1)         \
			T_die(#x);           \
		t_r;                         \
	})

/* For machines that cannot run the scenario: check.py holds the reason against allowed-skips. */
static T_UNUSED void T_skip(const char *why)
{
	printf("{\"t\":\"skip\",\"why\":\"%s\"}\n", why);
	exit(77);
}

/* splitmix64 */
static uint64_t T_rand64(void)
{
	uint64_t z = (t_rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static T_UNUSED int64_t T_rand(int64_t lo, int64_t hi)
{
	return lo + (int64_t)(T_rand64() % (uint64_t)(hi - lo + 1));
}

static int64_t T_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int64_t T_now(void) { return T_clock(CLOCK_MONOTONIC) - T.clock_shift; }

static T_UNUSED struct timespec T_ts(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static T_UNUSED void T_sleep(int64_t ns)
{
	struct timespec ts = T_ts(ns);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* Computes for that much CPU time of the calling thread. */
static T_UNUSED void T_compute(int64_t ns)
{
	int64_t end = T_clock(CLOCK_THREAD_CPUTIME_ID) + ns;

	do {
		for (volatile int i = 0; i < 20000; i++)
			;
	} while (T_clock(CLOCK_THREAD_CPUTIME_ID) < end);
}

static T_UNUSED void T_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	T_TRY(sched_setaffinity(0, sizeof(set), &set));
}

static T_UNUSED void T_fifo(int prio)
{
	struct sched_param p = {.sched_priority = prio};

	T_TRY(sched_setscheduler(0, SCHED_FIFO, &p));
}

__attribute__((format(printf, 1, 2))) static void T_say(const char *fmt, ...)
{
	va_list ap;
	uint32_t i = __atomic_fetch_add(&T.sh->nlines, 1, __ATOMIC_SEQ_CST);

	if (i >= T_MAX_LINES)
		return;
	va_start(ap, fmt);
	vsnprintf(T.sh->lines[i].text, sizeof(T.sh->lines[i].text), fmt, ap);
	va_end(ap);
}

/* ---- the kernel's books ---- */

static int64_t T_run_delay(void)
{
	char b[96];
	int64_t run = 0, delay = 0;
	ssize_t n;

	if (t_schedstat_fd < 0 || t_schedstat_tid != T_gettid()) {
		t_schedstat_tid = T_gettid();
		t_schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	}
	n = pread(t_schedstat_fd, b, sizeof(b) - 1, 0);
	b[n > 0 ? n : 0] = 0;
	sscanf(b, "%" SCNd64 " %" SCNd64, &run, &delay);
	return delay;
}

static long T_proc_field(const char *file, const char *key, int nth)
{
	char b[4096], *p;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, b, sizeof(b) - 1);

	close(fd);
	b[n > 0 ? n : 0] = 0;
	p = key[0] == ')' ? strrchr(b, ')') : strstr(b, key);
	if (!p)
		return -1;
	p += strlen(key);
	while (nth--)
		p = strchr(p + 1, ' ');
	return strtol(p, NULL, 10);
}

/* The thread sleeps: what it is to be woken from has begun. */
static T_UNUSED bool T_asleep(int tid)
{
	char path[64], b[512], *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = T_TRY(open(path, O_RDONLY | O_CLOEXEC));
	ssize_t n = read(fd, b, sizeof(b) - 1);
	close(fd);
	b[n > 0 ? n : 0] = 0;
	p = strrchr(b, ')');
	return p && p[1] == ' ' && p[2] == 'S';
}

static void T_books(struct t_books *b)
{
	/* These files are read first: reading may block or be preempted, and that must be counted. The
	 * figures below come from one moment when no switch fell between the two looks at the delay. */
	for (int try = 0; try < 20; try++) {
		long vol;

		b->delay = T_run_delay();
		b->vol = T_proc_field("/proc/thread-self/status", "\nvoluntary_ctxt_switches:", 0);
		b->invol = T_proc_field("/proc/thread-self/status", "nonvoluntary_ctxt_switches:", 0);
		b->majflt = T_proc_field("/proc/thread-self/stat", ")", 9);
		b->run = T_clock(CLOCK_THREAD_CPUTIME_ID);
		b->at = T_now();
		vol = T_proc_field("/proc/thread-self/status", "\nvoluntary_ctxt_switches:", 0);
		if (vol == b->vol && T_run_delay() == b->delay &&
		    T_proc_field("/proc/thread-self/status", "nonvoluntary_ctxt_switches:", 0) == b->invol)
			break;
	}
}

/* ---- one thread's part ---- */

/* The calling thread becomes `role`: gets a name of its own and opens its books. */
static T_UNUSED void T_become(int role, const char *what)
{
	char comm[16];

	t_role = role;
	snprintf(comm, sizeof(comm), "%c%c%c-%.9s", (int)T_rand('a', 'z'), (int)T_rand('a', 'z'),
		 (int)T_rand('a', 'z'), what);
	prctl(PR_SET_NAME, comm);
	T.sh->tid[role] = T_gettid();
	memcpy(T.sh->comm[role], comm, sizeof(comm));
	T_say("{\"t\":\"thread\",\"tid\":%d,\"pid\":%d,\"role\":\"%s\",\"comm\":\"%s\"}", T_gettid(), (int)getpid(),
	      what, comm);
	T_books(&t_books0);
}

/* Closes the books: what the kernel says of this thread between T_become and now. `flags` are extra
 * JSON members for check.py, "" for none. */
static T_UNUSED void T_close_books(const char *flags)
{
	struct t_books b;

	T_books(&b);
	T_say("{\"t\":\"books\",\"tid\":%d,\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"run\":%" PRId64 ",\"delay\":%" PRId64
	      ",\"vol\":%ld,\"invol\":%ld,\"majflt\":%ld%s}", T_gettid(), t_books0.at, b.at, b.run - t_books0.run,
	      b.delay - t_books0.delay, b.vol - t_books0.vol, b.invol - t_books0.invol,
	      b.majflt - t_books0.majflt, flags);
}

/* Time, CPU time and run delay of one moment: no switch falls between the three. */
static void t_moment(int64_t *now, int64_t *cpu, int64_t *delay)
{
	int64_t d = T_run_delay();

	do {
		*delay = d;
		*cpu = T_clock(CLOCK_THREAD_CPUTIME_ID);
		*now = T_now();
		d = T_run_delay();
	} while (d != *delay);
}

static T_UNUSED void T_in(struct t_span *s)
{
	t_moment(&s->t0, &s->cpu0, &s->delay0);
}

static T_UNUSED void T_out(struct t_span *s)
{
	int64_t now, cpu, delay;

	s->t1 = T_now();
	t_moment(&now, &cpu, &delay);
	s->delay = delay - s->delay0;
	s->known = now - s->t0 - (cpu - s->cpu0) - s->delay;
}

/* The wait in s was for `cause` (alternatives joined by |), ended by the thread in role `waker` (-1:
 * none in particular) in one of the contexts `kinds`, in one of the calls `syscalls`; `hint` must stand
 * in its detail. Empty strings: anything. */
static T_UNUSED void T_wait(const struct t_span *s, const char *cause, const char *kinds, int waker,
			    const char *syscalls, const char *hint)
{
	T_say("{\"t\":\"wait\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"known\":%" PRId64
	      ",\"delay\":%" PRId64 ",\"cause\":\"%s\",\"kind\":\"%s\",\"waker\":%d,\"syscall\":\"%s\",\"hint\":\"%s\"}",
	      T_gettid(), s->t0, s->t1, s->known, s->delay, cause, kinds, waker < 0 ? 0 : T.sh->tid[waker], syscalls, hint);
}

/* While `waiter` waited in [start, end], `who` was in `state` (| alternatives) with `cause` for at
 * least `known` ns: the waiter's chain must say so. Called by the waker, of its own time. */
static T_UNUSED void T_chain(int waiter, int who, int64_t start, int64_t end, int64_t known, const char *state,
			     const char *cause)
{
	T_say("{\"t\":\"chain\",\"tid\":%d,\"who\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"known\":%" PRId64
	      ",\"state\":\"%s\",\"cause\":\"%s\"}", T.sh->tid[waiter], T.sh->tid[who], start, end, known, state, cause);
}

/* ---- several roles ---- */

struct t_part {
	const char *what;
	void (*run)(void);
	const char *books; /* extra members for T_close_books; NULL: none */
};

struct t_go {
	const struct t_part *part;
	int role;
	uint64_t rng;
};

static void t_play(const struct t_go *g)
{
	t_rng = g->rng;
	T_become(g->role, g->part->what);
	pthread_barrier_wait(&T.sh->start);
	g->part->run();
	T_close_books(g->part->books ? g->part->books : "");
}

static void *t_thread(void *arg)
{
	t_play(arg);
	return NULL;
}

enum t_mix { T_THREADS, T_PROCESSES, T_ANY };

/* Runs the parts side by side, one of them, drawn at random, in the calling thread. Part i is role i. */
static T_UNUSED void T_roles(const struct t_part *parts, int n, enum t_mix mix)
{
	struct t_go go[T_MAX_ROLES];
	pthread_t th[T_MAX_ROLES];
	pid_t pid[T_MAX_ROLES];
	int mine = (int)T_rand(0, n - 1);
	bool threads = mix == T_THREADS || (mix == T_ANY && T_rand(0, 1));
	pthread_barrierattr_t ba;

	pthread_barrierattr_init(&ba);
	pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&T.sh->start, &ba, (unsigned)n);
	for (int i = 0; i < n; i++) {
		go[i] = (struct t_go){&parts[i], i, T_rand64()};
		if (i == mine)
			continue;
		if (threads) {
			if (pthread_create(&th[i], NULL, t_thread, &go[i]))
				T_die("pthread_create");
			continue;
		}
		pid[i] = T_TRY(fork());
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			t_play(&go[i]);
			_exit(0);
		}
	}
	t_play(&go[mine]);
	for (int i = 0; i < n; i++) {
		if (i == mine)
			continue;
		if (threads)
			pthread_join(th[i], NULL);
		else
			waitpid(pid[i], NULL, 0);
	}
}

/* ---- begin and end ---- */

static T_UNUSED struct t_shared *t_share(void)
{
	struct t_shared *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE,
				   -1, 0);
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;

	if (sh == MAP_FAILED)
		T_die("mmap");
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	pthread_condattr_init(&ca);
	pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < 4; i++) {
		pthread_mutex_init(&sh->mutex[i], &ma);
		pthread_cond_init(&sh->cond[i], &ca);
	}
	return sh;
}

/* max_decoys processes at most (none when the scenario needs a CPU to itself) go through the same
 * code from here on; what they say is not printed and T_end ends them. */
static T_UNUSED void T_begin(int argc, char **argv, const char *name, int max_decoys)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)T_clock(CLOCK_REALTIME);

	T.name = name;
	t_rng = seed;
	printf("{\"t\":\"begin\",\"name\":\"%s\",\"seed\":%" PRIu64 "}\n", name, seed);
	fflush(stdout);
	T.ndecoys = max_decoys ? (int)T_rand(1, max_decoys) : 0;
	for (int i = 0; i < T.ndecoys; i++) {
		uint64_t rng = T_rand64();

		T.decoys[i] = T_TRY(fork());
		if (!T.decoys[i]) {
			setpgid(0, 0);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			T.decoy = true;
			T.ndecoys = 0;
			t_rng = rng;
			break;
		}
		setpgid(T.decoys[i], T.decoys[i]);
	}
	T.sh = t_share();
	signal(SIGPIPE, SIG_IGN);
	alarm(60);
}

static T_UNUSED int T_end(void)
{
	if (T.decoy)
		_exit(0);
	for (int i = 0; i < T.ndecoys; i++) {
		kill(-T.decoys[i], SIGKILL);
		waitpid(T.decoys[i], NULL, 0);
	}
	if (T.sh->nlines > T_MAX_LINES) {
		fprintf(stderr, "truth-%s: too many lines\n", T.name);
		return 1;
	}
	for (uint32_t i = 0; i < T.sh->nlines; i++)
		puts(T.sh->lines[i].text);
	printf("{\"t\":\"end\"}\n");
	return 0;
}

#endif
