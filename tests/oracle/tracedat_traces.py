#!/usr/bin/python3
"""Oracle: trace-cmd report -N -R -t. On every trace.dat of the shared traces, and on copies of one that carry
other options (DATE, OFFSET, TSC2NSEC, TIME_SHIFT), our reader gives the same events: the same number, each
CPU's in the same order with the same time stamp, name, thread, and every field with the same value. TAP; exit
77 without trace-cmd or the traces.

What trace-cmd prints is text, so a number may stand there in decimal or hexadecimal and an address as its
function's name; a value agrees when one of its spellings is the text.
"""
import glob, json, os, re, shutil, struct, subprocess, sys, zlib

from tracedat_copy import shift_option, with_options

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('WW_BUILD') or os.path.join(SRC, 'build')
TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')
DUMP = os.path.join(BUILD, 'tests/oracle/tracedat-dump')
LINE = re.compile(r'^(?:(\S+): +)? *(.+)-(\d+) +\[(\d+)\] +(-?\d+(?:\.\d+)?): (\S+): +(.*)$')


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
    """Events of trace-cmd: [(cpu, ts, name, pid, text)], and how often it says that events were lost."""
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
        out.append((int(m.group(4)), ns, m.group(6), int(m.group(3)), m.group(7)))
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
    for cpu in sorted({r[0] for r in ref} | {g['cpu'] for g in got}):
        a = [r for r in ref if r[0] == cpu]
        b = [g for g in got if g['cpu'] == cpu]
        for (_, ts, name, pid, text), g in zip(a, b):
            where = '[%d] %d %s %s' % (cpu, ts, name, text)
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


def zlib_copy(src, dst):
    """The same with each CPU's data in zlib chunks of two pages behind the file's end, as trace-cmd writes them."""
    d = bytearray(open(src, 'rb').read())
    head = d.index(b'none\0')
    p = d.index(b'\0', head + 5) + 1
    extra = len(b'zlib\0') - len(b'none\0')
    assert not extra
    d[head:head + 4] = b'zlib'
    at = struct.unpack_from('<Q', d, p)[0]
    while at:
        p = at + 16
        while True:
            oid, size = struct.unpack_from('<HI', d, p)
            if oid == 0:
                at = struct.unpack_from('<Q', d, p + 6)[0]
                break
            if oid == 3:
                q = p + 6
                section = struct.unpack_from('<Q', d, q)[0]
                struct.pack_into('<H', d, section + 2, 1)
                q = d.index(b'\0', d.index(b'\0', q + 8) + 1) + 1
                page, n = struct.unpack_from('<II', d, q)
                for k in range(n):
                    w = q + 8 + 20 * k + 4
                    off, size = struct.unpack_from('<QQ', d, w)
                    raw = d[off:off + size]
                    chunks = [raw[i:i + 2 * page] for i in range(0, len(raw), 2 * page)]
                    packed = b''.join(struct.pack('<II', len(zlib.compress(c)), len(c)) + zlib.compress(c) for c in chunks)
                    struct.pack_into('<QQ', d, w, len(d), len(packed))
                    d += struct.pack('<I', len(chunks)) + packed
            p += 6 + struct.unpack_from('<HI', d, p)[1]
    open(dst, 'wb').write(d)


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


if not shutil.which('trace-cmd'):
    print('trace-cmd is not installed')
    sys.exit(77)
if len(sys.argv) > 1:
    files = sys.argv[1:]
else:
    files = sorted(glob.glob(TRACES + '/tracecmd-*/trace.dat') + glob.glob(TRACES + '/*/*/trace.dat') +
                   glob.glob(TRACES + '/variants/tc-*.dat'))
if not files:
    print('no shared traces at ' + TRACES)
    sys.exit(77)
for f in files:
    report(os.path.relpath(f, TRACES), f)

plain = os.path.join(TRACES, 'tracecmd-v7-none/trace.dat')
if len(sys.argv) == 1 and os.path.exists(plain):
    t0 = 33935896000
    lines = [(t0, 5000000, 1 << 3, 3), (t0 + 10**8, 5000700, 1 << 3, 3), (t0 + 9 * 10**8, 4990000, 3 << 31, 32)]
    copies = [
        ('DATE', [(1, b'0x5f5e100\0')]),
        ('OFFSET', [(7, b'-12345\0')]),
        ('DATE and OFFSET', [(1, b'0x5f5e100\0'), (7, b'777\0')]),
        ('TSC2NSEC', [(14, struct.pack('<IIQ', 14680064, 24, 0))]),
        ('TSC2NSEC with an offset', [(14, struct.pack('<IIQ', 14680064, 24, 33000000000))]),
        ('TIME_SHIFT of one sample', [(12, shift_option(lines[:1], 1))]),
        ('TIME_SHIFT of two', [(12, shift_option(lines[:2], 1))]),
        ('TIME_SHIFT of three', [(12, shift_option(lines, 1))]),
        ('TIME_SHIFT in steps', [(12, shift_option(lines, 0))]),
    ]
    for name, options in copies:
        with_options(plain, 'copy.dat', options)
        report('tracecmd-v7-none with ' + name, 'copy.dat')

    def same_as_plain(path):
        a, b = ours(plain)[0], ours(path)[0]
        return len(b), sum(len(e['payload']) for e in b), [] if a == b else ['not the events of the plain file']

    zlib_copy(plain, 'zlib.dat')
    report('tracecmd-v7-none in zlib chunks, against itself', 'zlib.dat', same_as_plain)
print('1..%d' % n_tests)
sys.exit(1 if failed else 0)
