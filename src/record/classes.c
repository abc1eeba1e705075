/* classes.c - the table of event classes: LTTng's shapes, generated, and our own, written here. */
#include "record/classes.h"
#include "record/bpf/event_ids.h"

#define INT(bits, sign, base, n) \
	"integer { size = " #bits "; align = 8; signed = " #sign "; encoding = none; base = " #base \
	"; } _" n ";\n"
#define I32(n)  INT(32, 1, 10, n)
#define I64(n)  INT(64, 1, 10, n)
#define U8(n)   INT(8, 0, 10, n)
#define U16(n)  INT(16, 0, 10, n)
#define U32(n)  INT(32, 0, 10, n)
#define U64(n)  INT(64, 0, 10, n)
#define X64(n)  INT(64, 0, 16, n)
#define STR(n)  "string _" n ";\n"
#define COMM    "integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _comm[16];\n"
#define ARGS    X64("arg0") X64("arg1") X64("arg2") X64("arg3") X64("arg4") X64("arg5")
#define OWN(ID, name, body) {WW_EV_WHYWAIT_##ID, "whywait_" name, body}
#define VECTOR(ID, name) {WW_EV_X86_IRQ_VECTORS_##ID, "x86_irq_vectors_" name, I32("vector")}

const struct ww_class ww_classes[] = {
#include "record/classes_lttng.inc"
	VECTOR(CALL_FUNCTION_SINGLE_ENTRY, "call_function_single_entry"),
	VECTOR(CALL_FUNCTION_SINGLE_EXIT, "call_function_single_exit"),
	VECTOR(IRQ_WORK_ENTRY, "irq_work_entry"),
	VECTOR(IRQ_WORK_EXIT, "irq_work_exit"),
	/* docs/formats/whywait-events.md says what they mean. */
	OWN(CLOCK, "clock", U64("monotonic") U64("boottime") U64("realtime") U64("tai") U64("raw")),
	OWN(TARGET, "target", I32("tid") I32("pid") U8("begin") I32("status") STR("comm") STR("cmdline")),
	OWN(RECORDER, "recorder", I32("tid")),
	OWN(BLOCK, "block", I32("tid") I32("nr") U8("abi") U8("flags") U8("fd_kind") U32("dev") U64("ino")
	    ARGS),
	OWN(WAKER, "waker", I32("tid") I32("nr") U8("abi")),
	OWN(FILE, "file", U8("kind") U32("dev") U64("ino") STR("name")),
	OWN(FD, "fd", I32("pid") I32("fd") U8("kind") U32("dev") U64("ino")),
	OWN(SOCK, "sock", U64("ino") U16("family") U8("type") U8("proto") U16("sport") U16("dport")
	    INT(8, 0, 10, "saddr[16]") INT(8, 0, 10, "daddr[16]") U64("peer_ino")),
	OWN(READY, "ready", I32("tid") I32("nr") I32("fd") U32("revents") X64("data")),
	OWN(EPOLL, "epoll", I32("pid") I32("epfd") I32("fd") I32("op") X64("data")),
	OWN(FAULT_END, "fault_end", I32("tid") X64("address") U8("major") U32("dev") U64("ino")
	    U64("offset")),
	OWN(IPI, "ipi", U32("cpu") X64("function")),
	OWN(LOCK_BEGIN, "lock_begin", X64("lock") U32("flags")),
	OWN(LOCK_END, "lock_end", X64("lock") I32("ret")),
	OWN(SK_READY, "sk_ready", U64("ino") U16("sport") U16("dport") U8("proto")),
	OWN(URING, "uring", U8("op") X64("ctx") X64("req") X64("user_data") I32("res") U8("opcode")),
	OWN(THROTTLE, "throttle", I32("tid") U8("on")),
	OWN(TIMER_TASK, "timer_task", X64("timer") I32("tid")),
	OWN(STACK, "stack", I32("tid") U8("user") U32("n") INT(64, 0, 16, "ip[ _n ]") U8("tops")
	    INT(64, 0, 16, "top[ _tops ]")),
	OWN(COST, "cost", U64("cpu_ns") U64("bytes")),
	OWN(SYSCALL_ENTRY, "syscall_entry", I32("nr") U8("abi") ARGS),
	OWN(SYSCALL_EXIT, "syscall_exit", I32("nr") U8("abi") I64("ret")),
	OWN(STOLEN, "stolen", U64("ns")),
	OWN(MAP, "map", I32("pid") X64("start") X64("end") X64("offset") U32("dev") U64("ino")),
	OWN(FUNCTION, "function", X64("address") STR("name")),
	OWN(CGROUP, "cgroup", I32("tid") U8("group") U64("id") STR("path")),
	OWN(PAGE_IN, "page_in", U32("dev") U64("ino") U64("offset") U32("bytes")),
	OWN(CURRENT, "current", I32("tid") I32("prio") COMM),
	OWN(FDS, "fds", I32("pid") U32("n") INT(64, 0, 16, "open[ _n ]")),
};

const size_t ww_classes_count = WW_ARRAY_SIZE(ww_classes);

const struct ww_class *ww_class_find(const char *name)
{
	for (size_t i = 0; i < ww_classes_count; i++)
		if (!strcmp(ww_classes[i].name, name))
			return &ww_classes[i];
	return NULL;
}
