#!/usr/bin/python3
"""Each folder of src may include only those below it, and nothing below cmd prints, exits or reads argv.

The allowed directions are those of the table; an #include "x/y.h" in src/F must name F itself or one of
its allowed folders. TAP."""
import os, re, sys

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORDER = ['base', 'format', 'facts', 'model', 'clock', 'analysis', 'view', 'cmd']
MAY = {f: set(ORDER[:i]) for i, f in enumerate(ORDER)}
MAY['facts'] = {'base'}                     # facts know neither how they were found nor in what they stood
MAY['clock'] = {'base', 'facts'}
MAY['analysis'] = {'base', 'facts', 'clock'}
MAY['view'] = {'base', 'facts', 'clock', 'analysis', 'format'}   # format: the raw events it prints
MAY['record'] = {'base', 'format'}          # of format only the CTF writer, checked below
MAY['live'] = {'base', 'format'}
MAY['cmd'] = set(MAY) | {'cmd'}

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap

tap = Tap()
check = tap.none


def sources(folder):
    for d, dirs, files in os.walk(os.path.join(SRC, 'src', folder)):
        for f in sorted(files):
            if f.endswith(('.c', '.h', '.inc', '.def')):
                yield os.path.join(d, f)


def code_lines(path):
    """Lines without comments and the contents of strings, with their numbers."""
    text = open(path, errors='replace').read()
    blank = lambda m: re.sub(r'[^\n]', ' ', m.group(0))
    text = re.sub(r'/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)
    return enumerate(text.split('\n'), 1)


folders = sorted(f for f in os.listdir(os.path.join(SRC, 'src')) if os.path.isdir(os.path.join(SRC, 'src', f)))
check([f for f in folders if f not in MAY], 'every folder of src has its row in the table of directions')
for folder in [f for f in folders if f in MAY]:
    bad = []
    for path in sources(folder):
        for no, line in code_lines(path):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m:
                continue
            inc, where = m.group(1), '%s:%d' % (os.path.relpath(path, SRC), no)
            if inc.startswith('../'):
                bad.append('%s: "%s" climbs out by ..' % (where, inc))
                continue
            top = inc.split('/')[0] if '/' in inc else folder
            if top not in MAY or top == folder or top in MAY[folder]:
                if top == 'format' and folder in ('record', 'live') and not re.match(r'format/ctf/(.*writ|packet_file)', inc):
                    bad.append('%s: "%s" is more of format than the CTF writer' % (where, inc))
                continue
            bad.append('%s: "%s"; %s may include %s' % (where, inc, folder, ', '.join(sorted(MAY[folder])) or 'nothing'))
    check(bad, 'src/%s includes only itself and what is below it' % folder)

PRINTS = re.compile(r'(?<![\w.>])(printf|puts|putchar|vprintf|perror)\s*\(|\b(stdout|stderr)\b')
EXITS = re.compile(r'(?<![\w.>])(exit|_exit|quick_exit|abort)\s*\(')
ARGV = re.compile(r'\bargv\b')
# ww_xmalloc and WW_ASSERT may end the process (base/base.h says why); programs under tools/ run at build
# time; the child between fork and exec has nobody to return to.
EXCUSED = [r'src/base/base\.c$', r'/tools/', r'/bpf/.*\.bpf\.c$']
CHILD = re.compile(r'_exit\s*\(')
for what, pattern in (('prints to stdout or stderr', PRINTS), ('exits', EXITS), ('reads argv', ARGV)):
    bad = []
    for folder in [f for f in folders if f != 'cmd']:
        for path in sources(folder):
            rel = os.path.relpath(path, SRC)
            if any(re.search(e, rel) for e in EXCUSED):
                continue
            for no, line in code_lines(path):
                code = re.sub(r'"(\\.|[^"\\])*"', '""', line)
                m = pattern.search(code)
                if not m or (folder == 'record' and CHILD.search(code)) or (folder == 'record' and what == 'reads argv'):
                    continue
                bad.append('%s:%d: %s' % (rel, no, line.strip()))
    check(bad, 'nothing below cmd ' + what)
sys.exit(tap.end())
