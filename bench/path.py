#!/usr/bin/python3
"""path.py WHYWAIT CTF-KERNEL-TRACE: what the critical path costs beside reading the trace and making its facts.

The trace (of LTTng's kernel tracer, or of whywait) is grown by bench/ctf-grow.py to about 1, 2, 4 and 8 times 400000
events. CPU time, user and system, the least of five runs each: `path` against `threads`, which is the model's pass and
one look at every state. The goal: at most 1.3 times; and growth with the trace, no more."""
import os, re, resource, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
UNIT, TIMES, RUNS, GOAL = 400000, (1, 2, 4, 8), 5, 1.3


def cpu_s(cmd):
    a = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    b = resource.getrusage(resource.RUSAGE_CHILDREN)
    return b.ru_utime - a.ru_utime + b.ru_stime - a.ru_stime


def main():
    w, trace = sys.argv[1:3]
    events = lambda t: int(re.search(r'events\s+(\d+)', subprocess.run([w, 'info', '-q', t], stdout=subprocess.PIPE, text=True).stdout).group(1))
    base, worst = events(trace), 0
    tmp = tempfile.mkdtemp(prefix='ww-bench-', dir='/var/tmp')
    print('%10s  %10s  %10s  %6s' % ('events', 'threads s', 'path s', 'ratio'))
    try:
        for k in TIMES:
            big = os.path.join(tmp, 'x%d' % k)
            subprocess.run([sys.executable, os.path.join(HERE, 'ctf-grow.py'), w, trace, big, str(max(1, round(k * UNIT / base)))], check=True)
            least = {c: min(cpu_s([w, c, '-q', '--no-cache', big]) for _ in range(RUNS)) for c in ('threads', 'path')}
            worst = max(worst, least['path'] / least['threads'])
            print('%10d  %10.3f  %10.3f  %6.2f' % (events(big), least['threads'], least['path'], least['path'] / least['threads']), flush=True)
            shutil.rmtree(big)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    print('the goal is %.1f: %s' % (GOAL, 'met' if worst <= GOAL else 'missed'))
    return worst > GOAL


sys.exit(main())
