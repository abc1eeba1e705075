"""One run, recorded by LTTng and by whywait at once: event for event the same.

  lttng_same_run.py DIR        DIR/lttng, DIR/whywait, as tests/lab/four.sh leaves them

The oracle is LTTng. While the command ran, on each CPU, of each event that both record: as many, in the same order,
with the same values of all fields; their stamps differ by the distance of the two probes. System calls and page
faults are compared of the command's processes, of which whywait records them. Between different events the order on
a CPU is the same too, but where an interrupt came between the two probes of one event."""
import collections, json, os, subprocess, sys
from lttng_oracle import Tap

EDGE_NS = 5000000       # at the ends of the run one recorder may be late
APART_NS = 200000000    # two stamps of one event: an emulated CPU was seen to stand still for 28 ms between them
TREE_ONLY = ('syscall_', 'compat_syscall_', 'x86_exceptions_')
# What an interrupt may put between the two probes of an event that is traced with interrupts on.
OPEN = ('syscall_', 'compat_syscall_', 'x86_exceptions_', 'signal_', 'sched_process_', 'net_', 'block_', 'workqueue_', 'irq_softirq_',
        'timer_', 'napi_', 'sched_migrate_task', 'sched_wak', 'irq_handler')


def ask(trace, *args):
    p = subprocess.run([os.environ['WHYWAIT'], *args, '--json', '-q', trace], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, timeout=250)
    if p.returncode not in (0, 3):
        raise RuntimeError('%s %s: exit %d' % (args[0], trace, p.returncode))
    return json.loads(p.stdout)


def load(trace, begin, end, tree):
    """({cpu: [(ns, name, fields)] in the stream's order}, names of all its classes); tree grows with its forks."""
    j = ask(trace, 'events')
    off = j['clock']['offset_ns']
    found, current = collections.defaultdict(list), {}
    for e in j['events']:
        name, f, t = e['name'], e['fields'], e['time_ns'] - off
        if name == 'sched_process_fork' and f['parent_tid'] in tree:
            tree.add(f['child_tid'])
        tid = current.get(e['cpu'])
        if name == 'sched_switch':
            current[e['cpu']] = f['next_tid']
        if begin <= t <= end and not name.startswith(('whywait_', 'lttng_statedump_')) and (
                not name.startswith(TREE_ONLY) or tid in tree):
            found[e['cpu']].append((t, name, json.dumps(f, sort_keys=True)))
    return found


def by_name(events):
    d = collections.defaultdict(list)
    for i, (t, name, fields) in enumerate(events):
        d[name].append((t, fields, i))
    return d


def pair(a, b, begin, end):
    """(pairs of indexes, what has no partner inside the run). Both keep their order."""
    pairs, lonely, k = [], [], 0
    for t, fields, i in a:
        at = next((n for n in range(k, min(k + 50, len(b))) if b[n][1] == fields and abs(b[n][0] - t) < APART_NS), None)
        if at is None:
            lonely.append((t, 'LTTng', fields))
            continue
        lonely += [(b[n][0], 'ours', b[n][1]) for n in range(k, at)]
        pairs.append((i, b[at][2], b[at][0] - t))
        k = at + 1
    lonely += [(x[0], 'ours', x[1]) for x in b[k:]]
    return pairs, [l for l in lonely if begin + EDGE_NS < l[0] < end - EDGE_NS]


def main():
    dir = sys.argv[1]
    tap = Tap()
    j = ask(dir + '/whywait', 'report')
    begin = j['begin_ns'] - j['clock']['offset_ns']
    end = begin + j['wall_ns']
    target = j['target']['tid']
    theirs = load(dir + '/lttng', begin, end, {target})
    ours = load(dir + '/whywait', begin, end, {target})
    both = {n for c in theirs.values() for _, n, _ in c} & {n for c in ours.values() for _, n, _ in c}
    total, lonely, swapped, apart = collections.Counter(), collections.defaultdict(list), [], []
    for cpu in sorted(theirs):
        a, b = by_name(theirs[cpu]), by_name(ours[cpu])
        matched = []
        for name in both:
            pairs, alone = pair(a[name], b[name], begin, end)
            total[name] += len(pairs)
            lonely[name] += alone
            matched += [(i, k, name) for i, k, _ in pairs]
            apart += [d for _, _, d in pairs]
        matched.sort()
        for (_, k0, n0), (_, k1, n1) in zip(matched, matched[1:]):
            if k1 < k0:
                swapped.append((n0, n1))
    n = sum(total.values())
    tap.ok(len(both) >= 40 and n > 1000, '%d events of %d names are in both' % (n, len(both)))
    for name in sorted(both):
        l = lonely[name]
        tap.ok(total[name] + len(l) == 0 or not l, '%s: %d the same, in order' % (name, total[name]),
               '%d have no partner\n' % len(l) + '\n'.join('%d %s %s' % x for x in l[:4]))
    odd = [s for s in swapped if not (s[0].startswith(OPEN) or s[1].startswith(OPEN))]
    tap.ok(not odd and len(swapped) < 0.02 * n, 'and so is the order on a CPU: %d times an interrupt came between' % len(swapped),
           str(collections.Counter(odd).most_common(8)))
    apart.sort()
    print('# our stamps minus LTTng\'s: median %d ns, 98 %% from %d to %d ns' % (
        apart[n // 2], apart[n // 100], apart[-1 - n // 100]) if apart else '')
    only = {x for c in ours.values() for _, x, _ in c} - both
    print('# only in ours: ' + ' '.join(sorted(only)))
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
