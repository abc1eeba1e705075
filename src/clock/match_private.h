/* match_private.h - what match.c, match_part.c and match_stream.c share. */
#ifndef WW_MATCH_PRIVATE_H
#define WW_MATCH_PRIVATE_H

#include "clock/match.h"

enum { WW_PROTO_TCP = 6, WW_PROTO_UDP = 17 };

#define WW_SHAPE_MAX_PAYLOAD ((1u << 24) - 1)
/* Unwrapped sequence numbers begin here, so that what lies before a stream's first one is not negative. */
#define WW_SEQ_BASE (1ull << 32)

/* The 64-bit number nearest to `near` with these low 32 bits. */
static inline uint64_t ww_seq_unwrap(uint64_t near, uint32_t seq)
{
	return near + (uint64_t)(int64_t)(int32_t)(seq - (uint32_t)near);
}

#define WW_TCP_FIN 1u
#define WW_TCP_SYN 2u
#define WW_TCP_RST 4u

/* The next number of a stream whose highest is *hi. A reset may carry any number and moves nothing. */
static inline uint64_t ww_seq_step(uint64_t *hi, uint32_t seq, uint32_t flags)
{
	uint64_t v = ww_seq_unwrap(*hi, seq);

	if (!(flags & WW_TCP_RST) && v > *hi)
		*hi = v;
	return v;
}

/* A host's packets in streams of its own flows. */
struct ww_match_part {
	struct ww_match_host host;
	WW_VEC(struct ww_match_flow) flow;
	WW_VEC(struct ww_match_stream) stream; /* `flow` is an index here */
	struct ww_u64map flows;
	uint32_t last_flow;
	uint32_t room;       /* packets that there is memory for */
	uint32_t *stream_of; /* each packet's; WW_NONE: not to be matched */
};

void ww_match_host_release(struct ww_match_host *h);
bool ww_match_same_flow(const struct ww_match_flow *a, const struct ww_match_flow *b);
uint64_t ww_match_flow_key(const struct ww_match_flow *fl); /* of its addresses, ports and protocol */

/* Two streams of one flow, and memory that is used again for the next two. */
struct ww_match_job {
	struct ww_matcher *m;
	struct ww_match_stream *s, *r;
	int64_t shift; /* added to r's sequence numbers they are s's */
	int64_t (*time)(void *ctx, uint32_t host, int64_t ts_ns); /* NULL: the clocks are not known */
	void *ctx;
	uint64_t known; /* bits: hosts whose time is */
	bool tcp;
	WW_VEC(struct ww_match_sent) sent;    /* each packet of s; refining, of what was repeated */
	WW_VEC(struct ww_match_span) spans;   /* s's bytes by their first transmission, rising */
	WW_VEC(uint32_t) table;               /* hash -> index + 1 in `sent`, of a key's first packet */
	WW_VEC(uint32_t) found;               /* of each arrival in turn, the same */
};

struct ww_match_sent {
	uint64_t seq;
	uint32_t k;              /* which packet of s */
	uint32_t next, last;     /* the same key again; `last` and the rest are of the key's first packet */
	uint32_t nsent, narrived;
	uint32_t cursor, used;   /* refining: the next transmission that may have arrived, the last that did */
	uint32_t sent_left, arrived_left; /* refining: not yet passed */
	bool cleared;
	bool again; /* of the key's first packet: its bytes had been sent before, within other boundaries */
};

struct ww_match_span { uint64_t from, to; uint32_t at; };

void ww_match_tcp(struct ww_match_job *j);
void ww_match_udp(struct ww_match_job *j);
void ww_match_job_release(struct ww_match_job *j);
uint64_t ww_match_isn_key(uint32_t flow, uint32_t isn);

#endif
