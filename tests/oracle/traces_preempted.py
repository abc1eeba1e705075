#!/usr/bin/python3
"""Oracle: babeltrace2, trace-cmd and perf, which print every switch with the priorities that both threads had then. In the
shared traces `sched --by=pairs` has a row of each preemptor, preempted thread and pair of priorities, as often as
switches say; its inversions are those in which the one that came was less urgent. TAP; exit 77 without the traces.

  traces_preempted.py [TRACE...]     WHYWAIT, WW_TRACES in the environment"""
import collections, json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, shared_traces

W = os.environ['WHYWAIT']
TRACES = ('single/trace', 'variants/lt-rotate', 'cluster3/web', 'cluster3/db', 'tracecmd-single/trace.dat', 'tracecmd-v7-none/trace.dat',
          'perf-sched/perf.data', 'perf-sched-syscalls/perf.data')
# What each prints of a switch, and what to add to a priority to have the kernel's.
BABELTRACE = (re.compile(r' sched_switch: .*prev_tid = (\d+), prev_prio = (-?\d+), prev_state = (\d+), .*next_tid = (\d+), next_prio = (-?\d+)'), 100)
TRACECMD = (re.compile(r' sched_switch: .*:(\d+) \[(\d+)\] (\S+) ==> .*:(\d+) \[(\d+)\]'), 0)
PERF = (re.compile(r' sched:sched_switch: .*prev_pid=(\d+) prev_prio=(\d+) prev_state=(\S+) ==> .*next_pid=(\d+) next_prio=(\d+)'), 0)


def switches(path):
    """(preemptor, its priority, preempted, its priority) of each switch from a thread that could have gone on."""
    if os.path.isdir(path):
        command, (line, add) = ['babeltrace2', path], BABELTRACE
    elif path.endswith('.dat'):
        command, (line, add) = ['trace-cmd', 'report', '-i', path], TRACECMD
    else:
        command, (line, add) = ['perf', 'script', '-i', path], PERF
    text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors='replace')
    for of, of_prio, state, by, by_prio in line.findall(text):
        runnable = state.startswith('R') if line is not BABELTRACE[0] else int(state) == 0 or int(state) & 0x100
        if int(of) and runnable:
            yield int(by), int(by_prio) + add, int(of), int(of_prio) + add


def main():
    tap = Tap()
    root, traces = shared_traces(TRACES)
    for path in traces:
        name = os.path.relpath(path, root)
        want = collections.Counter(switches(path))
        rows = json.loads(subprocess.run([W, 'sched', '--by=pairs', '--json', '-q', path], stdout=subprocess.PIPE).stdout)['rows']
        got = collections.Counter()
        for r in rows:
            got[r['by_tid'], r['by_prio'], r['of_tid'], r['of_prio']] += r['count']
        bad = ['switches %s, here %s' % (n, got.get(k, 0)) + ': %d at %d preempts %d at %d' % k for k, n in want.items() if got.get(k) != n]
        bad += ['%s: not in the switches' % (k,) for k in got if k not in want]
        tap.ok(len(want) > 10 and not bad, '%s: %d preemptions of %d kinds are those of the switches' % (name, sum(want.values()), len(want)), bad)
        inverted = sum(n for (by, by_prio, of, of_prio), n in want.items() if by_prio > of_prio)
        tap.ok(sum(r['inversions'] for r in rows) == inverted, '%s: %d of them by a less urgent one' % (name, inverted),
               [r for r in rows if r['inversions']])
    return tap.end()


sys.exit(main())
