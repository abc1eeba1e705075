"""What the oracles with lttng-analyses (Debian's python3-lttnganalyses 0.6.1) share.

Its analyses are other people's reading of LTTng's kernel traces; compare() holds whywait's answers about
one trace against theirs: CPU time and time from wakeup to running of every thread, system calls by name of
every thread, hard interrupts by number, and how long these took; compare_io() bytes read and written by every thread, the times of reads,
writes and syncs, the disks' requests. It knows no irq_softirq_* (LTTng 2.8 and later), so softirqs are
not compared.

The package dies on every state dump of LTTng 2.9 and later, because lttng_statedump_file_descriptor has no
`pid` any more. Run as a program, this file starts one of its commands with that one handler left out:

  lttng_oracle.py lttng-cputop-mi TRACE..."""
import importlib.metadata, json, os, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, call_name

ON_CPU = ('running', 'running-user', 'running-kernel', 'interrupted', 'stolen')
SHARE = 0.01            # of the CPU time that may differ
ROUND_NS = 2            # theirs is a share of the trace, in double precision


def start_command(name):
    from lttnganalyses.linuxautomaton import statedump
    statedump.StatedumpStateProvider._process_lttng_statedump_file_descriptor = lambda self, event: None
    for e in importlib.metadata.distribution('lttnganalyses').entry_points:
        if e.group == 'console_scripts' and e.name == name:
            return e.load()()
    return 'no command ' + name


def installed():
    try:
        importlib.metadata.distribution('lttnganalyses')
    except importlib.metadata.PackageNotFoundError:
        return False
    return bool(shutil.which('babeltrace'))


def figures(row):
    """(n, shortest, mean, longest) of a row of theirs; unknown ones are None."""
    return tuple(c.get('value') for c in row[1:5])


def same_figures(ours, theirs):
    """ours: (n, shortest or None, sum, longest). Their mean is a double."""
    n, least, total, most = ours
    return (n, most) == (theirs[0], theirs[3]) and least in (None, theirs[1]) and abs(total - theirs[2] * n) <= ROUND_NS


