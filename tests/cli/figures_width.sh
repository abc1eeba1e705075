# Tables and charts on a narrow terminal: no line is wider, what has no room is named, and nothing is lost; rows that are cut
# off are counted. The judge is --help, which
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
def chart(*args):
    """{series: the blocks of all charts, one after the other}, and how wide the widest line of one is"""
    found = re.findall(r'^(\S.*?) *\|(.*)\|.*%$', text(0, 'usage', *args), re.M)
    series = {}
    for name, blocks in found:
        series[name] = series.get(name, '') + blocks
    return series, max(len(blocks) for _, blocks in found) + 20
wide, narrow = chart('--every=5ms', '--width=200'), chart('--every=5ms', '--width=60')
assert wide[0] == narrow[0] and len(wide[0]['all']) == 76 and wide[1] == 96 and narrow[1] == 60, (wide, narrow)
for args, every in ((('irq', '--top=2'), ('irq',)), (('usage', '--top=3'), ('usage',)), (('sched', '--by=histogram', '--top=1'), ('sched', '--by=histogram'))):
    few, all_of_them = text(0, *args), text(0, *every)
    more = re.search(r'^(\d+) more rows?: --top=0 shows all$', few, re.M)
    assert more and int(more.group(1)) == len(all_of_them.splitlines()) - len(few.splitlines()) + 1 and 'more row' not in all_of_them, few
print('held')
PY
