#!/bin/bash
# four.sh [two] - runs inside the virtual machine: LTTng, perf, trace-cmd and whywait (two: LTTng and whywait) record
# one run of whywait-demo at once. The working directory gets lttng/, perf.data, trace.dat, whywait/, as tests/oracle/four_recorders.py reads
# them. /lab: whywait, whywait-demo, lttng.tar, four_recorders.py and what it imports.
set -u
tmp=/tmp/four
tar -C / -xf /lab/lttng.tar && depmod -a || exit 1
mkdir -p $tmp
export LTTNG_HOME=/tmp/lttng-home
mkdir -p $LTTNG_HOME
for m in lttng-ring-buffer-client-discard lttng-ring-buffer-client-mmap-discard lttng-ring-buffer-metadata-client lttng-tracer; do
	modprobe $m || exit 1
done
lttng-sessiond --daemonize --kmod-probes=sched,irq,timer,block,net,signal,workqueue,statedump,skb,sock,napi,x86-exceptions || exit 1
lttng create four --output=$tmp/session > lttng.log || exit 1
{
	lttng enable-channel -k c0 --subbuf-size=4M --num-subbuf=8
	lttng enable-event -k -c c0 'sched_*,irq_*,softirq_*,timer_*,block_*,net_*,napi_poll,signal_*,workqueue_*,lttng_statedump_*,x86_exceptions_*'
	lttng enable-event -k -c c0 --syscall --all
	lttng start
} >> lttng.log 2>&1
if [ "${1:-}" = two ]; then
	/lab/whywait record -q -o $tmp/whywait -- /lab/whywait-demo > record.log 2>&1
else
	python3 - <<'EOP' > record.log 2>&1
import sys
sys.path.insert(0, '/lab')
import four_recorders
print(four_recorders.record('/tmp/four', '/lab/whywait', ['/lab/whywait-demo']))
EOP
fi
{ lttng stop; lttng destroy; } >> lttng.log 2>&1
cp -r $tmp/session/kernel lttng
cp -r $tmp/whywait .
[ "${1:-}" = two ] || cp $tmp/perf.data $tmp/trace.dat .
chmod -R a+rX .
[ -s lttng/metadata ] && [ -s whywait/metadata ]
