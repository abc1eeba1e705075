#!/usr/bin/python3
"""Oracle: trace-cmd report -N -R -t. On every trace.dat of the shared traces, and on copies of one that carry
other options (DATE, OFFSET, TSC2NSEC, TIME_SHIFT), our reader gives the same events: the same number, each
CPU's in the same order with the same time stamp, name, thread, and every field with the same value
(tracedat_judge.py). TAP; exit 77 without trace-cmd or the traces.
"""
import glob, os, shutil, struct, sys, zlib
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tracedat_copy import shift_option, with_options
from tracedat_judge import SRC, done, ours, report

TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')


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
done()
