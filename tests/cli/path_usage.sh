# checked by hand against docs: wrong arguments are status 2, what is not there status 1, and say why
for args in '--nonsense' '--between' '--between a' '--tid -4' '--host nobody TRACE' '--between nowhere nothing TRACE' \
	'--json --folded TRACE' '--between sched_switch TRACE'; do
	mkdir -p t && [ -d t/demo.ctf ] || tar xzf "$WW_SRC/tests/data/demo.ctf.tar.gz" -C t
	"$WHYWAIT" path -q $(echo "$args" | sed 's#TRACE#t/demo.ctf#') >out 2>err
	echo "path $args: $?, stdout $(wc -c <out), says: $(grep -c . err | sed 's/^[1-9].*/why/')"
done
"$WHYWAIT" path ./nothing-here 2>err
echo "path ./nothing-here: $?, $(grep -c nothing-here err)"
"$WHYWAIT" path --between sched_switch t/demo.ctf; echo $?
"$WHYWAIT" path --tid 0 t/demo.ctf >out 2>&1
echo "an idle CPU: $?, $(grep -c 'waits for nobody' out)"
