#!/usr/bin/python3
"""whywait_current: who has the CPU where the switch to it was not told (some virtual machines hide the threads that run
them). Judged by babeltrace2's text of the same recording: what the event says is what the next switch on that CPU says,
and where it is told, the switch before had given the CPU to somebody else."""
import os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

LINE = re.compile(r'(\S+): \{ cpu_id = (\d+) \}.*?\{ (.*)\}$')
TID = {k: re.compile(r'\b%s = (\d+)' % k) for k in ('tid', 'prev_tid', 'next_tid')}
# Calls that a thread makes all the time, and short sleeps: it comes to a CPU after everybody.
BUSY = 'import os, time\nfor i in range(3000):\n os.sched_yield(); os.getppid()\n if i % 3 == 0: time.sleep(0.0002)\n'


def of(kind, text):
    return int(TID[kind].search(text)[1])


def main():
    t = Tap()
    with tempfile.TemporaryDirectory(dir='/var/tmp', prefix='whywait-current-') as d:
        trace = d + '/t.ctf'
        p = subprocess.run([os.environ['WHYWAIT'], 'record', '-q', '-o', trace, '--', '/usr/bin/python3', '-c', BUSY],
                           stderr=subprocess.PIPE, text=True, timeout=120)
        t.ok(p.returncode == 0, 'records', p.stderr)
        bt = subprocess.run(['babeltrace2', trace], stdout=subprocess.PIPE, text=True, errors='replace', timeout=120)
        t.ok(bt.returncode == 0, 'babeltrace2 reads it')
    on, told, switches, hidden, tellings, wrong, needless = {}, {}, 0, 0, 0, [], []
    for line in bt.stdout.splitlines():
        m = LINE.search(line)
        if not m:
            continue
        name, cpu, text = m.groups()
        if name == 'sched_switch':
            switches += 1
            prev = of('prev_tid', text)
            if cpu in told and told[cpu] != prev:
                wrong.append('%s said %d, the switch %d: %s' % (cpu, told[cpu], prev, line))
            told.pop(cpu, None)
            hidden += cpu in on and on[cpu] != prev
            on[cpu] = of('next_tid', text)
        elif name == 'whywait_current':
            tid = of('tid', text)
            tellings += 1
            if on.get(cpu) == tid:
                needless.append(line)
            on[cpu] = told[cpu] = tid
    t.ok(switches > 500, 'there are switches (%d)' % switches)
    t.none(wrong, 'who has the CPU is who leaves it, of %d told' % tellings)
    t.none(needless, 'told only when the last switch gave it to another')
    t.note('%d of %d switches came from a thread that nobody told of' % (hidden, switches))
    return t.end()


if __name__ == '__main__':
    sys.exit(main())
