#!/bin/bash
# stress.sh - stress-ng's stressors under recording: nothing crashes, what was lost is said and counted as the judges
# count it (babeltrace2, and a program beside them that makes a known number of calls), the trace is sound, the report
# answers, and nothing of ours is left in the kernel. TAP.
#
#   WW_STRESS_S      seconds; 6
#   WW_STRESS_CLASS  all stressors of these classes at once (scheduler,os,filesystem), not the few of below
#   WW_STRESS_FLIGHT 32M: with a flight recorder, and a snapshot every quarter of the time, each of them judged
#   WW_STRESS_MAX    300M: the trace's largest size
#
# All of it stays within bounds: files on a tmpfs of 1 GB, 6 GB of memory and 12000 processes in a cgroup, so that what
# stress-ng eats is its own. Those of a class run as nobody: as root some of them take this machine's memory and CPUs
# off line, write to its devices or set its clock. The root's that do no harm are in `roots`.
W=$(readlink -f "${WHYWAIT:-$(dirname "$0")/../../build/whywait}")
calls=${WW_BUILD:-$(dirname "$W")}/tests/live/live-calls
secs=${WW_STRESS_S:-6} ncalls=100000
for need in stress-ng babeltrace2 setpriv; do
	command -v $need >/dev/null || { echo "$need is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "only root can record"; exit 77; }
export PATH=$PATH:/usr/sbin:/sbin
dir=$(mktemp -d /var/tmp/whywait-stress-XXXXXX)
groups="/sys/fs/cgroup/memory/whywait-$$ /sys/fs/cgroup/pids/whywait-$$ /sys/fs/cgroup/whywait-$$"
trap 'umount -l "$dir/tmp" 2>/dev/null; rmdir $groups 2>/dev/null; rm -rf "$dir"' EXIT
chmod 755 "$dir"
mkdir "$dir/tmp" && mount -t tmpfs -o size=1g,mode=1777 none "$dir/tmp" || exit 1
n=0 failed=0
ok() { # status text
	n=$((n + 1))
	[ "$1" = 0 ] || { printf 'not '; failed=1; }
	echo "ok $n - $2"
}
# What the kernel complains of from now on; its log forgets what is old.
mark="whywait stress.sh $$"
echo "$mark" > /dev/kmsg
complaints() {
	dmesg | awk -v mark="$mark" '/BUG:|WARNING:|Oops|general protection|soft lockup/ {s = s $0 "\n"}
		index($0, mark) {s = ""} END {printf "%s", s}'
}
# The last line but empty ones, for a test's name.
last() {
	grep . "$1" 2>/dev/null | tail -n 1 | cut -c1-120
}
few="--switch 1 --futex 1 --pipe 1 --sem 1 --sem-sysv 1 --mq 1 --msg 1 --fork 1 --vfork 1 --clone 1
	--epoll 1 --eventfd 1 --timerfd 1 --yield 1 --sigq 1 --poll 1 --sock 1 --udp 1 --schedpolicy 1
	--affinity 1 --nice 1 --sysinfo 1 --enosys 1 --dentry 1 --hdd 1 --hdd-bytes 16m --mmapfork 1 --exec 1 --kill 1"
roots="--chroot 1 --fanotify 1 --ramfs 1 --unshare 1 --netdev 1 --rawsock 1 --rawudp 1 --rawpkt 1 --tun 1 --icmp-flood 1"
# The first $2 seconds of a minute are too few for 250 processes on two CPUs: the calls are made when all of them run.
cat > "$dir/run" <<EOF
for g in $groups; do
	mkdir \$g 2>/dev/null && echo \$\$ > \$g/cgroup.procs || continue
	echo 6G > \$g/memory.max || echo 6G > \$g/memory.limit_in_bytes
	echo 12000 > \$g/pids.max
done 2>/dev/null
common="--timeout $secs --oom-avoid --quiet --temp-path $dir/tmp"
if [ -n "$WW_STRESS_CLASS" ]; then
	setpriv --reuid=65534 --regid=65534 --clear-groups stress-ng --class $WW_STRESS_CLASS --all 1 \$common &
	stress-ng $(echo $roots) \$common &
else
	stress-ng $(echo $few) \$common &
fi
sleep 1
$calls $ncalls
wait
exit 0
EOF
set -- -q -o "$dir/t"
[ -z "$WW_STRESS_MAX" ] || set -- "$@" --max-size "$WW_STRESS_MAX"
[ -z "$WW_STRESS_FLIGHT" ] || set -- "$@" --flight "$WW_STRESS_FLIGHT"
timeout -k 5 $((secs * 6 + 120)) "$W" record "$@" -- sh "$dir/run" >"$dir/out" 2>"$dir/err" </dev/null &
recorder=$!
if [ -n "$WW_STRESS_FLIGHT" ]; then
	for i in $(seq 600); do # loading takes its time on a busy machine
		[ -s "$dir/t/flight.pid" ] || ! kill -0 $recorder 2>/dev/null && break
		sleep 0.1
	done
	for i in 1 2 3; do
		sleep $((secs / 4))
		"$W" snapshot "$dir/t" >"$dir/snap" 2>&1
		ok $? "a snapshot in the midst of it: $(last "$dir/snap" | sed "s,$dir/,,")"
	done
fi
wait $recorder
rc=$?
[ $rc = 0 ] || [ $rc = 3 ]
ok $? "recording stress-ng for $secs s ends with 0 or, when events were lost, 3: $rc $(last "$dir/err" | sed "s,$dir/,,")"
[ $rc != 3 ] || grep -qi lost "$dir/err"
ok $? "a loss is said in words"

judge() { # trace
	local name=${1#"$dir/"} crc rrc lost events got told
	[ -f "$1/metadata" ]
	ok $? "$name: there is a trace: $(du -sh "$1" 2>/dev/null | cut -f1)"
	timeout $((200 + 10 * secs)) "$W" check -q "$1" >"$dir/check" 2>&1
	crc=$?
	[ $crc = 0 ] || [ $crc = 3 -a $rc = 3 ]
	ok $? "$name: whywait check finds it sound (exit $crc): $(last "$dir/check")"
	timeout $((200 + 10 * secs)) "$W" report -q "$1" >"$dir/report" 2>"$dir/report.err"
	rrc=$?
	[ $rrc = 0 ] || [ $rrc = 3 -a $rc = 3 ] && grep -q 'wall time' "$dir/report"
	ok $? "$name: the report answers (exit $rrc): $(cat "$dir/report.err" "$dir/report" | head -n 1 | cut -c1-100)"
	"$W" info -q "$1" >"$dir/info" 2>&1
	events=$(awk '$1 == "events" {print $2}' "$dir/info")
	lost=$(awk '$1 == "loss" {print $2}' "$dir/info")
	timeout 300 babeltrace2 "$1" -c sink.utils.counter >"$dir/count" 2>"$dir/bt.err"
	got=$(awk '/ Event messages/ {n = $1} END {print n}' "$dir/count")
	told=$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$dir/bt.err" | awk '{s += $1} END {print s + 0}')
	[ -n "$got" ] && [ "$got" = "$events" ]
	ok $? "$name: babeltrace2 reads as many events: $got, we $events"
}
if [ -n "$WW_STRESS_FLIGHT" ]; then
	for t in "$dir"/t/snapshot-*; do
		judge "$t"
		rm -rf "$t"
	done
else
	judge "$dir/t"
	told=$(sed -n 's/.*events LOST: \([0-9]*\) .*/\1/p' "$dir/err")
	lost=$(awk '$1 == "loss" {print $2}' "$dir/info")
	[ "${told:-0}" = "$lost" ]
	ok $? "as many are lost for the reader as for the recorder: $lost, ${told:-0}"
	# Each call by its number, of the events: the facts have no calls of a thread from a loss on its CPU to its next switch.
	# The trace may have ended before the calls did, where its size is bounded.
	got=$("$W" events -q -e syscall_entry_lseek "$dir/t" 2>/dev/null |
		sed -n 's/.* fd=4294967295 offset=\([0-9]\{1,5\}\) whence=0.*/\1/p' | sort -un | wc -l)
	[ "$got" -gt 0 ] && { [ -n "$WW_STRESS_MAX" ] || [ $((got + lost)) -ge $ncalls ]; }
	ok $? "of $ncalls known calls in the midst of it $got are there, $lost events were lost"
fi
got=$("$(dirname "$0")/../tools/bpf_left")
[ "$got" = 0 ]
ok $? "no BPF program of ours is left in the kernel: $got"
got=$(complaints | head -n 1)
[ -z "$got" ]
ok $? "the kernel's log has no new complaint $got"
echo "1..$n"
exit $failed
