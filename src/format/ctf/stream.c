/* stream.c - one stream: its packets in order, from each the events, and between them what was lost.
 *
 * A partial time stamp of n bits counts on from the last one: it replaces the low n bits, and when that
 * would go back, the counter has wrapped once. 27 bits of ns wrap each 0.13 s, which the producer avoids
 * by writing a full stamp after a longer pause.
 *   last 0x1_2345_6789, 27-bit stamp 0x345_0000: low bits 0x345_6789 > 0x345_0000, so 0x1_2b45_0000
 * source CTF 1.8.3 specification, section 8 (clocks); lttng-modules 2.13 lttng-ring-buffer-client.h
 */
#include <sys/mman.h>

#include "format/ctf/event.h"

/* events_discarded counts from the begin of the stream and is stored when the packet is closed. LTTng keeps
 * a full packet open until the next one can be had, so what it grew by was lost after this packet's last
 * event; or before its first one, when the packets do not meet. */
static uint64_t lost_in(const struct ctf_packet *prev, const struct ctf_packet *pk)
{
	uint64_t mask, lost = 0;

	if (!pk->discarded_bits)
		return 0;
	mask = pk->discarded_bits < 64 ? ((uint64_t)1 << pk->discarded_bits) - 1 : UINT64_MAX;
	if (prev)
		lost = (pk->discarded - prev->discarded) & mask;
	else if (!pk->has_seq || pk->seq == 0)
		lost = pk->discarded; /* a later packet first: what was lost before it is not in this trace */
	return lost > mask / 2 ? 0 : lost; /* the counter went back: another run of the recorder */
}

static int64_t to_ns(const struct ctf_stream *s, uint64_t cycles)
{
	/* Without sign: a damaged stamp may be anything. */
	uint64_t ns = s->sc->ns ? cycles : (uint64_t)ctf_cycles_to_ns(s->sc->clock, cycles);

	return (int64_t)(ns + (uint64_t)s->sc->shift_ns);
}

/* Gives back the pages of what was read, some megabytes at a time. What values point to there can still be read:
 * it is mapped in again. */
static void leave_behind(struct ctf_stream *s, const struct ctf_packet *prev, const struct ctf_packet *pk)
{
	const uint64_t page = 65536, step = 8u << 20;

	if (!prev || prev->file != pk->file || pk->off < s->behind) {
		s->behind = pk->off;
		return;
	}
	if (pk->off - s->behind < step)
		return;
	uint64_t from = (s->behind + page - 1) & ~(page - 1), to = pk->off & ~(page - 1);
	(void)madvise((void *)(s->r->files.v[pk->file].map + from), to - from, MADV_DONTNEED);
	s->behind = pk->off;
}

/* The time that a packet's events may be of is the packet's own, and a moment more: some tracers read the clock for
 * its end before that of the last event. A damaged stamp is mostly off by far more, and were it believed, all
 * that follows it would be seconds late, as a stamp that goes back says that the counter has wrapped. */
static void bound_stamps(struct ctf_stream *s, const struct ctf_packet *pk)
{
	const uint64_t hz = s->sc->clock ? s->sc->clock->freq_hz : 0, moment = hz / 50;

	s->earliest = 0;
	s->span = UINT64_MAX;
	if (!hz || !pk->has_begin || !pk->has_end || pk->end < pk->begin || pk->end > UINT64_MAX - moment)
		return;
	s->earliest = pk->begin - WW_MIN(pk->begin, moment);
	s->span = pk->end + moment - s->earliest;
}

