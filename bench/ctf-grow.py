#!/usr/bin/python3
"""ctf-grow.py WHYWAIT IN OUT TIMES: a longer CTF trace, for measuring. IN is a trace of LTTng's kernel tracer (or
of whywait), OUT a directory that does not exist. Every stream's packets are repeated TIMES times, each repetition
later by a multiple of 2^32 ns, so that partial time stamps stay as they are; full ones, the packets' begin and
end and the sequence numbers move on. WHYWAIT says where the events stand."""
import os, re, struct, subprocess, sys

MAGIC = struct.pack('<I', 0xC1FC1FC1)
HEADER = 32   # magic, uuid[16], stream_id (32 bits), stream_instance_id (64 bits)
CONTEXT = 52  # begin, end, content_size, packet_size, packet_seq_num, events_discarded (64 bits), cpu_id (32)


def full_stamps(whywait, path, header_of, streams):
    """(file, offset) of each 64-bit stamp in an event header."""
    at = {}
    cmd = [whywait, 'events', '-q', '--offsets', path]
    with subprocess.Popen(cmd, stdout=subprocess.PIPE) as p:
        for line in p.stdout:
            name, _, off = line.split(b' ', 1)[0].rpartition(b':')
            if not off.isdigit():
                continue
            name, off = name.decode(), int(off)
            data, packets = streams[name]
            sid = struct.unpack_from('<I', data, packets[0] + 20)[0]
            if header_of[sid] == 'large':
                if struct.unpack_from('<H', data, off)[0] == 65535:
                    at.setdefault(name, []).append(off + 6)
            elif data[off] & 31 == 31:
                at.setdefault(name, []).append(off + 5)
    return at


def packets_of(data):
    off, out = 0, []
    while off + HEADER + CONTEXT <= len(data) and data[off:off + 4] == MAGIC:
        out.append(off)
        off += struct.unpack_from('<Q', data, off + HEADER + 24)[0] // 8
    return out


def main():
    whywait, src, dst, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    d = next(r for r, _, f in os.walk(src) if 'metadata' in f)
    meta = open(os.path.join(d, 'metadata'), 'rb').read()
    blocks = re.findall(rb'stream \{\s*id = (\d+);\s*event\.header := struct event_header_(\w+)', meta)
    header_of = {int(i): h.decode() for i, h in blocks}
    streams = {}
    for name in sorted(os.listdir(d)):
        p = os.path.join(d, name)
        if name == 'metadata' or name.startswith('.') or not os.path.isfile(p):
            continue
        data = bytearray(open(p, 'rb').read())
        packets = packets_of(data)
        if packets:
            streams[name] = (data, packets)
    full = full_stamps(whywait, src, header_of, streams)
    begin = min(struct.unpack_from('<Q', x, p + HEADER)[0] for x, ps in streams.values() for p in ps)
    end = max(struct.unpack_from('<Q', x, p + HEADER + 8)[0] for x, ps in streams.values() for p in ps)
    later = ((end - begin >> 32) + 1) << 32
    os.makedirs(dst)
    open(os.path.join(dst, 'metadata'), 'wb').write(meta)
    u64 = struct.Struct('<Q')
    for name, (data, packets) in streams.items():
        stamps = full.get(name, []) + [p + HEADER for p in packets] + [p + HEADER + 8 for p in packets]
        seqs = [p + HEADER + 32 for p in packets]
        first = min(u64.unpack_from(data, q)[0] for q in seqs)
        count = max(u64.unpack_from(data, q)[0] for q in seqs) + 1 - first
        with open(os.path.join(dst, name), 'wb') as out:
            for p in packets:
                u64.pack_into(data, p + HEADER + 40, 0)
            for _ in range(times):
                out.write(data)
                for q in stamps:
                    u64.pack_into(data, q, u64.unpack_from(data, q)[0] + later)
                for q in seqs:
                    u64.pack_into(data, q, u64.unpack_from(data, q)[0] + count)


main()
