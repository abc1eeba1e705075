# checked by hand against man/whywait-sync.1: wrong arguments are status 2, what is not there status 1
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
t=$(dirname "$(find . -name metadata | head -1)")
mkdir 0 1 # its CPUs, one by one: two traces with one clock
for i in 0 1; do cp $t/metadata $t/c0_$i $i; done
for args in '' "$t" '--nonsense' "0 1 -r nobody" "$t nothing-here"; do
	"$WHYWAIT" sync --no-store $args >out 2>err
	echo "sync $args: $?, stdout $(wc -l <out), says: $(grep -c . err | sed 's/^[1-9].*/why/')"
done
# nothing is written
"$WHYWAIT" sync --no-store --json 0 1 | grep -E '"(accuracy|reference|offset_ns|drift_ppm|bound_ns)"' | tr -d ' ,'
find . -name '*.whywait-sync'
# with one clock there is an answer to store, beside the traces
"$WHYWAIT" sync -q 0 1 >out; echo "$?"
find . -name '*.whywait-sync' -exec head -qn 1 {} +
