#!/usr/bin/python3
"""One run, recorded by perf, trace-cmd, whywait (and LTTng, in the lab: tests/lab/four.sh) at once: what whywait's
report says of each recording is the same, as far as that recording can know.

  four_recorders.py [DIR]      DIR: perf.data, trace.dat, whywait/ and, if it was there, lttng/ of an earlier run

The four are each other's oracle: the same waits at the same time; of each wait the same cause and waker, or
`unknown` where a recording does not show it, never another one. perf and trace-cmd have no names of files and
no sockets' addresses, so that they may know less, and whywait's own must know all that any of them knows."""
import json, os, subprocess, sys, tempfile
from lttng_oracle import Tap

SHORT_NS = 300000       # waits below this are not compared one by one
EDGE_NS = 150000        # four recorders' work stands between their stamps of one event
LAB_EDGE_NS = 5000000   # where the machine is emulated, and is slow, or stands still, between two stamps
ROUGH = 0.02            # of the window, that states may differ by
PERF = ('sched:sched_switch', 'sched:sched_wak*', 'sched:sched_process_*', 'irq:*', 'timer:hrtimer_expire_*',
        'timer:timer_expire_*', 'block:block_rq_*', 'raw_syscalls:*')
LTTNG = (('LTTng', 'lttng'),)
FTRACE = ('sched', 'irq', 'timer', 'block', 'net', 'signal', 'workqueue', 'raw_syscalls')


def record(dir, whywait, command):
    """Each recorder's command is the next recorder. What they say; the recordings are in dir."""
    # Of BPF programs that come and go the kernel tells wrongly while another perf records too: with a time of anything.
    perf = ['perf', 'record', '-q', '-a', '-m', '2048', '--no-bpf-event', '-k', 'CLOCK_MONOTONIC', '-o', dir + '/perf.data']
    for e in PERF: # without its own calls, which would make more of them; but what interrupts it and whom it leaves the CPU to is of all
        perf += ['-e', e] + ['--exclude-perf'] * e.startswith('raw_syscalls')
    ftrace = ['trace-cmd', 'record', '-d', '--no-filter', '-C', 'mono', '-b', '8192', '-o', dir + '/trace.dat']
    for e in FTRACE:
        ftrace += ['-e', e]
    ours = [whywait, 'record', '-q', '-o', dir + '/whywait', '--', *command]
    # trace-cmd copies /proc/kallsyms and dies when it changes meanwhile, as with each BPF program loaded or freed.
    still = ['unshare', '-m', 'sh', '-c', 'cat /proc/kallsyms > kallsyms && mount --bind kallsyms /proc/kallsyms && exec "$@"', 'sh']
    p = subprocess.run([*perf, '--', *still, *ftrace, *ours], cwd=dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=200)
    return p.stdout


