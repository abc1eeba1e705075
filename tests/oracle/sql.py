#!/usr/bin/python3
"""Judges `whywait sql` by the program's other answers and by the raw events.

  sql.py [TRACE...]     WHYWAIT, WW_TRACES in the environment

Every analysis as a table is what `whywait NAME --json` prints, without and with a range, a thread and a length of slices.
Runs, wakeups and system calls as tables are what a few lines of Python make of `whywait events --json`. Of several hosts
together every table has the rows of each. Without traces of others the one that the repository ships is taken. TAP.
"""
import collections, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import call_name

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
W = os.environ.get('WHYWAIT') or os.path.join(SRC, 'build/whywait')
TRACES = os.environ.get('WW_TRACES') or os.path.join(os.path.dirname(SRC), 'shared/traces')
COMMANDS = 'threads procs usage sched syscalls files io faults irq locks net stacks'.split()
n = failed = 0


def ok(good, name, why=''):
    global n, failed
    n += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', n, name))
    for line in str(why).splitlines()[:6] if not good else []:
        print('#   ' + line[:300])
    sys.stdout.flush()


def run(*args):
    return subprocess.run([W, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


def rows(*args):
    """What a command answers with --json; None: it could not."""
    p = run(args[0], '--json', '-q', *args[1:])
    if p.returncode not in (0, 3):
        return None
    return json.loads(p.stdout)['rows']


def sql(traces, query):
    return rows('sql', *traces, query)


def differ(a, b):
    if a is None or b is None:
        return 'one is an error: %s' % ('SQL' if b is None else 'the command')
    for i in range(max(len(a), len(b))):
        x, y = a[i] if i < len(a) else None, b[i] if i < len(b) else None
        if x != y:
            return 'row %d of %d and %d\nwant %s\n got %s' % (i, len(a), len(b), x, y)
    return ''


def tables():
    """(table, command with options, is there more than the recorded command's own) of every analysis that has a command."""
    for c in COMMANDS:
        text = run(c, '--help').stdout.decode()
        for kind in re.findall(r'^(%s(?:_\w+)?): .*\n(?:  [a-z].*\n)+' % c, text, re.M):
            yield kind, [c] + (['--by=' + kind[len(c) + 1:]] if kind != c else [])


def same(trace, kind, command, options, args, what):
    want, got = rows(*command, *options, trace), sql([trace], 'SELECT * FROM %s%s' % (kind, args))
    if want is None and got is None:
        ok(True, '%s%s: both could not' % (kind, what))
        return 0
    ok(want == got, '%s%s: %d rows' % (kind, what, len(want or ())), differ(want, got))
    return len(want or ())


def analyses(trace):
    bounds = sql([trace], 'SELECT start_ts, end_ts, (SELECT tid FROM threads LIMIT 1) tid, '
                          '(SELECT comm FROM threads ORDER BY runs DESC LIMIT 1) comm FROM trace_bounds'
                 .replace('ORDER BY runs DESC', 'ORDER BY waits DESC'))[0]
    b, e = bounds['start_ts'], bounds['end_ts']
    some = (b + (e - b) // 3, b + (e - b) * 2 // 3)
    total = 0
    for kind, own in tables():
        command = own + ['--all']
        same(trace, kind, own, [], ' WHERE for_command = 1', ' of the command')
        same(trace, kind, own, ['--from', str(some[0]), '--to', str(some[1])], '(%d, %d) WHERE for_command = 1' % some, ' of the command, of a range')
        total += same(trace, kind, command, [], '', '')
        total += same(trace, kind, command, ['--from', str(some[0]), '--to', str(some[1])], '(%d, %d)' % some, ' of a range')
        total += same(trace, kind, command, ['--tid', str(bounds['tid'])], ' WHERE for_tid = %d' % bounds['tid'], ' of a thread')
        total += same(trace, kind, command, ['--comm', bounds['comm']], " WHERE for_comm = '%s'" % bounds['comm'], ' of a name')
    same(trace, 'usage_time', ['usage', '--by=time'], ['--every', '10ms'], " WHERE every = '10ms'", ' by 10 ms')
    p = run('path', '--json', '-q', trace)
    if p.returncode in (0, 3):
        # a table has no null for a thread: -1
        want = [(s['start_ns'], s['dur_ns'], -1 if s['tid'] is None else s['tid'], s['kind'])
                for s in json.loads(p.stdout)['segments']]
        got = [(s['start_ns'], s['dur_ns'], s['tid'], s['kind']) for s in sql([trace], 'SELECT * FROM path')]
        ok(len(want) > 0 and got == want, 'path: %d segments' % len(want), differ(want, got))
        tid = bounds['tid']
        one = sql([trace], 'SELECT sum(dur_ns) AS ns FROM path(%d)' % tid)
        want = json.loads(run('path', '--json', '-q', '--tid', str(tid), trace).stdout)['wall_ns']
        ok(one is not None and one[0]['ns'] == want, 'path(tid) sums to the wall time', '%s, want %s' % (one, want))
    ok(total > 100, 'that many rows were compared: %d' % total)


# ---- facts from the raw events ----


def events_of(trace):
    for e in json.loads(run('events', '--json', '-q', trace).stdout)['events']:
        if 'name' in e:
            yield e


def state_letters(bits):
    """As in include/trace/events/sched.h: what sched_switch prints."""
    return ''.join(c for i, c in enumerate('SDTtXZPI') if bits >> i & 1) or ('R+' if bits & 0x100 else 'R')


def recomputed(trace):
    """Runs (cpu, ts, dur, tid, state when it left), wakings (ts, cpu, tid of the woken), calls (ts, name, tid)."""
    last, runs, wakings, calls = {}, [], [], []
    for e in events_of(trace):
        name, f, t = e['name'], e.get('fields', {}), e['time_ns']
        if name == 'sched_switch':
            if e['cpu'] in last:
                begin, tid = last[e['cpu']]
                if t > begin and tid == f['prev_tid']:
                    runs.append((e['cpu'], begin, t - begin, tid, state_letters(f['prev_state'])))
            last[e['cpu']] = (t, f['next_tid'])
        elif name == 'sched_waking':
            wakings.append((t, e['cpu'], f['tid']))
        elif re.match(r'(compat_)?syscall_entry_', name) and e['cpu'] in last:
            calls.append((t, call_name(re.sub(r'^(compat_)?syscall_entry_', '', name)), last[e['cpu']][1]))
    return runs, wakings, calls


def contains(what, want, got):
    """Each of want is in got, as often."""
    left = collections.Counter(want)
    left.subtract(collections.Counter(got))
    missing = [k for k, v in left.items() if v > 0]
    ok(len(want) > 0 and not missing, '%s: %d of the events are %d rows' % (what, len(want), len(got)), missing[:3])


def whole(runs):
    """The recorded command is another thread from its exec on, with the same tid: its run is two rows, one after the other."""
    r = []
    for a in runs:
        if r and (r[-1]['cpu'], r[-1]['tid'], r[-1]['ts'] + r[-1]['dur']) == (a['cpu'], a['tid'], a['ts']):
            a = dict(a, ts=r[-1]['ts'], dur=r[-1]['dur'] + a['dur'])
            r.pop()
        r.append(a)
    return r


def facts(trace):
    runs, wakings, calls = recomputed(trace)
    got = whole(sql([trace], 'SELECT cpu, ts, dur, tid, end_state FROM run JOIN thread USING (utid) ORDER BY cpu, ts'))
    contains('run', runs, [(r['cpu'], r['ts'], r['dur'], r['tid'], r['end_state']) for r in got])
    # A thread is in the state in which it left, from then until it is woken: no other order of rows says so.
    left = {(b + d, tid): state for _, b, d, tid, state in runs if state not in ('R', 'R+')}
    rows_ = [r for r in sql([trace], "SELECT ts, tid, state FROM thread_state JOIN thread USING (utid) WHERE state <> 'Running' "
                                     "AND state NOT LIKE 'R%'") if (r['ts'], r['tid']) in left]
    wrong = [r for r in rows_ if left[r['ts'], r['tid']] != r['state']]
    ok(len(rows_) > 20 and not wrong, 'thread_state: %d waits in the state of the switch' % len(rows_), wrong[:3])
    ok(len(got) <= len(runs) + 2 * len({r[0] for r in runs}), 'and what is more, are the first and last of a CPU',
       '%d rows of %d' % (len(got), len(runs)))
    got = sql([trace], 'SELECT w.ts, cpu, tid FROM wakeup w JOIN thread t ON t.utid = wakee_utid')
    contains('wakeup', wakings, [(r['ts'], r['cpu'], r['tid']) for r in got])
    got = sql([trace], 'SELECT s.ts, s.name, tid FROM syscall s JOIN thread USING (utid)')
    # What LTTng calls unknown has a number, by which it has a name here.
    unnamed = {(t, tid) for t, name, tid in calls if name == 'unknown'}
    contains('syscall', calls, [(r['ts'], 'unknown' if (r['ts'], r['tid']) in unnamed else r['name'], r['tid']) for r in got])
    # The states of a thread are contiguous, and a run's states fill it.
    gaps = sql([trace], 'SELECT count(*) n FROM (SELECT ts, lag(ts + dur) OVER (PARTITION BY utid ORDER BY ts) AS before '
                        'FROM state) WHERE before <> ts')
    ok(gaps == [{'n': 0}], 'a thread\'s states are contiguous', gaps)
    held = sql([trace], "SELECT (SELECT sum(dur) FROM thread_state WHERE state = 'Running') a, (SELECT sum(dur) FROM run) b")[0]
    ok(held['a'] == held['b'], 'thread_state runs as long as run', held)
    # The figures of an analysis, from the facts by SQL.
    want = sql([trace], 'SELECT tid, comm, cpu_ns, runs FROM usage ORDER BY cpu_ns DESC, tid')
    got = sql([trace], 'SELECT tid, name AS comm, sum(dur) AS cpu_ns, count(*) AS runs FROM run JOIN thread USING (utid) '
                       'WHERE NOT is_idle GROUP BY utid ORDER BY cpu_ns DESC, tid')
    ok(want == got, 'usage from run by SQL', differ(want, got))


def orders(trace):
    """Ranges are found by binary search in what facts.def says is in the order of time."""
    for table, ts in (('interrupt', 'ts'), ('packet', 'ts'), ('fault', 'ts'), ('stack', 'ts'), ('numa_move', 'ts'),
                      ('block_io', 'coalesce(queued_ts, issued_ts, completed_ts)')):
        late = sql([trace], 'SELECT count(*) AS late FROM (SELECT t - lag(t) OVER (ORDER BY id) AS d FROM (SELECT id, %s AS t FROM %s)) WHERE d < 0' % (ts, table))
        ok(late == [{'late': 0}], '%s: rows of %s are in the order of time' % (os.path.basename(trace), table), late)


def hosts(paths):
    each = {}
    for t in ('state', 'wakeup', 'syscall', 'thread', 'packet'):
        each[t] = [sql([p], 'SELECT count(*) n FROM ' + t)[0]['n'] for p in paths]
        both = sql(paths, 'SELECT machine_id, count(*) n FROM %s GROUP BY 1 ORDER BY 1' % t)
        ok([r['n'] for r in both] == each[t], '%s: the rows of %d hosts together' % (t, len(paths)), both)
    one = [sql([p], 'SELECT tid, cpu_ns FROM usage') for p in paths]
    for h, want in enumerate(one):
        got = sql(paths, 'SELECT tid, cpu_ns FROM usage WHERE machine_id = %d' % h)
        ok(want == got, 'usage of host %d of %d' % (h, len(paths)), differ(want, got))
    got = sql(paths, 'SELECT tid, cpu_ns FROM usage')
    ok(got == sum(one, []), 'usage of all hosts, one after the other')
    r = sql(paths, 'SELECT count(*) n FROM state s JOIN thread t USING (utid) WHERE s.machine_id <> t.machine_id OR '
                   's.ts + s.dur < trace_start() OR s.ts > trace_end()')
    ok(r == [{'n': 0}], 'a thread and its states are of one host, and in one time', r)
    # A packet that went from one host to another leaves before it comes, in the set's time as in path.
    r = sql(paths, 'SELECT count(*) n, sum(a.ts > b.ts) late FROM packet a JOIN packet b ON b.machine_id <> a.machine_id '
                   'AND b.seq = a.seq AND b.ack = a.ack AND b.sport = a.sport AND b.dport = a.dport AND b.src = a.src '
                   'AND b.payload = a.payload AND b.tcp_flags = a.tcp_flags AND NOT b.sent WHERE a.sent AND a.proto = 6 AND a.payload > 0')[0]
    ok(r['n'] > 20 and r['late'] == 0, '%d packets between hosts, none comes before it is sent' % r['n'], r)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        traces = sys.argv[1:]
        if not traces:
            subprocess.run(['tar', '-C', tmp, '-xzf', os.path.join(SRC, 'tests/data/demo.ctf.tar.gz')], check=True)
            traces = [os.path.join(tmp, 'demo.ctf')]
            single = os.path.join(TRACES, 'single/trace')
            if os.path.isdir(single):
                traces.append(single)
        for t in traces:
            print('# ' + t)
            analyses(t)
            orders(t)
        facts(t)
        three = [os.path.join(TRACES, 'cluster3', h) for h in ('client', 'web', 'db')]
        if not sys.argv[1:] and all(os.path.isdir(t) for t in three):
            hosts(three)
    print('1..%d' % n)
    return 1 if failed else 0


sys.exit(main())
