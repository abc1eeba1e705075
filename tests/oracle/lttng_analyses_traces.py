#!/usr/bin/python3
"""Traces made by LTTng's kernel tracer: what whywait and lttng-analyses say of every thread is the same.

The oracles are lttng-cputop, -schedlog, -syscallstats and -irqstats (see lttng_oracle.py). Traces: below WW_TRACES,
or the given ones."""
import os, sys, tempfile
from lttng_oracle import Tap, compare, installed, kernel_copy

TRACES = ('single/trace/kernel', 'cluster3/db/trace/kernel', 'cluster3/web/trace/kernel', 'cluster3/client/trace/kernel')


def main():
    root = os.environ.get('WW_TRACES', '')
    traces = sys.argv[1:] or [t for t in (os.path.join(root, t) for t in TRACES) if os.path.isdir(t)]
    if not traces:
        print('no traces in "%s": set WW_TRACES' % root)
        return 77
    if not installed():
        print('python3-lttnganalyses is not installed')
        return 1
    tap = Tap()
    with tempfile.TemporaryDirectory(dir='/var/tmp') as tmp:
        for t in traces:
            compare(os.environ['WHYWAIT'], kernel_copy(t, tmp), tap.ok, os.path.relpath(t, root), known=None)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
