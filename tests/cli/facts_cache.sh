# Facts that were kept give the answers that the trace gives: every command, three formats, several hosts, a lossy trace;
# a trace that changed is read again; a damaged file, a directory that is closed, a disk that is full harm nobody;
# babeltrace2, info and check do not see the file.
S=$WW_TRACES
[ -d "$S/single/trace" ] || { echo "no trace $S/single/trace: set WW_TRACES"; exit 77; }
export XDG_CACHE_HOME=$PWD/cache
W=$WHYWAIT
used() { grep -c '^whywait: the facts are from ' "$1"; }
# what every command says of the traces, in one file; $2: an option
all() {
	out=$1; shift; : >"$out"
	for c in report tree path threads procs usage sched syscalls files io faults irq locks net stacks; do
		[ $# -gt 2 ] && [ $c != path ] && continue
		for j in --json --no-color; do
			case $j$c in --no-color[tsfn]*) continue ;; esac # as text one of each kind is enough
			"$W" $c $j "$@" >>"$out" 2>>"$out.err"
			echo "$c $j $?" >>"$out"
		done
	done
}
# NAME TRACE...: without the file, with the file being made, with the file
three() {
	name=$1; shift
	(export WHYWAIT_NO_CACHE=1; all "$name.0" -q "$@")
	all "$name.1" -q "$@"
	all "$name.2" -q "$@"
	cmp -s "$name.0" "$name.1" && cmp -s "$name.0" "$name.2" && [ "$(wc -c <"$name.0")" -gt 3000 ] &&
		echo "$name: every command says the same with the file as without"
	for t in "$@"; do
		"$W" threads -v "$t" >verbose.out 2>verbose.err
		[ "$(used verbose.err)" = 1 ] || echo "$name: the file was not used"
	done
}
cp -r --preserve=timestamps "$S/single/trace" ctf && chmod -R u+w ctf
mkdir files && cp --preserve=timestamps "$S/perf-sched-syscalls/perf.data" "$S/tracecmd-v7-none/trace.dat" "$S/variants/tc-lossy.dat" files/
chmod -R u+w files
for h in client web db; do cp -r --preserve=timestamps "$S/cluster3/$h" "host-$h"; done; chmod -R u+w host-*
three ctf ctf
three perf.data files/perf.data
three trace.dat files/trace.dat
three lossy files/tc-lossy.dat
three hosts host-client host-web host-db
ls ctf/.whywait files/.whywait

# notes of damage and loss are kept with the facts
"$W" usage --no-cache --top=0 files/tc-lossy.dat >a 2>a.err; echo "lossy, from the trace: $?"
"$W" usage --top=0 files/tc-lossy.dat >b 2>b.err; echo "lossy, from the file: $?"
cmp a b && cmp a.err b.err && [ -s a.err ] && echo "the same is said of what was lost"

# whose trace changed
stamp() { ls -i --time-style=full-iso -l ctf/.whywait/facts; }
fresh() { "$W" usage -v --top=0 ctf >now 2>now.err; [ "$(used now.err)" = 0 ] && "$W" usage -v --top=0 ctf >now 2>now.err && [ "$(used now.err)" = 1 ]; }
"$W" usage -q --top=0 --no-cache ctf >before
m=$(find ctf -name metadata | head -1)
touch "$m"
fresh && echo "another time of change: read again, kept again"
t=$(stat -c %y "$m"); size=$(stat -c %s "$m")
LC_ALL=C sed -i 's/hostname = "./hostname = "X/' "$m"; touch -d "$t" "$m"
[ "$size $t" = "$(stat -c '%s %y' "$m")" ] || echo "size or time of metadata is another"
fresh && echo "another metadata of the same time: read again, kept again"
cmp before now && echo "and the answer is still that"