/* Loads the next packet; false: there is none. */
static bool load_packet(struct ctf_stream *s)
{
	const struct ctf_packet *prev = s->pk, *pk;

	if (s->next >= s->packets.n)
		return false;
	pk = &s->packets.v[s->next++];
	leave_behind(s, prev, pk);
	struct ctf_file *f = &s->r->files.v[pk->file];
	uint64_t *slots = s->c.slots;
	s->pk = pk;
	s->sub = f->sub;
	s->sc = &f->sub->sclasses[pk->sclass];
	s->c = (struct ctf_cursor){.base = f->map + pk->off, .end = pk->content_bits, .slots = slots,
				   .v = s->r->values, .text = &s->text, .budget = pk->content_bits * 4 + (1u << 16)};
	/* These ran before, over the same bytes: they cannot fail. */
	if (s->sub->header)
		(void)ctf_plan_run(s->sub->header, &s->c);
	if (s->sc->context)
		(void)ctf_plan_run(s->sc->context, &s->c);
	s->c.rc = 0;
	s->c.pos = pk->body_bits;
	if (pk->has_begin)
		s->clock = pk->begin;
	else if (s->sub->m->version == 2)
		s->clock = 0; /* so says CTF2-SPEC-2.0, section 6.1; CTF 1.8 is silent and goes on counting */
	bound_stamps(s, pk);
	s->cut = pk->cut;
	s->tail_lost = lost_in(prev, pk);
	if (prev && prev->has_seq && pk->has_seq && pk->seq != prev->seq + 1)
		s->gap_due = true; /* whole packets are missing */
	if (!prev && pk->has_seq && pk->seq)
		s->gap_due = s->gap_is_begin = true;
	if (prev && s->tail_lost && (!prev->has_end || !pk->has_begin || pk->begin > prev->end))
		s->gap_due = true;
	return true;
}

static int64_t packet_begin_ns(const struct ctf_stream *s)
{
	return s->pk->has_begin ? to_ns(s, s->pk->begin) : s->last_ts_ns;
}

static void deliver_gap(struct ctf_stream *s, int64_t ts_ns, uint64_t lost)
{
	int64_t begin = s->seen_event ? s->last_ts_ns : WW_MIN(ts_ns, packet_begin_ns(s));

	s->ts_ns = WW_MAX(ts_ns, begin);
	s->cls = WW_CLS_GAP;
	s->gap[0] = (struct ww_value){.u = lost, .len = 64, .kind = WW_V_UINT};
	s->gap[1] = (struct ww_value){.i = begin, .len = 64, .kind = WW_V_INT};
	s->gap[2] = (struct ww_value){.u = s->gap_is_begin, .len = 64, .kind = WW_V_UINT};
	s->event_pos = 0;
	s->gap_due = s->gap_is_begin = false;
}

/* The packet at hand is read to its end: what was lost after it? */
static bool tail_gap(struct ctf_stream *s)
{
	uint64_t lost = s->tail_lost;

	if (!s->pk || !lost)
		return false;
	s->tail_lost = 0;
	deliver_gap(s, s->pk->has_end ? to_ns(s, s->pk->end) : s->last_ts_ns, lost);
	return true;
}

static uint32_t class_of(const struct ctf_sclass *sc, uint64_t id)
{
	if (WW_LIKELY(id < sc->nby_id))
		return sc->by_id[id];
	const uint64_t *p = ww_u64map_find(&sc->c->by_id, id);
	return p ? sc->class_base + (uint32_t)*p : WW_NONE;
}

static bool header_lttng(struct ctf_stream *s, uint64_t *ret_id)
{
	struct ctf_cursor *c = &s->c;
	const uint64_t pos = (c->pos + 7) & ~(uint64_t)7;
	struct ctf_head h;

	if (pos > c->end || !ctf_header_lttng(c->base + pos / 8, c->end - pos, s->sc->fast == 2, s->clock, &h))
		return false;
	*ret_id = h.id;
	s->clock = h.clock;
	c->pos = pos + h.bits;
	return true;
}

static int header(struct ctf_stream *s, uint64_t *ret_id)
{
	struct ctf_cursor *c = &s->c;

	if (s->sc->fast) {
		if (!header_lttng(s, ret_id))
			return ctf_decode_fail(c, WW_ETRUNC, "an event's header goes past the end of its packet");
		return 0;
	}
	*ret_id = 0;
	if (!s->sc->header)
		return 0;
	c->role_seen = 0;
	if (ctf_plan_run(s->sc->header, c))
		return c->rc;
	if (c->role_seen & 1u << CTF_R_EVENT_ID)
		*ret_id = c->role[CTF_R_EVENT_ID];
	if (c->role_seen & 1u << CTF_R_CLOCK)
		s->clock = ctf_clock_next(s->clock, c->role[CTF_R_CLOCK], c->role_size[CTF_R_CLOCK]);
	return 0;
}

