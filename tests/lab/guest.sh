#!/bin/sh
# guest.sh - runs inside the virtual machine: record commands whose waits are known, read the trace back with
# babeltrace2, and hold the reports to what must be true. Prints ok / not ok lines.
W=/lab/whywait fail=0
ok() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fail=1; fi; }

"$W" doctor > doctor.txt 2>&1
ok $? "doctor says that this kernel can be recorded: $(grep '^[a-z]* *programs ' doctor.txt)"

# One recording for all, since loading takes long in an emulated machine. The commands have names of their own.
cp /bin/sleep /tmp/snooze
cp /bin/dd /tmp/writer
cat > /tmp/known.sh <<'EOS'
/tmp/snooze 0.3
/tmp/writer if=/dev/zero of=/disk/f bs=64k count=32 conv=fsync 2> /dev/null
(sleep 0.2; echo x) | read y
exit 7
EOS
"$W" record -o /tmp/t -- sh /tmp/known.sh 2> record.err
rc=$?
[ $rc = 7 ]; ok $? "recorded, the command's exit status passes through: $rc, $(tail -n 1 record.err)"
# An interrupt may come while a program runs in a thread; the kernel then skips the interrupt's run of the same
# program (seen: an IPI's, and with PREEMPT_RT a timer's). That can't be helped from here, but no ring may lose
# anything, everybody must say what is missing, and it may be a few events only.
lost=$(sed -n 's/.*events LOST: \([0-9]*\) (0 no room in the ring, .*skipped by the kernel: .*/\1/p' record.err)
grep -q 'no event lost' record.err && lost=0
[ -n "$lost" ] && [ "$lost" -le 9 ]
ok $? "the rings lost nothing, and the kernel skipped at most 9 runs: ${lost:-more}, $(tail -n 1 record.err)"
partial=0; [ "${lost:-0}" = 0 ] || partial=3
babeltrace2 /tmp/t > t.txt 2> t.err
ok $? "babeltrace2 reads it: $(wc -l < t.txt) events"
told=$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' t.err | awk '{s += $1} END {print s + 0}')
[ "$told" = "${lost:-0}" ] && ! grep -v -e 'Tracer discarded' -e '^$' t.err > complaints
ok $? "babeltrace2 tells $told lost, and complains of nothing else"
rm -f t.txt
"$W" check -q /tmp/t > check.txt 2>&1
[ $? = $partial ]; ok $? "whywait check finds it sound"
"$W" report --json /tmp/t > sh.json
[ $? = $partial ]; ok $? "the report of the shell"
for c in snooze writer; do
	"$W" report --json --comm $c /tmp/t > $c.json
	[ $? = $partial ]; ok $? "the report of $c"
done
/usr/bin/python3 - <<'EOP'
import json, sys
bad = 0
def ok(c, what):
    global bad
    print(("ok - " if c else "not ok - ") + what)
    bad |= not c
def load(name):
    r = json.load(open(name + ".json"))
    ok(sum(b["ns"] for b in r["breakdown"]) == r["wall_ns"], name + ": the breakdown adds up to the wall time")
    return r
def blocked(r, cause):
    return sum(b["ns"] for b in r["breakdown"] if b["state"] == "blocked" and b["cause"] == cause) / 1e6
r = load("snooze")
ok(295 <= blocked(r, "timer") <= 600, "snooze 0.3 waited for a timer: %.1f ms" % blocked(r, "timer"))
r = load("writer")
ok(blocked(r, "disk") > 0, "dd conv=fsync waited for the disk: %.1f ms" % blocked(r, "disk"))
ok(blocked(r, "timer") == 0, "dd waited for no timer")
unknown = [b for b in r["breakdown"] if b["state"] == "blocked" and b["cause"] == "unknown" and b["syscall"] == "fsync"]
ok(not unknown, "no wait in fsync is without its cause: %s" % [(b["detail"], b["ns"]) for b in unknown])
r = load("sh")
w = blocked(r, "pipe") + blocked(r, "child")
ok(w >= 490, "sh waited for its children and the pipe's writer: %.1f ms" % w)
sys.exit(bad)
EOP
[ $? = 0 ] || fail=1
/lab/unit-base_pages > pages.txt 2>&1 # how memory moves is another matter before Linux 6.17
ok $? "the memory of long columns: $(grep -c '^ok' pages.txt) checks$(grep '^not ok' pages.txt)"
[ "$(bpftool prog show 2>/dev/null | grep -c ww_)" = 0 ]; ok $? "no program of ours is left in the kernel"
exit $fail
