# A perf.data whose end is missing, and one that perf did not finish: what is there is counted, what is missing is said,
# the status says so, and there is no report without names of events.
c=$WW_SRC/tests/fuzz/corpus/perfdata/unit-le
exec 2>&1
size=$(stat -c %s "$c")
"$WHYWAIT" info -q "$c" | grep -E '^(events|loss)'; echo whole $?
head -c $((size / 2)) "$c" > cut
"$WHYWAIT" info cut; echo $?
"$WHYWAIT" check cut; echo $?
"$WHYWAIT" report --no-cache cut; echo $?
head -c 1040 "$c" > unfinished
printf '\0\0\0\0\0\0\0\0' | dd of=unfinished bs=1 seek=48 conv=notrunc status=none
"$WHYWAIT" info unfinished > said; echo $?
head -3 said
"$WHYWAIT" report --no-cache unfinished; echo $?
