# Tables on a narrow terminal: no line is wider, what has no room is named, and nothing is lost. The judge is --help, which
# lists the columns, and the same table where there is room.
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
/usr/bin/python3 - <<'PY'
import os, re, subprocess
W = os.environ['WHYWAIT']
def text(columns, *args):
    env = dict(os.environ, COLUMNS=str(columns)) if columns else {k: v for k, v in os.environ.items() if k != 'COLUMNS'}
    return subprocess.run([W, *args, 'demo.ctf'], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
for name in ('threads', 'procs', 'usage', 'sched', 'syscalls', 'files', 'io', 'irq', 'locks', 'net'):
    columns = re.findall(r'^  ([a-z_0-9]+)', re.search(r'^%s: .*\n((?:  [a-z].*\n)+)' % name,
                         subprocess.run([W, name, '--help'], stdout=subprocess.PIPE).stdout.decode(), re.M).group(1), re.M)
    whole = text(0, name).splitlines()
    for width in (40, 60, 100, 160):
        got = text(width, name)
        m = re.search(r'No room for (\d+) columns, which -v and --json show:((?: [a-z_0-9]+,)* [a-z_0-9]+)', ' '.join(got.split()))
        left = re.findall(r'[a-z_0-9]+', m.group(2)) if m else []
        wide = [l for l in got.splitlines() if len(l) > width and not l.startswith('Of ')]
        bad = wide or (m and (int(m.group(1)) != len(left) or columns[-len(left):] != left)) or (
            name != 'usage' and not any(l.startswith(got.splitlines()[0].rstrip()) for l in whole)) or (
            not m and name != 'usage' and len(got.splitlines()[0].rstrip()) != len(whole[0].rstrip()))
        if bad:
            print(name, width, wide, left, columns)
    assert 'No room' not in text(0, name) + text(40, name, '-v')
print('held')
PY
