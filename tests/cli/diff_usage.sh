# checked by hand against docs: two traces or a "--" between the sides, else status 2; what is not there is status 1; the
# JSON against its schema; a trace does not differ from itself
tar xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
for args in '' 'demo.ctf' 'demo.ctf demo.ctf demo.ctf' '-- demo.ctf' 'demo.ctf --' '--sort x demo.ctf demo.ctf'; do
	"$WHYWAIT" diff -q $args >out 2>err
	echo "diff $args: $?, stdout $(wc -c <out), says: $(grep -c . err | sed 's/^[1-9].*/why/')"
done
"$WHYWAIT" diff demo.ctf ./nothing-here 2>err
echo "diff demo.ctf ./nothing-here: $?, $(grep -c nothing-here err)"
for args in 'demo.ctf demo.ctf' 'demo.ctf -- demo.ctf' '-q demo.ctf demo.ctf -- demo.ctf demo.ctf' '--from +1ms demo.ctf -- demo.ctf demo.ctf demo.ctf'; do
	"$WHYWAIT" diff --json $args | /usr/bin/python3 -c '
import json, os, sys, jsonschema
j = json.load(sys.stdin)
jsonschema.validate(j, json.load(open(os.environ["WW_SRC"] + "/tests/schema/diff.json")))
rows = j["target"] + j["chains"] + [r for t in j["threads"] for r in t["rows"]]
print("noise known", j["noise_known"], "different", sum(r["difference_ns"] != 0 or bool(r["beyond_noise"]) for r in rows),
      "rows that sum to the wall time", sum(r["before_ns"] for r in j["target"]) == j["wall"]["before_ns"],
      [r["side"] for r in j["recordings"]])'
done
