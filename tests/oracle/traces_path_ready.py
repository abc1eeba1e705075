#!/usr/bin/python3
"""Who is said to have had the CPU that a thread on the critical path waited for. TAP.

The oracles are babeltrace2's and perf's print of the same trace: from their sched_switch, sched_wakeup and
sched_migrate_task events alone it is worked out which CPU's queue the thread was in and who had that CPU, ns by ns. Each
`preempted` and `runqueue` segment must be laid to the one that had it longest in that segment, which need not be the one
that had it longest in the whole wait. And the steps of the text say of the same segments, taken together, the same times.
"""
import bisect, collections, json, os, re, subprocess, sys

W = os.environ.get('WHYWAIT', 'whywait')
DIR = os.environ.get('WW_TRACES', '/nonexistent')
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

tap = Tap()
check = tap.none


def out(*args):
    return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=300).stdout


def ctf_events(trace):
    for l in out('babeltrace2', '--clock-seconds', trace).splitlines():
        m = re.match(r'\[(\d+)\.(\d{9})\] .*? (sched_\w+): \{ cpu_id = (\d+) \}', l)
        if m:
            f = dict(re.findall(r'\b(\w+) = ("[^"]*"|-?\w+)', l.split('}', 1)[1]))
            yield int(m.group(1)) * 10**9 + int(m.group(2)), int(m.group(4)), m.group(3), f


def perf_events(trace):
    for l in out('perf', 'script', '-i', trace, '--ns', '-F', 'tid,cpu,time,event,trace').splitlines():
        m = re.match(r'\s*-?\d+ \[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:(sched_\w+): (.*)', l)
        if m:
            f = dict(re.findall(r'\b(\w+)=(\S+)', m.group(5)))
            f = {k.replace('_pid', '_tid') if k != 'pid' else 'tid': v for k, v in f.items()}
            yield int(m.group(2)) * 10**9 + int(m.group(3)), int(m.group(1)), m.group(4), f


class Cpus:
    """Who had each CPU from when on, and where each thread was to run."""
    def __init__(self, events):
        self.at, self.who = collections.defaultdict(list), collections.defaultdict(list)
        self.off, self.on, self.moved = (collections.defaultdict(list) for _ in range(3))    # by tid: (time, cpu ...)
        for t, cpu, name, f in events:
            if name == 'sched_switch':
                prev, nxt = int(f['prev_tid']), int(f['next_tid'])
                self.at[cpu].append(t), self.who[cpu].append(nxt)
                self.off[prev].append((t, cpu)), self.on[nxt].append((t, cpu))
            elif name == 'sched_migrate_task':
                self.moved[int(f['tid'])].append((t, int(f['orig_cpu']), int(f['dest_cpu'])))

    def had(self, cpu, t0, t1):
        """ns that each had the CPU."""
        r, at = collections.Counter(), self.at[cpu]
        i = max(0, bisect.bisect_right(at, t0) - 1)
        while i < len(at) and at[i] < t1:
            end = at[i + 1] if i + 1 < len(at) else t1
            r[self.who[cpu][i]] += max(0, min(end, t1) - max(at[i], t0))
            i += 1
        return r

    def queue(self, tid, kind, t0, t1):
        """[(cpu, from, to)]: the queues that it was in."""
        off = [x for x in self.off[tid] if x[0] <= t0]
        on = [x for x in self.on[tid] if x[0] >= t1]
        end = on[0][0] if on else t1
        # the wait: since it was switched out (preempted), or was woken, which is before t0 and after that
        begin = off[-1][0] if off else t0
        moves = [m for m in self.moved[tid] if (begin if kind == 'preempted' else t0) <= m[0] <= end]
        if not moves:
            cpu = off[-1][1] if kind == 'preempted' and off else on[0][1] if on else None
            return [(cpu, t0, t1)] if cpu is not None else []
        r, at = [], begin
        for t, orig, dest in moves:
            r.append((orig, at, t))
            at = t
        r.append((moves[-1][2], at, end))
        return [(c, max(a, t0), min(b, t1)) for c, a, b in r if min(b, t1) > max(a, t0)]


def ready(j, cpus, off):
    """(segments held against the events, pieces of a longer wait among them, wrong ones)"""
    bad, seen, pieces = [], 0, 0
    for s in j['segments']:
        if s['kind'] not in ('preempted', 'runqueue') or not s['tid']:
            continue
        t0, t1 = s['start_ns'] - off, s['start_ns'] + s['dur_ns'] - off
        had = collections.Counter()
        for cpu, a, b in cpus.queue(s['tid'], s['kind'], t0, t1):
            had.update(cpus.had(cpu, a, b))
        del had[s['tid']]
        if sum(had.values()) < 0.99 * s['dur_ns']:
            continue    # before the first switch of that CPU
        seen += 1
        pieces += not any(t == t1 for t, _ in cpus.on[s['tid']]) or (s['kind'] == 'preempted' and not any(t == t0 for t, _ in cpus.off[s['tid']]))
        m = re.search(r'\((\d+)\)$', s['detail'])
        named = int(m.group(1)) if m else 0 if s['detail'] == 'the CPU was idle' else None
        if had[named] < max(had.values()) - 1000:
            bad.append('%d %s %d ns from %d: "%s", had it: %s' % (s['tid'], s['kind'], s['dur_ns'], t0, s['detail'], had.most_common(3)))
    return seen, pieces, bad


