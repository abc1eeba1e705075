"""What oracle/ctf.py and oracle/ctf_random.py share: babeltrace2's events beside those of `whywait events --json`.
"""
import json, math, os, pickle, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(HERE))
TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')
WHYWAIT = sys.argv[1] if len(sys.argv) > 1 else os.environ.get('WHYWAIT') or os.path.join(
    os.environ.get('WW_BUILD') or os.path.join(SRC, 'build'), 'whywait')
SLACK = 0  # ns that two time stamps may differ by
count = failed = 0


def report(good, what, why=''):
    global count, failed
    count += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', count, what))
    if not good:
        print('# ' + why.replace('\n', '\n# '))
    sys.stdout.flush()


class Judge:
    """babeltrace2 in a process of its own, for many traces: it ends the process on some valid metadata."""
    def __init__(self, python):
        self.python = python
        self.p = None

    def read(self, path):
        """None: it died of the trace."""
        if not self.p:
            self.p = subprocess.Popen(self.python + [os.path.join(HERE, 'ctf_bt2.py')],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self.p.stdin.write(path.encode() + b'\n')
            self.p.stdin.flush()
            return pickle.load(self.p.stdout)
        except (EOFError, BrokenPipeError):
            self.p.kill()
            self.p.communicate()
            self.p = None
            return None

    def works(self):
        return subprocess.run(self.python + ['-c', 'import bt2'], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0


def ours(path):
    p = subprocess.run([WHYWAIT, 'events', '--json', path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if p.returncode not in (0, 3):
        raise RuntimeError('exit %d: %s' % (p.returncode, p.stderr.decode(errors='replace')))
    streams, times = {}, []
    doc = json.loads(p.stdout)
    for e in doc['events']:
        if 'fields' not in e:
            continue
        streams.setdefault(e['stream'], []).append((e['time_ns'], e['cpu'], e['name'], e['fields'], e.get('context', {})))
        times.append(e['time_ns'])
    return streams, times, doc['clock']['epoch_known']


def close(a, b):
    """Equal, with 32-bit floats printed short."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-15)
    if a == '' and isinstance(b, str) and b in seen:
        return True
    return type(a) is type(b) and a == b


# babeltrace2 2.0.4 leaves the string of an earlier event in a field that is empty now (fields are used again,
# and an empty string is not stored). The bytes in the file say "". So "" agrees with a string seen before.
seen = set()


def collect(x):
    if isinstance(x, str):
        seen.add(x)
    elif isinstance(x, (list, tuple)):
        for y in x:
            collect(y)
    elif isinstance(x, dict):
        for y in x.values():
            collect(y)


def same_event(a, b, shift):
    # A clock that does not count ns: babeltrace2 computes with doubles and may be some ns off.
    return abs(a[0] + shift - b[0]) <= SLACK and a[1:3] == b[1:3] and close(a[3], b[3]) and close(a[4], b[4])


class Crashed(Exception):
    pass


def compare(path, by):
    got = by.read(path)
    if got is None:
        raise Crashed('babeltrace2 died')
    if isinstance(got, str):
        return 'babeltrace2 gives up: ' + got
    bs, bt = got['streams'], got['times']
    seen.clear()
    collect(list(bs.values()))
    ws, wt, epoch_known = ours(path)
    # Of a clock whose origin is unknown CTF 2 still has an offset; babeltrace2 adds it, whywait does not.
    shift = 0 if epoch_known or not bt or not wt else min(bt) - min(wt)
    if len(bt) != len(wt):
        return 'babeltrace2 has %d events, whywait %d' % (len(bt), len(wt))
    if len(bs) != len(ws):
        return 'babeltrace2 has %d streams with events, whywait %d' % (len(bs), len(ws))
    if bt == sorted(bt) and wt != sorted(wt):
        return 'not in order of time'
    left = dict(ws)
    for key, want in bs.items():
        best = (-1, None)
        for i, got in left.items():
            n = 0
            while n < min(len(got), len(want)) and same_event(got[n], want[n], shift):
                n += 1
            if n == len(want) == len(got):
                best = (n, i)
                break
            best = max(best, (n, i))
        n, i = best
        if n != len(want) or len(left[i]) != n:
            return 'stream %s differs at event %d:\nbabeltrace2 %s\nwhywait     %s' % (
                key, n, want[n] if n < len(want) else 'ends', left[i][n] if n < len(left[i]) else 'ends')
        del left[i]
    return ''


def skip(what, why):
    global count
    count += 1
    print('ok %d - %s # SKIP %s' % (count, what, why))


def done():
    print('1..%d' % count)
    sys.exit(1 if failed else 0)


OLD = Judge(['/usr/bin/python3'])  # Debian 12's, 2.0
NEW = Judge([os.path.join(SRC, 'tests/tools/later-bt2')])  # Debian 13's, 2.1
