#!/usr/bin/env python3
"""Oracle: perf script. Our reader gives the same events from perf.data, one by one.

Two runs of perf judge each file: its Python scripting gives every sample with its fields as numbers and
strings; its text with all --show-*-events gives the side records, and the order of everything. The files
are those of the shared traces and, where perf may record here, some that this test records itself: a
software event with call chains, pipe mode, zstd, two events of one tracepoint's name, directories of --threads.
TAP.

perf gives a record that came rounds late when it comes, behind later ones; we wait longer and give it where its
stamp says. So perf's events are put in order of time (those of equal stamps stay as they are), and ours have to be.
In a directory of --threads, where two CPUs' files have events of one stamp, perf's order is that in which it happens to
read the files, and nobody knows the true one: there both are put in order of the CPU.

A perf that fails on a file (on a symbol of a BPF program that others unloaded meanwhile) is no judge of it: what this
test recorded is recorded again then.

Usage: perfdata.py [DUMP [FILE...]]   DUMP is the built perfdata-dump, by default that of $WW_BUILD
"""
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.environ.get('WW_TRACES') or os.path.join(SRC, '../shared/traces')

SCRIPT = r'''
import json
def plain(v):
    if isinstance(v, (bytes, bytearray)):
        return v.hex()
    if isinstance(v, list):
        return [plain(x) for x in v]
    return v
def out(name, s, fields):
    sample = s['sample']
    chain = [c['ip'] for c in s['callchain']]
    f = {k: plain(v) for k, v in fields.items() if not k.startswith('common_')}
    print('EV ' + json.dumps([name, sample['time'], sample['cpu'], sample['pid'], sample['tid'], sample['ip'],
                              sample['period'], chain, f], ensure_ascii=True))
def trace_unhandled(name, context, fields, s):
    out(s['ev_name'], s, fields)
def process_event(s):
    out(s['ev_name'], s, {})
'''
TEXT = re.compile(r'^ *(.*?) +(-?\d+)/(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +(.*?) *$')
CONTEXT_MARK = 2**64 - 4096


class PerfFailed(Exception):
    pass


