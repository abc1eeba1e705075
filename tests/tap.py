"""TAP for the tests in Python: a line a check, what was seen below a failed one, the plan at the end.

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    from tap import Tap
    tap = Tap()
    tap.ok(good, 'what should be', what_was_seen)
    sys.exit(tap.end())
"""
import os, sys


def shared_traces(names):
    """(the folder WW_TRACES, the traces given to this test or those below the folder); without any it ends: skipped."""
    root = os.environ.get('WW_TRACES', '')
    traces = sys.argv[1:] or [os.path.join(root, n) for n in names if os.path.exists(os.path.join(root, n))]
    if not traces:
        print('no traces in "%s": set WW_TRACES' % root)
        sys.exit(77)
    return root, traces


# What LTTng names after the kernel's function, as programs, strace and perf call it (x86-64, aarch64).
USER_CALLS = {'newuname': 'uname', 'newstat': 'stat', 'newlstat': 'lstat', 'newfstat': 'fstat', 'sendfile64': 'sendfile', 'umount': 'umount2'}


def call_name(name):
    return USER_CALLS.get(name, name)


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def ok(self, good, name, why=''):
        """why is printed below a failed check: text, or a list of which each item has its line."""
        self.n += 1
        self.failed += not good
        print('%sok %d - %s' % ('' if good else 'not ', self.n, name))
        if not good:
            lines = str(why).splitlines() if isinstance(why, (str, dict)) or not hasattr(why, '__iter__') else map(str, why)
            for line in list(lines)[:12]:
                print('#   ' + line[:400])
        sys.stdout.flush()
        return bool(good)

    def none(self, bad, name):
        """There should be nothing in the list."""
        return self.ok(not bad, name, bad)

    def note(self, text):
        for line in str(text).splitlines():
            print('# ' + line)

    def end(self):
        """The exit status: a test without a check has failed."""
        print('1..%d' % self.n)
        return 1 if self.failed or not self.n else 0
