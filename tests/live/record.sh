#!/bin/bash
# record.sh - recording leaves the command alone, keeps the trace whatever happens, and cleans up. TAP.
# The judge of every trace is babeltrace2.
W=$(readlink -f "${WHYWAIT:-$(dirname "$0")/../../build/whywait}")
[ "$(id -u)" = 0 ] || { echo "only root can record"; exit 77; }
command -v babeltrace2 > /dev/null || { echo "babeltrace2 is not installed"; exit 77; }
export PATH=$PATH:/usr/sbin:/sbin
unset SUDO_UID SUDO_GID
dir=$(mktemp -d /var/tmp/whywait-record-XXXXXX)
chmod 755 "$dir"
cd "$dir" || exit 1
trap 'cd /; umount "$dir/tiny" 2>/dev/null; rm -rf "$dir"' EXIT
n=0 failed=0
ok() { # status text
	n=$((n + 1))
	[ "$1" = 0 ] || { printf 'not '; failed=1; }
	echo "ok $n - $2"
}
is() { # got want text
	[ "$1" = "$2" ]
	ok $? "$3 (got $1, want $2)"
}
# Loading takes its time on a busy machine; once the state dump is on disk, recording goes on.
ready() { # trace pid
	local i=0
	while [ ! -s "$1/dump_0" ] && [ ! -s "$1/flight.pid" ] && kill -0 "$2" && [ $i -lt 300 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	sleep 0.3
}
# What was lost is counted in the packets, and the judge says so: no fault of the trace. Where nothing should be lost
# a few events may be, all the same: an interrupt's, of a program that was active on its CPU, is skipped by the kernel.
sound() { # trace text [lossy]
	local got lost=0
	if babeltrace2 "$1" > events.txt 2> events.err; then
		lost=$(sed -n 's/^WARNING: Tracer discarded \([0-9]*\) event.*/\1/p' events.err | awk '{s += $1} END {print s + 0}')
		sed -i '/^WARNING: Tracer discarded [0-9]* event/d; /^$/d' events.err
		got=$(wc -l < events.txt)
	fi
	[ "${got:-0}" -gt 0 ] && [ ! -s events.err ] && { [ -n "$3" ] || [ "$lost" -le 3 ]; }
	ok $? "$2: babeltrace2 reads it, ${got:-no} events, $lost lost $(head -c 200 events.err)"
}
ours() {
	{ bpftool prog list; bpftool map list; } 2>/dev/null | grep -c 'name ww_'
}
before=$(ours)

# ---- the command's own world ----
"$W" -- sh -c 'exit 7' 2> err; is $? 7 "the command's exit status"
"$W" -- true 2> err; is $? 0 "success"
"$W" -- sh -c 'kill -TERM $$' 2> err; is $? 143 "ended by a signal: 128 + its number"
"$W" -- ./no-such-program 2> err; is $? 127 "a command that is not there"
: > not-executable
"$W" -- ./not-executable 2> err; is $? 126 "a command that cannot run"
"$W" --no-such-option -- true 2> err; is $? 125 "our own failure"
"$W" record 2> err; is $? 2 "record without anything to record"
head -c 100000 /dev/urandom > in
"$W" -- cat < in > out 2> err
cmp -s in out; ok $? "stdin and stdout pass through unchanged"
"$W" -- grep TracerPid /proc/self/status > out 2> err
is "$(tr -d '\t' < out)" "TracerPid:0" "the command is not traced by anybody"
"$W" -- sh -c 'ls -l /proc/self/fd | grep -c -e anon_inode -e bpf' > out 2> err
is "$(cat out)" 0 "no descriptor of ours leaks into the command"
"$W" -- grep -e SigIgn -e SigBlk /proc/self/status > out 2> err
grep -e SigIgn -e SigBlk /proc/self/status > want
cmp -s out want; ok $? "signal mask and ignored signals are those it would have had"
( trap '' HUP; "$W" -- sh -c 'kill -HUP $$; exit 5' 2> err ); is $? 5 "nohup stays in force"
# What it calls is what strace sees, and no more: nothing of what whywait did in the same process before.
cat > calls.py << 'PY'
import collections, json, re, subprocess, sys
n = collections.Counter(re.match(r'(\w+)\(', l).group(1) for l in open('st') if re.match(r'\w+\(', l))
tid = next(l for l in subprocess.check_output([sys.argv[1], 'events', 'own'], text=True).splitlines() if 'whywait_target' in l)
tid = re.search(r'tid=(\d+)', tid).group(1)
rows = [l.split() for l in subprocess.check_output([sys.argv[1], 'syscalls', '-n', '0', '-t', tid, 'own'], text=True).splitlines()[1:]]
ours = {r[0]: int(r[1]) for r in rows if len(r) > 2}
print('same' if ours == n and len(n) > 5 else 'strace %r whywait %r' % (dict(n - collections.Counter(ours)), dict(collections.Counter(ours) - n)))
PY
PATH=/nowhere:/no/where:$PATH strace -o st true
PATH=/nowhere:/no/where:$PATH "$W" record -q -s -o own -- true
is "$(/usr/bin/python3 calls.py "$W")" same "the command's system calls are those that strace sees"
"$W" stacks own | grep -c anon_pipe_read > out; is "$(cat out)" 0 "whywait's own wait for the word to begin is not among the stacks"
printf 'echo of a script "$1"\n' > script; chmod +x script
is "$("$W" -- ./script x 2> err)" "of a script x" "a text without #! is the shell's, as with execvp"

# ---- the directory ----
rm -rf whywait.ctf*
"$W" record -q -- true; "$W" record -q -- true
[ -f whywait.ctf/metadata ] && [ -f whywait.ctf.1/metadata ]
ok $? "an older trace is kept as whywait.ctf.1"
mkdir precious && echo keep > precious/file
"$W" record -o precious -- true 2> err; rc=$?
[ $rc != 0 ] && [ "$(cat precious/file)" = keep ] && [ "$(ls precious)" = file ]
ok $? "a directory that is no trace is refused and left alone"
sound whywait.ctf "a short recording"
rm -rf whywait*.ctf*
"$W" record -q -- sh -c '"$0" -- sh -c "exit 6"; "$0" record -q -o whywait.ctf -- true; echo $?' "$W" > out 2> err
{ grep -q 'another whywait is recording to ./whywait.ctf; this trace is ./whywait-2.ctf' err && grep -q '^sh (.*wall time' err &&
	"$W" events whywait-2.ctf | grep -q 'whywait_target.*exit 6' && [ ! -e whywait.ctf.1 ]; }
ok $? "what is being recorded is not moved: a second one is whywait-2.ctf, and reports on itself"
is "$(cat out)" 125 "with -o it is refused: $(grep 'being recorded by another' err)"
"$W" report whywait.ctf 2> err | grep -q '^sh (.*wall time' && [ ! -s err ]; ok $? "and the first is whole"

# ---- who runs it ----
export SUDO_UID=65534 SUDO_GID=65534
"$W" -- id -u > out 2> err; is "$(cat out)" 65534 "under sudo the command runs as its invoker"
"$W" -- id -G > out 2> err; is "$(cat out)" 65534 "with the invoker's groups"
is "$(stat -c %u whywait.ctf whywait.ctf/metadata | sort -u)" 65534 "the trace belongs to the invoker"
"$W" --as-root -- id -u > out 2> err; is "$(cat out)" 0 "--as-root"
unset SUDO_UID SUDO_GID
"$W" record -q -o caps -a -d 3 & p=$!
ready caps $p
is "$(awk '/CapEff/ {print $2}' /proc/$p/status)" 0000000000000020 "while it records only CAP_KILL is left"
wait $p

# ---- ends of every kind ----
"$W" record -q -o killed -a & p=$!
ready killed $p
sleep 2.6
kill -9 $p; read -r up _ < /proc/uptime
wait $p 2>/dev/null
sound killed "after kill -9" lossy
"$W" info killed 2>&1 > out | grep -q 'did not come to its end'; ok $? "a trace that was cut says so"
"$W" record -q -o cut -- sh -c 'sleep 0.5; kill -9 $PPID' 2> err
sleep 0.2 # its shell ends
"$W" report cut > out 2> err; grep -qE '^sh \(.*kill -9|command \(sh -c .*kill -9 .* had just begun' out err &&
	grep -q 'did not come to its end' err
ok $? "killed before the second is over: the target is known, and that it was cut: $(cat out err | tail -n 1)"
last=$(babeltrace2 --clock-cycles killed 2>/dev/null | tail -n 1 | sed 's/^\[0*\([0-9]*\)\].*/\1/')
mono=$(/usr/bin/python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.clock_gettime_ns(time.CLOCK_BOOTTIME))')
age=$(/usr/bin/python3 -c "m, b = map(int, '$mono'.split()); print((int(float('$up') * 1e9) - (b - m) - $last) // 1000000)")
[ "$age" -lt 1600 ]
ok $? "after kill -9 all but the last second is there: the last event is $age ms older than the kill"

"$W" record -o maxed --ring 512K --max-size 1M -- sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); : < /dev/null; done; exit 4' 2> err
rc=$? size=$(du -sk maxed | cut -f1)
{ [ $rc = 4 ] && grep -q 'that --max-size allows' err && [ "$size" -ge 1000 ] && [ "$size" -lt 3200 ]; } # beside it: what is in both rings, and the state dump
ok $? "--max-size 1M: the trace has $size KiB, the command goes on to its end (exit status $rc)"
sound maxed "a trace that became as large as it may" lossy
"$W" report maxed 2> err | grep -q '^sh (.*wall time'; ok $? "and the report answers"
"$W" -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do /bin/true; done' 2> err
grep -q '^  true (14 of them) ' err; ok $? "many children of one name are one line: $(grep 'of them) .*longest' err)"