def perf(path, *args):
    """The lines that `perf script` prints of the file. Files of others may be damaged: they are judged by what it prints."""
    env = dict(os.environ, PERF_CONFIG='/dev/null', LC_ALL='C', PYTHONIOENCODING='latin-1')
    r = subprocess.run(['perf', 'script', '-i', path, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                       env=env)
    if r.returncode and not os.path.abspath(path).startswith(os.path.abspath(TRACES)):
        raise PerfFailed('perf script: exit %d: %s' % (r.returncode, r.stderr.decode('latin-1').strip()[:200]))
    return r.stdout.decode('latin-1').splitlines()


def short(name, names):
    """Our class name: without the system, unless two systems have the name."""
    tail = name.split(':', 1)[1] if ':' in name else name
    return name if len({n for n in names if n.endswith(':' + tail)}) > 1 else tail


def oracle_samples(path, tmp):
    script = os.path.join(tmp, 'dump.py')
    with open(script, 'w') as f:
        f.write(SCRIPT)
    return [json.loads(line[3:]) for line in perf(path, '-s', script) if line.startswith('EV ')]


def oracle_order(path):
    """[(what, ts, cpu, pid, tid)]: 'sched:sched_switch' or the text of a record."""
    lines = perf(path, '--ns', '-F', 'comm,pid,tid,time,cpu,event', '--show-task-events',
                 '--show-mmap-events', '--show-switch-events', '--show-lost-events', '--show-namespace-events',
                 '--show-bpf-events', '--show-cgroup-events')
    out = []
    for line in lines:
        m = TEXT.match(line)
        if m:
            out.append((m.group(7).rstrip(':'), int(m.group(5)) * 10**9 + int(m.group(6)), int(m.group(4)),
                        int(m.group(2)), int(m.group(3))))
    return out


def record_text(e):
    """How perf prints one of our side records; None for one that it has no option to show."""
    f, name = e.get('f', {}), e['name']
    if name == 'GAP':
        return 'PERF_RECORD_LOST lost %d' % e['lost']
    if name == 'perf_comm':
        return 'PERF_RECORD_COMM%s: %s:%d/%d' % (' exec' if f['exec'] else '', f['comm'], f['pid'], f['tid'])
    if name in ('perf_fork', 'perf_exit'):
        return 'PERF_RECORD_%s(%d:%d):(%d:%d)' % (name[5:].upper(), f['pid'], f['tid'], f['ppid'], f['ptid'])
    if name == 'perf_mmap':
        return 'PERF_RECORD_MMAP %d/%d: [%s(%s) @ %s]: ' % (f['pid'], f['tid'], hex(f['addr']), hex(f['len']),
                                                           hex(f['pgoff']) if f['pgoff'] else '0') + f['filename']
    if name == 'perf_mmap2':
        p = f['prot']
        prot = ''.join(c if p & bit else '-' for c, bit in (('r', 1), ('w', 2), ('x', 4))) + \
            ('s' if f['flags'] & 1 else 'p')
        where = '%02x:%02x %d ' % (f['maj'], f['min'], f['ino']) if 'ino' in f else '<%s>' % f['build_id']
        return 'PERF_RECORD_MMAP2 %d/%d: [%s(%s) @ %s %s' % (f['pid'], f['tid'], hex(f['addr']), hex(f['len']),
            hex(f['pgoff']) if f['pgoff'] else '0', where), prot + ' ' + f['filename']
    if name == 'perf_switch':
        way = 'OUT' if f['out'] else 'IN'
        if 'next_prev_tid' not in f:
            return 'PERF_RECORD_SWITCH ' + way
        return 'PERF_RECORD_SWITCH_CPU_WIDE %s %s %s pid/tid: %d/%d' % (way, 'preempt' if f['preempt'] else '',
            'next' if f['out'] else 'prev', f['next_prev_pid'], f['next_prev_tid'])
    if name == 'perf_namespaces':
        return ('PERF_RECORD_NAMESPACES %d/%d - nr_namespaces: %d' % (f['pid'], f['tid'], f['nr_namespaces']), '')
    if name == 'perf_ksymbol':
        return ('PERF_RECORD_KSYMBOL addr %x len %d ' % (f['addr'], f['len']), f['name'])
    if name == 'perf_bpf_event':
        return 'PERF_RECORD_BPF_EVENT type %d, flags %d, id %d' % (f['type'], f['flags'], f['id'])
    if name == 'perf_cgroup':
        return 'PERF_RECORD_CGROUP cgroup: %d %s' % (f['id'], f['path'])
    return None


def same_text(ours, theirs):
    if isinstance(ours, tuple):
        head, tail = (re.sub(' +', ' ', x).strip() for x in ours)
        theirs = re.sub(' +', ' ', theirs)
        return theirs.startswith(head) and theirs.endswith(tail)
    if ours.startswith('PERF_RECORD_MMAP '): # r or x stands before the name, from a bit of misc
        theirs = re.sub(r'\]: [rx] ', ']: ', theirs)
    return re.sub(' +', ' ', ours).strip() == re.sub(' +', ' ', theirs).strip()


def same_value(a, b):
    if a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):  # perf's Python drops the sign of some
        return any((a - b) % (1 << bits) == 0 for bits in (8, 16, 32, 64)) and (a < 0 or b < 0)
    if isinstance(a, str) and isinstance(b, str):
        # a char array with something behind its NUL comes as hex from perf
        return a.rstrip('\0') == b.rstrip('\0') or \
            re.fullmatch('([0-9a-f]{2})+', b) and bytes.fromhex(b).split(b'\0')[0] == a.encode()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b))
    if isinstance(a, list) and isinstance(b, str):  # perf gives arrays as their bytes
        size = len(b) // 2 // len(a) if a else 1
        return ''.join((x & ((1 << 8 * size) - 1)).to_bytes(size, 'little').hex() for x in a) == b
    return False


