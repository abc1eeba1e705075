#!/usr/bin/python3
"""How fast traces are read, each beside the peer that reads the same file: whole processes, warm cache, medians of wall
time and of CPU time (user + system), and their ratios.

usage: read.py WHYWAIT DIR [--rounds N] [--ctf SMALL_LTTNG_TRACE] [--tracedat SMALL] [--only NAME] [--in-turn]

The runs of one program follow one another, the first two of them not counted; then come those of the other. Memory is
warm then, too: a virtual machine may return to its host what was free for two seconds, and to fetch it again can take
longer than a run. --in-turn: the two programs alternate, and the ratios are the medians of the pairs'; where memory goes
back to the host meanwhile that is part of the result.

What is not in DIR yet is made: whywait.ctf, trace.dat and perf.data are recorded here (root) while a loop of
system calls and two processes on a pipe run; lttng.ctf is SMALL_LTTNG_TRACE repeated until it has three million
events, and so may trace.dat be made of a small uncompressed one. --only: one file of DIR. `info` counts events by
name; `report 1 ms` is the whole model with all facts that a report reads, and the report of a millisecond; `threads` the
model and a row for each thread; `report` has the chains behind all waits of the target, too.
Below each: the file's size over the time, and what reading the bytes alone takes (cat)."""
import argparse, os, shutil, statistics, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
LOOP = ('dd if=/dev/zero of=/dev/null bs=1 count=%d 2>/dev/null; '
        'dd if=/dev/zero bs=512 count=%d 2>/dev/null | cat | wc -c >/dev/null')


def run(cmd, env=None):
    """(wall, cpu) seconds of the process and its children."""
    before, t = os.times(), time.monotonic()
    r = subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    wall, after = time.monotonic() - t, os.times()
    if r.returncode not in (0, 3):
        raise SystemExit('%s: %s' % (' '.join(cmd), r.stderr.decode(errors='replace')[-300:]))
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def compare(what, ours, peer, rounds, env=None):
    if in_turn:
        run(ours, env), run(peer)  # the cache is warm from here on
        pairs = [(run(ours, env), run(peer)) for _ in range(rounds)]
    else:
        series = [[run(cmd, e) for _ in range(rounds + 2)][2:] for cmd, e in ((ours, env), (peer, None))]
        pairs = list(zip(*map(sorted, series)))
    med = lambda f: statistics.median(f(p) for p in pairs)
    wall, cpu = [[med(lambda p: p[who][k]) for who in (0, 1)] for k in (0, 1)]
    ratio = [med(lambda p: p[1][k] / max(p[0][k], 1e-3)) for k in (0, 1)] if in_turn else \
        [v[1] / max(v[0], 1e-3) for v in (wall, cpu)]
    print('%-34s %8.3f s (CPU %7.3f)   %-26s %8.3f s (CPU %7.3f)   wall %5.1f x, CPU %5.1f x' % (
        what, wall[0], cpu[0], ' '.join(os.path.basename(w) for w in peer[:2])[:26], wall[1], cpu[1], *ratio), flush=True)
    return wall[0]


def size(path):
    files = [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs] if os.path.isdir(path) else [path]
    return sum(os.path.getsize(f) for f in files), files


def rate(path, seconds):
    n, files = size(path)
    cat = statistics.median(run(['cat'] + files)[0] for _ in range(3))
    print('%-34s %.0f MB, %.0f MB/s; cat takes %.3f s' % ('', n / 1e6, n / 1e6 / seconds, cat), flush=True)


def make(args):
    w, d = args.whywait, args.dir
    loop = ['sh', '-c', LOOP % (500000, 150000)]
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    os.makedirs(d, exist_ok=True)
    if not os.path.exists(d + '/whywait.ctf'):
        subprocess.run([w, 'record', '-q', '-o', d + '/whywait.ctf', '--'] + loop, **quiet)
    if args.ctf and not os.path.exists(d + '/lttng.ctf'):
        info = subprocess.run([w, 'info', '--json', args.ctf], stdout=subprocess.PIPE).stdout.decode()
        events = int(info.split('"events": ')[1].split(',')[0])
        subprocess.run([sys.executable, HERE + '/ctf-grow.py', w, args.ctf, d + '/lttng.ctf', str(3000000 // events + 1)],
                       check=True)
    events = ['sched', 'raw_syscalls', 'irq']
    if args.tracedat and not os.path.exists(d + '/trace.dat'):
        subprocess.run([sys.executable, HERE + '/../tests/tools/tracedat-grow.py', args.tracedat, d + '/trace.dat', '200'],
                       check=True)
    if shutil.which('trace-cmd') and not os.path.exists(d + '/trace.dat'):
        subprocess.run(['trace-cmd', 'record', '-q', '-b', '100000', '-o', d + '/trace.dat'] +
                       [x for e in events for x in ('-e', e)] + loop, **quiet)
    if shutil.which('perf') and not os.path.exists(d + '/perf.data'):
        subprocess.run(['perf', 'record', '-q', '-a', '-m', '8192', '-o', d + '/perf.data'] +
                       [x for e in events for x in ('-e', e + ':*')] + ['--'] + loop, **quiet)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('whywait')
    p.add_argument('dir')
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--ctf')
    p.add_argument('--tracedat')
    p.add_argument('--only')
    p.add_argument('--in-turn', action='store_true')
    args = p.parse_args()
    global in_turn
    in_turn = args.in_turn
    w, d = os.path.abspath(args.whywait), args.dir
    make(args)
    one = dict(os.environ, WHYWAIT_THREADS='1')
    facts = [w, 'report', '-q', '--no-cache', '--from', '+0.1', '--to', '+0.101']
    for name in ('lttng.ctf', 'whywait.ctf'):
        t = os.path.join(d, name)
        if os.path.isdir(t) and shutil.which('babeltrace2') and args.only in (None, name):
            peer = ['babeltrace2', t, '-c', 'sink.utils.dummy']
            rate(t, compare(name + ' info, one thread', [w, 'info', t], peer, args.rounds, one))
            compare(name + ' report', [w, 'report', '-q', '--no-cache', t], peer, args.rounds)
            compare(name + ' report 1 ms', facts + [t], peer, args.rounds)
            compare(name + ' threads', [w, 'threads', '-q', '--no-cache', t], peer, args.rounds)
            compare(name + ' report, one thread', [w, 'report', '-q', '--no-cache', t], peer, args.rounds, one)
    for name, peer in (('trace.dat', ['trace-cmd', 'report', '-i']), ('perf.data', ['perf', 'script', '-i'])):
        t = os.path.join(d, name)
        if os.path.exists(t) and shutil.which(peer[0]) and args.only in (None, name):
            rate(t, compare(name + ' report', [w, 'report', '-q', '--no-cache', t], peer + [t], args.rounds))
            compare(name + ' report 1 ms', facts + [t], peer + [t], args.rounds)
            compare(name + ' threads', [w, 'threads', '-q', '--no-cache', t], peer + [t], args.rounds)
            compare(name + ' info', [w, 'info', t], peer + [t], args.rounds)


main()
