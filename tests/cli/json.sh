# Every --json against its schema (tests/schema, read by python3-jsonschema), and against each other, on the trace of the
# small program that the repository ships.
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
tar -xzf "$WW_SRC/tests/data/lttng-ust-2.16.ctf2.tar.gz"
/usr/bin/python3 - <<'PY'
import json, os, re, subprocess, sys
import jsonschema

W, SRC = os.environ['WHYWAIT'], os.environ['WW_SRC']


def part(j):
    """The ends of long lists: one is like the other, and the schema is slow."""
    if isinstance(j, list):
        return [part(x) for x in (j if len(j) < 60 else j[:30] + j[-30:])]
    return {k: part(v) for k, v in j.items()} if isinstance(j, dict) else j


def ask(name, *args, say=True, schema=None, trace='demo.ctf'):
    p = subprocess.run([W, name, '--json', '-q', *args, trace], stdout=subprocess.PIPE)
    j = json.loads(p.stdout)
    jsonschema.validate(part(j), json.load(open('%s/tests/schema/%s.json' % (SRC, schema or name))))
    if say:
        print(name, 'is', j['whywait'], j['version'], 'exit', p.returncode)
    return j


report = ask('report')
ask('report', '--threads', '--top', '3')
tree = ask('tree', '--threads')
events = ask('events')
ask('events', '--offsets')
ust = ask('events', trace='lttng-ust-2.16.ctf2')
print('contexts', sum(1 for e in ust['events'] if 'procname' in e['context']) == len(ust['events']))
info = ask('info')
check = ask('check')
threads = ask('threads', schema='table')
calls = ask('syscalls', '--tid', str(report['target']['tid']), '--from', str(report['begin_ns']),
            '--to', str(report['begin_ns'] + report['wall_ns']), schema='table')
# Every table: the keys of a row are the columns that --help names.
for name in ('threads', 'procs', 'usage', 'sched', 'syscalls', 'files', 'io', 'faults', 'irq', 'locks', 'net'):
    text = subprocess.run([W, name, '--help'], stdout=subprocess.PIPE).stdout.decode()
    for kind, columns in re.findall(r'^(%s(?:_\w+)?): .*\n((?:  [a-z].*\n)+)' % name, text, re.M):
        by = ['--by=' + kind[len(name) + 1:]] if kind != name else []
        j = ask(name, *by, say=False, schema='table')
        want = re.findall(r'^  (\w+)', columns, re.M)
        rows = j['rows']
        print(kind, 'has its name', j['whywait'] == kind, 'and its columns', all(list(r) == want for r in rows),
              'of rows' if rows else 'of none')
for more in ('path',):
    if os.path.exists('%s/tests/schema/%s.json' % (SRC, more)):
        ask(more, say=False)
with open('doctor.json', 'wb') as f:
    status = subprocess.run([W, 'doctor', '--json'], stdout=f).returncode
doctor = json.load(open('doctor.json'))
jsonschema.validate(doctor, json.load(open(SRC + '/tests/schema/doctor.json')))
print('doctor', doctor['can_record'] == (status == 0))

n = sum(1 for e in events['events'] if 'fields' in e)
print('one number of events', n == info['events'] == check['events'] == sum(info['by_name'].values()))
times = [e['time_ns'] for e in events['events']]
print('in order, from begin to end', times == sorted(times) and (times[0], times[-1]) == (info['begin_ns'], info['end_ns']))
print('one clock', len({json.dumps([j['clock'][k] for k in ('name', 'offset_ns', 'epoch_known')])
                        for j in (report, tree, events, info, threads, calls)}))
print('the report lies within', info['begin_ns'] <= report['begin_ns'] and
      report['begin_ns'] + report['wall_ns'] <= info['end_ns'])
row = [r for r in threads['rows'] if r['tid'] == report['target']['tid']][0]
print('report and threads agree', row['wall_ns'] == report['wall_ns'],
      row['blocked_ns'] == report['states'].get('blocked', 0), row['waits'] == report['waits_total'])
print('rows of threads add up', all(r['running_ns'] + r['ready_ns'] + r['blocked_ns'] + r['unknown_ns'] == r['wall_ns']
                                    for r in threads['rows']))
in_calls = {}
for b in report['breakdown']:
    if b['state'] == 'blocked' and b['syscall']:
        in_calls[b['syscall']] = in_calls.get(b['syscall'], 0) + b['ns']
print('report and syscalls agree', in_calls == {r['name']: r['blocked_ns'] for r in calls['rows'] if r['blocked_ns']})
print('blocked is never more than together', all(r['blocked_ns'] <= r['total_ns'] for r in calls['rows'] if r['count'] > r['unfinished']))
print('tree and report tell of the same waits', tree['waits'] == report['waits'])
PY
