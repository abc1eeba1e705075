#!/bin/sh
# The commands that read traces under valgrind, on the trace that the repository ships: no error, nothing lost.
command -v valgrind >/dev/null || { echo "no valgrind"; exit 77; }
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz" || exit 1
head -c 300000 demo.ctf/c0_1 >cut && cp -r demo.ctf damaged.ctf && mv cut damaged.ctf/c0_1 || exit 1
n=0 bad=0
for trace in demo.ctf damaged.ctf; do
	for args in "report --top 5" "report --json --top 20" "tree --threads" "path" "threads" "syscalls" "info" "check" \
		"events --offsets --from +100ms --to +110ms"; do
		n=$((n + 1))
		WHYWAIT_THREADS=2 valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
			"$WHYWAIT" $args -q $trace >out 2>err
		rc=$?
		if { [ $rc = 0 ] || [ $rc = 3 ]; } && [ -s out ]; then
			echo "ok $n - $trace: $args"
		else
			bad=1
			echo "not ok $n - $trace: $args: exit $rc"
			head -30 err | sed 's/^/# /'
		fi
	done
done
exit $bad
