#!/usr/bin/python3
"""What is written down in more than one place says the same in each: kinds of files, events, tokens. TAP."""
import json, os, re, sys

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

tap = Tap()
check = tap.none


def read(*path):
    return open(os.path.join(SRC, *path), errors='replace').read()


def differ(a, b):
    return ['%s: %s, %s' % (i, x, y) for i, (x, y) in enumerate(zip(a + [None] * len(b), b + [None] * len(a))) if x != y]


# ---- the kinds of files: the eBPF side's, the facts' ----

bpf = re.search(r'enum \{ (FK_UNKNOWN[^}]*)\}', read('src/record/bpf/file.bpf.h'))
facts = re.search(r'enum ww_file_kind \{([^}]*)\}', read('src/facts/facts.h'))
ours = re.findall(r'FK_\w+', bpf.group(1)) if bpf else []
theirs = [k[3:] for k in re.findall(r'WW_FK_\w+', facts.group(1))] if facts else []
check([] if len(ours) > 10 and theirs[-1:] == ['FK_N'] else ['the enums are not where they were'], 'both have kinds of files')
check(differ(ours, theirs[:-1]), 'enum FK_* of the recorder is enum ww_file_kind')

# ---- our own events: what is written, what the documentation says, what the model asks for ----


def fields_of(body):
    """[(name, type)] of the macros of classes.c."""
    body = body.replace('ARGS', ''.join('X64("arg%d") ' % i for i in range(6)))
    body = body.replace('COMM', 'INT(8, 1, 10, "comm[16]")')
    r = []
    for m in re.finditer(r'\b(?:([IUX])(\d+)|(STR))\("(\w+)"\)|INT\((\d+), (\d), \d+, "(\w+)', body):
        kind, bits, text, name, ibits, signed, iname = m.groups()
        if text:
            r.append((name, 'string'))
        elif iname:
            r.append((iname, '%s%s[]' % ('i' if signed == '1' else 'u', ibits)))
        else:
            r.append((name, ('i' if kind == 'I' else 'u') + bits))
    return r


def documented(text):
    r = []
    for part in text.split(', '):
        m = re.match(r'(\w+) (\w+?)(\d?)(?:\.\.(\w+?)(\d))?(\[.*\])?$', part.strip())
        if not m:
            return ['cannot be read: ' + part]
        kind, name, first, last_name, last, array = m.groups()
        if last:
            r += [('%s%d' % (name, i), kind) for i in range(int(first), int(last) + 1)]
        else:
            r.append((name + first, kind + '[]' if array else kind))
    return r


written = {}
for m in re.finditer(r'OWN\(\w+, "(\w+)",\s*((?:[^()]|\([^()]*\))*)\)', read('src/record/classes.c')):
    written['whywait_' + m.group(1)] = fields_of(m.group(2))
said = {}
for line in read('docs/formats/whywait-events.md').splitlines():
    cells = [c.strip() for c in line.split('|')]
    if len(cells) < 4 or not cells[1].startswith('`whywait_'):
        continue
    names, bodies = re.findall(r'`(\w+)`', cells[1]), cells[2].split(' / ')
    for i, name in enumerate(names):
        said[name] = documented(bodies[min(i, len(bodies) - 1)])
check([] if len(written) > 20 else ['only %d' % len(written)], 'classes.c has our own events')
check(sorted(set(written) ^ set(said)), 'docs/formats/whywait-events.md has each of them')
check(['%s: written %s, said %s' % (k, written[k], said[k]) for k in sorted(written) if k in said and written[k] != said[k]],
      'and the same fields of each')
asked = re.findall(r'\{WW_K_\w+, "(whywait_\w+)",\s*"([^"]*)"\}', read('src/model/vocab.c'))
check([] if len(asked) > 10 else ['only %d' % len(asked)], 'the model knows our own events')
bad = []
for name, slots in asked:
    have = [f[0] for f in written.get(name, [])]
    bad += ['%s has no %s' % (name, s) for s in slots.split() if not set(re.split(r'[|&]', s)) & set(have)]
check(bad, 'and asks them for fields that they have')

# ---- tokens: names.c, the documentation, the schemas ----

names_c = read('src/facts/names.c')


def tokens(what):
    m = re.search(r'%s_names\[\w+\] = \{([^}]*)\}' % what, names_c)
    return {t for t in re.findall(r'"([^"]*)"', m.group(1)) if t} if m else set()


doc = read('docs/json.md')
doc = doc[doc.index('## Tokens'):]
lists = {}
for what, key in (('state', 'state'), ('cause', 'cause'), ('waker', 'woken_by.kind')):
    m = re.search(r'- %s: (.*?)(?=\n- |\Z)' % re.escape(key), doc, re.S)
    lists[what] = set(re.findall(r'`([\w-]+)`', m.group(1))) if m else set()
    check(sorted(tokens(what) ^ lists[what]), 'docs/json.md has the tokens of %s' % key)


def enums(node, out):
    if isinstance(node, dict):
        if 'enum' in node:
            out.append({t for t in node['enum'] if t})
        for v in node.values():
            enums(v, out)
    elif isinstance(node, list):
        for v in node:
            enums(v, out)
    return out


for name in ('report', 'tree'):
    found = enums(json.loads(read('tests/schema/%s.json' % name)), [])
    known = [tokens('state'), tokens('cause'), tokens('waker')]
    check([sorted(e) for e in found if e not in known] + ([] if found else ['no tokens at all']),
          'tests/schema/%s.json has these tokens' % name)

sys.exit(tap.end())