class Trace:
    """One recording; its times as CLOCK_MONOTONIC, which all were told to use."""

    def __init__(self, whywait, path):
        self.whywait, self.path = whywait, path
        info = self.ask('info')
        self.offset = info['clock']['offset_ns']
        self.begin = info['begin_ns'] - self.offset

    def ask(self, *args):
        p = subprocess.run([self.whywait, *args, '--json', '-q', self.path], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        if p.returncode not in (0, 3):
            raise RuntimeError('%s: exit %d: %s' % (' '.join(args), p.returncode, p.stderr.decode(errors='replace')[-200:]))
        return json.loads(p.stdout)

    def report(self, tid, window=None):
        args = []
        if window:
            args = ['--from', '+%.9f' % ((window[0] - self.begin) / 1e9), '--to', '+%.9f' % ((window[1] - self.begin) / 1e9)]
        j = self.ask('report', '--tid', str(tid), *args)
        j['from'] = j['begin_ns'] - self.offset
        for w in j['waits']:
            w['t0'] = w['start_ns'] - self.offset
            w['t1'] = w['t0'] + w['dur_ns']
        return j


def sums(states):
    return {'on a CPU': sum(states.get(s, 0) for s in ('running', 'running-user', 'running-kernel', 'interrupted', 'stolen')),
            'ready': sum(states.get(s, 0) for s in ('preempted', 'runqueue', 'throttled')),
            'blocked': sum(states.get(s, 0) for s in ('blocked', 'stopped'))}


def same_wait(w, waits):
    best = max(waits, key=lambda x: min(w['t1'], x['t1']) - max(w['t0'], x['t0']), default=None)
    edge = LAB_EDGE_NS if len(sys.argv) > 1 else EDGE_NS
    if best and abs(best['t0'] - w['t0']) <= edge and abs(best['t1'] - w['t1']) <= edge:
        return best
    return None


def conflict(a, b):
    """What two recordings say of one wait that cannot both be true. A lock of the kernel whose holder waited for the disk is the
    disk, through that holder, where the recording has no locks."""
    held = {a['cause'], b['cause']} == {'lock', 'disk'} and any(
        x['cause'] == 'disk' and 'through' in x['detail'] and x['woken_by'] and y['woken_by'] and
        x['woken_by']['tid'] == y['woken_by']['tid'] for x, y in ((a, b), (b, a)))
    if 'unknown' not in (a['cause'], b['cause']) and a['cause'] != b['cause'] and not held:
        return 'cause %s, %s' % (a['cause'], b['cause'])
    x, y = a['woken_by'] or {}, b['woken_by'] or {}
    if None not in (x.get('tid'), y.get('tid')) and x.get('kind') == y.get('kind') and x['tid'] != y['tid']:
        return 'woken by %s %s, %s %s' % (x['kind'], x['tid'], y['kind'], y['tid'])
    return None


def compare(tap, name, ours, other):
    """ours: {tid: report}; other: Trace"""
    waits = known = less = 0
    bad, rough = [], []
    for tid, o in ours.items():
        window = o['from'], o['from'] + o['wall_ns']
        try:
            r = other.report(tid, window)
        except RuntimeError as e:
            bad.append(str(e))
            continue
        a, b = sums(o['states']), sums(r['states'])
        for k in a:
            if abs(a[k] - b[k]) > ROUGH * o['wall_ns'] + EDGE_NS + r['states'].get('unknown', 0) + o['states'].get('unknown', 0):
                rough.append('tid %d %s: %.3f ms, %.3f ms' % (tid, k, a[k] / 1e6, b[k] / 1e6))
        for w in o['waits']:
            if w['dur_ns'] < SHORT_NS:
                continue
            waits += 1
            x = same_wait(w, r['waits'])
            if not x:
                bad.append('tid %d: nobody else saw the wait of %.3f ms in %s' % (tid, w['dur_ns'] / 1e6, w['syscall']))
                continue
            c = conflict(w, x)
            if c:
                bad.append('tid %d in %s, %.3f ms: %s' % (tid, w['syscall'], w['dur_ns'] / 1e6, c))
            if w['syscall'] and x['syscall'] and w['syscall'] != x['syscall']:
                bad.append('tid %d: in %s, in %s' % (tid, w['syscall'], x['syscall']))
            known += x['cause'] != 'unknown'
            less += w['cause'] == 'unknown' != x['cause']
    tap.ok(waits > 10 and not bad, '%s: %d waits of %d threads are the same, %d with a cause' % (name, waits, len(ours), known), '\n'.join(bad))
    tap.ok(not rough, name + ': the same time on a CPU, ready, blocked', '\n'.join(rough))
    tap.ok(not less, name + ': knows no cause that our own recording does not', '%d waits' % less)


def main():
    whywait = os.environ['WHYWAIT']
    tap = Tap()
    with tempfile.TemporaryDirectory(dir='/var/tmp') as tmp:
        dir, said = sys.argv[1] if len(sys.argv) > 1 else tmp, ''
        if dir == tmp:
            if os.getuid():
                print('only root can record')
                return 77
            said = record(dir, whywait, [os.path.join(os.environ['WW_BUILD'], 'tests/demo/whywait-demo')])
            if not os.path.exists(dir + '/whywait/metadata'):
                print(said)
                return 1
        own = Trace(whywait, dir + '/whywait')
        j = own.ask('report', '--threads')
        tids = [j['target']['tid']] + [t['target']['tid'] for t in j['threads']]
        ours = {tid: own.report(tid) for tid in tids}
        for name, file in (('trace-cmd', 'trace.dat'), ('perf', 'perf.data')) + LTTNG[:len(sys.argv) > 1]:
            if os.path.exists(os.path.join(dir, file)):
                compare(tap, name, ours, Trace(whywait, os.path.join(dir, file)))
            else:
                tap.ok(False, name + ' recorded', said)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
