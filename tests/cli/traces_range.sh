# --from and --to in their four kinds;
# each line tells of the same thread, so that equal ranges must give equal answers
T=$WW_TRACES/single/trace
[ -d "$T" ] || { echo "no trace $T: set WW_TRACES"; exit 77; }
json() { "$WHYWAIT" report --json -q --comm wl-sleep "$@" "$T" | /usr/bin/python3 -c '
import json, sys
j = json.load(sys.stdin)
print(j["target"]["tid"], j["begin_ns"], j["wall_ns"], len(j["waits"]))'; }
begin=$("$WHYWAIT" threads --json -q "$T" | /usr/bin/python3 -c '
import json, sys
print(min(r["begin_ns"] for r in json.load(sys.stdin)["rows"]))')
a=$(json --from +210ms --to +240ms)
b=$(json --from $((begin + 210000000)) --to $((begin + 240000000)))
c=$(json --from "$(echo "$((begin + 210000000))" | sed 's/.........$/.&/')" --to +240ms)
[ "$a" = "$b" ] && echo "relative and ns since the epoch agree"
[ "$a" = "$c" ] && echo "relative and seconds since the epoch agree"
hms() { echo "$((begin + $1))" | /usr/bin/python3 -c '
import datetime, sys
ns = int(sys.stdin.read())
print(datetime.datetime.fromtimestamp(ns // 10**9).strftime("%H:%M:%S") + ".%09d" % (ns % 10**9))'; }
for TZ in UTC Asia/Tokyo America/New_York; do
	export TZ
	d=$(json --from "$(hms 210000000)" --to "$(hms 240000000)")
	[ "$a" = "$d" ] && echo "relative and time of day agree in $TZ"
done
t=$("$WHYWAIT" events -q "$T" | sed -n '1000{s/ .*//p;q}')
"$WHYWAIT" report --json -q --comm wl-sleep --from "$t" "$T" > /dev/null; echo "a time as events prints it: $?"
"$WHYWAIT" report -q --comm wl-sleep --from 25:00:00 "$T" 2> err; echo "no time of day: $?"
echo "$a" | cut -d' ' -f1,3,4
"$WHYWAIT" report -q --comm wl-sleep --from lttng_no_such_text "$T" 2>err
echo "no such text: $?"
json --from sched_switch >/dev/null && echo "text of an event: $?"
