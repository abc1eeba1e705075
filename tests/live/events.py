#!/usr/bin/python3
"""What the recorder's events say, held against what the program that caused them knows (live-doings).

The events are read by babeltrace2's own bindings. TAP; exit 77 where nothing can be recorded."""
import json, os, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

BUILD = os.environ.get('WW_BUILD', 'build')
W = os.environ.get('WHYWAIT', os.path.join(BUILD, 'whywait'))
DOINGS = os.path.join(BUILD, 'tests/live/live-doings')
FILES = os.path.join(BUILD, 'tests/tools/files')
tap = Tap()
ok = tap.ok


def plain(f):
    """A babeltrace2 field as Python's own."""
    if isinstance(f, bt2._StructureFieldConst):
        return {k: plain(f[k]) for k in f}
    if isinstance(f, bt2._ArrayFieldConst):
        return [plain(x) for x in f]
    if isinstance(f, bt2._VariantFieldConst):
        return plain(f.selected_option)
    if isinstance(f, bt2._StringFieldConst):
        return str(f)
    return int(f)


def events(trace, names):
    out = []
    for m in bt2.TraceCollectionMessageIterator(trace):
        if type(m) is bt2._EventMessageConst and m.event.name.startswith(names):
            e = {k: plain(v) for k, v in m.event.payload_field.items()}
            e['_'] = m.event.name
            e['cpu'] = int(m.event.packet.context_field['cpu_id'])
            e['ns'] = m.default_clock_snapshot.ns_from_origin
            out.append(e)
    return out


