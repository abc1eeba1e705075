#!/bin/bash
# guest.sh - runs inside the virtual machine: record commands whose waits are known, read them
# back with babeltrace2, and hold the report to what must be true. Prints ok / not ok lines.
W=/lab/whywait fail=0
ok() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fail=1; fi; }

"$W" doctor > doctor.txt 2>&1
ok $? "doctor says that this kernel can be recorded"

"$W" record -q -o /tmp/sleep -- sleep 0.3 2> record.err
ok $? "record -- sleep 0.3"
"$W" record -q -o /tmp/sync -- dd if=/dev/zero of=/disk/f bs=64k count=32 conv=fsync 2>> record.err
ok $? "record -- dd conv=fsync on ext4"
"$W" record -q -o /tmp/pipe -- sh -c '(sleep 0.2; echo x) | read y; exit 7' 2>> record.err
[ $? = 7 ]; ok $? "the command's exit status passes through"
for t in sleep sync pipe; do
	babeltrace2 /tmp/$t > $t.txt 2> $t.err && [ ! -s $t.err ]
	ok $? "babeltrace2 reads $t without a warning"
	"$W" report --json /tmp/$t > $t.json
	ok $? "report --json $t"
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
r = load("sleep")
ok(295 <= blocked(r, "timer") <= 600, "sleep 0.3 waited for a timer: %.1f ms" % blocked(r, "timer"))
r = load("sync")
ok(blocked(r, "disk") > 0, "dd conv=fsync waited for the disk: %.1f ms" % blocked(r, "disk"))
ok(blocked(r, "timer") == 0, "dd waited for no timer")
r = load("pipe")
w = blocked(r, "pipe") + blocked(r, "child")
ok(w >= 190, "sh waited for the writer of the pipe or its child: %.1f ms" % w)
sys.exit(bad)
EOP
[ $? = 0 ] || fail=1
[ "$(bpftool prog show 2>/dev/null | grep -c ww_)" = 0 ]; ok $? "no program of ours is left in the kernel"
exit $fail
