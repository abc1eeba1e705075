#!/bin/sh
# Every fuzz target with clang's libFuzzer for a minute (WW_FUZZ_SECONDS), two at a time.
command -v clang >/dev/null || { echo "no clang"; exit 77; }
dir=$PWD
cd "$WW_SRC" || exit 1
targets=$(cd tests/fuzz && ls fuzz_*.c | sed 's/fuzz_\(.*\)\.c/\1/')
# once, alone: it makes the objects that all of them are linked with
WW_FUZZ_DIR=$dir tests/fuzz/run 1 $(echo "$targets" | head -1) || exit 1
echo "$targets" | WW_FUZZ_DIR=$dir xargs -P 2 -n 1 tests/fuzz/run "${WW_FUZZ_SECONDS:-60}"
