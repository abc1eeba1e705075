#!/bin/bash
# kernels.sh - the recorder on other kernels: Debian's 6.1, 6.12 and 6.12 with PREEMPT_RT, each booted in
# a software-emulated machine. The judge of the trace is babeltrace2, of the report the known commands.
# Minutes under emulation, and 6.1 does not pass yet: it runs when WW_LAB=1 asks for it.
[ "${WW_LAB:-0}" = 1 ] || { echo "SKIP: set WW_LAB=1 to boot other kernels"; exit 77; }
here=$(dirname "$(readlink -f "$0")")
lab=$here/../lab
W=$(readlink -f "${WHYWAIT:-$here/../../build/whywait}")
for need in qemu-system-x86_64 /bin/busybox cpio modprobe; do
	command -v $need > /dev/null || { echo "SKIP: $need is not installed"; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail=0
for pkg in ${WW_LAB_KERNELS:-linux-image-amd64 linux-image-6.12-amd64 linux-image-6.12-rt-amd64}; do
	if ! ver=$("$lab/kernel" "$pkg"); then
		echo "not ok - $pkg cannot be fetched"
		fail=1
		continue
	fi
	WW_LAB_FILES=$W "$lab/boot" "$ver" "$tmp/$ver" "$lab/guest.sh"
	rc=$?
	sed "s/^ok - /ok - $ver: /; s/^not ok - /not ok - $ver: /" "$tmp/$ver/log" 2>/dev/null
	if [ $rc != 0 ]; then
		echo "not ok - $ver: exit status $rc"
		tail -5 "$tmp/$ver/console" "$tmp/$ver/doctor.txt" "$tmp/$ver/record.err" 2>/dev/null
		fail=1
	fi
done
exit $fail
