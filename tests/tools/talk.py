#!/usr/bin/python3
"""Small talk between hosts, for tests of packets and clocks.

  talk.py serve           TCP and UDP on port 7700, IPv4 and IPv6; answers each message with as many bytes
  talk.py tcp PEER        150 questions, one each 15 ms
  talk.py udp PEER        150 datagrams of changing length, each answered
  talk.py bulk PEER       4 MB there and back again, in four pieces
"""
import socket, sys, threading, time

PORT = 7700
ROUNDS = 150


def receive(s, want):
    while want:
        got = s.recv(min(want, 1 << 16))
        if not got:
            return False
        want -= len(got)
    return True


def answer(s):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        head = b''
        while len(head) < 8:
            got = s.recv(8 - len(head))
            if not got:
                return
            head += got
        size = int(head)
        if not receive(s, size):
            return
        s.sendall(b'%08d' % size + b'a' * size)


def serve():
    t = socket.create_server(('::', PORT), family=socket.AF_INET6, dualstack_ipv6=True)
    u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    u.bind(('::', PORT))

    def datagrams():
        while True:
            data, peer = u.recvfrom(4096)
            u.sendto(data, peer)
    threading.Thread(target=datagrams, daemon=True).start()
    while True:
        s, _ = t.accept()
        threading.Thread(target=answer, args=(s,), daemon=True).start()


def ask(s, size):
    s.sendall(b'%08d' % size + b'q' * size)
    receive(s, 8 + size)


def connect(peer):
    for i in range(300):                # a loaded machine's server may not be there yet
        try:
            s = socket.create_connection((peer, PORT))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def tcp(peer):
    s = connect(peer)
    for i in range(ROUNDS):
        ask(s, 1 + i * 37 % 3000)
        time.sleep(0.015)


def udp(peer):
    s = socket.socket(socket.AF_INET6 if ':' in peer else socket.AF_INET, socket.SOCK_DGRAM)
    connect(peer).close()
    s.connect((peer, PORT))
    s.settimeout(0.5)
    for i in range(ROUNDS):
        s.send(b'u' * (1 + i * 11 % 1200))
        try:
            s.recv(4096)
        except socket.timeout:
            pass
        time.sleep(0.015)


def bulk(peer):
    s = connect(peer)
    for _ in range(4):
        ask(s, 1 << 20)
        time.sleep(0.3)


if sys.argv[1] == 'serve':
    serve()
else:
    {'tcp': tcp, 'udp': udp, 'bulk': bulk}[sys.argv[1]](sys.argv[2])
