#!/usr/bin/python3
"""A facts file that an enemy wrote, who knows the trace, the program and all checksums: no command may crash or hang on it.
Bytes of some blocks of a good file are changed and its checksums made right again, so that what is read is rows that
obey their columns and make no sense, or the damage is found and the trace is read. TAP."""
import os, random, shutil, struct, subprocess, sys, tempfile

W, TRACES = os.environ['WHYWAIT'], os.environ.get('WW_TRACES', '')
COMMANDS = 'report tree path threads procs usage sched syscalls files io faults irq locks net'.split()
ROUNDS, SEED = int(os.environ.get('ROUNDS', 40)), int(os.environ.get('SEED', 1))
ONE, TWO, MASK = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, (1 << 64) - 1


def stir(h, v):
    h ^= v * TWO & MASK
    h = (h << 29 | h >> 35) & MASK
    return (h * ONE + 1) & MASK


def checksum(b):
    """ww_checksum of base/pack.c"""
    lane, whole, h = [len(b), ONE, TWO, len(b) ^ ONE], len(b) // 32 * 32, 0
    for i in range(0, whole, 32):
        for k, v in enumerate(struct.unpack_from('<4Q', b, i)):
            lane[k] = stir(lane[k], v)
    for k in range(0, len(b) - whole, 8):
        lane[k // 8] = stir(lane[k // 8], int.from_bytes(b[whole + k:whole + k + 8], 'little'))
    for v in lane:
        h = stir(h, v)
    h ^= h >> 32
    h = h * TWO & MASK
    return h ^ h >> 29


def mutate(good, rnd):
    d = bytearray(good)
    head = list(struct.unpack_from('<15Q', d))     # src/facts/file_private.h
    at, size, blocks = head[10], head[11], head[13]
    for _ in range(rnd.choice((1, 1, 2))):
        place = at + 16 * (size // 16 - blocks + rnd.randrange(blocks))
        offset, n, _ = struct.unpack_from('<QII', d, place)
        for _ in range(rnd.choice((1, 3, 30))):
            d[offset + rnd.randrange(16 if n > 25 and rnd.random() < .9 else 0, n)] = rnd.randrange(256)
        struct.pack_into('<I', d, place + 12, checksum(bytes(d[offset:offset + n])) & 0xffffffff)
    struct.pack_into('<Q', d, 96, checksum(bytes(d[at:at + size])))
    struct.pack_into('<Q', d, 112, checksum(bytes(d[:112])))
    return bytes(d)


def attack(trace, file, rnd):
    """(runs that used such a file, what went wrong)"""
    used, bad = 0, []
    subprocess.run([W, 'usage', '-q', trace], stdout=subprocess.DEVNULL)
    good = open(file, 'rb').read()
    for r in range(ROUNDS):
        with open(file, 'wb') as f:
            f.write(mutate(good, rnd))
        for c in rnd.sample(COMMANDS, 4):
            inode = os.stat(file).st_ino
            try:
                p = subprocess.run([W, c, '-v', '--json', trace], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
            except subprocess.TimeoutExpired:
                bad.append('round %d: %s hangs' % (r, c))
                continue
            used += b'the facts are from' in p.stderr
            if p.returncode not in (0, 1, 3):
                bad.append('round %d: %s: exit %d: %s' % (r, c, p.returncode, p.stderr[-200:].decode(errors='replace')))
            if not os.path.exists(file) or os.stat(file).st_ino != inode:
                break       # found and replaced
    return used, bad


def main():
    single, dat = os.path.join(TRACES, 'single/trace'), os.path.join(TRACES, 'tracecmd-v7-none/trace.dat')
    if not os.path.isdir(single) or not os.path.exists(dat):
        print('no traces: set WW_TRACES')
        return 77
    rnd, failed = random.Random(SEED), 0
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(['cp', '-r', '--preserve=timestamps', single, tmp + '/trace'], check=True)
        subprocess.run(['chmod', '-R', 'u+w', tmp], check=True)
        shutil.copy2(dat, tmp + '/trace.dat')
        for i, (trace, file) in enumerate(((tmp + '/trace', tmp + '/trace/.whywait/facts'), (tmp + '/trace.dat', tmp + '/.whywait/trace.dat.facts'))):
            used, bad = attack(trace, file, rnd)
            good = not bad and used >= ROUNDS
            failed += not good
            print('%sok %d - %s: %d runs with a false facts file, %d went wrong' % ('' if good else 'not ', i + 1, os.path.basename(trace), used, len(bad)))
            for b in bad[:10]:
                print('# ' + b)
    print('1..2')
    return failed > 0


sys.exit(main())
