#!/usr/bin/python3
"""Who woke whom over loopback, told without a packet in the trace: the softirqs prove most of it, and never another
thread than the packets do. TCP and UDP pairs talk on all CPUs at once, and are recorded; the oracle is the same trace
with its packets, for every wait that a packet ended. Then the same with random packets of the streams missing.

TAP; exit 77 where nothing can be recorded."""
import collections, os, random, select, shutil, socket, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import knowledge
from tap import Tap

SECONDS = 0.6
PACKETS = knowledge.LESS['packets']


def apart(what, *args):
    if not os.fork():
        what(*args)
        os._exit(0)


def tcp_server(listening, rng):
    s, _ = listening.accept()
    poll = select.epoll()
    poll.register(s, select.EPOLLIN)
    while poll.poll() and s.recv(1 << 16):
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.003)
        s.sendall(b'y' * (rng.randrange(1, 200000) if rng.random() < 0.2 else 1))


def tcp_client(address, rng, end):
    s = socket.create_connection(address)
    while time.monotonic() < end:
        s.sendall(b'x' * rng.randrange(1, 3000))
        select.select([s], [], [], 1)
        s.recv(1 << 18)
        if rng.random() < 0.3:
            time.sleep(0.001)


def udp_echo(s, end):
    while time.monotonic() < end:
        try:
            s.sendto(*s.recvfrom(2000))
        except OSError:     # nobody asked for a while
            pass


def udp_asker(s, to, end):
    while time.monotonic() < end:
        s.sendto(b'q', to)
        try:
            s.recv(100)
        except OSError:
            pass
        time.sleep(0.0005)


def talk(seed):
    end = time.monotonic() + SECONDS
    for i in range(4):
        rng = random.Random(seed + i)
        listening = socket.create_server(('127.0.0.1', 0))
        apart(tcp_server, listening, rng)
        apart(tcp_client, listening.getsockname(), rng, end)
    for i in range(2):
        a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for s in (a, b):
            s.bind(('127.0.0.1', 0))
            s.settimeout(0.2)
        apart(udp_echo, a, end)
        apart(udp_asker, b, a.getsockname(), end)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


def compare(full, less):
    """How many waits that a packet of a known sender ended are told alike, are unknown, and are told otherwise."""
    count, wrong = collections.Counter(), []
    for tid, rows in full.items():
        there = {r[:2]: r for r in less.get(tid, [])}
        for r in rows:
            other = there.get(r[:2])
            if r[2] != 'blocked' or r[4] != 'packet' or not other:
                continue
            alike = other[5] == r[5] and other[3] in (r[3], 'unknown')
            kind = 'unknown' if other[5] == -1 else 'alike' if alike else 'otherwise'
            count[kind] += 1
            if kind == 'otherwise':
                wrong.append('%d: %s became %s' % (tid, r, other))
    return count, wrong


def main():
    if os.geteuid() or not os.path.exists(knowledge.STATES):
        print('only root can record')
        sys.exit(77)
    tap = Tap()
    seed = int(os.environ.get('WW_SEED', '0')) or random.SystemRandom().randrange(1, 1 << 30)
    tap.note('seed %d' % seed)
    work = tempfile.mkdtemp(prefix='whywait-loopback-', dir='/var/tmp')
    trace = os.path.join(work, 'trace')
    subprocess.run([knowledge.W, 'record', '-q', '-o', trace, '--', sys.executable, os.path.abspath(__file__), 'talk', str(seed)],
                   stdin=subprocess.DEVNULL, timeout=100)
    full = knowledge.states(trace)
    count, wrong = compare(full, knowledge.states(trace, PACKETS))
    tap.ok(not wrong, 'without packets: none of %d wakeups is told otherwise' % sum(count.values()), wrong)
    tap.ok(count['alike'] > 200 and count['alike'] > 0.8 * sum(count.values()),
           'and %d are still told, %d are unknown' % (count['alike'], count['unknown']))
    for share in (0.1, 0.3):
        c = knowledge.copy(trace, os.path.join(work, 'copy'))
        gone = knowledge.drop_packets(c, share, random.Random(seed))
        count, wrong = compare(full, knowledge.states(c, PACKETS))
        tap.ok(not wrong, 'without packets, and %d of the streams\' missing: %d told, %d unknown, none otherwise' % (
            gone, count['alike'], count['unknown']), wrong)
    shutil.rmtree(work, ignore_errors=True)
    return tap.end()


if __name__ == '__main__':
    sys.exit(talk(int(sys.argv[2])) if sys.argv[1:2] == ['talk'] else main())
