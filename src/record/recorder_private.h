/* recorder_private.h - between recorder.c and load.c. */
#ifndef WW_RECORDER_PRIVATE_H
#define WW_RECORDER_PRIVATE_H

#include <linux/types.h>
#include <bpf/libbpf.h>

#include "record/recorder.h"
#include "record/ring.h"
#include "record/whywait.skel.h"

#define WW_PROGRAMS_MAX 128

struct ww_recorder {
	struct whywait_bpf *skel;
	struct ww_ring_set rings;
	struct ww_recorder_opts opts;
	bool started, stopped;
	uint64_t *lost_per_cpu;
	const char *missing[WW_PROGRAMS_MAX + 1];
	size_t nmissing;
	int64_t flushed_ns;
	uint64_t misses_seen;
	uint64_t unseen; /* while snapshots were written */
	char missed[256];
	struct bpf_link *fault_links[2 * WW_MAX_CPUS];
};

/* Sizes of the rings from the options. */
int ww_load_sizes(struct ww_recorder *rec, struct ww_err *err);
/* Opens, configures and loads the programs that the options want and the kernel has tracepoints for; `only`:
 * that one alone, NULL: all. The caller frees the skeleton. */
int ww_load_programs(struct ww_recorder *rec, const char *only, struct ww_err *err);
/* What libbpf complained about last is forgotten, or put into err beside r, its error. */
void ww_load_clear(void);
int ww_load_failed(int r, struct ww_err *err);

#endif
