#!/usr/bin/python3
"""Whose system calls were recorded in full, and whose not: a neighbour makes a known mix of calls, while a command that
knows its own is recorded. What is said of each must be exact or `null`, with a note. TAP."""
import json, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
TMP = tempfile.mkdtemp(dir='/var/tmp', prefix='whywait-in-full-')
tap = Tap()
check = tap.ok

# Seven calls that cannot block to each that does; the last number is what it has touched of fresh memory, in pages.
NEIGHBOUR = r'''
import mmap, os, time
print("ready", flush=True)
while True:
    for i in range(7):
        os.getppid()
    m = mmap.mmap(-1, 4096)
    m[0] = 1
    m.close()
    time.sleep(0.004)
'''
COMMAND = r'''
import os, time
for i in range(50):
    os.getppid()
for i in range(20):
    try:
        os.stat('/nowhere')
    except FileNotFoundError:
        pass
time.sleep(0.4)
'''
neighbour = subprocess.Popen(['/usr/bin/python3', '-c', NEIGHBOUR], stdout=subprocess.PIPE)
neighbour.stdout.readline()
pid = str(neighbour.pid)


def record(name, *options, cmd=('/usr/bin/python3', '-c', COMMAND)):
    for _ in range(4):      # one that lost events is made again
        out = os.path.join(TMP, name)
        subprocess.run(['rm', '-rf', out])
        p = subprocess.run([W, 'record', '-q', '-o', out, *options, *(['--', *cmd] if cmd else [])], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if p.returncode == 0:
            return out
    print('Bail out! %s: exit %d: %s' % (name, p.returncode, p.stderr.decode()[-400:]))
    sys.exit(1)


def ask(trace, *args):
    """(exit status, answer, stderr)"""
    p = subprocess.run([W, *args[:1], trace, *args[1:], '--json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return p.returncode, json.loads(p.stdout or '{}'), p.stderr.decode()


def calls(answer):
    return {r['name']: r for r in answer['rows']}


try:
    # ---- the command and its children, which is the default ----
    trace = record('tree')
    rc, answer, note = ask(trace, 'syscalls')
    own = calls(answer)
    check(rc == 0 and not answer['not_recorded'] and not note, 'the command: nothing is missing, and nothing is said', (rc, note))
    check(own['getppid']['count'] == own['getppid']['recorded'] == 50 and own['getppid']['errors'] == 0, 'its calls are counted', own.get('getppid'))
    # as the interpreter itself looks for files in vain: at least
    check(own.get('stat', own.get('newfstatat'))['errors'] >= 20, 'and how many failed', own.get('stat'))
    rc, answer, note = ask(trace, 'syscalls', '--pid', pid)
    other = calls(answer)
    check(rc == 3 and [(n['threads'], n['all']) for n in answer['not_recorded']] == [(1, False)] and 'not recorded' in note,
          'the neighbour: exit 3, a note, and one thread in not_recorded', (rc, answer['not_recorded'], note))
    sleep = other.get('clock_nanosleep', {})
    check(sleep.get('recorded', 0) > 20 and sleep.get('other_blocked_ns', 0) > 80e6, 'its sleeps are there, with their time', other)
    # one that was preempted, and then stopped or woke somebody, may be there
    check(other.get('getppid', {'recorded': 0})['recorded'] < 10, 'calls that neither wait nor wake are not', other)
    check(other and all(r[k] is None for r in other.values() for k in r if k not in ('name', 'recorded', 'other_blocked_ns', 'entered_before')),
          'and nothing is said of what is not known: no count, no errors, no mean', other)
    for by in ('process', 'thread'):
        rc, answer, note = ask(trace, 'files', '--by=' + by, '--pid', pid)
        check(rc == 3 and note and all(r['reads'] is None and r['read_bytes'] is None for r in answer['rows']), 'files by %s: the same' % by, answer)
    rc, answer, note = ask(trace, 'faults', '--pid', pid)
    check(rc == 3 and not answer['rows'] and answer['not_recorded'][0]['threads'] == 1, 'faults: none recorded, and that is said', (rc, note))
    rc, answer, note = ask(trace, 'locks', '--pid', pid)
    check(rc == 0 and not answer['not_recorded'], 'locks: waits are known of everybody', (rc, note))
    rc, answer, note = ask(trace, 'sql', 'SELECT * FROM syscalls')
    known = [r for r in answer['rows'] if r['count'] is not None]
    check(rc == 3 and note and answer['not_recorded'], 'SQL, of everybody: the same exit, note and not_recorded', (rc, note))
    check({(r['name'], r['count'], r['errors'], r['total_ns']) for r in known} ==
          {(r['name'], r['count'], r['errors'], r['total_ns']) for r in own.values()}, 'and the rows that have a count are the command\'s', known)
    check(all(r['count'] is r['errors'] is r['total_ns'] is r['avg_ns'] is None for r in answer['rows'] if r not in known),
          'the others have none, and no sum')
    rc, answer, note = ask(trace, 'sql', 'SELECT count FROM syscalls WHERE for_command = 1 AND name = \'getppid\'')
    check(rc == 0 and not note and answer['rows'] == [{'count': 50}], 'SQL, of the command: nothing is missing', (rc, note, answer))

    # ---- of everybody ----
    trace = record('all', '-a')
    rc, answer, note = ask(trace, 'syscalls', '--pid', pid)
    other = calls(answer)
    n, m = other['getppid']['count'], other['clock_nanosleep']['count']
    check(rc == 0 and not note and not answer['not_recorded'], '-a: nothing is missing of the neighbour', (rc, note))
    check(m > 20 and 7 * m - 7 <= n <= 7 * m + 7, 'and its calls are counted: seven to a sleep', (n, m))
    rc, answer, note = ask(trace, 'faults', '--pid', pid)
    check(rc == 0 and m - 2 <= len(answer['rows']), 'and so are its page faults: one to a sleep', (rc, note, m, len(answer['rows'])))
    rc, answer, note = ask(trace, 'syscalls', '--all')
    check(rc == 0 and not note, 'and of nobody: the recorder itself is no question', (rc, note))

    # ---- attached: its process is the tree ----
    trace = record('attached', '-p', pid, '-d', '0.5', cmd=())
    rc, answer, note = ask(trace, 'syscalls', '--pid', pid)
    other = calls(answer)
    n, m = other['getppid']['count'], other['clock_nanosleep']['count']
    check(rc == 0 and not note and 7 * m - 7 <= n <= 7 * m + 7, 'record -p: of that process all', (rc, note, n, m))

    # ---- nobody's ----
    trace = record('light', '--light')
    rc, answer, note = ask(trace, 'syscalls')
    check(rc == 3 and answer['rows'] and all(r['count'] is None for r in answer['rows']) and '--light' in note,
          '--light: of nobody is it known how many', (rc, note))
finally:
    neighbour.kill()
    neighbour.wait()
    subprocess.run(['rm', '-rf', TMP])
sys.exit(tap.end())
