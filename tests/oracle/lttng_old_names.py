#!/usr/bin/python3
"""Oracle: the same trace with the names that LTTng has now. LTTng 2.0 to 2.5 called events otherwise: `sys_read` and
one `exit_syscall` of which only the value returned is read, `softirq_entry`, `hrtimer_start` and so on. The shared trace
of LTTng 2.13 is given those names: every thread's report is the same, but for causes that the end of a call told. TAP; skipped loudly without the traces.
"""
import json, os, re, shutil, struct, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

WHYWAIT = os.environ['WHYWAIT']
TRACES = os.environ.get('WW_TRACES', '')
NAMES = [('irq_softirq_', 'softirq_'), ('timer_hrtimer_', 'hrtimer_'), ('net_if_receive_skb', 'netif_receive_skb'),
         ('compat_syscall_entry_unknown', 'compat_sys_unknown'), ('syscall_entry_unknown', 'sys_unknown'),
         ('compat_syscall_entry_', 'compat_sys_'), ('syscall_entry_', 'sys_')]


def text_of(path):
    """Metadata without its packets."""
    b, out, at = open(path, 'rb').read(), b'', 0
    while at < len(b):
        magic, content, packet = struct.unpack_from('<I20xII', b, at)
        assert magic == 0x75D11D57
        out += b[at + 37:at + content // 8]
        at += packet // 8
    return out.decode()


def old(name):
    if re.match(r'(compat_)?syscall_exit_', name):
        return 'exit_syscall'
    for now, then in NAMES:
        if name.startswith(now):
            return then + name[len(now):]
    return name


def rename(text):
    """(metadata as of then, how many names are others)"""
    n = 0
    out = []
    for block in re.split(r'(?m)^(?=event \{)', text):
        m = re.search(r'name = "([^"]+)"', block)
        if block.startswith('event {') and m and old(m.group(1)) != m.group(1):
            n += 1
            block = block.replace(m.group(0), 'name = "%s"' % old(m.group(1)), 1)
        out.append(block)
    return ''.join(out), n


def ask(path, *args):
    p = subprocess.run([WHYWAIT, *args, '--json', '-q', path], stdout=subprocess.PIPE, timeout=100)
    return json.loads(p.stdout)


def waits(path):
    """{tid: (states, waits)} of the target and its children."""
    doc = ask(path, 'report', '--threads', '--no-cache')
    return {r['target']['tid']: (r['states'], r['waits']) for r in [doc, *doc['threads']]}


def differ(now, then):
    """What is not the same; and how many causes are known to both, to the newer names alone."""
    bad, both, less = [], 0, 0
    for tid, (states, rows) in now.items():
        if tid not in then:
            return ['thread %d is not there' % tid], 0, 0
        if states != then[tid][0]:
            bad.append('tid %d: %s, %s' % (tid, states, then[tid][0]))
        a = {(w['start_ns'], w['dur_ns']): w for w in rows}
        b = {(w['start_ns'], w['dur_ns']): w for w in then[tid][1]}
        for k in a.keys() & b.keys():
            x, y = a[k], b[k]
            if x['syscall'] != y['syscall'] or (x['woken_by'] or {}).get('tid') != (y['woken_by'] or {}).get('tid'):
                bad.append('tid %d: %s, %s' % (tid, x, y))
            if y['cause'] not in (x['cause'], 'unknown'):
                bad.append('tid %d in %s: %s, %s' % (tid, x['syscall'], x['cause'], y['cause']))
            both += x['cause'] == y['cause'] != 'unknown'
            less += x['cause'] != y['cause']
        if a.keys() != b.keys():
            bad.append('tid %d: %d waits, %d waits' % (tid, len(a), len(b)))
    return bad, both, less


def main():
    tap = Tap()
    single = os.path.join(TRACES, 'single/trace/kernel')
    if not os.path.isdir(single):
        print('no traces in ' + TRACES)
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        d = os.path.join(tmp, 'then')
        os.mkdir(d)
        for f in ('c0_0', 'c0_1'):
            shutil.copy(os.path.join(single, f), d)
        text, n = rename(text_of(os.path.join(single, 'metadata')))
        open(os.path.join(d, 'metadata'), 'w').write(text)
        names = ask(d, 'info')['by_name']
        tap.ok(n > 500 and names.get('exit_syscall', 0) > 100 and not [x for x in names if old(x) != x],
               '%d kinds of events have the names of LTTng 2.0' % n, str(names))
        bad, both, less = differ(waits(single), waits(d))
        tap.ok(not bad and both > 20, 'the same states, waits and wakers; %d causes are the same, %d unknown for want of '
               "what a call's end told" % (both, less), '\n'.join(bad[:20]))
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
