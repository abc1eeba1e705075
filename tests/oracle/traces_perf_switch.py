#!/usr/bin/python3
"""Oracle: perf script --show-switch-events. In a perf.data that tells of switches by its own records only
(perf record -a --switch-events), `threads` has the same time on a CPU and number of waits for each thread. TAP; exit 77
where the traces or perf are absent."""
import collections, json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')
path = os.path.join(TRACES, 'variants', 'perf-switch.data')
if not os.path.exists(path):
    print('no %s' % path)
    sys.exit(77)
LINE = re.compile(r'(-?\d+) \[(\d+)\] +(\d+)\.(\d{9}): PERF_RECORD_(?:SWITCH_CPU_WIDE OUT( preempt)? +next pid/tid: +-?\d+/(-?\d+)|EXIT\()')

on, ran, waits, unseen, exited = {}, collections.Counter(), collections.Counter(), set(), set()
p = subprocess.run(['perf', 'script', '--ns', '--show-switch-events', '--show-task-events', '-i', path], stdout=subprocess.PIPE,
                   stderr=subprocess.DEVNULL)
for m in map(LINE.search, p.stdout.decode(errors='replace').splitlines()):
    if not m:
        continue
    tid, cpu, now, next_tid = int(m[1]), m[2], int(m[3]) * 10**9 + int(m[4]), m[6]
    if next_tid is None:
        exited.add(tid)
        continue
    if cpu in on:
        came, since = on[cpu]   # who has exited may have no number any more
        ran[came] += now - since
        waits[came] += came not in exited and not m[5]
    else:
        unseen.add(tid)         # when it came is not told
    on[cpu] = int(next_tid), now
unseen |= {tid for tid, _ in on.values()}   # nor when the last ones go

p = subprocess.run([W, 'threads', '--json', '-q', '--all', '--no-cache', path], stdout=subprocess.PIPE)
rows = json.loads(p.stdout)['rows'] if p.stdout else []
ours = {r['tid']: r for r in rows}
tap = Tap()
compared = sorted(t for t in ran if t and t not in unseen)
tap.ok(len(compared) > 20, 'threads to compare', len(compared))
far = {t: (ran[t], t in ours and ours[t]['running_ns']) for t in compared if t not in ours or ran[t] != ours[t]['running_ns']}
tap.ok(not far, 'the same time on a CPU', far)
other = {t: (waits[t], ours[t]['waits']) for t in compared if t in ours and waits[t] != ours[t]['waits']}
tap.ok(not other, 'the same number of waits', other)
p = subprocess.run([W, 'report', '--json', '-q', '--no-cache', path], stdout=subprocess.PIPE)
report = json.loads(p.stdout) if p.stdout else None
tap.ok(report and report['waits'] and {w['cause'] for w in report['waits']} == {'unknown'}, 'a report, that guesses no cause')
sys.exit(tap.end())
