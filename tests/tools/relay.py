#!/usr/bin/python3
"""A slow and lossy wire: passes Ethernet frames between two devices, for tests of clocks and packets.

  relay.py DEV_A DEV_B     until it is terminated; then it prints `relay` and JSON: frames passed, delayed and lost

  TCP over IPv4      each 23rd frame of a connection is lost, in either direction, whatever is in it
  TCP over IPv6      from A to B 2 ms later, from B to A 0.4 ms, every fifth frame 5 ms more (what follows does not overtake it)
  all else           passed at once

The devices' other ends must not leave checksums and segments to the hardware (--plain DEV: turns that off and ends):
there is none.
"""
import array, collections, fcntl, heapq, json, select, signal, socket, struct, sys, time

LOSE_EACH = 23
TCP, IP4, IP6 = 6, 0x0800, 0x86dd
SIOCETHTOOL = 0x8946
OFF = (0x17, 0x1f, 0x24, 0x2c)     # of <linux/ethtool.h>: STXCSUM, STSO, SGSO, SGRO


def plain(dev):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for command in OFF:
        value = array.array('I', [command, 0])
        fcntl.ioctl(s, SIOCETHTOOL, struct.pack('16sP16x', dev.encode(), value.buffer_info()[0]))


def connection(frame):
    """(IP version, the ports in order) of a TCP segment; None of all else."""
    kind = struct.unpack_from('!H', frame, 12)[0]
    if kind == IP4 and frame[23] == TCP:
        at = 14 + 4 * (frame[14] & 15)
    elif kind == IP6 and frame[20] == TCP:
        at = 54
    else:
        return None
    return kind, tuple(sorted(struct.unpack_from('!HH', frame, at)))


def relay(a, b):
    socks = []
    for dev in (a, b):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        s.bind((dev, 0))
        socks.append(s)
    seen = collections.Counter()
    later, last, n = [], {}, 0      # heap of (when, number, to, frame); of a connection and direction the last `when`
    while True:
        wait = max(0, later[0][0] - time.monotonic()) if later else None
        for s in select.select(socks, [], [], wait)[0]:
            frame, where = s.recvfrom(65536)
            if where[2] == socket.PACKET_OUTGOING:
                continue
            way, n, when, c = socks.index(s), n + 1, time.monotonic(), connection(frame)
            seen[c, way] += 1
            if c and c[0] == IP4 and seen[c, way] % LOSE_EACH == 0:
                count['lost'] += 1
                continue
            if c and c[0] == IP6:
                when += (0.0004 if way else 0.002) + (0.005 if seen[c, way] % 5 == 0 else 0)
                when = last[c, way] = max(when, last.get((c, way), 0))
                count['delayed'] += 1
            heapq.heappush(later, (when, n, socks[1 - way], frame))
        while later and later[0][0] <= time.monotonic():
            _, _, to, frame = heapq.heappop(later)
            to.send(frame)
            count['passed'] += 1


def end(*_):
    print('relay', json.dumps(count), flush=True)
    sys.exit(0)


count = collections.Counter(passed=0, delayed=0, lost=0)
if sys.argv[1] == '--plain':
    plain(sys.argv[2])
else:
    signal.signal(signal.SIGTERM, end)
    relay(*sys.argv[1:3])
