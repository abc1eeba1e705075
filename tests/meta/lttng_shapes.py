#!/usr/bin/python3
"""Our metadata is LTTng's kernel tracer's: all that stands before the events, and of every event that both have
the fields' names, types and order.

The judge is the metadata of an LTTng trace (WW_TRACES/single), unpacked by babeltrace2; ours is that of a
recording made now, or of the trace named on the command line. TAP; 77 when there is nothing to compare."""
import difflib, os, re, struct, subprocess, sys, tempfile

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.environ.get('WW_TRACES') or os.path.join(os.path.dirname(SRC), 'shared/traces')
WHYWAIT = os.environ.get('WHYWAIT') or os.path.join(SRC, 'build/whywait')


def unpack(path):
    """The text of a packetised metadata file."""
    data = open(path, 'rb').read()
    text, at = [], 0
    while at < len(data):
        magic, = struct.unpack_from('<I', data, at)
        assert magic == 0x75D11D57, '%s: no metadata packet at %d' % (path, at)
        content, packet = struct.unpack_from('<II', data, at + 24)
        text.append(data[at + 37:at + content // 8])
        at += packet // 8
    return b''.join(text).decode()


def find_metadata(root):
    for base, _, files in os.walk(root):
        if 'metadata' in files:
            yield os.path.join(base, 'metadata')


def events(text):
    """name -> the event's whole block but its id, blanks normalised: fields' names, types, order; stream; contexts."""
    found, ids = {}, []
    for body in re.split(r'\nevent \{\n', text)[1:]:
        depth, end = 1, 0
        while depth:
            depth += {'{': 1, '}': -1}.get(body[end], 0)
            end += 1
        body = body[:end - 1]
        name = re.search(r'name = "([^"]*)"', body).group(1)
        ids.append(re.search(r'\n\tid = (\d+);', '\n' + body).group(1))
        found[name] = re.sub(r'\s+', ' ', re.sub(r'(?m)^\tid = \d+;', '', body)).strip()
    return found, ids


# What may differ before the first event: whose trace it is, when it was made, and one more name in env.
OWN = [r'(?<=\tuuid = )"[0-9a-f-]{36}"', r'(?<=\thostname = )"[^"]*"', r'(?<=\tkernel_release = )"[^"]*"',
       r'(?<=\tkernel_version = )"[^"]*"', r'(?<=\ttrace_name = )"[^"]*"', r'(?<=\ttrace_creation_datetime = )"\d{8}T\d{6}\+0000"',
       r'(?<=\toffset = )-?\d+']


def preamble(text):
    """Types, trace, env, clock, packet context, event headers, streams: all that stands before the events."""
    text = text[:text.index('\nevent {\n')]
    for pattern in OWN:
        text = re.sub(pattern, '...', text)
    text = re.sub(r'\n\twhywait_(?:version|in_full) = "[^"]*";', '', text)
    return [l for l in (re.sub(r'\s+', ' ', l).strip() for l in text.split('\n')) if l]


def problems(ours, theirs):
    """[(what, detail)] in which our metadata is not LTTng's."""
    bad = []
    diff = [l for l in difflib.unified_diff(preamble(theirs), preamble(ours), 'LTTng', 'ours', lineterm='', n=0)]
    if diff:
        bad.append(('what stands before the events', '\n'.join(diff)))
    (a, ids), (b, _) = events(ours), events(theirs)
    bad += [(name, 'ours   %s\nLTTng  %s' % (a[name], b[name])) for name in sorted(set(a) & set(b)) if a[name] != b[name]]
    # x86_irq_vectors_* are LTTng's, but were not enabled in that trace; each has its one field, `int vector`.
    foreign = [x for x in a if x not in b and not x.startswith('whywait_') and not VECTOR.fullmatch(x + ' ' + a[x])]
    if foreign:
        bad.append(('what LTTng has no name for is called whywait_*', ' '.join(foreign)))
    if len(set(ids)) != len(ids) or max(map(int, ids)) > 65534:
        bad.append(('ids', 'not unique, or not for a compact header'))
    return bad


VECTOR = re.compile(r'(x86_irq_vectors_\w+) name = "\1"; stream_id = 0; fields := struct \{ '
                    r'integer \{ size = 32; align = 8; signed = 1; encoding = none; base = 10; \} _vector; \};')
# Each of these changes to our metadata must be noticed: the check has teeth.
BITES = [('a field of another type', r'(name = "sched_switch";.*?)signed = 1', r'\1signed = 0'),
         ('a field of another size', r'(name = "irq_handler_entry";.*?size = )32', r'\g<1>64'),
         ('a field of another name', r'(name = "sched_waking";.*?)_target_cpu', r'\1_cpu'),
         ('two fields exchanged', r'(name = "irq_handler_exit";.*?struct \{\n)(.*?\n)(.*?\n)', r'\1\3\2'),
         ('a field less', r'(name = "sched_wakeup";.*?struct \{\n).*?\n', r'\1'),
         ('an enumeration\'s value', r'(name = "syscall_entry_mmap";.*?= )1\b', r'\g<1>3'),
         ('an event that is not LTTng\'s', r'name = "whywait_clock"', 'name = "sched_clock"'),
         ('an event of another stream', r'(name = "sched_switch";.*?stream_id = )0', r'\g<1>1'),
         ('a context', r'(stream \{.*?)(event.header)', r'\1event.context := struct { uint32_t _tid; };\n\t\2'),
         ('the packet context', r'(struct packet_context \{.*?)uint64_t packet_seq_num;', r'\1uint32_t packet_seq_num;'),
         ('the event header', r'(struct event_header_large \{.*?)65534', r'\g<1>65535'),
         ('the trace\'s packet header', r'uint64_t stream_instance_id;', 'uint32_t stream_instance_id;'),
         ('the clock\'s frequency', r'freq = 1000000000', 'freq = 1000000'),
         ('the clock\'s name', r'name = "monotonic"', 'name = "mono"'),
         ('the byte order', r'byte_order = le', 'byte_order = be'),
         ('a name of env less', r'\ttracer_patchlevel = \d+;\n', ''),
         ('the tracer', r'"lttng-modules"', '"whywait"'),
         ('an id twice', r'(name = "whywait_clock";\s+id = )\d+', r'\g<1>1')]


n = failed = 0


def check(good, text, detail=''):
    global n, failed
    n += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', n, text))
    if not good:
        print('\n'.join('#   ' + l for l in detail.splitlines()))


def main():
    theirs = None
    for path in find_metadata(os.path.join(TRACES, 'single')):
        text = unpack(path)
        if 'tracer_name = "lttng-modules"' in text:
            theirs = text
    if theirs is None:
        print('no LTTng kernel trace in %s/single' % TRACES)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp:
        if len(sys.argv) > 1:
            trace = sys.argv[1]
        else:
            trace = os.path.join(tmp, 't')
            r = subprocess.run([WHYWAIT, 'record', '-q', '-o', trace, '--', 'true'], capture_output=True, text=True)
            if not os.path.exists(os.path.join(trace, 'metadata')):
                print('nothing was recorded: ' + r.stderr.strip())
                sys.exit(77)
        ours = unpack(os.path.join(trace, 'metadata'))
    both = set(events(ours)[0]) & set(events(theirs)[0])
    bad = problems(ours, theirs)
    for what, detail in bad:
        check(False, what, detail)
    check(not bad, 'types, headers, contexts, clock, env are LTTng\'s; so are the fields of %d events' % len(both))
    check(len(both) >= 1000, 'that many events stand in both: %d' % len(both))
    for what, pattern, other in BITES:
        changed, times = re.subn('(?s)' + pattern, other, ours, count=1)
        check(times == 1 and problems(changed, theirs) != bad, 'noticed: ' + what)
    print('1..%d' % n)
    sys.exit(1 if failed else 0)


main()
