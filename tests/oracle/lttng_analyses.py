#!/usr/bin/python3
"""A trace recorded by whywait: what whywait and lttng-analyses say of every thread is the same.

The oracles are lttng-cputop, -schedlog, -syscallstats and -irqstats (see lttng_oracle.py), which read our
recording as one of LTTng's. The workload computes, forks, sleeps, reads, writes to a disk and waits for locks and
sockets; of its threads all system calls are compared, of all threads of the machine the rest."""
import os, subprocess, sys, tempfile
from lttng_oracle import ROUND_NS, SHARE, Ours, Tap, Theirs, compare, installed, on_cpu

WORK = '''cd "$1"; "$2"; for i in 1 2 3; do ls -l /usr/lib > list; sort list > sorted; done
dd if=/dev/zero of=zero bs=64k count=32 conv=fsync 2> /dev/null; sleep 0.05 & wait'''
TRIES = 6
# Some virtual machines hide the switches of init's threads from every tracepoint.
HIDDEN = {int(t) for t in os.listdir('/proc/1/task')}


def tree(ours, root):
    """The threads that root made, and root."""
    found = {root}
    for e in ours.events('sched_process_fork'):
        if e['fields']['parent_tid'] in found or e['fields']['parent_pid'] in found:
            found.add(e['fields']['child_tid'])
    return found


def target_cpu(ours, ok):
    """The command begins with its exec, and not with the fork that lttng-cputop counts from."""
    j = ours.ask('report')
    begin, tid = j['begin_ns'], j['target']['tid']
    ns = Theirs(ours.trace).cpu_times('--begin', str(begin), '--end', str(begin + j['wall_ns']))[tid]
    on = on_cpu(j['states'])
    ok(abs(ns - on) <= SHARE * ns + ROUND_NS, "the command's CPU time is lttng-cputop's: %.3f ms" % (ns / 1e6), '%d, %d ns' % (on, ns))


def main():
    whywait, demo = os.environ['WHYWAIT'], os.path.join(os.environ['WW_BUILD'], 'tests/demo/whywait-demo')
    if os.getuid():
        print('only root can record')
        return 77
    if not installed():
        print('python3-lttnganalyses is not installed')
        return 1
    tap = Tap()
    with tempfile.TemporaryDirectory(dir='/var/tmp') as tmp:
        for attempt in range(TRIES):
            trace = os.path.join(tmp, str(attempt), 'kernel')
            os.mkdir(os.path.dirname(trace))
            subprocess.run([whywait, 'record', '-q', '-o', trace, '--', 'sh', '-c', WORK, 'sh', tmp, demo], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            ours = Ours(whywait, os.path.dirname(trace))
            if ours.ask('info')['lost']:
                print('# events were lost; again')
                continue
            target = ours.ask('report')['target']['tid']
            if compare(whywait, os.path.dirname(trace), tap.ok, 'recorded by whywait', tree(ours, target), {target} | HIDDEN):
                target_cpu(ours, tap.ok)
                break
            print('# the kernel hid switches of its threads; again')
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
