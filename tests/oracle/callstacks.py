#!/usr/bin/python3
"""Call stacks that others recorded with the switch: perf record -g, LTTng's contexts callstack-kernel and -user.

  callstacks.py     WHYWAIT, WW_TRACES in the environment

Judges: perf script and babeltrace2, frame for frame, of every switch in which a thread blocks; and a program of which
it is known where it waits for a lock, recorded by perf. TAP; 77 when there are no traces."""
import json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, shared_traces

W = os.environ['WHYWAIT']
QUERY = ('SELECT s.id, s.ts, t.tid, s.kernel, f.address, f.file_id, f.offset, f.id > s.first_frame_id AS called FROM stack s JOIN thread t USING (utid) '
         'JOIN stack_frame f ON f.id BETWEEN s.first_frame_id AND s.first_frame_id + s.frames - 1 ORDER BY s.id, f.id')
BLOCKING = {'S', 'D', 'T', 't', 'X', 'Z', 'P', 'I'}
tap = Tap()


def output(*cmd):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300).stdout.decode(errors='replace')


def ours(trace, in_files):
    """{(ns of the time of day, tid): [kernel frames, user frames]}; in_files: of what is in a file the place there."""
    found = {}
    for r in json.loads(output(W, 'sql', '--json', '-q', trace, QUERY))['rows']:
        found.setdefault((r['ts'] % (86400 * 10**9), r['tid']), [[], []])[0 if r['kernel'] else 1].append(
            r['offset'] + r['called'] if in_files and r['file_id'] is not None else r['address'] % 2**64)
    return found


def by_perf(trace):
    """The same of perf script, in the trace's own clock; it prints one list, and
    of what is in a file the place there."""
    found, at = {}, None
    for line in output('perf', 'script', '--ns', '-F', 'tid,time,event,ip,trace', '-i', trace).splitlines():
        m = re.match(r'\s*(-?\d+)\s+(\d+)\.(\d+):\s+sched:sched_switch: .* prev_pid=(\d+) .* prev_state=(\S+)', line)
        if m:
            blocks = m.group(4) != '0' and m.group(5)[0] in BLOCKING
            at = (int(m.group(2)) * 10**9 + int(m.group(3)), int(m.group(4))) if blocks else None
            if at:
                found[at] = []
        elif re.match(r'\s+[0-9a-f]+\s*$', line):
            if at:
                found[at].append(int(line, 16))
        elif line.strip():
            at = None
    return {k: v for k, v in found.items() if v}


def by_babeltrace(trace):
    found = {}
    for line in output('babeltrace2', '--clock-seconds', trace).splitlines():
        m = re.match(r'\[(\d+)\.(\d+)\].* sched_switch: .*callstack_kernel = \[(.*?) \], .*callstack_user = \[(.*?) \] \}.*prev_tid = (\d+),.*prev_state = (\d+)', line)
        if m and m.group(5) != '0' and int(m.group(6)) & 0xff:
            stacks = [[int(x, 16) for x in re.findall(r'0x([0-9A-F]+)', g)] for g in m.group(3, 4)]
            if stacks != [[], []]:
                found[(int(m.group(1)) * 10**9 + int(m.group(2))) % (86400 * 10**9), int(m.group(5))] = stacks
    return found


def compare(trace, theirs, what):
    got, want = ours(trace, theirs is by_perf), theirs(trace)
    if theirs is by_perf:
        got = {k: v[0] + v[1] for k, v in got.items()}
    if theirs is by_perf:   # perf's clock is the machine's, ours the time of day: they differ by one number
        offset = (min(t for t, _ in got) - min(t for t, _ in want)) if got and want else 0
        want = {((t + offset) % (86400 * 10**9), tid): v for (t, tid), v in want.items()}
    bad = [(k, got.get(k), want.get(k)) for k in sorted(set(got) | set(want)) if got.get(k) != want.get(k)]
    tap.ok(len(want) > 50 and not bad, '%s: the stacks of %d switches are those of %s' % (os.path.basename(trace), len(want), what), (len(bad), bad[:2]))


# The call is made in the function itself: a frame of the C library that keeps no frame pointer hides its caller from perf.
LOCK = r"""
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int word = 1;
static long futex(int op, int value)
{
	long ret;
	register long timeout __asm__("r10") = 0;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_futex), "D"(&word), "S"(op), "d"(value), "r"(timeout) : "rcx", "r11", "memory");
	return ret;
}
static void *hold(void *p) { usleep(60000); word = 0; futex(FUTEX_WAKE, 1); return p; }
__attribute__((noinline)) void waits_here(void) { while (word) futex(FUTEX_WAIT, 1); __asm__ volatile(""); }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, hold, NULL);
	waits_here();
	pthread_join(t, NULL);
	return 0;
}
"""


def live():
    """A program that waits for a lock in a function of a known name, recorded by perf with call chains."""
    with tempfile.TemporaryDirectory(dir='/var/tmp') as d:
        program, data = os.path.join(d, 'lock'), os.path.join(d, 'perf.data')
        open(program + '.c', 'w').write(LOCK)
        subprocess.run(['gcc', '-O0', '-w', '-fno-omit-frame-pointer', '-o', program, program + '.c', '-pthread'], check=True)
        p = subprocess.run(['perf', 'record', '-q', '-g', '-a', '-o', data, '-e', 'sched:sched_switch,sched:sched_waking,raw_syscalls:*', program],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if p.returncode:
            tap.note('perf record: ' + p.stdout.decode(errors='replace')[-200:])
            return
        rows = json.loads(output(W, 'locks', '--json', '-q', '--comm', 'lock', data))['rows']
        tap.ok(any('waits_here < main' in r['stack'] and r['kind'] == 'futex' and 40e6 < r['total_ns'] < 300e6 for r in rows),
               'locks: of a recording by perf -g, where the program waited', rows)


def main():
    root, _ = shared_traces(('variants/perf-stack.data', 'variants/lt-callstack'))
    compare(os.path.join(root, 'variants/perf-stack.data'), by_perf, 'perf script')
    compare(os.path.join(root, 'variants/lt-callstack'), by_babeltrace, 'babeltrace2')
    live()
    return tap.end()


sys.exit(main())
