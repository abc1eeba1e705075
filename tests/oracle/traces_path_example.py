#!/usr/bin/python3
"""The example of three hosts in docs/path.md is what the program prints. (That it is true is held by
traces_path_cluster3.py, against what the programs on the three machines wrote down.)"""
import os, re, subprocess, sys

SRC = os.environ['WW_SRC']
sys.path.insert(0, os.path.join(SRC, 'tests'))
from tap import Tap, shared_traces

DIR = os.path.join(shared_traces(['cluster3'])[0], 'cluster3')
tap = Tap()
page = open(os.path.join(SRC, 'docs/path.md')).read()
example = re.search(r'```\n\$ whywait (path [^\n]* client web db)\n(.*?)\n```', page, re.S)
if tap.ok(example, 'docs/path.md has the example'):
    p = subprocess.run([os.path.abspath(os.environ['WHYWAIT'])] + example[1].split() + ['-q'], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, text=True, cwd=DIR, timeout=120)
    tap.ok(p.returncode == 0, 'the command of the example works')
    said, want = p.stdout.splitlines(), example[2].splitlines()
    tap.ok(len(want) > 40, 'the example is whole')
    tap.none(['line %d: %r, the page has %r' % (i + 1, a, b) for i, (a, b) in enumerate(zip(said, want)) if a != b],
             'and prints what stands there')
sys.exit(tap.end())
