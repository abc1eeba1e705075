/* recorder.h - loads our eBPF programs, drains their per-CPU rings into CTF stream files, stops.
 *
 * order  ww_recorder_open -> ww_recorder_target_add (any number) -> ww_recorder_start ->
 *        ww_recorder_poll in a loop -> ww_recorder_stop -> ww_recorder_stats -> ww_recorder_close
 * files  outdir/c0_N, one for each CPU N with stream_id 0 and stream_instance_id N. The metadata and
 *        the packets that user space makes (state dump, clock, target) are the caller's: they belong in
 *        a file of their own, with stream_instance_id = ww_recorder_cpus() or higher, so that each
 *        stream stays in time order.
 * loss   counted for each CPU, in the packets' events_discarded and in ww_recorder_stats.
 * owner  nothing is pinned: links, programs and maps live as long as their descriptors, so that after
 *        any end of the process, kill -9 included, the kernel has nothing of ours left.
 * thread one thread uses a recorder at a time.
 */
#ifndef WW_RECORDER_H
#define WW_RECORDER_H

#include <stdio.h>

#include "base/base.h"
#include "base/err.h"

struct ww_recorder;

struct ww_recorder_opts {
	const char *outdir;     /* exists already; NULL: no file until ww_recorder_write_to, or a snapshot */
	uint8_t uuid[16];       /* of the trace, as in its metadata */
	uint64_t ring_bytes;    /* for each CPU; 0: 8 MiB */
	uint32_t subbuf_bytes;  /* a power of two, 4 KiB to 1 MiB; 0: 256 KiB, less when the ring is small */
	bool light;             /* attach no system call tracepoint; who blocks or wakes tells its call */
	bool stacks;            /* whywait_stack at each blocking switch */
	bool all_syscalls;      /* system calls of every task, not of the target's tree alone */
	bool syscalls_only;     /* nothing but system calls: for measuring and tests */
	uint64_t flight_bytes;  /* > 0: ring size for each CPU in overwrite mode; written by a snapshot only */
	uint64_t max_bytes;     /* ww_recorder_poll returns when so many are written; 0: no limit */
};

struct ww_recorder_stats {
	uint64_t events;   /* written to the rings */
	uint64_t bytes;    /* written to files */
	uint64_t packets;
	uint64_t lost;     /* rings full or contended, all CPUs */
	uint64_t unseen;   /* came while a snapshot was written, and are in none: not among the lost */
	uint64_t misses;   /* programs that the kernel skipped because they were active on the CPU */
	const char *missed; /* which: "ww_sched_waking 2, ww_timer_start 1"; the recorder's, valid until close */
	uint32_t cpus;
	const uint64_t *lost_per_cpu; /* [cpus], the recorder's, valid until close */
};

/* Loads and verifies everything; attaches nothing. -WW_EPERM when the kernel refuses for want of
 * privileges, -WW_EKERNEL when it lacks BTF or a tracepoint that we cannot do without. */
int ww_recorder_open(const struct ww_recorder_opts *opts, struct ww_recorder **ret,
		     struct ww_err *err);
/* The directory of the stream files, which exists already; before start. */
void ww_recorder_write_to(struct ww_recorder *rec, const char *outdir);
/* Loads the programs as ww_recorder_open does, or `only` that one when it is not NULL, and lets go of them; err
 * names the first that the kernel refuses. */
int ww_recorder_try(const char *only, struct ww_err *err);
/* From now on libbpf's complaints, the verifier's log among them, are also written to f; NULL: no more. */
void ww_recorder_log(FILE *f);
/* The process that tid `pid` belongs to and, from then on, all that it forks. Any time after open. */
int ww_recorder_target_add(struct ww_recorder *rec, int32_t pid, struct ww_err *err);
/* The process of a thread; -WW_ENOENT: there is none. Needs no recorder. */
int ww_recorder_process(int32_t tid, uint32_t *ret_pid, struct ww_err *err);
/* The calling process is the recorder: its events are recorded, but not its system calls. */
int ww_recorder_start(struct ww_recorder *rec, struct ww_err *err);
/* Drains full sub-buffers, and those that have waited for a second; returns after timeout_ms, or at once
 * when a signal comes. Returns 0, or -WW_EIO (full disk ...): recording goes on, what cannot be written
 * is dropped and counted as lost. */
int ww_recorder_poll(struct ww_recorder *rec, int timeout_ms, struct ww_err *err);
/* Detaches, drains everything, closes the stream files. */
int ww_recorder_stop(struct ww_recorder *rec, struct ww_err *err);
void ww_recorder_stats(struct ww_recorder *rec, struct ww_recorder_stats *ret);
/* Flight mode: writes what the rings hold into `outdir` (exists already) as whole stream files of a trace of its own,
 * then goes on recording. Events that happen meanwhile are in no snapshot, and counted. */
int ww_recorder_snapshot(struct ww_recorder *rec, const char *outdir, const uint8_t uuid[16], struct ww_err *err);
/* Where the oldest packet of the last snapshot begins; UINT64_MAX: it has none. */
uint64_t ww_recorder_oldest_ts_ns(const struct ww_recorder *rec);
/* The kernel's functions that were named so far (whywait_function), slot by slot; an empty name: a free slot. False:
 * there are no more. The name is the recorder's. */
bool ww_recorder_function(const struct ww_recorder *rec, uint32_t i, uint64_t *ret_address, const char **ret_name);
/* Any state, also NULL. */
void ww_recorder_close(struct ww_recorder *rec);
/* Number of possible CPUs = number of stream files at most. */
uint32_t ww_recorder_cpus(const struct ww_recorder *rec);
/* A descriptor from which the kernel's tasks, their open files, or the code that the targets have mapped are read
 * once, as struct ww_iter_task, ww_iter_file or ww_iter_map of bpf/wire.h; the caller closes it. -1: not here.
 * Between start and stop. */
enum ww_recorder_iter { WW_ITER_TASKS, WW_ITER_FILES, WW_ITER_MAPS };
int ww_recorder_iter_open(struct ww_recorder *rec, enum ww_recorder_iter what);
/* Names of tracepoints that this kernel lacks and that we can do without; NULL-terminated. */
const char *const *ww_recorder_missing(const struct ww_recorder *rec);

#endif
