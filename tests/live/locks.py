#!/usr/bin/python3
"""Who had the lock, of threads that fight for mutexes: the program writes down when each thread asked for a mutex, had it
and gave it up, and `locks` must name the one that had it for most of each waiter's time, who is often not the one that
woke it. And waits that do not end by an unlock: a timeout, a deadlock that the end of the process ends.

TAP; exit 77 where nothing can be recorded."""
import collections, json, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
PROGRAM = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
enum { N = 4, TRIES = 4000 };
static pthread_mutex_t locks[N], held;
static pthread_barrier_t all;
static struct { long lock, tid, asked, had, gave; } tries[N][TRIES];
static int ntries[N];
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static void away(long ns) { struct timespec t = {0, ns}; nanosleep(&t, NULL); }
static void *fight(void *p)
{
	const long me = (long)p;
	unsigned seed = me + 1;
	for (int k = 0; k < N; k++) {	/* on lock k it is thread k that has it for long */
		const long hold = 500000L << (N - 1 - (me + N - k) % N);
		pthread_barrier_wait(&all);
		for (long end = now() + 400000000; now() < end && ntries[me] < TRIES;) {
			long asked = now(), had;
			pthread_mutex_lock(&locks[k]);
			had = now();
			if (rand_r(&seed) % 2) away(hold); else while (now() < had + hold);
			long gave = now();
			pthread_mutex_unlock(&locks[k]);
			tries[me][ntries[me]].lock = (long)&locks[k], tries[me][ntries[me]].tid = syscall(SYS_gettid);
			tries[me][ntries[me]].asked = asked, tries[me][ntries[me]].had = had, tries[me][ntries[me]++].gave = gave;
			if (rand_r(&seed) % 3) away(rand_r(&seed) % 2000000); /* else it takes it again at once, if it can */
		}
	}
	return NULL;
}
static void *in_time(void *p)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 50000000;
	if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
	printf("timed %ld %ld %d\n", syscall(SYS_gettid), (long)getpid(), pthread_mutex_timedlock(&held, &t));
	return NULL;
}
static void *for_ever(void *p)
{
	printf("ever %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	pthread_mutex_lock(&held);
	return NULL;
}
int main(void)
{
	pthread_t t[N];
	pthread_barrier_init(&all, NULL, N);
	for (long i = 0; i < N; i++) pthread_create(&t[i], NULL, fight, (void *)i);
	for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < ntries[i]; k++)
			printf("try %ld %ld %ld %ld %ld\n", tries[i][k].lock, tries[i][k].tid, tries[i][k].asked, tries[i][k].had, tries[i][k].gave);
	pthread_mutex_lock(&held);
	pthread_create(&t[0], NULL, in_time, NULL);
	pthread_join(t[0], NULL);
	pthread_mutex_unlock(&held);
	pthread_mutex_lock(&held);
	pthread_create(&t[0], NULL, for_ever, NULL);
	away(100000000);
	return 0;
}
'''


def owners(tries):
    """{(lock, waiter): {owner: ns of the waits}}"""
    out = collections.defaultdict(collections.Counter)
    by_lock = collections.defaultdict(list)
    for t in tries:
        by_lock[t[0]].append(t)
    for lock, some in by_lock.items():
        for _, waiter, asked, had, _ in some:
            for _, owner, _, begin, end in some:
                if owner != waiter and begin < had and end > asked:
                    out[lock, waiter][owner] += min(end, had) - max(begin, asked)
    return out


def tid(name):
    return int(name.rsplit('(', 1)[1].rstrip(')')) if '(' in name else None


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as tmp:
        source, program, trace = (os.path.join(tmp, x) for x in ('fight.c', 'fight', 'trace'))
        open(source, 'w').write(PROGRAM)
        subprocess.run(['gcc', '-O1', '-w', '-o', program, source, '-pthread'], check=True)
        p = subprocess.run([W, 'record', '-q', '-o', trace, '--', program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if not os.path.exists(os.path.join(trace, 'metadata')):
            print('nothing can be recorded here: ' + p.stderr.decode().replace('\n', ' '))
            return 77
        said = [l.split() for l in p.stdout.decode().splitlines()]
        rows, every = (json.loads(subprocess.run([W, 'locks', '--json', '-q', trace, *more], stdout=subprocess.PIPE).stdout)['rows']
                       for more in ([], ['--all']))
    found = {(int(r['object'], 16), tid(r['waiter'])): r for r in rows if r['kind'] == 'futex' and r['object']}
    judged, bad = 0, []
    for key, ns in owners([tuple(map(int, l[1:])) for l in said if l[0] == 'try']).items():
        most = ns.most_common(2)
        if most[0][1] < 30e6 or (len(most) > 1 and most[0][1] < 1.25 * most[1][1]):
            continue    # two had it for about as long
        judged += 1
        r = found.get(key)
        if not r or tid(r['holder']) != most[0][0]:
            bad.append((key, dict(ns), r))
    tap.ok(judged >= 6 and not bad, 'of %d waiters of four mutexes it is known who had the mutex for most of their time' % judged, bad)
    fought = [r for key, r in found.items() if key[0] in {int(l[1]) for l in said if l[0] == 'try'}]
    others = [r for r in rows if r not in fought and r['waits_for'] == 'event']    # the barrier, and main, that waits for its threads
    tap.ok(fought and others and all(r['waits_for'] == 'lock' for r in fought), 'the mutexes are locks, the barrier and the threads\' ends are not', (fought, others))
    order = [r['waits_for'] for r in every]
    tap.ok(order == sorted(order, reverse=True), 'of everybody, the locks come first', order)
    timed = [l for l in said if l[0] == 'timed'][0]
    r = [r for r in rows if tid(r['waiter']) == int(timed[1])]
    tap.ok(timed[3] == '110' and len(r) == 1 and r[0]['timed_out'] == 1 and 45e6 < r[0]['total_ns'] < 90e6 and
           tid(r[0]['holder']) == int(timed[2]), 'a lock that was not had in time, and who had it', r)
    ever = [int(l[1]) for l in said if l[0] == 'ever'][0]
    r = [r for r in rows if tid(r['waiter']) == ever]
    tap.ok(len(r) == 1 and r[0]['interrupted'] + r[0]['unfinished'] == 1 and r[0]['total_ns'] > 50e6,
           'a lock that nobody gives up, until the process ends', r)
    return tap.end()


sys.exit(main())
