#!/usr/bin/python3
"""Oracle: babeltrace2 2.1 of Debian 13 (tests/tools/later-bt2), through its Python bindings. On a CTF 2 trace that
LTTng-UST 2.16 recorded, and on traces that ctf_gen.py makes at random, as CTF 1.8, the same ones as CTF 2, and CTF 2
with all that only it has, `whywait events --json` gives the same events (ctf_judge.py says in what). Where 2.1 cannot be had Debian 12's 2.0 judges CTF 1.8, and CTF 2 is
skipped loudly. TAP.

babeltrace2 is no judge of lengths and tags in an event's own context in TSDL, of time stamps of variable length and of
blobs of 0 bytes (ctf_gen.py says why); unit/format_ctf2.c has them.
"""
import os, shutil, sys, tarfile, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ctf_gen, ctf_judge
from ctf_judge import NEW, OLD, SRC, compare, done, report, skip

RANDOM = int(os.environ.get('WW_CTF_RANDOM', '200'))


def random_traces(by, n, what, **how):
    """n traces that babeltrace2 can read: same events."""
    good = bad = crashed = seed = 0
    while good + bad < n and crashed <= n // 10:
        seed += 1
        d = tempfile.mkdtemp(prefix='ctf-')
        ctf_gen.make(d, seed, **how)
        try:
            why = compare(d, by)
        except ctf_judge.Crashed:
            crashed += 1
            shutil.rmtree(d)
            continue
        except Exception as e:
            why = '%s: %s' % (type(e).__name__, e)
        if why:
            bad += 1
            report(False, 'random trace %d, %s' % (seed, what), why)
            if os.environ.get('WW_KEEP'):
                print('# kept in ' + d)
                continue
        good += not why
        shutil.rmtree(d)
    report(good >= n, '%d of %d random traces: same events as babeltrace2: %s' % (good, n, what),
           '%d differ; babeltrace2 died of %d' % (bad, crashed))
    if crashed:
        print('# babeltrace2 died of %d' % crashed)


def recorded(name):
    d = tempfile.mkdtemp(prefix='ctf-')
    with tarfile.open(os.path.join(SRC, 'tests/data', name + '.tar.gz')) as t:
        t.extractall(d)
    why = compare(os.path.join(d, name), NEW)
    report(not why, 'same events as babeltrace2: ' + name, why)
    shutil.rmtree(d)


has_new = NEW.works()
if not has_new and not OLD.works():
    print('1..0 # SKIP babeltrace2 has no Python bindings here')
    sys.exit(77)
ctf_judge.SLACK = 16  # of clocks that do not count ns: babeltrace2 computes with doubles
random_traces(NEW if has_new else OLD, RANDOM, 'CTF 1.8')
if has_new:
    recorded('lttng-ust-2.16.ctf2')
    random_traces(NEW, RANDOM // 4, 'CTF 2, the same types', version=2)
    random_traces(NEW, RANDOM, 'CTF 2, all types', version=2, more=True)
else:
    skip('CTF 2', "Debian 13's babeltrace2 cannot be had")
done()
