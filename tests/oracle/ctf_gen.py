"""Makes CTF 1.8 traces at random: types, alignments, byte orders, nesting, headers, contexts, packets.

make(dir, seed) writes DIR/metadata and stream files. The values are random too; what they are is for a reader
to say, and for another reader to agree.
"""
import os, random, struct, uuid


class Bits:
    """Bits in either order; pos counts from the begin of the packet."""
    def __init__(self):
        self.b = bytearray()
        self.pos = 0

    def align(self, n):
        self.pos = (self.pos + n - 1) // n * n
        self.grow()

    def grow(self):
        need = (self.pos + 7) // 8
        self.b.extend(bytes(max(0, need - len(self.b))))

    def put(self, v, size, be):
        p = self.pos
        self.pos += size
        self.grow()
        v &= (1 << size) - 1
        if p % 8 == 0 and size % 8 == 0:
            self.b[p // 8:(p + size) // 8] = v.to_bytes(size // 8, 'big' if be else 'little')
            return
        for i in range(size):
            q = p + i
            if be:
                self.b[q // 8] |= (v >> (size - 1 - i) & 1) << (7 - q % 8)
            else:
                self.b[q // 8] |= (v >> i & 1) << (q % 8)


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.be = self.r.random() < .4
        self.names = 0

    def name(self):
        self.names += 1
        return self.r.choice(('f', '_f', '__f', 'x_')) + str(self.names)

    # A type is (text before the declarator, text after it, alignment, write(bits, scope) -> None)
    def integer(self, unsigned=False, small=False):
        r = self.r
        signed = not unsigned and r.random() < .5
        foreign = r.random() < .15
        size = r.choice((3, 5, 8, 8)) if small else r.choice((8, 16, 32, 64, r.randint(1, 64)))
        align = r.choice((1, 1, 8, 8, 16, 32, 64))
        if foreign:             # babeltrace2 wants changes of the byte order on bytes
            size, align = max(8, size // 8 * 8), max(8, align)
        be = self.be != foreign
        text = 'integer { size = %d; align = %d; signed = %s; base = %s;%s }' % (
            size, align, r.choice(('true', '1')) if signed else 'false', r.choice(('10', 'hex', 'x', '8', 'b')),
            ' byte_order = %s;' % ('be' if be else 'le') if foreign else '')
        lo, hi = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)

        def put(b, v):
            b.align(align)
            b.put(v, size, be)
            if foreign:
                b.align(8)
        return text, align, size, lo, hi, put, foreign

    def basic(self):
        r = self.r
        k = r.random()
        if k < .55:
            text, align, size, lo, hi, put, _ = self.integer()
            return text, '', lambda b: put(b, r.choice((lo, hi, r.randint(lo, hi))))
        if k < .7:
            size = r.choice((32, 64))
            align = r.choice((8, 32, 64))
            text = 'floating_point { exp_dig = %d; mant_dig = %d; align = %d; }' % ((8, 24, align) if size == 32 else
                                                                                      (11, 53, align))

            def put_float(b):
                b.align(align)
                raw = struct.pack('>f' if size == 32 else '>d', r.uniform(-1e9, 1e9))
                b.put(int.from_bytes(raw, 'big'), size, self.be)
            return text, '', put_float
        if k < .85:
            def put_string(b):
                b.align(8)
                for c in self.word():
                    b.put(c, 8, self.be)
                b.put(0, 8, self.be)
            return r.choice(('string', 'string { encoding = ASCII; }')), '', put_string
        n = r.randint(1, 12)

        def put_text(b):
            w = self.word()[:n].ljust(n, b'\0')
            b.align(8)
            for c in w:
                b.put(c, 8, self.be)
        return 'integer { size = 8; align = 8; signed = false; encoding = UTF8; }', '[%d]' % n, put_text

    def word(self):
        return bytes(self.r.choice(b'abcdefgh /."\\\xc3\xa4' if False else b'abcdefgh /."\\') for _ in
                     range(self.r.randint(0, 14)))

    def enum(self):
        text, align, size, lo, hi, put, _ = self.integer(unsigned=True, small=True)
        labels = [self.name() for _ in range(self.r.randint(1, 4))]
        maps, at, picks = [], 0, []
        for lab in labels:
            end = min(hi, at + self.r.choice((0, 0, 3)))
            if at > hi:
                break
            maps.append('%s = %d' % (lab, at) if at == end else '%s = %d ... %d' % (lab, at, end))
            picks.append((lab, at, end))
            at = end + 1
        return 'enum : %s { %s }' % (text, ', '.join(maps)), picks, put

    # fields of a structure: list of (declaration, put)
    def fields(self, depth):
        r = self.r
        out = []
        for _ in range(r.randint(1, 5)):
            k = r.random()
            if depth > 3 or k < .5:
                pre, post, put = self.basic()
                out.append(('%s %s%s;' % (pre, self.name(), post), put))
            elif k < .62:
                text, put = self.struct(depth + 1)
                out.append(('%s %s;' % (text, self.name()), put))
            elif k < .72:
                text, put = self.element(depth)
                n = r.randint(0, 4)
                out.append(('%s %s[%d];' % (text, self.name(), n), self.repeat(put, n, text)))
            elif k < .86:
                ln = self.name()
                itext, _, size, _, hi, iput, _ = self.integer(unsigned=True, small=True)
                text, put = self.element(depth)
                cell = {}

                def put_len(b, cell=cell, hi=hi, iput=iput):
                    cell['n'] = r.randint(0, min(hi, 5))
                    iput(b, cell['n'])

                def put_seq(b, cell=cell, put=put, text=text):
                    self.repeat(put, cell['n'], text)(b)
                out.append(('%s %s;' % (itext, ln), put_len))
                out.append(('%s %s[%s];' % (text, self.name(), ln), put_seq))
            else:
                tn = self.name()
                etext, picks, eput = self.enum()
                opts = []
                for lab, _, _ in picks:
                    if r.random() < .5:
                        pre, post, put = self.basic()
                        while post:
                            pre, post, put = self.basic()
                        opts.append((pre, lab, put))
                    else:
                        text, put = self.struct(depth + 1)
                        opts.append((text, lab, put))
                cell = {}

                def put_tag(b, cell=cell, picks=picks, eput=eput):
                    cell['i'] = r.randrange(len(picks))
                    eput(b, r.randint(picks[cell['i']][1], picks[cell['i']][2]))

                def put_variant(b, cell=cell, opts=opts):
                    opts[cell['i']][2](b)
                out.append(('%s %s;' % (etext, tn), put_tag))
                out.append(('variant <%s> { %s } %s;' % (tn, ' '.join('%s %s;' % (t, n) for t, n, _ in opts),
                                                          self.name()), put_variant))
        return out

    def element(self, depth):
        while True:
            if self.r.random() < .3 and depth < 3:
                return self.struct(depth + 1)
            pre, post, put = self.basic()
            if not post:
                return pre, put

    def repeat(self, put, n, text):
        import re
        aligns = [int(a) for a in re.findall(r'align = (\d+)', text)] + [int(a) for a in re.findall(r'align\((\d+)\)', text)]
        if 'string' in text:
            aligns.append(8)
        # An array is aligned as its element, also when it is empty. A variant has no alignment of its own.
        body = text
        while 'variant' in body:
            i = body.index('variant')
            j = body.index('{', i)
            d = 1
            while d:
                j += 1
                d += {'{': 1, '}': -1}.get(body[j], 0)
            body = body[:i] + body[j + 1:]
        aligns = [int(a) for a in re.findall(r'align = (\d+)', body)] + [int(a) for a in re.findall(r'align\((\d+)\)', body)]
        if 'string' in body:
            aligns.append(8)
        a = max(aligns or [1])

        def puts(b):
            b.align(a)
            for _ in range(n):
                put(b)
        return puts

    def struct(self, depth):
        fs = self.fields(depth)
        extra = self.r.choice((0, 0, 0, 16, 64))
        text = 'struct { %s }%s' % (' '.join(d for d, _ in fs), ' align(%d)' % extra if extra else '')
        a = self.alignment(text)

        def put(b):
            b.align(a)
            for _, p in fs:
                p(b)
        return text, put

    def alignment(self, text):
        cell = []
        class Probe:
            def align(self, n):
                cell.append(n)
        self.repeat(lambda b: None, 0, text)(Probe())
        return cell[0]


def header(g, kind):
    clk = 'map = clock.c.value;'
    if kind == 'plain':
        text = ('struct { integer { size = 16; align = 8; } id; integer { size = 64; align = 8; %s } timestamp; }' % clk)

        def put(b, i, ts):
            b.align(8)
            b.put(i, 16, g.be)
            b.put(ts, 64, g.be)
    elif kind == 'odd':
        text = ('struct { integer { size = 7; align = 1; } id; integer { size = 41; align = 1; %s } timestamp; }' % clk)

        def put(b, i, ts):
            b.put(i, 7, g.be)
            b.put(ts, 41, g.be)
    else:
        a, n, last = (5, 27, 31) if kind == 'compact' else (16, 32, 65535)
        al = 1 if kind == 'compact' else 8
        text = ('struct { enum : integer { size = %d; align = %d; } { compact = 0 ... %d, extended = %d } id; '
                'variant <id> { struct { integer { size = %d; align = %d; %s } timestamp; } compact; '
                'struct { integer { size = 32; align = 8; } id; integer { size = 64; align = 8; %s } timestamp; } '
                'extended; } v; } align(8)' % (a, al, last - 1, last, n, al, clk, clk))
        state = {'ts': 0}

        def put(b, i, ts):
            b.align(8)
            if ts - state['ts'] >= 1 << n or g.r.random() < .2:
                b.put(last, a, g.be)
                b.align(8)
                b.put(i, 32, g.be)
                b.put(ts, 64, g.be)
            else:
                b.put(i, a, g.be)
                b.put(ts, n, g.be)
            state['ts'] = ts
        put.state = state
    return text, put


def packetize(g, u, text):
    out, e = b'', '>' if g.be else '<'
    raw = text.encode()
    while raw:
        part, raw = raw[:1000], raw[1000:]
        pad = g.r.randint(0, 32)
        out += struct.pack(e + 'I16sIIIBBBBB', 0x75D11D57, u.bytes, 0, (37 + len(part)) * 8, (37 + len(part) + pad) * 8,
                           0, 0, 0, 1, 8) + part + bytes(pad)
    return out


def make(path, seed):
    g = Gen(seed)
    r = g.r
    os.makedirs(path, exist_ok=True)
    u = uuid.UUID(int=r.getrandbits(128))
    u32, u64, u8 = ('integer { size = %d; align = 8; }' % n for n in (32, 64, 8))
    freq = r.choice((1000000000, 1000000000, 1000000, 1000))
    meta = ['/* CTF 1.8 */', 'trace { major = 1; minor = 8; uuid = "%s"; byte_order = %s; packet.header := struct { '
            '%s magic; %s uuid[16]; %s stream_id; }; };' % (u, 'be' if g.be else 'le', u32, u8, u32),
            'env { hostname = "h\\"%d"; number = -%d; };' % (seed, seed),
            'clock { name = c; freq = %d; offset_s = %d; offset = %d; };' % (freq, r.randint(0, 2000000000),
                                                                           r.randint(0, freq - 1))]
    ts_type = 'integer { size = 64; align = 8; map = clock.c.value; }'
    streams = []
    for sid in range(r.randint(1, 3)):
        htext, hput = header(g, r.choice(('plain', 'odd', 'compact', 'large')))
        sctx = g.struct(2) if r.random() < .4 else None
        meta.append('stream { id = %d; packet.context := struct { %s timestamp_begin; %s timestamp_end; %s content_size; '
                    '%s packet_size; %s events_discarded; %s cpu_id; }; event.header := %s;%s };' % (
                        sid, ts_type, ts_type, u64, u64, u64, u32, htext,
                        ' event.context := %s;' % sctx[0] if sctx else ''))
        events = []
        for eid in range(r.randint(1, 5)):
            ectx = g.struct(2) if r.random() < .2 else None
            fs = g.struct(0)
            meta.append('event { id = %d; name = "ev:%d_%d"; stream_id = %d;%s fields := %s; };' % (
                eid, sid, eid, sid, ' context := %s;' % ectx[0] if ectx else '', fs[0]))
            events.append((ectx, fs))
        streams.append((sid, hput, sctx, events))
    text = '\n'.join(meta)
    with open(os.path.join(path, 'metadata'), 'wb') as f:
        f.write(packetize(g, u, text) if r.random() < .6 else text.encode())
    for sid, hput, sctx, events in streams:
        for cpu in range(r.randint(1, 2)):
            ts, data = r.randint(1, 10 ** 9), b''
            for _ in range(r.randint(1, 3)):
                b = Bits()
                begin = ts
                if hasattr(hput, 'state'):
                    hput.state['ts'] = begin
                for v, n in ((0xC1FC1FC1, 32),):
                    b.put(v, n, g.be)
                for x in u.bytes:
                    b.put(x, 8, g.be)
                b.put(sid, 32, g.be)
                ctx_at = b.pos
                for n in (64, 64, 64, 64, 64, 32):
                    b.put(0, n, g.be)
                for _ in range(r.randint(0, 12)):
                    ts += r.choice((0, 1, 1000, r.randint(0, 1 << 27), r.randint(0, 1 << 34)))
                    eid = r.randrange(len(events))
                    hput(b, eid, ts)
                    if sctx:
                        sctx[1](b)
                    if events[eid][0]:
                        events[eid][0][1](b)
                    events[eid][1][1](b)
                content = b.pos
                packet = (content + 7) // 8 * 8 + 8 * r.choice((0, 0, 3, 64))
                b.b.extend(bytes(packet // 8 - len(b.b)))
                c = Bits()
                c.b, c.pos = b.b, ctx_at
                for v, n in ((begin, 64), (ts, 64), (content, 64), (packet, 64), (0, 64), (cpu, 32)):
                    c.put(v, n, g.be)
                data += bytes(b.b)
                ts += r.randint(1, 1000)
            with open(os.path.join(path, 's%d_%d' % (sid, cpu)), 'wb') as f:
                f.write(data)


if __name__ == '__main__':
    import sys
    make(sys.argv[1], int(sys.argv[2]))
