"""Makes CTF traces at random: types, alignments, byte orders, nesting, headers, contexts, packets.

make(dir, seed) writes DIR/metadata and stream files. The values are random too; what they are is for a reader
to say, and for another reader to agree. With version=2 the metadata is CTF 2's; without more=True the fields
and the bytes of the streams are those of the CTF 1.8 trace of the same seed, with it there are also the field
classes that only CTF 2 has.

A type is a dict: k says which kind, the other keys are its properties; fields of a structure are (name, type).
"""
import json, os, random, struct, uuid


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
        # As one number over the bytes that the field touches.
        first, last = p // 8, (p + size - 1) // 8 + 1
        shift = last * 8 - p - size if be else p - first * 8
        order = 'big' if be else 'little'
        old = int.from_bytes(self.b[first:last], order)
        self.b[first:last] = (old | v << shift).to_bytes(last - first, order)

    def bytes(self, data):
        self.align(8)
        for x in data:
            self.put(x, 8, False)


def reverse(v, size):
    return int(bin((1 << size) | (v & ((1 << size) - 1)))[3:][::-1], 2)


def leb128(v, signed):
    out = bytearray()
    while True:
        b = v & 0x7f
        v >>= 7
        done = v == 0 and not (signed and b & 0x40) or signed and v == -1 and b & 0x40
        out.append(b | (0 if done else 0x80))
        if done:
            return bytes(out)


def alignment(t):
    k = t['k']
    if k in ('variant', 'optional'):
        return 1
    if k == 'struct':
        return max([t['align']] + [alignment(f) for _, f in t['fields']])
    if k in ('array', 'seq'):
        return max(t.get('align', 1), alignment(t['elem']))
    return t.get('align', 8)


