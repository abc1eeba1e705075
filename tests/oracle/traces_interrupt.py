#!/usr/bin/python3
"""Ctrl-C ends a long query and a long analysis at once, and whenever it comes, the facts that are kept are whole.

  traces_interrupt.py [TRACE]     WHYWAIT, WW_TRACES in the environment

The oracle is the program without its cache. TAP."""
import os, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
TIMES = 24
tap = Tap()


def start(*args):
    # Where the tests run in the background of a script SIGINT is ignored, and would stay so.
    return subprocess.Popen([W, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def answer(*args):
    p = start(*args)
    out, err = p.communicate(timeout=120)
    return p.returncode, out, err


def main():
    source = sys.argv[1] if sys.argv[1:] else os.path.join(os.environ.get('WW_TRACES', ''), 'single/trace')
    if not os.path.isdir(source):
        print('no trace %s: set WW_TRACES' % source)
        return 77
    with tempfile.TemporaryDirectory(dir='/var/tmp') as tmp:
        trace = os.path.join(tmp, 'trace')
        shutil.copytree(source, trace)
        subprocess.run(['chmod', '-R', 'u+w', trace], check=True)
        for what, query in (('rows of facts', 'SELECT sum(a.dur * b.dur) FROM state a, state b, state c'),
                            ('SQLite\'s own rows', 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n')):
            p = start('sql', '-q', '--no-cache', trace, query)
            time.sleep(1.5)
            alive = p.poll() is None
            begin = time.monotonic()
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=60)
            took = time.monotonic() - begin
            tap.ok(alive and p.returncode == -signal.SIGINT and took < 1,
                   'a query over %s ends at once, by the signal (130 in a shell)' % what, (alive, p.returncode, took))
        want = answer('usage', '--json', '-q', '--no-cache', trace)[:2]
        kept, ended, bad, whole = os.path.join(trace, '.whywait'), 0, [], 60
        for _ in range(5):
            shutil.rmtree(kept, ignore_errors=True)
            begin = time.monotonic()
            answer('usage', '--json', '-q', trace)
            whole = min(whole, time.monotonic() - begin)
        for i in range(TIMES):      # from the first moment to a little after its end
            shutil.rmtree(kept, ignore_errors=True)
            p = start('usage', '--json', '-q', trace)
            time.sleep(1.3 * whole * i / TIMES)
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=60)
            ended += p.returncode == -signal.SIGINT
            if p.returncode not in (0, -signal.SIGINT):
                bad.append('after %d: exit %d' % (i, p.returncode))
            if answer('usage', '--json', '-q', trace)[:2] != want:
                bad.append('after %d: another answer' % i)
            if b'facts are from' not in answer('usage', '-v', trace)[2]:
                bad.append('after %d: no facts are kept' % i)
            if [f for f in os.listdir(kept) if f.endswith('.new')]:
                bad.append('after %d: a half-written file stays' % i)
        tap.ok(ended > TIMES // 4 and not bad,
               'an analysis was ended %d of %d times; the next one answers, and keeps its facts' % (ended, TIMES), bad)
    return tap.end()


sys.exit(main())
