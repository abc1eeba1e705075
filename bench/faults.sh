#!/bin/bash
# faults.sh - what recording costs a page fault: anonymous memory touched page by page on one CPU, in turn bare and as
# the recorded command; medians of ROUNDS. The loop has a real-time priority.
# usage: faults.sh [ROUNDS [BUILD]]
set -u
rounds=${1:-9} build=$(readlink -f "${2:-$(dirname "$0")/../build}")
[ "$(id -u)" = 0 ] || { echo "only root can record" >&2; exit 1; }
dir=$(mktemp -d /var/tmp/whywait-faults-XXXXXX)
trap 'rm -rf "$dir"' EXIT
pin="chrt -f 10 taskset -c $(($(nproc) - 1))"
for i in $(seq "$rounds"); do
	$pin "$build/bench/bench-faults" >> "$dir/bare"
	"$build/whywait" record -q -o "$dir/t" -- $pin "$build/bench/bench-faults" >> "$dir/recorded"
done
median() { sort -n "$dir/$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
echo "a page fault: $(median bare) ns bare, $(median recorded) ns recorded; medians of $rounds"
