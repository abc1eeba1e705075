#!/usr/bin/python3
"""What SQL says of system calls and page faults is what babeltrace2's reading of the same trace is, and what the trace does not
tell is NULL there.

  sql_raw.py [TRACE...]     WHYWAIT, WW_SRC, WW_TRACES in the environment

By name of the call: how many entries there are, and the time from each entry to its
return, in slice, thread_slice, syscall and syscalls. A return without an entry is no call there, and has no length. Traces: of
LTTng, where calls were under way when it began, and of whywait, whose new threads return from a call of their parent's."""
import collections, json, os, re, subprocess, sys, tempfile

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
W = os.environ.get('WHYWAIT') or os.path.join(SRC, 'build/whywait')
TRACES = os.environ.get('WW_TRACES', '')
# Ids; anything else that is not known is NULL.
IDS = re.compile(r'^(tid|pid|vpid|vector|cpu|(parent|by|of|from|to)_(pid|tid))$')
tap = Tap()


def answer(*args):
    p = subprocess.run([W, *args, '--json', '-q'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if p.returncode not in (0, 3):
        raise RuntimeError('%s: %s' % (' '.join(args), p.stderr.decode()))
    return json.loads(p.stdout)['rows']


def raw(trace):
    """{name: (entries, those that returned, their ns)}, {name: returns that have no entry}, how many page faults.
    What LTTng has no name for has a number."""
    numbers = {r['number']: r['name'] for r in answer('sql', trace, 'SELECT DISTINCT number, name FROM syscall')}
    calls, lone, faults = collections.defaultdict(lambda: [0, 0, 0]), collections.Counter(), 0
    on, open_ = {}, {}
    for msg in bt2.TraceCollectionMessageIterator(trace):
        if type(msg) is not bt2._EventMessageConst:
            continue
        e, t = msg.event, msg.default_clock_snapshot.value
        name, cpu = e.name, int(e.packet.context_field['cpu_id'])
        m = re.match(r'(?:compat_)?syscall_(entry|exit)_(\w+)$', name) or re.match(r'whywait_syscall_(entry|exit)()$', name)
        if name == 'sched_switch':
            on[cpu] = int(e.payload_field['next_tid'])
        elif name == 'whywait_current':
            on[cpu] = int(e.payload_field['tid'])
        elif name in ('x86_exceptions_page_fault_user', 'x86_exceptions_page_fault_kernel'):
            faults += 1
        elif m and on.get(cpu):
            tid, way, call = on[cpu], m.group(1), m.group(2)
            if call in ('', 'unknown'):
                nr = int(e.payload_field['nr' if 'nr' in e.payload_field else 'id'])
                # rt_sigreturn has put -1 there: it ends the call in hand
                call = open_[tid][0] if nr == -1 and way == 'exit' and tid in open_ else numbers[nr]
            if way == 'entry':
                calls[call][0] += 1
                open_[tid] = (call, t)
            elif open_.get(tid, ('',))[0] == call:
                calls[call][1] += 1
                calls[call][2] += t - open_.pop(tid)[1]
            else:
                open_.pop(tid, None)
                lone[call] += 1
    return {k: tuple(v) for k, v in calls.items()}, lone, faults


def by_name(rows):
    return {r['name']: (r['n'], r['ends'], r['ns'] or 0) for r in rows}


def judge_calls(trace, calls, lone):
    # Of others than the command whywait's recorder tells calls in which they waited, without an event of their own.
    for table in ('slice', 'thread_slice'):
        got = by_name(answer('sql', trace, 'SELECT name, count(*) n, count(dur) ends, sum(dur) ns FROM %s WHERE id NOT IN '
                                           '(SELECT id FROM syscall WHERE known & 16) GROUP BY 1' % table))
        tap.ok(got == calls, '%s: %d names of calls as often and as long as their events say' % (table, len(calls)),
               sorted(set(got.items()) ^ set(calls.items())))
    want = sorted((k, v[1], v[2]) for k, v in calls.items() if v[1])
    got = [(r['name'], r['n'], r['ns']) for r in
           answer('sql', trace, 'SELECT name, count(dur) n, sum(dur) ns FROM syscall GROUP BY 1 HAVING n ORDER BY name')]
    tap.ok(got == want, 'syscall: those that have a length', set(got) ^ set(want))
    got = sorted((r['name'], r['count'] - r['unfinished'], r['total_ns']) for r in answer('syscalls', '--all', trace)
                 if r['count'] is not None and r['count'] > r['unfinished'])
    tap.ok(got == want, 'syscalls: the same', set(got) ^ set(want))
    got = {r['name']: (r['n'], r['ends']) for r in
           answer('sql', trace, 'SELECT name, count(*) n, count(dur) ends FROM syscall WHERE NOT known & 17 AND known & 2 GROUP BY 1')}
    tap.ok(got == {k: (v, 0) for k, v in lone.items()}, '%d returns without an entry, none with a length' % sum(lone.values()),
           (got, dict(lone)))


def judge_unknown(trace, faults, ends):
    r = answer('sql', trace, 'SELECT count(*) n, count(dur_ns) dur, count(major) major, count(ahead_bytes) ahead, sum(dur_ns) ns, '
                             'count(CASE WHEN major <> 1 THEN 1 END) minor FROM faults')[0]
    if not ends:
        tap.ok(faults and r == dict(n=faults, dur=0, major=0, ahead=0, ns=None, minor=0),
               'faults: of %d, which have no end in the trace, nothing else is known' % faults, r)
    r = answer('sql', trace, 'SELECT count(*) n FROM fault WHERE major NOT IN (0, 1) OR dur < 0')
    tap.ok(r == [{'n': 0}], 'fault: major or not, or not known', r)
    bad = []
    doc = open(os.path.join(SRC, 'docs/sql.md')).read().split('\n## Analyses\n', 1)[1]
    for table, body in re.findall(r'\n### (\w+)\n(.*?)(?=\n#)', doc, re.S):
        cols = [c for c, kind in re.findall(r'^\| `(\w+)` \| (integer|real) ', body, re.M) if not IDS.match(c)]
        if cols and table != 'stacks': # of a trace without call stacks it says that
            got = answer('sql', trace, 'SELECT %s FROM %s' % (', '.join('sum("%s" = -1) "%s"' % (c, c) for c in cols), table))[0]
            bad += ['%s.%s: %d' % (table, c, v) for c, v in got.items() if v]
    tap.none(bad, 'analyses: no number but an id is -1')


with tempfile.TemporaryDirectory() as tmp:
    traces = sys.argv[1:]
    if not traces:
        subprocess.run(['tar', '-C', tmp, '-xzf', os.path.join(SRC, 'tests/data/demo.ctf.tar.gz')], check=True)
        traces = [t for t in (os.path.join(tmp, 'demo.ctf'), os.path.join(TRACES, 'single/trace')) if os.path.isdir(t)]
    for t in traces:
        tap.note(t)
        own = 'whywait' in json.loads(subprocess.run([W, 'info', '--json', t], stdout=subprocess.PIPE, timeout=60).stdout)['tracer'].lower()
        calls, lone, faults = raw(t)
        judge_calls(t, calls, lone)
        judge_unknown(t, faults, own)
sys.exit(tap.end())
