#!/usr/bin/python3
"""Small rings lose nothing of a program whose events come at some 20 MB a second, in bursts with pauses between them: the
recorder looks at a small ring more often. TAP; exit 77 where nothing can be recorded."""
import json, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
BURSTS, CALLS, PAUSE_S = 80, 2000, 0.0035 # some 36 bytes a call
PROGRAM = '''
import os, time
for _ in range(%d):
    for i in range(%d):
        try:
            os.lseek(-1, i, 0)
        except OSError:
            pass
    time.sleep(%f)
''' % (BURSTS, CALLS, PAUSE_S)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(dir='/var/tmp', prefix='whywait-small-') as work:
        for ring in ('256K', '512K'):
            trace = os.path.join(work, ring)
            r = subprocess.run([W, 'record', '-q', '--as-root', '--ring=' + ring, '-o', trace, '--', sys.executable, '-c', PROGRAM],
                               stderr=subprocess.PIPE)
            if r.returncode not in (0, 3):
                print('cannot record: %s' % r.stderr.decode().strip())
                sys.exit(77)
            info = json.loads(subprocess.run([W, 'info', '--json', trace], stdout=subprocess.PIPE).stdout)
            tap.ok(info['lost'] < 10 and info['events'] > 2 * BURSTS * CALLS, 'a ring of %s: %d events, %d lost' % (
                ring, info['events'], info['lost']), r.stderr.decode())
    return tap.end()


sys.exit(main())
