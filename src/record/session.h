/* session.h - one recording: the directory, its metadata, the kernel side, and what user space adds.
 *
 * order  ww_session_open -> ww_session_target (any number) -> ww_session_start -> ww_session_target_begin
 *        -> ww_session_tick in a loop -> ww_session_target_end -> ww_session_stop -> ww_session_close
 *        in flight mode also ww_session_snapshot, any time between start and stop
 * loss   ww_session_stats; a write error (full disk) stops the recording: what is on disk stays readable
 */
#ifndef WW_SESSION_H
#define WW_SESSION_H

#include <sys/types.h>

#include "record/recorder.h"

struct ww_session;

struct ww_session_opts {
	const char *outdir;
	bool outdir_or_other; /* when it is being recorded, see ww_outdir_make */
	bool light, stacks, all_syscalls;
	uint64_t flight_bytes, ring_bytes; /* see recorder.h */
	uint64_t max_bytes; /* ww_session_tick returns when so many are written; 0: no limit */
	bool share;                        /* this group may read what is recorded */
	gid_t share_gid;
};

/* Makes the directory, which ww_session_dir names. */
int ww_session_open(const struct ww_session_opts *opts, struct ww_session **ret, struct ww_err *err);
/* Before a session is opened: whether there is the process. */
int ww_session_has_process(int32_t pid, struct ww_err *err);
int ww_session_target(struct ww_session *s, int32_t pid, struct ww_err *err);
/* The same for the command's process, which sleeps until it may execute: followed from the end of start on. */
void ww_session_child(struct ww_session *s, int32_t pid);
/* The trace directory's path, until close. */
const char *ww_session_dir(const struct ww_session *s);
/* A descriptor that keeps the directory locked after the session (outdir.h); the caller closes it. */
int ww_session_lock(const struct ww_session *s);
/* Attaches, writes the state dump, gives up the privileges that are not needed any more.
 * CAP_CHOWN is kept when the trace is shared, to be given away in the end (ww_outdir_give). */
int ww_session_start(struct ww_session *s, struct ww_err *err);
void ww_session_target_begin(struct ww_session *s, int32_t pid, uint64_t begin_ts_ns, const char *comm,
			     const char *cmdline);
void ww_session_target_end(struct ww_session *s, int32_t pid, uint64_t end_ts_ns, int32_t wait_status);
/* Drains for at most timeout_ms; once a second writes clocks and cost. An error: recording is over, call
 * ww_session_stop. */
int ww_session_tick(struct ww_session *s, int timeout_ms, struct ww_err *err);
int ww_session_stop(struct ww_session *s, struct ww_err *err);
/* Writes what the flight recorder holds to a new directory under outdir; its path, until the next call. */
int ww_session_snapshot(struct ww_session *s, const char **ret_path, struct ww_err *err);
void ww_session_stats(struct ww_session *s, struct ww_recorder_stats *ret);
const char *const *ww_session_missing(const struct ww_session *s);
void ww_session_close(struct ww_session *s);

#endif
