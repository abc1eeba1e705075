#!/usr/bin/python3
"""The clocks of hosts that are network namespaces of this machine, so that the truth is known: one recording is
split into a trace per namespace (tests/tools/split-netns), each with an offset and a drift of its own; `sync`
must recover them within the bounds that it claims itself, and within 50 us, and no packet may arrive before it
was sent.

  2 hosts: TCP and UDP, IPv4 and IPv6, bulk data in both directions (segments merged and split)
  3 hosts in a chain, and a fourth that talks to nobody
  10 hosts in a chain
  2 hosts and between them a relay that loses packets of some connections, and delays those of others, more in one
  direction (then the bound is wider than 50 us, and must hold all the same)

The last one's clock is also tried as the reference, by name. TAP; exit 77 where nothing can be recorded."""
import json, os, re, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

BUILD = os.environ.get('WW_BUILD', 'build')
W = os.environ.get('WHYWAIT', os.path.join(BUILD, 'whywait'))
SPLIT = os.path.join(BUILD, 'tests/tools/split-netns')
TALK = os.path.join(os.environ.get('WW_SRC', '.'), 'tests/tools/talk.py')
RELAY = os.path.join(os.environ.get('WW_SRC', '.'), 'tests/tools/relay.py')
WITHIN_NS = 50000
tap = Tap()
ok = tap.ok


