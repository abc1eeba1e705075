#!/usr/bin/python3
"""The critical path over three real kernels with three clocks, held to what the programs on them wrote down.

$WW_TRACES/cluster3: a client asks a web server 20 times, which asks PostgreSQL twice each time (UPDATE, COMMIT);
LTTng recorded each. client.tsv and web.tsv have the times of each request, each by its own wall clock. Oracle:
those files, and the README there: most of a request is some 40 ms of Nagle's algorithm against a delayed ACK
between the web server's header segment and its body; each COMMIT waits for its fdatasync. TAP.
"""
import json, os, re, shutil, subprocess, sys

W = os.environ.get('WHYWAIT', 'whywait')
DIR = os.path.join(os.environ.get('WW_TRACES', '/nonexistent'), 'cluster3')
TRACES = [os.path.join(DIR, h, 'trace') for h in ('client', 'web', 'db')]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

tap = Tap()
check = tap.none


def ask(what, *args):     # path's times are those of the first trace's clock; let sync's be, too
    args = list(args) + (['--no-store', '-r', TRACES[0]] if what == 'sync' else [])
    p = subprocess.run([W, what, '--json', '-q'] + args + TRACES, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=100)
    if p.returncode:
        raise SystemExit('%s: exit %d' % (what, p.returncode))
    return json.loads(p.stdout)


def rows(name):
    for line in open(os.path.join(DIR, name)):
        if not line.startswith('#'):
            yield line.split('\t')


def part(segments, host, start, end, test=lambda s: True):
    return sum(max(0, min(end, s['start_ns'] + s['dur_ns']) - max(start, s['start_ns']))
               for s in segments if s['host'] == host and test(s))


if not os.path.isdir(DIR):
    print('1..0 # SKIP no shared traces')
    sys.exit(77)
sync = {h['host']: h for h in ask('sync')['hosts']}


def common(host, t):
    h = sync[host]
    return t + h['offset_ns'] + round(h['drift_ppm'] * 1e-6 * (t - h['t0_ns']))


