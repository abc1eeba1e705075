#!/usr/bin/python3
"""Oracle: babeltrace2 2.0, through its Python bindings (Debian's python3-bt2). On every CTF trace of the shared traces
`whywait events --json` gives the same events: the same number, each stream's in the same order, with the same time
stamp, CPU, name, contexts and every field's value; and by time across streams. TAP; skipped loudly when the traces
or the bindings are absent.
"""
import glob, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ctf_judge import OLD, TRACES, compare, done, report, skip

if not OLD.works():
    print('1..0 # SKIP python3-bt2 is not installed')
    sys.exit(77)
found = [d for d in sorted(glob.glob(os.path.join(TRACES, '*')) + glob.glob(os.path.join(TRACES, 'cluster3/*')) +
                           glob.glob(os.path.join(TRACES, 'variants/*')))
         if os.path.basename(d) not in ('cluster3', 'variants') and os.path.isdir(d) and
         glob.glob(os.path.join(d, '**/metadata'), recursive=True)]
for d in found:
    try:
        why = compare(d, OLD)
    except Exception as e:  # a reader that gives up is a failure, not a skip
        why = '%s: %s' % (type(e).__name__, e)
    report(not why, 'same events as babeltrace2: ' + os.path.relpath(d, TRACES), why)
if not found:
    skip('shared traces', 'no traces in ' + TRACES)
done()
