#!/usr/bin/env python3
"""Makes bpf/event_ids.h, classes_lttng.inc and syscall_layouts.inc from LTTng's own metadata.

usage: gen_classes.py METADATA_TEXT   (of an LTTng 2.13 kernel trace with all system calls enabled)

Run by hand when the set of events changes; the results are committed. A system call's arguments are
found by name in this kernel's events/syscalls/*/format: a field whose name is no argument's, directly
or through ALIAS, makes us write that call as whywait_syscall_* instead.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORMATS = "/sys/kernel/tracing/events/syscalls/"
KERNEL = """sched_switch sched_waking sched_wakeup sched_wakeup_new sched_migrate_task sched_process_fork
sched_process_exec sched_process_exit sched_process_free irq_handler_entry irq_handler_exit
irq_softirq_entry irq_softirq_exit irq_softirq_raise timer_hrtimer_start timer_hrtimer_expire_entry
timer_hrtimer_expire_exit timer_hrtimer_cancel timer_start timer_expire_entry timer_expire_exit
timer_cancel block_rq_insert block_rq_issue block_rq_complete block_rq_requeue net_dev_queue
net_if_receive_skb net_dev_xmit napi_poll signal_deliver signal_generate workqueue_queue_work
workqueue_activate_work workqueue_execute_start workqueue_execute_end x86_exceptions_page_fault_user
x86_exceptions_page_fault_kernel sched_pi_setprio
lttng_statedump_cpu_topology lttng_statedump_interrupt lttng_statedump_block_device
lttng_statedump_network_interface lttng_statedump_vm_map lttng_statedump_file_descriptor
lttng_statedump_process_time_ns lttng_statedump_process_uts_ns lttng_statedump_process_user_ns
lttng_statedump_process_pid_ns lttng_statedump_process_net_ns lttng_statedump_process_ipc_ns
lttng_statedump_process_cgroup_ns lttng_statedump_process_state lttng_statedump_end
lttng_statedump_start block_bio_backmerge block_bio_frontmerge block_rq_merge""".split()
OWN = """clock target recorder block waker file fd sock ready epoll fault_end ipi lock_begin lock_end
sk_ready uring throttle timer_task stack cost syscall_entry syscall_exit stolen fds map function cgroup page_in current""".split()
# LTTng's names that its default metadata lacks: their shapes are in classes.c. source lttng-modules 2.13:
# include/instrumentation/events/arch/x86/irq_vectors.h
VECTORS = """x86_irq_vectors_call_function_single_entry x86_irq_vectors_call_function_single_exit
x86_irq_vectors_irq_work_entry x86_irq_vectors_irq_work_exit""".split()
# LTTng's and the formats' names of calls that the kernel's system call table calls otherwise.
TABLE_NAME = {"newstat": "stat", "newfstat": "fstat", "newlstat": "lstat", "newuname": "uname",
	      "sendfile64": "sendfile", "umount": "umount2"}
ALIAS = {"clone": {"flags": "clone_flags", "parent_tid": "parent_tidptr", "child_tid": "child_tidptr"},
	 "mmap": {"offset": "off"}, "setns": {"nstype": "flags"}, "vmsplice": {"iov": "uiov"},
	 "getcpu": {"tcache": "unused"}, "socketpair": {"socket": "usockvec"},
	 "epoll_ctl": {"op_enum": "op"}}
# 64-bit arguments come in two registers on 32-bit machines.
SPLIT = """pread64 pwrite64 truncate64 ftruncate64 fadvise64 fadvise64_64 sync_file_range fallocate
readahead preadv pwritev preadv2 pwritev2 lookup_dcookie fanotify_mark mmap clone""".split()
EVENT_FIELDS = [("BYTES", 3, 8, 4), ("BYTES", 3, 4, 4), ("BYTES", 3, 4, 0), ("BYTES", 3, 1, 0)]
RET, MADE = 6, 7 # beside the arguments, see bpf/wire.h
# What bpf/seq.bpf.h puts into MADE, a 64-bit value: size and offset there.
MADE_FIELDS = {"fds_length": (4, 0), "overflow": (1, 4), "family": (2, 0), "sport": (2, 2), "dport": (2, 2)}
# A shape that holds this sequence is of this kind.
SEQUENCES = [("_POLLIN;", "POLL"), ("_readfds[", "SELECT"), ("_EPOLLIN;", "EPOLL"), ("_v4addr[", "ADDR")]


def arguments(call):
	path = FORMATS + "sys_enter_" + call + "/format"
	if not os.path.exists(path):
		return None
	text = open(path).read()
	rows = re.findall(r"field:([^;]*?)(\w+);\toffset:\d+;\tsize:8", text)
	return [(name, "*" in ctype) for ctype, name in rows]


def sequence_of(body):
	for text, kind in SEQUENCES:
		if text in body and "_length ];" in body:
			return "WW_SQ_" + kind
	return "WW_SQ_NONE"


def fields_of(call, body):
	"""The layout of one event without its sequences: a list of (kind, arg, size, offset), or None."""
	args = arguments(call)
	if args is None:
		return None
	names = [a[0] for a in args]
	out, depth, lines = [], 0, body.strip("\n").split("\n")
	for line in lines:
		line = line.strip()
		if not line:
			continue
		if line == "struct {":
			if depth == 0 and call == "epoll_ctl":
				out += EVENT_FIELDS
			depth += 1
			continue
		if depth and line.startswith("}"):
			depth -= 1
			continue
		if depth or line.startswith('"') or line.startswith("enum"):
			continue
		m = re.search(r"_(\w+)(\[.*\])?;$", line)
		if not m:
			return None
		name = m[1]
		if name == "ret":
			out.append(("INT", RET, 8, 0))
			continue
		if m[2] and "_length" in m[2] or re.match(r"_\w+_length$", name):
			continue # the sequence, and its own length just before it
		if name in MADE_FIELDS and sequence_of(body) != "WW_SQ_NONE":
			out.append(("INT", MADE) + MADE_FIELDS[name])
			continue
		if name == "tvp" and call == "pselect6":
			name = "tsp"
		name = ALIAS.get(call, {}).get(name, name)
		if name not in names:
			return None
		arg = names.index(name)
		if line.startswith("string"):
			out.append(("STR", arg, 0, 0))
			continue
		size = 4 if line.startswith("}") else int(re.search(r"size = (\d+)", line)[1]) // 8
		if sequence_of(body) != "WW_SQ_NONE":
			out.append(("INT", arg, size, 0)) # bpf/seq.bpf.h has read what accept's length points to
		elif m[2]:
			out.append(("BYTES", arg, size * int(m[2][1:-1]), 0))
		elif args[arg][1] and size < 8:
			out.append(("BYTES", arg, size, 0))
		else:
			out.append(("INT", arg, size, 0))
	if len(out) > 8 or sum(f[0] == "STR" for f in out) > 2:
		return None
	return out


def quote(body):
	return "\n".join('\t"%s\\n"' % l.removeprefix("\t\t").replace("\t", "\\t").replace('"', '\\"')
			 for l in body.split("\n") if l) or '\t""'


def main():
	text = open(sys.argv[1]).read()
	shapes = dict(re.findall(r'event \{\n\tname = "([^"]+)";\n\tid = \d+;\n\tstream_id = 0;\n'
				 r"\tfields := struct \{\n(.*?)\t\};\n\};", text, re.S))
	ids, rows, layouts = [], [], []
	for i, name in enumerate(KERNEL):
		ids.append("#define WW_EV_%s %d" % (name.upper(), i + 1))
		rows.append((i + 1, name, shapes[name]))
	for i, name in enumerate(OWN):
		ids.append("#define WW_EV_WHYWAIT_%s %d" % (name.upper(), 100 + i))
	for i, name in enumerate(VECTORS):
		ids.append("#define WW_EV_%s %d" % (name.upper(), 90 + i))
	next_id = 200
	for name in sorted(shapes):
		m = re.match(r"(compat_)?syscall_(entry|exit)_(\w+)$", name)
		if not m or m[3] == "unknown":
			continue
		if m[1] and m[3] in SPLIT:
			continue
		fields = fields_of(m[3], shapes[name])
		if fields is None:
			print("as whywait_syscall_*:", name, file=sys.stderr)
			continue
		rows.append((next_id, name, shapes[name]))
		cells = ", ".join("{WW_SC_%s, %d, %d, %d}" % f for f in fields)
		fixed = sum(f[2] for f in fields)
		layouts.append('{"%s", %d, %d, {%d, %d, %d, %d, %d, %s, 0, {%s}}},' % (
			TABLE_NAME.get(m[3], m[3]), bool(m[1]), m[2] == "exit", next_id, len(fields),
			sum(f[0] == "STR" for f in fields), fixed,
			any(f[0] != "INT" for f in fields), sequence_of(shapes[name]), cells))
		next_id += 1
	note = "Made by tools/gen_classes.py from the metadata of LTTng's kernel tracer 2.13; do not edit."
	with open(HERE + "/bpf/event_ids.h", "w") as f:
		f.write("/* event_ids.h - the ids in event headers. %s */\n" % note)
		f.write("#ifndef WW_EVENT_IDS_H\n#define WW_EVENT_IDS_H\n\n" + "\n".join(ids) + "\n\n#endif\n")
	with open(HERE + "/classes_lttng.inc", "w") as f:
		f.write("/* %s */\n" % note)
		for i, name, body in rows:
			f.write('{%d, "%s",\n%s},\n' % (i, name, quote(body)))
	with open(HERE + "/syscall_layouts.inc", "w") as f:
		f.write("/* name, compat, exit, layout. %s */\n" % note + "\n".join(layouts) + "\n")


main()
