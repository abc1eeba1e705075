#!/usr/bin/python3
"""Oracle: truth.txt, which the traced workload wrote while it ran. On each trace.dat of that workload the report
says of every phase who waited for whom; what ftrace's events cannot tell (that descriptor 3 is a pipe) is
`unknown`, and never another cause. TAP; exit 77 without the traces."""
import glob, json, os, subprocess, sys

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHYWAIT = os.environ.get('WHYWAIT') or os.path.join(SRC, 'build/src/cmd/whywait')
TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')
# phase, role of who waits, role of whom it waits for (None: no thread), state, causes that are right, the call
TABLE = [
    ('sleep', 'sleeper', None, 'blocked', {'timer'}, {'nanosleep', 'clock_nanosleep'}),
    ('exec', 'parent', None, 'blocked', {'child'}, {'wait4'}),
    ('pipe', 'consumer', 'producer', 'blocked', {'pipe', 'unknown'}, {'read'}),
    ('fsync', 'writer', None, 'blocked', {'disk', 'unknown'}, {'fsync'}),
    ('poll', 'client', 'server', 'blocked', {'unix', 'unknown'}, {'poll'}),
    ('tcp', 'client', 'server', 'blocked', {'tcp', 'unknown'}, {'poll', 'read', 'recvfrom'}),
]
n = failed = 0


def ok(good, text, *detail):
    global n, failed
    n += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', n, text))
    for d in detail if not good else ():
        print('#  %s' % (d,))
    sys.stdout.flush()


def report(path, tid):
    p = subprocess.run([WHYWAIT, 'report', '--json', '--tid', str(tid), path], capture_output=True, text=True)
    return json.loads(p.stdout)


def judge(path, rows):
    name = os.path.basename(os.path.dirname(path))
    tids = {}
    for r in rows:
        tids.setdefault((r[0], r[1]), int(r[2]))
    for phase, role, other, state, causes, calls in TABLE:
        d = report(path, tids[phase, role])
        waits = [w for w in d['waits'] if w['syscall'] in calls]
        known = [r for r in rows if r[0] == phase and r[1] == role]
        what = '%s: %s %s' % (name, phase, role)
        ok(len(waits) >= min(3, len(known)), '%s waits in %s' % (what, '/'.join(sorted(calls))), d['waits'])
        wrong = [w for w in waits if w['cause'] not in causes]
        ok(not wrong, '%s waits for %s' % (what, '/'.join(sorted(causes))), wrong)
        if other and waits:
            longest = max(waits, key=lambda w: w['dur_ns'])
            by = longest['woken_by'] or {}
            # (over loopback it is the softirq that wakes; not every trace has the packets)
            ok(by.get('tid') == tids[phase, other],
               '%s is woken by the %s %d' % (what, other, tids[phase, other]), by)
        if phase == 'sleep':
            slept = sum(w['dur_ns'] for w in waits)
            true_ns = sum(int(r[4]) - int(r[3]) for r in known)
            ok(0.8 * true_ns < slept <= true_ns, '%s slept %.1f of %.1f ms' % (what, slept / 1e6, true_ns / 1e6))
    locks = {int(r[2]) for r in rows if r[1].startswith('wl-lock')}
    waits = [w for tid in locks for w in report(path, tid)['waits'] if w['cause'] == 'futex']
    by = {(w['woken_by'] or {}).get('tid') for w in waits}
    ok(waits and by <= locks, name + ': futex: who waits for the lock is woken by one who held it', by)
    spins = [int(r[2]) for r in rows if r[1].startswith('spin')]
    for tid, rival in zip(spins, reversed(spins)):
        rows_ = [b for b in report(path, tid)['breakdown'] if b['state'] == 'preempted']
        ns = sum(b['ns'] for b in rows_ if '(%d)' % rival in b['detail'])
        ok(ns > 30e6, '%s: preempt: %d waits 30 ms or more for %d, who has the CPU' % (name, tid, rival), ns, rows_)


files = [f for f in sorted(glob.glob(TRACES + '/tracecmd-*/trace.dat'))
         if os.path.exists(os.path.join(os.path.dirname(f), 'truth.txt'))]
if not files:
    print('no shared traces at ' + TRACES)
    sys.exit(77)
for f in files:
    lines = open(os.path.join(os.path.dirname(f), 'truth.txt')).read().splitlines()
    judge(f, [l.split('\t') for l in lines if not l.startswith('#')])
print('1..%d' % n)
sys.exit(1 if failed else 0)
