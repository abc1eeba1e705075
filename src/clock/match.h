/* match.h - which received packet is which sent one, over the packets of many hosts.
 *
 *   struct ww_matcher *m = ww_matcher_new();
 *   for each host: ww_matcher_add(m, facts, &err);      facts are not needed afterwards
 *   ww_matcher_run(m);                                  ... m->host[h].partner[p] ...
 *   ww_matcher_refine(m, corrected_time, ctx, hosts);   once the clocks are known
 *   ww_matcher_free(m);
 *
 * A direction of a connection (addresses, ports, protocol) seen on one host between two SYNs is a stream;
 * streams that were sent on one host and received on another are matched:
 *
 * TCP  a segment by seq, ack, flags and payload. Repeated ones: of data, SYN and FIN the first transmission,
 *      which is before the arrival whichever copy arrived; a repeated bare ACK (window update, keep-alive)
 *      waits for the clocks. Where segmentation or merging (GSO, GRO) changed the boundaries, by bytes: what
 *      arrived cannot be before the first transmission of its last byte.
 * UDP  by length, IP id and checksum, which must be there once on either side; when a network card filled the
 *      checksum in, by length and IP id. Datagrams that differ in none of them wait for the clocks, too.
 *
 * Packets that both ends of one host saw (facts' packet.match) and loopback addresses are not matched again.
 * Sequence numbers are unwrapped, so a stream may be longer than 4 GiB.
 *
 * cost   O(n) time on all CPUs, flows apart; 28 bytes a packet, and for the longest streams about 60 bytes a packet
 *        while they are matched
 */
#ifndef WW_MATCH_H
#define WW_MATCH_H

#include "base/u64map.h"
#include "base/vec.h"
#include "facts/facts.h"

#define WW_MATCH_MAX_HOSTS 64

struct ww_match_host {
	uint32_t n;        /* packets, all of the facts' */
	uint32_t base;     /* number of the first one over all hosts */
	int64_t *ts_ns;    /* epoch */
	uint32_t *seq, *ack;
	uint32_t *shape;   /* payload << 8 | TCP flags */
	uint32_t *partner; /* number over all hosts, WW_NONE: of a received packet the send that it cannot be before,
			    * of a sent one the first arrival; made by ww_matcher_run */
	uint64_t *sent;    /* bits: 1 sent, 0 received */
	uint32_t *order;   /* packets by stream, each stream in time order */
};

struct ww_match_count { uint64_t matched, unmatched; }; /* arrivals with a partner; packets without one */

struct ww_match_flow { /* one direction of a connection */
	uint64_t saddr_hi, saddr_lo, daddr_hi, daddr_lo;
	uint16_t sport, dport;
	uint8_t proto;
	uint64_t sent_on, received_on; /* bits: hosts */
	uint32_t first_stream;         /* of `next_of_flow` */
	uint32_t current[2];           /* while a host's streams are made: its stream, received and sent */
};

/* What the second pass looks at again: a packet of a key that came twice, by its place in the stream. */
struct ww_match_again { uint64_t seq; uint32_t k; };
typedef WW_VEC(struct ww_match_again) ww_match_agains;

struct ww_match_stream {
	uint32_t flow, host;
	bool sent, has_isn;
	bool repeats;      /* a received one's: a key came twice, refine looks again */
	ww_match_agains again_sent, again_received; /* a received TCP one's */
	uint32_t isn;
	uint32_t first, n; /* in the host's order */
	uint64_t lo, hi;   /* unwrapped sequence numbers from 2^32 on */
	uint32_t next_of_flow, next_of_isn;
};

struct ww_matcher {
	WW_VEC(struct ww_match_host) host;
	WW_VEC(struct ww_match_flow) flow;
	WW_VEC(struct ww_match_stream) stream;
	struct ww_u64map flows, by_isn; /* by hash; a chain resolves what falls together */
	uint32_t packets;
	/* Of sender a and receiver b at [a * WW_MATCH_MAX_HOSTS + b]. */
	struct ww_match_count *count;
};

struct ww_matcher *ww_matcher_new(void);
void ww_matcher_free(struct ww_matcher *m);
/* Takes what it needs of the next host's packets. error -WW_ELIMIT too many hosts or packets */
int ww_matcher_add(struct ww_matcher *m, const struct ww_facts *f, struct ww_err *err);
/* The same in steps, of which all but the last need no matcher and may be done by any thread, for several hosts at
 * once: the first n packets of the facts as often as there are more, the end, and to the matcher; `path` is for the
 * message. The part is still to be freed. */
struct ww_match_part;
struct ww_match_part *ww_match_part_new(void);
void ww_match_part_take(struct ww_match_part *p, const struct ww_facts *f, uint32_t n);
void ww_match_part_end(struct ww_match_part *p);
int ww_matcher_join(struct ww_matcher *m, struct ww_match_part *p, const char *path, struct ww_err *err);
void ww_match_part_free(struct ww_match_part *p);
void ww_matcher_run(struct ww_matcher *m);
/* Gives repeated packets the transmission that arrived: the last one before the arrival. `time` corrects, on
 * any thread; known has a bit for each host that it can correct. */
void ww_matcher_refine(struct ww_matcher *m, int64_t (*time)(void *ctx, uint32_t host, int64_t ts_ns), void *ctx,
		       uint64_t known);
static inline bool ww_match_is_sent(const struct ww_match_host *h, uint32_t i)
{
	return h->sent[i / 64] >> (i % 64) & 1;
}
/* The host of a packet's number over all hosts. */
uint32_t ww_matcher_host_of(const struct ww_matcher *m, uint32_t number);

#endif