def ip(*args, check=True):
    subprocess.run(['ip'] + list(args), check=check, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


class Net:
    """Namespaces wwK-0 ... wwK-(n-1), K this process; a link between each two neighbours below `linked`."""
    def __init__(self, n, linked):
        self.names = ['ww%d-%d' % (os.getpid(), i) for i in range(n)]
        self.ifs = [[] for _ in range(n)]
        for name in self.names:
            ip('netns', 'add', name)
            ip('-n', name, 'link', 'set', 'lo', 'up')
        for i in range(linked - 1):
            a, b = 'w%da' % i, 'w%db' % i
            ip('link', 'add', a, 'netns', self.names[i], 'type', 'veth', 'peer', 'name', b, 'netns', self.names[i + 1])
            for k, dev, end in ((i, a, 1), (i + 1, b, 2)):
                self.address(k, dev, i, end)

    def relay(self):
        """A third namespace between the first two, which are not linked: its devices are passed on by the relay."""
        self.names.append('ww%d-r' % os.getpid())
        ip('netns', 'add', self.names[2])
        for i, dev in enumerate(('w0a', 'w0b')):
            ip('link', 'add', dev, 'netns', self.names[i], 'type', 'veth', 'peer', 'name', dev + 'r', 'netns', self.names[2])
            ip('-n', self.names[2], 'link', 'set', dev + 'r', 'up')
            self.address(i, dev, 0, i + 1)
            subprocess.run(['ip', 'netns', 'exec', self.names[i], sys.executable, RELAY, '--plain', dev], check=True)

    def address(self, host, dev, link, end):
        ip('-n', self.names[host], 'addr', 'add', '10.77.%d.%d/24' % (link, end), 'dev', dev)
        ip('-n', self.names[host], 'addr', 'add', 'fd77:%x::%d/64' % (link, end), 'dev', dev, 'nodad')
        ip('-n', self.names[host], 'link', 'set', dev, 'up')
        self.ifs[host].append(dev)

    def close(self):
        for name in self.names:
            ip('netns', 'del', name, check=False)


def record(net, linked, talks, where):
    """Runs a server on every host but the first, then for each (client, family, kind) a client to the next host."""
    lines = []
    if len(net.names) > len(net.ifs):
        lines.append('ip netns exec %s /usr/bin/python3 %s w0ar w0br & servers="$servers $!"' % (net.names[-1], RELAY))
    for i in range(len(net.ifs)):
        lines.append('ip netns exec %s /usr/bin/python3 %s serve & echo "%d $!"; servers="$servers $!"' % (net.names[i], TALK, i))
    lines.append('clients=')
    for i, six, what in talks:
        peer = 'fd77:%x::2' % i if six else '10.77.%d.2' % i
        lines.append('ip netns exec %s /usr/bin/python3 %s %s %s & echo "%d $!"; clients="$clients $!"' % (net.names[i], TALK, what, peer, i))
    lines.append('wait $clients; kill $servers; wait')
    p = subprocess.run([W, 'record', '-q', '-a', '-o', where, '--', 'sh', '-c', '\n'.join(lines)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    pids, relayed = [[] for _ in net.ifs], None
    for line in p.stdout.splitlines():
        i, word = line.split(None, 1)
        if i == 'relay':
            relayed = json.loads(word)
        else:
            pids[int(i)].append(word)
    return p, pids, relayed


def split(net, pids, src, out, clocks):
    hosts = ['h%d:%s:%s:%d:%d' % (i, ','.join(net.ifs[i]) or 'none', ','.join(pids[i]), clocks[i][0], clocks[i][1])
             for i in range(len(net.ifs))]
    p = subprocess.run([SPLIT, src, out] + hosts, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, timeout=120)
    return p.returncode, p.stdout


def counted_by_babeltrace2(trace):
    p = subprocess.run(['babeltrace2', trace, '--component=sink.utils.counter'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=120)
    m = re.findall(r'(\d+) Event messages', p.stdout)     # it also says how far it is
    return int(m[-1]) if m else p.stdout


def sync(traces, *options):
    p = subprocess.run([W, 'sync', '--json'] + list(options) + traces, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=60)
    return p.returncode, json.loads(p.stdout) if p.stdout.strip() else None, p.stderr


def worst_error(answer, truth, host):
    """The largest error of a host's correction over its trace, ns."""
    ref = next(h for h in answer['hosts'] if h['reference'])
    clock = lambda name, t: t + truth['hosts'][name]['offset_ns'] + (t - truth['t0_ns']) * truth['hosts'][name]['drift_ppb'] // 10**9
    worst = 0
    for ms in range(0, 4000, 50):
        t = truth['t0_ns'] + ms * 10**6
        own = clock(host['host'], t)
        drift = round(host['drift_ppm'] * 10**9)
        got = own + host['offset_ns'] + (own - host['t0_ns']) * drift // 10**15
        worst = max(worst, abs(got - clock(ref['host'], t)))
    return worst


def check(what, answer, truth, expect_none=(), within=WITHIN_NS):
    bad, lines = [], []
    for h in answer['hosts']:
        if h['host'] in expect_none:
            continue
        error = worst_error(answer, truth, h)
        lines.append('%s: error %.1f us, bound %.1f us, %s' % (h['host'], error / 1e3, (h['bound_ns'] or 0) / 1e3, h['accuracy']))
        if h['accuracy'] not in ('accurate', 'reference') or h['bound_ns'] is None or error > h['bound_ns'] + 2:
            bad.append('outside its bound: ' + lines[-1])
        if within and error > within:
            bad.append('more than 50 us off: ' + lines[-1])
    ok(not bad, '%s: every clock within its bound%s' % (what, ' and 50 us' if within else ''), bad)
    for l in lines:
        print('#   ' + l)
    late = ['%s-%s: %d of %d' % (p['a'], p['b'], p['violations_after'], p['matched']) for p in answer['pairs'] if p['violations_after']]
    ok(not late, '%s: no packet arrives before it was sent' % what, late)


def scenario(what, hosts, linked, talks, clocks, tmp, min_matched):
    net = Net(hosts, linked)
    try:
        src, out = os.path.join(tmp, 'all'), os.path.join(tmp, 'split')
        for d in (src, out):
            shutil.rmtree(d, ignore_errors=True)
        p, pids, _ = record(net, linked, talks, src)
    finally:
        net.close()
    if p.returncode not in (0, 3) or not os.path.exists(os.path.join(src, 'metadata')):
        return p.stderr
    rc, text = split(net, pids, src, out, clocks)
    ok(rc == 0, what + ': split into %d traces' % hosts, text.splitlines())
    if rc:
        return None
    truth = json.load(open(os.path.join(out, 'truth.json')))
    traces = [os.path.join(out, 'h%d' % i) for i in range(hosts)]
    got, want = counted_by_babeltrace2(traces[0]), truth['hosts']['h0']['events']
    ok(got == want, what + ': babeltrace2 reads all %d events of the first' % want, str(got).splitlines())
    rc, answer, err = sync(traces)
    alone = ['h%d' % i for i in range(linked, hosts)]
    ok(answer is not None and rc == (3 if alone else 0), what + ': sync answers, exit %s' % rc, err.splitlines())
    if answer is None:
        return None
    check(what, answer, truth, alone)
    counts = ['%s-%s: %d matched, %d not' % (q['a'], q['b'], q['matched'], q['unmatched']) for q in answer['pairs']]
    ok(len(answer['pairs']) == linked - 1 and all(q['matched'] >= min_matched for q in answer['pairs']),
       what + ': packets between neighbours are matched', counts)
    few = [c for c, q in zip(counts, answer['pairs']) if q['unmatched'] * 50 > q['matched']]
    ok(not few, what + ': and at most 2 in a hundred have no other end', few)
    ok(answer['not_reached'] == alone, what + ': who shares no packets is named', [str(answer['not_reached'])])
    last = 'h%d' % (linked - 1)
    rc, answer, err = sync(traces, '--reference', last)
    ok(answer and next(h['host'] for h in answer['hosts'] if h['reference']) == last, what + ': ' + last + ' as the reference')
    check(what + ', by ' + last, answer, truth, alone)
    return None


def retransmits(trace):
    p = subprocess.run([W, 'net', '-q', '--json', '-a', '--no-cache', trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60)
    return sum(r['retransmits'] for r in json.loads(p.stdout)['rows'])


def lossy_wire(clocks, tmp):
    """What the relay lost has no other end, and was sent again; the bounds are those of the packets that it passed."""
    what, src, out = 'over a lossy and slow wire', os.path.join(tmp, 'all'), os.path.join(tmp, 'split')
    net = Net(2, 0)
    try:
        net.relay()
        for d in (src, out):
            shutil.rmtree(d, ignore_errors=True)
        p, pids, relayed = record(net, 2, [(0, False, 'tcp'), (0, True, 'tcp'), (0, False, 'bulk'), (0, False, 'udp')], src)
    finally:
        net.close()
    ok(relayed and relayed['lost'] > 20 and relayed['delayed'] > 200, '%s: %s' % (what, relayed), p.stderr.splitlines())
    rc, text = split(net, pids, src, out, clocks)
    ok(rc == 0, what + ': split into two traces', text.splitlines())
    if rc or not relayed:
        return
    truth, traces = json.load(open(os.path.join(out, 'truth.json'))), [os.path.join(out, h) for h in ('h0', 'h1')]
    again = [retransmits(t) for t in traces]
    ok(sum(again) > 10, '%s: sent again %s' % (what, again))
    for reference in ('h0', 'h1'):
        rc, answer, err = sync(traces, '--reference', reference)
        ok(rc == 0 and answer, '%s: sync answers, exit %s' % (what, rc), err.splitlines())
        if not answer:
            return
        check(what + ', by ' + reference, answer, truth, within=None)
        q = answer['pairs'][0]
        # Of what was lost, a part of a large packet that is split on its way leaves no packet without its other end.
        ok(q['matched'] > 700 and 20 < q['unmatched'] <= relayed['lost'] + 0.02 * q['matched'],
           '%s: %d matched, and without another end %d, of which the wire lost %d' % (what, q['matched'], q['unmatched'], relayed['lost']))


def main():
    if os.geteuid() != 0 or subprocess.run([W, 'doctor'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        print('recording needs root and BPF')
        return 77
    tmp = tempfile.mkdtemp(prefix='ww-sync-', dir='/var/tmp')
    clocks = [(37000000000, 170000), (-9000000000, -421000), (0, 0), (112280000000, 35000), (1, 499000)]
    try:
        why = scenario('2 hosts', 2, 2, [(0, False, 'tcp'), (0, True, 'tcp'), (0, False, 'udp'), (0, False, 'bulk')], clocks, tmp, 400)
        if why:
            print(why)
            return 77 if tap.n == 0 else 1
        scenario('3 hosts', 4, 3, [(0, False, 'tcp'), (1, True, 'tcp'), (1, False, 'udp')], clocks, tmp, 300)
        many = [((i * 7919 % 23 - 11) * 10**9, (i * 104729 % 901 - 450) * 1000) for i in range(10)]
        lossy_wire(clocks, tmp)
        scenario('10 hosts', 10, 10, [(i, i % 2 == 1, 'tcp') for i in range(9)], many, tmp, 300)
    finally:
        if not os.environ.get('WW_KEEP'):
            shutil.rmtree(tmp, ignore_errors=True)
        else:
            print('# kept ' + tmp)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
