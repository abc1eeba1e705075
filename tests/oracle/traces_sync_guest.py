#!/usr/bin/python3
"""A host and its guest without packets: trace-cmd writes into the guest's file how its stamps become the host's
(TIME_SHIFT, sampled through the hypervisor while it recorded) and whose clock that is. Two copies of a recording, one as
the host's, one as the guest's with its clock 5 ms behind and drifting, and a third that belongs to neither:

  sync   one clock, by its id alone; of the third nothing is known
  path   over both at once, on the host's clock
  trace-cmd itself says when each of the guest's events was, by the host's clock

WW_TRACES in the environment; exit 77 without the trace or trace-cmd. TAP."""
import json, os, re, shutil, struct, subprocess, sys

from tracedat_copy import shift_option, with_options

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

PLAIN = os.path.join(os.environ.get('WW_TRACES', ''), 'tracecmd-v7-none/trace.dat')
W = os.environ.get('WHYWAIT', 'build/whywait')
HOST, TRACEID, TIME_SHIFT = 0x1234, 11, 12
tap = Tap()
ok = tap.ok


def run(*args):
    p = subprocess.run([W] + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=100)
    return p.returncode, p.stdout, p.stderr


def stamps(path):
    """Of each event, ns, as trace-cmd prints them in the file's order of time."""
    out = subprocess.run(['trace-cmd', 'report', '-N', '-t', '-i', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [int(m.group(1)) * 10**9 + int(m.group(2)) for m in re.finditer(r'^ *.*-\d+ +\[\d+\] +(\d+)\.(\d{9}): ', out, re.M)]


def main():
    if not os.path.exists(PLAIN) or not shutil.which('trace-cmd'):
        print('no shared trace tracecmd-v7-none, or no trace-cmd')
        return 77
    t0 = 33935896000    # the host's clock - the guest's: 5 ms, 4.9 ms at the end
    samples = [(t0, 5000000, 1, 0), (t0 + 10**8, 5000700, 1, 0), (t0 + 9 * 10**8, 4900000, 1, 0)]
    with_options(PLAIN, 'host.dat', [(TRACEID, struct.pack('<Q', HOST))])
    with_options(PLAIN, 'guest.dat', [(TRACEID, struct.pack('<Q', 0x77)), (TIME_SHIFT, shift_option(samples, 1, False, HOST))])
    with_options(PLAIN, 'other.dat', [(TRACEID, struct.pack('<Q', 0x99))])
    rc, out, err = run('sync', '--json', '--no-store', '--reference', 'host.dat', 'host.dat', 'guest.dat')
    hosts = json.loads(out)['hosts'] if out else []
    ok(rc == 0 and [h['accuracy'] for h in hosts] == ['reference', 'shared'], 'the guest is on its host\'s clock',
       [str((h['trace'], h['accuracy'])) for h in hosts] + err.splitlines())
    g = hosts[1] if len(hosts) > 1 else {}
    ok((g.get('offset_ns'), g.get('drift_ppm'), g.get('bound_ns')) == (0, 0, 0), 'which its stamps say already', [str(g)])
    rc, out, err = run('sync', '--json', '--no-store', 'host.dat', 'guest.dat', 'other.dat')
    a = json.loads(out) if out else {}
    ok(rc == 3 and len(a.get('not_reached', [])) == 1 and a['hosts'][2]['accuracy'] == 'none',
       'a file with another id is on nobody\'s, and said so', [out[:300]])

    rc, out, err = run('events', '--json', 'guest.dat')
    ours = [e['time_ns'] for e in json.loads(out)['events']] if out else []
    theirs, plain = sorted(stamps('guest.dat')), sorted(stamps('host.dat'))
    ours.sort()
    off = (ours[0] - theirs[0]) if ours and theirs else None
    ok(theirs and len(ours) == len(theirs) and all(a - b == off for a, b in zip(ours, theirs)),
       'each of its %d events is where trace-cmd has it' % len(theirs), ['%d, %d of trace-cmd' % (len(ours), len(theirs))])
    moved = [a - b for a, b in zip(theirs, plain)]
    ok(moved and 4800000 < min(moved) and max(moved) < 5100000 and moved[0] != moved[-1], 'which is not where its own clock had it',
       ['moved by %s to %s' % (min(moved, default=None), max(moved, default=None))])

    rc, out, err = run('path', '--json', 'host.dat', 'guest.dat', '--host', 'guest.dat')
    p = json.loads(out) if out else {}
    at, bad = p.get('begin_ns', 0), []
    for s in p.get('segments', []):
        bad += [str(s)] if s['start_ns'] != at else []
        at += s['dur_ns']
    ok(rc in (0, 3) and p.get('segments') and not bad and at == p['begin_ns'] + p['wall_ns'], 'path over both, without a hole', bad + err.splitlines())
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
