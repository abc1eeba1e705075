#!/usr/bin/python3
"""tracedat-grow.py IN OUT TIMES: a longer trace.dat, for measuring. IN is an uncompressed version 7 file; each
CPU's pages are repeated TIMES times, every repetition later by the length of the recording."""
import struct, sys

src, dst, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
d = bytearray(open(src, 'rb').read())
p = d.index(b'none\0')
p = d.index(b'\0', p + 5) + 1
at = struct.unpack_from('<Q', d, p)[0]
with open(dst, 'wb') as out:
    tail = []
    where = len(d) + -len(d) % 4096
    while at:
        p = at + 16
        while True:
            oid, size = struct.unpack_from('<HI', d, p)
            if oid == 0:
                at = struct.unpack_from('<Q', d, p + 6)[0]
                break
            if oid == 3:
                q = d.index(b'\0', d.index(b'\0', p + 14) + 1) + 1
                page, n = struct.unpack_from('<II', d, q)
                cpus = [(q + 12 + 20 * k,) + struct.unpack_from('<QQ', d, q + 12 + 20 * k) for k in range(n)]
                stamps = [struct.unpack_from('<Q', d, o + i)[0] for _, o, s in cpus for i in range(0, s, page)]
                length = max(stamps) - min(stamps) + 10**9
                for w, o, s in cpus:
                    struct.pack_into('<QQ', d, w, where, s * times)
                    where += s * times
                    tail.append((o, s, page, length))
            p += 6 + size
    out.write(d + b'\0' * (-len(d) % 4096))
    for o, s, page, length in tail:
        pages = bytearray(d[o:o + s])
        for _ in range(times):
            out.write(pages)
            for i in range(0, s, page):
                struct.pack_into('<Q', pages, i, struct.unpack_from('<Q', pages, i)[0] + length)
