#!/usr/bin/python3
"""Records every truth program live and compares the report with what the program knows.

  check.py [--seed N] [--keep DIR] [--trace-only] BUILD [NAME...]

BUILD holds whywait and tests/truth/truth-*. One line a scenario on stdout, in TAP with the figures:

  ok 3 - truth/pipe_sleep  known 103.8 ms  right 99.9 %  wrong 0.0 %  unknown 0.1 %  ...

Right: time inside the known interval that the report calls blocked by the right cause and ended by the
right thread. Wrong: blocked by another cause or thread. Unknown: blocked, but the report says that it
does not know. At least 98 % must be right and nothing wrong.

What is taken off before comparing, each measured by babeltrace2 in the same trace:
- The kernel's books begin the run delay at the enqueue on the target CPU (sched_wakeup), the report at sched_waking;
  in a virtual machine 0.1 ms may lie between the two.
- They do not count as running what the hypervisor took (the report's `stolen`); a program cannot tell it from
  waiting. When it was is not known better than between the switch before and the event that tells of it, so a known
  wait there may be shorter by that much.
- Some virtual machines hide the switches away from init's threads from every tracepoint. Who came after such a
  thread, and when, nobody can tell: the time until the next switch on that CPU is dark, and `unknown` is the right
  answer there. So it is of a wait whose wakeup no event tells of, if such a thread had a CPU meanwhile. Any other switch that is missing is our loss, and fails.
- A thread that sleeps may still be in its run queue for a while (delayed dequeue), and be moved to another CPU with it: from
  then until it is woken the books count it as delayed, and a program takes that for less waiting.
- A program that knows that it waited for the disk does not know that a lock of the kernel was in between, whose holder
  waited for the disk. Where the kernel's own contention_begin and contention_end say so, `lock` is right.
"""
import argparse, glob, json, os, random, re, shutil, subprocess, sys, tempfile, time

import path_agrees

RIGHT = 0.98
EDGE_NS = 15000         # a wait
BOOKS = 0.01            # run and run delay
BOOKS_NS = 100000       # ... of very little
SWITCH_NS = 5000        # a switch: enqueue or switch time against the tracepoint's stamp
RUN_STATES = ('running-user', 'running-kernel', 'interrupted')
BILLED_NS = 60000        # the most of one switch to a thread that nobody preempts for it (Raw.billed)
DELAY_STATES = ('preempted', 'runqueue', 'throttled')

# What no timer ever gives.
THREADS_ONLY = ('futex', 'pipe', 'unix', 'eventfd', 'child', 'filelock', 'ipc', 'tty')
# Threads whose switches may be hidden; where init has many it begins and ends some, of the same names.
HIDDEN = {int(t) for t in os.listdir('/proc/1/task')} if os.path.isdir('/proc/1/task') else set()
HIDDEN_NAMES = {open('/proc/1/task/%d/comm' % t).read().strip() for t in HIDDEN} if len(HIDDEN) > 1 else set()


def overlap(a0, a1, b0, b1):
    return max(0, min(a1, b1) - max(a0, b0))