def record(what, *options):
    """(what the program says, the trace's directory); a recording that lost events is made again."""
    for _ in range(4):
        trace = os.path.join(work, what)
        shutil.rmtree(trace, ignore_errors=True)
        p = subprocess.run([W, 'record', '-q', '-o', trace] + list(options) + ['--', DOINGS, what], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        if p.returncode != 3:
            break
    said = [json.loads(l) for l in p.stdout.decode(errors='replace').splitlines()]
    if said and said[-1]['do'] == 'skip':
        return None, trace
    ok(p.returncode == 0 and said and said[-1]['do'] == 'end', '%s: recorded without loss' % what,
       [p.returncode, p.stderr.decode(errors='replace')])
    return said, trace


def by_do(said, *what):
    return [s for s in said if s['do'] in what]


# ---- lists in system calls' events ----

def pairs(fds):
    return [[f['fd'], f['raw_events']] for f in fds]


def bits(data):
    return [8 * i + b for i, byte in enumerate(data) for b in range(8) if byte >> b & 1]


def test_ready():
    said, trace = record('ready')
    es = events(trace, ('syscall_entry_', 'syscall_exit_', 'whywait_ready'))
    calls = {}
    for name in ('poll', 'ppoll', 'select', 'pselect6', 'epoll_wait'):
        # One thread makes all of them, one after the other: what is said n-th is the n-th call.
        calls[name] = list(zip([e for e in es if e['_'] == 'syscall_entry_' + name],
                               [e for e in es if e['_'] == 'syscall_exit_' + name], by_do(said, name)))
        ok(len(calls[name]) == len(by_do(said, name)), '%d calls of %s' % (len(calls[name]), name))
    for e, x, s in calls['poll'] + calls['ppoll']:
        want = s.get('in', [[s.get('fd'), 1]] * 128)
        ok(pairs(e['fds']) == want and e['overflow'] == (len(want) == 128), '%s is asked for %d' % (s['do'], len(want)),
           [e, s])
        ok(pairs(x['fds']) == s['out'], '%s answers %s' % (s['do'], s['out']), [x, s])
        ok(all(f['events']['POLLIN'] == f['raw_events'] & 1 and f['events']['POLLOUT'] == f['raw_events'] >> 2 & 1
               for f in e['fds']), '%s: bits are those of raw_events' % s['do'])
    for e, x, s in calls['select'] + calls['pselect6']:
        for ev, want in ((e, s['in']), (x, s['out'])):
            got = [bits(ev[k]) for k in ('readfds', 'writefds', 'exceptfds')]
            ok(got == want, '%s: %s' % (ev['_'], want), [got])
            ok({len(ev[k]) for k in ('readfds', 'writefds', 'exceptfds')} <= {0, (s['n'] + 7) // 8},
               '%s: sets of %d bits' % (ev['_'], s['n']))
    for e, x, s in calls['epoll_wait']:
        data = [f['data_union']['u64'] for f in x['fds']]
        ok(len(data) == s['n'] and data[0] == s['first'] and sum(data) == s['sum'] and
           all(f['raw_events'] == 1 and f['data_union']['fd'] == f['data_union']['u64'] & 0xffffffff for f in x['fds']),
           'epoll_wait answers %d events with their data' % s['n'], [x, s])
    ok(not [e for e in es if e['_'] == 'whywait_ready'], 'nothing is said twice')


# ---- addresses and packets ----

def loop(family):
    return [127, 0, 0, 1] if family == 2 else [0] * 7 + [1]


def test_inet():
    said, trace = record('inet')
    es = events(trace, ('syscall_entry_connect', 'syscall_exit_accept', 'net_', 'whywait_sock', 'whywait_sk'))
    connects = [e for e in es if e['_'] == 'syscall_entry_connect']
    accepts = [e for e in es if e['_'] == 'syscall_exit_accept']
    for s in by_do(said, 'tcp'):
        key = 'v4addr' if s['family'] == 2 else 'v6addr'
        other = 'v6addr' if s['family'] == 2 else 'v4addr'
        c = [e for e in connects if e['fd'] == s['client'] and e['dport'] == s['port']]
        ok(len(c) == 1 and c[0]['family'] == s['family'] and c[0][key] == loop(s['family']) and not c[0][other],
           'connect: family %d, port %d, loopback' % (s['family'], s['port']), c)
        a = [e for e in accepts if e['ret'] == s['server'] and e['sport'] == s['from']]
        ok(len(a) == 1 and a[0]['family'] == s['family'] and a[0][key] == loop(s['family']) and not a[0][other] and
           a[0]['upeer_addrlen'] == (16 if s['family'] == 2 else 28),
           'accept: family %d, from port %d, loopback' % (s['family'], s['from']), a or accepts)
    for s in by_do(said, 'accept4'):
        a = [e for e in es if e['_'] == 'syscall_exit_accept4' and e['ret'] == s['server']]
        ok(len(a) == 1 and a[0]['family'] == 0 and not a[0]['v4addr'] and not a[0]['v6addr'],
           'accept4 without an address: none is said', a)
    for s in by_do(said, 'tcp', 'udp', 'ping'):
        packets(s, es)


def packets(s, es):
    """The packet with the payload, sent once and received once, has the program's ports and length on the wire."""
    proto = {'tcp': 6, 'udp': 17, 'ping': 1}[s['do']]
    for ev in ('net_dev_queue', 'net_if_receive_skb'):
        found = []
        for e in es:
            ip = e.get('network_header')
            if e['_'] != ev or not isinstance(ip, dict) or not isinstance(ip.get('transport_header'), dict):
                continue
            t = ip['transport_header']
            v6 = 'nexthdr' in ip
            if v6 != (s.get('family') == 10) or ip['nexthdr' if v6 else 'protocol'] != proto:
                continue
            if s['do'] == 'ping':
                # type, code, checksum, then id and sequence number
                if t['type'] == 8 and t['checksum'] == s['checksum']:
                    found.append((e, ip, t, 0))
                continue
            if t['source_port'] == s['from'] and t['dest_port'] == s['port']:
                payload = ((ip['payload_len'] if v6 else ip['tot_len'] - 4 * ip['ihl']) -
                           (8 if proto == 17 else 4 * t['data_offset']))
                if payload == s['bytes']:
                    found.append((e, ip, t, payload))
        ok(len(found) == 1, '%s: one packet of %d bytes, %s IPv%d' % (ev, s['bytes'], s['do'], 6 if s.get('family') == 10 else 4),
           found[:3] or [e for e in es if e['_'] == ev][:3])
        for e, ip, t, _ in found:
            v6 = 'nexthdr' in ip
            want = [0] * 15 + [1] if v6 else [127, 0, 0, 1]
            flat = lambda a: [b for x in a for b in ((x >> 8, x & 255) if v6 and max(a) > 0 and len(a) == 8 else (x,))]
            ok(e['name'] == 'lo' and flat(ip['saddr']) == want and flat(ip['daddr']) == want,
               '%s: from and to the loopback address, over lo' % ev, [e])
            if s['do'] == 'ping':
                ok(t['gateway'] == (s['id'] << 16 | s['seq']), '%s: ICMP identifier and sequence number' % ev, [t])


# ---- io_uring ----

def test_uring():
    said, trace = record('uring')
    if said is None:
        ok(True, 'io_uring # SKIP not allowed here')
        return
    es = events(trace, ('whywait_uring', 'sched_switch'))
    mine = [e for e in es if e['_'] == 'whywait_uring' and e['user_data'] >> 16 == 0xabcd]
    opcodes = {0: 0, 1: 22, 2: 22, 3: 11, 4: 22}    # linux/io_uring.h
    for s in by_do(said, 'uring'):
        k = s['data'] & 15
        r = [e for e in mine if e['user_data'] == s['data']]
        ops = [e['op'] for e in r]
        want = [0, 1, 2] if s['punt'] else [0, 2]
        ok(ops == want or not s['punt'] and ops == [0, 1, 2] and k in (1, 2), 'request %d: %s' % (k, want), r)
        ok(r and r[0]['opcode'] == opcodes[k] and r[-1]['res'] == s['res'],
           'request %d: opcode %d, result %d' % (k, opcodes[k], s['res']), r)
        ok(len({e['ctx'] for e in r}) == 1 and len({e['req'] for e in r}) == 1, 'request %d: one ring, one request' % k, r)


# ---- signals ----

def test_signals():
    said, trace = record('signals')
    es = events(trace, ('signal_',))
    for s in by_do(said, 'signal'):
        code = s['code'] & 0xffffffff
        g = [e for e in es if e['_'] == 'signal_generate' and e['pid'] == s['tid'] and e['sig'] == s['sig']]
        ok(len(g) == 1 and g[0]['code'] & 0xffffffff == code and g[0]['result'] == 0 and g[0]['group'] == 1,
           'signal %d is generated with code %d' % (s['sig'], s['code']), g)
        d = [e for e in es if e['_'] == 'signal_deliver' and e['sig'] == s['sig'] and e['sa_handler'] == s['handler']]
        ok(len(d) == 1 and d[0]['sa_flags'] & 0x10000004 == 0x10000004 and d[0]['code'] & 0xffffffff == code,
           'signal %d is delivered to the handler, with its flags' % s['sig'], d or es)
    for s in by_do(said, 'kill'):
        g = [e for e in es if e['_'] == 'signal_generate' and e['pid'] == s['child'] and e['sig'] == 9]
        ok(len(g) == 1 and g[0]['comm'].startswith('live-doings'), 'SIGKILL for the child', g)
        c = [e for e in es if e['_'] == 'signal_generate' and e['pid'] == s['tid'] and e['sig'] == 17]
        ok(len(c) == 1 and c[0]['code'] == 2, 'SIGCHLD says that the child was killed (CLD_KILLED)', c)


# ---- contended locks ----

def test_locks():
    said, trace = record('locks')
    s = by_do(said, 'locks')[0]
    es = events(trace, ('whywait_lock', 'sched_switch', 'whywait_current'))
    on, open_, pairs_, broken, waits = {}, {}, 0, [], 0
    for e in es:
        if e['_'] == 'sched_switch':
            on[e['cpu']] = e['next_tid']
            if e['prev_tid'] in open_ and e['prev_state'] & 255:
                waits += 1
            continue
        if e['_'] == 'whywait_current':
            on[e['cpu']] = e['tid']
            continue
        tid = on.get(e['cpu'])
        if tid not in (s['tid'], s['other']):
            continue
        if e['_'] == 'whywait_lock_begin':
            open_.setdefault(tid, []).append(e)
        elif not open_.get(tid):
            broken.append(e)
        else:
            b = open_[tid].pop()
            pairs_ += 1
            if b['lock'] != e['lock'] or e['ret'] not in (0, 0xfffffffc):
                broken.append((b, e))
            if not open_[tid]:
                del open_[tid]
    ok(pairs_ >= 10 and len(broken) <= 1, 'contention of two renames in one directory: %d pairs of begin and end, %d sleeps' % (
        pairs_, waits), broken)


# ---- descriptors ----

def test_files():
    said, trace = record('files')
    got = {}
    for line in subprocess.run([FILES, trace], stdout=subprocess.PIPE, timeout=60).stdout.decode().splitlines():
        tid, call, fd, kind, ino, name = (line + ' ').split(' ', 5)
        if call == 'shutdown':
            got.setdefault((int(tid), int(fd)), []).append((kind, int(ino), name.strip()))
    for when in ('child', 'closed', 'exec', 'parent'):
        looks = [s for s in by_do(said, 'look') if s['when'] == when]
        wrong, unknown = [], []
        for s in looks:
            kind, ino, name = got[(s['tid'], s['fd'])].pop(0) if got.get((s['tid'], s['fd'])) else ('no call', 0, '')
            want = s['name']
            if not want:
                good = kind == 'none'
            elif want.startswith(('pipe:[', 'socket:[')):
                good = ino == int(want[want.index('[') + 1:-1])
            else:
                good = name == want or want.endswith(name) and name and not name.startswith('/')
            if kind == 'none' and want:
                unknown.append((s['fd'], want))
            elif not good:
                wrong.append((s['fd'], want, kind, ino, name))
        ok(len(looks) == 40 and not wrong and not unknown, '%s: each of 40 descriptors names what the kernel says' % when,
           [('wrong', w) for w in wrong] + [('unknown', u) for u in unknown])


# ---- 32-bit programs ----

def test_functions():
    """The functions of timers and work items have the names that the kernel lists."""
    said, trace = record('uring')
    if said is None:
        return
    symbols = {}
    for line in open('/proc/kallsyms'):
        at, _, name = line.split()[:3]
        symbols.setdefault(int(at, 16), set()).add(name)
    es = events(trace, ('whywait_function', 'timer_hrtimer_expire_entry', 'timer_expire_entry', 'workqueue_'))
    told, late = {}, []
    for e in es:
        if e['_'] == 'whywait_function':
            told[e['address']] = e['name']
        elif 'function' in e and e['function'] not in told:
            late.append(e)
    ok(len(told) > 2 and all(v.split()[0] in symbols.get(a, ()) for a, v in told.items()),
       '%d functions have the names of /proc/kallsyms' % len(told), told.items())
    # Another CPU may be just about to tell it, or an interrupt came in between: once each, at most.
    ok(len(late) <= len({e['function'] for e in late}) and len(late) <= 2, 'and are told before they are called', late)


def test_compat():
    prog, trace = os.path.join(BUILD, 'tests/live/live-compat32'), os.path.join(work, 'compat')
    try:
        runs = os.path.exists(prog) and subprocess.run([prog]).returncode == 32
    except OSError:
        runs = False
    if not runs:
        ok(True, '32-bit programs # SKIP this machine does not build or run them')
        return
    p = subprocess.run([W, 'record', '-q', '-o', trace, '--', prog], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    ok(p.returncode == 32, 'compat: recorded', [p.returncode, p.stderr])
    es = events(trace, ('compat_syscall_', 'syscall_', 'whywait_syscall_'))
    first = [i for i, e in enumerate(es) if e['_'] == 'compat_syscall_entry_open']
    es = es[first[0]:] if first else []
    names = [e['_'].replace('compat_syscall_', '') for e in es]
    want = ['%s_%s' % (k, c) for c in ('open', 'pipe', 'nanosleep', 'poll', 'write', 'poll', 'close') for k in ('entry', 'exit')]
    ok(names[:len(want)] == want and all(e['_'].startswith('compat_') for e in es[:len(want)]),
       'compat: the calls have the names of the table of i386, in order', names)
    by = lambda name: [e for e in es if e['_'] == 'compat_syscall_' + name]
    fds = by('exit_pipe')[0]['fildes'] if by('exit_pipe') else []
    polls = [(pairs(a['fds']), b['ret'], pairs(b['fds'])) for a, b in zip(by('entry_poll'), by('exit_poll'))]
    ok(fds and polls == [([[fds[0], 1]], 0, []), ([[fds[0], 1]], 1, [[fds[0], 1]])] and
       [e['timeout_msecs'] for e in by('entry_poll')] == [40, 40], 'compat: pipe gives its descriptors, poll its list', polls)
    out = subprocess.run([W, 'report', '--json', trace], stdout=subprocess.PIPE, timeout=60).stdout
    waits = [(w['syscall'], w['cause'], w['dur_ns'] // 10000000) for w in json.loads(out)['waits'] if w['dur_ns'] > 2e7]
    ok(waits in ([('nanosleep', 'timer', 6), ('poll', 'timer', 4)], [('poll', 'timer', 4), ('nanosleep', 'timer', 6)]),
       'compat: the report knows what it waited for', waits)


# ---- call stacks ----

def test_faults():
    said, trace = record('faults')
    es = events(trace, ('whywait_file', 'whywait_fault_end', 'irq_work_entry', 'x86_irq_vectors_irq_work_entry'))
    names, faults = {}, {}
    for e in es:
        if e['_'] == 'whywait_file':
            names[e['dev'], e['ino']] = e['name']
    for e in es:
        if e['_'] == 'whywait_fault_end':
            faults.setdefault((e['tid'], e['address']), []).append(
                (names.get((e['dev'], e['ino']), '%d' % e['ino'] if e['ino'] else ''), e['offset']))
    for how in dict.fromkeys(s['how'] for s in by_do(said, 'touch')):
        touched = [s for s in by_do(said, 'touch') if s['how'] == how]
        wrong = [(s, f) for s in touched for f in [faults.get((s['tid'], s['address']), [None])]
                 if not any(g and g[1] == s['offset'] and (g[0] == s['file'] or g[0] and s['file'].startswith(g[0]))
                            for g in f)]
        ok(touched and not wrong, '%s: %d pages of what they are of' % (how, len(touched)), wrong)
        for s in touched: # the same place again is another thing
            if faults.get((s['tid'], s['address'])):
                faults[s['tid'], s['address']].pop(0)


def test_stacks():
    said, trace = record('stacks', '--stacks')
    s = by_do(said, 'stack')[0]
    out = subprocess.run([W, 'stacks', '--json', '--tid', str(s['tid']), trace], stdout=subprocess.PIPE, timeout=60).stdout
    rows = [r for r in json.loads(out)['rows'] if r['syscall'] == 'nanosleep']
    # Its time runs from when the timer is started: some microseconds before the thread gives its CPU away.
    ok(len(rows) == 1 and rows[0]['count'] == s['times'] and rows[0]['total_ns'] >= s['ns'] - 20000 * s['times'] and
       rows[0]['cause'] == 'timer', 'five sleeps in one place are one row', rows)
    frames = rows[0]['stack'].split(' < ') if rows else []
    ok(frames[:4] == ['syscall', 'doings_inner', 'doings_middle', 'doings_outer'],
       'the functions that it slept in are named: %s' % frames, rows)
    kernel = rows[0]['kernel_stack'].split(' < ') if rows else []
    if os.path.getsize(os.path.join(trace, '.kallsyms')) if os.path.exists(os.path.join(trace, '.kallsyms')) else 0:
        ok('do_nanosleep' in kernel and 'schedule' in kernel and not kernel[0].startswith('bpf'),
           'and those of the kernel: %s' % kernel, rows)


# ---- attached to in the middle of calls ----

def test_attached():
    trace = os.path.join(work, 'attached')
    p = subprocess.Popen([DOINGS, 'attached'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    said = [json.loads(p.stdout.readline()) for _ in range(4)]
    time.sleep(0.3)
    r = subprocess.Popen([W, 'record', '-q', '-o', trace, '-p', str(p.pid)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for _ in range(600):
        if r.poll() is not None or os.path.exists(trace + '/dump_0') and os.path.getsize(trace + '/dump_0'):
            break
        time.sleep(0.1)
    time.sleep(1)
    p.stdin.write(b'x')
    p.stdin.flush()
    p.stdout.read()     # not waited for: it stays a zombie, and the recording ends nevertheless
    try:
        err = r.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        r.kill()
        err = b'it does not end'
    p.wait()
    ok(r.returncode in (0, 3), 'attached: recorded, to the end of the process', [err])
    for s in said:
        out = subprocess.run([W, 'report', '--json', '--tid', str(s['tid']), trace], stdout=subprocess.PIPE, timeout=60).stdout
        waits = sorted(json.loads(out)['waits'], key=lambda w: w['start_ns'])
        w = waits[0] if waits else {}
        by = w.get('woken_by') or {}
        ok(w.get('syscall') == s['call'] and w.get('cause') == s['cause'] and by.get('kind') == s['kind'] and
           (by.get('tid') == s['by'] or s['kind'] == 'timer' and by.get('tid') is None) and w['dur_ns'] > 5e8,
           'thread that was in %s before: waits for %s, woken by the right one' % (s['call'], s['cause']), [w])


def main():
    if os.geteuid():
        print('only root can record')
        sys.exit(77)
    if not os.path.exists(DOINGS):
        print('liburing-dev is not installed')
        sys.exit(77)
    tests = {k[5:]: f for k, f in globals().items() if k.startswith('test_')}
    for name in sys.argv[1:] or tests:
        tests[name]()


try:
    import bt2
except ImportError:
    print('python3-bt2 is not installed')
    sys.exit(77)
work = tempfile.mkdtemp(prefix='whywait-events-', dir='/var/tmp')
try:
    main()
finally:
    if not os.environ.get('WW_KEEP'):
        shutil.rmtree(work, ignore_errors=True)
sys.exit(tap.end())