class Theirs:
    """cpu {tid: ns}, ready {tid: ns from the wakeup to the CPU}, calls {tid: {name: n}}, irqs {number: n}"""

    def __init__(self, trace):
        self.trace = trace
        self.cpu = self.cpu_times()
        self.ready, self.calls, self.irqs = {}, {}, {}
        self.times, self.irq_times = {}, {}     # {tid: {name: figures}}, {number: figures}: (n, shortest, mean, longest)
        for r in self.ask('schedlog', '--limit', '1000000000')[0]['data']:
            self.ready[r[5]['tid']] = self.ready.get(r[5]['tid'], 0) + r[2]['value']
        for table in self.ask('syscallstats'):
            title = table['class'].get('title', '') if isinstance(table['class'], dict) else ''
            if 'TID: ' in title:
                tid = int(title.rsplit('TID: ', 1)[1].rstrip(')]'))
                self.calls[tid] = {call_name(r[0]['name']): r[1]['value'] for r in table['data']}
                self.times[tid] = {call_name(r[0]['name']): figures(r) for r in table['data']}
        for table in self.ask('irqstats'):
            for r in table['data']:
                if r[0]['hard']:
                    self.irqs[r[0]['nr']] = r[1]['value']
                    self.irq_times[r[0]['nr']] = figures(r)

    def cpu_times(self, *options):
        top = self.ask('cputop', '--limit', '1000000', *options)[0]
        dur = top['time-range']['end']['value'] - top['time-range']['begin']['value']
        return {r[0]['tid']: r[3]['value'] * dur for r in top['data'] if r[0]['tid']}

    def ask(self, name, *options):
        # Not only the time in which all streams have events: a CPU's first event may be late.
        p = subprocess.run(['/usr/bin/python3', __file__, 'lttng-%s-mi' % name, '--no-intersection', self.trace,
                            *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250)
        if p.returncode:
            raise RuntimeError('lttng-%s: exit %d: %s' % (name, p.returncode, (p.stdout + p.stderr).decode(errors='replace')[-300:]))
        return json.loads(p.stdout)['results']


class Ours:
    def __init__(self, whywait, trace):
        self.whywait, self.trace = whywait, trace
        self.hidden = set()     # threads at a switch that the kernel told nobody of
        self.early = {}         # tid: ready time that lttng-analyses does not count, see below
        self.irqs = {}
        self.follow(self.events('sched_*'), self.ask('info')['end_ns'])
        handler = {}
        for e in self.events('irq_handler_*'):
            irq = e['fields']['irq']
            if e['name'] == 'irq_handler_entry':
                handler[e['cpu']] = irq
            elif handler.pop(e['cpu'], None) == irq:
                self.irqs[irq] = self.irqs.get(irq, 0) + 1

    def follow(self, events, end_ns):
        """lttng-schedlog begins with the first wakeup that finds the thread on no CPU, and ends with its switch. A
        child is ready from its fork on; one that was woken before it left the CPU from when it left: no waking comes
        after that, at most a wakeup. What is ready when the trace ends has been so until then."""
        current, since, ready, woken = {}, {}, {}, set()
        for e in events:
            name, f, ts = e['name'], e['fields'], e['time_ns']
            if name == 'sched_process_fork':
                since[f['child_tid']] = ts
            elif name in ('sched_waking', 'sched_wakeup', 'sched_wakeup_new'):
                if name != 'sched_waking':
                    self.end_early(since, f['tid'], ts)
                since.pop(f['tid'], None)
                if f['tid'] in current.values():
                    woken.add(f['tid'])
                else:
                    ready.setdefault(f['tid'], ts)
            elif name == 'sched_switch':
                if current.get(e['cpu'], f['prev_tid']) != f['prev_tid']:
                    self.hidden |= {current[e['cpu']], f['prev_tid']}
                current[e['cpu']] = f['next_tid']
                self.end_early(since, f['next_tid'], ts)
                ready.pop(f['next_tid'], None)
                if f['prev_tid'] in woken and f['prev_state'] not in (0, 256):
                    since[f['prev_tid']] = ts
                woken -= {f['prev_tid'], f['next_tid']}
        for tid, ts in ready.items():
            self.early[tid] = self.early.get(tid, 0) + end_ns - ts

    def end_early(self, since, tid, ts):
        if tid in since:
            self.early[tid] = self.early.get(tid, 0) + ts - since.pop(tid)

    def ask(self, *args):
        p = subprocess.run([self.whywait, *args, '--json', '-q', self.trace], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, timeout=120)
        if p.returncode not in (0, 3):
            raise RuntimeError('whywait %s: exit %d' % (' '.join(args), p.returncode))
        return json.loads(p.stdout)

    def events(self, name):
        return self.ask('events', '-e', name)['events']

    def states(self, tid):
        return self.ask('report', '--tid', str(tid))['states']

    def leads(self):
        """{tid: ns} of threads that were on a CPU when its first event came: before, we say unknown, and lttng-cputop
        that the thread was there since the trace's begin."""
        rows = json.loads(subprocess.run([self.whywait, 'sql', '--json', '-q', self.trace,
            "SELECT tid, u.dur FROM state u JOIN state r ON r.utid = u.utid AND r.ts = u.ts + u.dur JOIN thread t ON t.utid = u.utid "
            "WHERE u.state = 'unknown' AND u.ts = trace_start() AND r.state LIKE 'running%' AND NOT t.is_idle"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120, check=False).stdout)['rows']
        return {r['tid']: r['dur'] for r in rows}

    def times(self, tid):
        return {r['name']: (r['count'] - r['unfinished'], r['min_ns'], r['total_ns'], r['max_ns'])
                for r in self.ask('syscalls', '--tid', str(tid))['rows'] if r['count'] > r['unfinished']}

    def irq_times(self):
        return {r['vector']: (r['count'], None, r['total_ns'], r['max_ns']) for r in self.ask('irq')['rows'] if r['kind'] == 'irq'}

    def usage(self):
        return {r['tid']: r['cpu_ns'] for r in self.ask('usage')['rows']}



def on_cpu(states):
    return sum(states.get(k, 0) for k in ON_CPU)


def differing_calls(ours, theirs, named):
    """What LTTng has no event for is one `unknown` to them, or nothing in a trace of ours."""
    both = {k for k in ours if k in named}
    bad = {k: (ours.get(k, 0), theirs.get(k, 0)) for k in both | set(theirs) - {'unknown'} if ours.get(k, 0) != theirs.get(k, 0)}
    rest = sum(n for k, n in ours.items() if k not in named)
    if theirs.get('unknown', 0) not in (0, rest):
        bad['unknown'] = (rest, theirs['unknown'])
    return bad


def compare(whywait, trace, ok, name, known=(), but=()):
    """ok(good, text, why) is called with each result; known: threads of which the calls are recorded in full (all of
    an LTTng trace: None); but: not these threads' times. False: hidden switches spoil the comparison of `known`.
    """
    ours, theirs = Ours(whywait, trace), Theirs(trace)
    if known and ours.hidden & set(known):
        return False
    named = {call_name(e['name'].split('syscall_entry_')[1]) for e in ours.events('*syscall_entry_*')}
    cpu, ready, calls, leads, usage, used, lengths = [], [], [], ours.leads(), ours.usage(), [], []
    n_times = n_calls = n_lengths = 0
    for tid, ns in theirs.cpu.items():
        if tid in but or tid in ours.hidden:    # where a switch was hidden they go on billing; we say unknown
            continue
        s = ours.states(tid)
        on = on_cpu(s)
        n_times += 1
        if abs(ns - on) > SHARE * ns + ROUND_NS and abs(ns - on - leads.get(tid, 0)) > ROUND_NS:
            cpu.append('tid %d: %d ns on a CPU, lttng-cputop says %d' % (tid, on, ns))
        got = usage.get(tid, 0)
        if abs(ns - got) > ROUND_NS and abs(ns - got - leads.get(tid, 0)) > ROUND_NS:
            used.append('tid %d: %d ns in usage, lttng-cputop says %d' % (tid, got, ns))
        mine = s.get('runqueue', 0) - ours.early.get(tid, 0)
        if abs(mine - theirs.ready.get(tid, 0)) > ROUND_NS:
            ready.append('tid %d: %d ns from wakeup to CPU, lttng-schedlog says %d' % (tid, mine, theirs.ready.get(tid, 0)))
    for tid in theirs.cpu:
        if (known is None and tid not in ours.hidden) or tid in (known or ()):
            lasted, its = ours.times(tid), theirs.times.get(tid, {})
            mine = {k: v[0] for k, v in lasted.items()}
            n_calls += sum(mine.values())
            bad = differing_calls(mine, theirs.calls.get(tid, {}), named)
            if bad:
                calls.append('tid %d: ours, lttng-syscallstats\': %s' % (tid, bad))
            both = set(lasted) & set(its)
            n_lengths += len(both)
            lengths += ['tid %d: %s: ours %s, theirs %s' % (tid, k, lasted[k], its[k]) for k in both
                        if k not in bad and not same_figures(lasted[k], its[k])]
    ok(n_times > 5 and not cpu, '%s: CPU time of %d threads is lttng-cputop\'s' % (name, n_times), '\n'.join(cpu))
    ok(n_times > 5 and not ready, '%s: ready time of %d threads is lttng-schedlog\'s' % (name, n_times), '\n'.join(ready))
    ok((n_calls > 0 or not named) and not calls, '%s: %d system calls are lttng-syscallstats\'' % (name, n_calls), '\n'.join(calls))
    ok((n_lengths > 0 or not named) and not lengths, "%s: how long the system calls of %d threads and names took is "
       "lttng-syscallstats'" % (name, n_lengths), '\n'.join(lengths))
    ok(n_times > 5 and not used, "%s: usage of %d threads is lttng-cputop's" % (name, n_times), '\n'.join(used))
    mine = ours.irq_times()
    ok(set(mine) == set(theirs.irq_times) and all(same_figures(mine[k], v) for k, v in theirs.irq_times.items()),
       "%s: how long %d kinds of hard interrupts took is lttng-irqstats'" % (name, len(mine)), 'ours %s, theirs %s' % (mine, theirs.irq_times))
    ok(ours.irqs == theirs.irqs, '%s: %d hard interrupts are lttng-irqstats\'' % (name, sum(theirs.irqs.values())),
       'ours %s, theirs %s' % (ours.irqs, theirs.irqs))
    return True


# lttnganalyses.linuxautomaton.sv.SyscallConsts
CALLS = {'Read': ('read', 'recvmsg', 'recvfrom', 'readv', 'pread', 'pread64', 'preadv'),
         'Write': ('write', 'sendmsg', 'sendto', 'writev', 'pwrite', 'pwrite64', 'pwritev'),
         'Sync': ('sync', 'sync_file_range', 'fsync', 'fdatasync')}


def tables(results):
    return {t['class'] if isinstance(t['class'], str) else t['class'].get('title'): t['data'] for t in results}


def compare_bytes(ours, top, ok, name):
    """A call that was entered before the trace, and returned within, has moved its bytes within: lttng-iousagetop leaves
    them out. So a thread with such a call has at least theirs, every other one exactly."""
    mine = {r['tid']: r for r in ours.ask('files', '--all', '--by=thread')['rows']}
    for what, column, kind in (('read', 'read_bytes', 'Read'), ('written', 'written_bytes', 'Write')):
        theirs = {r[0]['tid']: r[1]['value'] for r in top['Per-process top I/O operations [%s]' % what]}
        bad, late = [], 0
        for tid in set(theirs) | {t for t in mine if mine[t][column]}:
            n, got = theirs.get(tid, 0), mine.get(tid, {}).get(column, 0)
            if got != n:
                rows = ours.ask('syscalls', '--tid', str(tid))['rows']
                late += got > n
                if got < n or not any(r['entered_before'] for r in rows if r['name'] in CALLS[kind]):
                    bad.append('tid %d: theirs %d, ours %d' % (tid, n, got))
        ok(len(theirs) > 5 and not bad, "%s: bytes %s by %d threads are lttng-iousagetop's, of %d with those of a call from before"
           % (name, what, len(theirs), late), '\n'.join(bad))


def compare_processes(ours, top, ok, name):
    """Of a process that is the same for them and us in all its threads, what it read and wrote is the sum of theirs."""
    every = ours.ask('files', '--all', '--by=thread')['rows']
    theirs = {what: {r[0]['tid']: r[1]['value'] for r in top['Per-process top I/O operations [%s]' % what]} for what in ('read', 'written')}
    sums, spoilt = {}, set()
    for r in every:
        s = sums.setdefault(r['pid'], [0, 0])
        got = [theirs['read'].get(r['tid'], 0), theirs['written'].get(r['tid'], 0)]
        if got != [r['read_bytes'], r['written_bytes']]:
            spoilt.add(r['pid'])    # compare_bytes() says why
        s[0], s[1] = s[0] + got[0], s[1] + got[1]
    bad = ['process %d: %s, theirs %s' % (r['pid'], [r['read_bytes'], r['written_bytes']], sums.get(r['pid']))
           for r in ours.ask('files', '--all', '--by=process')['rows']
           if r['pid'] not in spoilt and [r['read_bytes'], r['written_bytes']] != sums.get(r['pid'])]
    ok(len(sums) - len(spoilt) > 3 and not bad, "%s: what %d processes read and wrote is the sum of lttng-iousagetop's threads"
       % (name, len(sums) - len(spoilt)), '\n'.join(bad))


def compare_latency(ours, latency, ok, name):
    calls = {r['name']: r for r in ours.ask('syscalls', '--all')['rows']}
    bad, n = [], 0
    for row in latency['syscall-latency-stats']:
        if row[0]['value'] not in CALLS:
            continue
        mine = [calls[c] for c in CALLS[row[0]['value']] if c in calls and calls[c]['count'] > calls[c]['unfinished']]
        count = sum(r['count'] - r['unfinished'] for r in mine)
        got = (count, min([r['min_ns'] for r in mine] or [0]), max([r['max_ns'] for r in mine] or [0]))
        total = sum(r['total_ns'] for r in mine)
        n += count
        if got != (row[1]['value'], row[2]['value'], row[4]['value']) or abs(total - row[3]['value'] * count) > 2:
            bad.append('%s: ours %s, %d ns; theirs %s' % (row[0]['value'], got, total, [x['value'] for x in row[1:5]]))
    ok(n > 0 and not bad, "%s: how long %d reads, writes and syncs took is lttng-iolatencystats'" % (name, n), '\n'.join(bad))


def compare_disks(ours, top, latency, ok, name):
    """They measure from issue to completion, and leave out requests without sectors."""
    disk, bad = {}, []
    for r in ours.ask('io')['rows']:
        if r['op'] != 'flush':
            d = disk.setdefault(r['device'], [0, 0, 0])
            d[0], d[1], d[2] = d[0] + r['count'] - r['partial'], d[1] + r['sectors'], d[2] + (r['device_ns'] or 0)
    sectors = {r[0]['name']: r[1]['value'] for r in top.get('per-disk-top-sector', [])}
    for r in latency.get('disk-latency-stats', []):
        got, want = disk.pop(r[0]['name'], None), (r[1]['value'], sectors[r[0]['name']], r[3]['value'] * r[1]['value'])
        if not got or got[:2] != list(want[:2]) or abs(got[2] - want[2]) > 2:
            bad.append('%s: ours %s, theirs %s' % (r[0]['name'], got, want))
    ok(not bad and not any(d[0] for d in disk.values()), "%s: the disks' requests, sectors and time in the device are "
       'lttng-iolatencystats\'' % name, '\n'.join(bad) or disk)


def compare_io(whywait, trace, ok, name):
    """Without system calls, or without requests, theirs lack the tables."""
    ours, theirs = Ours.__new__(Ours), Theirs.__new__(Theirs)
    ours.whywait, ours.trace, theirs.trace = whywait, trace, trace
    calls, requests = ours.events('*syscall_entry_*'), ours.events('block_rq_*')
    if not calls and not requests:
        return
    top, latency = tables(theirs.ask('iousagetop', '--limit', '1000000')), tables(theirs.ask('iolatencystats'))
    if calls:
        compare_bytes(ours, top, ok, name)
        compare_processes(ours, top, ok, name)
        compare_latency(ours, latency, ok, name)
    compare_disks(ours, top, latency, ok, name)


def kernel_copy(trace, tmp):
    """The tracer's version is read only of a trace whose directory is called kernel."""
    root = tempfile.mkdtemp(dir=tmp)
    shutil.copytree(trace, os.path.join(root, 'kernel'))
    return root


if __name__ == '__main__':
    sys.argv = sys.argv[1:]
    sys.exit(start_command(sys.argv[0]))