UNIT = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}


def ns(text, unit):
    return float(text) * UNIT[unit]


def same(got, want):
    return abs(got - want) <= 0.0006 * want + 1


def of_class(s):
    return 'ready' if s['kind'] in ('preempted', 'runqueue', 'throttled', 'stolen') else \
        'run' if s['kind'].startswith('running') or s['kind'] == 'interrupted' else 'wait'


def told(words, sums, who, alone):
    """What is wrong with the words of a step of these sums."""
    whole, why = sum(sums.values()), []
    first = {'running': 'run', 'waiting': 'wait', 'preempted': 'ready', 'runqueue': 'ready'}.get(re.match(r'\w+', words).group(0))
    if first and sums[first] < max(sums.values()) * 0.999:
        why.append('first %s, most is %s' % (first, sums.most_common(1)))
    said = {'running': 'run', 'waiting': 'wait', 'preempted': 'ready', 'runqueue': 'ready'}
    rest = {said[k]: ns(d, u) for k, d, u in re.findall(r'; (running|waiting|preempted|runqueue) ([\d.]+) (\w+)', words)}
    for c in sums:
        if c != first and not alone and sums[c] * 18 >= whole and c not in rest:
            why.append('not a word of %s %d' % (c, sums[c]))
        if c in rest and not same(rest[c], sums[c]):
            why.append('%s %d, JSON %d' % (c, rest[c], sums[c]))
    for name, d, u in re.findall(r'((?:by|behind) [^,;]*?\(\d+\)|the CPU was idle) ([\d.]+) (\w+)', words):
        if not same(ns(d, u), who[name]):
            why.append('%s: %s %s, JSON %d' % (name, d, u, who[name]))
    if first == 'ready' and ' - ' in words and who and who.most_common(1)[0][0] not in words:
        why.append('most of it %s' % who.most_common(1))
    return why


def steps(text, j):
    """Each step of running or of being ready, by the segments that it is made of."""
    bad, seen, mixed, seg = [], 0, 0, j['segments']
    begin = float(re.search(r'from \+([\d.]+) s', text).group(1))
    at = [round(begin * 1e6 + (s['start_ns'] - j['begin_ns']) / 1e3) for s in seg]
    text = re.sub(r'\n {24,}(?! )', ' ', text)     # what was wrapped
    for l in text.splitlines():
        m = re.match(r'\s+\+([\d.]+) +([\d.]+) (\w+) +[\d.]+ % ([ =#A-Z?w]{9})\s*(.*)', l)
        words = m and re.search(r'\b((?:running|waiting): .*|(?:preempted|runqueue)(?: - .*|$))', m.group(5))
        if not words:
            continue
        t0, dur = round(float(m.group(1)) * 1e6), ns(m.group(2), m.group(3))
        fits = []
        for first in range(bisect.bisect_left(at, t0 - 2), bisect.bisect_right(at, t0 + 2)):
            sums, who, got = collections.Counter(), collections.Counter(), 0
            for s in seg[first:]:
                got += s['dur_ns']
                sums[of_class(s)] += s['dur_ns']
                if of_class(s) == 'ready':
                    who[s['detail']] += s['dur_ns']
                if same(dur, got):
                    fits.append((sums.copy(), who.copy()))
                if got > 1.01 * dur + 1:
                    break
        seen += 1
        why = ['no segments']
        for sums, who in fits:
            why = told(words.group(1), sums, who, len(sums) == 1)
            if not why:
                mixed += len(sums) > 1
                break
        if why:
            bad.append('%s: %s' % (l[:160], why))
    return seen, mixed, bad


if not os.path.isdir(DIR):
    print('1..0 # SKIP no shared traces')
    sys.exit(77)
total = pieces = parted = 0
for name, events in (('single/trace', ctf_events), ('perf-mono/perf.data', perf_events), ('perf-sched/perf.data', perf_events),
                     ('perf-sched-syscalls/perf.data', perf_events)):
    trace = os.path.join(DIR, name)
    cpus = Cpus(events(trace))
    rows = json.loads(out(W, 'threads', '--json', '-q', '--top', '40', trace))['rows']
    tids = [r['tid'] for r in rows if r['tid'] and sum(x['tid'] == r['tid'] for x in rows) == 1][:12]
    for tid in tids:
        j = json.loads(out(W, 'path', '--json', '-q', '--tid', str(tid), trace))
        # perf's stamps have no offset in its own print
        seen, cut, bad = ready(j, cpus, j['hosts'][0]['clock']['offset_ns'] if events is perf_events else 0)
        total, pieces = total + seen, pieces + cut
        for top in ('12', '20'):
            _, both, wrong = steps(out(W, 'path', '-q', '--tid', str(tid), '--top', top, trace), j)
            parted += both
            bad += wrong
        check(bad, '%s: %d: %d waits for a CPU on the path are laid to who had it, and so in the steps' % (name, tid, seen))
check([] if total > 500 and pieces > 5 and parted > 40 else [total, pieces, parted],
      'many were held against the events (%d), pieces of longer waits too (%d); steps of both kinds (%d)' % (total, pieces, parted))
sys.exit(tap.end())
