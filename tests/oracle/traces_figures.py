#!/usr/bin/python3
"""The common options mean the same for every figure: --top, --sort, --from, --to, --tid, --pid, --comm, --cgroup, --json.

  traces_figures.py [TRACE...]     WHYWAIT, WW_TRACES in the environment

The oracle is arithmetic: what is counted in two halves of the time is what is counted in the whole, what all threads have
each is what all have together, the first rows are those of all rows. Traces: one of LTTng, one of trace-cmd, one of perf."""
import collections, json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, shared_traces

W = os.environ['WHYWAIT']
TRACES = ('single/trace', 'tracecmd-v7-none/trace.dat', 'perf-sched-syscalls/perf.data')
COMMANDS = 'usage sched syscalls files faults io irq locks procs net threads'.split()
# Columns that add up over halves of the time, and over the threads that are asked for. Not there: what belongs to a
# point in time of another row (a longest one), and waits that lie over the middle.
ADD_TIME = {'usage': ['cpu_ns', 'runs'], 'usage_process': ['cpu_ns'], 'usage_cpu': ['busy_ns', 'other_ns', 'idle_ns', 'unknown_ns'],
            'usage_thread_time': ['cpu_ns'], 'usage_process_time': ['cpu_ns'], 'usage_cgroup_time': ['cpu_ns'],
            'sched': ['running_ns', 'delays', 'delay_ns', 'runs', 'preempted', 'migrations'], 'sched_histogram': ['count'],
            'syscalls': ['count', 'errors', 'total_ns', 'blocked_ns', 'unfinished'], 'syscalls_process': ['count', 'errors', 'total_ns', 'blocked_ns', 'unfinished'],
            'files': ['reads', 'writes', 'read_bytes', 'written_bytes', 'total_ns', 'blocked_ns', 'disk_ns'], 'faults': [], 'io': ['count', 'merged', 'bytes', 'device_ns', 'partial'],
            'io_process': ['count', 'merged', 'bytes', 'sectors'], 'io_file': ['count', 'bytes', 'sectors'],
            'files_process': ['reads', 'writes', 'read_bytes', 'written_bytes', 'cached_bytes', 'cached_ns'], 'irq': ['count'], 'threads': ['running_ns', 'blocked_ns', 'ready_ns']}
ADD_THREADS = {'usage': ['cpu_ns', 'runs'], 'sched': ['delays', 'delay_ns'], 'syscalls': ['count', 'errors', 'total_ns', 'blocked_ns'],
               'syscalls_process': ['count', 'errors', 'total_ns', 'blocked_ns'], 'sched_histogram': ['count'],
               'files_process': ['reads', 'read_bytes', 'cached_bytes', 'blocked_ns'],
               'threads': ['running_ns', 'blocked_ns']}
# The names that the program promised.
KEYS = {'usage': {'tid', 'comm', 'cpu_ns', 'percent'},
        'syscalls': {'name', 'count', 'errors', 'total_ns', 'min_ns', 'max_ns', 'avg_ns'}}
tap = Tap()


