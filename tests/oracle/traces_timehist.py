#!/usr/bin/python3
"""Oracle: perf sched timehist. On the perf.data files of the shared traces, `sched` and `usage` have the same runs, time on
a CPU and delay from wakeup to run for each thread, and `sched --by=histogram` its delays. Not compared are: the time of a thread with a run whose begin
perf did not see (it prints 0.000, or all since the last switch on that CPU, though that went to another); the delay of one that was preempted, or was woken while it still ran (perf
prints a wait and no delay), which perf leaves out of its delays. TAP; exit 77 where the traces or perf are absent."""
import collections, glob, json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')
files = sorted(glob.glob(os.path.join(TRACES, 'perf-sched*', 'perf.data')))
if not files:
    print('no perf.data of perf sched record in %s' % TRACES)
    sys.exit(77)
LINE = re.compile(r'^ *\d+\.\d+ +\[\d+\] +(.*?)\[(\d+)(?:/\d+)?\] +([\d.]+) +([\d.]+) +([\d.]+)')
SWITCH = re.compile(r'\[(\d+)\].*prev_pid=(\d+) .*next_pid=(\d+)')


def came_unseen(path):
    """Threads that left a CPU to which the last switch there had not brought them."""
    p = subprocess.run(['perf', 'script', '-i', path, '-F', 'cpu,event,trace'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    on, unseen = {}, set()
    for m in map(SWITCH.search, p.stdout.decode(errors='replace').splitlines()):
        if m:
            cpu, prev, nxt = map(int, m.groups())
            if on.get(cpu, prev) != prev:
                unseen.add(prev)
            on[cpu] = nxt
    return unseen


tap = Tap()
for path in files:
    unseen = came_unseen(path)
    p = subprocess.run(['perf', 'sched', 'timehist', '-i', path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    theirs, delays = {}, {}
    for line in p.stdout.decode(errors='replace').splitlines():
        m = LINE.match(line)
        if m:
            t = theirs.setdefault(int(m.group(2)), [0, 0.0, 0.0, True, True])
            delays.setdefault(int(m.group(2)), []).append(round(float(m.group(4)) * 1000))
            t[0] += 1
            t[3] &= m.group(5) != '0.000'
            t[4] &= m.group(3) == '0.000' or m.group(4) != '0.000'
            t[1] += float(m.group(5)) * 1e6
            t[2] += float(m.group(4)) * 1e6
    ours = {r['tid']: r for r in json.loads(subprocess.run([W, 'sched', '--json', '-q', path], stdout=subprocess.PIPE).stdout)['rows']}
    usage = {r['tid']: r['cpu_ns'] for r in json.loads(subprocess.run([W, 'usage', '--json', '-q', path], stdout=subprocess.PIPE).stdout)['rows']}
    bad, compared, full = [], 0, []
    for tid, (runs, run_ns, delay_ns, time_known, delay_known) in sorted(theirs.items()):
        r = ours.get(tid)
        time_known &= tid not in unseen
        # A run that goes on at the end is not among perf's; one whose begin was hidden is not among ours.
        if not r or (time_known and abs(r['runs'] - runs) > 1):
            bad.append('%d: perf %d runs, here %s' % (tid, runs, r and r['runs']))
            continue
        slack = 1000 * (runs + 2)       # perf prints whole microseconds
        if time_known and r['runs'] == runs and abs(r['running_ns'] - run_ns) > slack:
            bad.append('%d: on a CPU: perf %.0f ns, here %d' % (tid, run_ns, r['running_ns']))
        if usage.get(tid) != r['running_ns']:
            bad.append('%d: usage %s, sched %d' % (tid, usage.get(tid), r['running_ns']))
        if delay_known and r['runs'] == runs and not r['preempted'] and abs(r['delay_ns'] - delay_ns) > slack:
            bad.append('%d: delay: perf %.0f ns, here %d' % (tid, delay_ns, r['delay_ns']))
        if delay_known and r['runs'] == runs and not r['preempted']:
            full.append(tid)
        compared += time_known and delay_known and r['runs'] == runs and not r['preempted']
    tap.ok(not bad and compared > 10, '%s: %d threads, %d of them in full' % (os.path.relpath(path, TRACES), len(theirs), compared), bad)
    bad, n = [], 0
    for tid in full:    # perf cuts to whole microseconds, as the buckets do; it prints no delay as 0
        got = {r['from_ns']: r['count'] for r in json.loads(subprocess.run(
            [W, 'sched', '--by=histogram', '--tid', str(tid), '--json', '-q', path], stdout=subprocess.PIPE).stdout)['rows']
            if r['from_ns'] and r['count']}
        want = collections.Counter(1000 << d.bit_length() - 1 for d in delays[tid] if d)
        n += sum(want.values())
        if got != want:
            bad.append('%d: perf %s, here %s' % (tid, dict(want), got))
    tap.ok(not bad and n > 50, '%s: the histograms of %d threads have their %d delays' % (os.path.relpath(path, TRACES), len(full), n), bad)
sys.exit(tap.end())
