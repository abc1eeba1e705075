# checked by hand against docs: wrong arguments are status 2, what is not there status 1, and say why
for args in '--nonsense' '--depth x' '--min-dur soon' '--tid -4' 'a b'; do
	"$WHYWAIT" report $args >out 2>err
	echo "report $args: $?, stdout $(wc -c <out), says: $(grep -c . err | sed 's/^[1-9].*/why/')"
done
"$WHYWAIT" tree ./nothing-here 2>err
echo "tree ./nothing-here: $?, $(grep -c nothing-here err)"
"$WHYWAIT" nonsense 2>err
echo "nonsense: $?, $(grep -c "no command 'nonsense'" err)"
