#!/usr/bin/python3
"""What a trace does not tell is null in the figures' JSON and "?" as text, never 0 or -1.

  traces_unknown.py [TRACE...]     WHYWAIT, WW_TRACES in the environment

The oracle is the facts, row by row, through SQL: where each fault, request or call of a row lacks its end, there is no sum
of them, no mean and no longest one; where one has it, they are those of the ones that have it. Traces: one of LTTng, one
of trace-cmd, one of perf.

What events a trace has at all say babeltrace2, trace-cmd and perf: a figure of others has no rows, and that is not none."""
import collections, json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, shared_traces

W = os.environ['WHYWAIT']
TRACES = ('single/trace', 'tracecmd-v7-none/trace.dat', 'perf-sched-syscalls/perf.data')
MORE = ('perf-sched/perf.data', 'nfs-loopback/nfs-events/trace.dat', 'tracecmd-single/trace.dat', 'variants/lt-rotate')
OPS = ('read', 'write', 'flush', 'discard')
tap = Tap()


def run(*args):
    return subprocess.run([W, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def answer(*args):
    return json.loads(run(*args, '--json', '-q').stdout)['rows']


def sql(trace, query):
    return answer('sql', trace, query)


def judge(name, got, key, lengths, columns):
    """got: rows of the figure; lengths: {key: [length or None]}; columns: sum, mean, longest."""
    bad, unknown = [], 0
    if not got:
        return
    for r in got:
        ended = [x for x in lengths[key(r)] if x is not None]
        want = [sum(ended), sum(ended) // len(ended), max(ended)] if ended else [None] * 3
        unknown += not ended
        bad += [(r, want)] if [r[c] for c in columns] != want else []
    tap.ok(not bad, '%s: %d rows are what their parts say, %d of them that nobody knows' % (name, len(got), unknown), bad[:2])


def faults(trace):
    each = answer('faults', '-a', trace)
    lengths = collections.defaultdict(list)
    for r in each:
        lengths[r['file']].append(r['dur_ns'])
    got = answer('faults', '-a', '--by=file', trace)
    judge('faults', got, lambda r: r['file'], lengths, ('total_ns', 'avg_ns', 'max_ns'))
    known = {r['file']: [x['major'] for x in each if x['file'] == r['file'] and x['major'] is not None] for r in got}
    bad = [r for r in got if r['major'] != (sum(known[r['file']]) if known[r['file']] else None)]
    tap.ok(not bad, 'faults: major ones are counted where it is known', bad[:2])


def requests(trace):
    lengths = collections.defaultdict(list)
    names = {r['dev']: r['name'] for r in sql(trace, 'SELECT dev, name FROM device')}
    for r in sql(trace, 'SELECT dev, "write", queued_ts, issued_ts, completed_ts FROM block_io'):
        begin = r['queued_ts'] if r['queued_ts'] is not None else r['issued_ts']
        lengths[names.get(r['dev'], 'device %d:%d' % (r['dev'] >> 20, r['dev'] & 0xfffff)), OPS[r['write']]].append(
            None if None in (begin, r['completed_ts']) else r['completed_ts'] - begin)
    for r in answer('io', trace):
        r = dict(r, total=None if r['queue_ns'] is None else r['queue_ns'] + r['device_ns'])
        judge('io: %s of %s' % (r['op'], r['device']), [r], lambda x: (x['device'], x['op']), lengths, ('total', 'avg_ns', 'max_ns'))


def calls(trace):
    lengths, returned = collections.defaultdict(list), collections.Counter()
    for r in sql(trace, 'SELECT name, dur, known & 8 AS returned FROM syscall WHERE known & 17'):
        lengths[r['name']].append(r['dur'])
        returned[r['name']] += r['returned'] > 0
    got = answer('syscalls', '-a', trace)
    judge('syscalls', got, lambda r: r['name'], lengths, ('total_ns', 'avg_ns', 'max_ns'))
    bad = [r for r in got if (r['errors'] is None) != (not returned[r['name']])]
    tap.ok(not bad, 'syscalls: errors are counted where a return is known', bad[:2])


def text(trace):
    for args in (['faults', '-a'], ['faults', '-a', '--by=file'], ['io'], ['syscalls', '-a'], ['files', '-a'], ['sched'], ['procs']):
        out = run(*args, '-q', trace).stdout.decode()
        bad = re.findall(r'.*(?<=\s)-1 .*', out)
        if any(None in r.values() or -1 in r.values() for r in answer(*args, trace)):
            tap.ok(not bad and re.search(r'(?<=\s)\?(?=\s)', out), '%s: as text what is not known is a question mark' % ' '.join(args), bad[:2])


def names_by_peer(trace):
    """The events that a peer says the trace has, without their subsystem."""
    if trace.endswith('.data'):
        out = subprocess.run(['perf', 'evlist', '-i', trace], stdout=subprocess.PIPE).stdout.decode().split()
    elif trace.endswith('.dat'):
        out = [l.split(': ')[1].strip(' :') for l in subprocess.run(
            ['trace-cmd', 'report', '-N', '-q', '-i', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors='replace')
            .splitlines() if l.count(': ') >= 2]
    else:
        text = subprocess.run(['babeltrace2', trace], stdout=subprocess.PIPE).stdout.decode(errors='replace')
        out = re.findall(r'^\[[^]]*\] \(\+[^)]*\) (?:\S+ )?(\w+):', text, re.M)
    return {n.split(':')[-1] for n in out}


FIGURES = {'io': '^block_rq_', 'io --by=process': '^block_rq_', 'io --by=latency': '^block_rq_', 'faults': 'page_fault_user',
           'faults --by=file': 'page_fault_user', 'syscalls': '^(sys_|syscall_)enter|^syscall_entry', 'files': '^(sys_|syscall_)enter|^syscall_entry',
           'irq': '^(irq_)?(softirq_entry|handler_entry)|hrtimer_expire_entry|local_timer_entry',
           'irq --by=thread': '^(irq_)?(softirq_entry|handler_entry)|hrtimer_expire_entry|local_timer_entry',
           'locks': '^(sys_|syscall_)enter|^syscall_entry|contention_begin|whywait_lock_begin', 'sched --by=numa': '^sched_(move|swap|stick)_numa', 'usage': '^sched_switch', 'procs': '^sched_switch'}


def absent(trace):
    """An event that is not in the trace is no zero."""
    names, bad, n = names_by_peer(trace), [], 0
    for figure, wanted in FIGURES.items():
        p = run(*figure.split(), '--json', trace)
        have, got = any(re.search(wanted, x) for x in names), json.loads(p.stdout)
        said = any(x['all'] for x in got['not_recorded'])
        n += not have
        # A trace may have a kind of events of which none happened: LTTng's lists it, and only that trace knows.
        if have == said or (p.returncode == 3) != said or (said and (got['rows'] or b'not recorded' not in p.stderr)):
            if have or not os.path.isdir(trace):
                bad.append((figure, have, p.returncode, got['not_recorded'], p.stderr))
    tap.ok(len(names) > 2 and not bad, '%d of %d figures are of events that the trace has not, and it is said' % (n, len(FIGURES)), bad[:2])


def main():
    root, traces = shared_traces(TRACES)
    for t in traces:
        tap.note(t)
        for part in (faults, requests, calls, text, absent):
            part(t)
    for t in MORE:
        t = os.path.join(root, t)
        if not sys.argv[1:] and os.path.exists(t):
            tap.note(t)
            absent(t)
    return tap.end()


sys.exit(main())
