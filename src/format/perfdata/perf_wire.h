/* perf_wire.h - the numbers of perf.data: record types, sample bits, feature bits.
 *
 * Written out here and not taken from <linux/perf_event.h>, because files come from newer kernels
 * than the one that we are built on.
 * source include/uapi/linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt of
 *        Linux 6.18
 */
#ifndef WW_PERF_WIRE_H
#define WW_PERF_WIRE_H

#include <stdint.h>

enum { /* perf_event_header.type; kernel records, then perf's own */
	PD_REC_MMAP = 1, PD_REC_LOST, PD_REC_COMM, PD_REC_EXIT, PD_REC_THROTTLE, PD_REC_UNTHROTTLE,
	PD_REC_FORK, PD_REC_READ, PD_REC_SAMPLE, PD_REC_MMAP2, PD_REC_AUX, PD_REC_ITRACE_START,
	PD_REC_LOST_SAMPLES, PD_REC_SWITCH, PD_REC_SWITCH_CPU_WIDE, PD_REC_NAMESPACES, PD_REC_KSYMBOL,
	PD_REC_BPF_EVENT, PD_REC_CGROUP, PD_REC_TEXT_POKE, PD_REC_AUX_OUTPUT_HW_ID, PD_REC_KERNEL_N,
	PD_REC_HEADER_ATTR = 64, PD_REC_HEADER_EVENT_TYPE, PD_REC_HEADER_TRACING_DATA,
	PD_REC_HEADER_BUILD_ID, PD_REC_FINISHED_ROUND, PD_REC_ID_INDEX, PD_REC_AUXTRACE_INFO,
	PD_REC_AUXTRACE, PD_REC_AUXTRACE_ERROR, PD_REC_THREAD_MAP, PD_REC_CPU_MAP, PD_REC_STAT_CONFIG,
	PD_REC_STAT, PD_REC_STAT_ROUND, PD_REC_EVENT_UPDATE, PD_REC_TIME_CONV, PD_REC_HEADER_FEATURE,
	PD_REC_COMPRESSED, PD_REC_FINISHED_INIT, PD_REC_COMPRESSED2,
};

enum { /* perf_event_header.misc */
	PD_MISC_COMM_EXEC = 1 << 13,
	PD_MISC_SWITCH_OUT = 1 << 13,
	PD_MISC_SWITCH_PREEMPT = 1 << 14,
	PD_MISC_MMAP_BUILD_ID = 1 << 14,
	PD_MISC_LOST_BPF = 1 << 15, /* LOST_SAMPLES: dropped by a filter, not lost */
};

enum { /* perf_event_attr.sample_type */
	PD_SAMPLE_IP = 1 << 0, PD_SAMPLE_TID = 1 << 1, PD_SAMPLE_TIME = 1 << 2, PD_SAMPLE_ADDR = 1 << 3,
	PD_SAMPLE_READ = 1 << 4, PD_SAMPLE_CALLCHAIN = 1 << 5, PD_SAMPLE_ID = 1 << 6,
	PD_SAMPLE_CPU = 1 << 7, PD_SAMPLE_PERIOD = 1 << 8, PD_SAMPLE_STREAM_ID = 1 << 9,
	PD_SAMPLE_RAW = 1 << 10, PD_SAMPLE_BRANCH_STACK = 1 << 11, PD_SAMPLE_REGS_USER = 1 << 12,
	PD_SAMPLE_STACK_USER = 1 << 13, PD_SAMPLE_WEIGHT = 1 << 14, PD_SAMPLE_DATA_SRC = 1 << 15,
	PD_SAMPLE_IDENTIFIER = 1 << 16, PD_SAMPLE_TRANSACTION = 1 << 17, PD_SAMPLE_REGS_INTR = 1 << 18,
	PD_SAMPLE_PHYS_ADDR = 1 << 19, PD_SAMPLE_AUX = 1 << 20, PD_SAMPLE_CGROUP = 1 << 21,
	PD_SAMPLE_DATA_PAGE_SIZE = 1 << 22, PD_SAMPLE_CODE_PAGE_SIZE = 1 << 23,
	PD_SAMPLE_WEIGHT_STRUCT = 1 << 24,
};

enum { /* perf_event_attr.read_format */
	PD_READ_ENABLED = 1, PD_READ_RUNNING = 2, PD_READ_ID = 4, PD_READ_GROUP = 8, PD_READ_LOST = 16,
};

enum { /* perf_event_attr's flag bits, counted from the first declared */
	PD_FLAG_SAMPLE_ID_ALL = 18,
	PD_FLAG_USE_CLOCKID = 25,
};

enum { PD_TYPE_HARDWARE, PD_TYPE_SOFTWARE, PD_TYPE_TRACEPOINT };

enum { /* bit numbers in the header's bitmap */
	PD_FEAT_TRACING_DATA = 1, PD_FEAT_BUILD_ID = 2, PD_FEAT_HOSTNAME = 3, PD_FEAT_OSRELEASE = 4,
	PD_FEAT_VERSION = 5, PD_FEAT_ARCH = 6, PD_FEAT_NRCPUS = 7, PD_FEAT_CPUDESC = 8,
	PD_FEAT_CMDLINE = 11, PD_FEAT_EVENT_DESC = 12, PD_FEAT_CLOCKID = 23, PD_FEAT_DIR_FORMAT = 24,
	PD_FEAT_CLOCK_DATA = 29, PD_FEAT_N = 256,
};

/* Offsets in struct perf_event_attr; version 0 is 64 bytes, later ones only append. */
enum {
	PD_ATTR_TYPE = 0, PD_ATTR_SIZE = 4, PD_ATTR_CONFIG = 8, PD_ATTR_SAMPLE_TYPE = 24,
	PD_ATTR_READ_FORMAT = 32, PD_ATTR_FLAGS = 40, PD_ATTR_BRANCH = 72, PD_ATTR_REGS_USER = 80,
	PD_ATTR_CLOCKID = 92, PD_ATTR_REGS_INTR = 96, PD_ATTR_VER0 = 64, PD_ATTR_MAX = 4096,
};
#define PD_BRANCH_HW_INDEX (1ull << 17)
#define PD_BRANCH_COUNTERS (1ull << 19)

#define PD_MAGIC "PERFILE2"
#define PD_MAGIC_SWAPPED "2ELIFREP"
#define PD_MAGIC_V1 "PERFFILE"
#define PD_FILE_HEADER_BYTES 104
#define PD_PIPE_HEADER_BYTES 16
#define PD_REC_HEADER_BYTES 8

#endif
