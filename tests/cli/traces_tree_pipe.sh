# checked against truth.txt of the trace: the consumer's five reads, and the one that saw the end, are each
# blocked on the producer 203, which computes meanwhile; times against sched_switch in babeltrace2
T=$WW_TRACES/single/trace
[ -d "$T" ] || { echo "no trace $T: set WW_TRACES"; exit 77; }
"$WHYWAIT" tree --comm wl-consumer --min-dur 2ms -q "$T" | grep -v RUNNING.*: | grep -v 'shorter step'
