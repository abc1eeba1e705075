#!/usr/bin/python3
"""window.py WHYWAIT TRACE [RUNS]: how long whole commands take that draw 1920 slices of a trace from its facts file.

Of the whole trace, and of its middle thousandth: slices of the thread with most states, as text, JSON and SQL; of the CPUs,
the same; the chart with its table. Beside them what starting and opening alone cost. Wall and CPU time, least and median,
with the cache warm; the goal: less than 50 ms. A trace of 100 million states is made of a small one by ctf-grow.py; its
facts are made here first, which takes minutes. A machine that others use makes wall times long: run it as nice -n -20."""
import json, os, statistics, subprocess, sys, time

SLICES, GOAL_MS = 1920, 50


def out(cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, check=False).stdout


def measure(what, cmd, runs):
    wall, cpu = [], []
    for _ in range(runs):
        t = time.monotonic()
        p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, r = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        wall.append((time.monotonic() - t) * 1e3)
        cpu.append((r.ru_utime + r.ru_stime) * 1e3)
        if p.returncode not in (0, 3):
            raise SystemExit('%s: exit %d' % (' '.join(cmd), p.returncode))
    print('%-44s wall %6.1f %6.1f ms   CPU %6.1f %6.1f ms%s' % (
        what, min(wall), statistics.median(wall), min(cpu), statistics.median(cpu), '' if min(wall) < GOAL_MS else '   *'), flush=True)


def main():
    w, trace, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 15
    sql = lambda text: ([w, 'sql', '-q', trace, text], json.loads(out([w, 'sql', '-q', '--json', trace, text])))
    out([w, 'usage', '-q', '--top=1', trace])
    _, most = sql('SELECT tid, n FROM (SELECT utid, count(*) n FROM state GROUP BY utid ORDER BY n DESC LIMIT 1) JOIN thread USING (utid)')
    _, span = sql('SELECT start_ts, end_ts, (SELECT max(id) + 1 FROM state) AS n FROM trace_bounds')
    tid, length, states = most['rows'][0]['tid'], span['rows'][0]['end_ts'] - span['rows'][0]['start_ts'], span['rows'][0]['n']
    print('%d states; thread %d has %d of them; least and median of %d runs' % (states, tid, most['rows'][0]['n'], runs))
    measure('starting (--version)', [w, '--version'], runs)
    measure("opening (sql 'SELECT 1')", [w, 'sql', '-q', trace, 'SELECT 1'], runs)
    for name, part, range_ in (('all', length, []), ('a thousandth', length // 1000,
                               ['--from', '+%.9fs' % (length / 2e9), '--to', '+%.9fs' % ((length / 2 + length / 1000) / 1e9)])):
        every = str(max(part // SLICES, 1))
        thread = ['threads', '-q', '--by=time', '--tid', str(tid), '--every', every + 'ns'] + range_
        cpus = ['usage', '-q', '--by=time', '--every', every + 'ns'] + range_
        for c in (thread, cpus):
            measure('%s: %s --by=time' % (name, c[0]), [w] + c + [trace], runs)
            measure('%s: %s --by=time --json' % (name, c[0]), [w] + c + ['--json', trace], runs)
        measure('%s: usage --width=%d, chart and table' % (name, SLICES), [w, 'usage', '-q', '--width=%d' % SLICES] + range_ + [trace], runs)
    every = str(length // SLICES)
    measure('all: threads_time in SQL', sql('SELECT ts_ns, state FROM threads_time WHERE for_tid = %d AND every = %s' % (tid, every))[0], runs)
    measure('all: usage_time in SQL', sql('SELECT ts_ns, cpu, busy_ns FROM usage_time WHERE every = %s' % every)[0], runs)
    print('load %s; * the goal of %d ms is missed by the least' % (open('/proc/loadavg').read().split()[0], GOAL_MS))


main()