mkdir tiny && mount -t tmpfs -o size=2m none tiny
"$W" record -o tiny/t -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); : < /dev/null; done; exit 0' 2> err
is $? 3 "a full disk: the exit status says partial"
grep -q 'No space left' err; ok $? "a full disk is told: $(head -n 1 err)"
sound tiny/t "on the full disk" lossy
umount tiny

/usr/bin/python3 - "$W" > out << 'PY'
import os, pty, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL) # also where the tests run in a script's background
    os.execv(sys.argv[1], [sys.argv[1], 'record', '-q', '-o', 'ctrlc', '--', 'sh', '-c',
             'n=0; trap "n=\\$((n+1))" INT; echo ready; sleep 2; sleep 1; echo got $n; exit 9'])
text = b''
sent = False
while True:
    try:
        b = os.read(fd, 4096)
    except OSError:
        break
    if not b:
        break
    text += b
    if b'ready' in text and not sent:
        sent = True
        time.sleep(0.3)
        os.write(fd, b'\x03')
_, st = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(st), text.decode(errors='replace').split())
PY
is "$(cat out)" "9 ['ready', '^Cgot', '1']" "Ctrl-C is the command's, once"
sound ctrlc "after Ctrl-C"

"$W" record -q -o term -- sleep 30 & p=$!
ready term $p; kill -TERM $p; wait $p; is $? 143 "SIGTERM is passed on and ends it"
sound term "after SIGTERM"

