# Lines of path and sync as wide as the terminal says, 100 where there is none; nothing is cut (checked with python3: the
# same letters at every width).
tar xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
OTHER=a-trace-with-a-name-that-is-longer-than-its-column-is-wide.ctf
export OTHER
cp -r demo.ctf $OTHER
LC_ALL=C sed -i 's/hostname = "vm"/hostname = "zz"/; s/uuid = "4789764f/uuid = "99999999/' $OTHER/metadata
unset COLUMNS
/usr/bin/python3 - <<'PY'
import os, pty, re, struct, fcntl, termios, subprocess

W, OTHER = os.environ['WHYWAIT'], os.environ['OTHER']


def piped(*args, columns=None):
    env = dict(os.environ, **({'COLUMNS': str(columns)} if columns else {}))
    return subprocess.run([W, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True).stdout


def on_terminal(columns, *args):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    p = subprocess.Popen([W, *args], stdout=slave, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    os.close(slave)
    out = b''
    try:
        while True:
            part = os.read(master, 65536)
            if not part:
                break
            out += part
    except OSError:
        pass
    p.wait()
    return re.sub(r'\x1b\[[0-9;]*m', '', out.decode()).replace('\r', '')


def widest(text):
    return max(map(len, text.splitlines()))


def letters(text, begin):
    return re.sub(r'\s', '', text[text.index(begin):])


for args, begin in ((('path', '-v', '-q', 'demo.ctf'), 'Step by step'), (('path', '-v', '-q', '--top', '3', 'demo.ctf', OTHER), 'Step by step')):
    wide = letters(piped(*args, columns=400), begin)
    for n in (40, 60, 80, 100, 132):
        text = piped(*args, columns=n)
        print(' '.join(args), n, widest(text) <= n, letters(text, begin) == wide, '...' in text)
        print('\n'.join('blanks at the end: ' + l for l in text.splitlines() if l.endswith(' ')), end='')
    for n in (60, 100):
        text = on_terminal(n, *args)
        print(' '.join(args), 'on a terminal', n, widest(text) <= n, letters(text, begin) == wide)
    print(' '.join(args), 'no terminal', widest(piped(*args)) <= 100, letters(piped(*args), begin) == wide)
for n in (40, 60, 100):
    text = piped('sync', '-s', '--no-store', 'demo.ctf', OTHER, columns=n)
    print('sync', n, widest(text) <= n, OTHER in re.sub(r'\s', '', text))
for n in (60, 100):
    print(''.join('  |' + l + '\n' for l in piped('path', '-q', '--top', '5', 'demo.ctf', columns=n).splitlines()[:24]))
PY
