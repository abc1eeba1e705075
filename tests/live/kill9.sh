#!/bin/bash
# kill9.sh - kill -9 at random moments while many events are written (WW_KILLS times on each of two file
# systems, one that writes directly and one that only writes through the cache): babeltrace2 reads every
# trace to its end, and each stream file ends where its last packet ends. TAP.
W=$(readlink -f "${WHYWAIT:-$(dirname "$0")/../../build/whywait}")
[ "$(id -u)" = 0 ] || { echo "only root can record"; exit 77; }
command -v babeltrace2 > /dev/null || { echo "babeltrace2 is not installed"; exit 77; }
kills=${WW_KILLS:-5}
RANDOM=${WW_SEED:-$$}
dir=$(mktemp -d /var/tmp/whywait-kill9-XXXXXX)
trap 'umount "$dir/cache"; rm -rf "$dir"' EXIT
mkdir "$dir/direct" "$dir/cache"
mount -t tmpfs -o size=2g none "$dir/cache" || { echo "no tmpfs can be mounted"; exit 77; }

# What runs while it is recorded: system calls as fast as they come, and switches; it ends with the recorder.
cat > "$dir/load.py" << 'EOP'
import os
r, w = os.pipe()
recorder = os.getppid()
if not os.fork():
    os.close(w)
    while os.read(r, 1):
        pass
    os._exit(0)
while os.getppid() == recorder:
    for _ in range(200):
        os.getppid()
        os.fstat(0)
    os.write(w, b"x")
EOP
n=0 failed=0
for fs in direct cache; do
	bytes=0 bad=0 none=0
	for i in $(seq "$kills"); do
		t=$dir/$fs/t
		rm -rf "$t"
		"$W" record -q -o "$t" -- /usr/bin/python3 "$dir/load.py" > /dev/null 2>&1 < /dev/null &
		p=$!
		for _ in $(seq 300); do [ -e "$t/metadata" ] && break; sleep 0.05; done
		sleep "$((RANDOM % 2)).$(printf %03d $((RANDOM % 1000)))"
		kill -9 $p
		wait $p 2> /dev/null
		if ! timeout 100 babeltrace2 -o dummy "$t" 2> "$dir/err" ||
			grep -v -e 'Tracer discarded' -e '^$' "$dir/err" > "$dir/complaint"; then
			bad=$((bad + 1))
			echo "# $fs, kill $i: $(cat "$dir/complaint" "$dir/err" | head -c 600 | tr '\n' ' ')"
			[ -z "$WW_KEEP" ] || cp -r "$t" "$WW_KEEP/$fs-$i"
		fi
		size=$(cat "$t"/c0_* 2> /dev/null | wc -c)
		bytes=$((bytes + size))
		[ "$size" -gt 0 ] || none=$((none + 1))
	done
	n=$((n + 1))
	[ $bad = 0 ] || { printf 'not '; failed=1; }
	echo "ok $n - $fs: $bad of $kills traces unreadable after kill -9 ($((bytes >> 20)) MiB in all)"
	n=$((n + 1))
	[ $none -lt "$kills" ] || { printf 'not '; failed=1; }
	echo "ok $n - $fs: events were on the disk in $((kills - none)) of them"
done
echo "1..$n"
exit $failed
