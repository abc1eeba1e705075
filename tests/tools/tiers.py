#!/usr/bin/python3
"""A web server before a database, and its client, for tests of the path over hosts.

  tiers.py web DBHOST           http.server on port 8080; GET /r/N: some computing, an UPDATE, a COMMIT in PostgreSQL
  tiers.py client WEBHOST N     a request on which the server connects to the database, then N more, on one connection

Each prints a line a request with what it measured, CLOCK_MONOTONIC in ns: the client `request n tid start end`, the
server `served n tid start, of each question to the database before_send after_send answered, end`. Header and body of an answer are two small writes,
as http.server makes them; unbuffered, so that Nagle's algorithm has its part.
"""
import http.client, http.server, socket, struct, sys, threading, time

PORT = 8080


class Postgres:
    """As much of the protocol (version 3) as UPDATE and COMMIT need."""
    def __init__(self, host):
        self.s = socket.create_connection((host, 5432))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = struct.pack('!i', 196608) + b'user\0postgres\0database\0postgres\0\0'
        self.s.sendall(struct.pack('!i', len(start) + 4) + start)
        self.until_ready()

    def take(self, n):
        data = b''
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError('the database hung up')
            data += more
        return data

    def until_ready(self):
        while True:
            kind, size = struct.unpack('!ci', self.take(5))
            body = self.take(size - 4)
            if kind == b'E':
                raise RuntimeError(body.decode(errors='replace'))
            if kind == b'Z':
                return

    def run(self, sql):
        """When it began to send, had sent, had the whole answer."""
        text = sql.encode() + b'\0'
        t = [time.monotonic_ns()]
        self.s.sendall(b'Q' + struct.pack('!i', len(text) + 4) + text)
        t.append(time.monotonic_ns())
        self.until_ready()
        return t + [time.monotonic_ns()]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def setup(self):
        super().setup()
        self.db = Postgres(sys.argv[2])

    def do_GET(self):
        n = int(self.path.rsplit('/', 1)[1])
        t = [time.monotonic_ns()]
        sum(range(100000))
        t += self.db.run('BEGIN; UPDATE acct SET bal = bal + 1 WHERE id = %d' % n)
        t += self.db.run('COMMIT')
        body = b'ok %d\n' % n
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        t.append(time.monotonic_ns())
        print('served', n, threading.get_native_id(), *t, flush=True)

    def log_message(self, *a):
        pass


def client(host, rounds):
    c = http.client.HTTPConnection(host, PORT)
    for _ in range(100):    # until the server is there
        try:
            c.connect()
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    for n in range(0, rounds + 1):
        begin = time.monotonic_ns()
        c.request('GET', '/r/%d' % n)
        body = c.getresponse().read()
        end = time.monotonic_ns()
        if body != b'ok %d\n' % n:
            raise SystemExit('wrong answer: %r' % body)
        if n:
            print('request', n, threading.get_native_id(), begin, end, flush=True)
        time.sleep(0.02)


if sys.argv[1] == 'web':
    http.server.ThreadingHTTPServer(('', PORT), Handler).serve_forever()
else:
    client(sys.argv[2], int(sys.argv[3]))
