"""Moments that no tracepoint tells of. Some virtual machines are run by their process 1, and hide it: while one of its
threads has a CPU, nothing that happens there is told to anybody - no switch away from it, but no interrupt, timer, packet
or wakeup either. What shows it: of the run time that the kernel's books give these threads, all lies between a switch to
one of them and the next event on that CPU, whatever that is. (Elsewhere there are no such moments, and nothing is excused.)

    dark = Hidden()
    for ev in events(TRACE, ('sched_switch', 'net_dev_queue'), dark): ...
    dark.stretches(cpu)     [(begin, end)], ns: the switch to such a thread and the next event on that CPU
"""
import os, re, subprocess

LINE = re.compile(r'^\[(\d+)\.(\d+)\] (?:\([^)]*\) )?\S+ (\S+): \{ cpu_id = (\d+) \}')
NEXT = re.compile(r'next_tid = (\d+)')


def threads():
    """Those of process 1."""
    try:
        return {int(t) for t in os.listdir('/proc/1/task')}
    except OSError:
        return set()


class Hidden:
    def __init__(self):
        self.tids = threads()
        self.cpus = {}      # {cpu: [(begin, end)]}
        self.open = {}      # {cpu: begin}

    def see(self, cpu, ts, switch_to=None):
        """An event; switch_to: the thread that a switch gives the CPU to."""
        begin = self.open.pop(cpu, None)
        if begin is not None:
            self.cpus.setdefault(cpu, []).append((begin, ts))
        if switch_to in self.tids:
            self.open[cpu] = ts

    def stretches(self, cpu):
        return self.cpus.get(cpu, []) + [(self.open[c], 1 << 63) for c in self.open if c == cpu]


class Event:
    __slots__ = ('ts', 'name', 'cpu', 'text')


def events(trace, names, dark):
    """Those with these names, as babeltrace2 prints them, in order; dark sees all of them."""
    p = subprocess.Popen(['babeltrace2', '--clock-seconds', trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, errors='replace')
    with p.stdout:
        for line in p.stdout:
            m = LINE.match(line)
            if not m:
                continue
            ev = Event()
            ev.ts, ev.name, ev.cpu, ev.text = int(m[1]) * 1000000000 + int(m[2]), m[3], int(m[4]), line
            to = NEXT.search(line) if ev.name == 'sched_switch' else None
            dark.see(ev.cpu, ev.ts, int(to[1]) if to else None)
            if ev.name in names:
                yield ev
    if p.wait():
        raise RuntimeError('babeltrace2 ends with %d' % p.returncode)
