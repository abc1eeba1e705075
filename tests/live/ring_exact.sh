#!/bin/sh
# Losses are exact: the same run of known system calls, once in large rings and once in tiny ones, must give
# received + lost + misses = produced, and babeltrace2 must read as many events as we say, without a warning,
# and find the same number lost.
# usage: ring_exact.sh [RECORD_RAW CALLS_PROGRAM], by default those of $WW_BUILD
set -eu
build=${WW_BUILD:-build}
raw=${1:-$build/tests/live/record-raw} calls=${2:-$build/tests/live/live-calls} n=300000
[ "$(id -u)" = 0 ] || { echo "SKIP not root"; exit 77; }
command -v babeltrace2 >/dev/null || { echo "SKIP no babeltrace2"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail=0

run() { # name, options: sets events, lost, misses
	name=$1; shift
	"$raw" -s "$@" "$dir/$name" -- "$calls" $n >/dev/null 2> "$dir/$name.out"
	set -- $(cat "$dir/$name.out")
	events=$2 lost=$8 misses=${10}
	read=$(babeltrace2 "$dir/$name" 2> "$dir/$name.err" | grep -c syscall_ || true)
	told=$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$dir/$name.err" | awk '{s += $1} END {print s + 0}')
	echo "$name: events $events lost $lost misses $misses; babeltrace2 read $read, lost $told"
	[ "$read" = "$events" ] || { echo "not ok $name: babeltrace2 reads another number of events"; fail=1; }
	[ "$told" = $((lost + misses)) ] || { echo "not ok $name: babeltrace2 sees another number of losses"; fail=1; }
	if grep -v 'discarded' "$dir/$name.err" | grep -q .; then
		echo "not ok $name: babeltrace2 complains"; head -3 "$dir/$name.err"; fail=1
	fi
}

run large -r 134217728
produced=$((events + lost + misses))
[ $produced -ge $((2 * n)) ] || { echo "not ok: $produced events of $n calls"; fail=1; }
[ "$lost" = 0 ] || { echo "not ok: losses in large rings"; fail=1; }
run tiny -r 8192 -b 4096
[ "$lost" -gt 0 ] || { echo "not ok: nothing was lost in tiny rings, so nothing was tested"; fail=1; }
[ $((events + lost + misses)) = $produced ] || { echo "not ok: $((events + lost + misses)) of $produced"; fail=1; }
[ $fail = 0 ] && echo "ok ring_exact: $produced produced, all accounted for"
exit $fail
