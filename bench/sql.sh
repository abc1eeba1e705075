#!/bin/sh
# Queries over 10 million states, read where they are, beside the same rows in a native table of SQLite's.
#
#   bench/sql.sh [BUILD] [MILLIONS] [TIMES]
set -eu
cd "$(dirname "$0")/.."
b=${1:-build}
ninja -C "$b" bench/bench-sql >/dev/null
uptime
exec "$b/bench/bench-sql" "${2:-10}" "${3:-1}"