sleep 60 & victim=$!
"$W" record -q -o attached -p $victim & p=$!
ready attached $p; kill $victim; wait $victim 2>/dev/null; wait $p
rc=$?; [ $rc = 0 ] || [ $rc = 3 ]; ok $? "attached to a process, recording ends with it"
sound attached "attached"
grep -q "whywait_target.*tid = $victim.*begin = 1" events.txt; ok $? "the target is named in the trace"
"$W" -q -o p -p $$ -d 0.3 > out 2> err; rc=$?
{ [ $rc = 0 ] || [ $rc = 3 ]; } && head -n 1 out | grep -q "($$): wall time"; ok $? "whywait -p PID -d 0.3 reports on it: $(head -n 1 out)"
script -qec "'$W' -o shown -a -d 2 --report r" /dev/null < /dev/null > out; grep -q 'recording 1 s, [0-9]* events, .*, [0-9]* lost' out
ok $? "whywait -a -d 2 shows its progress on a terminal"
script -qec "'$W' -o shown --report r -- sleep 1.6" /dev/null < /dev/null > out; ! grep 'recording [0-9]* s' out; ok $? "beside a command no progress is shown"
"$W" record -q -o all -a -d 1; rc=$?
[ $rc = 0 ] || [ $rc = 3 ]; ok $? "-a -d 1"
sound all "the whole system" lossy

# Every CPU has its ticks: what the trace tells of last is then no older than that. Detaching takes longer.
spin=
for i in $(seq "$(nproc)"); do timeout 60 nice -n 19 sh -c 'while :; do :; done' & spin="$spin $!"; done
"$W" record -q -o tail -p $! -d 0.4 || [ $? = 3 ]; ok $? "-p PID -d 0.4"
gap=$(babeltrace2 --clock-cycles tail 2>/dev/null | awk '{t = $1; gsub(/[^0-9]/, "", t); end = t}
	!/ whywait_(clock|cost|target)/ {last = t} END {print int((end - last) / 1000000)}')
[ "${gap:-99}" -lt 10 ]; ok $? "nothing is told of a time in which nothing was recorded: the last event is $gap ms before the end"

"$W" record -o flight --flight 1M -a 2> err & p=$!
ready flight $p
sleep 1
got=$("$W" snapshot flight); is $? 0 "a snapshot is taken"
sound "$got" "the snapshot" lossy
# While it was read there were losses, for all CPUs were busy: they are before the next one's time.
sleep 1
got=$("$W" snapshot flight)
lost=$("$W" info "$got" | awk '/^loss/ {print $2}')
kill -TERM $p; wait $p
kill $spin 2> /dev/null; wait $spin 2> /dev/null
all=$(sed -n 's/.* \([0-9]*\) events came while a snapshot was written.*/\1/p' err)
sound flight "both snapshots together" lossy
[ "${all:-0}" -gt 3 ] && [ "${lost:-99}" -le 3 ]; ok $? "the second snapshot counts $lost losses, not those before it ($all in all)"
rm -rf flight
"$W" record -q -o flight --flight 1M -- sh -c 'sleep 0.2; exit 5' 2> err; rc=$?
"$W" report flight > out 2> err; head -n 1 out | grep -q "^sh (.*exit status 5" && [ $rc = 5 ]; ok $? "a snapshot names the command that has ended: $(head -n 1 out)"
"$W" snapshot flight 2> err; is $? 1 "no recorder, no snapshot"

for i in $(seq 100); do # others may be recording just now
	after=$(ours)
	[ "$after" -le "$before" ] && break
	sleep 0.3
done
[ "$after" -le "$before" ]; ok $? "nothing of ours is left in the kernel ($before before, $after after)"
echo "1..$n"
exit $failed
