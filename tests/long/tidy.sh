#!/bin/sh
# clang-tidy's bug finding checks (.clang-tidy) over every C file of the program.
command -v clang-tidy >/dev/null || { echo "no clang-tidy"; exit 77; }
cd "$WW_SRC" || exit 1
find src -name '*.c' ! -name '*.bpf.c' | sort |
	nice -n 5 xargs -P "$(nproc)" -n 4 clang-tidy -p "$WW_BUILD" --quiet 2>/dev/null >"$OLDPWD/tidy.out"
status=$?
cd "$OLDPWD" || exit 1
grep -E 'warning:|error:' tidy.out | sort -u | head -40
[ $status = 0 ] && ! grep -q -E 'warning:|error:' tidy.out