def raw(host, pattern):
    """What babeltrace2 prints of that host's events: (time on the set's clock, event, its fields)."""
    p = subprocess.run(['babeltrace2', '--clock-seconds', os.path.join(DIR, host, 'trace')], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for l in p.stdout.splitlines():
        m = re.match(r'\[(\d+)\.(\d{9})\] .*? (%s): \{ [^}]*\}, (.*)' % pattern, l)
        if m:
            yield common(host, int(m.group(1)) * 10**9 + int(m.group(2))), m.group(3), m.group(4)


def flushes():
    """The database's calls of fdatasync."""
    begin = None
    for t, event, _ in raw('db', r'syscall_\w+_fdatasync'):
        if event == 'syscall_entry_fdatasync':
            begin = t
        elif begin is not None:
            yield begin, t


def switched_out(tid):
    """When a thread of the web server had no CPU, from switch to switch."""
    since = None
    for t, _, fields in raw('web', 'sched_switch'):
        if 'prev_tid = %d,' % tid in fields:
            since = t
        elif 'next_tid = %d,' % tid in fields and since is not None:
            yield since, t


client = [(int(r[1]), int(r[2]), int(r[3])) for r in rows('client/client.tsv')]
web = [[int(x) for x in r[2:7]] for r in rows('web/web.tsv')][1:]  # the first is the warm-up, by another client
check([] if len(client) == len(web) == 20 else ['%d and %d' % (len(client), len(web))], 'both have 20 requests')
shape, nagle, no_nagle, disk, stopped, place, route = [], 0, [], [], [], [], []
WEB_TID = 225
synced, off_cpu = list(flushes()), list(switched_out(WEB_TID))
bound = max(h['bound_ns'] for h in sync.values())
for i, ((tid, start, end), w) in enumerate(zip(client, web)):
    p = ask('path', '--tid', str(tid), '--from', str(start), '--to', str(end))
    s = p['segments']
    at = p['begin_ns']
    for x in s:
        if x['start_ns'] != at:
            shape.append('request %d: a hole at %d' % (i + 1, at))
        at += x['dur_ns']
    if at != p['begin_ns'] + p['wall_ns'] or abs(p['wall_ns'] - (end - start)) > 20000:
        shape.append('request %d: %d of %d ns' % (i + 1, at - p['begin_ns'], end - start))
    held = [x for x in s if x['kind'] == 'timer' and 'Nagle' in x['detail']]
    ms = sum(x['dur_ns'] for x in held) / 1e6
    if held and 30 < ms < 60 and all(x['host'] == 'client' for x in held):
        nagle += 1
    else:
        no_nagle.append('request %d: %.1f ms' % (i + 1, ms))
    w = [common('web', t) for t in w]
    commit = [x for x in s if x['host'] == 'db' and x['kind'] == 'disk' and w[2] - 2e6 < x['start_ns'] < w[3] + 2e6]
    if not any('fdatasync' in (x['call'] or '') for x in s if x['host'] == 'db') or not commit:
        # Did the web server go to wait only when the flush was over? (In one the emulator stopped its CPU for 3.5 ms just
        # before the switch.) The events say so, or it is an error.
        own = [f for f in synced if w[2] - bound < f[0] and f[1] < w[3] + bound]
        waited = sum(max(0, min(b, f[1] - bound) - max(a, f[0] + bound)) for f in own for a, b in off_cpu)
        (stopped if len(own) == 1 and not waited else disk).append('request %d: flushed %s, web server off its CPU in it for %d ns' %
                                                                  (i + 1, ['%d ns' % (b - a) for a, b in own], waited))
    # From the server's first line until the database has answered, the path is on one of the two or between them.
    inside = w[3] - w[0]
    there = part(s, 'web', w[0], w[3]) + part(s, 'db', w[0], w[3])
    if there + bound < 0.95 * inside:
        place.append('request %d: %.1f of %.1f ms' % (i + 1, there / 1e6, inside / 1e6))
    hosts = [x['host'] for k, x in enumerate(s) if x['tid'] and (not k or s[k - 1]['host'] != x['host'])]
    if hosts[0] != 'client' or hosts[-1] != 'client' or not {'web', 'db'} <= set(hosts):
        route.append('request %d: %s' % (i + 1, ' '.join(hosts)))
same_clock = []
for (tid, *_), w in list(zip(client, web))[:5]:     # by the web server's log, on its clock
    p = ask('path', '--host', 'web', '--tid', '225', '--from', str(w[0]), '--to', str(w[4]))
    if (p['begin_ns'], p['wall_ns'], p['target']['host']) != (w[0], w[4] - w[0], 'web'):
        same_clock.append('%s, asked for %d and %d' % ([p['begin_ns'], p['wall_ns'], p['target']['host']], w[0], w[4] - w[0]))
check(same_clock, "times are on the clock of the host whose path it is: asked for by the web server's log, and in the answer")
check(shape, 'the segments lie end to end and sum to each request as the client timed it')
check(no_nagle if nagle < 18 else [], "Nagle's algorithm against a delayed ACK, some 40 ms: named in %d of 20" % nagle)
check([] if len(synced) == 20 else [str(len(synced))], 'the database called fdatasync for each COMMIT')
check(disk + (stopped if len(stopped) > 1 else []), 'each COMMIT whose flush the web server waited for (%d of 20): the fdatasync and '
      'the disk on the database host; in the others it had the CPU meanwhile: %s' % (20 - len(stopped), stopped))
check(place, 'at least 95 % of the time that the web server measured is on it or on the database')
check(route, 'each goes client -> web -> database -> ... -> client')
# A thread that is not on the first trace's host: where it is.
tid = client[0][0]
lost = subprocess.run([W, 'path', '-q', '--tid', str(tid), '--from', str(client[0][1]), '--to', str(client[0][2])] + TRACES[::-1],
                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
has = [h for h in ('web', 'client') if any('tid = %d' % tid in fields for _, _, fields in raw(h, 'sched_switch'))]
check([] if lost.returncode == 1 and 'client' in has and lost.stderr.rstrip().endswith('on ' + ', '.join(has)) else [lost.stderr, str(has)],
      'a thread of another host: its hosts are named (%s)' % has)
# Two hosts without a common packet: named, and made one by what was found out when the third was there.
for host, t in zip(('client', 'web', 'db'), TRACES):
    shutil.copytree(t, host, copy_function=shutil.copyfile)
    os.chmod(host, 0o700)
far = subprocess.run([W, 'path', '--json', '-q', 'client', 'db'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
j = json.loads(far.stdout)
check([] if (far.returncode, j['not_reached'], j['hosts'][1]['clock']['accuracy']) == (3, ['db'], 'none') else [far.returncode, j['hosts']],
      'client and database share no packets: the path says so, exit 3')
subprocess.run([W, 'sync', '-q', 'client', 'web', 'db'], stdout=subprocess.DEVNULL, check=True)
for order in (('client', 'db'), ('db', 'client')):
    got = subprocess.run([W, 'path', '--json', '-q', *order], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    j = json.loads(got.stdout)
    said = got.returncode, j['not_reached'], [h['clock']['accuracy'] for h in j['hosts']], j['target']['host']
    check([] if said == (0, [], ['reference', 'accurate'], order[0]) else [said],
          'once all three were synchronised they can be read together, on the clock of the first: %s' % order[0])
sys.exit(tap.end())
