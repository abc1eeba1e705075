# The prompt of whywait sql on a pseudo-terminal: commands, queries over several lines, Ctrl-C, the history.
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
exec /usr/bin/python3 - <<'PY'
import os, pty, re, select, sys, time

STATE = os.path.abspath('state')
HISTORY = STATE + '/whywait/sql_history'


class Prompt:
    def __init__(self):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(XDG_STATE_HOME=STATE, HOME='/nonexistent', TERM='dumb', NO_COLOR='1')
            os.execvp('whywait', ['whywait', 'sql', '-q', 'demo.ctf'])
        self.seen = ''

    def wait(self, text, limit=60):
        """What came until the text did."""
        end = time.time() + limit
        while text not in self.seen:
            if time.time() > end or not select.select([self.fd], [], [], max(0, end - time.time()))[0]:
                sys.exit('no %r within %d s, but %r' % (text, limit, self.seen[-300:]))
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                got = b''
            if not got:
                sys.exit('it ended before %r: %r' % (text, self.seen[-300:]))
            self.seen += got.decode(errors='replace').replace('\r', '')
        at = self.seen.index(text) + len(text)
        had, self.seen = self.seen[:at], self.seen[at:]
        return had

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, text=''):
        """Types the text until it ends: what comes between the prompt and its first look at the terminal is lost."""
        while True:
            if text and not select.select([self.fd], [], [], 1)[0]:
                self.type(text)
                continue
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def say(what, good):
    print(what, 'yes' if good else 'NO')


p = Prompt()
p.wait('sql> ')
p.type('.tables\n')
p.wait('thread_state')
p.wait('sql> ')
p.type('.schema thread\n')
say('.schema lists columns', 'parent_utid' in p.wait('machine_id'))
p.wait('sql> ')
p.type('.schema nowhere\n')
p.wait("no table 'nowhere'")
p.wait('sql> ')
p.type('SELECT 40 +\n')
p.wait('-> ')
p.type('2 AS answer;\n')
say('a query over two lines', re.search(r'answer\n *42', p.wait('sql> ')))
p.type('.mode csv\n')
p.wait('sql> ')
p.type("SELECT 1 AS a, 'x' AS b;\n")
say('.mode csv', 'a,b\n1,x' in p.wait('sql> '))
p.type('.mode\n')
p.wait('csv')
p.wait('sql> ')
p.type('SELECT nope;\n')
say('an error has its column', 'line 1, column 8' in p.wait('sql> '))
p.type('.nope\n')
p.wait('.help lists them')
p.wait('sql> ')

# Lines typed so far are dropped.
p.type('SELECT 1,\n')
p.wait('-> ')
p.type('\x03')
p.wait('sql> ')
p.type('SELECT 5 AS five;\n')
say('Ctrl-C drops what was typed', 'five\n5' in p.wait('sql> '))

# A query without end.
p.type('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c;\n')
p.wait('FROM c;')
time.sleep(0.7)
begin = time.time()
p.type('\x03')
p.wait('interrupted', 20)
say('Ctrl-C ends a query', time.time() - begin < 15)
p.wait('sql> ')
p.type('SELECT 6 AS six;\n')
say('and the next one works', 'six\n6' in p.wait('sql> '))
p.type('.quit\n')
say('.quit ends it with 0', p.end() == 0)

text = open(HISTORY).read()
say('the history is kept', 'SELECT' in text and '.tables' in text)
say('for the user alone', os.stat(STATE + '/whywait').st_mode & 0o077 == 0)

# Recalled in the next session: Ctrl-P goes back.
p = Prompt()
p.wait('sql> ')
time.sleep(1)
p.type('\x10\x10\n')
p.wait('AS six;\n')
say('and recalled', re.match(r'six\n +6\n', p.wait('sql> ')))
say('Ctrl-D ends it with 0', p.end('\x04') == 0)
PY
