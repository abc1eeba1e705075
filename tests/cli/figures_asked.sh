# The figures: what is asked for and not there is an error, as in report; an option that would change nothing is refused;
# a recorded command has as many threads as it has ids; facts are told where they are from; SQL's arguments and commands.
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
W=whywait
say() { echo "\$ $*"; "$W" "$@" demo.ctf 2>&1 >/dev/null; echo "exit $?"; }
for c in usage sched syscalls procs report; do say $c --comm=nosuch; done
say usage --tid=999999
say usage --from=+100s
say irq --to=1
say usage --by=process --width=50
say usage --json --width=50
say sched --by=pairs --every=1ms
say usage --by=cpu --every=1ms
echo "== how many threads"
cat >threads.py <<'PY'
import json, subprocess
def rows(*args):
    return json.loads(subprocess.run(['whywait', args[0], '--json', '-q', 'demo.ctf', *args[1:]], stdout=subprocess.PIPE).stdout)['rows']
ids = {r['pid']: r for r in rows('sql', 'SELECT pid, count(DISTINCT tid) AS n, count(*) AS all_of_them FROM thread GROUP BY pid')}
ran = {r['pid']: r['n'] for r in rows('sql', 'SELECT pid, count(DISTINCT tid) AS n FROM thread '
                                             'WHERE utid IN (SELECT utid FROM run) GROUP BY pid')}
print('processes', all(r['threads'] == ids[r['pid']]['n'] for r in rows('procs') if r['pid'] in ids),
      'one of them has an id twice', any(r['n'] < r['all_of_them'] for r in ids.values()))
print('that ran', all(r['threads'] == ran[r['pid']] for r in rows('usage', '--by=process') if r['pid'] in ran))
PY
/usr/bin/python3 threads.py
echo "== where facts are from"
"$W" usage -v --no-cache demo.ctf 2>&1 >/dev/null
echo "== SQL"
for q in "from_ts > 5" "for_comm LIKE 'demo%'" "from_ts BETWEEN 1 AND 2" "for_tid <> 7"; do
	"$W" sql -q demo.ctf "SELECT count(*) FROM usage WHERE $q" 2>&1 | head -1
done
"$W" sql -q demo.ctf "SELECT count(*) > 5 AS several FROM usage WHERE from_ts = 5 AND machine_id >= 0"
for q in "usage WHERE for_comm = 'nosuch'" "usage WHERE for_tid = 99999999" "usage(20, 10)"; do
	"$W" sql -q demo.ctf "SELECT count(*) FROM $q" 2>&1 | head -1
done
printf '.mode csv\nSELECT 1,\n.5 AS half;\n.tables\n.mode lines\nSELECT 2 AS two;\n\nSELECT nosuch;\n' | "$W" sql -q demo.ctf 2>&1 |
	sed -n '/^Facts/,/^  trace_bounds/!p'
printf '.nosuch\n' >q.sql
"$W" sql -q demo.ctf -f q.sql; echo "exit $?"
