#!/bin/bash
# kernels.sh - the recorder on other kernels: Debian's 6.1 and 6.12 (WW_LAB_RT=1: and 6.12 with PREEMPT_RT), each
# booted in a software-emulated machine, side by side. The judge of the trace is babeltrace2, of the reports the known commands. Skipped only where QEMU or the
# kernels' packages cannot be had. WW_LAB=0: not at all.
[ "${WW_LAB:-1}" = 1 ] || { echo "SKIP: WW_LAB=${WW_LAB} says so"; exit 77; }
here=$(dirname "$(readlink -f "$0")")
lab=$here/../lab
W=$(readlink -f "${WHYWAIT:-$here/../../build/whywait}")
files="$W $(dirname "$W")/../../tests/unit-base_pages"
for need in qemu-system-x86_64 /bin/busybox cpio depmod apt-get; do
	command -v $need > /dev/null || { echo "SKIP: $need is not installed"; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
booted=0 fail=0
for pkg in ${WW_LAB_KERNELS:-linux-image-amd64 linux-image-6.12-amd64 ${WW_LAB_RT:+linux-image-6.12-rt-amd64}}; do
	if ! ver=$("$lab/kernel" "$pkg" 2> "$tmp/fetch"); then
		echo "# $pkg cannot be fetched: $(tail -n 1 "$tmp/fetch")"
		continue
	fi
	booted=$((booted + 1))
	(
		WW_LAB_FILES=$files "$lab/boot" "$ver" "$tmp/$ver" "$lab/guest.sh" > /dev/null 2>&1
		echo $? > "$tmp/$ver.rc"
	) &
done
wait
[ $booted -gt 0 ] || { echo "SKIP: no kernel package can be fetched"; exit 77; }
for f in "$tmp"/*.rc; do
	ver=$(basename "$f" .rc)
	sed -n "s/^ok - /ok - $ver: /p; s/^not ok - /not ok - $ver: /p" "$tmp/$ver/log" 2> /dev/null
	if [ "$(cat "$f")" != 0 ]; then
		echo "not ok - $ver: exit status $(cat "$f")"
		tail -n 5 "$tmp/$ver/console" "$tmp/$ver/doctor.txt" "$tmp/$ver/record.err" 2> /dev/null | sed 's/^/# /'
		grep -m1 -A60 -E 'BUG:|Oops|general protection|Kernel panic' "$tmp/$ver/console" 2> /dev/null | sed 's/^/# /'
		fail=1
	fi
done
exit $fail
