#!/usr/bin/python3
"""facts.py WHYWAIT TRACE...: what the facts file of a trace costs and what it saves.

Of each trace: the file's size beside the trace's (the goal: at most 0.6), how long commands take that read the trace, that
read it and write the file, and that use the file: wall and CPU time, the least of some runs, and the most anonymous memory
of a run that uses it; and the CPU time of tables of a millisecond in the middle of it. The trace's directory is left without a file. For a window over 100 million states: bench-facts."""
import json, os, resource, subprocess, sys, time

RUNS, GOAL = 3, 0.6
COMMANDS = (['usage'], ['threads'], ['report'], ['path'])
RANGED = 'files sched syscalls net locks irq io usage threads faults procs'.split()


def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) if '.whywait' not in d for f in fs)


def places(trace):
    d = trace if os.path.isdir(trace) else os.path.dirname(os.path.abspath(trace))
    return os.path.join(d, '.whywait'), os.path.join(d, '.whywait', 'facts' if os.path.isdir(trace) else os.path.basename(trace) + '.facts')


def run(cmd):
    """wall, CPU, kB of anonymous memory (the highest of a look every 5 ms)"""
    before, t, most = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0
    with subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        while p.poll() is None:
            try:
                most = max([most] + [int(l.split()[1]) for l in open('/proc/%d/status' % p.pid) if l.startswith('RssAnon')])
            except OSError:
                pass
            time.sleep(0.005)
    if p.returncode not in (0, 3):
        raise SystemExit('%s: exit %d' % (' '.join(cmd), p.returncode))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - t, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, most


def least(cmd, prepare=lambda: None):
    r = []
    for _ in range(RUNS):
        prepare()
        r.append(run(cmd))
    return min(x[0] for x in r), min(x[1] for x in r), max(x[2] for x in r)


def main():
    w, worst = sys.argv[1], 0
    for trace in sys.argv[2:]:
        folder, file = places(trace)
        for c in COMMANDS:
            cmd = [w] + c + ['-q']
            forget = lambda: os.path.exists(file) and os.unlink(file)
            read, write, use = least(cmd + ['--no-cache', trace]), least(cmd + [trace], forget), least(cmd + [trace])
            if c == COMMANDS[0]:
                ratio = os.path.getsize(file) / size(trace)
                worst = max(worst, ratio)
                print('%s: %.1f MB, its facts %.1f MB: %.2f' % (trace, size(trace) / 1e6, os.path.getsize(file) / 1e6, ratio))
            print('  %-8s trace %7.2f s (CPU %6.2f, %4d MB)   and write %7.2f s (CPU %6.2f)   file %7.3f s (CPU %6.2f, %4d MB)' % (
                c[0], *read[:2], read[2] // 1024, *write[:2], *use[:2], use[2] // 1024), flush=True)
        info = json.loads(subprocess.run([w, 'info', '--json', '-q', trace], stdout=subprocess.PIPE, check=False).stdout)
        middle = (info['end_ns'] - info['begin_ns']) / 2e9
        some = ['-q', '--from', '+%.6fs' % middle, '--to', '+%.6fs' % (middle + 0.001)]
        run([w, 'usage', '-q', trace])
        print('  a millisecond of it, CPU ms: ' + ', '.join('%s %.0f' % (c, least([w, c] + some + [trace])[1] * 1e3) for c in RANGED), flush=True)
        forget()
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
    print('load %s; the goal of %.1f is %s' % (open('/proc/loadavg').read().split()[0], GOAL, 'met' if worst <= GOAL else 'missed'))
    return worst > GOAL


sys.exit(main())