def sample_difference(ours, theirs, names):
    name, ts, cpu, pid, tid, ip, period, chain, fields = theirs
    f, ctx = ours['f'], ours['f']['ctx']
    more = {**ctx, **{k: v for k, v in f.items() if k != 'ctx'}} if not fields else ctx
    for what, a, b in (('name', ours['name'], short(name, names) if fields else name), ('time', ours['ts'], ts),
                       ('cpu', ours['cpu'], cpu), ('pid', ctx['pid'] % 2**32, pid % 2**32), ('tid', ctx['tid'] % 2**32, tid % 2**32),
                       ('ip', more.get('ip', ip), ip), ('period', more.get('period', period), period)):
        if a != b:
            return '%s: %r, perf has %r' % (what, a, b)
    mine = [x for x in more.get('callchain', []) if x < CONTEXT_MARK]
    if chain and [x for x in chain if x < CONTEXT_MARK] != mine:
        return 'callchain: %r, perf has %r' % (mine, chain)
    for k, v in fields.items():
        if k not in f or not same_value(f[k], v):
            return 'field %s: %r, perf has %r' % (k, f.get(k), v)
    extra = {k for k in f if k != 'ctx'} - set(fields) if fields else set()
    return 'fields that perf has not: %s' % extra if extra else None


def by_time(events, at, cpu=None):
    """In order of time, of equal stamps in that of the CPU if that is asked for; one without a stamp stays behind the one
    before it."""
    keys, last = [], 0
    for e in events:
        last = e[at] or last
        keys.append((last, e[cpu] if cpu is not None else 0))
    return [events[i] for i in sorted(range(len(events)), key=keys.__getitem__)]


def compare_samples(events, theirs):
    ours = [e for e in events if not e['name'].startswith('perf_') and e['name'] != 'GAP']
    names = {t[0] for t in theirs}
    if len(ours) != len(theirs):
        return '%d samples, perf has %d' % (len(ours), len(theirs))
    for i, (a, b) in enumerate(zip(ours, theirs)):
        diff = sample_difference(a, b, names)
        if diff:
            return 'sample %d at offset %d: %s' % (i, a['offset'], diff)
    return None


def compare_order(events, theirs):
    """Everything that perf shows, in its order, with its content."""
    names = {t[0] for t in theirs if not t[0].startswith('PERF_')}
    ours = []
    for e in events:
        record = e['name'].startswith('perf_') or e['name'] == 'GAP'
        if e['name'] == 'GAP' and (e['cpu'] < 0 or not e['lost']):
            continue  # what only the counters at the end know: perf shows no event for it
        text = record_text(e) if record else None
        if not record or text:
            ours.append((e, text))
    if len(ours) != len(theirs):
        return '%d events and records, perf shows %d' % (len(ours), len(theirs))
    last = events[0]['ts'] if events else 0
    for i, ((e, text), (what, ts, cpu, _, _)) in enumerate(zip(ours, theirs)):
        if ts == 0 and e['ts'] != last:
            return 'record %d: %d, but perf gives it no time' % (i, e['ts'])
        if ts and e['ts'] != ts:
            return 'event %d: at %d, perf has %d (%s)' % (i, e['ts'], ts, what)
        if e['cpu'] != cpu:
            return 'event %d: cpu %d, perf has %d' % (i, e['cpu'], cpu)
        if text and not same_text(text, what):
            return 'record %d: %r, perf shows %r' % (i, text, what)
        if not text and e['name'] not in (what, short(what, names)):
            return 'event %d: %s, perf shows %s' % (i, e['name'], what)
        last = e['ts']
    return None


