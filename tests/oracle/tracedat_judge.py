"""What oracle/tracedat_*.py share: the events of `trace-cmd report -N -R -t` beside those of our reader, event by event.

What trace-cmd prints is text, so a number may stand there in decimal or hexadecimal and an address as its
function's name; a value agrees when one of its spellings is the text.
"""
import json, os, re, subprocess, sys

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('WW_BUILD') or os.path.join(SRC, 'build')
DUMP = os.path.join(BUILD, 'tests/oracle/tracedat-dump')
LINE = re.compile(r'^ *(?:([^\s:]+): +)? *(.+)-(\d+) +\[(\d+)\] *(-?\d+(?:\.\d+)?): (\S+): +(.*)$')


def spellings(f):
    """All texts that mean this field's number."""
    v = f.get('u', f.get('i'))
    out = {str(v)}
    for bits in (8, 16, 32, 64):
        m = v & ((1 << bits) - 1)
        if m == v or (v < 0 and v >= -(1 << (bits - 1))):
            out |= {str(m), '%x' % m, '0x%x' % m}
            if m >> (bits - 1):
                out.add(str(m - (1 << bits)))
    if v == 0:
        out |= {'(nil)', '0x0'}
    if 'label' in f:
        out.add(f['label'])
    return out


def agrees(f, text):
    text = text.strip()
    if isinstance(f, list) or 'b' in f:     # an array: trace-cmd prints its bytes
        m = re.match(r'ARRAY\[(.*)\]$', text)
        got = [int(x, 16) for x in m.group(1).split(',')] if m and m.group(1).strip() else []
        if not m:
            return False
        if isinstance(f, dict):
            return got == [int(x, 16) for x in f['b']]
        if not f:
            return not got
        n = len(got) // len(f)
        return n * len(f) == len(got) and b''.join((x & (1 << 8 * n) - 1).to_bytes(n, 'little') for x in f) == bytes(got)
    if 's' in f and text.startswith('ARRAY['):  # characters that are no text: a string to us all the same
        got = bytes(int(x, 16) for x in text[6:-1].split(',') if x.strip())
        return got.split(b'\0')[0].decode(errors='replace') == f['s']
    if 's' in f:
        return f['s'].strip() == text or ''.join(c if c.isprintable() else '.' for c in f['s']) == text
    if text in spellings(f):
        return True
    stripped = re.sub(r'^(0x)?0+(?=.)', r'\1', text)    # %03d, %08x
    return stripped in spellings(f)


def split_fields(text, names):
    """'a=1 b=x y c=3' -> {'a': '1', 'b': 'x y', ...}: the names are known, values may hold blanks."""
    out, pos = {}, 0
    at = []
    for n in names:
        m = re.compile(r'(?:^|(?<= ))' + re.escape(n) + '=').search(text, pos)
        if not m:
            return None
        at.append((n, m.start(), m.end()))
        pos = m.end()
    for i, (n, _, begin) in enumerate(at):
        out[n] = text[begin:at[i + 1][1] if i + 1 < len(at) else len(text)]
    return out


def reference(path):
    """Events of trace-cmd: [((buffer, cpu), ts, name, pid, text)], and how often it says that events were lost."""
    p = subprocess.run(['trace-cmd', 'report', '-N', '-R', '-t', path], capture_output=True, text=True, errors='replace')
    if p.returncode:
        raise RuntimeError('trace-cmd report %s: %s' % (path, p.stderr.strip()))
    out, drops = [], 0
    for line in p.stdout.splitlines():
        if 'EVENTS DROPPED' in line:
            drops += 1
            continue
        m = LINE.match(line)
        if not m:
            if line.strip() and not line.startswith(('cpus=', 'version', 'CPU ')):
                raise RuntimeError('a line of trace-cmd that is not understood: ' + line)
            continue
        ts = m.group(5)
        ns = int(ts.replace('.', ''))
        out.append(((m.group(1) or '', int(m.group(4))), ns, m.group(6), int(m.group(3)), m.group(7)))
    return out, drops


def ours(path):
    p = subprocess.run([DUMP, path], capture_output=True, text=True, errors='replace')
    if p.returncode:
        raise RuntimeError(p.stderr.strip() or 'exit %d' % p.returncode)
    out, gaps, last = [], [], None
    for line in p.stdout.splitlines():
        e = json.loads(line)
        if last is not None and e['ts'] < last:
            raise RuntimeError('time goes back at %s' % line)
        last = e['ts']
        (gaps if e['name'] == 'GAP' else out).append(e)
    return out, gaps


def differences(path):
    """(number of events, number of fields, list of what differs)"""
    ref, drops = reference(path)
    got, gaps = ours(path)
    bad, fields = [], 0
    if len(ref) != len(got):
        bad.append('%d events, trace-cmd has %d' % (len(got), len(ref)))
    if drops != len(gaps):
        bad.append('%d gaps, trace-cmd has %d' % (len(gaps), drops))
    # Each stream of ours is a buffer of a CPU; which one its first event says.
    streams = {}
    for g in got:
        streams.setdefault(g['stream'], []).append(g)
    keys = {}
    for r in ref:
        keys.setdefault(r[0], []).append(r)
    if len(keys) != len(streams):
        bad.append('%d streams with events, trace-cmd has %d' % (len(streams), len(keys)))
    for cpu, a in sorted(keys.items()):
        b = next((x for x in streams.values() if x[0]['cpu'] == cpu[1] and x[0]['ts'] == a[0][1] and len(x) == len(a)), [])
        if not b:
            bad.append('no stream of ours is %s CPU %d' % cpu)
        for (_, ts, name, pid, text), g in zip(a, b):
            where = '[%s%d] %d %s %s' % (*cpu, ts, name, text)
            if g['ts'] != ts or g['name'].split(':')[-1] != name.split(':')[-1]:
                bad.append('%s, ours %d %s' % (where, g['ts'], g['name']))
                continue
            payload = {k: f for k, f in g['payload'].items() if k != 'ctx'}
            common = g['payload']['ctx']
            if common['common_pid']['i'] != pid:
                bad.append('%s, our common_pid is %r' % (where, common['common_pid']))
            want = split_fields(text, list(payload))
            if want is None:
                bad.append('%s, our fields are %s' % (where, list(payload)))
                continue
            for k, f in payload.items():
                fields += 1
                if not agrees(f, want[k]):
                    bad.append('%s, our %s is %r' % (where, k, f))
    return len(ref), fields, bad


n_tests = failed = 0


def report(name, path, what=differences):
    global n_tests, failed
    n_tests += 1
    try:
        n, fields, bad = what(path)
        if not n:
            bad = bad + ['no events at all']
    except (RuntimeError, ValueError, KeyError) as e:
        n, fields, bad = 0, 0, [repr(e)]
    failed += bool(bad)
    print('%sok %d - %s: %d events, %d fields' % ('not ' if bad else '', n_tests, name, n, fields))
    for b in bad[:8]:
        print('#  ' + b)
    if len(bad) > 8:
        print('#  and %d more' % (len(bad) - 8))
    sys.stdout.flush()


def done():
    print('1..%d' % n_tests)
    sys.exit(1 if failed else 0)
