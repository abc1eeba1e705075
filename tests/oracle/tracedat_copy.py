"""Copies of a trace.dat with other options, for the tests that judge what is made of them."""
import struct


def with_options(src, dst, options):
    """A copy of an uncompressed version 7 file with one more section of options, little endian."""
    d = bytearray(open(src, 'rb').read())
    p = d.index(b'\0', 10) + 1 + 2 + 4
    p = d.index(b'\0', d.index(b'\0', p) + 1) + 1
    at = struct.unpack_from('<Q', d, p)[0]
    while True:     # to the last section's DONE
        p = at + 16
        while True:
            oid, size = struct.unpack_from('<HI', d, p)
            if oid == 0:
                break
            p += 6 + size
        at = struct.unpack_from('<Q', d, p + 6)[0]
        if not at:
            break
    struct.pack_into('<Q', d, p + 6, len(d))
    body = b''.join(struct.pack('<HI', i, len(o)) + o for i, o in options) + struct.pack('<HIQ', 0, 8, 0)
    d += struct.pack('<HHIQ', 0, 0, 0, len(body)) + body
    open(dst, 'wb').write(d)


def shift_option(samples, flags, fraction=True, peer=0x1234):
    """TIME_SHIFT: samples (time, offset, scaling, fraction) of each of two CPUs, to the clock of the file with id `peer`."""
    n = len(samples)
    o = struct.pack('<QII', peer, flags, 2)
    for _ in range(2):
        o += struct.pack('<I', n) + b''.join(struct.pack('<%dq' % n, *[s[i] for s in samples]) for i in range(3))
    if fraction:
        for _ in range(2):
            o += struct.pack('<%dq' % n, *[s[3] for s in samples])
    return o
