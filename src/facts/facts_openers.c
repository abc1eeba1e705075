/* facts_openers.c - which of a connection's ends opened it, so that it is the same one whichever part of the trace is asked
 * about: the end of its first SYN, else that of its first packet.
 *
 *   :2 -> :1 ACK        :1 -> :2 SYN        :2 -> :1 SYN ACK        :1 opened it; `from_opener` is 0 1 0
 *
 * A connection is all that goes between two ports; one that has the ports of an earlier one is opened by the same end.
 */
#include "base/u64map.h"
#include "facts/facts_private.h"

enum { TCP = 6, SYN = 2, ACK = 16 };

/* Both directions give the same key; which of the two it is, is *ret_up. */
static uint64_t key_of(const struct ww_packet_cols *p, uint32_t i, bool *ret_up)
{
	const uint64_t s = ww_hash_mix(ww_hash_mix(p->saddr_hi[i], p->saddr_lo[i]), p->sport[i]),
		       d = ww_hash_mix(ww_hash_mix(p->daddr_hi[i], p->daddr_lo[i]), p->dport[i]);

	*ret_up = s <= d;
	return ww_hash_mix(ww_hash_mix(WW_MIN(s, d), WW_MAX(s, d)), p->proto[i]);
}

void ww_facts_find_openers(struct ww_facts *f)
{
	const struct ww_packet_cols *p = &f->packet;
	struct ww_u64map openers = {0}; /* 1: its packets go up; 2: by a SYN */
	bool up;

	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t key = key_of(p, i, &up), *o = ww_u64map_get(&openers, key, up, NULL);
		if (p->proto[i] == TCP && p->tcp_flags[i] & SYN && !(*o & 2))
			*o = (p->tcp_flags[i] & ACK ? !up : up) | 2;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t key = key_of(p, i, &up);
		p->from_opener[i] = up == (*ww_u64map_find(&openers, key) & 1);
	}
	ww_u64map_release(&openers);
}
