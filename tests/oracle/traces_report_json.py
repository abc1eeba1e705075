#!/usr/bin/python3
"""Holds the JSON of report, tree and the tables against its schemas, and against itself.

  traces_report_json.py [TRACE...]     WHYWAIT, WW_TRACES in the environment; the oracle is python3-jsonschema

For every CTF trace below WW_TRACES (skipped loudly when there is none), or the given ones, and every thread of it: the
breakdown adds up to wall_ns, the states do, the waits are as long as the breakdown's blocked rows, the
chains lie end to end and cover their waits; report and tree tell of the same waits. The figures in the
table of threads are those of the reports.
"""
import glob, json, os, random, subprocess, sys
import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'schema')
MAX_THREADS = 60        # a trace
tap = Tap()
ok = tap.ok


def run(whywait, *args):
    p = subprocess.run([whywait, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=300)
    if p.returncode not in (0, 3):
        raise RuntimeError('%s: exit %d: %s' % (' '.join(args), p.returncode, p.stderr.decode(errors='replace')))
    return json.loads(p.stdout), p.returncode


def chain_problem(link, depth=0):
    at = link['start_ns']
    for c in link['chain']:
        if c['start_ns'] != at:
            return 'a chain has a hole or overlap at %d (depth %d)' % (at, depth)
        at += c['dur_ns']
        bad = chain_problem(c, depth + 1)
        if bad:
            return bad
    if link['chain'] and at != link['start_ns'] + link['dur_ns']:
        return 'a chain ends %d ns off its wait' % (link['start_ns'] + link['dur_ns'] - at)
    return None


def sums_problem(t):
    if sum(r['ns'] for r in t['breakdown']) != t['wall_ns']:
        return 'breakdown sums to %d of %d' % (sum(r['ns'] for r in t['breakdown']), t['wall_ns'])
    if sum(t['states'].values()) != t['wall_ns']:
        return 'states sum to %d of %d' % (sum(t['states'].values()), t['wall_ns'])
    for s, ns in t['states'].items():
        if sum(r['ns'] for r in t['breakdown'] if r['state'] == s) != ns:
            return 'rows of %s do not sum to its state' % s
    for r in t['breakdown']:
        if r['max_ns'] > r['ns'] or r['uncertain_ns'] > r['ns'] or (r['cause'] is not None) != (r['state'] == 'blocked'):
            return 'row %s' % r
    return None


def waits_problem(t):
    if 'waits' not in t:
        return None
    if t['waits_total'] != len(t['waits']):
        return '%d of %d waits' % (len(t['waits']), t['waits_total'])
    if sum(w['dur_ns'] for w in t['waits']) != t['states'].get('blocked', 0):
        return 'the waits are not as long as the time blocked'
    at = t['begin_ns']
    for w in t['waits']:
        if w['start_ns'] < at or w['start_ns'] + w['dur_ns'] > t['begin_ns'] + t['wall_ns']:
            return 'a wait out of order or range'
        at = w['start_ns'] + w['dur_ns']
        bad = chain_problem(w)
        if bad:
            return bad
    return None


def check_trace(whywait, trace, name, schemas):
    rows, status = run(whywait, 'threads', '--json', '-q', trace)
    rows = rows['rows']
    ok(len(rows) > 0, name + ': has threads')
    once = [r for r in rows if sum(1 for x in rows if x['tid'] == r['tid']) == 1]
    random.Random(5).shuffle(once)
    bad, seen = [], 0
    for r in once[:MAX_THREADS]:
        j, st = run(whywait, 'report', '--json', '--threads', '-q', '--tid', str(r['tid']), trace)
        try:
            schemas['report'].validate(j)
        except jsonschema.ValidationError as e:
            bad.append('tid %d: %s at %s' % (r['tid'], e.message[:200], list(e.path)))
        for t in [j] + j['threads']:
            p = sums_problem(t) or waits_problem(t)
            if p:
                bad.append('tid %d, thread %d: %s' % (r['tid'], t['target']['tid'], p))
        run_ns, blocked_ns = (sum(j['states'].get(s, 0) for s in states) for states in (
            ('running-user', 'running-kernel', 'running', 'interrupted'), ('blocked', 'stopped')))
        if (j['wall_ns'], run_ns, blocked_ns) != (r['wall_ns'], r['running_ns'], r['blocked_ns']):
            bad.append('tid %d: the table of threads says something else' % r['tid'])
        if (j['loss']['lost_events'] or j['loss']['bad_packets']) and st != 3:
            bad.append('losses, but the exit status is %d' % st)
        if sum(b['ns'] for b in j['blame']) != sum(w['dur_ns'] for w in j['waits'] if w['chain']):
            bad.append('tid %d: the blame does not add up to the waits' % r['tid'])
        seen += 1
        if seen % 10 == 1:
            t, _ = run(whywait, 'tree', '--json', '-q', '--tid', str(r['tid']), trace)
            schemas['tree'].validate(t)
            if t['waits'] != j['waits']:
                bad.append('tid %d: tree and report tell of different waits' % r['tid'])
    ok(not bad, '%s: %d threads add up, chains cover, schemas hold' % (name, seen), '\n'.join(bad))
    j, _ = run(whywait, 'report', '--json', '-q', trace)
    schemas['report'].validate(j)
    ok(sums_problem(j) is None, name + ': the default target is %s' % j['target']['comm'], sums_problem(j))
    half = j['begin_ns'] + j['wall_ns'] // 2
    a, _ = run(whywait, 'report', '--json', '-q', '--tid', str(j['target']['tid']), '--to', str(half), trace)
    b, _ = run(whywait, 'report', '--json', '-q', '--tid', str(j['target']['tid']), '--from', str(half), trace)
    both = {s: a['states'].get(s, 0) + b['states'].get(s, 0) for s in set(a['states']) | set(b['states'])}
    ok(both == j['states'], name + ': two halves are the whole', '%s\n%s' % (both, j['states']))


def main():
    whywait, root = os.environ['WHYWAIT'], os.environ.get('WW_TRACES', '')
    schemas = {k: jsonschema.Draft7Validator(json.load(open(os.path.join(HERE, k + '.json')))) for k in ('report', 'tree')}
    for s in schemas.values():
        s.check_schema(s.schema)
    traces = sys.argv[1:] or sorted({os.path.dirname(m) for m in glob.glob(os.path.join(root, '**/metadata'), recursive=True)
                     if 'ust' not in os.path.relpath(m, root).split('/')})
    if not traces:
        print('no traces in "%s": set WW_TRACES' % root)
        return 77
    for t in traces:
        name = os.path.relpath(t, root)
        try:
            check_trace(whywait, t, name, schemas)
        except Exception as e:
            ok(False, name, '%s: %s' % (type(e).__name__, e))
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
