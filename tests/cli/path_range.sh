# checked by hand against man/whywait-path.1: of which thread and from when to when the path is; an answer that would be to
# another question is none. (babeltrace2 demo.ctf: the command lives from +0.0446 to +0.3400; at +0.1303 cpu 0 is idle when
# a timer wakes it.)
tar xzf "$WW_SRC/tests/data/demo.ctf.tar.gz"
ask() {
	COLUMNS=400 "$WHYWAIT" path -q "$@" demo.ctf >out 2>err
	echo "$?: $(sed -n '1s/, .tmp.*//;1,2p' out | tr '\n' ' ')$(sed 's#(/tmp/clone[^ ]*demo) #(COMMAND) #' err)"
}
echo "--- events"
ask --between syscall_entry_fsync syscall_exit_fsync
ask --between syscall_entry_fsync syscall_exit_fsync --tid 24705
ask --between +0.2s syscall_exit_fsync
ask --between +0.1s +0.12s
echo "--- what is nobody's CPU: the one that is woken, or put on it"
ask --between syscall_entry_clock_nanosleep sched_waking
ask --between sched_waking sched_switch
ask --between syscall_entry_clock_nanosleep timer_hrtimer_expire_entry
ask --between syscall_entry_clock_nanosleep timer_hrtimer_expire_entry --comm whywait-demo
echo "--- a name is an event's whole name, where there is one of that"
ask --between syscall_entry_clone syscall_exit_clone
echo "--- what is not there"
ask --between '' ''
ask --between syscall_entry_fsync ''
ask --between nowhere syscall_exit_fsync
ask --between syscall_entry_fsync nowhere
ask --between syscall_entry_unlink syscall_entry_unlink
ask --between syscall_entry_unlink syscall_entry_fsync
ask --between +0.2s +0.1s
ask --between +0.2s +0.2s
ask --between +0.1s +0.2s --from +0.1s
echo "--- from, to"
ask --from ''
ask --from +0.2s --to +0.1s
ask --from +0.2s --to +0.2s
ask --to +0.01s
ask --from +0.35s
ask --from +9s --to +10s
ask --to +9s
ask --tid 24706 --to +0.1s
ask --comm nobody
