# checked by hand against man/whywait-sync.1: wrong arguments are status 2, what is not there status 1
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
t=$(dirname "$(find . -name metadata | head -1)")
for args in '' "$t" '--nonsense' "$t $t -r nobody" "$t nothing-here"; do
	"$WHYWAIT" sync --no-store $args >out 2>err
	echo "sync $args: $?, stdout $(wc -l <out), says: $(grep -c . err | sed 's/^[1-9].*/why/')"
done
# a trace has the same clock as itself; nothing is written
"$WHYWAIT" sync --no-store --json "$t" "$t" | grep -E '"(accuracy|reference|offset_ns|drift_ppm|bound_ns)"' | tr -d ' ,'
find . -name '*.whywait-sync'
# with one clock there is an answer to store, beside the trace
"$WHYWAIT" sync -q "$t" "$t" >out; echo "$?"
find . -name '*.whywait-sync' -exec head -n 1 {} +
