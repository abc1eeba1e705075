#!/usr/bin/python3
"""docs/sql.md says what the program's column tables say: made anew by scripts/sql-docs, it is the same. TAP."""
import difflib, os, subprocess, sys, tempfile

SRC = os.environ.get('WW_SRC') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
W = os.environ.get('WHYWAIT') or os.path.join(SRC, 'build/whywait')

with tempfile.TemporaryDirectory() as tmp:
    out = os.path.join(tmp, 'sql.md')
    subprocess.run([os.path.join(SRC, 'scripts/sql-docs'), W, out], check=True)
    new = open(out).read().splitlines()
old = open(os.path.join(SRC, 'docs/sql.md')).read().splitlines()
print('%sok 1 - docs/sql.md is what scripts/sql-docs makes: %d lines' % ('' if new == old else 'not ', len(new)))
for line in list(difflib.unified_diff(old, new, 'docs/sql.md', 'made anew', lineterm='', n=0))[:20]:
    print('#   ' + line)
tables = [l[4:] for l in new if l.startswith('### ')]
print('%sok 2 - it has tables: %d' % ('' if len(tables) > 40 else 'not ', len(tables)))
print('1..2')
sys.exit(0 if new == old and len(tables) > 40 else 1)
