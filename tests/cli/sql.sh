# whywait sql in batch: forms of output, files and stdin, several statements, errors with their place, what is refused.
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
W="whywait sql -q demo.ctf"

echo "== table"
$W "SELECT end_reason, end_state, count(*) AS n, sum(dur) AS ns FROM run GROUP BY 1, 2 ORDER BY ns DESC LIMIT 4"
$W "SELECT tid, name, is_main_thread AS main FROM thread WHERE name LIKE 'demo-%' ORDER BY tid"
echo "== nothing, names all the same"
$W "SELECT tid, name FROM thread WHERE tid = -5"
echo "== csv"
$W --csv "SELECT 1 AS a, 'x,\"y\"' AS b, NULL AS c, '' AS d, 0.5 AS e, x'00ff' AS f, 'two
lines' AS g" | tr -d "\r"
echo "== json"
$W --json "SELECT id, id, name, NULL AS none, 0.5 AS half FROM thread LIMIT 2" | /usr/bin/python3 -c '
import json, os, sys, jsonschema
j = json.load(sys.stdin)
jsonschema.validate(j, json.load(open(os.environ["WW_SRC"] + "/tests/schema/sql.json")))
print(j["whywait"], j["version"], j["columns"], j["rows"], j["complete"])'
echo "== a file, stdin, and both before a query"
printf -- "-- a comment; with a semicolon\nCREATE VIEW v AS SELECT 7 AS seven;\nSELECT * FROM v;\n" >q.sql
$W -f q.sql
echo "SELECT 1; SELECT 2" | $W
echo "SELECT 3" | $W -f q.sql -f - "SELECT seven + 1 FROM v"
echo "== an analysis for several threads"
$W "SELECT for_tid, tid, comm FROM usage WHERE for_tid = 24705 OR for_tid = 24706"
$W "SELECT t.tid, sum(p.dur_ns) = max(w.wall_ns) AS whole FROM thread t JOIN path(t.tid) p JOIN threads w ON w.tid = t.tid
	WHERE t.name LIKE 'demo-%' GROUP BY 1"
echo "== queries as they are written for Perfetto"
$W "SELECT thread.name, process.name AS process, SUM(dur) / 1e9 AS cpu_s FROM sched_slice JOIN thread USING (utid)
	LEFT JOIN process USING (upid) WHERE NOT is_idle GROUP BY utid ORDER BY cpu_s DESC LIMIT 3;
	SELECT ts - trace_start() AS at, dur, slice.name, tid FROM slice JOIN thread_track ON slice.track_id = thread_track.id
	JOIN thread USING (utid) WHERE slice.name = 'execve';
	SELECT ts - trace_start() AS at, dur, thread_name, process_name FROM thread_slice WHERE name = 'execve';
	SELECT is_soft_irq, count(*) AS n FROM linux_irqs GROUP BY 1;
	SELECT state, count(*) > 0 AS some FROM thread_state JOIN thread USING (utid) WHERE name = 'whywait-demo' GROUP BY 1"
echo "== nothing to do"
$W "  ; ;"
echo "exit $?"

echo "== errors"
for q in "SELECT nope FROM thread" "SELECT 1;
SELECT * FROM thread
WHERE WHERE" "SELECT * FROM nowhere" "SELECT 'open" "SELECT * FROM path(99999)" "SELECT * FROM usage_time WHERE every = 'soon'" \
	"SELECT abs(-9223372036854775808)" "SELECT * FROM usage WHERE machine_id = 3" "SELECT tid FROM usage WHERE for_tid = 24705 OR tid = 24706" \
	"SELECT tid FROM usage WHERE NOT for_tid = 24705" "SELECT tid FROM usage WHERE for_tid IS NOT NULL"; do
	$W "$q" 2>&1
	echo "exit $?"
done
whywait sql --json --csv "SELECT 1" 2>&1
echo "exit $?"
whywait sql -q no-such-trace "SELECT 1" 2>&1 | sed 's/;.*//'
printf 'SELECT\0001' | $W 2>&1
echo "== refused"
while read -r q; do
	$W "$q" 2>&1 | head -1
done <<'QUERIES'
DELETE FROM thread
UPDATE thread SET tid = 1
INSERT INTO machine(id) VALUES (9)
DELETE FROM machine
CREATE TABLE t(a)
CREATE TEMP TABLE t AS SELECT 1
ATTACH 'other.db' AS o
VACUUM INTO 'out.db'
PRAGMA temp_store_directory = '/tmp'
PRAGMA writable_schema = 1
SELECT load_extension('x')
CREATE TRIGGER t AFTER INSERT ON machine BEGIN SELECT 1; END
CREATE VIRTUAL TABLE t USING fts5(a)
BEGIN EXCLUSIVE
DROP TABLE machine
SELECT writefile('out', 'x')
SELECT zeroblob(1000000000)
QUERIES
ls
echo "== what was not recorded: of an analysis, of a fact, of a part; once for all statements"
for q in "SELECT count(*) AS n FROM sched_numa" "SELECT count(*) AS n FROM numa_move; SELECT count(*) AS n FROM numa_move" "SELECT count(*) > 0 AS some FROM syscall"; do
	whywait sql demo.ctf "$q" 2>&1; echo "exit $?"
done
$W --json "SELECT 1 FROM sched_numa" | grep -A6 not_recorded
echo "== a view goes again"
$W "CREATE VIEW v AS SELECT 1; DROP VIEW v; SELECT * FROM v" 2>&1
exit 0
