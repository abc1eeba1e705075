#!/usr/bin/python3
"""The critical path of requests over three hosts, by real programs: Python's HTTP client -> Python's HTTP server ->
PostgreSQL with a synchronous commit on a real disk. The hosts are network namespaces of this machine, so one recording
has them all in one true clock; tests/tools/split-netns makes a trace of each, with a clock of its own.

What must be true of each request comes from the programs, which print when they began and ended: the path goes client
-> web -> database -> disk -> back; at least 95 % of the time that the client measured is on the host where the
programs say the request was; the commit's flush to the disk is on the path. TAP; exit 77 where it cannot be done."""
import json, os, re, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sync as hosts    # the namespaces, and the splitting of a recording

W, ok = hosts.W, hosts.ok
TIERS = os.path.join(os.environ.get('WW_SRC', '.'), 'tests/tools/tiers.py')
ROUNDS = 20
CLIENT, WEB, DB = 0, 1, 2
NAMES = ['h0', 'h1', 'h2']
AWAKE = ('runqueue', 'preempted', 'interrupted', 'stolen')
CLOCKS = [(37000000000, 170000), (-9000000000, -121000), (0, 0)]


def as_postgres(*cmd):
    return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] + list(cmd)


class Database:
    def __init__(self, netns, address, where):
        self.data = os.path.join(where, 'pg')
        os.mkdir(self.data)
        shutil.chown(self.data, 'postgres', 'postgres')
        os.chmod(where, 0o755)
        subprocess.run(as_postgres('initdb', '-A', 'trust', '-D', self.data), check=True, stdout=subprocess.DEVNULL, cwd=where)
        with open(os.path.join(self.data, 'pg_hba.conf'), 'a') as f:
            f.write('host all all 10.77.0.0/16 trust\n')
        # No checkpoints and vacuums meanwhile: they would be true, and not what is measured.
        opts = ['listen_addresses=' + address, 'unix_socket_directories=' + self.data, 'fsync=on', 'synchronous_commit=on',
                'autovacuum=off', 'checkpoint_timeout=1h', 'jit=off']
        cmd = ['ip', 'netns', 'exec', netns] + as_postgres('postgres', '-D', self.data)
        for o in opts:
            cmd += ['-c', o]
        self.log = open(os.path.join(where, 'pg.log'), 'w')
        self.p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=where)
        for _ in range(100):
            if subprocess.run(self.psql('SELECT 1'), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        subprocess.run(self.psql('CREATE TABLE acct (id int primary key, bal int); INSERT INTO acct SELECT g, 0 FROM '
                                 'generate_series(1, 100) g; CHECKPOINT'), check=True, stdout=subprocess.DEVNULL)

    def psql(self, sql):
        return ['psql', '-q', '-h', self.data, '-U', 'postgres', '-c', sql]

    def close(self):
        self.p.terminate()
        self.p.wait(30)


def record(net, db, where):
    run = lambda i: 'ip netns exec %s %s %s' % (net.names[i], sys.executable, TIERS)
    script = ('%s web 10.77.1.2 & web=$!; echo "1 $web"; %s client 10.77.0.2 %d & c=$!; echo "0 $c"; wait $c; kill $web'
              % (run(WEB), run(CLIENT), ROUNDS))
    p = subprocess.run([W, 'record', '-q', '-a', '-o', where, '--', 'sh', '-c', script], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    pids, said = [[], [], [str(db.p.pid)]], {'request': {}, 'served': {}}
    for line in p.stdout.splitlines():
        f = line.split()
        if f[0] in said:
            said[f[0]][int(f[1])] = [int(x) for x in f[2:]]
        else:
            pids[int(f[0])].append(f[1])
    return p, pids, said


def raw_waits(trace, offset, tids):
    """As babeltrace2 prints the recording, on CLOCK_MONOTONIC: by thread when it was blocked (switched out and not ready any
    more, until it was woken), when some thread was in fdatasync, and when a request of the disk was done."""
    p = subprocess.run(['babeltrace2', '--clock-seconds', trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, text=True)
    blocked, since, on, flushing, flushes, done = {t: [] for t in tids}, {}, {}, {}, [], []
    for l in p.stdout.splitlines():
        m = re.match(r'\[(\d+)\.(\d{9})\] .*? (sched_switch|sched_waking|block_rq_complete|syscall_entry_fdatasync|syscall_exit_fdatasync): \{ cpu_id = (\d+) \}, (.*)', l)
        if not m:
            continue
        t, event, cpu, fields = int(m.group(1)) * 10**9 + int(m.group(2)) - offset, m.group(3), m.group(4), m.group(5)
        if event == 'sched_switch':
            prev, state, nxt = (int(x) for x in re.search(r'prev_tid = (\d+).*prev_state = (\d+).*next_tid = (\d+)', fields).groups())
            on[cpu] = nxt
            if prev in blocked and state & 255:
                since[prev] = t
        elif event == 'sched_waking':
            tid = int(re.search(r'\btid = (\d+)', fields).group(1))
            if tid in since:
                blocked[tid].append((since.pop(tid), t))
        elif event == 'block_rq_complete':
            done.append(t)
        elif event == 'syscall_entry_fdatasync':
            flushing[on.get(cpu)] = t
        elif on.get(cpu) in flushing:
            flushes.append((flushing.pop(on.get(cpu)), t))
    return blocked, flushes, done


def both_of(xs, ys, a, b):
    """Where one of xs and one of ys are, in [a, b)."""
    cut = ((max(x0, y0, a), min(x1, y1, b)) for x0, x1 in xs for y0, y1 in ys)
    return [(u, v) for u, v in cut if v > u]


def length(spans):
    return sum(v - u for u, v in spans)


def overlap(s, a, b):
    return max(0, min(b, s['start_ns'] + s['dur_ns']) - max(a, s['start_ns']))


def where(segments, c, questions, web_tid):
    """Of a request the ns that are on the right host.

    c: client's begin, server's start, its first question, the last answer, its end, the client's end. A question: before
    and after its sending, when its answer was there. While that is sent both may be it: the packet goes through within the
    call. From then on it is the database, but for the server's way to its wait, and from when the answer has woken it: it may
    have no CPU. What the server waits, and time on the wire, is nobody's."""
    right = 0
    # A client that did not come to its wait (it had no CPU: all hosts share this machine's) did not wait for anybody yet.
    own = next((s['start_ns'] for s in segments if s['host'] != 'h0'), c[5])
    at = lambda a, b, *allowed: sum(overlap(s, a, b) for s in segments if s['host'] in allowed and s['tid'])
    free = lambda a, b: sum(overlap(s, a, min(b, own)) for s in segments if s['kind'].startswith('running') or s['kind'] in AWAKE)
    between = [c[1]]
    for before, after, answered in questions:
        woken = max([before] + [min(s['start_ns'] + s['dur_ns'], answered) for s in segments if s['host'] == 'h2' and s['start_ns'] < answered])
        asks = min([answered] + [s['start_ns'] for s in segments if s['host'] == 'h2' and s['start_ns'] >= before])
        awake = sum(overlap(s, a, b) for a, b in ((after, asks), (max(after, woken), answered)) for s in segments if s['tid'] == web_tid and
                    s['host'] == 'h1' and (s['kind'].startswith('running') or s['kind'] in AWAKE))
        right += at(before, after, 'h1', 'h2') + at(after, woken, 'h2') + awake + free(before, answered)
        between += [before, answered]
    for a, b in zip(between[::2], between[1::2]):   # what the server does before, between and after its questions
        right += at(a, b, 'h1') + free(a, b)
    # The request on its way to the server, and the answer to the client: its second part waits for the client's ACK.
    right += sum(overlap(s, a, b) for a, b in ((c[0], c[1]), (c[3], c[5])) for s in segments if s['host'] in ('h0', 'h1'))
    return right


def judge(traces, said, truth, offset, common, whole):
    """common(host, t): a time of CLOCK_MONOTONIC in the set's time. whole: the recording that was split.

    All hosts share this machine's few CPUs: when the server, or the client, has none while the database works, it does not
    wait for the database, whose answer may be there before it comes to that. Whether it did wait, the events tell."""
    route, place, flush, shape, shares, unasked = [], [], [], [], [], []
    web_tids = {x[0] for x in said['served'].values()}
    blocked, flushes, done = raw_waits(whole, offset, web_tids | {x[0] for x in said['request'].values()})
    for n, (tid, begin, end) in sorted(said['request'].items()):
        own = lambda t: t + offset + CLOCKS[CLIENT][0] + (t + offset - truth['t0_ns']) * CLOCKS[CLIENT][1] // 10**9
        p = subprocess.run([W, 'path', '--json', '-q', '--tid', str(tid), '--from', str(own(begin)), '--to', str(own(end))] + traces,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        if p.returncode not in (0, 3):
            shape.append('request %d: exit %d: %s' % (n, p.returncode, p.stderr[:200]))
            continue
        segments = json.loads(p.stdout)['segments']
        if abs(sum(s['dur_ns'] for s in segments) - (end - begin)) > 0.001 * (end - begin) + 2000:
            shape.append('request %d: %d of %d ns' % (n, sum(s['dur_ns'] for s in segments), end - begin))
        tid_w, start, asked, sent, updated, commits, sent2, committed, answered = said['served'][n]
        c = [common(t) for t in (begin, start, asked, committed, answered, end)]
        hosts_of = [s['host'] for s in segments if s['tid']]
        order = [h for k, h in enumerate(hosts_of) if not k or hosts_of[k - 1] != h]
        # A client that got no CPU until the server had asked the database waits for the database at once: until then all
        # that is on the path is the client, ready or running.
        first = next((k for k, s in enumerate(segments) if s['host'] == 'h2'), None)
        direct = order[1:2] == ['h2'] and segments[first]['start_ns'] >= c[2] and all(
            s['kind'].startswith('running') or s['kind'] in AWAKE for s in segments[:first])
        both = both_of(blocked[tid_w], blocked[tid], begin, end)
        waiting = both_of(both, [(asked, updated), (commits, committed)], begin, end)
        # Some virtual machines hide the threads that run them, and with them what a CPU did meanwhile: the disk's interrupts too.
        seen = any(commits <= t <= committed for t in done)
        waited, flushed = length(waiting), length(both_of(both, flushes, commits, committed)) if seen else 0
        if not flushed:
            unasked.append('request %d' % n)
        if order[0] != 'h0' or order[-1] != 'h0' or order[1:3] != ['h1', 'h2'] and not direct and waited:
            route.append('request %d: %s' % (n, ' '.join(order)))
        right = where(segments, c, [[common(t) for t in q] for q in ((asked, sent, updated), (commits, sent2, committed))], tid_w)
        if waited > 300000:
            # The answer may be in flight for a quarter of a millisecond: the CPU that is to take it in has others to serve.
            on_db = sum(overlap(s, common(a), common(b)) for a, b in waiting for s in segments if s['host'] == 'h2' and
                        (s['tid'] or s['kind'] == 'tcp'))
            shares.append(min(1, (on_db + 50000) / waited))     # as exactly as the clocks are promised to be
        if right < 0.95 * (end - begin):
            place.append('request %d: %.3f of %.3f ms' % (n, right / 1e6, (end - begin) / 1e6))
            if os.environ.get('WW_KEEP'):
                place += ['  %8.3f %s' % ((s['start_ns'] - c[0]) / 1e6, ' '.join(str(s[k]) for k in ('host', 'tid', 'comm', 'dur_ns', 'kind', 'detail', 'via')))
                          for s in segments if s['dur_ns'] > 20000]
        commit = [s for s in segments if s['host'] == 'h2' and s['kind'] == 'disk' and overlap(s, common(updated), common(committed))]
        called = [s for s in segments if s['host'] == 'h2' and 'fdatasync' in (s['call'] or '')]
        if (not commit or not called) and flushed:
            flush.append('request %d: %d disk segments, %d in fdatasync; waited for it %d ns' % (n, len(commit), len(called), flushed))
    ok(not shape, 'the segments of each request sum to what the client measured', shape)
    ok(not route, 'each goes client -> web -> database, and comes back to the client', route)
    ok(not place, 'at least 95 % of each request is on the right host', place)
    ok(not flush, "each COMMIT's fdatasync and the disk are on the path", flush)
    ok(len(unasked) <= ROUNDS // 4, 'that is so of nearly all: in %d of %d nobody waited while the database flushed, or the disk was not seen' %
       (len(unasked), len(said['request'])), unasked)
    shares.sort()
    ok(len(shares) > ROUNDS // 2 and shares[0] > 0.95, "while client and web server wait, as the raw events tell, the path is on the database, "
       "or its answer in flight: in %d requests, least %.1f %%" % (len(shares), 100 * shares[0] if shares else 0))


def main():
    if os.geteuid() != 0 or subprocess.run([W, 'doctor'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        print('recording needs root and BPF')
        return 77
    if not all(shutil.which(x) for x in ('postgres', 'initdb', 'psql', 'setpriv')):
        print('PostgreSQL is not installed')
        return 77
    tmp = tempfile.mkdtemp(prefix='ww-tiers-', dir='/var/tmp')
    net = db = None
    try:
        net = hosts.Net(3, 3)
        for k, via in ((CLIENT, '10.77.0.2'), (DB, '10.77.1.1')):
            hosts.ip('-n', net.names[k], 'route', 'add', 'default', 'via', via)
        db = Database(net.names[DB], '10.77.1.2', tmp)
        p, pids, said = record(net, db, os.path.join(tmp, 'all'))
    finally:
        if db:
            db.close()
        if net:
            net.close()
    ok(p.returncode in (0, 3) and len(said['request']) == ROUNDS and len(said['served']) == ROUNDS + 1, '%d requests were recorded' %
       len(said['request']), p.stderr.splitlines())
    rc, text = hosts.split(net, pids, os.path.join(tmp, 'all'), os.path.join(tmp, 'split'), CLOCKS)
    ok(rc == 0, 'split into three traces', text.splitlines())
    if not hosts.tap.failed:
        truth = json.load(open(os.path.join(tmp, 'split/truth.json')))
        traces = [os.path.join(tmp, 'split', h) for h in NAMES]
        info = subprocess.run([W, 'threads', '--json', '-q', '--top', '1', os.path.join(tmp, 'all')], stdout=subprocess.PIPE, text=True)
        offset = json.loads(info.stdout)['clock']['offset_ns']
        hosts.sync(traces)
        # The path's times are those of its first trace's clock.
        common = lambda t: t + offset + CLOCKS[0][0] + (t + offset - truth['t0_ns']) * CLOCKS[0][1] // 10**9
        if os.environ.get('WW_KEEP'):
            json.dump({'said': said, 'offset': offset}, open(os.path.join(tmp, 'said.json'), 'w'))
        judge(traces, said, truth, offset, common, os.path.join(tmp, 'all'))
    if os.environ.get('WW_KEEP'):
        print('# kept ' + tmp)
    else:
        shutil.rmtree(tmp, ignore_errors=True)
    return hosts.tap.end()


if __name__ == '__main__':
    sys.exit(main())
