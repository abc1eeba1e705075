/* set.c - hosts in one time: the reference's. */
#include "clock/set.h"

const char *ww_accuracy_name(enum ww_accuracy a)
{
	static const char *const names[] = {"reference", "shared", "accurate", "approximate", "fail", "none"};

	return (unsigned)a < WW_AC_N ? names[a] : "?";
}

int64_t ww_set_epoch_offset(const struct ww_facts *f)
{
	return f->host.epoch_known ? f->host.clock_offset_ns : 0;
}

/* Rounds half away from zero; b > 0. */
static int64_t div_round(__int128 a, __int128 b)
{
	return (int64_t)((a < 0 ? a - b / 2 : a + b / 2) / b);
}

int64_t ww_correction_apply(const struct ww_correction *c, int64_t t_ns)
{
	return t_ns + c->offset_ns + div_round((__int128)(t_ns - c->t0_ns) * c->drift_e15, WW_DRIFT_ONE);
}

/* The last t whose corrected time is not after ref_ns. */
int64_t ww_correction_invert(const struct ww_correction *c, int64_t ref_ns)
{
	int64_t d = ref_ns - c->offset_ns - c->t0_ns;
	int64_t t = c->t0_ns + div_round((__int128)d * WW_DRIFT_ONE, (__int128)WW_DRIFT_ONE + c->drift_e15);

	while (ww_correction_apply(c, t) > ref_ns)
		t--;
	while (ww_correction_apply(c, t + 1) <= ref_ns)
		t++;
	return t;
}

int64_t ww_set_time(const struct ww_set *s, uint32_t host, int64_t ts_ns)
{
	return ww_correction_apply(&s->corrections[host], ts_ns + ww_set_epoch_offset(s->hosts[host]));
}

int64_t ww_set_local(const struct ww_set *s, uint32_t host, int64_t set_ns)
{
	return ww_correction_invert(&s->corrections[host], set_ns) - ww_set_epoch_offset(s->hosts[host]);
}

static bool same_clock(const struct ww_facts *a, const struct ww_facts *b)
{
	return a->host.clock_uuid && *a->host.clock_uuid && b->host.clock_uuid &&
	       !strcmp(a->host.clock_uuid, b->host.clock_uuid);
}

int ww_set_make(struct ww_arena *mem, const struct ww_facts *const *facts, uint32_t n, const struct ww_set_opts *opts,
		struct ww_set *ret, struct ww_err *err)
{
	struct ww_set s = {.hosts = facts, .nhosts = n};

	s.corrections = WW_ARENA_ARRAY(mem, struct ww_correction, n);
	for (uint32_t h = 0; h < n; h++) {
		const int64_t off = ww_set_epoch_offset(facts[h]);
		s.corrections[h] = (struct ww_correction){
			.t0_ns = facts[h]->begin_ts_ns + off, .via = WW_NONE, .bound_ns = h ? -1 : 0,
			.accuracy = h ? WW_AC_NONE : WW_AC_REFERENCE};
		if (h && same_clock(facts[0], facts[h])) {
			s.corrections[h].accuracy = WW_AC_SHARED;
			s.corrections[h].offset_ns = ww_set_epoch_offset(facts[0]) - off;
			s.corrections[h].bound_ns = 0;
			s.corrections[h].via = 0;
		}
	}
	if (n > 1) {
		s.match = WW_ARENA_ARRAY(mem, struct ww_packet_ref *, n);
		for (uint32_t h = 0; h < n; h++) {
			s.match[h] = WW_ARENA_ARRAY(mem, struct ww_packet_ref, facts[h]->packet.n + 1);
			for (uint32_t p = 0; p < facts[h]->packet.n; p++)
				s.match[h][p] = (struct ww_packet_ref){facts[h]->packet.match[p] == WW_NONE ? WW_NONE : h,
								       facts[h]->packet.match[p]};
		}
	}
	*ret = s;
	return 0;
}
