#!/bin/bash
# overhead.sh - what recording costs a system-call loop on one CPU, interleaved, medians of ROUNDS.
#
# An event (two a call), each tracer with the same two events of all processes:
#   whywait   the system-call programs alone      perf      perf record -a -e raw_syscalls:*
#   ftrace    the kernel's own ring
# A call, whywait recording everything that it records:
#   tree      of the target's tree                other     of a process outside of it
#   light     of a process under --light, which attaches no system-call tracepoint
# The loop runs with a real-time priority, so that what else the machine does hardly matters. The difference of
# tree, other and light to the loop alone in the same round is shown with its 95 % interval.
# usage: overhead.sh [ROUNDS [BUILD]]
set -u
rounds=${1:-9} build=${2:-$(dirname "$0")/../build} n=300000
raw=$build/tests/live/record-raw calls=$build/tests/live/live-calls
tracing=/sys/kernel/tracing
ring=16777216 # perf's, with -m 4096
[ "$(id -u)" = 0 ] || { echo "only root can record" >&2; exit 1; }
dir=$(mktemp -d /var/tmp/whywait-overhead-XXXXXX)
trap 'echo 0 > $tracing/events/raw_syscalls/enable; rm -rf "$dir"' EXIT
mountpoint -q $tracing || mount -t tracefs none $tracing
pin="chrt -f 10 taskset -c $(($(nproc) - 1))"
$pin true || pin="taskset -c $(($(nproc) - 1))"

# Runs the loop beside a recording of a command that does nothing.
beside() { # name, options
	local name=$1; shift
	mkfifo "$dir/end"
	"$raw" "$@" "$dir/t" -- sh -c 'echo > "$0/ready"; read x < "$0/end"' "$dir" 2>> "$dir/log.$name" &
	local pid=$!
	while [ ! -e "$dir/ready" ] && kill -0 $pid; do sleep 0.05; done
	sleep 0.2
	$pin "$calls" $n >> "$dir/$name"
	echo > "$dir/end"
	wait $pid
	rm -rf "$dir/t" "$dir/end" "$dir/ready"
}

for i in $(seq "$rounds"); do
	$pin "$calls" $n >> "$dir/alone"
	"$raw" -s -a -r $ring "$dir/t" -- $pin "$calls" $n >> "$dir/whywait" 2>> "$dir/log.whywait"
	rm -rf "$dir/t"
	perf record -o "$dir/perf.data" -a -m 4096 -e 'raw_syscalls:*' -- $pin "$calls" $n 2>> "$dir/log.perf" |
		grep -x '[0-9.]*' >> "$dir/perf"
	rm -f "$dir/perf.data"
	echo 1 > $tracing/events/raw_syscalls/enable
	$pin "$calls" $n >> "$dir/ftrace"
	echo 0 > $tracing/events/raw_syscalls/enable
	"$raw" -r $ring "$dir/t" -- $pin "$calls" $n >> "$dir/tree" 2>> "$dir/log.tree"
	rm -rf "$dir/t"
	beside other -r $ring
	beside light -l -r $ring
done
median() { sort -n "$dir/$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
lost() { awk '{s += $8 + $10} END {print s + 0}' "$dir/log.$1"; }
base=$(median alone) perf=$(median perf) ftrace=$(median ftrace)
echo "the loop alone: $base ns a call; medians of $rounds"
for k in whywait perf ftrace; do
	median $k | awk -v k=$k -v b="$base" -v p="$perf" -v f="$ftrace" '{e = ($1 - b) / 2
		printf "%-8s %7.1f ns added an event: %.2f x perf, %.2f x ftrace\n", k, e, ($1 - b) / (p - b), ($1 - b) / (f - b)}'
done
echo "whywait lost $(lost whywait) events; perf says: $(grep -c -i -E 'lost|slow' "$dir/log.perf") warnings"
for k in tree other light; do
	paste "$dir/alone" "$dir/$k" | awk -v k=$k -v lost="$(lost $k)" '{d = $2 - $1; s += d; q += d * d; n++}
		END {m = s / n; v = n > 1 ? (q - n * m * m) / (n - 1) : 0
		printf "%-8s %7.1f ns added a call, +- %.1f; %d events lost\n", k, m, 2.2 * sqrt(v > 0 ? v / n : 0), lost}'
done