def check(dump, path, tmp, want):
    header = os.path.join(path, 'data') if os.path.isdir(path) else path
    r = subprocess.run([dump, header], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if r.returncode:
        return 'perfdata-dump: ' + r.stderr.decode()
    events = [json.loads(line) for line in r.stdout.decode('utf-8').splitlines()]
    samples, order = oracle_samples(path, tmp), oracle_order(path)
    if len(order) < 10 or (want and not any(want in o[0] for o in order)):
        return 'perf shows no events to compare with'
    if not samples and any(not o[0].startswith('PERF_') for o in order):
        return 'perf script -s gave no samples'
    late = sum(a[1] > b[1] > 0 for a, b in zip(order, order[1:]))
    print('#   %d events, %d with fields, %d in order, of which perf gives %d late' %
          (len(events), len(samples), len(order), late))
    if any(a['ts'] > b['ts'] for a, b in zip(events, events[1:])):
        return 'ours are not in order of time'
    if os.path.isdir(path):
        events = by_time(events, 'ts', 'cpu')
        return compare_samples(events, by_time(samples, 1, 2)) or compare_order(events, by_time(order, 1, 2))
    return compare_samples(events, by_time(samples, 1)) or compare_order(events, by_time(order, 1))


TRIES = 4
RECORDINGS = (  # file, arguments of perf record, what must be among the events
    ('chain', ['-a', '-e', 'cpu-clock', '-F', '500', '-g', '-o'], 'cpu-clock'),
    ('piped', ['-a', '-e', 'cpu-clock', '-F', '500', '-g', '-o'], 'cpu-clock'),     # to a pipe
    ('switches', ['-a', '-z', '--switch-events', '--namespaces', '-e', 'sched:*', '-e', 'cpu-clock', '-o'], 'sched_'),
    ('build ids', ['-a', '--buildid-mmap', '-e', 'sched:sched_process_exec', '-o'], 'sched_process_exec'),
    ('syscalls', ['-e', 'syscalls:sys_enter_openat,syscalls:sys_exit_openat,block:*',
             '-k', 'CLOCK_MONOTONIC', '-o'], 'openat'),
    # a directory, a file for each CPU; without and with compression
    ('threads', ['-a', '--threads=cpu', '-e', 'sched:sched_switch,sched:sched_waking', '-o'], 'sched_'),
    ('threads zstd', ['-a', '-z', '--threads=core', '-e', 'sched:sched_switch', '-o'], 'sched_'),
)


def record(tmp, name, args):
    """The path of a new recording; None: perf cannot make it here."""
    path = os.path.join(tmp, name + '.data')
    subprocess.run(['rm', '-rf', path])
    work = 'i=0; while [ $i -lt 30 ]; do ls / | cat >/dev/null; i=$((i+1)); done; sleep 0.1'
    piped = name == 'piped'
    with open(path if piped else os.devnull, 'wb') as out:
        r = subprocess.run(['perf', 'record', '-m', '64', *args, '-' if piped else path, '--', 'sh', '-c', work],
                           stdout=out, stderr=subprocess.PIPE)
    if r.returncode or not os.path.exists(path):
        print('# cannot record %s here: %s' % (name, r.stderr.decode().strip().splitlines()[:1]))
        return None
    return path


def check_recording(dump, tmp, name, args, want):
    """(path, what is wrong)"""
    for _ in range(TRIES):
        path = record(tmp, name, args)
        try:
            return path, path and check(dump, path, tmp, want)
        except PerfFailed as e:
            print('#   %s: %s' % (name, e))
    return path, 'perf failed on each of %d recordings' % TRIES


def main():
    args = sys.argv[1:] or [os.path.join(os.environ.get('WW_BUILD', 'build'), 'tests/oracle/perfdata-dump')]
    if not os.access(args[0], os.X_OK):
        sys.exit(args[0] + ' is not a program\n' + __doc__)
    try:
        subprocess.run(['perf', '--version'], stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError):
        print('1..0 # SKIP no perf')
        sys.exit(77)
    failed = n = 0
    with tempfile.TemporaryDirectory() as tmp:
        files = [(p, None) for p in args[1:]] or [(p, None) for p in sorted(
            glob.glob(os.path.join(TRACES, 'perf-*/perf.data')) +
            glob.glob(os.path.join(TRACES, 'variants/perf-*.data')))]
        if not files:
            print('ok - the shared traces # SKIP none in ' + TRACES)
        judged = ((p, want, check(args[0], p, tmp, want)) for p, want in files)
        if len(args) == 1:
            own = ((*check_recording(args[0], tmp, name, how, want), want) for name, how, want in RECORDINGS)
            judged = itertools.chain(judged, ((p, want, why) for p, why, want in own if p))
        for path, want, why in judged:
            n += 1
            failed += why is not None
            print('%s %d - %s%s' % ('not ok' if why else 'ok', n, os.path.relpath(path, TRACES) if not want
                                    else os.path.basename(path), ': ' + why if why else ''), flush=True)
    print('1..%d' % n if n else '1..0 # SKIP no traces and perf cannot record')
    sys.exit(1 if failed else 0 if n else 77)


if __name__ == '__main__':
    main()
