/* clock.c - raw ring-buffer stamps -> ns, in the order in which trace-cmd applies its options:
 * the guest's shift to the host's clock (TIME_SHIFT), cycles to ns (TSC2NSEC), a fixed OFFSET.
 * DATE is the clock's offset to the epoch and not part of ts_ns. */
#include "format/tracedat/private.h"

#define SHIFT_INTERPOLATE 1

static uint64_t mul_shift(uint64_t a, uint64_t b, unsigned shift)
{
	return shift < 128 ? (uint64_t)(((unsigned __int128)a * b) >> shift) : 0;
}

/* Between two samples the offset is a line (or, by the flag, the earlier one's). */
static uint64_t shift_between(uint64_t ts, uint32_t flags, const struct td_shift_sample *a,
			      const struct td_shift_sample *b)
{
	__int128 cor = a->offset;

	if ((flags & SHIFT_INTERPOLATE) && b->time != a->time) {
		__int128 dt = (__int128)b->time - a->time;
		__int128 n = ((__int128)(int64_t)ts - a->time) * ((__int128)b->offset - a->offset);
		cor += (n + dt / 2) / dt;
	}
	return mul_shift(ts, a->scaling, (unsigned)WW_MIN(a->fraction, 127)) + (uint64_t)cor;
}

static uint64_t shift_to_host(const struct td_file *f, uint64_t ts, int32_t cpu)
{
	if (cpu < 0 || (uint32_t)cpu >= f->shift_ncpus || !f->shift[cpu].n)
		return ts;
	const struct td_shift_cpu *c = &f->shift[cpu];
	if (c->n == 1)
		return ts + (uint64_t)c->v[0].offset;
	uint32_t lo = 0, hi = c->n - 1; /* v[lo].time <= ts < v[hi].time, or an end */
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		if ((int64_t)ts < c->v[mid].time)
			hi = mid;
		else
			lo = mid;
	}
	return shift_between(ts, f->shift_flags, &c->v[lo], &c->v[lo + 1]);
}

int64_t td_clock_slow(const struct td_trace *t, uint64_t raw, int32_t cpu)
{
	const struct td_file *f = &t->file;

	if (f->shift_ncpus)
		raw = shift_to_host(f, raw, cpu);
	if (f->tsc)
		raw = mul_shift(raw, f->tsc_mult, f->tsc_shift);
	return (int64_t)(raw + (uint64_t)f->offset_ns);
}

static const char *clock_name(const char *s)
{
	static const char *const map[][2] = {
		{"mono", "monotonic"}, {"mono_raw", "monotonic_raw"}, {"boot", "boottime"}, {"x86-tsc", "tsc"},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(map); i++)
		if (!strcmp(s, map[i][0]))
			return map[i][1];
	return s;
}

void td_clock_init(struct td_trace *t)
{
	struct td_file *f = &t->file;
	struct ww_clock *c = &t->pub.info.clock;
	const char *name = f->trace_clock;

	if (!name && f->buffers.n)
		name = f->buffers.v[0].clock;
	if (!name)
		name = "";
	c->name = clock_name(name);
	bool cycles = !strcmp(name, "x86-tsc") || !strcmp(name, "counter") || !strcmp(name, "uptime");
	c->freq_hz = cycles && !f->tsc ? 0 : 1000000000;
	c->epoch_known = f->have_date;
	c->offset_ns = f->date_ns;
	c->uuid = "";
	/* A guest's shifted stamps are its host's clock; both files carry the host's id. */
	if (f->shift_ncpus)
		c->uuid = ww_arena_printf(&t->mem, "%016" PRIx64, f->peer_id);
	else if (f->have_trace_id)
		c->uuid = ww_arena_printf(&t->mem, "%016" PRIx64, f->trace_id);
	t->plain_clock = !f->tsc && !f->shift_ncpus;
	t->add_ns = f->offset_ns;
}