def run(*args):
    return subprocess.run([W, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def rows(trace, command, *options):
    p = run(*command, '--json', '-q', *options, trace)
    if p.returncode not in (0, 3):
        raise RuntimeError('whywait %s: exit %d: %s' % (' '.join(command + list(options)), p.returncode, p.stderr.decode()))
    return json.loads(p.stdout)['rows']


def kinds():
    """(name, command) of every kind of rows, and the columns that --help promises."""
    for c in COMMANDS:
        for kind, text in re.findall(r'^(%s(?:_\w+)?): .*\n((?:  [a-z].*\n)+)' % c, run(c, '--help').stdout.decode(), re.M):
            command = [c] + (['--by=' + kind[len(c) + 1:]] if kind != c else [])
            if '--all' in run(c, '--help').stdout.decode():
                command.append('--all')
            yield kind, command, re.findall(r'^  ([a-z_0-9]+)', text, re.M)


def total(rows_, column):
    return sum(r[column] or 0 for r in rows_)   # null: not known, of none


def sorting(trace, kind, command, columns, whole):
    bad = []
    for c in columns:
        got = rows(trace, command, '--sort', c)
        v = [r[c] for r in got]
        key = json.dumps
        if sorted(map(key, got)) != sorted(map(key, whole)):
            bad.append(c + ': other rows')
        words = any(isinstance(x, str) for x in v)
        v = [x.encode() if words else -2**63 if x is None else x for x in v]
        if v != sorted(v, reverse=not words):
            bad.append(c + ': not sorted')
    c = columns[-1]
    if rows(trace, command, '--sort', c, '--top', '3') != rows(trace, command, '--sort', c)[:3]:
        bad.append(c + ': the top three are not the first three')
    tap.ok(not bad, '%s: --sort by each of %d columns, --top' % (kind, len(columns)), bad)
    p = run(*command, '--sort', 'nonsense', trace)
    text = p.stderr.decode()
    tap.ok(p.returncode == 2 and all(c in text for c in columns), '%s: --sort by none of them lists them' % kind, text)


def halves(trace, kind, command, whole, begin, end):
    middle = begin + (end - begin) // 2
    at = '+%.9fs' % ((end - begin) // 2 / 1e9)
    a, b = rows(trace, command, '--to', at), rows(trace, command, '--from', at)
    for c in ADD_TIME.get(kind, []):
        # what is null in one of them for one read is null in the whole
        null = {(r['pid'], r['comm']) for part in (a, b, whole) for r in part if r[c] is None} if c in ('cached_bytes', 'cached_ns') else ()
        x, y, all_ = [total([r for r in part if not null or (r['pid'], r['comm']) not in null], c) for part in (a, b, whole)]
        tap.ok(x + y == all_, '%s: %s of both halves is that of the whole' % (kind, c), (x, y, all_))
    if whole and 'other_blocked_ns' in whole[0]:
        bad = [r for part in (a, b, whole) for r in part if (r['blocked_ns'] or 0) > (r['total_ns'] or 0) or (r.get('disk_ns') or 0) > (r['blocked_ns'] or 0)]
        tap.ok(not bad, '%s: no more was waited in calls than they took, of %d rows' % (kind, len(a) + len(b) + len(whole)), bad[:3])
    if kind == 'faults':
        tap.ok(len(a) + len(b) == len(whole), 'faults: both halves have all', (len(a), len(b), len(whole)))
    if kind == 'usage_cpu':
        for part, ns in ((a, middle - begin), (b, end - middle), (whole, end - begin)):
            bad = [r for r in part if r['busy_ns'] + r['other_ns'] + r['idle_ns'] + r['unknown_ns'] != ns or min(r.values()) < 0]
            tap.ok(part and not bad, 'usage: each CPU is busy, idle or unknown for the whole %.3f s' % (ns / 1e9), bad)


def threads(trace, kind, command, whole, every):
    """every: [{tid, pid, comm}]"""
    for option, key in (('--tid', 'tid'), ('--pid', 'pid'), ('--comm', 'comm')):
        got = []
        if any(t[key] == -1 for t in every) or (option == '--pid' and kind not in ('usage', 'syscalls', 'syscalls_process')) or (
                option == '--comm' and kind not in ('usage', 'syscalls')):
            continue # nobody can ask for the unknown; two kinds are enough for the other options
        for v in sorted({t[key] for t in every}, key=str):
            part = rows(trace, command, option, str(v))
            bad = [r for r in part if r.get(key, v) != v]
            if bad:
                tap.ok(False, '%s %s %s: of no other' % (kind, option, v), bad)
            got += part
        for c in ADD_THREADS.get(kind, []):
            tap.ok(total(got, c) == total(whole, c), '%s: %s, asked with each %s, is that of all' % (kind, c, option),
                   (total(got, c), total(whole, c)))


def one(trace, tracer):
    info = json.loads(run('info', '--json', '-q', trace).stdout)
    every = [t for t in rows(trace, ['threads'])]
    p = run('usage', '--cgroup', '/x', trace)
    tap.ok(p.returncode == 1 and b'cgroup' in p.stderr, '%s: no cgroups are recorded, and it is said' % tracer, p.stderr)
    tables = {}
    for kind, command, columns in kinds():
        whole = tables[kind] = rows(trace, command)
        bad = [r for r in whole if list(r) != columns]
        tap.ok(not bad and KEYS.get(kind, set()) <= set(columns), '%s: the keys of %d rows are the columns of --help' % (kind, len(whole)),
               bad[:2])
        if kind not in ('threads_time',):
            sorting(trace, kind, command, columns, whole)
        halves(trace, kind, command, whole, info['begin_ns'], info['end_ns'])
        if kind in ADD_THREADS:
            threads(trace, kind, command, whole, every)
    divided(tables)


# Kinds of rows that are of the same things, divided in another way.
SAME = (('usage', 'usage_thread_time', ['cpu_ns']), ('usage', 'usage_process_time', ['cpu_ns']),
        ('io', 'io_process', ['count', 'bytes', 'sectors', 'queue_ns', 'device_ns', 'partial']),
        ('io', 'io_file', ['count', 'bytes', 'sectors', 'queue_ns', 'device_ns', 'partial']),
        ('syscalls', 'syscalls_process', ['count', 'errors', 'total_ns', 'blocked_ns', 'unfinished', 'entered_before', 'other_blocked_ns']),
        ('files_thread', 'files_process', ['reads', 'read_bytes', 'cached_bytes', 'cached_ns', 'writes', 'written_bytes',
                                           'other_calls', 'total_ns', 'blocked_ns', 'disk_ns', 'other_blocked_ns', 'failed']))


def divided(tables):
    for a, b, columns in SAME:
        bad = [(c, total(tables[a], c), total(tables[b], c)) for c in columns if total(tables[a], c) != total(tables[b], c)]
        tap.ok(not bad, '%s and %s have the same %d sums' % (a, b, len(columns)), bad)
    tap.ok(not tables['usage_cgroup'] and not tables['usage_cgroup_time'], 'usage by cgroup: these traces tell of none, so there is no row')
    main = {r['pid']: r['comm'] for r in tables['procs'] if sum(x['pid'] == r['pid'] for x in tables['procs']) == 1 and r['pid'] >= 0}
    for kind in ('usage_process', 'usage_process_time', 'syscalls_process', 'files_process'):
        got = {(r['pid'], r['comm']) for r in tables[kind] if r['pid'] in main}
        tap.ok(all(main[p] == c for p, c in got), '%s: %d processes are named as procs names them' % (kind, len(got)),
               [(p, c, main[p]) for p, c in got if main[p] != c])
    delays = total(tables['sched'], 'delays')
    tap.ok(total(tables['sched_histogram'], 'count') == delays, 'sched: the histogram has all %d delays' % delays, tables['sched_histogram'])


def timeline(trace):
    """Slices against the states that they are made of."""
    n, bad = 0, []
    found = collections.defaultdict(list)
    query = ('SELECT tid, ts, dur, state FROM state JOIN thread USING (utid) WHERE NOT is_idle '
             'AND tid IN (SELECT tid FROM thread GROUP BY tid HAVING count(*) = 1)')
    for r in json.loads(run('sql', '--json', '-q', trace, query).stdout)['rows']:
        found[r['tid']].append(r)
    for every in ('7ms', '333us'):
        for s in rows(trace, ['threads', '--by=time', '--every', every], *(['--to', '+0.5s'] if every == '333us' else [])):
            if s['tid'] not in found:
                continue
            b, e, sums = s['ts_ns'], s['ts_ns'] + s['dur_ns'], collections.Counter()
            for r in found[s['tid']]:
                if r['ts'] < e and r['ts'] + r['dur'] > b:
                    sums[r['state']] += min(e, r['ts'] + r['dur']) - max(b, r['ts'])
            n += 1
            if sums[s['state']] != s['in_ns'] or max(sums.values()) != s['in_ns']:
                bad.append((s, sums))
    tap.ok(n > 1000 and not bad, 'threads --by=time: %d slices are what the states in them say' % n, bad[:3])


def sliced(trace, info):
    """Who had the CPUs in each slice, against the runs cut by hand."""
    for every, ns in (('13ms', 13000000), ('1.7ms', 1700000)):
        want = collections.Counter(), collections.Counter()
        for r in json.loads(run('sql', '--json', '-q', trace, 'SELECT utid, tid, pid, ts, dur FROM sched_slice JOIN thread USING (utid) '
                                'WHERE NOT is_idle').stdout)['rows']:
            at, end = r['ts'] - info['begin_ns'], r['ts'] + r['dur'] - info['begin_ns']
            while at < end:
                i = at // ns
                part = min(end, (i + 1) * ns) - at
                want[0][i, r['tid']] += part
                want[1][i, r['pid'] if r['pid'] is not None and r['pid'] >= 0 else 'thread %d' % r['utid']] += part
                at += part
        for by, key, sums in (('thread_time', 'tid', want[0]), ('process', 'pid', want[1])):
            got, bad = collections.Counter(), 0
            for r in rows(trace, ['usage', '--by=' + by, '--every', every]):
                got[(r['ts_ns'] - info['begin_ns']) // ns, r[key]] += r['cpu_ns']
                bad += abs(r['percent'] - 100 * r['cpu_ns'] / r['dur_ns']) > 1e-6 or (r['ts_ns'] - info['begin_ns']) % ns != 0
            sums = collections.Counter({k: n for k, n in sums.items() if isinstance(k[1], int)})
            got = collections.Counter({k: n for k, n in got.items() if k[1] != -1})
            tap.ok(not bad and len(got) > 200 and got == sums, 'usage --by=%s --every=%s: %d parts of slices are what the runs say' % (by, every, len(got)),
                   list(((got - sums) + (sums - got)).items())[:5])


def named(trace):
    """The names of processes that began in the trace, against all names in the events of switches, forks and execs."""
    seen, bad = {}, []
    for e in json.loads(run('events', '--json', '-q', '-e', 'sched_*', trace).stdout)['events']:
        f = e.get('fields', {})
        for tid, comm in {'sched_process_fork': [(f.get('child_tid'), f.get('child_comm'))],
                          'sched_process_exec': [(f.get('tid'), os.path.basename(f.get('filename') or '')[:15])],
                          'sched_switch': [(f.get('prev_tid'), f.get('prev_comm')), (f.get('next_tid'), f.get('next_comm'))]}.get(e['name'], ()):
            if e['name'] == 'sched_process_fork':
                seen[tid] = []
            if tid in seen and seen[tid][-1:] != [comm]:
                seen[tid].append(comm)
    got = {r['pid']: r['names'] for r in rows(trace, ['procs']) if r['forked']}
    bad = [(p, names, seen.get(p)) for p, names in got.items() if names.split(' > ') != seen.get(p)]
    tap.ok(len(got) > 10 and sum(' > ' in n for n in got.values()) > 5 and not bad, 'procs: the names of %d processes are those of the events' % len(got), bad)


def merged(trace):
    """Merged requests, against the events of it that the peer finds in the trace."""
    if os.path.isdir(trace):
        text = subprocess.run(['babeltrace2', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    else:
        text = subprocess.run(['trace-cmd', 'report', '-i', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    want = len(re.findall(rb' (?:block_bio_backmerge|block_bio_frontmerge|block_rq_merge):', text))
    got = [sum(r['merged'] or 0 for r in rows(trace, ['io', *by])) for by in ((), ('--by=process',), ('--by=file',))]
    tap.ok(want and got == [want] * 3, 'io: %d merged requests are those in the events' % want, got)


def main():
    root, traces = shared_traces(TRACES)
    for t in traces:
        tap.note(t)
        one(t, os.path.relpath(t, root))
    timeline(traces[0])
    sliced(traces[0], json.loads(run('info', '--json', '-q', traces[0]).stdout))
    named(traces[0])
    for t in ('single/trace', 'tracecmd-single/trace.dat', 'nfs-loopback/nfs-events/trace.dat'):
        merged(os.path.join(root, t))
    return tap.end()


sys.exit(main())