/* Damage inside a packet: the rest of it cannot be found. A packet that the file's end cut is already
 * in the list. */
static void packet_damaged(struct ctf_stream *s)
{
	const struct ctf_packet *pk = s->pk;

	if (!pk->cut || s->c.rc != -WW_ETRUNC)
		ctf_damage_add(s->r, -s->c.rc, pk->file, pk->off + s->event_pos / 8, pk->cpu, "%s", s->c.why);
	ctf_stream_skip_packet(s);
}

void ctf_stream_skip_packet(struct ctf_stream *s)
{
	s->c.pos = s->c.end;
	s->c.rc = 0;
	s->gap_due = true;
}

int ctf_stream_advance(struct ctf_stream *s)
{
	uint64_t id = 0;

	for (;;) {
		if (WW_UNLIKELY(!s->pk || s->c.pos >= s->c.end)) {
			s->gap_due |= s->cut; /* also when the cut is between two events */
			s->cut = false;
			if (tail_gap(s))
				return 0;
			if (!load_packet(s)) {
				s->cls = WW_NONE;
				if (s->gap_due && s->pk)
					deliver_gap(s, s->pk->has_end ? to_ns(s, s->pk->end) : s->last_ts_ns, 0);
				return 0;
			}
			if (s->gap_due) {
				deliver_gap(s, packet_begin_ns(s), 0);
				return 0;
			}
			continue;
		}
		s->event_pos = s->c.pos;
		if (WW_UNLIKELY(header(s, &id))) {
			packet_damaged(s);
			continue;
		}
		if (WW_UNLIKELY(s->clock - s->earliest > s->span)) {
			(void)ctf_decode_fail(&s->c, WW_ECORRUPT, "an event whose time stamp is far outside its packet's time");
			packet_damaged(s);
			continue;
		}
		s->cls = class_of(s->sc, id);
		if (WW_UNLIKELY(s->cls == WW_NONE)) {
			(void)ctf_decode_fail(&s->c, WW_ECORRUPT, "an event of a class that the metadata does not know");
			packet_damaged(s);
			continue;
		}
		s->body_pos = s->c.pos;
		s->ts_ns = to_ns(s, s->clock);
		return 0;
	}
}

static void class_compile(struct ctf_class *k)
{
	const struct ctf_type *types[] = {k->sc->c->event_context, k->ev->context, k->ev->payload};
	static const bool in_context[] = {true, true, false};
	struct ctf_place place = k->sc->after_header;

	k->plan = ctf_plan_new(types, in_context, 3, k->wants, k->nwants, false, &place);
	k->steps = ctf_plan_steps(k->plan);
	k->bits = k->steps ? k->steps->bits : 0;
	k->need_bits = k->steps ? k->steps->need_bits : UINT64_MAX;
	k->plain = k->steps && k->steps->plain;
}

void ctf_stream_rewind(struct ctf_stream *s)
{
	s->next = 0;
	s->pk = NULL;
	s->c.pos = s->c.end = 0;
	s->clock = s->tail_lost = 0;
	s->ts_ns = s->last_ts_ns = 0;
	s->cls = WW_NONE;
	s->seen_event = s->gap_due = s->gap_is_begin = s->cut = false;
}

bool ctf_stream_decode(struct ctf_stream *s, struct ww_value *to)
{
	struct ctf_class *k = &s->r->classes.v[s->cls];

	if (WW_UNLIKELY(!k->plan))
		class_compile(k);
	if (WW_UNLIKELY(s->text.used_bytes))
		ww_arena_reset(&s->text);
	s->c.v = to;
	if (WW_UNLIKELY(ctf_plan_run(k->plan, &s->c))) {
		packet_damaged(s);
		return false;
	}
	if (WW_UNLIKELY(s->c.pos == s->event_pos)) {
		(void)ctf_decode_fail(&s->c, WW_ECORRUPT, "an event without a single bit");
		packet_damaged(s);
		return false;
	}
	s->seen_event = true;
	s->last_ts_ns = s->ts_ns;
	return true;
}
