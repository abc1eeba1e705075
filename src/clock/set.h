/* set.h - a set of hosts whose facts are read in one time.
 *
 *   struct ww_set set; ww_set_make(&mem, facts, n, &opts, &set, &err);
 *   t = ww_set_time(&set, host, ts);   ... set.match[host][packet] ...
 *
 * The time of a set is ns since the epoch as the reference host's clock tells it (its own clock plus its
 * offset to the epoch). Facts stay in their host's clock; only reading goes through ww_set_time, so adding
 * a host invalidates nothing.
 *
 * A correction is t_ref = t + offset_ns + drift * (t - t0_ns), t in the host's own epoch ns, t0_ns its first
 * event, drift in parts of 10^15 so that all of it is exact in integers. Where a clock was slewed within the trace it is
 * a line that bends (pieces.h), and offset and drift are those of its two ends.
 *
 * owner  the arena given to ww_set_make; facts must outlive the set
 */
#ifndef WW_SET_H
#define WW_SET_H

#include "base/arena.h"
#include "clock/hull.h"
#include "facts/facts.h"

enum ww_accuracy {
	WW_AC_REFERENCE,   /* the reference itself */
	WW_AC_SHARED,      /* the same clock by its uuid: nothing to correct */
	WW_AC_ACCURATE,    /* bounded from both directions */
	WW_AC_APPROXIMATE, /* a bound lacks a point: one direction is thin; or the clock changed its speed */
	WW_AC_FAIL,        /* bounds contradict each other: the best that was known before they did */
	WW_AC_NONE,        /* no packet shared with the set: not corrected */
	WW_AC_N
};
const char *ww_accuracy_name(enum ww_accuracy a); /* "reference", "shared", "accurate" ... */

struct ww_bend { int64_t t_ns, ref_ns; }; /* the host's own epoch ns; the set's time */

struct ww_correction {
	int64_t t0_ns;      /* first event, the host's epoch ns */
	int64_t offset_ns;
	int64_t drift_e15;  /* ns per 10^15 ns: 1 ppm is 10^9 */
	int64_t bound_ns;   /* largest error within the host's range, as far as the packets tell; -1 unknown */
	uint8_t accuracy;   /* enum ww_accuracy */
	uint32_t via;       /* neighbour towards the reference in the spanning tree; WW_NONE: none, or the correction is a stored one */
	uint32_t nbends;    /* 0: one line; else at least 3 (then drift_e15 is not 0): the line goes from point to point,
			     * before the first and after the last as between the two next to it */
	const struct ww_bend *bends; /* in the set's arena */
};

struct ww_pair { /* of hosts that could share packets, a < b */
	uint32_t a, b;
	uint64_t matched, unmatched, violations_after; /* violations: arrived before it was sent, after correction */
	int64_t violation_max_ns; /* the worst of them */
	uint8_t accuracy;         /* of this pair alone; WW_AC_NONE: no packet matched */
	int64_t offset_ns, drift_e15, bound_ns; /* b onto a, as a correction with b's t0; from this pair's packets alone */
};

struct ww_packet_ref { uint32_t host, packet; }; /* packet: index into that host's facts; both WW_NONE: none */

struct ww_set_host { /* who it is, for people */
	const char *name, *path, *clock_uuid;
	int64_t begin_ns, end_ns; /* first and last event, the host's own epoch ns */
	uint64_t packets;
	const char *label; /* the name; the path where the name is missing or not the only one (ww_set_label) */
};

struct ww_set {
	const struct ww_facts *const *hosts; /* NULL when only clocks were asked for (sync.h) */
	struct ww_set_host *who;             /* of nhosts */
	uint32_t nhosts, reference;
	struct ww_correction *corrections; /* of nhosts */
	struct ww_pair *pairs;
	uint32_t npairs;
	uint32_t *unreached; /* hosts that share no packets with the reference's side, by number; their count */
	uint32_t nunreached;
	/* match[h][p]: the other end of packet p of host h, on this or another host. NULL when nhosts is 1
	 * (then facts' own packet.match says it). */
	struct ww_packet_ref **match;
};

struct ww_set_opts {
	const char *reference;  /* trace path or host name; NULL: the one with the best accuracy */
	bool stored;            /* use what `whywait sync` stored of these traces (stored.h), when there is no `reference` */
	bool host_is_reference; /* then it is `host`, by its number, and `reference` is NULL */
	uint32_t host;
};

/* ww_set_make - matches packets and corrects clocks of n sealed facts (n >= 1; 1 is trivial and cheap).
 * error  -WW_EUSAGE no host is called opts->reference; two traces are the same recording */
int ww_set_make(struct ww_arena *mem, const struct ww_facts *const *facts, uint32_t n, const struct ww_set_opts *opts,
		struct ww_set *ret, struct ww_err *err);

void ww_set_label(struct ww_set_host *who, uint32_t n);
/* The host that a person means: by its trace's path, as written but for slashes at the end, or its name.
 * error -WW_EUSAGE nobody, or several */
int ww_set_find(const struct ww_set_host *who, uint32_t n, const char *name, uint32_t *ret, struct ww_err *err);

/* Is every host's clock the reference's now? Not with WW_AC_NONE or WW_AC_FAIL. */
bool ww_set_is_whole(const struct ww_set *s);

/* The host's own ns -> the set's time, and back. Both exact to 1 ns and monotone. */
int64_t ww_set_time(const struct ww_set *s, uint32_t host, int64_t ts_ns);
int64_t ww_set_local(const struct ww_set *s, uint32_t host, int64_t set_ns);

/* The same on epoch ns, without facts. */
int64_t ww_correction_apply(const struct ww_correction *c, int64_t t_ns);
int64_t ww_correction_invert(const struct ww_correction *c, int64_t ref_ns);
/* What is added to the host's own ns to make them epoch ns; 0 when the trace does not say. */
int64_t ww_set_epoch_offset(const struct ww_facts *f);

#endif
