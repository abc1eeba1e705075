#!/bin/sh
# What `whywait sync` costs beyond reading the traces, and how it grows with packets and with hosts.
# usage: bench/sync.sh [BUILD]
b=${1:-build}/bench/bench-sync
echo "hosts   pkts/host  adding s  solve s  peak MB  error us bound us  early"
for n in 125000 250000 500000 1000000; do "$b" 10 $n || exit 1; done
for h in 2 4 8 16; do "$b" $h 250000 || exit 1; done