class Report:
    """`whywait report --json` of one thread, times turned into CLOCK_MONOTONIC."""

    def __init__(self, whywait, trace, tid, window=None, offset=0):
        cmd = [whywait, 'report', '--json', '--tid', str(tid)]
        if window:
            cmd += ['--from', str(window[0] + offset), '--to', str(window[1] + offset)]
        p = subprocess.run(cmd + [trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=60)
        if p.returncode not in (0, 3):
            raise RuntimeError('report --tid %d: exit %d: %s' % (tid, p.returncode, p.stderr.decode(errors='replace')[:200]))
        self.j = json.loads(p.stdout)
        self.offset = self.j['clock']['offset_ns']
        self.states = self.j['states']
        self.waits = self.j['waits']
        for w in self.waits:
            self.shift(w)

    def shift(self, link):
        link['t0'] = link['start_ns'] - self.offset
        link['t1'] = link['t0'] + link['dur_ns']
        for c in link.get('chain') or []:
            self.shift(c)

    def problems(self):
        total = sum(r['ns'] for r in self.j['breakdown'])
        if total != self.j['wall_ns']:
            return ['breakdown sums to %d, wall_ns is %d' % (total, self.j['wall_ns'])]
        return []


def flatten(links, depth=0):
    for l in links or []:
        yield l
        if depth < 40:
            yield from flatten(l.get('chain'), depth + 1)


class Scenario:
    def __init__(self, name):
        self.name = name
        self.known = self.right = self.wrong = self.unknown = 0
        self.n = 0
        self.bad = []       # what makes it fail
        self.notes = []

    def fail(self, text):
        if text not in self.bad:
            self.bad.append(text)

    # ---- waits ----

    def wait(self, w, rep, raw):
        known = w['known'] - raw.dispatch(w['tid'], w['start'], w['end'])
        most = known + overlaps(raw.moved.get(w['tid'], []), w['start'], w['end'])
        known -= raw.stolen_ns(w['tid'], w['start'], w['end'])
        if raw.stayed(w['tid'], w['start'], w['end']):
            # What it waited for was there before it could leave the CPU; time that was taken from the CPU meanwhile
            # looks like waiting to the program.
            if any(overlap(w['start'], w['end'], r['t0'], r['t1']) > 1000 for r in rep.waits):
                self.fail('said blocked while it had the CPU')
            return
        if known < 20000:
            return
        causes, kinds = w['cause'].split('|'), [k for k in w['kind'].split('|') if k]
        calls = [c for c in w['syscall'].split('|') if c]
        right = wrong = unknown = 0
        for r in rep.waits:
            ns = overlap(w['start'], w['end'], r['t0'], r['t1'])
            if ns < 1000:
                continue
            by = r['woken_by'] or {}
            nobody = by.get('kind') in (None, 'unknown')
            # Put on its run queue by an interrupt from another CPU, where nobody saw who woke it, and the report doubts it.
            queued = by.get('kind') == 'ipi' and by.get('tid') is None and by.get('uncertain') and r['cause'] in causes
            if r['cause'] == 'unknown' and nobody or queued:
                dark = min(ns, overlaps(raw.unseen.get(w['tid'], []), max(w['start'], r['t0']), min(w['end'], r['t1'])))
                known -= dark
                most -= dark
                ns -= dark
            if r['cause'] == 'unknown' and 'kthread' in causes and by.get('kind') == 'thread':
                # A thread of the kernel that ends, or RCU: of that nobody knows more; and how long it had no CPU is no part of it.
                idle = min(ns, overlaps([(a, b) for a, b, _ in raw.ready.get(by['tid'], [])],
                                        max(w['start'], r['t0']), min(w['end'], r['t1'])))
                known -= idle
                most -= idle
                ns -= idle
            if r['cause'] in (None, 'unknown') or (nobody or queued) and r['cause'] in causes:
                unknown += ns
                self.notes.append('%s: %s/%s by %s' % (w['cause'], r['cause'], r['syscall'], by.get('kind')))
                continue
            said = '%s by %s %s %s' % (r['cause'], by.get('kind'), by.get('tid'), by.get('name') or '')
            if r['cause'] == 'lock' and 'disk' in causes and raw.contended_ns(w['tid'], r['t0'], r['t1']) > r['dur_ns'] - EDGE_NS:
                right += ns
                continue
            good = r['cause'] in causes and (not kinds or by.get('kind') in kinds)
            if w['waker']:
                good = good and by.get('tid') == w['waker']
            elif by.get('kind') == 'timer' and by.get('tid') not in (None, w['tid']):
                good = False
            if by.get('kind') == 'timer' and r['cause'] in THREADS_ONLY:
                good = False
            if w['waker'] and r['cause'] in causes and by.get('tid') is None:
                unknown += ns       # the right cause, and no thread named
                self.notes.append('%s by %s, no thread' % (r['cause'], by.get('kind')))
                continue
            if good:
                right += ns
                if calls and r['syscall'] not in calls:
                    self.fail('call is %s, not %s' % (r['syscall'], w['syscall']))
                if w['hint'] and w['hint'] not in json.dumps(r):
                    self.fail('no "%s" in "%s"' % (w['hint'], r['detail']))
            else:
                wrong += ns
                self.fail('want %s by %s %s in %s, said %s in %s' % (
                    w['cause'], w['kind'], w['waker'] or '', w['syscall'], said, r['syscall']))
        self.add(max(0, known), right, wrong, unknown, max(0, most))

    def add(self, known, right, wrong, unknown, most=0):
        """most: what may have been known, where that is not certain."""
        self.n += 1
        self.known += known
        self.right += min(right, known)
        self.wrong += wrong
        self.unknown += max(unknown, 0)
        if right > max(known, most) * (2 - RIGHT) + BOOKS_NS:
            self.fail('a wait of %.3f ms is said to be %.3f ms' % (max(known, most) / 1e6, right / 1e6))

    # ---- chains ----

    def chain(self, c, rep, raw):
        mine = [l for l in self.lines if l['t'] == 'wait' and l['tid'] == c['tid']]
        waits = [w for w in rep.waits if overlap(c['start'], c['end'], w['t0'], w['t1']) and
                 any(overlap(l['start'], l['end'], w['t0'], w['t1']) for l in mine)]
        # While it was blocked it woke nobody: a wait that ended before was for something else.
        covered = sum(overlap(c['start'], c['end'], w['t0'], w['t1']) for w in waits
                      if c['state'] != 'blocked' or w['t1'] > c['end'] - EDGE_NS)
        known = c['known']
        if 'blocked' in c['state']:
            known -= raw.dispatch(c['who'], c['start'], c['end']) + raw.stolen_ns(c['who'], c['start'], c['end'])
        elif not set(c['state'].split('|')) - set(DELAY_STATES):
            known -= overlaps(raw.moved.get(c['who'], []), c['start'], c['end'])
        known = max(0, known - raw.dark_ns(c['who'], c['start'], c['end']))
        known = max(0, known - (c['end'] - c['start'] - covered))    # all of the rest may be what was not waited for
        states, causes = c['state'].split('|'), c['cause'].split('|') if c['cause'] else None
        right = wrong = unknown = 0
        for l in flatten([x for w in waits for x in w.get('chain') or []]):
            if l['tid'] != c['who']:
                continue
            ns = overlap(c['start'], c['end'], l['t0'], l['t1'])
            if l['state'] in states and (not causes or l['cause'] in causes):
                right += ns
            elif l['state'] == 'unknown' or l['state'] == 'blocked' and l['cause'] in (None, 'unknown'):
                unknown += ns
            elif l['state'] == 'blocked' and ns > EDGE_NS:
                wrong += ns
                self.fail('chain: thread %d was %s %s, said blocked by %s in %s' % (
                    c['who'], c['state'], c['cause'], l['cause'], l['syscall']))
        if known > 100000:
            slack = EDGE_NS + raw.billed(c['who'], c['start'], c['end'])
            if right + unknown < known * RIGHT - slack and not wrong:
                self.fail('chain: thread %d %s %s for %.3f ms, said %.3f ms' % (
                    c['who'], c['state'], c['cause'], known / 1e6, right / 1e6))
            self.add(known, min(known, right + slack) if right else 0, wrong, unknown)

    def through(self, l, rep):
        """What its waits in between went through: each name must stand in them or below."""
        waits = [w for w in rep.waits if overlap(l['start'], l['end'], w['t0'], w['t1'])]
        said = json.dumps(waits)
        for name in l['names']:
            if name not in said:
                self.fail('no "%s" in its waits for %.3f ms' % (name, (l['end'] - l['start']) / 1e6))

    # ---- the kernel's books ----

    def books(self, b, whywait, trace, offset, raw, threads):
        rep = Report(whywait, trace, b['tid'], (b['from'], b['to']), offset)
        for p in rep.problems():
            self.fail(p)
        n = b['vol'] + b['invol']
        dark = raw.dark_ns(b['tid'], b['from'], b['to'])
        early, late, moved = (overlaps(of.get(b['tid'], []), b['from'], b['to']) for of in (raw.bills, raw.late, raw.moved))
        for what, states, want, more, less in (('run', RUN_STATES + ('running',), b['run'], early, late),
                                               ('delay', DELAY_STATES, b['delay'], late + moved, early)):
            got = sum(rep.states.get(s, 0) for s in states)
            if what == 'delay':     # the enqueue is somewhere between waking and wakeup
                got -= raw.dispatch(b['tid'], b['from'], b['to'])
                more += raw.dispatch(b['tid'], b['from'], b['to'])
            else:   # the books may have seen only later what was taken, in another's time
                more += raw.stolen_ns(b['tid'], b['from'], b['to'])
            allowed = BOOKS * want + BOOKS_NS + SWITCH_NS * n + dark
            self.notes.append('%s %.2f, kernel %.2f (-%.2f +%.2f) ms' % (what, got / 1e6, want / 1e6, less / 1e6, more / 1e6))
            if not -allowed - less <= want - got <= allowed + more:
                self.fail('%s of %d: kernel %.3f ms, report %.3f ms' % (what, b['tid'], want / 1e6, got / 1e6))
        if raw.seen:
            mine = [s for s in raw.switches.get(b['tid'], []) if b['from'] <= s[0] <= b['to']]
            vol = sum(1 for s in mine if s[1])
            if (vol, len(mine) - vol) != (b['vol'], b['invol']):
                self.fail('switches of %d: kernel %d + %d, trace %d + %d' % (
                    b['tid'], b['vol'], b['invol'], vol, len(mine) - vol))
            major = sum(1 for t in raw.major.get(b['tid'], []) if b['from'] <= t <= b['to'])
            if major != b['majflt']:
                self.fail('major faults of %d: kernel %d, trace %d' % (b['tid'], b['majflt'], major))
        if b.get('never') == 'blocked':
            blocked = rep.states.get('blocked', 0)
            self.add(max(0, b['run'] - dark), sum(rep.states.get(s, 0) for s in RUN_STATES), 0, 0)
            if len(rep.waits) > b['vol']:
                self.fail('%d waits, the kernel counts %d' % (len(rep.waits), b['vol']))
            if blocked > BOOKS_NS and b['vol'] == 0:
                self.fail('said blocked for %.3f ms, it never was' % (blocked / 1e6))
        if b.get('never_cause'):
            begun = [w for w in self.lines if w['t'] == 'wait' and w['tid'] == b['tid']]
            first = min(w['start'] for w in begun)
            last = max(w['end'] for w in begun)
            for w in rep.waits:
                if w['cause'] == b['never_cause'] and w['t0'] >= first and w['t1'] <= last:
                    self.fail('said blocked by %s; it never was' % w['cause'])
        if 'delayed_by' in b:
            self.delayed(b, rep, raw)

    def delayed(self, b, rep, raw):
        """Who had the CPU: each thread that a row of preempted or runqueue names must have run on the CPU
        in whose queue this one was then. (Others than the scenario's may, on a busy machine.)"""
        had = raw.had_cpu(b['tid'], b['from'], b['to']) | HIDDEN
        right = wrong = other = 0
        for r in rep.j['breakdown']:
            if r['state'] not in DELAY_STATES:
                continue
            named = {int(t) for t in re.findall(r'\((\d+)\)', r['detail'] or '')}
            if not named:
                other += r['ns']
                self.notes.append('%s by "%s" %.2f ms' % (r['state'], r['detail'], r['ns'] / 1e6))
            elif named <= had:
                right += r['ns']
            else:
                wrong += r['ns']
                self.fail('%s: "%s", but %s did not have the CPU' % (r['state'], r['detail'], sorted(named - had)))
        known = max(0, b['delay'] - raw.dark_ns(b['tid'], b['from'], b['to']))
        self.add(known, right, wrong, max(0, min(other, known - right)))

    def state(self, s, whywait, trace, offset, raw):
        rep = Report(whywait, trace, s['tid'], (s['start'], s['end']), offset)
        ns = rep.states.get(s['state'], 0)
        # It must get a CPU before it can stop, and may be interrupted there.
        known = s['end'] - s['start'] - raw.dark_ns(s['tid'], s['start'], s['end'])
        known -= sum(overlap(s['start'], s['end'], a, b) for a, b, _ in raw.ready.get(s['tid'], []))
        known -= raw.ran_ns(s['tid'], s['start'], s['end'])
        wrong = 0 if ns >= known * RIGHT else known - ns - rep.states.get('unknown', 0)
        if wrong:
            self.fail('want %s, said %s' % (s['state'], rep.states))
        self.add(known, ns, wrong, rep.states.get('unknown', 0))

    def share(self, s, whywait, trace, offset, raw):
        """The kernel says that between start and end the thread was in a state for ns, all together; the trace may
        see its ends late, by `late` in sum, or later if it got no CPU then."""
        late = max(s['late'], raw.refilled_ns(s['tid'], s['start'], s['end']))
        rep = Report(whywait, trace, s['tid'], (s['start'], s['end']), offset)
        ns = rep.states.get(s['state'], 0)
        self.notes.append('%s %.2f/%.2f ms' % (s['state'], ns / 1e6, s['ns'] / 1e6))
        wrong = max(0, ns - s['ns'] - late)
        slack = (1 - RIGHT) * s['ns'] + BOOKS_NS
        if not -slack <= ns - s['ns'] <= slack + late:
            self.fail('%s: kernel %.3f ms, said %s' % (s['state'], s['ns'] / 1e6, rep.states))
        else:
            wrong = 0
        self.add(s['ns'], min(ns, s['ns']), wrong, rep.states.get('unknown', 0))

    # ---- the whole ----

    def run(self, whywait, prog, seed, workdir, attempt=0):
        base = os.path.join(workdir, self.name + ('-%d' % attempt if attempt else ''))
        trace, said = base + '.ctf', base + '.jsonl'
        with open(said, 'wb') as out:
            p = subprocess.run([whywait, 'record', '-q', '-o', trace, '--', prog, str(seed)],
                               stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=120)
        err = p.stderr.decode(errors='replace').strip()
        self.lines = []
        for line in open(said, errors='replace'):
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                pass
        skip = [l for l in self.lines if l['t'] == 'skip']
        if skip:
            return skip[0]['why']
        if not any(l['t'] == 'end' for l in self.lines):
            self.fail('the program did not end well (record exit %d): %s' % (p.returncode, err[-200:]))
            return None
        if p.returncode == 3:
            self.fail('events were lost: ' + err[-160:])
        self.judge(whywait, trace)
        return None

    def judge(self, whywait, trace):
        threads = [l for l in self.lines if l['t'] == 'thread']
        reports = {}
        offset = None
        for l in self.lines:
            if l['t'] in ('wait', 'chain') and l['tid'] not in reports:
                reports[l['tid']] = Report(whywait, trace, l['tid'])
                for p in reports[l['tid']].problems():
                    self.fail(p)
                offset = reports[l['tid']].offset
        if offset is None:
            offset = Report(whywait, trace, threads[0]['tid']).offset
        raw = Raw(trace, offset)
        if raw.missing:
            self.fail('%d switches are missing in the trace' % raw.missing)
        for l in self.lines:
            if l['t'] == 'wait':
                self.wait(l, reports[l['tid']], raw)
            elif l['t'] == 'chain':
                self.chain(l, reports[l['tid']], raw)
            elif l['t'] == 'books':
                self.books(l, whywait, trace, offset, raw, threads)
            elif l['t'] == 'state':
                self.state(l, whywait, trace, offset, raw)
            elif l['t'] == 'through':
                self.through(l, reports[l['tid']])
            elif l['t'] == 'share':
                self.share(l, whywait, trace, offset, raw)
        for p in path_agrees.disagreements(whywait, trace, self.lines, offset, raw):
            self.fail(p)
        if self.right < self.known * RIGHT - EDGE_NS * self.n:
            self.fail('only %.1f %% right' % (100 * self.right / max(1, self.known)))
        if not self.known:
            self.fail('nothing was known: the scenario tested nothing')


class Raw:
    """Raw events that the books are compared with, read by babeltrace2, so that they do not lean on our own
    reader. switches: {tid: [(ts, voluntary)]}, major: {tid: [ts]}, gaps: {tid: [(waking, wakeup)]}."""

    EVENTS = ('sched_switch:|whywait_current:|whywait_function:|sched_waking:|sched_wakeup:|sched_migrate_task:|whywait_fault_end:|whywait_stolen:|'
              'timer_hrtimer_expire_entry:|whywait_lock_')
    SPINS = 1           # of the flags of contention_begin: it does not sleep

    def __init__(self, trace, offset):
        self.switches, self.major, self.gaps, self.bills, self.late, self.stolen = {}, {}, {}, {}, {}, {}
        self.ready, self.runs = {}, {}     # {tid: [(from, to, cpu)]}, {cpu: [(from, to, tid)]}
        self.refills = []   # when a group that had used up its time got more
        self.unseen = {}    # {tid: [(from, to)]}: it slept, and nobody saw its wakeup
        self.moved = {}     # {tid: [(from, to)]}: it slept, and was moved as if it were ready
        self.locks = {}     # {tid: [(from, to)]}: it waited for a lock of the kernel
        self.dark = {}      # {tid: [(from, to)]}: it may have come to a CPU unseen
        self.missing = 0    # switches that are not in the trace, and not hidden by the machine
        self.seen = False
        bt = shutil.which('babeltrace2')
        if not bt:
            return
        p = subprocess.run('"%s" --clock-seconds "%s" 2>/dev/null | grep -E "%s"' % (bt, trace, self.EVENTS),
                           shell=True, stdout=subprocess.PIPE, timeout=120)
        waking, ready, on, clocked, taken, wanted, asleep = {}, {}, {}, {}, {}, {}, {}
        hidden, names, slept, hid_at = set(HIDDEN), {}, {}, -1
        lines = p.stdout.decode(errors='replace').splitlines()
        ticks = tick_timers(lines)
        for line in lines:
            f, ts = fields(line), stamp(line) - offset
            if 'sched_switch:' in line:
                self.seen = True
                state = int(re.match(r'-?\d+|.*= (-?\d+)', f['prev_state']).group(0))
                self.switches.setdefault(int(f['prev_tid']), []).append((ts, state not in (0, 256)))
                queued = ready.pop(int(f['next_tid']), None)
                if queued:
                    ends = [at for at, _ in queued[1:]] + [ts]
                    self.ready.setdefault(int(f['next_tid']), []).extend((a, b, cpu) for (a, cpu), b in zip(queued, ends))
                    t = queued[0][0]
                    t = t if state not in (0, 256) else max(t, clocked.get(f['cpu_id'], 0))
                    self.bills.setdefault(int(f['next_tid']), []).append(
                        (t, ts if state in (0, 256) else min(ts, t + BILLED_NS + sum(
                            ns for at, ns in taken.get(f['cpu_id'], []) if t <= at <= ts))))
                begun, who = on.get(f['cpu_id'], (0, int(f['prev_tid'])))
                if who != int(f['prev_tid']) and begun:
                    self.missing += who not in hidden
                    self.dark.setdefault(int(f['prev_tid']), []).append((begun, ts))
                self.runs.setdefault(f['cpu_id'], []).append((begun, ts, who))
                if state in (0, 256):
                    self.late.setdefault(int(f['prev_tid']), []).append((max(begun, clocked.get(f['cpu_id'], 0)), ts))
                on[f['cpu_id']] = (ts, int(f['next_tid']))
                if f['next_comm'].strip('"') in HIDDEN_NAMES:
                    hidden.add(int(f['next_tid']))
                hid_at = ts if int(f['next_tid']) in hidden or who in hidden else hid_at
                if int(f['next_tid']) in slept:
                    since = slept.pop(int(f['next_tid']))
                    if hid_at >= since or any(w in hidden for _, w in on.values()):
                        self.unseen.setdefault(int(f['next_tid']), []).append((since, ts))
                if state in (0, 256):
                    ready[int(f['prev_tid'])] = [(ts, f['cpu_id'])]
                else:
                    asleep[int(f['prev_tid'])] = None
                    slept[int(f['prev_tid'])] = ts
            elif 'whywait_current:' in line:    # what is said of a switch that nobody saw
                begun, who = on.get(f['cpu_id'], (0, int(f['tid'])))
                if who != int(f['tid']):
                    self.missing += who not in hidden
                    self.dark.setdefault(int(f['tid']), []).append((begun, ts))
                on[f['cpu_id']] = (begun, int(f['tid']))
            elif 'sched_waking:' in line:
                waking[int(f['tid'])] = ts
                slept.pop(int(f['tid']), None)
                since = asleep.pop(int(f['tid']), None)
                if since is not None:
                    self.moved.setdefault(int(f['tid']), []).append((since, ts))
            elif 'sched_wakeup:' in line:
                t = waking.pop(int(f['tid']), None)
                ready[int(f['tid'])] = [(ts, f['target_cpu'])]
                clocked[f['target_cpu']] = ts
                if t is not None:
                    self.gaps.setdefault(int(f['tid']), []).append((t, ts))
            elif 'sched_migrate_task:' in line:
                if int(f['tid']) in ready:
                    ready[int(f['tid'])].append((ts, f['dest_cpu']))
                elif asleep.get(int(f['tid']), ts) is None:
                    asleep[int(f['tid'])] = ts
            elif 'whywait_stolen:' in line:
                before = taken.setdefault(f['cpu_id'], [])
                if f['cpu_id'] in on:
                    begun, who = on[f['cpu_id']]
                    begun = max(begun, before[-1][0]) if before else begun
                    self.stolen.setdefault(who, []).append((begun, ts, int(f['ns'])))
                before.append((ts, int(f['ns'])))
            elif 'expire_entry:' in line:
                if f['hrtimer'] in ticks:
                    clocked[f['cpu_id']] = ts
                if names.get(f['function']) == '"sched_cfs_period_timer"':
                    self.refills.append(ts)
            elif 'whywait_function:' in line:
                names[f['address']] = f['name']
            elif 'whywait_lock_' in line:
                who = on.get(f['cpu_id'], (0, 0))[1]
                if 'lock_end:' in line:
                    if (who, f['lock']) in wanted:
                        self.locks.setdefault(who, []).append((wanted.pop((who, f['lock'])), ts))
                elif not int(f['flags']) & self.SPINS:
                    wanted.setdefault((who, f['lock']), ts)
            elif f.get('major') == '1':
                self.major.setdefault(int(f['tid']), []).append(ts)

    def refilled_ns(self, tid, start, end):
        """How long it was ready after its group had got more time, before it ran: nothing tells that from throttled."""
        ns = 0
        for a, b, _ in self.ready.get(tid, []):
            first = min((t for t in self.refills if a < t < b), default=b)
            ns += overlap(first, b, start, end)
        return ns

    def ran_ns(self, tid, start, end):
        return sum(overlap(start, end, a, b) for runs in self.runs.values() for a, b, who in runs if who == tid)

    def dark_ns(self, tid, start, end):
        return sum(overlap(start, end, a, b) for a, b in self.dark.get(tid, []))

    def stayed(self, tid, start, end):
        """It was on a CPU all the time."""
        return self.seen and not any(start <= s[0] <= end for s in self.switches.get(tid, []))

    def contended_ns(self, tid, start, end):
        return overlaps(self.locks.get(tid, []), start, end)

    def stolen_ns(self, tid, start, end):
        """At most: of what was taken from it in stretches that reach into this one."""
        return sum(ns for a, b, ns in self.stolen.get(tid, []) if a < end and b > start)

    def had_cpu(self, tid, start, end):
        had = set()
        for a, b, cpu in self.ready.get(tid, []):
            if overlap(a, b, start, end):
                had |= {r[2] for r in self.runs[cpu] if r[1] >= a and r[0] <= b}
        return had

    # A wakeup that preempts skips the update of the run queue's clock at the switch (rq_clock_skip_update), so in the
    # kernel's books the switch was at the last wakeup or tick there. What passes until then, which is long when the
    # kernel is not preempted (a write of a megabyte), was run time of the thread that goes (late) and ready time of
    # the one that comes (bills), but at most that much is delay of the first and run time of the second there.

    def billed(self, tid, start, end):
        return overlaps(self.bills.get(tid, []), start, end)

    def dispatch(self, tid, start, end):
        return sum(overlap(start, end, a, b) for a, b in self.gaps.get(tid, []))


def overlaps(spans, start, end):
    return sum(overlap(start, end, a, b) for a, b in spans)


def tick_timers(lines):
    """Addresses of the CPUs' tick timers: those that expire most often on each CPU."""
    n = {}
    for line in lines:
        if 'expire_entry:' in line:
            f = fields(line)
            key = f['cpu_id'], f['hrtimer']
            n[key] = n.get(key, 0) + 1
    return {max((k for k in n if k[0] == cpu), key=n.get)[1] for cpu in {k[0] for k in n}}


def stamp(line):
    s, ns = line[line.index('[') + 1:line.index(']')].split('.')
    return int(s) * 1000000000 + int(ns)


def fields(line):
    r = {}
    cpu = re.search(r'cpu_id = (\d+)', line)
    r['cpu_id'] = cpu.group(1) if cpu else ''
    for part in line[line.rindex('{') + 1:line.rindex('}')].split(', '):
        k, _, v = part.strip().partition(' = ')
        r[k] = v.split(' : container = ')[-1].strip(' )') if ' : container = ' in v else v
    return r


# Virtual machines are stopped by their host, and some hide switches: what then differs from the program's clocks and
# the kernel's books is recorded again, with other draws. Time given to a wrong cause or thread never is.
TRIES = 5


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--seed', type=int, default=int(os.environ.get('WW_SEED', '0')) or random.SystemRandom().randrange(1, 1 << 31))
    a.add_argument('--keep')
    a.add_argument('-v', action='store_true')
    a.add_argument('build')
    a.add_argument('names', nargs='*')
    o = a.parse_args()
    whywait = os.environ.get('WHYWAIT', os.path.join(o.build, 'whywait'))
    progs = sorted(p for p in glob.glob(os.path.join(o.build, 'tests/truth/truth-*')) if os.path.isfile(p))
    if o.names:
        progs = [p for p in progs if os.path.basename(p)[6:] in o.names]
    work = o.keep or tempfile.mkdtemp(prefix='whywait-truth-', dir='/var/tmp')
    os.makedirs(work, exist_ok=True)
    print('# truth: seed %d; WW_SEED=%d repeats it' % (o.seed, o.seed))
    failed, again, begin = 0, 0, time.time()
    for i, prog in enumerate(progs, 1):
        why = runnable(prog)
        for attempt in range(TRIES):
            s = Scenario(os.path.basename(prog)[6:])
            try:
                why = why or s.run(whywait, prog, o.seed * 64 + i + 1000003 * attempt, work, attempt)
            except Exception as e:      # one scenario's trouble is not the others'
                s.fail('%s: %s' % (type(e).__name__, str(e)[:300]))
            if not s.bad or s.wrong or why:
                break
            again += attempt + 1 < TRIES
            print('# %s again: %s' % (s.name, '; '.join(s.bad[:3])) if attempt + 1 < TRIES else '# no more')
        if why:
            print('ok %d - truth/%s # SKIP %s' % (i, s.name, why))
            continue
        failed += bool(s.bad)
        k = max(1, s.known)
        print('%sok %d - truth/%-14s known %7.1f ms  right %5.1f %%  wrong %5.1f %%  unknown %5.1f %%' % (
            'not ' if s.bad else '', i, s.name, s.known / 1e6, 100 * s.right / k, 100 * s.wrong / k, 100 * s.unknown / k))
        for b in s.bad[:6]:
            print('#   ' + b)
        for n in sorted(set(s.notes)) if o.v else []:
            print('#     ' + n)
        sys.stdout.flush()
    print('1..%d' % len(progs))
    print('# truth: %d of %d failed, %d recorded again, %.0f s' % (failed, len(progs), again, time.time() - begin))
    if not o.keep:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed or not progs else 0


def runnable(prog):
    """A 32-bit program needs a kernel that runs it; found out without letting it do anything."""
    if open(prog, 'rb').read(5)[4:] != b'\x01':
        return None
    try:
        subprocess.run([prog, '--help'], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=20)
    except OSError as e:
        return 'this kernel does not run it: ' + e.strerror
    return None


if __name__ == '__main__':
    sys.exit(main())
