#!/usr/bin/python3
"""The critical path over traces that other people's tools made. TAP.

For every trace below WW_TRACES that has switches, and the threads that ran most: the JSON is as its schema says
(the oracle is python3-jsonschema), the segments lie end to end, and the path says the same as the tree
(tests/truth/path_agrees.py). For the traces of one program by LTTng, trace-cmd and perf, what that program itself wrote
down (truth.txt): who the path must be on while its main thread waits for each of its phases, as far as the recorded
kinds of event can tell.
"""
import collections, functools, glob, json, os, re, subprocess, sys
import jsonschema

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, 'truth'))
import path_agrees

W = os.environ.get('WHYWAIT', 'whywait')
DIR = os.environ.get('WW_TRACES', '/nonexistent')
THREADS = 4         # a trace; half of it of the many small ones that test what a reader must survive
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

tap = Tap()
check = tap.none


def run(*args):
    p = subprocess.run([W, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    return p.returncode, p.stdout


def any_trace(path, schema):
    rc, out = run('threads', '--json', '-q', '--top', '200', path)
    if rc not in (0, 3):
        return None     # no switches, or not sound: others test what is said then
    bad = []
    rows = [t for t in json.loads(out)['rows'] if t['waits']]
    rows.sort(key=lambda t: -t['blocked_ns'] if t['cause'] not in ('unknown', 'idle', '') else 0)
    tids = [t for t in dict.fromkeys(r['tid'] for r in rows) if [r['tid'] for r in rows].count(t) == 1]
    tids = tids[:THREADS // 2 if 'variants' in path else THREADS]
    for tid in tids:
        path_j, tree = path_agrees.ask(W, 'path', path, tid), path_agrees.ask(W, 'tree', path, tid)
        try:
            jsonschema.validate(path_j, schema)
        except jsonschema.ValidationError as e:
            bad.append('%d: %s at %s' % (tid, e.message[:150], list(e.absolute_path)))
        bad += path_agrees.shape(path_j) + path_agrees.own_states(tid, path_j, tree)
        bad += path_agrees.against_tree(tid, path_j, tree)
    return bad, len(tids)


def truth(path):
    for line in open(path):
        f = line.rstrip('\n').split('\t')
        if not line.startswith('#'):
            yield {'phase': f[0], 'role': f[1], 'tid': int(f[2]), 't0': int(f[3]), 't1': int(f[4]), 'note': f[7]}


def share(path, t0, t1, test):
    return sum(max(0, min(t1, s['start_ns'] + s['dur_ns']) - max(t0, s['start_ns'])) for s in path['segments'] if test(s)) / 1e6


def clock_offset(name, trace, rows, path):
    """From the program's CLOCK_MONOTONIC to the path's times. Where the trace has another clock, by the three sleeps."""
    off = path['hosts'][0]['clock']['offset_ns']
    if name in ('single', 'perf-mono', 'tracecmd-v7-none'):
        return off
    sleeps = [r for r in rows if r['role'] == 'sleeper']
    waits = [w for w in path_agrees.ask(W, 'tree', trace, sleeps[0]['tid'])['waits'] if w['dur_ns'] > 9e6]
    pairs = [(r, w) for r in sleeps for w in waits if -1e6 < (r['t1'] - r['t0']) - w['dur_ns'] < 5e6]
    return min(w['start_ns'] - r['t0'] for r, w in pairs)


def recorded(trace):
    """What kinds of event stand in it."""
    names = ' '.join(k for k, count in json.loads(run('info', '--json', '-q', trace)[1])['by_name'].items() if count)
    return {k for k, text in (('calls', 'sys_e|syscall_entry'), ('disk', 'block_rq_complete'), ('irqs', 'irq_handler_entry'),
                              ('senders', 'net_dev_queue|net_dev_xmit|softirq_raise')) if re.search(text, names)}


# What must be recorded that a phase is known to the bottom; without it the path says unknown there, and nothing else.
NEEDS = {'sleep': {'calls', 'irqs'}, 'exec': {'disk'}, 'fsync': {'disk'}, 'tcp': {'senders', 'calls'}, 'fault': {'disk'}, 'poll': {'irqs'},
         'futex': {'irqs'}}


def zoo(name, trace, rows):
    """Each phase on the path of the main thread: the least that must be there, in ms, by construction."""
    main = next(r['tid'] for r in rows if r['role'] == 'main')
    path, tree = path_agrees.ask(W, 'path', trace, main), path_agrees.ask(W, 'tree', trace, main)
    off, has = clock_offset(name, trace, rows, path), recorded(trace)
    tid = {r['role']: r['tid'] for r in rows} | {(r['role'], r['phase']): r['tid'] for r in rows}
    own_path = functools.cache(lambda t: path_agrees.ask(W, 'path', trace, t))
    running = lambda s: s['kind'].startswith('running') or s['kind'] == 'interrupted'
    ready = lambda s: s['kind'] in ('preempted', 'runqueue')
    for r in rows:
        t0, t1 = r['t0'] + off, r['t1'] + off
        long, why = (t1 - t0) / 1e6, None
        blind = not NEEDS.get(r['phase'], set()) <= has
        lost_of = lambda tid=None: share(path, t0, t1, lambda s: s['kind'] == 'unknown' and tid in (None, s['tid']))
        if r['role'] == 'main':     # while it waits, the path is on others, and is known
            mine = share(path, t0, t1, lambda s: s['depth'] == 0)
            # (The root file system of that machine is no block device: its reads end with an IRQ that tells nothing.)
            lost = share(path, t0, t1, lambda s: s['kind'] == 'unknown' and 'virtio0-requests' not in s['detail'])
            blocked = sum(max(0, min(t1, w['start_ns'] + w['dur_ns']) - max(t0, w['start_ns'])) for w in tree['waits']) / 1e6
            idle = blocked < (0.8 if name == 'single' else 0.4) * long  # main drops caches, forks; a slow tracer makes it long
            why = (idle or mine > long - blocked + 0.01 or (lost > 0.05 * long and not blind)) and 'on main %.1f, unknown %.1f of %.1f ms, of which it waited %.1f' % (mine, lost, long, blocked)
        elif r['role'] == 'sleeper':
            ms = int(r['note'].split()[1])
            got = share(path, t0, t1, lambda s: s['kind'] == 'timer' and s['tid'] == r['tid'])
            if blind:   # that it slept is all that is shown
                got = 1.01 * (got + lost_of(r['tid']))
            why = got < ms and 'timer %.1f of %d ms' % (got, ms)
        elif r['role'] == 'parent':
            child = int(r['note'].split()[1])
            # the child or, when it has none, whoever has its CPU; and its reads from the disk
            got = share(path, t0, t1, lambda s: s['tid'] == child)
            why = got < 0.6 * long and 'on the child %.1f of %.1f ms' % (got, long)
        elif r['role'] == 'consumer':
            got = share(path, t0, t1, lambda s: s['tid'] == tid['producer'] and running(s))
            # It may have computed a part of a number while the consumer had not come to wait for it yet, or had no CPU
            # because of that.
            mine = 0 if name == 'single' else share(path, t0, t1, lambda s: s['tid'] == r['tid'] and running(s))
            got += 0 if name == 'single' else share(path, t0, t1, lambda s: ready(s) and '(%d)' % tid['producer'] in s['detail'])
            why = (got + mine < 0.97 * 5 * 8 or got < 0.85 * 5 * 8) and 'on the producer, running, %.1f of 40 ms' % got
        elif r['role'] == 'writer':
            got = share(path, t0, t1, lambda s: s['kind'] == 'disk' or (s['comm'] or '').startswith('jbd2') or running(s) or ready(s))
            disk = share(path, t0, t1, lambda s: s['kind'] == 'disk')
            if blind:   # then an IRQ ended the wait, and nobody can tell more
                got += lost_of()
                disk = True
            why = (got < 0.97 * long or not disk) and '%s ms disk, %.1f of %.1f known' % (disk, got, long)
        elif r['role'] == 'server':
            got = share(path, t0, t1, lambda s: s['tid'] == r['tid'] and (running(s) or ready(s)))
            slept = share(path, t0, t1, lambda s: s['tid'] == r['tid'] and s['kind'] == 'timer')
            client = share(path, t0, t1, lambda s: s['tid'] == tid['client'])  # two on one CPU: it may be the client's turn
            cpu = int(r['note'].split()[0]) * (1 if name == 'single' else 0.75)     # it begins while the client still runs
            if blind:
                client += lost_of()
                slept = 5
            why = (got + client < cpu or 'timer' in r['note'] and slept < 5) and 'server %.1f, slept %.1f ms' % (got, slept)
        elif r['role'] == 'client':     # its own path, for the request that it timed
            own, server = own_path(r['tid']), tid['server', r['phase']]
            cpu, ms = (5, 5) if r['phase'] == 'tcp' else (6, 0)
            got = share(own, t0, t1, lambda s: s['tid'] == server and (running(s) or ready(s)))
            mine = 0 if name == 'single' else share(own, t0, t1, lambda s: s['tid'] == r['tid'])
            slept = share(own, t0, t1, lambda s: s['tid'] == server and s['kind'] == 'timer')
            if blind:
                got += share(own, t0, t1, lambda s: s['kind'] == 'unknown')
                slept = ms
            why = (got + mine < 0.95 * cpu or slept < 0.97 * ms) and 'on the server: ran %.1f, slept %.1f of %.1f ms' % (got, slept, long)
        elif r['role'].startswith('wl-lock'):   # from asking for the lock until it has it: the holders, each of whom computes
            own, locks = own_path(r['tid']), {x['tid'] for x in rows if x['role'].startswith('wl-lock')}
            got = share(own, t0, t1, lambda s: s['tid'] in locks and (running(s) or ready(s)))
            holder = int(r['note'].rsplit(' ', 1)[1])
            others = [s['tid'] for s in own['segments'] if s['start_ns'] < t1 and s['start_ns'] + s['dur_ns'] > t0 and s['tid'] in locks - {r['tid']}]
            if blind:
                got += share(own, t0, t1, lambda s: s['kind'] == 'unknown')
            # A lock that was free when it was asked for shows nobody.
            why = (got < 0.95 * long - 0.06 or (others[-1:] != [holder] and holder and long > 0.5 and not blind)) and (
                "on the lock's threads %.1f of %.1f ms, the last one %s" % (got, long, others[-1:]))
        elif r['role'].startswith('spin'):
            got = share(path, t0, t1, lambda s: s['kind'] == 'preempted' and 'wl-spin' in s['detail'])
            why = got < 20 and 'preempted by the other spinner for %.1f ms' % got
        elif r['role'] == 'faulter':
            got = share(path, t0, t1, lambda s: s['kind'] in ('disk', 'fault'))
            waits = path_agrees.ask(W, 'tree', trace, r['tid'])['waits'] if name != 'single' else [1]   # all may have been quick
            if blind:
                got += lost_of(r['tid'])
            why = waits and not got and 'no fault on the path'
        else:
            continue
        check([why] if why else [], '%s: %s, %s %d: %s' % (name, r['phase'], r['role'], r['tid'], r['note'][:50]))


if not os.path.isdir(DIR):
    print('1..0 # SKIP no shared traces')
    sys.exit(77)
schema = json.load(open(os.path.join(TESTS, 'schema/path.json')))
# An LTTng session is the folder above its streams' folders; rotated and snapshot ones have several of those.
kernels = {os.path.dirname(m) for m in glob.glob(DIR + '/**/metadata', recursive=True) if '/ust' not in m}
traces = sorted({os.path.dirname(k) for k in kernels} | set(glob.glob(DIR + '/**/*.dat', recursive=True)) | set(glob.glob(DIR + '/**/*.data', recursive=True)))
asked = 0
for t in traces:
    r = any_trace(t, schema)
    if r:
        asked += r[1]
        check(r[0], '%s: %d threads: schema, end to end, as the tree' % (os.path.relpath(t, DIR), r[1]))
check([] if asked > 20 else ['%d' % asked], 'many threads were asked about (%d)' % asked)
nfs = run('path', '--json', '-q', '--comm', 'dd', os.path.join(DIR, 'nfs-loopback/nfs-events/trace.dat'))
on = {s['comm'] for s in json.loads(nfs[1])['segments']}
check([] if nfs[0] == 0 and 'nfsd' in on and any(c and c.startswith('kworker') for c in on) else [sorted(map(str, on))],
      "nfs-loopback: dd's path goes through the client's worker to the server's nfsd")

def between(trace, first, second, nobody=False):
    """--between: the two events as babeltrace2 has them, and the thread that the second is of: who had the CPU, else whom
    it woke or put on it; nobody: neither."""
    p = subprocess.run(['babeltrace2', '--clock-seconds', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    at, tid, on = [], None, {}
    for line in p.stdout.splitlines():
        m = re.match(r'\[(\d+)\.(\d{9})\] .*? (\w+): \{ cpu_id = (\d+) \}', line)
        if not m:
            continue
        had = on.get(m.group(4), 0)
        names = re.search(r'\b(?:next_)?tid = (\d+)', line.split('}', 1)[1])
        if m.group(3) == (first, second)[len(at)]:
            at.append(int(m.group(1)) * 10**9 + int(m.group(2)))
            if len(at) == 2:
                tid = had or int(names.group(1)) if had or names else 0
                break
        if m.group(3) == 'sched_switch':
            on[m.group(4)] = int(re.search(r'next_tid = (\d+)', line).group(1))
    rc, out = run('path', '--json', '-q', '--between', first, second, trace)
    text = 'path --between %s %s is from the one to the other, of the thread of the latter' % (first, second)
    if nobody:
        check([] if rc == 2 and not tid and not out else [rc, tid], text + ': refused, as that is nobody')
        return None
    j = json.loads(out)
    bad = path_agrees.shape(j)
    said = (j['begin_ns'], j['begin_ns'] + j['wall_ns'], j['target']['tid'])
    if len(at) != 2 or said != (at[0], at[1], tid):
        bad.append('%s, babeltrace2 %s' % (said, (at, tid)))
    check(bad, text)
    return j


j = between(os.path.join(DIR, 'single/trace'), 'syscall_entry_fsync', 'syscall_exit_fsync')
check([] if any(s['kind'] == 'disk' for s in j['segments']) else [j['segments']], 'and goes to the disk')
for second in ('sched_waking', 'sched_switch', 'sched_wakeup'):     # on an idle CPU the first and the last
    between(os.path.join(DIR, 'single/trace'), 'syscall_entry_fsync', second)
between(os.path.join(DIR, 'single/trace'), 'syscall_entry_fsync', 'irq_handler_entry', nobody=True)
for known in sorted(glob.glob(DIR + '/*/truth.txt')):
    where = os.path.dirname(known)
    for trace in ('trace', 'trace.dat', 'perf.data'):
        if os.path.exists(os.path.join(where, trace)):
            zoo(os.path.basename(where), os.path.join(where, trace), list(truth(known)))

# What the other READMEs say. Without sched_switch nobody can say who waited, and nobody is said.
for t in ('tracecmd-fgraph/trace.dat', 'nfs-loopback/nfs-fgraph/trace.dat', 'ust-mpi', 'variants/tc-depth2.dat'):
    p = subprocess.run([W, 'path', os.path.join(DIR, t)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check([] if (p.returncode, p.stdout) == (1, b'') and b'sched_switch' in p.stderr else [p.returncode, p.stderr],
          t + ': no switches, so no path, and why')
# perf's own records of switches tell who ran and who was ready, and of no wakeup: nobody is said to be behind a wait.
p = subprocess.run([W, 'path', '--json', '-q', os.path.join(DIR, 'variants/perf-switch.data')], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
segments = json.loads(p.stdout)['segments']
check([s for s in segments if s['tid'] != segments[0]['tid'] or s['kind'] not in ('unknown', 'running', 'runqueue', 'preempted')] +
      [(a, b) for a, b in zip(segments, segments[1:]) if a['start_ns'] + a['dur_ns'] != b['start_ns']],
      "variants/perf-switch.data: perf's records of switches, no wakeups: %d segments, each the thread's own" % len(segments))
# What was lost: counted as by their makers, and what it touches is uncertain.
for t, lost in (('lt-discard', None), ('tc-lossy.dat', 2552), ('perf-lossy.data', None)):
    rc, out = run('path', '--json', '-q', os.path.join(DIR, 'variants', t))
    j = json.loads(out)
    found = j['hosts'][0]['loss']['lost_events']
    unsure = sum(s['dur_ns'] for s in j['segments'] if s.get('uncertain'))
    check([] if rc == 3 and found and lost in (None, found) and unsure and unsure == j['summary']['uncertain_ns'] else [rc, found, unsure],
          'variants/%s: %d events lost, exit 3, %.0f of %.0f ms uncertain' % (t, found, unsure / 1e6, j['wall_ns'] / 1e6))
# Flame graphs: as flamegraph.pl and inferno read a line (frames between semicolons, a space, a count), with the JSON's sums;
# and a token a kind in the sums.
for t in ('single/trace', 'perf-sched/perf.data', 'tracecmd-single/trace.dat', 'nfs-loopback/nfs-events/trace.dat', 'variants/lt-discard'):
    j = json.loads(run('path', '--json', '-q', os.path.join(DIR, t))[1])
    lines = run('path', '--folded', '-q', os.path.join(DIR, t))[1].decode().splitlines()
    got = [re.fullmatch(r'([^;]+(?:;[^;]+)*) (\d+)', l) for l in lines]
    kinds = [k['name'] for k in j['summary']['kinds']]
    count = collections.Counter(s['kind'] for s in j['segments'])
    spent = {k: sum(s['dur_ns'] for s in j['segments'] if s['kind'] == k) for k in count}
    bad = [l for l, m in zip(lines, got) if not m]
    if not bad and [int(m.group(2)) for m in got] != [s['dur_ns'] for s in j['segments']]:
        bad.append('folded has other times than JSON')
    bad += ['no %s in %s' % (s['kind'], m.group(1)) for s, m in zip(j['segments'], got) if m and s['kind'] not in m.group(1).split(';')]
    if {k['name']: (k['count'], k['ns']) for k in j['summary']['kinds']} != {k: (count[k], spent[k]) for k in count} or len(kinds) != len(set(kinds)):
        bad.append('kinds: %s' % kinds)
    check(bad, t + ': folded lines, and each kind once with the sum of its segments')
sys.exit(tap.end())
