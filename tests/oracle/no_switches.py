#!/usr/bin/python3
"""Recordings without sched_switch: the figures that need none are answered. Oracle: perf script's samples of the same file
(each names its thread), followed here; perf trace -s for the calls of the program."""
import collections, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
tap = Tap()
# Two processes that call at the same time, so that events of both alternate on a CPU.
WORK = 'for i in 1 2; do (dd if=/dev/zero of=/dev/null bs=1 count=3000 2>/dev/null; sleep 0.05; getent passwd root >/dev/null) & done; wait'
ENTER = re.compile(r'^\s*(\d+)\s+(\d+)\.(\d{9}):\s+raw_syscalls:sys_(enter|exit): NR (-?\d+)')


def run(*cmd):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)


def followed(path):
    """{(tid, number): [calls, ns]}, of calls with both ends."""
    r, begun = collections.defaultdict(lambda: [0, 0]), {}
    for line in run('perf', 'script', '-i', path, '--ns', '-F', 'tid,time,event,trace').stdout.splitlines():
        m = ENTER.match(line)
        if not m:
            continue
        tid, ns, nr = int(m[1]), int(m[2]) * 10**9 + int(m[3]), int(m[5])
        if m[4] == 'enter':
            begun[tid] = (nr, ns)
        elif tid in begun and nr in (begun[tid][0], -1):    # -1: what rt_sigreturn leaves where the number was
            nr, at = begun.pop(tid)
            r[tid, nr][0] += 1
            r[tid, nr][1] += ns - at
    return dict(r)


with tempfile.TemporaryDirectory(dir='/var/tmp', prefix='whywait-noswitch-') as d:
    path = d + '/perf.data'
    p = run('perf', 'record', '-q', '-m', '4M', '-e', 'raw_syscalls:sys_enter,raw_syscalls:sys_exit', '-o', path, 'sh', '-c', WORK)
    tap.ok(p.returncode == 0, 'perf records', p.stderr)
    want = followed(path)
    sql = run(W, 'sql', '--json', '-q', path, 'select tid, number, count(*) n, sum(syscall.dur) ns from syscall join thread using(utid) '
              'where syscall.dur is not null and known & 1 group by 1, 2')
    got = {(r['tid'], r['number']): [r['n'], r['ns']] for r in json.loads(sql.stdout)['rows']}
    tap.ok(sum(v[0] for v in want.values()) > 10000 and len({t for t, _ in want}) > 3, 'there are calls of several threads')
    tap.none(['%s: perf %s, here %s' % (k, want.get(k), got.get(k)) for k in sorted(set(want) | set(got)) if want.get(k) != got.get(k)],
             'calls and their time, by thread and number, are those of the samples')
    p = run(W, 'syscalls', '--all', '--json', '--top=0', path)
    rows = {r['name']: r for r in json.loads(p.stdout)['rows']}
    tap.ok(p.returncode == 0 and 'switches' in p.stderr, 'syscalls: says that switches are not recorded', p.stderr)
    tap.ok(rows['write']['count'] >= 6000 and rows['write']['blocked_ns'] is None, 'syscalls: counts, and knows of no blocked time', rows.get('write'))
    theirs = collections.Counter()
    for m in re.finditer(r'^\s+(\w+)\s+(\d+)\s+\d+\s+[\d.]+', run('perf', 'trace', '-s', '-i', path).stderr + run('perf', 'trace', '-s', '-i', path).stdout, re.M):
        theirs[m[1]] += int(m[2])
    tap.ok(theirs['write'] == rows['write']['count'] and theirs['read'] == rows['read']['count'],
           "reads and writes are as many as perf trace -s's", (theirs['write'], theirs['read'], rows['write'], rows['read']))
    for cmd in ('usage', 'sched', 'locks'):
        p = run(W, cmd, '--json', path)
        tap.ok(p.returncode == 3 and not json.loads(p.stdout)['rows'] and 'switches' in p.stderr, cmd + ': nobody can say', p.stderr)
    p = run(W, 'threads', '--all', '--json', path)
    tap.none([r for r in json.loads(p.stdout)['rows'] if r['running_ns'] or r['blocked_ns'] or r['ready_ns']], 'threads: all is unknown')
    tap.ok(p.returncode == 3, 'threads: nobody can say')
    for cmd in ('report', 'tree', 'path'):
        p = run(W, cmd, path)
        tap.ok(p.returncode == 1 and 'no sched_switch' in p.stderr, cmd + ': is refused', p.stderr)
sys.exit(tap.end())
