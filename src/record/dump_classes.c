/* dump_classes.c - TSDL of the events that user space writes; LTTng's names have LTTng's fields exactly. */
#include "record/dump_classes.h"

#define INT(size, sgn, base) \
	"integer { size = " #size "; align = 8; signed = " #sgn "; encoding = none; base = " #base "; } "
#define I32 INT(32, 1, 10)
#define U8 INT(8, 0, 10)
#define U16 INT(16, 0, 10)
#define U32 INT(32, 0, 10)
#define U64 INT(64, 0, 10)
#define X64 INT(64, 0, 16)
#define CHAR "integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } "

const struct ww_ctf_class ww_dump_classes[] = {
	{WW_DUMP_START, "lttng_statedump_start", ""},
	{WW_DUMP_END, "lttng_statedump_end", ""},
	{WW_DUMP_PROCESS_STATE, "lttng_statedump_process_state",
	 I32 "_tid;\n" I32 "_pid;\n" I32 "_ppid;\n" CHAR "_name[16];\n" I32 "_type;\n" I32 "_mode;\n"
	 I32 "_submode;\n" I32 "_status;\n" U32 "_cpu;\n" X64 "_file_table_address;\n"},
	{WW_DUMP_PROCESS_PID_NS, "lttng_statedump_process_pid_ns",
	 I32 "_tid;\n" I32 "_vtid;\n" I32 "_vpid;\n" I32 "_vppid;\n" I32 "_ns_level;\n" U32 "_ns_inum;\n"},
	{WW_DUMP_FILE_DESCRIPTOR, "lttng_statedump_file_descriptor",
	 X64 "_file_table_address;\n" I32 "_fd;\n" INT(32, 0, 8) "_flags;\n" INT(32, 0, 16) "_fmode;\n"
	 "string _filename;\n"},
	{WW_DUMP_NETWORK_INTERFACE, "lttng_statedump_network_interface",
	 "string _name;\n"
	 "integer { size = 32; align = 8; signed = 0; encoding = none; base = 16; byte_order = be; } "
	 "_address_ipv4;\n"},
	{WW_DUMP_BLOCK_DEVICE, "lttng_statedump_block_device", U32 "_dev;\nstring _diskname;\n"},
	{WW_DUMP_INTERRUPT, "lttng_statedump_interrupt",
	 U32 "_irq;\nstring _name;\nstring _action;\n" I32 "_tid;\n"},
	{WW_DUMP_WW_CLOCK, "whywait_clock",
	 U64 "_monotonic;\n" U64 "_boottime;\n" U64 "_realtime;\n" U64 "_tai;\n" U64 "_raw;\n"},
	{WW_DUMP_WW_TARGET, "whywait_target",
	 I32 "_tid;\n" I32 "_pid;\n" U8 "_begin;\n" I32 "_status;\nstring _comm;\nstring _cmdline;\n"},
	{WW_DUMP_WW_RECORDER, "whywait_recorder", I32 "_tid;\n"},
	{WW_DUMP_WW_COST, "whywait_cost", U64 "_cpu_ns;\n" U64 "_bytes;\n"},
	{WW_DUMP_WW_FD, "whywait_fd", I32 "_pid;\n" I32 "_fd;\n" U8 "_kind;\n" U32 "_dev;\n" U64 "_ino;\n"},
	{WW_DUMP_WW_FILE, "whywait_file", U8 "_kind;\n" U32 "_dev;\n" U64 "_ino;\nstring _name;\n"},
	{WW_DUMP_WW_SOCK, "whywait_sock",
	 U64 "_ino;\n" U16 "_family;\n" U8 "_type;\n" U8 "_proto;\n" U16 "_sport;\n" U16 "_dport;\n"
	 U8 "_saddr[16];\n" U8 "_daddr[16];\n" U64 "_peer_ino;\n"},
};
const uint32_t ww_dump_classes_n = WW_ARRAY_SIZE(ww_dump_classes);
_Static_assert(WW_ARRAY_SIZE(ww_dump_classes) == WW_DUMP_CLASS_END - WW_DUMP_START, "one row a class");
