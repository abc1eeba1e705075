#!/bin/bash
# names.sh - what a file is called when it is opened is what `readlink -f` says then: also in the directory of the file
# before, whose path the recorder remembers, once a directory above has another name or its mount another place. TAP.
W=$(readlink -f "${WHYWAIT:-$(dirname "$0")/../../build/whywait}")
[ "$(id -u)" = 0 ] || { echo "only root can record"; exit 77; }
dir=$(mktemp -d /var/tmp/whywait-names-XXXXXX)
cd "$dir" || exit 1
trap 'cd /; rm -rf "$dir"' EXIT
mkdir -p a/b n m/b
deep=$(printf 'deep%s/' 1 2 3 4 5 6 7 8 9 10 11 12)
mkdir -p "$deep"
cat > files.sh <<'END'
make() { for f; do : > "$f"; echo "$(stat -c %i "$f") $(readlink -f "$f")" >> said.txt; done; }
make a/b/1 a/b/2
mv a c; make c/b/3
mv c/b c/d; make c/d/4 c/d/5
mkdir x; mv c x; make x/c/d/6
mount -t tmpfs none m; mkdir m/b; make m/b/7 m/b/8
mount --make-private m; mount --move m n; make n/b/9 n/10
mount --bind x n; make n/11 n/c/12 x/c/13
make $DEEP/14 $DEEP/15
END
export DEEP=$deep
"$W" record -q --as-root -o t -- unshare -m --propagation private sh files.sh
case $? in 0|3) ;; *) echo "1..0"; exit 1;; esac
"$W" events t | sed -n 's/.* whywait_file: .* ino=\([0-9]*\) name="\(.*\)"$/\1 \2/p' > named.txt
n=0 failed=0
while read -r ino path; do
	n=$((n + 1)) name=$path
	case $path in */deep*) name=$(echo "$path" | rev | cut -d/ -f1-13 | rev);; esac
	if grep -qxF "$ino $name" named.txt; then echo "ok $n - $name"; else
		failed=1
		echo "not ok $n - $name; named: $(grep "^$ino " named.txt | tr '\n' ' ')"
	fi
done < said.txt
[ "$n" = 15 ] || { failed=1; echo "not ok $((n + 1)) - 15 files were made"; }
echo "1..$n"
exit $failed
