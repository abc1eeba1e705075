#!/bin/bash
# stress.sh - stress-ng's scheduler, IPC and system call stressors under recording for a few seconds (WW_STRESS_S;
# WW_STRESS_CLASS=scheduler,os: all stressors of these classes at once): nothing crashes, what was lost is said,
# the trace is sound, and nothing of ours is left in the kernel. TAP.
W=${WHYWAIT:-$(dirname "$0")/../../build/whywait}
secs=${WW_STRESS_S:-6}
command -v stress-ng >/dev/null || { echo "stress-ng is not installed"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "only root can record"; exit 77; }
dir=$(mktemp -d /var/tmp/whywait-stress-XXXXXX)
trap 'rm -rf "$dir"' EXIT
n=0 failed=0
ok() { # status text
	n=$((n + 1))
	[ "$1" = 0 ] || { printf 'not '; failed=1; }
	echo "ok $n - $2"
}
left() {
	PATH=$PATH:/usr/sbin bpftool prog list 2>/dev/null | grep -c ' name ww_'
}
before=$(left)
marks() {
	dmesg 2>/dev/null | grep -cE 'BUG:|WARNING:|Oops|general protection|soft lockup'
}
marks0=$(marks)
stressors="--switch 1 --futex 1 --pipe 1 --sem 1 --sem-sysv 1 --mq 1 --msg 1 --fork 1 --vfork 1 --clone 1
	--epoll 1 --eventfd 1 --timerfd 1 --yield 1 --sigq 1 --poll 1 --sock 1 --udp 1 --schedpolicy 1
	--affinity 1 --nice 1 --sysinfo 1 --enosys 1 --dentry 1 --hdd 1 --hdd-bytes 16m --mmapfork 1 --exec 1 --kill 1"
[ -z "$WW_STRESS_CLASS" ] || stressors="--class $WW_STRESS_CLASS --all 1"
timeout -k 5 $((secs * 6 + 60)) "$W" record -q -o "$dir/t" -- \
	stress-ng $stressors --timeout "$secs" --temp-path "$dir" --quiet >"$dir/out" 2>"$dir/err" </dev/null
rc=$?
[ $rc = 0 ] || [ $rc = 3 ]
ok $? "recording stress-ng for $secs s ends with 0 or, when events were lost, 3: $rc $(tail -n1 "$dir/err" | cut -c1-120)"
[ $rc != 3 ] || grep -qi lost "$dir/err"
ok $? "a loss is said in words"
[ -f "$dir/t/metadata" ]
ok $? "there is a trace: $(du -sh "$dir/t" 2>/dev/null | cut -f1)"
timeout $((200 + 10 * secs)) "$W" check -q "$dir/t" >"$dir/check" 2>&1
crc=$?
[ $crc = 0 ] || [ $crc = 3 -a $rc = 3 ]
ok $? "whywait check finds it sound (exit $crc): $(tail -n1 "$dir/check" | cut -c1-120)"
timeout $((200 + 10 * secs)) "$W" report -q "$dir/t" >"$dir/report" 2>&1
rrc=$?
[ $rrc = 0 ] || [ $rrc = 3 -a $rc = 3 ]
ok $? "whywait report on it ends well (exit $rrc)"
grep -q . "$dir/report"
ok $? "the report says something"
# The kernel frees programs a moment after their last user.
for i in 1 2 3 4 5 6 7 8 9 10; do [ "$(left)" -le "$before" ] && break; sleep 0.5; done
[ "$(left)" -le "$before" ]
ok $? "no BPF program of ours is left in the kernel"
[ "$(marks)" = "$marks0" ]
ok $? "the kernel's log has no new complaint"
echo "1..$n"
exit $failed
