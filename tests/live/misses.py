#!/usr/bin/python3
"""The kernel skips a program of ours that is active on the CPU when its tracepoint is met there again. Such a case is
made on purpose (ready.c): sk_data_ready in an interrupt while the program for it runs in a thread. What was done is
known, and must be received + skipped; and the CPU's packets must tell of what was skipped there.

A datagram that arrived while a thread of init had the CPU may be seen by no tracepoint at all (hidden.py). Which ones
arrived then is read from the trace: those that were queued, and that netif_receive_skb did not tell of either.
TAP; exit 77 where it cannot be done."""
import glob, os, re, shutil, struct, subprocess, sys, tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), d) for d in ('..', '../tools')]
import hidden
from tap import Tap

BUILD = os.path.abspath(os.environ.get('WW_BUILD', 'build'))
RAW, READY = os.path.join(BUILD, 'tests/live/record-raw'), os.path.join(BUILD, 'tests/live/live-ready')
TRIES = 10


def skip(why):
    print('SKIP ' + why)
    sys.exit(77)


def run():
    """Ends in a network namespace of its own, whose packets over lo are received by CPU 0."""
    if os.geteuid():
        skip('not root')
    if os.cpu_count() < 2:
        skip('one CPU')
    if not shutil.which('babeltrace2'):
        skip('no babeltrace2')
    if sys.argv[1:] != ['inside']:
        if subprocess.run(['unshare', '-n', '-m', 'true'], stderr=subprocess.DEVNULL).returncode:
            skip('no network namespace of our own')
        os.execvp('unshare', ['unshare', '-n', '-m', sys.executable, os.path.abspath(__file__), 'inside'])
    if os.system('mount -t sysfs none /sys && ip link set lo up && echo 1 > /sys/class/net/lo/queues/rx-0/rps_cpus'):
        skip('packets cannot be given to a CPU (rps_cpus)')


class Seen:
    """What babeltrace2 reads in the trace of the program's sockets."""

    def __init__(self, trace, inode, port):
        self.unix = self.udp = self.others = 0
        self.queued, self.received = [], []    # datagrams: (time, number in the IP header)
        dark = hidden.Hidden()
        unix, udp = 'ino = %d,' % inode, 'sport = %d,' % port
        wire = re.compile(r' id = (\w+),.* dest_port = %d,' % port)
        for ev in hidden.events(trace, ('sched_switch', 'whywait_sk_ready', 'net_dev_queue', 'net_if_receive_skb'), dark):
            if ev.name == 'whywait_sk_ready':
                self.unix += unix in ev.text
                self.udp += udp in ev.text
                self.others += unix not in ev.text and udp not in ev.text
            elif ev.name != 'sched_switch':
                m = wire.search(ev.text)
                if m:
                    (self.queued if ev.name == 'net_dev_queue' else self.received).append((ev.ts, m.group(1)))
        self.dark = dark.stretches(0)

    def unseen(self):
        """(how many datagrams nothing told of that arrived in the dark, those that did not): they are received in the
        order in which they were sent."""
        excused, lost, at, before = 0, [], 0, 0
        for now, number in self.received + [(1 << 63, None)]:
            gone = []
            while at < len(self.queued) and self.queued[at][1] != number:
                gone.append(self.queued[at][0])
                at += 1
            at += 1
            for sent in gone:
                if any(before <= begin and sent < end <= now for begin, end in self.dark):
                    excused += 1
                else:
                    lost.append(sent)
            before = now
        return excused, lost


def told(trace):
    """What the last packet of each CPU's stream says: events_discarded, at byte 72 of its head."""
    sums = []
    for path in sorted(glob.glob(trace + '/c0_*')):
        data, at, n = open(path, 'rb').read(), 0, 0
        while at < len(data):
            n = struct.unpack_from('<Q', data, at + 72)[0]
            at += struct.unpack_from('<Q', data, at + 56)[0] // 8
        sums.append(n)
    return sums


def attempt(tap, trace):
    """False: nothing was skipped, or a socket of somebody else's was, so there was nothing to compare."""
    p = subprocess.run([RAW, '-l', '-r', '268435456', trace, '--', READY, '2'], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if p.returncode:
        tap.ok(False, 'misses: recorded', '%d: %s' % (p.returncode, p.stderr))
        return True
    _, unix, inode, _, udp, port = p.stdout.split()
    sums = dict(re.findall(r'(lost|misses) (\d+)', p.stderr.splitlines()[0]))
    lost, misses = int(sums['lost']), int(sums['misses'])
    skipped = sum(map(int, re.findall(r'ww_sk_data_ready (\d+)', p.stderr)))
    seen, packets = Seen(trace, int(inode), int(port)), told(trace)
    excused, unseen = seen.unseen()
    known, got = int(unix) + int(udp) - excused, seen.unix + seen.udp + skipped
    text = '%s unix and %s UDP, %d of them in the dark; seen %d and %d, skipped %d; lost %d, all skipped %d; packets tell %s' % (
        unix, udp, excused, seen.unix, seen.udp, skipped, lost, misses, packets)
    tap.note(text)
    if not lost and not unseen and (not skipped or known < got <= known + seen.others):
        return False
    tap.ok(not lost and got == known and not unseen and packets[0] >= skipped and sum(packets) == misses,
           'misses: what the kernel skipped is counted, on its CPU', [text] + ['sent at %d, and not seen' % t for t in unseen])
    return True


def main():
    run()
    tap = Tap()
    work = tempfile.mkdtemp(prefix='whywait-misses-', dir='/var/tmp')
    for i in range(TRIES):
        if attempt(tap, os.path.join(work, str(i))):
            break
    else:
        tap.ok(False, 'misses: in %d tries nothing was skipped' % TRIES)
    shutil.rmtree(work, ignore_errors=True)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