class Gen:
    def __init__(self, seed, version, more):
        self.r = random.Random(seed)
        self.version = version
        self.more = more
        self.be = self.r.random() < .4
        self.names = 0
        self.plain = False  # no lengths and tags

    def name(self):
        self.names += 1
        return self.r.choice(('f', '_f', '__f', 'x_')) + str(self.names)

    # ---- types ----

    def integer(self, unsigned=False, small=False):
        r = self.r
        signed = not unsigned and r.random() < .5
        foreign = r.random() < .15
        size = r.choice((3, 5, 8, 8)) if small else r.choice((8, 16, 32, 64, r.randint(1, 64)))
        align = r.choice((1, 1, 8, 8, 16, 32, 64))
        if foreign:             # a change of the byte order must be on a byte
            size, align = max(8, size // 8 * 8), max(8, align)
        t = {'k': 'int', 'size': size, 'align': align, 'signed': signed, 'be': self.be != foreign, 'foreign': foreign,
             'base': r.choice((10, 16, 8, 2))}
        if self.more and r.random() < .2:
            t['rev'] = True
        if self.more and r.random() < .25:
            t = {'k': 'varint', 'signed': signed, 'base': t['base'], 'small': small}
        return t

    def basic(self):
        r = self.r
        k = r.random()
        if k < .55:
            return self.integer()
        if k < .7:
            return {'k': 'float', 'size': r.choice((32, 64)), 'align': r.choice((8, 32, 64)), 'be': self.be}
        if k < .85:
            t = {'k': 'string'}
        else:
            t = {'k': 'text', 'n': r.randint(1, 12)}
        if self.more and r.random() < .4:
            t['enc'] = r.choice(('utf-8', 'utf-16le', 'utf-16be', 'utf-32le', 'utf-32be'))
            if t['k'] == 'text':
                t['n'] = 4 * r.randint(0, 8)
        return t

    def new(self):
        """What only CTF 2 has: a list of fields, of which the last may need the others."""
        r = self.r
        k = r.randrange(6)
        n = self.name()
        if k == 0:
            return [(n, {'k': r.choice(('bool', 'bits')), 'size': r.randint(1, 64), 'align': r.choice((1, 8)), 'be': self.be})]
        if k == 1:
            size = r.randint(1, 64)
            return [(n, {'k': 'map', 'size': size, 'align': r.choice((1, 8, 32)), 'be': self.be, 'rev': r.random() < .3,
                         'flags': {self.name(): [[b, r.randint(b, size - 1)] for b in (r.randrange(size),)] for _ in
                                   range(r.randint(1, 3))}})]
        if k == 2:
            return [(n, {'k': 'blob', 'n': r.randint(1, 9)})]  # of a blob of 0 bytes babeltrace2 2.1.1 dies
        if k == 3:
            ln = (self.name(), self.integer(unsigned=True, small=True))
            kind = r.choice(('dynblob', 'dyntext'))
            return [ln, (n, {'k': kind, 'len': ln, 'enc': r.choice(('utf-8', 'utf-16le', 'utf-32be'))})]
        if k == 4:
            sel = (self.name(), {'k': 'bool', 'size': r.randint(1, 9), 'align': 1, 'be': self.be})
            return [sel, (n, {'k': 'optional', 'sel': sel, 'elem': self.any(2)})]
        t = self.integer(small=True)
        sel = (self.name(), t)
        return [sel, (n, {'k': 'optional', 'sel': sel, 'ranges': [[-3, 1], [4, 4], [100, 10 ** 19]], 'elem': self.any(2)})]

    def any(self, depth):
        return self.struct(depth + 1) if self.r.random() < .4 else self.basic()

    def enum(self):
        t = self.integer(unsigned=True, small=True)
        hi = (1 << t['size']) - 1 if t['k'] == 'int' else 300
        at = 0
        t['maps'] = []
        for lab in [self.name() for _ in range(self.r.randint(1, 4))]:
            end = min(hi, at + self.r.choice((0, 0, 3)))
            if at > hi:
                break
            t['maps'].append((lab, at, end))
            at = end + 1
        return t

    def fields(self, depth):
        r = self.r
        out = []
        for _ in range(r.randint(1, 5)):
            k = r.random()
            if self.more and not self.plain and depth <= 3 and r.random() < .35:
                out += self.new()
            elif depth > 3 or k < .5:
                out.append((self.name(), self.basic()))
            elif k < .62:
                out.append((self.name(), self.struct(depth + 1)))
            elif k < .72:
                out.append((self.name(), {'k': 'array', 'n': r.randint(0, 4), 'elem': self.element(depth)}))
                if self.more:
                    out[-1][1]['align'] = r.choice((1, 1, 32))
            elif self.plain:
                continue
            elif k < .86:
                ln = (self.name(), self.integer(unsigned=True, small=True))
                out += [ln, (self.name(), {'k': 'seq', 'len': ln, 'elem': self.element(depth)})]
            else:
                tag = (self.name(), self.enum())
                opts = [(lab, self.any(depth)) for lab, _, _ in tag[1]['maps']]
                opts = [(n, t if t['k'] != 'text' or self.version == 2 and self.more else {'k': 'string'}) for n, t in opts]
                out += [tag, (self.name(), {'k': 'variant', 'tag': tag, 'opts': opts})]
        return out or [(self.name(), self.basic())]

    def element(self, depth):
        k = self.r.random()
        if k < .5 or depth > 2:
            t = self.basic()
            return t if t['k'] != 'text' or self.more else {'k': 'string'}
        return self.struct(depth + 1)

    def struct(self, depth):
        return {'k': 'struct', 'fields': self.fields(depth), 'align': self.r.choice((1, 1, 1, 16, 64))}

    # ---- values ----

    def word(self, n=14):
        return ''.join(self.r.choice('abcdefgh /."\\' + ('\u00e4\u20ac\U0001f600' if self.more else '')) for _ in
                       range(self.r.randint(0, n)))

    def put(self, b, t):
        r, k = self.r, t['k']
        if k == 'struct':
            b.align(alignment(t))
            for _, f in t['fields']:
                self.put(b, f)
        elif k == 'int':
            lo, hi = (-(1 << t['size'] - 1), (1 << t['size'] - 1) - 1) if t['signed'] else (0, (1 << t['size']) - 1)
            v = r.choice((lo, hi, r.randint(lo, hi)))
            self.put_int(b, t, v)
        elif k == 'varint':
            v = r.choice((0, 1, r.randint(0, 300), r.getrandbits(63), (1 << 63) - 1))
            if t['small']:
                v %= 8
            if t['signed'] and r.random() < .5:
                v = -v - 1
            self.put_int(b, t, v if t['signed'] or r.random() < .8 or t['small'] else (1 << 64) - 1)
        elif k in ('bool', 'bits', 'map'):
            b.align(t['align'])
            t['v'] = r.choice((0, 1, r.getrandbits(t['size']))) & ((1 << t['size']) - 1)
            b.put(reverse(t['v'], t['size']) if t.get('rev') else t['v'], t['size'], t['be'])
        elif k == 'float':
            b.align(t['align'])
            raw = struct.pack('>f' if t['size'] == 32 else '>d', r.uniform(-1e9, 1e9))
            b.put(int.from_bytes(raw, 'big'), t['size'], t['be'])
        elif k == 'string':
            b.bytes((self.word() + '\0').encode(t.get('enc', 'utf-8')))
        elif k in ('text', 'dyntext'):
            n = t['n'] if k == 'text' else t['len'][1]['v']
            unit = int(t.get('enc', 'utf-8')[4:].strip('-lbe')) // 8
            w = self.word(n).encode(t.get('enc', 'utf-8'))
            while len(w) > n:
                w = w.decode(t.get('enc', 'utf-8'))[:-1].encode(t.get('enc', 'utf-8'))
            b.bytes(w.ljust(n // unit * unit, b'\0') + bytes(n % unit))
        elif k in ('blob', 'dynblob'):
            b.bytes(bytes(r.getrandbits(8) for _ in range(t['n'] if k == 'blob' else t['len'][1]['v'])))
        elif k == 'array' or k == 'seq':
            if k == 'seq':
                n = t['len'][1]['v']
            b.align(alignment(t))
            for _ in range(t['n'] if k == 'array' else n):
                self.put(b, t['elem'])
        elif k == 'variant':
            tag = t['tag'][1]
            i = [i for i, (_, lo, hi) in enumerate(tag['maps']) if lo <= tag['v'] <= hi][0]
            self.put(b, t['opts'][i][1])
        elif k == 'optional':
            v = t['sel'][1]['v']
            if any(lo <= v <= hi for lo, hi in t['ranges']) if 'ranges' in t else v:
                self.put(b, t['elem'])

    def put_int(self, b, t, v):
        if 'use' in t:  # a length: short; dyntext: whole characters
            v = self.r.randint(0, 7) // t['use'] * t['use'] if t['k'] == 'varint' or t['size'] > 3 else 0 if t['use'] > 1 else self.r.randint(0, 5)
        if 'maps' in t:
            _, lo, hi = self.r.choice(t['maps'])
            v = self.r.randint(lo, hi)
        t['v'] = v
        if t['k'] == 'varint':
            b.bytes(leb128(v, t['signed']))
            return
        b.align(t['align'])
        b.put(reverse(v, t['size']) if t.get('rev') else v, t['size'], t['be'])
        if t['foreign']:
            b.align(8)


def mark_lengths(t):
    """Tells the integers that are lengths so."""
    for f in [f for _, f in t.get('fields', [])] + [f for _, f in t.get('opts', [])] + ([t['elem']] if 'elem' in t else []):
        mark_lengths(f)
    if 'len' in t:
        enc = t.get('enc', 'utf-8') if t['k'] == 'dyntext' else 'utf-8'
        t['len'][1]['use'] = int(enc[4:].strip('-lbe')) // 8


# ---- CTF 1.8: TSDL ----

def tsdl(t, name=''):
    k = t['k']
    after = ' ' + name if name else ''
    if k == 'struct':
        return 'struct { %s }%s%s' % (' '.join(tsdl(f, n) + ';' for n, f in t['fields']),
                                      ' align(%d)' % t['align'] if t['align'] > 1 else '', after)
    if k == 'int':
        text = 'integer { size = %d; align = %d; signed = %s; base = %s;%s%s }' % (
            t['size'], t['align'], 'true' if t['signed'] else 'false', {10: '10', 16: 'hex', 8: '8', 2: 'b'}[t['base']],
            ' byte_order = %s;' % ('be' if t['be'] else 'le') if t['foreign'] else '', t.get('map', ''))
        if 'maps' in t:
            text = 'enum : %s { %s }' % (text, ', '.join('%s = %d' % (n, lo) if lo == hi else '%s = %d ... %d' % (n, lo, hi)
                                                         for n, lo, hi in t['maps']))
        return text + after
    if k == 'float':
        return 'floating_point { exp_dig = %d; mant_dig = %d; align = %d; }%s' % (
            *((8, 24) if t['size'] == 32 else (11, 53)), t['align'], after)
    if k == 'string':
        return 'string' + after
    if k == 'text':
        return 'integer { size = 8; align = 8; signed = false; encoding = UTF8; }%s[%d]' % (after, t['n'])
    if k == 'blob':
        return 'integer { size = 8; align = 8; }%s[%d]' % (after, t['n'])
    if k == 'array':
        return '%s%s[%d]' % (tsdl(t['elem']), after, t['n'])
    if k == 'seq':
        return '%s%s[%s]' % (tsdl(t['elem']), after, t['len'][0])
    if k == 'variant':
        return 'variant <%s> { %s }%s' % (t['tag'][0], ' '.join(tsdl(f, n) + ';' for n, f in t['opts']), after)
    raise ValueError(k)


def tsdl_metadata(g, tr):
    lines = ['/* CTF 1.8 */', 'trace { major = 1; minor = 8; uuid = "%s"; byte_order = %s; packet.header := %s; };' % (
        tr['uuid'], 'be' if g.be else 'le', tsdl(tr['header']))]
    lines.append('env { %s };' % ' '.join('%s = %s;' % (n, json.dumps(v)) for n, v in tr['env'].items()))
    lines.append('clock { name = c; freq = %d; offset_s = %d; offset = %d; };' % (tr['freq'], tr['offset_s'], tr['offset']))
    for s in tr['streams']:
        lines.append('stream { id = %d; packet.context := %s; event.header := %s;%s };' % (
            s['id'], tsdl(s['context']), tsdl(s['header']), ' event.context := %s;' % tsdl(s['sctx']) if s['sctx'] else ''))
        for e in s['events']:
            lines.append('event { id = %d; name = "%s"; stream_id = %d;%s fields := %s; };' % (
                e['id'], e['name'], s['id'], ' context := %s;' % tsdl(e['ctx']) if e['ctx'] else '', tsdl(e['fields'])))
    return '\n'.join(lines)


# ---- CTF 2: JSON ----

class Json:
    def __init__(self, g):
        self.g = g
        self.r = random.Random(g.names)
        self.aliases = []
        self.named = 0

    def location(self, name, stack):
        """stack: [origin, (member, in a structure), ...] of the structure that the field is in."""
        path = [m for m, _ in stack[1:] if m is not None]
        k = self.r.randrange(3)
        if k == 0 or not path and k == 2:
            return {'path': [name]}
        if k == 1:
            return {'origin': stack[0], 'path': path + [name]}
        return {'path': [None, path[-1], name]}

    def fc(self, t, stack):
        o = self.fc_(t, stack)
        if self.r.random() < .1:
            o['attributes'] = {'some.tracer': {'x': [1, 2.5, None]}}
        if self.r.random() < .1 and t['k'] in ('int', 'string', 'float', 'varint') and not t.get('roles'):
            self.named += 1
            name = 'alias %d' % self.named
            self.aliases.append({'type': 'field-class-alias', 'name': name, 'field-class': o})
            return name
        return o

    def fc_(self, t, stack):
        k = t['k']
        if k == 'struct':
            o = {'type': 'structure'}
            if t['fields']:
                o['member-classes'] = [{'name': n, 'field-class': self.fc(f, stack + [(n, True)])} for n, f in t['fields']]
            # a field's own place: the stack without its own name
            if t['align'] > 1:
                o['minimum-alignment'] = t['align']
            return o
        order = {'byte-order': 'big-endian' if t.get('be') else 'little-endian'}
        if t.get('rev'):
            order['bit-order'] = 'first-to-last' if t['be'] else 'last-to-first'
        if 'align' in t and t['align'] > 1 and k not in ('array', 'seq'):
            order['alignment'] = t['align']
        o = {}
        if t.get('base', 10) != 10:
            o['preferred-display-base'] = t['base']
        if t.get('roles'):
            o['roles'] = t['roles']
        if 'maps' in t:
            o['mappings'] = {n: [[lo, hi]] for n, lo, hi in t['maps']}
        sign = 'signed' if t.get('signed') else 'unsigned'
        if k == 'int':
            return dict({'type': 'fixed-length-%s-integer' % sign, 'length': t['size'], **order}, **o)
        if k == 'varint':
            return dict({'type': 'variable-length-%s-integer' % sign}, **o)
        if k == 'float':
            return {'type': 'fixed-length-floating-point-number', 'length': t['size'], **order}
        if k in ('bool', 'bits'):
            return {'type': 'fixed-length-boolean' if k == 'bool' else 'fixed-length-bit-array', 'length': t['size'], **order}
        if k == 'map':
            return {'type': 'fixed-length-bit-map', 'length': t['size'], 'flags': t['flags'], **order}
        enc = {'encoding': t['enc']} if 'enc' in t else {}
        here = stack[:-1]
        if k == 'string':
            return {'type': 'null-terminated-string', **enc}
        if k == 'text':
            return {'type': 'static-length-string', 'length': t['n'], **enc}
        if k == 'dyntext':
            return {'type': 'dynamic-length-string', 'length-field-location': self.location(t['len'][0], here), **enc}
        if k == 'blob':
            return dict({'type': 'static-length-blob', 'length': t['n']}, **o)
        if k == 'dynblob':
            return {'type': 'dynamic-length-blob', 'length-field-location': self.location(t['len'][0], here),
                    'media-type': 'image/png'}
        if k in ('array', 'seq'):
            o = {'type': 'static-length-array', 'length': t['n']} if k == 'array' else \
                {'type': 'dynamic-length-array', 'length-field-location': self.location(t['len'][0], here)}
            if t.get('align', 1) > 1:
                o['minimum-alignment'] = t['align']
            o['element-field-class'] = self.fc(t['elem'], stack)
            return o
        if k == 'variant':
            return {'type': 'variant', 'selector-field-location': self.location(t['tag'][0], here), 'options': [
                {'name': n, 'selector-field-ranges': [[lo, hi]], 'field-class': self.fc(f, stack)}
                for (n, f), (_, lo, hi) in zip(t['opts'], t['tag'][1]['maps'])]}
        o = {'type': 'optional', 'selector-field-location': self.location(t['sel'][0], here),
             'field-class': self.fc(t['elem'], stack)}
        if 'ranges' in t:
            signed = t['sel'][1]['signed']
            o['selector-field-ranges'] = [[lo if signed else max(0, lo), min(hi, (1 << 63) - 1) if signed else hi]
                                          for lo, hi in t['ranges']]
        return o

    def root(self, t, origin):
        o = self.fc_(t, [origin])
        return o


def json_metadata(g, tr):
    j = Json(g)
    frags = []

    def add(f):
        frags.extend(j.aliases)
        del j.aliases[:]
        frags.append(f)
    add({'type': 'preamble', 'version': 2, 'uuid': list(tr['uuid'].bytes)})
    add({'type': 'trace-class', 'environment': tr['env'], 'packet-header-field-class': j.root(tr['header'], 'packet-header')})
    clock = {'type': 'clock-class', 'id': 'default', 'frequency': tr['freq'],
             'offset-from-origin': {'seconds': tr['offset_s'], 'cycles': tr['offset']}, 'name': 'c'}
    if tr['offset'] % 2:
        clock['origin'] = 'unix-epoch'
    add(clock)
    for s in tr['streams']:
        f = {'type': 'data-stream-class', 'id': s['id'], 'default-clock-class-id': 'default',
             'packet-context-field-class': j.root(s['context'], 'packet-context'),
             'event-record-header-field-class': j.root(s['header'], 'event-record-header')}
        if s['sctx']:
            f['event-record-common-context-field-class'] = j.root(s['sctx'], 'event-record-common-context')
        add(f)
        for e in s['events']:
            f = {'type': 'event-record-class', 'id': e['id'], 'data-stream-class-id': s['id'], 'name': e['name'],
                 'payload-field-class': j.root(e['fields'], 'event-record-payload')}
            if e['ctx']:
                f['specific-context-field-class'] = j.root(e['ctx'], 'event-record-specific-context')
            add(f)
    return ''.join('\x1e%s\n' % json.dumps(f, indent=g.r.choice((None, 1)), ensure_ascii=g.r.random() < .5) for f in frags)


# ---- a trace ----

def u(g, size, roles=(), clock=False, align=8):
    return {'k': 'int', 'size': size, 'align': align, 'signed': False, 'be': g.be, 'foreign': False, 'base': 10,
            'roles': list(roles), 'map': ' map = clock.c.value;' if clock else ''}


def header_type(g, kind):
    ID, TS = ['event-record-class-id'], ['default-clock-timestamp']
    if kind == 'plain':
        return {'k': 'struct', 'align': 1, 'fields': [('id', u(g, 16, ID)), ('timestamp', u(g, 64, TS, True))]}
    if kind == 'odd':
        return {'k': 'struct', 'align': 1, 'fields': [('id', u(g, 7, ID, align=1)), ('timestamp', u(g, 41, TS, True, 1))]}
    if kind == 'varint':
        v = {'k': 'varint', 'signed': False, 'small': False}
        # Not for the time: babeltrace2 2.1.1 ORs one of variable length with the last, which section 6.3 of the
        # specification does not say (unit/format_ctf2 has such).
        return {'k': 'struct', 'align': 1, 'fields': [('the id', dict(v, roles=ID)), ('when', u(g, 41, TS, align=1))]}
    a, n, last = (5, 27, 31) if kind == 'compact' else (16, 32, 65535)
    al = 1 if kind == 'compact' else 8
    tag = u(g, a, ID, align=al)
    tag['maps'] = [('compact', 0, last - 1), ('extended', last, last)]
    return {'k': 'struct', 'align': 8, 'fields': [('id', tag), ('v', {'k': 'variant', 'tag': ('id', tag), 'opts': [
        ('compact', {'k': 'struct', 'align': 1, 'fields': [('timestamp', u(g, n, TS, True, al))]}),
        ('extended', {'k': 'struct', 'align': 1, 'fields': [('id', u(g, 32, ID)), ('timestamp', u(g, 64, TS, True))]})]})]}


def put_header(g, b, kind, i, ts, state):
    b.align(1 if kind == 'odd' else 8)
    if kind == 'plain':
        b.put(i, 16, g.be)
        b.put(ts, 64, g.be)
    elif kind == 'odd':
        b.put(i, 7, g.be)
        b.put(ts, 41, g.be)
    elif kind == 'varint':
        b.bytes(leb128(i, False))
        b.put(ts, 41, g.be)
    else:
        a, n, last = (5, 27, 31) if kind == 'compact' else (16, 32, 65535)
        if ts - state['ts'] >= 1 << n or g.r.random() < .2:
            b.put(last, a, g.be)
            b.align(8)
            b.put(i, 32, g.be)
            b.put(ts, 64, g.be)
        else:
            b.put(i, a, g.be)
            b.put(ts, n, g.be)
        state['ts'] = ts


def packetize(g, u, text):
    out, e = b'', '>' if g.be else '<'
    raw = text.encode()
    while raw:
        part, raw = raw[:1000], raw[1000:]
        pad = g.r.randint(0, 32)
        out += struct.pack(e + 'I16sIIIBBBBB', 0x75D11D57, u.bytes, 0, (37 + len(part)) * 8, (37 + len(part) + pad) * 8,
                           0, 0, 0, 1, 8) + part + bytes(pad)
    return out


def streams(g, path, tr):
    r = g.r
    for s in tr['streams']:
        for cpu in range(r.randint(1, 2)):
            ts, data = r.randint(1, 10 ** 9), b''
            for _ in range(r.randint(1, 3)):
                b = Bits()
                begin, state = ts, {'ts': ts}
                for name, t in tr['header']['fields']:
                    if name == 'uuid':
                        b.bytes(tr['uuid'].bytes)
                        continue
                    b.align(t['align'])
                    b.put(0xC1FC1FC1 if name == 'magic' else s['id'], t['size'], g.be)
                b.align(alignment(s['context']))
                ctx_at = {}
                for name, t in s['context']['fields']:
                    b.align(t['align'])
                    ctx_at[name] = b.pos, t['size']
                    b.put(0, t['size'], g.be)
                for _ in range(r.randint(0, 12)):
                    ts += r.choice((0, 1, 1000, r.randint(0, 1 << 27), r.randint(0, 1 << 34)))
                    e = r.choice(s['events'])
                    put_header(g, b, s['kind'], e['id'], ts, state)
                    for t in (s['sctx'], e['ctx'], e['fields']):
                        if t:
                            g.put(b, t)
                content = b.pos
                packet = (content + 7) // 8 * 8 + 8 * r.choice((0, 0, 3, 64))
                b.b.extend(bytes(packet // 8 - len(b.b)))
                c = Bits()
                c.b = b.b
                for name, v in (('timestamp_begin', begin), ('timestamp_end', ts), ('content_size', content),
                                ('packet_size', packet), ('cpu_id', cpu)):
                    c.pos, n = ctx_at[name]
                    c.put(v, n, g.be)
                data += bytes(b.b)
                ts += r.randint(1, 1000)
            with open(os.path.join(path, 's%d_%d' % (s['id'], cpu)), 'wb') as f:
                f.write(data)


def make(path, seed, version=1, more=False):
    g = Gen(seed, version, more)
    r = g.r
    os.makedirs(path, exist_ok=True)
    uid = uuid.UUID(int=r.getrandbits(128))
    freq = r.choice((1000000000, 1000000000, 1000000, 1000))
    # LTTng aligns its headers to bytes; barectf as the processor would, with sizes of its user's choice.
    bare = r.random() < .4

    def h(size, *a):
        return u(g, size, *a, align=size if bare else 8)
    tr = {'uuid': uid, 'freq': freq, 'offset_s': r.randint(0, 2000000000), 'offset': r.randint(0, freq - 1),
          'env': {'hostname': 'h"%d' % seed, 'number': -seed}, 'streams': [],
          'header': {'k': 'struct', 'align': 1, 'fields': [
              ('magic', h(32, ['packet-magic-number'])),
              ('uuid', {'k': 'blob', 'n': 16, 'roles': ['metadata-stream-uuid']}),
              ('stream_id', h(r.choice((8, 16, 64)) if bare else 32, ['data-stream-class-id']))]}}
    for sid in range(r.randint(1, 3)):
        kind = r.choice(('plain', 'odd', 'compact', 'large') + (('varint',) if more else ()))
        s = {'id': sid, 'kind': kind, 'header': header_type(g, kind), 'sctx': g.struct(2) if r.random() < .4 else None,
             'events': [], 'context': {'k': 'struct', 'align': 1, 'fields': [
                 ('timestamp_begin', h(64, ['default-clock-timestamp'], True)),
                 ('timestamp_end', h(64, ['packet-end-default-clock-timestamp'], True)),
                 ('content_size', h(32 if bare else 64, ['packet-content-length'])),
                 ('packet_size', h(32 if bare else 64, ['packet-total-length'])),
                 ('events_discarded', h(16 if bare else 64, ['discarded-event-record-counter-snapshot'])),
                 ('cpu_id', h(r.choice((8, 32)) if bare else 32))]}}
        if bare:
            r.shuffle(s['context']['fields'])
        for eid in range(r.randint(1, 5)):
            # Both babeltrace2 2.0 and 2.1 die of a length or a tag in an event's own context in TSDL.
            g.plain = not more
            ctx = g.struct(2) if r.random() < .2 else None
            g.plain = False
            s['events'].append({'id': eid, 'name': 'ev:%d_%d' % (sid, eid), 'ctx': ctx, 'fields': g.struct(0)})
        tr['streams'].append(s)
    for s in tr['streams']:
        for t in [s['sctx']] + [e[k] for e in s['events'] for k in ('ctx', 'fields')]:
            if t:
                mark_lengths(t)
    packed = r.random() < .6
    with open(os.path.join(path, 'metadata'), 'wb') as f:
        text = tsdl_metadata(g, tr) if version == 1 else json_metadata(g, tr)
        f.write(packetize(g, uid, text) if packed and version == 1 else text.encode())
    # The same values in both versions, whatever was drawn for the metadata.
    g.r = random.Random(seed + 1000000)
    streams(g, path, tr)


if __name__ == '__main__':
    import sys
    make(sys.argv[1], int(sys.argv[2]), *[int(a) for a in sys.argv[3:]])
