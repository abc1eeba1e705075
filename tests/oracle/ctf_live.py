#!/usr/bin/python3
"""Oracle: babeltrace2 2.0. It reads each kind of live recording without a warning, and sees the same events with the
same values as `whywait events --json`: a command, the whole system, without system calls, with stacks, attached,
and out of the flight recorder. TAP; skipped where nothing can be recorded.
"""
import os, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ctf_judge import OLD, compare, done, report

WHYWAIT = os.environ['WHYWAIT']
WORK = ['sh', '-c', 'ls -l /usr/lib | sort > list; dd if=/dev/zero of=zero bs=4k count=50 conv=fsync 2> /dev/null; sleep 0.1']
PYTHON = ['/usr/bin/python3', '-c', '''
import os, select, socket, threading
a, b = socket.socketpair()
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen()
def answer():
    c = l.accept()[0]; c.send(c.recv(9)); a.send(b"x")
threading.Thread(target=answer).start()
s = socket.create_connection(l.getsockname()); s.send(b"query"); s.recv(9)
p = select.poll(); p.register(b, select.POLLIN); p.poll(); select.select([b], [a, s], [], 1)
e = select.epoll(); e.register(b, select.EPOLLIN); e.poll()
try: open("/none")
except OSError: pass
os.waitpid(os.spawnlp(os.P_NOWAIT, "true", "true"), 0)
''']
KINDS = {
    'a command': ['--', *WORK],
    'sockets, poll, select, epoll': ['--', *PYTHON],
    'a shell, --light': ['--light', '--', *WORK],
    'the whole system, -a': ['-a', '-d', '0.3'],
    'with --stacks': ['--stacks', '--', *PYTHON],
}


def record(cwd, name, options):
    trace = os.path.join(cwd, name)
    r = subprocess.run([WHYWAIT, 'record', '-q', '-o', trace, *options], cwd=cwd, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=100)
    if not os.path.exists(os.path.join(trace, 'metadata')):
        raise RuntimeError('nothing was recorded: ' + r.stderr)
    return trace


def attached(cwd):
    p = subprocess.Popen(['sh', '-c', 'while sleep 0.01; do ls / > /dev/null; done'], stdin=subprocess.DEVNULL)
    try:
        return record(cwd, 'attached', ['-p', str(p.pid), '-d', '0.4'])
    finally:
        p.kill()
        p.wait()


def flight(cwd):
    """The last part of a busy shell's life, out of rings that have been round several times."""
    trace, full = os.path.join(cwd, 'flight'), os.path.join(cwd, 'full')
    p = subprocess.Popen([WHYWAIT, 'record', '-q', '-o', trace, '--flight', '256K', '--', 'sh', '-c',
                          'i=0; while [ ! -e end ]; do ls / > /dev/null; i=$((i + 1)); [ $i != 100 ] || touch full; done'],
                         cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        for _ in range(1000):
            if os.path.exists(full) or p.poll() is not None:
                break
            time.sleep(0.1)
        r = subprocess.run([WHYWAIT, 'snapshot', trace], cwd=cwd, capture_output=True, text=True, timeout=60)
        if r.returncode:
            raise RuntimeError('snapshot: ' + r.stderr)
    finally:
        open(os.path.join(cwd, 'end'), 'w').close()
        p.wait()
    return os.path.join(trace, 'snapshot-1')


def judge(name, trace):
    p = subprocess.run(['babeltrace2', trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)
    n = p.stdout.count(b'\n')
    report(p.returncode == 0 and not p.stderr and n > 100, '%s: babeltrace2 reads %d events without a warning' % (name, n),
           p.stderr.decode(errors='replace'))
    why = compare(trace, OLD)
    report(not why, name + ': the same events with the same values', why)


if os.getuid() or not OLD.works():
    print('1..0 # SKIP only root can record' if os.getuid() else '1..0 # SKIP python3-bt2 is not installed')
    sys.exit(77)
with tempfile.TemporaryDirectory(dir='/var/tmp') as tmp:
    os.chmod(tmp, 0o755)
    makers = {k: (lambda i=i, o=o: record(tmp, 't%d' % i, o)) for i, (k, o) in enumerate(KINDS.items())}
    makers['attached, -p'] = lambda: attached(tmp)
    makers['the flight recorder'] = lambda: flight(tmp)
    for name, make in makers.items():
        if os.environ.get('WW_ONLY', name) != name:
            continue
        try:
            judge(name, make())
        except Exception as e:
            report(False, name, '%s: %s' % (type(e).__name__, e))
done()
