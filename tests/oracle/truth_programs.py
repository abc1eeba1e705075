"""What the oracles of the truth programs share: run each program under the oracle, say where the two disagree.

judge(prog) gives None when the program cannot run here, else (what is wrong, text for a person). A disagreement
counts when it repeats three times: these waits are milliseconds, and others on the machine disturb them."""
import glob, os, sys

BUILD = os.environ.get('WW_BUILD', 'build')
TRIES = 3


def run(judge, leave_out):
    n = failed = 0
    for prog in sorted(glob.glob(os.path.join(BUILD, 'tests/truth/truth-*'))):
        name = os.path.basename(prog)[6:]
        if not os.path.isfile(prog) or name in leave_out or (sys.argv[1:] and name not in sys.argv[1:]):
            continue
        for attempt in range(TRIES):
            got = judge(prog)
            if not got or not got[0]:
                break
            print('#   %s, try %d: %s' % (name, attempt + 1, got[0][0]))
        if not got:
            continue
        bad, text = got
        n += 1
        failed += bool(bad)
        print('%sok %d - %s: %s' % ('not ' if bad else '', n, name, text))
        for b in bad[:5]:
            print('#   ' + b)
    print('1..%d' % n)
    sys.exit(1 if failed or not n else 0)
