#!/bin/bash
# lttng_lab.sh - in a virtual machine with Debian's kernel, LTTng and whywait record one run at once, and
# then LTTng, perf, trace-cmd and whywait another. The oracles are tests/oracle/lttng_same_run.py (event for event) and
# four_recorders.py (what the reports say). Building LTTng's modules takes minutes, once; so do the emulated
# machines. WW_LAB=0: not at all.
[ "${WW_LAB:-1}" = 1 ] || { echo "SKIP: WW_LAB=${WW_LAB} says so"; exit 77; }
here=$(dirname "$(readlink -f "$0")")
lab=$here/../lab
oracle=$here/../oracle
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ver=$("$lab/kernel" "${WW_LAB_KERNEL:-linux-image-amd64}") && tar=$("$lab/lttng" "$ver") || { echo "not ok - no kernel with LTTng's modules"; exit 1; }
export WW_LAB_FILES="$(readlink -f "$WHYWAIT") $WW_BUILD/tests/demo/whywait-demo $tar $oracle/four_recorders.py $oracle/lttng_oracle.py"
export WW_LAB_TIMEOUT=${WW_LAB_TIMEOUT:-600}
fail=0
for what in two four; do
	"$lab/boot" "$ver" "$tmp/$what" "$lab/four.sh" $what
	rc=$?
	if [ $rc != 0 ]; then
		echo "not ok - $what recorders in one machine: exit status $rc"
		tail -5 "$tmp/$what"/{log,lttng.log,record.log} 2> /dev/null
		fail=1
		continue
	fi
	judge=four_recorders.py
	[ $what = four ] || judge=lttng_same_run.py
	/usr/bin/python3 "$oracle/$judge" "$tmp/$what" || fail=1
done
exit $fail
