#!/bin/sh
# What an event costs: the same system-call loop, pinned to one CPU, alone and under whywait's system-call
# programs, perf record and ftrace's ring with the same two events a call; interleaved, medians.
# usage: overhead.sh RECORD_RAW CALLS_PROGRAM [ROUNDS]
set -eu
raw=$1 calls=$2 rounds=${3:-7} n=500000
tracing=/sys/kernel/tracing
dir=$(mktemp -d)
trap 'echo 0 > $tracing/events/raw_syscalls/enable; rm -rf "$dir"' EXIT
pin="taskset -c $(($(nproc) - 1))"

i=0
while [ $i -lt "$rounds" ]; do
	$pin "$calls" $n >> "$dir/none"
	"$raw" -s -a -r 67108864 "$dir/t" -- $pin "$calls" $n >> "$dir/whywait" 2> "$dir/log"
	rm -rf "$dir/t"
	perf record -q -o "$dir/perf.data" -a -m 4096 -e 'raw_syscalls:*' -- $pin "$calls" $n 2>> "$dir/log" |
		head -1 >> "$dir/perf"
	rm -f "$dir/perf.data"
	echo 1 > $tracing/events/raw_syscalls/enable
	$pin "$calls" $n >> "$dir/ftrace"
	echo 0 > $tracing/events/raw_syscalls/enable
	i=$((i + 1))
done
median() { sort -n "$dir/$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
base=$(median none)
for k in whywait perf ftrace; do
	median $k | awk -v k=$k -v b="$base" '{printf "%-8s %7.1f ns a call, added %6.1f ns an event\n", k, $1, ($1 - b) / 2}'
done
echo "alone    $base ns a call; medians of $rounds"
