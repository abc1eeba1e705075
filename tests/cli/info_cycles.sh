# A trace whose clock counts cycles: they are not called seconds, and there is no report.
sed 's/local \[mono\] boot/tai [uptime] boot/' "$WW_SRC/tests/fuzz/corpus/tracedat/v6" > cycles
"$WHYWAIT" info -q cycles | grep -E '^(clock|time)'
"$WHYWAIT" events -q cycles | cut -d' ' -f1-3 | head -n 3
"$WHYWAIT" events -q cycles | grep lost
"$WHYWAIT" report --no-cache cycles 2>&1
