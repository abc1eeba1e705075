"""Does `whywait path` say the same as `whywait tree`, and as the program that was recorded?

The path of a thread is its tree with every wait replaced by what is at the bottom of it. So: the segments lie end
to end and sum to the wall time; what the thread itself ran and was ready is what the report says, exactly; the
time of every wait is that of the leaves of its chain, thread by thread and kind by kind; and what the program
knows of a wait that nobody else's doing ended (a sleep, a disk) stands in the path under that cause.
"""
import collections, json, subprocess

EDGE_NS = 20000     # of a wait: the program's clock against the tracepoints'
THREAD_CAUSES = {'pipe', 'unix', 'tcp', 'udp', 'futex', 'child', 'eventfd', 'signal', 'filelock', 'ipc', 'tty', 'lock',
                 'work', 'unknown'}
WIRE = {'tcp', 'udp'}
STATES = {'running-user', 'running-kernel', 'running', 'interrupted', 'stolen', 'preempted', 'runqueue', 'throttled',
          'stopped', 'unknown'}


def ask(whywait, what, trace, tid):
    p = subprocess.run([whywait, what, '--json', '--tid', str(tid), trace], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if p.returncode not in (0, 3):
        raise RuntimeError('%s --tid %d: exit %d: %s' % (what, tid, p.returncode, p.stderr.decode(errors='replace')[:200]))
    return json.loads(p.stdout)


def shape(path):
    """What is wrong with the segments themselves."""
    at = path['begin_ns']
    for s in path['segments']:
        if s['start_ns'] != at or s['dur_ns'] <= 0:
            return ['path: a segment at %d, the one before ends at %d' % (s['start_ns'], at)]
        at += s['dur_ns']
    return [] if at == path['begin_ns'] + path['wall_ns'] else ['path: segments end at %d' % at]


def key(tid, kind):
    """A device or a timer is the same whoever waited for it."""
    return (tid if kind in STATES else None, kind)


def leaves(wait, owner, out):
    """(tid, kind) -> ns of the bottom of a wait; what is cut off below counts as not comparable."""
    chain = wait.get('chain') or []
    if not chain:
        kind = wait['state'] if wait.get('state') not in (None, 'blocked') else wait['cause'] or 'unknown'
        out['cut' if wait.get('cut') else key(owner, kind)] += wait['dur_ns']
        return
    for l in chain:
        if l['tid'] is not None:
            leaves(l, l['tid'], out)
        elif l['state'] == 'unknown' or l['cause'] == 'work':
            out['cut'] += l['dur_ns']   # where the tree does not look further the path may: who queued the work
        elif l['cause'] in WIRE:
            out[(None, l['cause'])] += l['dur_ns']
        else:   # a device or a timer: the path says it with the waiter's name and cause
            cause = wait['cause']
            out[key(owner, l['cause'] if cause in (None, 'unknown', 'work') else cause)] += l['dur_ns']


def kinds(path, start, end, out=None):
    out = collections.Counter() if out is None else out
    for s in path['segments']:
        ns = min(end, s['start_ns'] + s['dur_ns']) - max(start, s['start_ns'])
        if ns > 0:
            out[key(s['tid'], s['kind'])] += ns
    return out


def against_tree(tid, path, tree):
    """Sums over all waits of the thread, as both tell them."""
    want, got = collections.Counter(), collections.Counter()
    for w in tree['waits']:
        leaves(w, tid, want)
        kinds(path, w['start_ns'], w['start_ns'] + w['dur_ns'], got)
    # Of packets that nobody in the trace sent the tree says that they were packets, the path that it ends there.
    loose = want.pop('cut', 0) + got.pop((None, 'unknown'), 0)
    bad = []
    for k in set(want) | set(got):
        if abs(want[k] - got[k]) > loose + 0.0001 * tree['wall_ns'] + EDGE_NS:
            bad.append('path of %d: %s %s for %.3f ms, the tree says %.3f ms' % (
                tid, k[0], k[1], got[k] / 1e6, want[k] / 1e6))
    return bad


def own_states(tid, path, tree):
    """Outside of its waits the path is on the thread itself, in the states that the report has."""
    waits = sum(w['dur_ns'] for w in tree['waits'])
    got = collections.Counter()
    for s in path['segments']:
        if s['depth'] == 0 and s['tid'] == tid:
            got[s['kind']] += s['dur_ns']
    bad = []
    for state, ns in tree['states'].items():
        if state in ('blocked', 'unknown'):
            continue
        if got[state] != ns:
            bad.append('path of %d: %s for %d ns, the tree says %d' % (tid, state, got[state], ns))
    if waits != tree['states'].get('blocked', 0):
        bad.append('tree of %d: waits %d ns, blocked %d' % (tid, waits, tree['states'].get('blocked', 0)))
    return bad


def against_program(lines, paths, offset, raw):
    """Waits that nobody else ended, and what others were doing at the bottom of a wait, as the programs know it."""
    bad = []
    for l in lines:
        if l['t'] not in ('wait', 'chain') or l['tid'] not in paths:
            continue
        who = l['tid'] if l['t'] == 'wait' else l['who']
        causes = set(l['cause'].split('|')) - {''}
        states = {'blocked'} if l['t'] == 'wait' else set(l['state'].split('|'))
        if l['t'] == 'wait' and l['waker'] or causes & THREAD_CAUSES or states == {'blocked'} and not causes:
            continue
        known = l['known'] - raw.dispatch(who, l['start'], l['end']) - raw.billed(who, l['start'], l['end'])
        known -= raw.stolen_ns(who, l['start'], l['end'])
        for of, which in ((raw.moved, {'preempted', 'runqueue', 'throttled'}), (raw.unseen, {'blocked'})):     # see check.py
            if not states - which:
                known -= sum(max(0, min(b, l['end']) - max(a, l['start'])) for a, b in of.get(who, []))
        if 'disk' in causes:
            known -= raw.contended_ns(who, l['start'], l['end'])
        if states == {'blocked'} and raw.stayed(who, l['start'], l['end']):
            continue    # see check.py
        start, end = l['start'] + offset, l['end'] + offset
        at = [s for s in paths[l['tid']]['segments'] if s['start_ns'] < end and s['start_ns'] + s['dur_ns'] > start]
        span = lambda s: min(end, s['start_ns'] + s['dur_ns']) - max(start, s['start_ns'])
        if l['t'] == 'chain':   # of what it did, the part during which the other waited
            # While it was blocked it woke nobody: what the other waited before it ran for the last time was something else.
            ran = [s['start_ns'] for s in at if not s['depth'] and s['start_ns'] + s['dur_ns'] < end - EDGE_NS]
            since = max(ran) if ran and states == {'blocked'} else start
            known -= (end - start) - sum(span(s) for s in at if s['depth'] and s['start_ns'] + s['dur_ns'] > since)
        # The disk may have been waited for by a helper (a journal, a worker), which then ran.
        storage = causes & {'disk', 'fault', 'reclaim'}
        right = sum(span(s) for s in at if s['tid'] == who and (s['kind'] in causes or s['kind'] in states) or
                    storage and (s['kind'] in causes or s['tid'] != who and s['kind'] in STATES - {'unknown'}))
        if known > 100000 and right < 0.98 * known - EDGE_NS:
            bad.append('path of %d: thread %d was %s %s for %.3f ms, said %.3f ms' % (
                l['tid'], who, l.get('state', 'blocked'), l['cause'], known / 1e6, right / 1e6))
    return bad


def disagreements(whywait, trace, lines, offset, raw):
    """All that is wrong, as sentences."""
    bad, paths = [], {}
    for tid in sorted({l['tid'] for l in lines if l['t'] in ('wait', 'chain', 'books')}):
        path, tree = ask(whywait, 'path', trace, tid), ask(whywait, 'tree', trace, tid)
        paths[tid] = path
        bad += shape(path) + own_states(tid, path, tree) + against_tree(tid, path, tree)
    return bad + against_program(lines, paths, offset, raw)
