/* event.h - the next event of a stream as nearly all are: LTTng's header, inside the packet at hand, a body of steps.
 *
 * Each function says false where an event is not so, having changed nothing; then stream.c's function of the same
 * purpose is called, which knows all of them. Here is what a reader does most, so it is made part of the loops of merge.c.
 */
#ifndef WW_CTF_EVENT_H
#define WW_CTF_EVENT_H

#include "format/ctf/ctf.h"

#define CTF_AHEAD 512u    /* bytes from an event to what is asked for meanwhile */
#define CTF_HEADER_MAX 112u /* bits of LTTng's longer header: an id of 16, one of 32, a stamp of 64 */

/* A stamp of the clock's low `size` bits after the one of `clock`. */
static WW_ALWAYS_INLINE uint64_t ctf_clock_next(uint64_t clock, uint64_t v, unsigned size)
{
	if (size >= 64)
		return v;
	const uint64_t mask = ((uint64_t)1 << size) - 1, low = clock & mask;
	return (clock & ~mask) + v + (v < low ? mask + 1 : 0);
}

struct ctf_head {
	uint64_t id, clock;
	uint64_t bits; /* of the header */
	uint64_t body_pos;
	uint32_t cls;
};

/* LTTng's compact (5-bit id, 27-bit stamp) and large (16, 32) headers, on a byte, of which `left` bits are there.
 * False: it has more. */
static WW_ALWAYS_INLINE bool ctf_header_lttng(const uint8_t *p, uint64_t left, bool large, uint64_t clock, struct ctf_head *ret)
{
	const unsigned id_bytes = large ? 2 : 1, escape = large ? 65535 : 31, bits = large ? 48 : 32;

	if (WW_UNLIKELY(left < bits))
		return false;
	ret->id = large ? ctf_bits_bytes(p, 16, false) : p[0] & 31u;
	if (WW_LIKELY(ret->id != escape)) {
		const uint64_t stamp = large ? ctf_bits_bytes(p + 2, 32, false) : ctf_bits_bytes(p, 32, false) >> 5;
		ret->clock = ctf_clock_next(clock, stamp, large ? 32 : 27);
		ret->bits = bits;
		return true;
	}
	ret->bits = id_bytes * 8 + 96;
	if (left < ret->bits)
		return false;
	ret->id = ctf_bits_bytes(p + id_bytes, 32, false);
	ret->clock = ctf_bits_bytes(p + id_bytes + 4, 64, false);
	return true;
}

/* The head of the event at `pos`, before which the clock was `clock`. */
static WW_ALWAYS_INLINE bool ctf_event_head(const struct ctf_stream *s, uint64_t pos, uint64_t clock, struct ctf_head *ret)
{
	const struct ctf_sclass *sc = s->sc;

	pos = (pos + 7) & ~(uint64_t)7;
	if (WW_UNLIKELY(s->c.end < pos + CTF_HEADER_MAX) || WW_UNLIKELY(!sc->fast))
		return false;
	const uint8_t *p = s->c.base + pos / 8;
	__builtin_prefetch(p + CTF_AHEAD);
	(void)(sc->fast == 2 ? ctf_header_lttng(p, CTF_HEADER_MAX, true, clock, ret) :
			       ctf_header_lttng(p, CTF_HEADER_MAX, false, clock, ret));
	if (WW_UNLIKELY(ret->clock - s->earliest > s->span) || WW_UNLIKELY(ret->id >= sc->nby_id) || WW_UNLIKELY(!sc->ns))
		return false;
	ret->body_pos = pos + ret->bits;
	ret->cls = sc->by_id[ret->id];
	return WW_LIKELY(ret->cls != WW_NONE);
}

static WW_ALWAYS_INLINE int64_t ctf_head_ts_ns(const struct ctf_stream *s, const struct ctf_head *h)
{
	return (int64_t)(h->clock + (uint64_t)s->sc->shift_ns);
}

/* As ctf_stream_advance. */
static WW_ALWAYS_INLINE bool ctf_event_advance(struct ctf_stream *s)
{
	struct ctf_head h;

	if (WW_UNLIKELY(!ctf_event_head(s, s->c.pos, s->clock, &h)))
		return false;
	s->event_pos = s->c.pos;
	s->c.pos = s->body_pos = h.body_pos;
	s->clock = h.clock;
	s->cls = h.cls;
	s->ts_ns = ctf_head_ts_ns(s, &h);
	return true;
}

/* As ctf_stream_decode, with the values at `to`. */
static WW_ALWAYS_INLINE bool ctf_event_decode(struct ctf_stream *s, const struct ctf_class *k, struct ww_value *to)
{
	if (WW_UNLIKELY(s->c.end - s->c.pos < k->need_bits) || WW_UNLIKELY(s->c.pos % 8) ||
	    WW_UNLIKELY(s->c.pos == s->event_pos))
		return false;
	if (k->nwants)
		ctf_steps_run(k->steps, s->c.base + s->c.pos / 8, to);
	s->c.pos += k->bits;
	s->seen_event = true;
	s->last_ts_ns = s->ts_ns;
	return true;
}

#endif
