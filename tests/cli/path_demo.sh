# checked against tests/demo/demo.c, which says what it waits for: it sleeps 80 ms, then reads what the cruncher
# computes for 60 ms, waits for a mutex that the holder keeps through a sleep of 50 ms, flushes a file, asks a server
# that takes 30 ms (this recording has no packets: the softirqs prove whose write it was), and waits for a child that
# computes 20 ms and sleeps 20
tar xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
"$WHYWAIT" path -q demo.ctf | sed 's#/tmp/clone[^ ]*#PROGRAM#' | sed -n '1,20p; /^What/,$p'
echo "--- the holder's 50 ms alone"
"$WHYWAIT" path -q --from +0.2s --to +0.22s demo.ctf | head -8 | sed 's#/tmp/clone[^ ]*#PROGRAM#'
echo "--- folded: the sum is the wall time"
"$WHYWAIT" path -q --folded demo.ctf | awk '{ns += $NF} END {printf "%d\n", ns}'
"$WHYWAIT" path -q --folded demo.ctf | grep -c '^whywait-demo;demo-holder;clock_nanosleep;timer'
echo "--- the server's 30 ms"
"$WHYWAIT" path -q --folded demo.ctf | awk '/^whywait-demo;demo-server;clock_nanosleep;timer/ {print $1, int($NF / 1e6)}'
echo "--- the arrows as a table are those of the JSON"
"$WHYWAIT" path -q --json demo.ctf >path.json
"$WHYWAIT" sql -q --json demo.ctf 'SELECT * FROM path_arrows' >sql.json
/usr/bin/python3 -c '
import json
arrows = [(a["time_ns"], a["kind"]) + sum(((a[e]["host"], -1 if a[e]["tid"] is None else a[e]["tid"], a[e]["comm"] or "") for e in ("from", "to")), ())
          for a in json.load(open("path.json"))["arrows"]]
rows = [tuple(-1 if k.endswith("tid") and v is None else v or "" if k.endswith("comm") else v for k, v in r.items())
        for r in json.load(open("sql.json"))["rows"]]
print(len(rows) > 20, rows == arrows)'
