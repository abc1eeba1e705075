/* ring.h - the reading side of the per-CPU rings; bpf/wire.h says how they are laid out.
 *
 * One reader. What it writes: read_n, and the position by compare-and-swap when it closes a sub-buffer that
 * has waited for too long.
 */
#ifndef WW_RING_H
#define WW_RING_H

#include "base/base.h"
#include "base/err.h"
#include "format/ctf/packet_file.h"
#include "record/bpf/wire.h"

struct ww_ring_cpu {
	struct ww_packet_file file; /* fd -1: none yet */
	uint64_t seq;
	uint64_t dropped;   /* events that were taken but could not be written */
	uint64_t discarded; /* in the last packet that was written */
	uint64_t *events;   /* [nsub] the event count of each element after its last packet */
	uint64_t marked;    /* losses at ww_ring_set_mark */
	uint64_t marked_lost; /* of them, those for want of room */
	uint64_t before;    /* losses before the first packet of a snapshot, which are none of its own */
};

struct ww_ring_set {
	uint32_t ncpu, nsub, sub_bytes, sub_shift;
	size_t stride;            /* bytes from element to element */
	uint8_t *base;            /* the mapped ring map */
	size_t map_bytes;
	struct ww_ring_ctl *ctl;  /* [ncpu] in the program's data */
	struct ww_ring_cpu *cpu;  /* [ncpu] */
	uint8_t uuid[16];
	char outdir[4200];        /* "": no file */
	uint64_t events, bytes, packets;
	uint64_t oldest_ts_ns;    /* where the first packet of the last dump begins */
	uint64_t end_ts_ns;       /* the recording's end, when nothing more comes; 0: not yet */
	uint64_t extra_lost;      /* shown in CPU 0's packets: misses whose CPU is not known */
};

/* Maps the ring map. ctl is the caller's and outlives the set. */
int ww_ring_set_init(struct ww_ring_set *s, int map_fd, struct ww_err *err);
void ww_ring_set_release(struct ww_ring_set *s);
/* Takes what is complete; with older_ns >= 0 also closes a sub-buffer that was begun that long ago (0: any).
 * The first error is returned, the draining goes on. */
int ww_ring_set_drain(struct ww_ring_set *s, int64_t older_ns, struct ww_err *err);
/* Flight mode, just before the writers are frozen: what is lost from here on is after the snapshot. */
void ww_ring_set_mark(struct ww_ring_set *s);
/* Events that were lost since, all CPUs. */
uint64_t ww_ring_set_marked(const struct ww_ring_set *s);
/* Flight mode, marked, writers frozen: writes all that the rings still hold into the files. */
int ww_ring_set_dump(struct ww_ring_set *s, struct ww_err *err);
/* After the last drain: an empty packet for each CPU whose last one does not show all losses. */
int ww_ring_set_finish(struct ww_ring_set *s, struct ww_err *err);
/* Closes the files; the next packet opens new ones in s->outdir. */
int ww_ring_set_close_files(struct ww_ring_set *s, struct ww_err *err);
/* True when some ring is more than half full. */
bool ww_ring_set_busy(const struct ww_ring_set *s);
uint64_t ww_ring_lost(const struct ww_ring_set *s, uint32_t cpu);

#endif
