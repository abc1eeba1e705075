#!/usr/bin/python3
"""Oracle: the kernel's ftrace ring. The truth programs' knowledge against sched_switch and sched_waking: in each
known interval the thread is off the CPU and not runnable for the known time, and the wakeup that ended it was
issued by the thread that the truth names, when it names one. (perf would do, but loses events of idle CPUs
here.) TAP; 77 without tracefs."""
import json, os, re, subprocess, sys, time

import truth_programs

# From sched_waking to the enqueue on another CPU, where the kernel's run delay begins, is an interrupt between
# CPUs: in a virtual machine some 100 us.
EDGE = 200000
# Woken through another context than the thread's own: delivery over loopback is the sender's softirq, which
# the ring shows as the sender; a kworker types at the terminal.
LEAVE_OUT = {'pipe_sleep32', 'pidns', 'busy', 'busypoll', 'rt_preempt', 'stopped', 'throttled'}
LINE = re.compile(r'^\s*\S.*?-(\d+)\s+\[\d+\]\s+\S+\s+(\d+)\.(\d{6}): (\w+): (.*)$')
TRACING = '/sys/kernel/tracing'

if not os.path.isdir(TRACING + '/events'):
    subprocess.run(['mount', '-t', 'tracefs', 'tracefs', TRACING], stderr=subprocess.DEVNULL)
if not os.access(TRACING + '/instances', os.W_OK):
    print('tracefs cannot be written: not root?')
    sys.exit(77)
INSTANCE = TRACING + '/instances/whywait-oracle-%d' % os.getpid()


def put(name, text):
    with open(os.path.join(INSTANCE, name), 'w') as f:
        f.write(text)


def blocked():
    """{tid: [(start, waking, waker tid)]}: from the switch out in a sleeping state to the wakeup."""
    out, since = {}, {}
    for line in open(INSTANCE + '/trace', errors='replace'):
        m = LINE.match(line)
        if not m:
            continue
        tid, ts, event, text = int(m.group(1)), int(m.group(2)) * 10**9 + int(m.group(3)) * 1000, m.group(4), m.group(5)
        if event == 'sched_switch':
            s = re.search(r'prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+)', text)
            if s and not s.group(2).startswith('R'):
                since[int(s.group(1))] = ts
        elif event == 'sched_waking':
            wakee = int(re.search(r' pid=(\d+)', text).group(1))
            if wakee in since:
                out.setdefault(wakee, []).append((since.pop(wakee), ts, tid))
    return out


def observe(prog):
    os.mkdir(INSTANCE)
    try:
        put('trace_clock', 'mono')
        put('buffer_size_kb', '8192')
        put('events/sched/sched_switch/enable', '1')
        put('events/sched/sched_waking/enable', '1')
        p = subprocess.run([prog, '%d' % (time.time_ns() & 0xffffff)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, timeout=100)
        put('tracing_on', '0')
        return p.stdout.decode(), blocked()
    finally:
        os.rmdir(INSTANCE)


def judge(prog):
    """None when the program cannot run here, else (what is wrong, text)."""
    text, seen = observe(prog)
    lines = [json.loads(l) for l in text.splitlines() if l.startswith('{')]
    if any(l['t'] == 'skip' for l in lines):
        return None
    bad, known, right = [], 0, 0
    waits = [l for l in lines if l['t'] == 'wait' and l['known'] > 20000]
    for w in waits:
        total = good = blocks = 0
        who = set()
        for start, end, waker in seen.get(w['tid'], []):
            ns = max(0, min(end, w['end']) - max(start, w['start']))
            total += ns
            if ns:
                blocks += 1
                who.add(waker)
                good += ns if not w['waker'] or waker == w['waker'] else 0
        known += w['known']
        right += min(good, w['known'])
        if not w['known'] * 0.98 - EDGE * max(1, blocks) <= total <= w['known'] * 1.02 + 20000:
            bad.append('%s: known %.3f ms, ftrace says %.3f ms' % (w['cause'], w['known'] / 1e6, total / 1e6))
        if good < total * 0.98:
            bad.append('%s: woken by %s, ftrace says %s' % (w['cause'], w['waker'], sorted(who)))
    if not waits:
        bad.append('no wait is known')
    if not any(l['t'] == 'end' for l in lines):
        bad.append('it did not come to its end')
    return bad, '%.1f ms known in %d waits, ftrace agrees with %.1f %%' % (
        known / 1e6, len(waits), 100 * right / max(1, known))


truth_programs.run(judge, LEAVE_OUT)
