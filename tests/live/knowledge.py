#!/usr/bin/python3
"""Taking knowledge away may turn an answer into `unknown`, never into another one; and what changes nothing of
what happened changes no answer. Truth programs are recorded, then the same trace is read again

  without sched_waking; without interrupts and softirqs; without timers; without packets and socket events;
  without the block events; with random packets of the streams missing;
  with the clock's offset moved; with the files of the CPUs exchanged.

TAP; exit 77 where nothing can be recorded."""
import os, random, re, shutil, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

BUILD = os.environ.get('WW_BUILD', 'build')
W = os.environ.get('WHYWAIT', os.path.join(BUILD, 'whywait'))
STATES = os.path.join(BUILD, 'tests/tools/states')
PROGRAMS = ['pipe_third', 'tcp', 'epoll', 'odirect', 'mutex_sleep', 'signal']
LESS = {
    'sched_waking': ['sched_waking'],
    'interrupts': ['irq_handler_entry', 'irq_handler_exit', 'softirq_entry', 'softirq_exit', 'irq_softirq_entry',
                   'irq_softirq_exit'],
    'timers': ['timer_hrtimer_start', 'timer_hrtimer_cancel', 'timer_hrtimer_expire_entry', 'timer_hrtimer_expire_exit',
               'timer_start', 'timer_cancel', 'timer_expire_entry', 'timer_expire_exit', 'whywait_timer_task'],
    'packets': ['net_dev_queue', 'net_if_receive_skb', 'netif_receive_skb', 'whywait_sk_ready'],
    'block requests': ['block_getrq', 'block_rq_insert', 'block_rq_issue', 'block_rq_complete'],
}
SLACK_NS = 200000       # without sched_waking a wait ends at the later sched_wakeup
tap = Tap()
ok = tap.ok


def states(trace, without=()):
    """{tid: [(start, end, state, cause, kind, waker)]}"""
    p = subprocess.run([STATES, trace] + list(without), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=100)
    if p.returncode:
        raise RuntimeError('states: ' + p.stderr.decode(errors='replace')[:200])
    out = {}
    for line in p.stdout.decode().splitlines():
        f = line.split()
        out.setdefault(int(f[0]), []).append((int(f[1]), int(f[1]) + int(f[2]), f[3], f[4], f[5], int(f[6])))
    return out


def others(full, less, tids):
    """(ns of waits with another cause or waker than in full, ns turned unknown, examples)"""
    wrong = unknown = 0
    examples = []
    for tid in tids:
        a, b, i = full.get(tid, []), less.get(tid, []), 0
        for s0, s1, state, cause, kind, waker in b:
            if state != 'blocked':
                continue
            while i and a[i - 1][1] > s0:
                i -= 1
            while i < len(a) and a[i][1] <= s0:
                i += 1
            k = i
            while k < len(a) and a[k][0] < s1:
                ns = min(s1, a[k][1]) - max(s0, a[k][0])
                k += 1
                if a[k - 1][2] != 'blocked':
                    continue
                if cause == 'unknown' and a[k - 1][3] != 'unknown':
                    unknown += ns
                elif cause != a[k - 1][3] or (waker != a[k - 1][5] and waker != -1 and a[k - 1][5] != -1):
                    wrong += ns
                    examples.append('%d at %d, %.3f ms: %s by %s %d became %s by %s %d' % (
                        (tid, s0, ns / 1e6) + a[k - 1][3:] + (cause, kind, waker)))
    return wrong, unknown, examples


def packets(data):
    """Byte ranges of the CTF packets of a stream file: magic, uuid, stream id, then the context."""
    at = 0
    while at + 64 <= len(data):
        magic, = struct.unpack_from('<I', data, at)
        if magic != 0xC1FC1FC1:
            raise RuntimeError('no packet at %d' % at)
        # header: magic 4, uuid 16, stream_id 4, stream_instance_id 8; context: begin, end, content, packet bits
        size = struct.unpack_from('<Q', data, at + 32 + 24)[0] // 8
        if not 0 < size <= len(data) - at:
            return
        yield at, at + size
        at += size


def streams(trace):
    return sorted(os.path.join(d, f) for d, _, files in os.walk(trace) for f in files
                  if f != 'metadata' and '.whywait' not in d and '.' not in f)


def drop_packets(trace, share, rng):
    gone = 0
    for path in streams(trace):
        data = open(path, 'rb').read()
        ps = list(packets(data))
        keep = [p for k, p in enumerate(ps) if k == 0 or k == len(ps) - 1 or rng.random() >= share]
        gone += len(ps) - len(keep)
        open(path, 'wb').write(b''.join(data[a:b] for a, b in keep))
    return gone


def copy(trace, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(trace, to, ignore=shutil.ignore_patterns('.whywait'))
    return to


def metadata_offset(trace, add):
    path = os.path.join(trace, 'metadata')
    data = open(path, 'rb').read()
    m = re.search(rb'\boffset = (\d+);', data)
    new = b'%d' % (int(m.group(1)) + add)
    new = new.rjust(len(m.group(1)), b'0')      # same length, as packets have sizes
    if len(new) != len(m.group(1)):
        raise RuntimeError('offset does not fit')
    open(path, 'wb').write(data[:m.start(1)] + new.lstrip(b'0').rjust(len(new), b' ') + data[m.end(1):])


def main():
    if not os.path.exists(STATES):
        print('the model is not built')
        sys.exit(77)
    if os.geteuid():
        print('only root can record')
        sys.exit(77)
    work = tempfile.mkdtemp(prefix='whywait-knowledge-', dir='/var/tmp')
    seed = int(os.environ.get('WW_SEED', '0')) or random.SystemRandom().randrange(1, 1 << 30)
    rng = random.Random(seed)
    print('# seed %d' % seed)
    for name in PROGRAMS:
        trace = os.path.join(work, name)
        p = subprocess.run([W, 'record', '-q', '-o', trace, '--', os.path.join(BUILD, 'tests/truth/truth-' + name), str(seed)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        tids = {int(t) for t in re.findall(r'"t":"thread","tid":(\d+)', p.stdout.decode(errors='replace'))}
        full = states(trace)
        ok(tids and any(s[2] == 'blocked' and s[3] != 'unknown' for t in tids for s in full.get(t, [])),
           '%s: recorded, and its waits have causes' % name, [p.stderr.decode(errors='replace')[-200:]] if not tids else [])
        for what, events in LESS.items():
            wrong, unknown, ex = others(full, states(trace, events), tids)
            ok(wrong <= SLACK_NS, '%s without %s: %.3f ms are unknown now, %.3f ms are said otherwise' % (
                name, what, unknown / 1e6, wrong / 1e6), ex)
        c = copy(trace, os.path.join(work, 'copy'))
        gone = drop_packets(c, 0.3, rng)
        wrong, unknown, ex = others(full, states(c), tids)
        ok(wrong <= SLACK_NS, '%s without %d random packets: %.3f ms are unknown now, %.3f ms are said otherwise' % (
            name, gone, unknown / 1e6, wrong / 1e6), ex)
        c = copy(trace, os.path.join(work, 'copy'))
        metadata_offset(c, 12345678901)
        ok(states(c) == full, '%s with the clock moved: no state changes' % name)
        c = copy(trace, os.path.join(work, 'copy'))
        files = streams(c)
        if len(files) > 1:
            os.rename(files[0], files[0] + '_')
            os.rename(files[1], files[0])
            os.rename(files[0] + '_', files[1])
        ok(states(c) == full, '%s with the streams\' files exchanged: no state changes' % name)
        shutil.rmtree(trace, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
