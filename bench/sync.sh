#!/bin/sh
# What `whywait sync` costs without and with reading the traces, and how it grows with packets and with hosts.
# usage: bench/sync.sh [BUILD]
b=${1:-build}/bench/bench-sync
echo "hosts   pkts/host  adding s  solve s  peak MB  error us bound us  early"
for n in 125000 250000 500000 1000000; do "$b" 10 $n || exit 1; done
for h in 2 4 8 16; do "$b" $h 250000 || exit 1; done
# The whole of it, traces read too.
[ -x /usr/bin/time ] || exit 0
d=$(mktemp -d /var/tmp/ww-bench-sync-XXXXXX)
trap 'rm -rf "$d"' EXIT
for n in 125000 250000 500000 1000000; do
	rm -rf "$d"/h*
	"${b}-traces" "$d" 10 $n || exit 1
	echo "10 traces of $n packets: $(/usr/bin/time -f '%e s, %U s user, %M KB' "${b%/bench/*}/whywait" sync --no-store "$d"/h* 2>&1 >/dev/null)"
done
