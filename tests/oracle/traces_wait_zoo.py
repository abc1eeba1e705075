#!/usr/bin/python3
"""The report of a trace made by LTTng, against what the traced program itself wrote down.

The oracle is truth.txt of the trace `single` below WW_TRACES: a program of known waits that noted, with
CLOCK_MONOTONIC just outside each waiting call, who waited for whom and why. Of the time that its threads
were blocked in these intervals, at least 98 % must have the right cause and the right waker, and what
is not right must be `unknown`; in the chains the one waited for must do what it said it did.
"""
import json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

SHORT_NS = 100000       # outside the noted call: page faults of the first touch, the note itself
tap = Tap()
ok = tap.ok


class Reports:
    def __init__(self, whywait, trace):
        self.whywait, self.trace, self.have = whywait, trace, {}

    def get(self, tid):
        if tid not in self.have:
            p = subprocess.run([self.whywait, 'report', '--json', '-q', '--tid', str(tid), self.trace],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
            j = json.loads(p.stdout)
            self.have[tid] = j
        return self.have[tid]

    def waits(self, tid, t0, t1):
        """(ns inside [t0, t1], wait)"""
        j = self.get(tid)
        off = j['clock']['offset_ns']
        for w in j['waits']:
            ns = min(t1, w['start_ns'] - off + w['dur_ns']) - max(t0, w['start_ns'] - off)
            if ns > 0:
                yield ns, w


def expect(row):
    """(causes, waker tids or None, does the noted call cover the whole interval)"""
    phase, role, note = row['phase'], row['role'], row['note']
    if role == 'main':
        return ['child'], [int(note.split()[-1])]
    if role == 'sleeper':
        return ['timer'], None
    if role == 'parent':
        return ['child'], [int(note.split()[1])]
    if role == 'consumer':
        return ['pipe'], [int(note.split()[-1])]
    if role == 'writer':
        return ['disk'], None
    if role == 'client':
        return ['unix' if phase == 'poll' else 'tcp'], [int(re.search(r'server (\d+)', note).group(1))]
    if phase == 'futex':
        return ['futex'], None
    if role == 'faulter':
        return ['disk', 'fault'], None
    return None


def waits(reports, row):
    causes, wakers = expect(row)
    right = wrong = unknown = 0
    why = []
    for ns, w in reports.waits(row['tid'], row['t0'], row['t1']):
        by = w['woken_by']
        good = w['cause'] in causes and (not wakers or by['tid'] in wakers)
        if good:
            right += ns
        elif w['cause'] == 'unknown' or by['kind'] == 'unknown':
            unknown += ns
        else:
            wrong += ns
        if not good:
            why.append('%.3f ms %s in %s: %s, by %s %s %s' % (ns / 1e6, w['cause'], w['call'], w['detail'], by['kind'], by['tid'], by['name']))
    total = right + wrong + unknown
    name = '%s %s %d: %.2f ms blocked' % (row['phase'], row['role'], row['tid'], total / 1e6)
    good = right >= 0.98 * total - SHORT_NS and wrong < SHORT_NS
    if row['role'] not in ('faulter',) and row['phase'] != 'futex':
        good = good and right > 0
    ok(good, name, '\n'.join(why))


def links(chain):
    for l in chain:
        yield l
        yield from links(l['chain'])


def share(reports, tid, t0, t1, who, states, causes):
    """Of the wait of tid, the part in which `who` is in one of these states."""
    total = got = 0
    for ns, w in reports.waits(tid, t0, t1):
        total += w['dur_ns']
        got += sum(l['dur_ns'] for l in w['chain'] if l['tid'] == who and l['state'] in states and
                   (causes is None or l['cause'] in causes))
    return got, total


def main():
    whywait = os.environ['WHYWAIT']
    single = os.path.join(os.environ.get('WW_TRACES', ''), 'single')
    if not os.path.exists(single + '/truth.txt'):
        print('no trace "%s": set WW_TRACES' % single)
        return 77
    rows = []
    for line in open(single + '/truth.txt'):
        if not line.startswith('#'):
            f = line.rstrip('\n').split('\t')
            rows.append({'phase': f[0], 'role': f[1], 'tid': int(f[2]), 't0': int(f[3]), 't1': int(f[4]), 'note': f[7]})
    reports = Reports(whywait, single + '/trace')
    for r in rows:
        if expect(r):
            waits(reports, r)
    run = ('running-user', 'running-kernel', 'running', 'interrupted', 'preempted', 'runqueue')
    by = {(r['phase'], r['role']): r for r in rows}
    c = by['pipe', 'consumer']
    got, total = share(reports, c['tid'], c['t0'], c['t1'], by['pipe', 'producer']['tid'], run, None)
    ok(got > 0.9 * total, 'pipe: meanwhile the producer was computing: %.1f of %.1f ms' % (got / 1e6, total / 1e6))
    for r in rows:
        if r['role'] != 'client' or r['phase'] != 'tcp':
            continue
        server = int(re.search(r'server (\d+)', r['note']).group(1))
        got, total = share(reports, r['tid'], r['t0'], r['t1'], server, ('blocked',), ('timer',))
        ok(4.9e6 < got < 8e6, 'tcp: meanwhile the server slept 5 ms: %.2f' % (got / 1e6))
        got, total = share(reports, r['tid'], r['t0'], r['t1'], server, run, None)
        ok(got >= 4.5e6, 'tcp: and computed 5 ms: %.2f' % (got / 1e6))
    spin = [by['preempt', 'spin0'], by['preempt', 'spin1']]
    for a, b in (spin, spin[::-1]):
        j = reports.get(a['tid'])
        named = sum(r['ns'] for r in j['breakdown'] if r['state'] in ('preempted', 'runqueue') and '(%d)' % b['tid'] in r['detail'])
        whole = sum(r['ns'] for r in j['breakdown'] if r['state'] in ('preempted', 'runqueue'))
        ok(named > 0.8 * whole and whole > 20e6, 'preempt: %d stood back for %d: %.1f of %.1f ms' % (
            a['tid'], b['tid'], named / 1e6, whole / 1e6))
    file = [r for r in json.loads(subprocess.run([whywait, 'faults', '--by=file', '--json', '-q', '--tid', str(by['fault', 'faulter']['tid']),
            single + '/trace'], stdout=subprocess.PIPE).stdout)['rows'] if r['file'] == '/disk/m']
    ok(len(file) == 1 and file[0]['count'] == 32 and file[0]['pattern'] == 'strided', 'fault: 32 pages, 64 apart: strided', file)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
