#!/usr/bin/python3
"""perf's records of tasks: each thread is of the process, has the parent and begins when perf script says; one that
was born before the first sample has been there since the trace's begin, which that is.

Judge: `perf script --show-task-events`. Of the shared perf.data files, and where perf may record here of a program
with threads in two processes, with and without the event sched_process_fork beside perf's own records. TAP."""
import collections, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W, ROOT = os.environ['WHYWAIT'], os.environ.get('WW_TRACES', '')
FILES = ['perf-mono/perf.data', 'perf-sched/perf.data', 'perf-sched-syscalls/perf.data'] + [
    'variants/perf-%s.data' % n for n in ('pipe', 'stack', 'zstd')]
PROGRAM = '''
import os, threading, time
def work():
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
    time.sleep(0.01)
child = os.fork()
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
if child:
    os.waitpid(child, 0)
    print(os.getpid(), child)
'''
RECORD = re.compile(r'\[\d+\] +(\d+)\.(\d{9}): PERF_RECORD_(FORK|COMM)(?:\((\d+):(\d+)\):\((\d+):(\d+)\)| ?(?:exec)?: .*:(\d+)/(\d+))')
SAMPLE = re.compile(r'\[\d+\] +(\d+)\.(\d{9}):(?! *PERF_RECORD)')
tap = Tap()


def out(*cmd):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=120).stdout.decode(errors='replace')


def told(path):
    """tid: its process; tid: when and by whom it was forked, each time; the time of the first sample."""
    process, forks, first = {}, collections.defaultdict(list), None
    for line in out('perf', 'script', '-i', path, '--ns', '--show-task-events').splitlines():
        m = RECORD.search(line)
        s = SAMPLE.search(line) if not m else None
        if s and (first is None or int(s.group(1) + s.group(2)) < first):
            first = int(s.group(1) + s.group(2))
        if not m:
            continue
        ts = int(m.group(1)) * 10**9 + int(m.group(2))
        pid, tid = int(m.group(4) or m.group(8)), int(m.group(5) or m.group(9))
        process[tid] = pid
        if m.group(3) == 'FORK' and ts:
            forks[tid].append((ts, int(m.group(7))))
    return process, forks, first


def judge(name, path):
    process, forks, first = told(path)
    rows = json.loads(out(W, 'sql', '--json', '-q', path, 'SELECT c.tid, c.pid, c.start_ts, p.tid AS parent, c.flags FROM thread c '
                          'LEFT JOIN thread p ON p.utid = c.parent_utid WHERE c.tid > 0 ORDER BY c.start_ts'))['rows']
    bad = [r for r in rows if r['tid'] in process and r['pid'] != process[r['tid']]]
    tap.ok(len(rows) >= len(process) > 20 and not bad, '%s: of %d threads the process' % (name, len(process)), bad)
    bad, offset = [], json.loads(out(W, 'info', '--json', '-q', path))['clock']['offset_ns']    # of SQL's times
    for tid, want in forks.items():
        want = [(max(ts, first), parent) for ts, parent in want]
        got = [(r['start_ts'] - offset, r['parent']) for r in rows if r['tid'] == tid and r['parent']]
        if got != want:
            bad.append('%d: perf %s, ours %s' % (tid, want, got))
    tap.ok(forks and not bad, '%s: when %d threads began, and by whom' % (name, len(forks)), bad)


def live(tmp, name, events):
    path, program = os.path.join(tmp, 'perf.data'), os.path.join(tmp, 'program.py')
    with open(program, 'w') as f:
        f.write(PROGRAM)
    pids = [int(x) for x in out('perf', 'record', '-q', '-a', '-e', events, '-o', path, '--', sys.executable, program).split()]
    judge(name, path)
    got = {r['pid']: r for r in json.loads(out(W, 'usage', '--by=process', '--json', '-q', path))['rows']}
    tap.ok(len(pids) == 2 and all(got.get(p, {}).get('threads') == 4 for p in pids), '%s: two processes of four threads' % name,
           [got.get(p) for p in pids])


for f in FILES:
    if ROOT and os.path.exists(os.path.join(ROOT, f)):
        judge(f, os.path.join(ROOT, f))
    else:
        tap.note('not there: %s' % f)
with tempfile.TemporaryDirectory() as tmp:
    if os.geteuid() == 0:
        live(tmp, 'live', 'sched:sched_switch')
        live(tmp, 'live, with the event', 'sched:sched_switch,sched:sched_wakeup,sched:sched_process_fork')
    else:
        tap.note('not root: nothing recorded')
sys.exit(tap.end())
