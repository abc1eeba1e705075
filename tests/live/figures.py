#!/usr/bin/python3
"""The tables of figures against programs that know theirs: each part does a known thing under recording and
holds what whywait says of it against what it did. Judges: the program itself, strace -c, os.times(). TAP."""
import json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

W = os.environ['WHYWAIT']
TMP = tempfile.mkdtemp(dir='/var/tmp', prefix='whywait-figures-')
tap = Tap()
check = tap.ok


def record(name, cmd, *options):
    """(trace, stdout) of the command, recorded; a recording that lost events is made again."""
    for _ in range(4):
        out = os.path.join(TMP, name)
        subprocess.run(['rm', '-rf', out])
        p = subprocess.run([W, 'record', '-q', '-o', out, *options, '--', *cmd], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if p.returncode == 0:
            return out, p.stdout.decode()
    print('Bail out! %s: exit %d: %s' % (name, p.returncode, p.stderr.decode()[-400:]))
    sys.exit(1)


def rows(trace, *args, partial=False):
    p = subprocess.run([W, *args, '--json', '-q', trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if p.returncode and not (partial and p.returncode == 3):    # of others than the command less is recorded
        print('#   whywait %s: exit %d: %s' % (' '.join(args), p.returncode, p.stderr.decode()[:300]))
        return []
    return json.loads(p.stdout)['rows']


def python(name, code, *options):
    path = os.path.join(TMP, name + '.py')
    open(path, 'w').write(code)
    return record(name, ['/usr/bin/python3', path], *options)


def taken(trace, tids, a=0, b=1 << 62):
    """ns of [a, b), in the trace's epoch, that the threads had a CPU and the kernel does not count as theirs: interrupts,
    and what the hypervisor took."""
    stolen = ("SELECT coalesce(sum(min(ts + dur, %d) - max(ts, %d)), 0) AS ns FROM state JOIN thread USING (utid) WHERE state = 'stolen' "
              "AND ts + dur > %d AND ts < %d AND tid IN (%s)" % (b, a, a, b, ', '.join(map(str, tids))))
    p = subprocess.run([W, 'sql', '--json', '-q', trace, stolen], stdout=subprocess.PIPE, check=True)
    window = ['--from', str(a), '--to', str(b)] if a else []
    return sum(r['total_ns'] for r in rows(trace, 'irq', '--by=thread', *window) if r['tid'] in tids) + json.loads(p.stdout)['rows'][0]['ns']


# ---- usage: three burners, a second apart; what they burnt is what their own clocks say ----
trace, out = python('burn', r'''
import os, time
def burn(until):
    marks = []      # what its clock said, every 5 ms that it had the CPU in
    while time.monotonic() < until:
        marks.append('%d %d' % (time.monotonic_ns(), time.process_time_ns()))
        more = time.monotonic() + 0.005
        while time.monotonic() < more:
            pass
    t = os.times()
    os.write(1, b'%d %d %s\n' % (os.getpid(), int((t.user + t.system) * 1e9), ' '.join(marks).encode()))
begin = time.monotonic()
kids = []
os.sched_setaffinity(0, {0})
for i in range(3):
    pid = os.fork()
    if not pid:
        burn(begin + 2.4)
        os._exit(0)
    kids.append(pid)
    time.sleep(0.8)
for k in kids:
    os.waitpid(k, 0)
os.write(1, b'begin %d\n' % int(begin * 1e9))
''')
said = {f[0]: [int(x) for x in f[1:]] for f in (l.split() for l in out.splitlines())}
begin = said.pop('begin')[0]
burnt = {int(pid): f[0] for pid, f in said.items()}
clocks = {int(pid): list(zip(f[1::2], f[2::2])) for pid, f in said.items()}
usage = {r['tid']: r for r in rows(trace, 'usage')}
for pid, ns in burnt.items():
    seen = usage.get(pid, {}).get('cpu_ns', 0)
    check(-25e6 - 0.02 * ns < seen - ns < 25e6 + 0.02 * ns + taken(trace, [pid]), 'usage: a burner has what its own clock says (ticks of 10 ms)', (seen, ns))
runs = rows(trace, 'usage', '--by=cpu')
for r in runs:
    wall = r['busy_ns'] + r['idle_ns'] + r['unknown_ns']
    check(r['unknown_ns'] < 0.02 * wall, 'usage: CPU %d: busy + idle is the whole time' % r['cpu'], r)
# Asked for one burner, a CPU is busy with it alone, and nothing is missing.
one = min(burnt)
part = rows(trace, 'usage', '--by=cpu', '--tid', str(one))
check(sum(r['busy_ns'] for r in part) == usage[one]['cpu_ns'] and
      all(a['busy_ns'] + a['other_ns'] == b['busy_ns'] and (a['idle_ns'], a['unknown_ns']) == (b['idle_ns'], b['unknown_ns'])
          for a, b in zip(part, runs)), 'usage: of one thread the CPUs are busy as long as it ran', (part, runs))
part = [r for r in rows(trace, 'usage', '--by=time', '--every=100ms', '--tid', str(one)) if r['cpu'] < 0]
check(sum(r['busy_ns'] for r in part) == usage[one]['cpu_ns'], 'usage: and so are the slices', usage[one])
slices = [r for r in rows(trace, 'usage', '--by=time', '--every=100ms') if r['cpu'] < 0]
check(sum(r['busy_ns'] for r in slices) == sum(r['busy_ns'] for r in runs), 'usage: the slices sum to the CPUs',
      (sum(r['busy_ns'] for r in slices), sum(r['busy_ns'] for r in runs)))
offset = json.loads(subprocess.run([W, 'info', '--json', '-q', trace], stdout=subprocess.PIPE).stdout)['clock']['offset_ns']
for part in range(3):      # one, two, three of them; each one's share, as far as others leave them CPU 0, is what its clock says
    a, b = (begin + int((0.8 * part + x) * 1e9) for x in (0.3, 0.7))
    got = {r['tid']: r['cpu_ns'] for r in rows(trace, 'usage', '--from', str(a + offset), '--to', str(b + offset))}
    at = lambda pid, t: max([own for when, own in clocks[pid] if when <= t], default=0)
    own = {pid: at(pid, b) - at(pid, a) for pid in clocks}
    check(sum(own.values()) > 1e6 and sum(any(when < a for when, _ in m) for m in clocks.values()) <= part + 1 and
          all(-12e6 < got.get(pid, 0) - ns < 12e6 + taken(trace, [pid], a + offset, b + offset) for pid, ns in own.items()),
          'usage: of three burners a second apart, each has in third %d what its clock says' % (part + 1), (own, got))

# ---- three that burn half of a CPU each, on any, a second apart: three steps, as they add up by their own clocks ----
STEPS = r"""
import ctypes, os, time
libc = ctypes.CDLL(None)
begin = time.monotonic_ns()
for i in range(3):
    if not os.fork():
        libc.prctl(15, b'burner', 0, 0, 0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))   # whatever else the machine does
        more = 0    # that the clock on the wall went on while it burnt: interrupts, and what the hypervisor took
        while time.monotonic_ns() < begin + 3000000000:
            now, at = time.process_time(), time.monotonic_ns()
            while time.process_time() - now < 0.003:     # a system call, so not too often
                for i in range(1000):
                    pass
            more += time.monotonic_ns() - at - int(1e9 * (time.process_time() - now))
            own = time.process_time_ns()
            os.write(1, b'%d %d %d %d\n' % (time.monotonic_ns(), os.getpid(), own, own + more))
            time.sleep(0.003)
        os._exit(0)
    time.sleep(1)
for i in range(3):
    os.wait()
os.write(1, b'%d 0 0 0\n' % begin)
"""


def stepped():
    """(trace, their begin, ns by their own clocks: least and most, and by usage, in the middle of each second)

    When one that is woken preempts another that is in the kernel, the books of its clock begin at the wakeup, for such a switch
    does not update the run queue's clock: so the least is without what they were ready."""
    trace, out = python('steps', STEPS)
    marks = sorted(tuple(map(int, l.split())) for l in out.splitlines())
    begin = [m[0] for m in marks if not m[1]][0]
    offset = json.loads(subprocess.run([W, 'info', '--json', '-q', trace], stdout=subprocess.PIPE).stdout)['clock']['offset_ns']
    want, most, got = [], [], []
    for part in range(3):
        a, b, ns = begin + part * 1000000000 + 200000000, begin + part * 1000000000 + 900000000, [0, 0]
        for pid in {m[1] for m in marks if m[1]}:
            inside = [m for m in marks if m[1] == pid and a <= m[0] < b]
            before = [m for m in marks if m[1] == pid and m[0] < a]
            for k in (0, 1):
                ns[k] += inside[-1][2 + k] - (before[-1][2 + k] if before else 0) if inside else 0
        window = '--comm', 'burner', '--from', str(a + offset), '--to', str(b + offset)
        want.append(ns[0] - sum(r['delay_ns'] for r in rows(trace, 'sched', *window)))
        most.append(ns[1])
        got.append(sum(r['cpu_ns'] for r in rows(trace, 'usage', *window)))
    return trace, begin + offset, want, most, got


for attempt in range(4):    # others may leave them no CPU
    trace, begin, want, most, got = stepped()
    if want[1] > 1.4 * want[0] and want[2] > 1.2 * want[1]:
        break
check(want[0] > 200e6 and want[1] > 1.4 * want[0] and want[2] > 1.2 * want[1] and
      all(x - 8e6 * (i + 1) < y < 1.03 * z + 8e6 * (i + 1) for i, (x, z, y) in enumerate(zip(want, most, got))),
      'usage: three steps, each as high as the clocks of those that burn', (want, most, got))
info = json.loads(subprocess.run([W, 'info', '--json', '-q', trace], stdout=subprocess.PIPE).stdout)
text = subprocess.run([W, 'usage', '-q', '--width', '100', '--comm', 'burner', trace], stdout=subprocess.PIPE).stdout.decode()
line = [l.split('|')[1] for l in text.splitlines() if l.startswith('all ')]
levels = [' ▁▂▃▄▅▆▇█'.index(c) for c in line[0]] if line else []
means = []
for part in range(3):
    a, b = ((begin + (part + x) * 1e9 - info['begin_ns']) / (info['end_ns'] - info['begin_ns']) * len(levels) for x in (0.2, 0.9))
    means.append(sum(levels[int(a):int(b)]) / max(int(b) - int(a), 1))
check(levels and means[0] > 1 and means[1] > means[0] + 0.7 and means[2] > means[1] + 0.7, 'usage: the chart shows three steps', (text.splitlines()[:3], means))

# ---- cgroups: what a program burnt in each of two, and before ----
HIERARCHY = next((l.split()[1] for l in open('/proc/self/mounts') if l.split()[2] == 'cgroup2'), None)
if HIERARCHY:
    trace, out = python('cgroups', r"""
import os, sys, time
base = sys.argv[1]
outer = base + '/whywait-figures-%d' % os.getpid()
inner = outer + '/inner'
os.mkdir(outer)
os.mkdir(inner)
def burn(s):
    begin = time.process_time()
    while time.process_time() - begin < s:
        pass
def move(to):
    with open(to + '/cgroup.procs', 'w') as f:
        f.write('0')
burn(0.1)
move(outer)
burn(0.2)
if not os.fork():
    burn(0.1)
    move(inner)
    burn(0.15)
    os._exit(0)
os.wait()
move(base)
def books(of):    # of it and those below it, ns
    return 1000 * int(next(l.split()[1] for l in open(of + '/cpu.stat') if l.startswith('usage_usec')))
print(outer[len(base):], books(outer), books(inner))
os.rmdir(inner)
os.rmdir(outer)
""".replace("sys.argv[1]", repr(HIERARCHY)))
    outer, both, inside = [int(x) if x.isdigit() else x for x in out.split()]
    got = {r['cgroup']: r for r in rows(trace, 'usage', '--by=cgroup')}
    check(both - inside > 290e6 and inside > 140e6, "usage: the cgroups' programs burnt what they should", out)
    for path, ns, threads in ((outer, both - inside, 2), (outer + '/inner', inside, 1)):
        r = got.get(path, {'cpu_ns': 0, 'threads': 0})
        check(-2e6 - 0.01 * ns < r['cpu_ns'] - ns < 2e6 + 0.01 * ns + taken(trace, [t['tid'] for t in rows(trace, 'usage', '--cgroup', path)]) and r['threads'] == threads,
              "usage: what was burnt in a cgroup is what is in the kernel's books of it", (path, got.get(path), ns))
    whole = sum(r['cpu_ns'] for r in rows(trace, 'usage'))
    check(sum(r['cpu_ns'] for r in got.values()) == whole, 'usage: the cgroups sum to the threads', (whole, list(got.values())[:5]))
    by = {r['cgroup']: r for r in rows(trace, 'usage', '--by=cgroup')}
    for asked in (outer + '/inner', 'inner', outer):
        want = sum(r['cpu_ns'] for path, r in by.items() if (path + '/').startswith(outer + ('/inner/' if 'inner' in asked else '/')))
        for kind in ('thread', 'process', 'cgroup', 'thread_time', 'process_time', 'cgroup_time'):
            got = rows(trace, 'usage', '--cgroup', asked, *([] if kind == 'thread' else ['--by=' + kind]))
            check(want and sum(r['cpu_ns'] for r in got) == want, 'usage --by=%s --cgroup %s: what was burnt in it, not before and not after' % (kind, asked), (want, got[:4]))
        check(sum(r['running_ns'] for r in rows(trace, 'sched', '--cgroup', asked)) == sum(r['cpu_ns'] for r in rows(trace, 'usage', '--cgroup', asked)),
              '--cgroup %s: sched has the same time on CPUs as usage' % asked)
        got = rows(trace, 'usage', '--by=cpu', '--cgroup', asked)
        check(sum(r['busy_ns'] for r in got) == want, 'usage --by=cpu --cgroup %s: that long the CPUs were busy with it' % asked, (want, got))
    # The child made a call to move itself, in outer; its later ones in inner.
    child = rows(trace, 'usage', '--cgroup', 'inner')[0]['tid']
    counts = [sum(r['count'] for r in rows(trace, 'syscalls', *asked)) for asked in (('--tid', str(child)), ('--tid', str(child), '--cgroup', 'inner'),
                                                                                      ('--tid', str(child), '--cgroup', outer))]
    written = [sum(r['writes'] for r in rows(trace, 'files', '--tid', str(child), '--cgroup', asked)) for asked in ('inner', outer)]
    check(0 < counts[1] < counts[2] == counts[0] and written == [0, 1], '--cgroup: of other figures what began while the thread was in it', (counts, written))
    check(rows(trace, 'usage', '--cgroup', outer + '/in') == [], '--cgroup: half a name is none')
else:
    print('# no cgroup2 hierarchy is mounted: not tested')

# ---- syscalls: strace -c counts the same ----
strace = os.path.join(TMP, 'strace.out')
code = "import os\nprint(os.getpid())\nfor i in range(300):\n os.getppid()\n try: os.stat('/none')\n except OSError: pass\nopen('/etc/passwd').read()\n"
path = os.path.join(TMP, 'calls.py')
open(path, 'w').write(code)
trace, out = record('calls', ['strace', '-f', '-c', '-o', strace, '/usr/bin/python3', path])
ours = {r['name']: r for r in rows(trace, 'syscalls', '--pid', out.strip())}
theirs = {}
for line in open(strace):
    m = re.match(r' *[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d+)? *(\w+)$', line)
    if m and m.group(3) != 'total':
        theirs[m.group(3)] = (int(m.group(1)), int(m.group(2) or 0))
check(len(theirs) > 15, 'strace -c counted', theirs)
# Before strace traces it, its child makes these calls itself.
UNTRACED = ('execve', 'exit_group', 'arch_prctl', 'getpid', 'geteuid', 'set_robust_list', 'close')
bad = {k: (v, (ours.get(k, {}).get('count'), ours.get(k, {}).get('errors'))) for k, v in theirs.items()
       if k not in UNTRACED and
       (ours.get(k, {}).get('count'), ours.get(k, {}).get('errors')) != v}
check(not bad, 'syscalls: counts and errors are those of strace -c', bad)
got = rows(trace, 'syscalls', '--by=process', '--all', partial=True)
check({r['name']: (r['count'], r['errors'], r['total_ns']) for r in got if r['pid'] == int(out)} ==
      {k: (r['count'], r['errors'], r['total_ns']) for k, r in ours.items()}, 'syscalls: by process: the same of that process',
      [r for r in got if r['pid'] == int(out)])
bad = [r for r in ours.values() if r['count'] > r['unfinished'] and
       not r['min_ns'] <= r['p50_ns'] <= r['p95_ns'] <= r['p99_ns'] <= r['max_ns']]
check(not bad, 'syscalls: shortest <= median <= 95 % <= 99 % <= longest', bad)

# ---- files and io: known bytes ----
trace, out = python('files', r'''
import mmap, os, sys
path = sys.argv[0] + '.data'
fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
block = mmap.mmap(-1, 65536)
for i in range(8):
    os.pwrite(fd, block, i * 65536)
for i in range(5):
    os.preadv(fd, [block], i * 65536)
os.close(fd)
print(path, os.getpid())
''')
path, pid = out.split()
mine = [r for r in rows(trace, 'files') if r['file'] == path]
check(len(mine) == 1 and (mine[0]['written_bytes'], mine[0]['writes'], mine[0]['read_bytes'], mine[0]['reads']) ==
      (8 * 65536, 8, 5 * 65536, 5), 'files: bytes and calls of a file are what was done', mine)
if mine:
    check(mine[0]['disk_ns'] > 0 and mine[0]['disk_ns'] <= mine[0]['blocked_ns'] <= mine[0]['total_ns'],
          'files: waiting for the disk is part of the waiting, that of the time in calls', mine)
by = {r['op']: r for r in rows(trace, 'io', '--by=process') if '(%s)' % pid in r['submitter']}
check(by.get('read', {}).get('bytes', 0) >= 5 * 65536, 'io: bytes read from the disk directly', by)
check(by.get('write', {}).get('bytes', 0) >= 8 * 65536, 'io: bytes written to the disk directly', by)
named = {r['op']: r for r in rows(trace, 'io', '--by=file') if r['file'] == path}
check(all(named.get(op, {}).get('sectors', 0) * 512 == named.get(op, {}).get('bytes') == n * 65536 for op, n in (('read', 5), ('write', 8))),
      'io: by file: what was read and written of it', named)
hist, devs = rows(trace, 'io', '--by=latency'), rows(trace, 'io')
check(sum(r['count'] for r in hist) == sum(r['count'] - r['partial'] for r in devs), 'io: the histogram has every request',
      (hist, devs))

# ---- calls that move bytes from file to file, from a cold one each; and a cold file that is only mapped ----
trace, out = python('moved', r"""
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def make(name):
    fd = os.open('%s.%s' % (sys.argv[0], name), os.O_CREAT | os.O_RDWR, 0o600)
    os.write(fd, b'x' * (4 << 20))
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return fd
sent, copied, spliced, mapped = map(make, ('sent', 'copied', 'spliced', 'mapped'))
to = os.open(sys.argv[0] + '.to', os.O_CREAT | os.O_RDWR, 0o600)
n = [os.sendfile(to, sent, 0, 1000000), os.copy_file_range(copied, to, 500000, 0, 1000000)]
r, w = os.pipe()
n.append(os.splice(spliced, w, 50000, offset_src=0))
n.append(os.splice(r, to, 50000, offset_dst=2000000))
n.append(os.copy_file_range(to, to, 4096, 0, 3000000))
m = mmap.mmap(mapped, 0, prot=mmap.PROT_READ)
m.madvise(mmap.MADV_RANDOM)
for page in (700, 3, 500, 90):
    m[page * 4096]
print(sys.argv[0], os.getpid(), *n)
""")
path, pid, sent, copied, spliced, taken, own = [int(x) if x.isdigit() else x for x in out.split()]
files = {r['file'][len(path) + 1:]: r for r in rows(trace, 'files') if r['file'].startswith(path + '.')}
moved = {name: (r['read_bytes'], r['reads'], r['written_bytes'], r['writes']) for name, r in files.items()}
made = 4 << 20
check(moved.get('sent') == (sent, 1, made, 1) and moved.get('copied') == (copied, 1, made, 1) and moved.get('spliced') == (spliced, 1, made, 1) and
      moved.get('to') == (own, 1, sent + copied + taken + own, 4), 'files: sendfile, splice and copy_file_range read one file and write another', (moved, out))
whole = [r for r in rows(trace, 'files', '--by=process') if r['pid'] == pid]
check(len(whole) == 1 and whole[0]['written_bytes'] - 4 * made - len(out) == sent + copied + spliced + taken + own,
      'files: by process each counts once', (whole, out))
asked = {r['file'][len(path) + 1:]: r for r in rows(trace, 'io', '--by=file') if r['file'].startswith(path + '.') and r['op'] == 'read'}
check('to' not in asked and {'sent', 'copied', 'spliced'} <= set(asked) and asked.get('mapped', {}).get('bytes') == 4 * 4096 and
      asked['mapped']['count'] == 4, 'io: what they read, and what page faults read, is of the file that it was read from', list(asked.values()))

# ---- requests that are merged: adjacent ones, asked for together, on a device that is nobody else's. Judge: the kernel's own books ----
MERGE = r"""
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209
fd = os.open(DEVICE, os.O_RDWR | os.O_DIRECT)
context, pages = ctypes.c_ulong(0), mmap.mmap(-1, 16 * 4096)
at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
def call(*args):
    n = libc.syscall(*args)
    if n < 0:
        raise OSError(ctypes.get_errno(), 'system call %d' % args[0])
    return n
def together(write, begin, order):
    each = [ctypes.create_string_buffer(struct.pack('<QIIHhIQQqQII', 0, 0, 0, write, 0, fd, at + i * 4096, 4096, begin + i * 4096, 0, 0, 0)) for i in order]
    if call(IO_SUBMIT, context, 16, (ctypes.c_void_p * 16)(*map(ctypes.addressof, each))) != 16:
        raise OSError('not all of them')
    call(IO_GETEVENTS, context, 16, 16, ctypes.create_string_buffer(32 * 16), None)
def books():
    return [int(x) for x in open('/sys/class/block/%s/stat' % os.path.basename(DEVICE)).read().split()][:7]
call(IO_SETUP, 64, ctypes.byref(context))
before = books()
for i in range(8):
    together(1, i * 65536, range(16))
    together(0, i * 65536, reversed(range(16)))
print(os.getpid(), *[b - a for a, b in zip(before, books())])
"""
image = os.path.join(TMP, 'image')
subprocess.run(['truncate', '-s', '16M', image], check=True)
p = subprocess.run(['losetup', '-f', '--show', image], stdout=subprocess.PIPE, stderr=subprocess.PIPE) if os.uname().machine == 'x86_64' else None
device = p.stdout.decode().strip() if p and not p.returncode else None
if device:
    trace, out = python('merge', MERGE.replace('DEVICE', repr(device)))
    subprocess.run(['losetup', '-d', device])
    pid, reads, reads_merged, read_sectors, _, writes, writes_merged, written_sectors = map(int, out.split())
    # The loop device's own reading of a partition table is no request of the program's.
    mine = {r['op']: (r['count'], r['merged'], r['sectors']) for r in rows(trace, 'io') if r['device'] == os.path.basename(device)}
    check(mine == {'read': (reads, reads_merged, read_sectors), 'write': (writes, writes_merged, written_sectors)} and reads_merged >= 100 and writes_merged >= 100,
          "io: requests, merged ones and sectors of a device are those in the kernel's books", (mine, out))
    by = {r['op']: r['merged'] for r in rows(trace, 'io', '--by=process') if '(%d)' % pid in r['submitter']}
    check((by.get('read'), by.get('write')) == (reads_merged, writes_merged), 'io: and are of the program that asked for them', by)
else:
    print('# no loop device: merged requests are not tested')

# ---- the page cache: what mincore says of each page just before it is read; told not to read ahead ----
trace, out = python('cached', r'''
import ctypes, mmap, os, random, sys
path = sys.argv[0] + '.data'
size, page = 4 << 20, 4096
fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
os.write(fd, b'x' * size)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
m = mmap.mmap(fd, size, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_PRIVATE)
libc = ctypes.CDLL(None, use_errno=True)
vec = (ctypes.c_ubyte * 1)()
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
cached = missed = 0
for p in random.sample(range(0, size // page, 16), 40) * 2 + [3] * 20:
    if libc.mincore(ctypes.c_void_p(at + p * page), ctypes.c_size_t(page), vec):
        raise OSError(ctypes.get_errno())
    there = vec[0] & 1
    os.pread(fd, page, p * page)
    if there:
        cached += page
    else:
        missed += page
print(path, os.getpid(), cached, missed)
''')
path, pid, cached, missed = out.split()
mine = [r for r in rows(trace, 'files') if r['file'] == path]
check(len(mine) == 1 and int(missed) >= 30 * 4096 and (mine[0]['cached_bytes'], mine[0]['read_bytes']) == (int(cached), int(cached) + int(missed)),
      'files: what was read from the page cache is what mincore said', (mine, out))
check(mine and 0 < mine[0]['cached_ns'] < mine[0]['total_ns'] - mine[0]['disk_ns'], 'files: and that took a part of the time', mine)
whole = [r for r in rows(trace, 'files', '--by=process') if r['pid'] == int(pid)]
check(len(whole) == 1 and whole[0]['read_bytes'] >= int(cached) + int(missed) and whole[0]['disk_ns'] >= mine[0]['disk_ns'] > 0,
      'files: by process: that much and what the interpreter reads', whole)

# ---- faults: pages of a file in a known order ----
trace, out = python('faults', r'''
import mmap, os, random, sys
path = sys.argv[0] + '.data'
fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
os.write(fd, b'x' * 4096 * 4096)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
m = mmap.mmap(fd, 4096 * 4096, prot=mmap.PROT_READ)
m.madvise(mmap.MADV_RANDOM)
order = random.sample(range(0, 4096, 64), 40)
for p in order:
    m[p * 4096]
print(path)
print(*order)
''')
path, order = out.splitlines()
want = [int(x) * 4096 for x in order.split()]
mine = [r for r in rows(trace, 'faults') if r['file'] == path]
check([r['offset_bytes'] for r in mine] == want, 'faults: the pages of the file in the order in which they were touched',
      ([r['offset_bytes'] for r in mine][:10], want[:10]))
check(mine and sum(r['major'] == 1 for r in mine) >= 0.9 * len(mine), 'faults: read from the disk, so major',
      [r['major'] for r in mine])
whole = [r for r in rows(trace, 'faults', '--by=file') if r['file'] == path]
check(whole and whole[0]['pattern'] == 'random' and whole[0]['count'] == len(want), 'faults: by file: a random pattern', whole)

check(whole and whole[0]['read_bytes'] == 4096 * whole[0]['major'] == sum(r['read_bytes'] for r in mine),
      'faults: told not to read ahead, each read its own page', (whole, [r['read_bytes'] for r in mine]))

# ---- patterns: of a file in the page cache, perhaps in huge pages, and of one that is not ----
trace, out = python('patterns', r'''
import mmap, os, random, sys
def touch(name, cached, pages, advice):
    path = '%s.%s' % (sys.argv[0], name)
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    size = 4096 * (max(pages) + 64)
    os.write(fd, b'x' * size)
    os.fsync(fd)
    if not cached:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    m = mmap.mmap(fd, size, prot=mmap.PROT_READ)
    if advice is not None:
        m.madvise(advice)
    for p in pages:
        m[p * 4096]
    print(path, name.split('-')[0])
for cached in (True, False):
    touch('sequential-%d' % cached, cached, range(4096), None)
    touch('strided-%d-huge' % cached, cached, range(0, 9216, 1536), None)
touch('sequential-alone', False, range(100), mmap.MADV_RANDOM)
touch('strided-back', False, range(99, -1, -1), mmap.MADV_RANDOM)
for step in (2, 8, 32, 64, 96):
    touch('strided-%d' % step, False, range(0, 32 * step, step), mmap.MADV_RANDOM)
for step in (32, 64, 96):
    touch('strided-%d-ahead' % step, False, range(0, 32 * step, step), None)
for cached in (True, False):
    touch('random-%d' % cached, cached, random.sample(range(0, 8192, 48), 60), None)
''')
by = {r['file']: r for r in rows(trace, 'faults', '--by=file')}
for path, pattern in (l.split() for l in out.splitlines()):
    check(by.get(path, {}).get('pattern') == pattern, 'faults: %s is %s' % (os.path.basename(path), pattern), by.get(path))

# ---- read ahead: what is in the page cache afterwards was read by somebody's fault. Of it the program came to the pages
# that it touched and, for the kernel maps 64 KB with each, to those around them. Every touch is a fault, for pages that
# are 64 apart share no 64 KB; the kernel's own count says which of these read from the disk. ----
AHEAD = r"""
import ctypes, mmap, os, random, resource, sys, time
path = sys.argv[0] + '.data'
size = 8 << 20
fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
os.write(fd, b'x' * size)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
m = mmap.mmap(fd, size, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_PRIVATE)
libc = ctypes.CDLL(None, use_errno=True)
vec = (ctypes.c_ubyte * (size // 4096))()
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
seen = set()
def cached():
    if libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), vec):
        raise OSError(ctypes.get_errno())
    now = {p for p in range(size // 4096) if vec[p] & 1}
    seen.update(now)
    return now
def around(p):
    first = p - (at // 4096 + p) % 16
    return set(range(max(first, 0), first + 16))
def settled():      # what is read ahead is there when it has been read, on a busy disk much later
    there, same = cached(), 0
    while same < 10:
        time.sleep(0.05)
        now = cached()
        there, same = now, same + 1 if now == there else 0
    return there
mapped = set()
def touch(pages):
    major = 0
    for p in pages:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        m[p * 4096]
        more = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
        # Of those around it the kernel maps what is there, not what a later fault brings.
        mapped.update(around(p) & (settled() if more else cached()))
        major += more
    return major
before = cached()
pages = PAGES
touch([])
major = touch(pages)
there = settled()
print(path, len(before), len(seen - before), len(pages), major, len(mapped), len(seen - there))
"""


def ahead(name, pages):
    """(trace, what it printed, its numbers). The machine may take pages away meanwhile, whether it needs memory or, as some
    virtual machines are told to, because nobody looked at them for a while; then it is done again."""
    for attempt in range(5):
        trace, out = python(name, AHEAD.replace('PAGES', pages))
        path, *counts, gone = out.split()
        if gone == '0':
            break
        print('# %s: %s pages were taken away' % (name, gone))
    return trace, out, path, *map(int, counts)


trace, out, path, before, cached, touched, major, mapped = ahead('ahead', 'range(0, 256)')
whole = [r for r in rows(trace, 'faults', '--by=file') if r['file'] == path]
check(whole and whole[0]['read_bytes'] == cached * 4096 > 0 and whole[0]['major'] < 64,
      'faults: in order, what they read is what the kernel has of the file: mincore', (whole, cached))
if whole:
    w = whole[0]
    check(w['ahead_bytes'] == (cached - w['major']) * 4096 and w['hit_bytes'] == (mapped - w['major']) * 4096 and
          w['asked_bytes'] == (w['count'] - w['major']) * 4096,
          'faults: in order, what was read ahead, and what of it came into use', (w, out))
for attempt in range(3):    # the interpreter may have read something of its own from the disk meanwhile
    trace, out, path, before, cached, touched, major, mapped = ahead('hits', 'random.sample(range(5, 2030, 64), 25)')
    w = [r for r in rows(trace, 'faults', '--by=file') if r['file'] == path][0]
    if w['major'] == major:
        break
check(before == 0 and w['count'] == touched and w['major'] == major, 'faults: each touched page is one, as the kernel counts', (w, out))
check(w['asked_bytes'] == (touched - major) * 4096, 'faults: pages read ahead and asked for later are the touched ones', (w, out))
check(w['hit_bytes'] == (mapped - major) * 4096, 'faults: and with each of them those around it were mapped', (w, out))
check(w['ahead_bytes'] == (cached - major) * 4096, 'faults: all others were read ahead for nothing', (w, out))
each = [r for r in rows(trace, 'faults') if r['file'] == path]
check(all(sum(r[k] for r in each) == w[k] for k in ('ahead_bytes', 'hit_bytes', 'asked_bytes')), 'faults: each fault has its part', each[:3])

# ---- faults in which the kernel came to the program's memory: they are faults as the kernel's book of the process has them ----
trace, out = python('kernel-faults', r"""
import mmap, os, resource, sys, time
path = sys.argv[0] + '.data'
open(path, 'wb').write(b'm' * (1 << 20))
mapped = os.open(path, os.O_RDONLY)
zero, to, pages = os.open('/dev/zero', os.O_RDONLY), os.open(path + '.to', os.O_CREAT | os.O_WRONLY), mmap.mmap(-1, 400 << 10, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
source = mmap.mmap(mapped, 0, prot=mmap.PROT_READ)
begin, before = time.monotonic_ns(), resource.getrusage(resource.RUSAGE_SELF)
os.readv(zero, [pages])     # memory that nobody has touched
os.write(to, source)        # a file through its mapping
after, end = resource.getrusage(resource.RUSAGE_SELF), time.monotonic_ns()
print(begin, end, after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt, path)
""")
begin, end, n, path = out.split()
offset = json.loads(subprocess.run([W, 'info', '--json', '-q', trace], stdout=subprocess.PIPE).stdout)['clock']['offset_ns']
mine = rows(trace, 'faults', '--from', str(int(begin) + offset), '--to', str(int(end) + offset))
check(abs(len(mine) - int(n)) <= 2 and int(n) >= 110, 'faults: as many as the kernel counts of the process, with those in its calls', (n, len(mine)))
check(sum(r['kernel'] and not r['file'] for r in mine) >= 99 and all(r['dur_ns'] is not None and r['major'] is not None for r in mine),
      'faults: of a read into fresh memory one a page', [(r['kernel'], r['file'], r['dur_ns']) for r in mine[:5]])
seen = sorted(r['offset_bytes'] for r in mine if r['kernel'] and r['file'] == path)
check(len(seen) >= 14 and seen[-1] >= 960 << 10 and all(b - a <= 64 << 10 for a, b in zip(seen, seen[1:])),
      'faults: of a write from a mapped file which pages, in steps of no more than 64 KiB', seen)

# ---- net: known bytes each way; whose end is which is the same in every part of the trace ----
NET = r"""
import os, socket, time
s = socket.socket(FAMILY); s.bind(('ADDRESS', 0)); s.listen(1)
if not os.fork():
    c = socket.create_connection(s.getsockname()[:2])
    for i in range(20):
        c.sendall(b'q' * 100)
        got = 0
        while got < 3000:
            got += len(c.recv(3000 - got))
    c.close()
    os._exit(0)
a, _ = s.accept()
for i in range(20):
    a.recv(100)
    time.sleep(0.002)
    a.sendall(b'a' * 3000)
a.recv(1)
os.wait()
print(s.getsockname()[1], a.getpeername()[1])
"""
for family, address, written in (('socket.AF_INET', '127.0.0.1', '127.0.0.1'), ('socket.AF_INET6', '::1', '[::1]')):
    trace, out = python('net', NET.replace('FAMILY', family).replace('ADDRESS', address))
    ends = ['%s:%s' % (written, port) for port in out.split()]
    mine = [r for r in rows(trace, 'net') if ends[0] in (r['local'], r['remote'])]
    check([[r['remote'], r['local']] for r in mine] == [ends], 'net: %s: the client is the one that opened it' % written, (ends, mine))
    check(len(mine) == 1 and (mine[0]['sent_bytes'], mine[0]['received_bytes'], mine[0]['retransmits']) == (2000, 60000, 0),
          'net: bytes of the connection each way, none again', mine)
    check(mine and mine[0]['blocked_ns'] > 20 * 1.8e6, 'net: the client waited for the answers', mine)
    at = [mine[0]['ts_ns'] + i * mine[0]['dur_ns'] // 8 + (i == 8) for i in range(9)]
    parts = [[r for r in rows(trace, 'net', '--from', str(a), '--to', str(b)) if ends[0] in (r['local'], r['remote'])] for a, b in zip(at, at[1:])]
    check(all([r['remote'], r['local']] == ends for p in parts for r in p) and
          [sum(r[k] for p in parts for r in p) for k in ('sent_bytes', 'received_bytes')] == [2000, 60000],
          'net: so it is in each eighth of that time, and the bytes add up', parts)

# ---- connections that end: one whose client goes first keeps its name, three over the same two ports are three, and a number
# that a waiting close has freed is the next file's ----
trace, out = python('ends', r"""
import ctypes, os, socket, struct, sys, threading
listener = socket.create_server(('127.0.0.1', 0))
to = listener.getsockname()
c = socket.create_connection(to)
a, _ = listener.accept()
first = c.getsockname()[1]
c.sendall(b'f' * 7)
c.shutdown(socket.SHUT_WR)
while a.recv(10):
    pass
a.close()
while c.recv(10):
    pass
try:
    c.getsockname(), c.shutdown(socket.SHUT_RDWR)
except OSError:
    pass
c.close()
port = 0
for i in range(3):
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))      # ends with a reset
    c.bind(('127.0.0.1', port))
    port = c.getsockname()[1]
    c.connect(to)
    a, _ = listener.accept()
    c.sendall(b's' * 100 * (i + 1))
    while len(a.recv(1000, socket.MSG_PEEK)) < 100 * (i + 1):
        pass
    c.close()
    a.close()
path = sys.argv[0] + '.data'
open(path, 'wb').write(b'd' * 120000)
c = socket.create_connection(to)
a, _ = listener.accept()
c.setblocking(False)
try:
    while True:
        c.send(b'x' * 100000)
except BlockingIOError:
    pass
c.setblocking(True)
c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 1))      # close waits a second
number = c.detach()
t = threading.Thread(target=os.close, args=(number,))
t.start()
again = -1
while again != number:
    again = os.open(path, os.O_RDONLY)
waits = t.is_alive()
for i in range(5):
    os.read(again, 10000)
t.join()
for i in range(7):
    os.read(again, 10000)
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
class Vec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_char_p), ('len', ctypes.c_size_t)]
class Msg(ctypes.Structure):
    _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint), ('vec', ctypes.POINTER(Vec)), ('vecs', ctypes.c_size_t),
                ('control', ctypes.c_void_p), ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int), ('len', ctypes.c_uint)]
many = (Msg * 2)(*[Msg(vec=ctypes.pointer(Vec(b'm' * 50, 50)), vecs=1) for i in range(2)])
sent = ctypes.CDLL(None).sendmmsg(one.fileno(), many, 2, 0)
print(to[1], first, port, path, int(waits), sent)
""")
to, first, port, path, waits, sent = out.split()
by = {}
for r in rows(trace, 'files'):
    by.setdefault(r['file'], []).append(r)
check('127.0.0.1:%s -> 127.0.0.1:%s' % (first, to) in by, 'files: a connection whose client went first has its port', [f for f in by if first in f or to in f])
mine = [(r['packets'] > 4, r['sent_bytes'], r['received_bytes']) for r in sorted(rows(trace, 'net'), key=lambda r: r['ts_ns'])
        if r['local'] == '127.0.0.1:' + port]
check(mine == [(True, 100, 0), (True, 200, 0), (True, 300, 0)], 'net: three connections over the same two ports', mine)
data = by.get(path, [{}])[0]
check(waits == '1' and (data.get('read_bytes'), data.get('reads')) == (120000, 12),
      'files: what is opened under a number whose close waits is read to its end', (waits, data))
pair = by.get('unix', [])
check(sent == '2' and any(r['written_bytes'] is None for r in pair),
      'files: how much sendmmsg wrote is not known', (sent, pair))

# ---- procs: who started whom ----
trace, out = record('procs', ['sh', '-c', 'sh -c "sleep 0.01; echo \\$\\$"; echo $$'])
inner, outer = (int(x) for x in out.split())
procs = {r['pid']: r for r in rows(trace, 'procs')}
sleeps = [r for r in procs.values() if r['comm'] == 'sleep' and r['parent_pid'] == inner]
check(procs.get(inner, {}).get('parent_pid') == outer, 'procs: the inner shell is a child of the outer one', procs.get(inner))
check(len(sleeps) == 1 and sleeps[0]['depth'] == procs[inner]['depth'] + 1 and sleeps[0]['forked'] and sleeps[0]['exited'] and
      9e6 < sleeps[0]['end_ns'] - sleeps[0]['start_ns'] < 1e9, 'procs: sleep below it, from its fork to its exit', sleeps)

# ---- sched: two on one CPU wait for one another ----
trace, out = python('sched', r'''
import os, time
os.sched_setaffinity(0, {1})
pids = []
begin = time.monotonic_ns()
for i in range(2):
    pid = os.fork()
    if not pid:
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            pass
        os._exit(0)
    pids.append(pid)
for p in pids:
    os.waitpid(p, 0)
print(time.monotonic_ns() - begin, *pids)
''')
sched_trace = trace
wall, *pids = [int(x) for x in out.split()]
sched = {r['tid']: r for r in rows(trace, 'sched')}
for p in pids:
    r = sched.get(p, {})
    check(r and r['delay_ns'] > 0.1e9 and 0.36e9 < r['delay_ns'] + r['running_ns'] < wall and
          r['p50_ns'] <= r['p99_ns'] <= r['max_ns'] <= r['delay_ns'], 'sched: each ran or waited for the CPU, and nothing else', r)
pairs = {(r['by_tid'], r['of_tid']): r for r in rows(trace, 'sched', '--by=pairs')}
lost = {p: sum(r['count'] for k, r in pairs.items() if k[1] == p) for p in pids}
check(all(lost[p] == sched[p]['preempted'] for p in pids if p in sched), 'sched: the pairs have every preemption',
      (lost, [sched.get(p) for p in pids]))

# ---- irq: a timer's interrupts are there, within the wall time ----
irq = rows(trace, 'irq')
check(any(r['kind'] == 'timer' and r['count'] > 10 for r in irq), 'irq: timers', [r['name'] for r in irq])
check(all(r['total_ns'] >= r['max_ns'] >= r['p50_ns'] >= 0 and r['count'] > 0 for r in irq), 'irq: sums hold', irq)

# ---- locks: a holder that sleeps ----
trace, out = python('locks', r'''
import threading, time
l = threading.Lock()
def hold():
    with l:
        time.sleep(0.3)
t = threading.Thread(target=hold)
t.start()
time.sleep(0.005)
with l:
    print(threading.get_native_id(), t.native_id)
t.join()
''')
waiter, holder = out.split()
mine = [r for r in rows(trace, 'locks') if '(%s)' % waiter in r['waiter'] and r['kind'] == 'futex']
check(mine and 100e6 < mine[0]['total_ns'] < 400e6 and '(%s)' % holder in mine[0]['holder'],
      'locks: the waiter, for how long, and who held it', mine)

soft = [r for r in irq if r['kind'] == 'softirq']
check(soft and sum(r['raised'] for r in soft) >= 0.95 * sum(r['count'] for r in soft) and
      all(r['raised'] <= r['count'] and 0 <= r['delay_avg_ns'] <= r['delay_max_ns'] and r['delay_p99_ns'] <= r['delay_max_ns']
          for r in soft if r['raised']), 'irq: of nearly all softirqs it is known when they were raised', soft)
check(all(r['raised'] == 0 for r in irq if r['kind'] != 'softirq'), 'irq: of nothing else')
victims = rows(sched_trace, 'irq', '--by=thread')
outer = sum(r['total_ns'] for r in irq)
check(victims and all(r['total_ns'] == r['hard_ns'] + r['soft_ns'] + r['timer_ns'] + r['other_ns'] and
                      r['max_ns'] <= r['total_ns'] for r in victims) and sum(r['total_ns'] for r in victims) <= outer,
      'irq: what it took from threads sums, and is not more than it took', (victims[:3], outer))

# ---- locks: where the program waited ----
program = os.path.join(TMP, 'lock')
open(program + '.c', 'w').write(r"""
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *hold(void *p) { pthread_mutex_lock(&m); write(*(int *)p, "x", 1); usleep(40000); pthread_mutex_unlock(&m); return NULL; }
__attribute__((noinline)) void waits_here(void) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); __asm__ volatile(""); }
int main(void)
{
	pthread_t t;
	int fd[2];
	char c;
	pipe(fd);
	pthread_create(&t, NULL, hold, &fd[1]);
	read(fd[0], &c, 1);
	waits_here();
	pthread_join(t, NULL);
	return 0;
}
""")
subprocess.run(['gcc', '-O1', '-w', '-fno-omit-frame-pointer', '-o', program, program + '.c', '-pthread'], check=True)
trace, out = record('stacks', [program], '--stacks')
mine = [r for r in rows(trace, 'locks') if r['waiter'].startswith('lock (')]
check(mine and 'waits_here < main' in mine[0]['stack'], 'locks: with --stacks, where the program waited', mine)
waits = json.loads(subprocess.run([W, 'sql', '--json', '-q', trace,
    'SELECT cause, io_wait, s.state, blocked_function FROM thread_state s JOIN thread t USING (utid) JOIN state b ON b.id * 2 = s.id '
    "WHERE t.name = 'lock' AND b.state = 'blocked' AND cause IN ('futex', 'timer', 'disk')"], stdout=subprocess.PIPE, check=True).stdout)['rows']
want = {'futex': ('futex', 0), 'timer': ('nanosleep', 0), 'disk': ('', 1)}
check(waits and {r['cause'] for r in waits} >= {'futex', 'timer'} and
      all(want[r['cause']][0] in (r['blocked_function'] or '') and r['io_wait'] == want[r['cause']][1] for r in waits),
      'sql: thread_state has the function of the kernel in which a wait was, and whether it was for a disk', waits)

subprocess.run(['rm', '-rf', TMP])
sys.exit(tap.end())
