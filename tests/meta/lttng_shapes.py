#!/usr/bin/python3
"""For every event of ours that LTTng's kernel tracer has too, the fields are LTTng's: names, types, order.

The judge is the metadata of an LTTng trace (WW_TRACES/single), unpacked by babeltrace2; ours is that of a
recording made now, or of the trace named on the command line. TAP; 77 when there is nothing to compare."""
import os, re, struct, subprocess, sys, tempfile

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
    """name -> list of normalised fields, from `event { name = "..."; ... fields := struct { ... }; };`"""
    found = {}
    for block in re.split(r'\nevent \{\n', text)[1:]:
        name = re.search(r'name = "([^"]*)"', block).group(1)
        body = block[block.index('fields := struct {') + len('fields := struct {'):]
        depth, end = 1, 0
        while depth:
            depth += {'{': 1, '}': -1}.get(body[end], 0)
            end += 1
        found[name] = re.sub(r'\s+', ' ', body[:end - 1]).strip()
    return found


def block(text, head):
    m = re.search(r'(?ms)^' + re.escape(head) + r'.*?^\}[^\n]*;', text)
    return re.sub(r'\s+', ' ', m.group(0)) if m else None


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
    a, b = events(ours), events(theirs)
    both = sorted(set(a) & set(b))
    check(len(both) >= 60, '%d events stand in both' % len(both))
    for name in both:
        if a[name] != b[name]:
            check(False, name, 'ours   %s\nLTTng  %s' % (a[name], b[name]))
    check(not [x for x in both if a[x] != b[x]], 'their fields are the same')
    foreign = [x for x in a if x not in b and not x.startswith('whywait_')]
    # System calls and events that this LTTng trace's kernel (6.1) or configuration did not have.
    foreign = [x for x in foreign if not re.match(r'(compat_)?syscall_(entry|exit)_', x)]
    check(not foreign, 'what LTTng has no name for is called whywait_*', '\n'.join(foreign))
    for head in ('struct packet_context {', 'struct event_header_large {', 'stream {'):
        check(block(ours, head) == block(theirs, head), 'the same ' + head.split(' {')[0],
              '%s\n%s' % (block(ours, head), block(theirs, head)))
    env = dict(re.findall(r'^\t(\w+) = "?([^";]*)"?;', re.search(r'(?ms)^env \{(.*?)^\};', ours).group(1), re.M))
    env2 = dict(re.findall(r'^\t(\w+) = "?([^";]*)"?;', re.search(r'(?ms)^env \{(.*?)^\};', theirs).group(1), re.M))
    check(not set(env2) - set(env), "all names of LTTng's environment", str(set(env2) - set(env)))
    check(all(env[k] == env2[k] for k in ('domain', 'sysname', 'tracer_name', 'tracer_major', 'tracer_minor')),
          'the environment says which shapes these are')
    print('1..%d' % n)
    sys.exit(1 if failed else 0)


main()
