#!/usr/bin/python3
"""`whywait diff` against a program that knows what was made slower: of its waits one was made longer by a known
time, and nothing else. Recorded in turn, so that the machine's moods come to both sides. TAP."""
import json, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
EXTRA_NS = 80_000_000
REPEATS = 4
# Sleeps itself, waits for a child that sleeps (this is what gets longer), computes, writes to the disk.
PROGRAM = r'''
import os, sys, time
extra = float(sys.argv[1])
path = sys.argv[2]
for i in range(4):
    time.sleep(0.008)
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        time.sleep(0.01 + extra / 4)
        os.write(w, b'x')
        os._exit(0)
    os.read(r, 1)
    os.close(r), os.close(w)
    os.waitpid(pid, 0)
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(fd, b'x' * 65536)
    os.fsync(fd)
    os.close(fd)
sum(range(1000000))
'''
tap = Tap()


def record(tmp, name, extra_ns):
    """A recording without losses. Before other programs of a busy machine (FIFO): kept from a CPU, it would come to its
    wait when that is over already, and what was made longer would not be."""
    out = os.path.join(tmp, name)
    for _ in range(4):
        p = subprocess.run([W, 'record', '-q', '-o', out, '--', 'chrt', '-f', '10', '/usr/bin/python3', '-S', os.path.join(tmp, 'program.py'),
                            '%.3f' % (extra_ns / 1e9), os.path.join(tmp, 'data')], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=100)
        if p.returncode == 0:
            return out
        subprocess.run(['rm', '-rf', out])
    print('Bail out! record: exit %d: %s' % (p.returncode, p.stderr.decode()[-300:]))
    sys.exit(1)


def diff(*args):
    p = subprocess.run([W, 'diff', '--json', '-q', *args], stdout=subprocess.PIPE, timeout=100)
    return json.loads(p.stdout)


def row(rows, state, cause, syscall=None):
    found = [r for r in rows if r['state'] == state and r['cause'] == cause and syscall in (None, r['syscall'])]
    return found[0] if len(found) == 1 else {'difference_ns': 0, 'interval_ns': 0, 'beyond_noise': None, 'found': found}


def check_known(a, b):
    j = diff(*a, '--', *b)
    target, chains = j['target'], j['chains']
    tap.note('wall time %+.2f +- %.2f ms' % (j['wall']['difference_ns'] / 1e6, j['wall']['interval_ns'] / 1e6))
    pipe = row(target, 'blocked', 'pipe', 'read')
    tap.ok(pipe['beyond_noise'] and abs(pipe['difference_ns'] - EXTRA_NS) <= pipe['interval_ns'] + 2e6 and
           pipe['interval_ns'] < EXTRA_NS / 2, 'the wait that was made longer is marked, and by how much', pipe)
    child = [r for r in chains if r['state'] == 'blocked' and r['cause'] == 'timer' and r['beyond_noise']]
    tap.ok(len(child) == 1 and abs(child[0]['difference_ns'] - EXTRA_NS) < 4e6,
           'at the end of the chains it is a sleep', chains[:4])
    own = row(target, 'blocked', 'timer')
    tap.ok(own['beyond_noise'] is False and abs(own['difference_ns']) < 4e6, 'the sleep of its own is as before', own)
    family = [r for t in j['threads'] for r in t['rows'] if r['beyond_noise'] and r['difference_ns'] > 10e6]
    tap.ok([(r['state'], r['cause']) for r in family] == [('blocked', 'timer')] and
           abs(family[0]['difference_ns'] - EXTRA_NS) < 4e6, 'of the children only their sleep is longer', family)
    others = [r for r in target if r is not pipe and r['beyond_noise'] and abs(r['difference_ns']) > 2e6]
    tap.ok(not others, 'of the rest nothing is marked', others)
    tap.ok(abs(sum(r['difference_ns'] for r in target) - j['wall']['difference_ns']) <= len(target),
           'the rows sum to the difference of the wall time')
    walls = [r['wall_ns'] for r in j['recordings']]
    mean = sum(walls[REPEATS:]) / REPEATS - sum(walls[:REPEATS]) / REPEATS
    tap.ok(abs(mean - j['wall']['difference_ns']) <= 1, 'that is the difference of the means', (mean, j['wall']))


def check_same(a):
    """Two halves of one side: nothing changed."""
    j = diff(*a[::2], '--', *a[1::2])
    marked = [r for r in j['target'] if r['beyond_noise'] and abs(r['difference_ns']) > 2e6]
    tap.ok(j['noise_known'] and not marked, 'recordings of the same: nothing is marked', marked)


def check_single(a, b):
    j = diff(a, b)
    pipe = row(j['target'], 'blocked', 'pipe', 'read')
    tap.ok(not j['noise_known'] and all(r['beyond_noise'] is None for r in j['target']) and
           abs(pipe['difference_ns'] - EXTRA_NS) < EXTRA_NS / 2, 'one a side: a difference, and no mark', pipe)
    text = subprocess.run([W, 'diff', '-q', a, b], stdout=subprocess.PIPE).stdout.decode()
    tap.ok('no noise estimate' in text, 'and the text says so', text[-300:])
    text = subprocess.run([W, 'diff', '-q', a, a], stdout=subprocess.PIPE).stdout.decode()
    tap.ok(': 0 ns' in text, 'a trace does not differ from itself', text)


def main():
    if os.getuid():
        print('only root can record')
        return 77
    with tempfile.TemporaryDirectory(dir='/var/tmp', prefix='whywait-diff-') as tmp:
        with open(os.path.join(tmp, 'program.py'), 'w') as f:
            f.write(PROGRAM)
        record(tmp, 'warm', 0)
        a, b = [], []
        for i in range(REPEATS):
            a.append(record(tmp, 'a%d' % i, 0))
            b.append(record(tmp, 'b%d' % i, EXTRA_NS))
        check_known(a, b)
        check_same(a)
        check_single(a[0], b[0])
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
