# checked by hand against man/whywait-path.1 and whywait-sync.1: traces whose clocks cannot be made one, one given twice,
# and on whose clock times are. Of the small trace in the repository three more are made: a copy; one of another host with
# another clock, 100 s later; and its CPUs one by one, which have one clock.
tar xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
cp -r demo.ctf copy.ctf
cp -r demo.ctf other.ctf
LC_ALL=C sed -i 's/hostname = "vm"/hostname = "zz"/; s/uuid = "4789764f/uuid = "99999999/
	s/offset = 1795968406427235168/offset = 1795968506427235168/' other.ctf/metadata
mkdir cpu0.ctf cpu1.ctf
for i in 0 1; do cp demo.ctf/metadata demo.ctf/c0_$i cpu$i.ctf; done

echo "--- no packets in common"
for c in sync path; do
	"$WHYWAIT" $c $([ $c = sync ] && echo --no-store) demo.ctf other.ctf >out 2>err
	echo "$c $?: $(grep -c . err) $(grep 'not corrected' out)"
done
"$WHYWAIT" path --folded demo.ctf other.ctf 2>&1 >/dev/null
"$WHYWAIT" sql demo.ctf other.ctf 'SELECT 1' 2>&1 >/dev/null
echo "sql: $?"
json() { "$WHYWAIT" path -q --json "$@" | /usr/bin/python3 -c '
import json, sys
j = json.load(sys.stdin)
t = j["target"]
print(j["not_reached"], [h["clock"]["accuracy"] for h in j["hosts"]], t["host"], t["comm"], j["begin_ns"], j["wall_ns"],
      len(j["segments"]), sum(s["dur_ns"] for s in j["segments"]) == j["wall_ns"])'; }
json demo.ctf
json demo.ctf other.ctf
json --host zz demo.ctf other.ctf

echo "--- times are those of the host whose path it is, in and out"
json --from 1795976013443459817 --to 1795976013503459817 demo.ctf other.ctf
json --from 1795976113443459817 --to 1795976113503459817 --host zz demo.ctf other.ctf
json --from 1795976113443459817 --to +260ms other.ctf demo.ctf
"$WHYWAIT" path -q --json --host nobody demo.ctf other.ctf; echo $?

echo "--- one recording is one host"
for t in copy.ctf demo.ctf; do
	for c in "sync --no-store" "path"; do
		"$WHYWAIT" $c demo.ctf $t 2>&1; echo "$c: $?"
	done
	"$WHYWAIT" sql demo.ctf $t 'SELECT 1' 2>&1; echo "sql: $?"
done

echo "--- one clock is no reason to refuse"
json cpu0.ctf cpu1.ctf
"$WHYWAIT" sync --no-store cpu0.ctf cpu1.ctf; echo $?
find . -name '*.whywait-sync'

echo "--- two hosts of one name are told by their traces"
cp -r other.ctf twin.ctf
LC_ALL=C sed -i 's/hostname = "zz"/hostname = "vm"/' twin.ctf/metadata
"$WHYWAIT" path demo.ctf twin.ctf 2>/dev/null | grep -E '^  host|not corrected|^Critical'
"$WHYWAIT" path -q --json demo.ctf twin.ctf | grep -o '"host": "[^"]*"' | sort | uniq -c | sed 's/  *[0-9]* /n /'
"$WHYWAIT" path --host vm demo.ctf twin.ctf 2>&1; echo $?
"$WHYWAIT" sync --no-store -r vm demo.ctf twin.ctf 2>&1; echo $?
for r in twin.ctf ./twin.ctf/ ./demo.ctf vm; do
	"$WHYWAIT" sync --no-store -r $r ./demo.ctf/ ./twin.ctf 2>&1 | head -1
done
"$WHYWAIT" path -q --json --host twin.ctf/ demo.ctf twin.ctf | grep -A1 '"target"'

echo "--- a host's name steers no terminal, and the text is UTF-8"
cp -r other.ctf evil.ctf
LC_ALL=C sed -i "s/hostname = \"zz\"/hostname = \"$(printf '\033\377')\"/" evil.ctf/metadata
for c in "sync -s --no-store" "path"; do
	"$WHYWAIT" $c demo.ctf evil.ctf >out 2>err
	LC_ALL=C grep -c "$(printf '\033')" out err
	iconv -f utf8 -t utf8 out >/dev/null && grep -o '^??  \|^  host .*\|^?? .* not corrected' out
done
