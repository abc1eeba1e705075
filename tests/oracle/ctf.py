#!/usr/bin/python3
"""Oracle: babeltrace2, through its Python bindings (Debian's python3-bt2). On every CTF trace of the shared
traces, and on traces that ctf_gen.py makes at random, `whywait events --json` gives the same events: the same
number, each stream's in the same order, with the same time stamp, CPU, name, contexts and every field's value;
and by time across streams. TAP; the shared traces are skipped loudly when absent; exit 77 without babeltrace2.
"""
import glob, json, math, os, pickle, shutil, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ctf_gen
try:
    import bt2
except ImportError:
    print('1..0 # SKIP python3-bt2 is not installed')
    sys.exit(77)

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')
WHYWAIT = sys.argv[1] if len(sys.argv) > 1 else os.environ.get('WHYWAIT') or os.path.join(os.environ.get('WW_BUILD') or os.path.join(SRC, 'build'), 'whywait')
RANDOM = int(os.environ.get('WW_CTF_RANDOM', '60'))
count = failed = 0


def report(good, what, why=''):
    global count, failed
    count += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', count, what))
    if not good:
        print('# ' + why.replace('\n', '\n# '))
    sys.stdout.flush()


def value(f):
    """A field of babeltrace2 as the JSON of whywait has it."""
    if isinstance(f, bt2._VariantFieldConst):
        return {list(f.cls)[f.selected_option_index]: value(f.selected_option)}
    if isinstance(f, bt2._StructureFieldConst):
        return {k: value(f[k]) for k in f}
    if isinstance(f, bt2._ArrayFieldConst):
        return [value(x) for x in f]
    if isinstance(f, bt2._IntegerFieldConst):
        return int(f)
    if isinstance(f, bt2._RealFieldConst):
        return float(f)
    return str(f)


def theirs(path):
    """Events by stream, in order; and all times in the order of delivery."""
    streams, times = {}, []
    for m in bt2.TraceCollectionMessageIterator(path):
        if type(m) is not bt2._EventMessageConst:
            continue
        e = m.event
        s = e.packet.stream
        ctx = {}
        for c in (e.common_context_field, e.specific_context_field):
            if c is not None:
                ctx.update(value(c))
        cpu = e.packet.context_field['cpu_id'] if e.packet.context_field and 'cpu_id' in e.packet.context_field else None
        t = m.default_clock_snapshot.ns_from_origin
        streams.setdefault((str(s.trace.uuid), s.cls.id, s.id), []).append(
            (t, None if cpu is None else int(cpu), e.name, value(e.payload_field) if e.payload_field is not None else {}, ctx))
        times.append(t)
    return streams, times


def ours(path):
    p = subprocess.run([WHYWAIT, 'events', '--json', path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if p.returncode not in (0, 3):
        raise RuntimeError('exit %d: %s' % (p.returncode, p.stderr.decode(errors='replace')))
    streams, times = {}, []
    for e in json.loads(p.stdout)['events']:
        if 'fields' not in e:
            continue
        streams.setdefault(e['stream'], []).append((e['time_ns'], e['cpu'], e['name'], e['fields'], e.get('ctx', {})))
        times.append(e['time_ns'])
    return streams, times


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


def same_event(a, b):
    # A clock that does not count ns: babeltrace2 computes with doubles and may be some ns off.
    return abs(a[0] - b[0]) <= SLACK and a[1:3] == b[1:3] and close(a[3], b[3]) and close(a[4], b[4])


def in_child(f, path):
    """babeltrace2 ends the process on some valid metadata: let it be a process of its own."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            out = pickle.dumps(f(path))
        except Exception as e:
            out = pickle.dumps('%s: %s' % (type(e).__name__, e))
        with os.fdopen(w, 'wb') as o:
            o.write(out)
        os._exit(0)
    os.close(w)
    with os.fdopen(r, 'rb') as i:
        data = i.read()
    if os.waitpid(pid, 0)[1] or not data:
        return None
    return pickle.loads(data)


class Crashed(Exception):
    pass


def compare(path):
    got = in_child(theirs, path)
    if got is None:
        raise Crashed()
    if isinstance(got, str):
        return 'babeltrace2 gives up: ' + got
    bs, bt = got
    seen.clear()
    collect(list(bs.values()))
    ws, wt = ours(path)
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
            while n < min(len(got), len(want)) and same_event(got[n], want[n]):
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


def judge(path, what):
    try:
        why = compare(path)
    except Exception as e:  # a reader that gives up is a failure, not a skip
        why = '%s: %s' % (type(e).__name__, e)
    report(not why, what, why)
    return not why


SLACK = 0
found = []
for d in sorted(glob.glob(os.path.join(TRACES, '*')) + glob.glob(os.path.join(TRACES, 'cluster3/*')) +
                glob.glob(os.path.join(TRACES, 'variants/*'))):
    if os.path.basename(d) not in ('cluster3', 'variants') and os.path.isdir(d) and \
            glob.glob(os.path.join(d, '**/metadata'), recursive=True):
        found.append(d)
for d in found:
    judge(d, 'same events as babeltrace2: ' + os.path.relpath(d, TRACES))
if not found:
    count += 1
    print('ok %d - shared traces # SKIP no traces in %s' % (count, TRACES))

SLACK = 16
good = bad = crashed = seed = 0
while good + bad < RANDOM and crashed < 3 * RANDOM:
    seed += 1
    d = tempfile.mkdtemp(prefix='ctf-')
    ctf_gen.make(d, seed)
    try:
        why = compare(d)
    except Crashed:
        crashed += 1
        why = ''
        good -= 1
        if os.environ.get('WW_KEEP'):
            print('# babeltrace2 crashes on seed %d' % seed)
    except Exception as e:
        why = '%s: %s' % (type(e).__name__, e)
    if why:
        bad += 1
        report(False, 'random trace %d' % seed, why)
    else:
        good += 1
    shutil.rmtree(d)
report(good >= RANDOM, '%d of %d random traces: same events as babeltrace2' % (good, RANDOM),
       '%d differ; babeltrace2 crashed on %d' % (bad, crashed))
print('1..%d' % count)
sys.exit(1 if failed else 0)
