#!/bin/bash
# refused.sh - where recording is not possible, the message says exactly what is missing, and the command does not
# run; with just the capabilities that are needed it works. TAP.
W=$(readlink -f "${WHYWAIT:-$(dirname "$0")/../../build/whywait}")
[ "$(id -u)" = 0 ] || { echo "only root can take its rights away"; exit 77; }
dir=$(mktemp -d /var/tmp/whywait-refused-XXXXXX)
chmod 777 "$dir"
cd "$dir" || exit 1
trap 'cd /; rm -rf "$dir"' EXIT
cp "$W" whywait # who is not root may not be able to reach it where it stands
W=$dir/whywait
n=0 failed=0
refused() { # text pattern command...
	local text=$1 pattern=$2 rc
	shift 2
	rm -f ran
	"$@" > out 2> err < /dev/null
	rc=$?
	n=$((n + 1))
	if [ $rc != 125 ] || ! grep -qE "$pattern" err || [ -e ran ]; then
		printf 'not '
		failed=1
	fi
	echo "ok $n - $text: $(head -n 1 err | cut -c1-160) (exit $rc)"
}
caps() { # capabilities that are left; command...
	local left=$1
	shift
	setpriv --bounding-set "-all$left" --inh-caps -all "$@"
}
refused "no capability" "needs CAP_BPF and CAP_PERFMON.*cap-add" caps "" "$W" -- touch ran
refused "CAP_BPF alone" "needs CAP_PERFMON," caps ,+bpf "$W" -- touch ran
refused "CAP_PERFMON alone" "needs CAP_BPF," caps ,+perfmon "$W" -- touch ran
refused "not root" "uid 65534 .*sudo" setpriv --reuid 65534 --regid 65534 --clear-groups "$W" -- touch ran
refused "a kernel without BTF" "BTF.*CONFIG_DEBUG_INFO_BTF" \
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh "$W" -- touch ran
refused "no /sys" "/sys is not mounted" unshare -m sh -c 'mount -t tmpfs none /sys && exec "$@"' sh "$W" -- touch ran
refused "a process namespace of its own" "process namespace.*--pid=host" unshare -pf --mount-proc "$W" -- touch ran
# What is wrong with the call itself is told before the kernel is asked to look through our programs.
at_once() { # status text pattern arguments...
	local want=$1 text=$2 pattern=$3
	shift 3
	strace -f -qq -e trace=bpf -o calls "$W" "$@" > out 2> err < /dev/null
	local rc=$? loads
	loads=$(grep -c BPF_PROG_LOAD calls)
	n=$((n + 1))
	[ $rc = "$want" ] && grep -qE "$pattern" err && [ "$loads" = 0 ] && [ ! -e ran ] || { printf 'not '; failed=1; }
	echo "ok $n - $text: $(head -n 1 err | cut -c1-160) (exit $rc, $loads programs loaded before)"
}
rm -f ran
touch file
mkdir full && touch full/x
at_once 125 "a trace in a directory that is not there" "cannot make the trace directory" record -o no/t -- touch ran
at_once 125 "a trace where a file is" "exists and is not a directory" record -o file -- touch ran
at_once 125 "a trace in somebody's directory" "holds something other than a trace" record -o full -- touch ran
at_once 1 "a process that is not there" "there is no process 4194304" record -o t -p 4194304 -d 1
[ -e t ] && { echo "not ok - nothing was made for it"; failed=1; }
strace -f -qq -e trace=bpf -o calls "$W" record -q -o t -- true
n=$((n + 1))
[ "$(grep -c BPF_PROG_LOAD calls)" -gt 20 ] || { printf 'not '; failed=1; }
echo "ok $n - where nothing is wrong strace sees the programs loaded"
for c in ,+bpf,+perfmon ,+sys_admin; do
	n=$((n + 1))
	rm -f ran
	caps $c "$W" record -q -o "t$n" -- touch ran 2> err < /dev/null
	rc=$?
	[ $rc = 0 ] && [ -e ran ] && [ -s "t$n/dump_0" ] || { printf 'not '; failed=1; }
	echo "ok $n - with nothing but $c it records (exit $rc) $(head -n 1 err | cut -c1-120)"
done
echo "1..$n"
exit $failed
