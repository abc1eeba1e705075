#!/usr/bin/python3
"""Oracle: trace-cmd report -N -R -t. What trace-cmd records here, our reader gives event by event as it does
(tracedat_judge.py): buffer instances with events of their own, in files of version 6 and 7, of several clocks, and with
a ring so small that events are lost. TAP; exit 77 where trace-cmd cannot record.
"""
import os, shutil, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tracedat_judge import differences, done, ours, report

# trace-cmd copies /proc/kallsyms and dies when it changes meanwhile, as with each BPF program loaded or freed.
STILL = ['unshare', '-m', 'sh', '-c', 'cat /proc/kallsyms > kallsyms && mount --bind kallsyms /proc/kallsyms && exec "$@"', 'sh']
WORK = ['sh', '-c', 'ls -l /usr/share/doc > list; sleep 0.02; ls / > list']
# The readers get no CPU while this goes on.
MUCH = ['sh', '-c', 'for c in $(seq 0 $(($(nproc) - 1))); do chrt -f 50 taskset -c $c dd if=/dev/zero of=/dev/null bs=1 count=20000 '
        'status=none & done; wait']
INSTANCES = ['-e', 'sched_switch', '-B', 'calls', '-e', 'raw_syscalls', '-B', 'interrupts', '-e', 'irq', '-e', 'timer']
KINDS = {
    'buffer instances, version 7': ['-C', 'mono', *INSTANCES],
    'buffer instances, version 6': ['--file-version', '6', '-C', 'global', *INSTANCES],
    'a ring too small': ['-b', '8', '-s', '400000', '-C', 'boot', '-e', 'sched', '-e', 'raw_syscalls'],
    'cycles of the TSC': ['-C', 'x86-tsc', '-e', 'sched', '-e', 'raw_syscalls'],
}


def lossy(path):
    n, fields, bad = differences(path)
    return n, fields, bad + ([] if ours(path)[1] else ['nothing was lost: no test'])


if os.getuid() or not shutil.which('trace-cmd'):
    print('only root can record, with trace-cmd')
    sys.exit(77)
with tempfile.TemporaryDirectory(dir='/var/tmp') as tmp:
    os.chdir(tmp)
    for name, options in KINDS.items():
        for _ in range(3): # another recording may change the tracing files just then
            p = subprocess.run([*STILL, 'trace-cmd', 'record', '-d', '--no-filter', '-o', 'trace.dat', *options,
                                *(MUCH if 'small' in name else WORK)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            if p.returncode == 0 and os.path.exists('trace.dat'):
                break
        if not os.path.exists('trace.dat'):
            print('trace-cmd cannot record here: ' + p.stdout.decode(errors='replace')[-200:].replace('\n', ' '))
            sys.exit(77)
        report(name, 'trace.dat', lossy if 'small' in name else differences)
        os.remove('trace.dat')
done()
