#!/usr/bin/python3
"""The strings and numbers of system calls that have strings: strings of every length, alone, before, between and after
numbers, two in a call, empty, at an address that is none; and numbers that arguments point to. What was passed is what the
events say, of a first string the first 127 bytes, of a second 63.

TAP; exit 77 where nothing can be recorded."""
import os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
# Paths that are not there, with descriptors that are none: no call does anything.
NOWHERE = -4242
CALLS = '''
import ctypes, os, platform
call = ctypes.CDLL(None).syscall
numbers = {'x86_64': (257, 264, 266, 188, 80, 293), 'aarch64': (56, 38, 36, 5, 49, 59)}[platform.machine()]
openat, renameat, symlinkat, setxattr, chdir, pipe2 = numbers
def text(n, c):
    return ctypes.c_char_p((c * 300)[:n].encode()) if n >= 0 else ctypes.c_void_p(8)
for n in range(-1, 141):
    a, b = text(n, 'abcdefghijk'), text(140 - n, '0123456789')
    call(openat, %(d)d, a, 0x123456, 0o641)
    call(renameat, %(d)d, a, %(d)d - 1, b)
    call(symlinkat, a, %(d)d, b)
    call(setxattr, a, b, ctypes.c_long(0x1122334455667788), ctypes.c_long(0x99aabbccddeeff), 0x42424242)
    if n:
        call(chdir, text(n, '/-'))
two = (ctypes.c_int * 2)()
call(pipe2, two, 0)
os.write(1, b'%%d %%d' %% (two[0], two[1]))
''' % {'d': NOWHERE}


def text(n, c, most):
    return (c * 300)[:min(n, most)] if n >= 0 else ''


def quoted(s):
    return '"%s"' % s


def want(n):
    """The lines of one round, as `whywait events` shows them."""
    a, b, b2 = text(n, 'abcdefghijk', 127), text(140 - n, '0123456789', 127), text(140 - n, '0123456789', 63)
    yield 'openat: dfd=%d filename=%s flags=%d mode=%d' % (NOWHERE, quoted(a), 0x123456, 0o641)
    yield 'renameat: olddfd=%d oldname=%s newdfd=%d newname=%s' % (NOWHERE, quoted(a), NOWHERE - 1, quoted(b2))
    yield 'symlinkat: oldname=%s newdfd=%d newname=%s' % (quoted(a), NOWHERE, quoted(b2))
    yield 'setxattr: pathname=%s name=%s value=%d size=%d flags=%d' % (
        quoted(a), quoted(b2), 0x1122334455667788, 0x99aabbccddeeff, 0x42424242)
    if n:
        yield 'chdir: filename=%s' % quoted(text(n, '/-', 127))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(dir='/var/tmp', prefix='whywait-strings-') as work:
        trace = os.path.join(work, 't')
        r = subprocess.run([W, 'record', '-q', '--as-root', '-o', trace, '--', sys.executable, '-c', CALLS], cwd=work,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if r.returncode not in (0, 3):
            print('cannot record: %s' % r.stderr.decode().strip())
            sys.exit(77)
        lines = subprocess.run([W, 'events', trace], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    calls = [line.split(' syscall_', 1)[1] for line in lines if ' syscall_' in line]
    entries = [c[6:] for c in calls if c.startswith('entry_')]
    expected = [line for n in range(-1, 141) for line in want(n)]
    for name in ('openat', 'renameat', 'symlinkat', 'setxattr', 'chdir'):
        # The interpreter opens files, too.
        got = [e for e in entries if e.startswith(name + ':') and (name in ('setxattr', 'chdir') or '=%d ' % NOWHERE in e + ' ')]
        right = [e for e in expected if e.startswith(name + ':')]
        tap.ok(got == right, '%s: %d calls with strings of 0 to 140 bytes' % (name, len(right)),
               ['%s\n# not %s' % pair for pair in zip(got, right) if pair[0] != pair[1]][:4] or '%d calls' % len(got))
    pipes = [c for c in calls if c.startswith('exit_pipe2:')]
    tap.ok(pipes == ['exit_pipe2: ret=0 fildes=[%s]' % r.stdout.decode()], 'pipe2: the descriptors that it made', pipes)
    return tap.end()


sys.exit(main())
