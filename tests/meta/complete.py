#!/usr/bin/python3
"""What the tables name has its man page, its row and its package; nothing is forgotten. TAP."""
import os, re, subprocess, sys

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
W = os.environ.get('WHYWAIT', os.path.join(SRC, 'build/whywait'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

tap = Tap()
check = tap.none


def read(*path):
    return open(os.path.join(SRC, *path), errors='replace').read()


def exists(*path):
    return os.path.exists(os.path.join(SRC, *path))


def page_text(page):
    """None for a page that is only a pointer to another."""
    text = read('man', page)
    return None if text.startswith('.so ') else text


def run(*args):
    p = subprocess.run([W] + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
    return p.returncode, p.stdout.decode(errors='replace')


commands = re.findall(r'"([a-z]+)"\s*,\s*"', read('src/cmd/commands.c'))
files = sorted(f[4:-2] for f in os.listdir(os.path.join(SRC, 'src/cmd')) if re.match(r'cmd_[a-z_]+\.c$', f))
check([] if commands else ['none found'], 'commands.c has a table of commands')
check(['src/cmd/cmd_%s.c' % f for f in files if f not in commands], 'every cmd_NAME.c has its row in commands.c')
check(['man/whywait-%s.1' % f for f in commands if not exists('man', 'whywait-%s.1' % f)], 'every command has a man page')
check([] if exists('man', 'whywait.1') else ['man/whywait.1'], 'the program has a man page')
bad = []
for page in sorted(os.listdir(os.path.join(SRC, 'man'))):
    if page_text(page) is None:
        continue
    p = subprocess.run(['man', '--warnings', '-l', '-Tutf8', os.path.join(SRC, 'man', page)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE) if os.path.exists('/usr/bin/man') else None
    if p and p.stderr.strip():
        bad.append('%s: %s' % (page, p.stderr.decode(errors='replace').splitlines()[0]))
check(bad, 'man reads every page without a warning')

# "whywait: FILE: what is wrong; what to do": one sentence in pieces.
bad = []
for d, _, names in os.walk(os.path.join(SRC, 'src')):
    for f in [os.path.join(d, f) for f in names if f.endswith('.c')]:
        for m in re.finditer(r'\bww_err_(?:set|hint|errno)\(((?:[^;"]|"(?:[^"\\]|\\.)*")*);', read(f)):
            for piece in re.findall(r'"((?:[^"\\]|\\.)*)"', m.group(1)):
                if re.search(r'[;:] [A-Z][a-z]+ [a-z]|[^.]\.$', piece) or re.match(r'[A-Z][a-z]+ [a-z]', piece):
                    bad.append('%s: %s' % (os.path.relpath(f, SRC), piece))
check(bad, 'no part of an error message begins like a sentence or ends like one')
for args in (['--frob'], ['report', '--frob'], ['report', '--tid'], ['report', 'a', 'b'], ['syscalls', '-n', 'x'], ['snapshot', '/dev'], ['report', '/dev/null']):
    rc, text = run(*args)
    check([] if rc in (1, 2) and text.startswith('whywait') else ['%d %s' % (rc, text)],
          '%s: the message begins with the program: %s' % (' '.join(args), text.split('\n')[0]))

rc, text = run('--help')
check(['%s' % f for f in commands if not re.search(r'^\s*%s\b' % f, text, re.M)] if rc == 0 else ['--help exits %d' % rc],
      'whywait --help names every command')
bad = []
for f in commands:
    rc, text = run(f, '--help')
    if rc != 0 or 'usage' not in text.lower():
        bad.append('%s --help: exit %d: %s' % (f, rc, text[:80]))
    rc, text = run(f, '--no-such-option')
    if rc != 2:
        bad.append('%s --no-such-option: exit %d, not 2' % (f, rc))
check(bad, 'every command explains itself and refuses unknown options with 2')
common = read('man', 'whywait.1')
bad = []
for f in commands:
    page = read('man', 'whywait-%s.1' % f) if exists('man', 'whywait-%s.1' % f) else ''
    if page.startswith('.so '):
        page = read('man', os.path.basename(page.split()[1]))
    page += common      # what all commands share stands in whywait(1)
    options = set(re.findall(r'--([a-z][a-z-]+)', run(f, '--help')[1]))
    plain = page.replace('\\-', '-').replace('\\fB', '').replace('\\fI', '').replace('\\fR', '')
    bad += ['%s: --%s' % (f, o) for o in sorted(options) if '--' + o not in plain and
            o not in ('help', 'quiet', 'verbose', 'no-color', 'no-such-option')]
check(bad, 'every option of --help is in its man page or in whywait(1)')

bad = []
for f in commands:       # a table's columns are listed by --help: `usage: who ...`, then `  name  what`
    page = read('man', 'whywait-%s.1' % f) if exists('man', 'whywait-%s.1' % f) else ''
    for block in re.findall(r'^%s(?:_[a-z]+)?: .*\n((?:  [a-z].*\n)+)' % f, run(f, '--help')[1], re.M):
        bad += ['%s: %s' % (f, c) for c in re.findall(r'^  ([a-z_0-9]+)', block, re.M) if c not in page]
check(bad, 'every column of a table is in its man page')

have = set(re.sub('#.*', '', read('packages.txt')).split())
check(sorted(set(re.sub('#.*', '', read('scripts/packages-build.txt')).split()) - have),
      'packages.txt has all of scripts/packages-build.txt')
lines = [l for l in read('packages.txt').splitlines() if l]
check([] if lines == sorted(set(lines)) else ['sort -u it'], 'packages.txt is sorted, one package a line')
bad = []
for d in ('try', 'test', '.ci/run', 'tests/run', 'scripts/install-packages'):
    if not os.access(os.path.join(SRC, d), os.X_OK):
        bad.append(d)
for suite in ('meta', 'oracle', 'live', 'long'):     # tests/run takes what can be executed
    for name in os.listdir(os.path.join(SRC, 'tests', suite)):
        path = os.path.join(SRC, 'tests', suite, name)
        if os.path.isfile(path) and not os.access(path, os.X_OK) and open(path, 'rb').read(2) == b'#!':
            bad.append('tests/%s/%s' % (suite, name))
check(bad, 'the scripts can be executed')
sys.exit(tap.end())
