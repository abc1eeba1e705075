/* names.h - facts in words: "producer (203)", "read(3 /tmp/f)", "vda read 64 KiB, sector 8".
 *
 * in     facts   sealed; indexes may be WW_NONE, what then is unknown is "" or left out
 * out    strings in `mem` or in the facts, never NULL unless said
 * owner  mem; valid until it is reset
 */
#ifndef WW_NAMES_H
#define WW_NAMES_H

#include "analysis/chain.h"

const char *ww_name_comm(const struct ww_facts *f, uint32_t thread);
/* The name that it had then (it may exec, or take another one); the first is the id of the string. */
uint32_t ww_name_comm_id(const struct ww_facts *f, uint32_t thread, int64_t ts_ns);
const char *ww_name_comm_at(const struct ww_facts *f, uint32_t thread, int64_t ts_ns);
/* The same for a person: "the recorder" for the one that wrote the trace. What it takes is the cost of recording. */
const char *ww_name_comm_told(const struct ww_facts *f, uint32_t thread, int64_t ts_ns);
const char *ww_name_thread_at(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread, int64_t ts_ns);
/* The names that it had in the range, in their order, at most so many of the last ones. Memory in `mem`. */
#define WW_COMMS_MAX 12
uint32_t ww_name_comms(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread, int64_t from_ts_ns, int64_t to_ts_ns,
		       const char ***ret);
int32_t ww_name_tid(const struct ww_facts *f, uint32_t thread); /* -1 none */
const char *ww_name_thread(struct ww_arena *mem, const struct ww_facts *f, uint32_t thread);
const char *ww_name_file(const struct ww_facts *f, uint32_t file);
/* "read(3 /tmp/f)", "nanosleep"; NULL when the call is not known. */
const char *ww_name_syscall(struct ww_arena *mem, const struct ww_facts *f, uint32_t syscall);
/* Only the call's name; NULL when not known. */
const char *ww_name_syscall_only(const struct ww_facts *f, uint32_t syscall);
const char *ww_name_device(struct ww_arena *mem, const struct ww_facts *f, uint32_t dev);
const char *ww_name_block(struct ww_arena *mem, const struct ww_facts *f, uint32_t io);
/* "queued 1 ms, device 2 ms"; "" when not both are known. */
const char *ww_name_request_times(struct ww_arena *mem, const struct ww_facts *f, uint32_t io);
/* "10.0.0.1:80", "[fe80::1]:80"; port -1: none. */
const char *ww_name_end(struct ww_arena *mem, uint8_t family, uint64_t hi, uint64_t lo, int32_t port);
/* "TCP 10.0.0.1:80 -> 10.0.0.2:3312 on eth0" */
const char *ww_name_packet(struct ww_arena *mem, const struct ww_facts *f, uint32_t packet);

/* What a state row is about, without its state and cause. `exact` adds what differs between waits of
 * the same kind (offset of the fault, sector); without it equal kinds of waits have equal words. */
const char *ww_name_state(struct ww_arena *mem, const struct ww_facts *f, uint32_t state, bool exact);
/* Of what lies of it in [from, to): of a wait for a CPU another may have had it then. */
const char *ww_name_state_in(struct ww_arena *mem, const struct ww_facts *f, uint32_t state, int64_t from_ts_ns,
			     int64_t to_ts_ns, bool exact);
/* Stands in those words of a wait that lasted until the trace's end, so that nobody knows what would have ended it. */
#define WW_NAME_OPEN "not over when the recording ended"
/* The cause of a state row: of a blocked one never none. */
enum ww_cause ww_state_cause(const struct ww_facts *f, uint32_t state);
/* Whom a preempted or queued thread's wait is laid to, wherever it is told: a report counts whole waits, a path and a
 * tree have what lies of it in [from, to). The thread that had the CPU in whose queue it was for most of it, all its
 * runs together; an idle thread: the CPU was idle. WW_NONE: nobody is known for most of it. */
uint32_t ww_ready_behind(const struct ww_facts *f, uint32_t state, int64_t from_ts_ns, int64_t to_ts_ns);
static inline uint32_t ww_link_behind(const struct ww_facts *f, const struct ww_link *l)
{
	return ww_ready_behind(f, l->row, l->start_ts_ns, l->start_ts_ns + l->dur_ns);
}
/* "by X", "behind X", "" of such a state; X by the name that it had then. */
const char *ww_name_ready(struct ww_arena *mem, const struct ww_facts *f, enum ww_thread_state s, uint32_t other,
			  int64_t ts_ns);
/* When a thread had the name by which it is called in what is told of a state, or of a stretch of one: at its end, for
 * one that begins to run soon names itself, or execs. */
int64_t ww_state_named_at(const struct ww_facts *f, uint32_t state);
static inline int64_t ww_link_named_at(const struct ww_link *l)
{
	return l->start_ts_ns + l->dur_ns - 1;
}
/* The block request that ended the wait, by itself or through the worker that its end set to work; WW_NONE. */
uint32_t ww_wait_block(const struct ww_facts *f, uint32_t wakeup);
/* Did a key pressed at the terminal end it (Ctrl-C), so that nothing is known of what was before? */
bool ww_wait_ended_by_key(const struct ww_facts *f, uint32_t state);
/* A thread that ends wakes who joins it: no lock of it was released. */
bool ww_wait_ended_by_end(const struct ww_facts *f, uint32_t wakeup);
/* The thread whose doing ended the wait, when it is another one; WW_NONE. */
uint32_t ww_wait_peer(const struct ww_facts *f, uint32_t state);
const char *ww_name_waker(struct ww_arena *mem, const struct ww_facts *f, uint32_t wakeup); /* its name alone */
struct ww_woken ww_name_woken(struct ww_arena *mem, const struct ww_facts *f, uint32_t wakeup);

#endif
