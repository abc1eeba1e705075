#!/bin/sh
# ThreadSanitizer over what runs in several threads: reading ahead, sealing, saving facts, reading and matching the traces
# of several hosts; the unit tests of what does so.
dir=$PWD
CC=gcc meson setup -Db_sanitize=thread -Db_lundef=false "$dir/b" "$WW_SRC" >meson.log 2>&1 || { tail -5 meson.log; exit 1; }
units=$(cd "$WW_SRC/tests/unit" && ls base*.c format*.c facts*.c model*.c clock*.c 2>/dev/null | sed 's/\.c$//; s#^#tests/unit-#')
ninja -C "$dir/b" src/cmd/whywait bench/bench-sync-traces $units >ninja.log 2>&1 || { grep -A8 -E 'FAILED|error:' ninja.log | head -30; exit 1; }
tar -xzf "$WW_SRC/tests/data/demo.ctf.tar.gz" || exit 1
export TSAN_OPTIONS=halt_on_error=1:exitcode=66 WHYWAIT_THREADS=4
# gcc 12's runtime does not know the address layout of newer kernels
run() { setarch -R "$@" >out 2>err; }
n=0 bad=0
say() {
	n=$((n + 1))
	if [ "$1" = 0 ] && ! grep -q ThreadSanitizer err; then
		echo "ok $n - $2"
	else
		bad=1
		echo "not ok $n - $2: exit $1"
		grep -A30 ThreadSanitizer err | head -40 | sed 's/^/# /'
	fi
}
for u in $units; do
	WW_TRACES=/nonexistent run "$dir/b/$u"
	rc=$?
	[ $rc = 77 ] || say $rc "$u"
done
for args in "report --top 5" path tree check info "events --json"; do
	run "$dir/b/whywait" $args -q demo.ctf
	say $? "whywait $args"
done
"$dir/b/bench/bench-sync-traces" hosts 4 80000 || exit 1
for args in "sync --sync-stats" "sync --no-store --json"; do
	run "$dir/b/whywait" $args -q hosts/h0 hosts/h1 hosts/h2 hosts/h3
	say $? "whywait $args, of four hosts"
done
exit $bad