# damage
for at in 0 50 200 3000 -100 -3000; do
	size=$(stat -c %s ctf/.whywait/facts)
	printf '\377\001\377' | dd of=ctf/.whywait/facts bs=1 conv=notrunc seek=$((at < 0 ? size + at : at)) 2>/dev/null
	"$W" usage -q --top=0 ctf >now; cmp before now || echo "damage at $at is believed"
	fresh=$(stamp); "$W" usage -q --top=0 ctf >now; cmp before now
	[ "$fresh" = "$(stamp)" ] || echo "damage at $at: written twice"
done
truncate -s 1000 ctf/.whywait/facts; "$W" usage -q --top=0 ctf >now; cmp before now && echo "a damaged file is read by nobody, and replaced"
"$W" usage --no-cache --top=0 -v ctf >now 2>now.err; echo "used with --no-cache: $(used now.err)"
WHYWAIT_NO_CACHE=1 "$W" usage -v --top=0 ctf >now 2>now.err; echo "used with WHYWAIT_NO_CACHE: $(used now.err)"

# two at once, from nothing
rm -r ctf/.whywait
"$W" usage -q --top=0 ctf >one & "$W" usage -q --top=0 ctf >two & wait
cmp before one && cmp before two && "$W" usage -v --top=0 ctf >now 2>now.err && cmp before now && echo "two at once: $(used now.err)"

# a directory that may not be written
rm -r ctf/.whywait; chmod a-w ctf
"$W" usage -q --top=0 ctf >now; cmp before now; "$W" usage -v --top=0 ctf >now 2>now.err; cmp before now
grep -c "facts are from .*/cache/whywait/facts/" now.err; ls -A ctf | grep -c whywait
chmod u+w ctf; rm -r cache

# that directory has a bound (1 MB: five of these): what was not used for longest goes, and nothing else
export WHYWAIT_CACHE_MB=1
for i in 1 2 3 4 5 6 7; do cp -r --preserve=timestamps ctf "kept-$i"; chmod a-w "kept-$i"; done
for i in 1 2 3 4 5; do "$W" usage -q --top=0 "kept-$i" >now; done
touch cache/whywait/facts/mine cache/whywait/facts/1.facts.new cache/whywait/facts/2.facts.new
touch -d '2 hours ago' cache/whywait/facts/*.facts cache/whywait/facts/mine
touch -d '3 hours ago' cache/whywait/facts/1.facts.new
"$W" usage -q --top=0 kept-1 >now # used, it is not the oldest any more
"$W" usage -q --top=0 kept-6 >now; cmp before now
ls cache/whywait/facts | sed 's/^[0-9a-f]\{16\}\./HASH./' | sort
"$W" usage -v --top=0 kept-1 2>&1 >now | grep -c 'facts are from'; cmp before now
WHYWAIT_CACHE_MB=0 "$W" usage -q --top=0 kept-7 >now; cmp before now; ls cache/whywait/facts | grep -c 'facts$'
unset WHYWAIT_CACHE_MB; chmod -R u+w kept-*; rm -r cache kept-*

# no room: once, and only with -v
(ulimit -f 20; "$W" usage -q --top=0 ctf >now 2>now.err; echo "no room: $?, $(wc -l <now.err) lines"; "$W" usage -v --top=0 ctf >now 2>now.err; grep -c 'cannot be kept' now.err)
cmp before now; ls ctf/.whywait

# who else looks into the directory
"$W" info ctf >info.without; "$W" check ctf >check.without; "$W" usage -q --top=0 ctf >now; ls ctf/.whywait
"$W" info ctf >info.with; "$W" check ctf >check.with
cmp info.without info.with && cmp check.without check.with && echo "info and check do not see the file"
babeltrace2 ctf 2>bt2.err | sha256sum >bt2.with; rm -r ctf/.whywait; babeltrace2 ctf 2>>bt2.err | sha256sum >bt2.without
cmp bt2.with bt2.without && [ ! -s bt2.err ] && echo "nor does babeltrace2"
