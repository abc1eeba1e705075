#!/usr/bin/python3
"""Oracle: strace -f -ttt -T. The truth programs know their own waits: each is in a call of that name, of that
thread, at that time, and the call is not longer than the known wait. strace stops the thread at both edges of
a call, which the kernel's books count as waiting too, so a known wait may be longer here than strace's call
(truth_ftrace.py compares the lengths). On a busy machine strace's call has in it the time for which the thread waited
for a CPU, which the program knows and does not count; and what was ready before the program came to its call, since
strace had stopped it, is waited for in no call: such waits are not judged. TAP; exit 77 without strace."""
import json, os, re, shutil, subprocess, sys, tempfile, time

import truth_programs

EDGE = 400000
OWN = {'pread64', 'gettid', 'clock_gettime'}    # the program's looks at its own books, at both ends of a wait
LEAVE_OUT = {'pidns', 'timens', 'coldmmap', 'stopped', 'throttled', 'busy', 'busypoll', 'rt_preempt', 'two_busy', 'pipe_sleep32',
             'mutex_preempt',
             'dirty', 'umount'}     # no wait in a call, or other numbers and clocks than strace's; dirty's calls also copy a
#                                     megabyte; umount waits when strace has been told of its call's end
if not shutil.which('strace'):
    print('strace is not installed')
    sys.exit(77)
offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
LINE = re.compile(r'^(\d+)\s+(\d+)\.(\d+) (.*)$')


def calls(path):
    """{tid: [(name, start, end)]} in CLOCK_MONOTONIC ns; an unfinished call ends at its resumption."""
    out, open_calls = {}, {}
    for line in open(path, errors='replace'):
        m = LINE.match(line)
        if not m:
            continue
        tid, ts, text = int(m.group(1)), int(m.group(2)) * 10**9 + int(m.group(3)) * 1000 - offset, m.group(4)
        name = re.match(r'(?:<\.\.\. )?(\w+)', text)
        dur = re.search(r'<(\d+)\.(\d+)>$', text)
        if not name:
            continue
        if text.endswith('<unfinished ...>'):
            open_calls[tid] = (name.group(1), ts)
        elif dur:
            start = open_calls.pop(tid)[1] if 'resumed>' in text and tid in open_calls else ts
            ns = int(dur.group(1)) * 10**9 + int(dur.group(2)) * 1000
            out.setdefault(tid, []).append((name.group(1), start, start + ns))
    return out


def judge(prog):
    """None when the program cannot run here, else (what is wrong, text)."""
    with tempfile.TemporaryDirectory() as d:
        log = os.path.join(d, 'strace')
        p = subprocess.run(['strace', '-f', '-ttt', '-T', '-o', log, prog, '%d' % (time.time_ns() & 0xffffff)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=100)
        seen = calls(log)
    lines = [json.loads(l) for l in p.stdout.decode().splitlines() if l.startswith('{')]
    if any(l['t'] == 'skip' for l in lines):
        return None
    waits = [l for l in lines if l['t'] == 'wait' and l['known'] > 1000000 and l['syscall']] # a stopped task is in none
    bad, stopped = [], 0
    for w in waits:
        names = set(w['syscall'].split('|'))
        near = [c for c in seen.get(w['tid'], []) if c[2] >= w['start'] - EDGE and c[1] <= w['end'] + EDGE]
        fit = [c for c in near if c[0] in names and c[1] >= w['start'] - EDGE and c[2] <= w['end'] + EDGE]
        total = sum(c[2] - c[1] for c in fit)
        if near and all(c[0] in OWN for c in near):
            stopped += 1
        elif not fit or total > w['known'] + w['delay'] + EDGE:
            bad.append('%s %.3f ms known, strace says %.3f ms in %s' % (w['syscall'], w['known'] / 1e6, total / 1e6,
                                                                         [c[0] for c in fit]))
    if len(waits) == stopped and os.path.basename(prog)[6:] not in ('fsync', 'odirect'):
        bad.append('no wait is known')
    return bad, '%d known waits are in the calls that strace sees' % (len(waits) - stopped)


truth_programs.run(judge, LEAVE_OUT)
