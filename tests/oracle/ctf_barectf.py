#!/usr/bin/python3
"""Oracle: babeltrace2 2.0. A tracer that barectf generates (barectf.yaml), and a program that records with it
(barectf_write.c): `whywait events --json` gives the same events as babeltrace2 (ctf_judge.py says in what), and the
same number of discarded ones. TAP; skipped where barectf is not installed.
"""
import json, os, shutil, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ctf_judge
from ctf_judge import HERE, OLD, WHYWAIT, compare, done, report


def discarded(path):
    """As babeltrace2's messages say it."""
    code = '''import bt2, sys
print(sum(m.count or 0 for m in bt2.TraceCollectionMessageIterator(sys.argv[1]) if type(m) is bt2._DiscardedEventsMessageConst))'''
    return int(subprocess.run(OLD.python + ['-c', code, path], stdout=subprocess.PIPE, check=True, timeout=60).stdout)


if not OLD.works() or not shutil.which('barectf') or not shutil.which('cc'):
    print('1..0 # SKIP no barectf, python3-bt2 or compiler here')
    sys.exit(77)
ctf_judge.SLACK = 0
with tempfile.TemporaryDirectory() as tmp:
    trace = os.path.join(tmp, 'trace')
    os.mkdir(trace)
    subprocess.run(['barectf', 'generate', '-c', tmp, '-H', tmp, '-m', trace, os.path.join(HERE, 'barectf.yaml')],
                   check=True, timeout=60, env=dict(os.environ, PATH='/usr/bin:' + os.environ['PATH']))
    subprocess.run(['cc', '-w', '-I', tmp, '-o', tmp + '/write', os.path.join(HERE, 'barectf_write.c'), tmp + '/barectf.c'],
                   check=True, timeout=60)
    subprocess.run([tmp + '/write', trace], check=True, timeout=60)
    why = compare(trace, OLD)
    report(not why, 'same events as babeltrace2: barectf', why)
    info = json.loads(subprocess.run([WHYWAIT, 'info', '--json', trace], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, timeout=60).stdout)
    want = discarded(trace)
    report(want > 10 and info['lost'] == want, 'the same %d events were discarded' % want, 'lost: %d' % info['lost'])
    report(len(info['by_name']) == 4 and info['hosts'][0]['name'] == 'board' and 'barectf' in info['tracer'],
           'four kinds of events, who recorded them and where', json.dumps(info))
done()
