#!/usr/bin/python3
"""Traces made by LTTng's kernel tracer: what whywait and lttng-analyses say of every thread is the same.

The oracles are lttng-cputop, -schedlog, -syscallstats, -irqstats, -iousagetop and -iolatencystats (see
lttng_oracle.py). Traces: below WW_TRACES, or the given ones."""
import glob, os, sys, tempfile
from lttng_oracle import Tap, compare, compare_io, installed, kernel_copy

# Not there: variants/lt-discard, of which they bill what was lost to who was seen last.
TRACES = ('single/trace/kernel', 'cluster3/db/trace/kernel', 'cluster3/web/trace/kernel', 'cluster3/client/trace/kernel',
          'variants/lt-context/kernel', 'variants/lt-callstack/kernel')
ROTATED = 'variants/lt-rotate/archives/*/kernel'
# Its rings were overwritten, so each CPU begins at another time. They know waits from a wakeup on that is followed by
# nothing for 35 ms, so only what ran is compared.
SNAPSHOT = 'variants/lt-snapshot/snapshot-*-0/kernel'


def main():
    root = os.environ.get('WW_TRACES', '')
    traces = sys.argv[1:] or [t for t in (os.path.join(root, t) for t in TRACES) if os.path.isdir(t)] + sorted(glob.glob(os.path.join(root, ROTATED)))
    if not traces:
        print('no traces in "%s": set WW_TRACES' % root)
        return 77
    if not installed():
        print('python3-lttnganalyses is not installed')
        return 1
    tap = Tap()
    with tempfile.TemporaryDirectory(dir='/var/tmp') as tmp:
        for t in traces:
            copy = kernel_copy(t, tmp)
            compare(os.environ['WHYWAIT'], copy, tap.ok, os.path.relpath(t, root), known=None)
            compare_io(os.environ['WHYWAIT'], copy, tap.ok, os.path.relpath(t, root))
        for t in sorted(glob.glob(os.path.join(root, SNAPSHOT))) if not sys.argv[1:] else ():
            compare(os.environ['WHYWAIT'], kernel_copy(t, tmp),
                    lambda good, text, why: 'CPU time' in text and tap.ok(good, text, why), os.path.relpath(t, root), known=None)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
