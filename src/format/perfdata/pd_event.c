/* pd_event.c - the next event: a record's fields, or a gap.
 *
 * pd_queue.c has the records by time. Nearly all are samples of tracepoints of which integers at fixed places are
 * wanted: for these each value is one load and one store (fill_fixed).
 */
#include "format/perfdata/perfdata_private.h"

/* ---- values ---- */

static enum pd_load load_of_int(const struct ww_tep_field *f)
{
	switch (f->size) {
	case 1: return f->is_signed ? PD_LOAD_I8 : PD_LOAD_U8;
	case 2: return f->is_signed ? PD_LOAD_I16 : PD_LOAD_U16;
	case 4: return f->is_signed ? PD_LOAD_I32 : PD_LOAD_U32;
	default: return PD_LOAD_64;
	}
}

bool pd_step_fix(struct pd_step *st, uint32_t *ret_bytes)
{
	const struct ww_tep_field *f = &st->tep;
	const uint64_t end = (uint64_t)f->offset + f->size;

	st->load = PD_LOAD_NONE;
	st->value_kind = WW_V_NONE;
	if (st->kind == PD_STEP_NONE)
		return true;
	if (st->kind != PD_STEP_TEP || f->where != WW_TEP_FIXED || !f->size || end > UINT16_MAX)
		return false;
	if (f->kind == WW_TEP_INT) {
		st->load = load_of_int(f);
		st->value_kind = f->is_signed ? WW_V_INT : WW_V_UINT;
	} else if (f->kind == WW_TEP_CHARS) {
		st->load = PD_LOAD_STR;
		st->value_kind = WW_V_STR;
	} else if (f->kind == WW_TEP_ARRAY && f->elem_size == 8) { /* as ww_tep_get_wanted has it */
		st->load = PD_LOAD_BYTES;
		st->value_kind = WW_V_BYTES;
	} else {
		return false;
	}
	*ret_bytes = WW_MAX(*ret_bytes, (uint32_t)end);
	return true;
}

static inline void fill_fixed(const struct pd_class *c, const uint8_t *raw, struct ww_value *v)
{
	for (const struct pd_step *st = c->steps, *end = st + c->nsteps; st < end; st++, v++) {
		const uint8_t *p = raw + st->tep.offset;

		v->len = 0;
		v->kind = st->value_kind;
		switch ((enum pd_load)st->load) {
		case PD_LOAD_NONE: v->u = 0; break;
		case PD_LOAD_U8: v->u = *p; break;
		case PD_LOAD_I8: v->i = (int8_t)*p; break;
		case PD_LOAD_U16: v->u = pd_get_u16(p, false); break;
		case PD_LOAD_I16: v->i = (int16_t)pd_get_u16(p, false); break;
		case PD_LOAD_U32: v->u = pd_get_u32(p, false); break;
		case PD_LOAD_I32: v->i = (int32_t)pd_get_u32(p, false); break;
		case PD_LOAD_64: v->u = pd_get_u64(p, false); break;
		case PD_LOAD_STR:
			v->p = (const char *)p;
			v->len = (uint32_t)strnlen(v->p, st->tep.size);
			break;
		case PD_LOAD_BYTES:
			v->p = (const char *)p;
			v->len = st->tep.size;
			break;
		}
	}
}

static void fill_values(struct perfdata *t, const struct pd_class *c, const struct pd_attr *a,
			const uint8_t *rec, struct ww_value *v)
{
	struct pd_sample s;
	const uint8_t *raw = NULL;
	uint32_t raw_len = 0;

	if (c->rec) {
		if (!c->only_tep)
			pd_trailer_parse(t, a, rec, &s);
	} else if (c->only_tep && a->raw_first) {
		pd_sample_raw(t, a, rec, &raw, &raw_len);
		if (WW_LIKELY(c->fixed_bytes && raw_len >= c->fixed_bytes)) {
			fill_fixed(c, raw, v);
			return;
		}
	} else {
		pd_sample_parse(t, a, rec, &s);
		if (s.have & (1u << PD_S_RAW)) {
			raw = s.raw;
			raw_len = s.raw_len;
		}
	}
	for (const struct pd_step *st = c->steps, *end = st + c->nsteps; st < end; st++, v++) {
		if (WW_LIKELY(st->kind == PD_STEP_TEP && raw))
			ww_tep_get_wanted(&st->tep, raw, raw_len, t->swap, v);
		else if (st->kind == PD_STEP_SAMPLE)
			pd_sample_value(&s, st->index, v);
		else if (st->kind == PD_STEP_RECORD)
			pd_record_value(t, c->rec, a, rec, st->index, v);
		else
			*v = (struct ww_value){.kind = WW_V_NONE};
	}
}

/* ---- gaps ---- */

/* The time of the last event on the CPU, replaced by ts. */
static inline int64_t cpu_exchange(struct perfdata *t, int32_t cpu, int64_t ts_ns)
{
	int64_t begin = t->pub.stats.begin_ts_ns;

	if (cpu < 0)
		return begin;
	if (WW_UNLIKELY((size_t)cpu >= t->cpu_last.n)) {
		while (t->cpu_last.n <= (size_t)cpu)
			*ww_vec_push(&t->cpu_last) = PD_NO_TIME;
	}
	int64_t last = t->cpu_last.v[cpu];
	t->cpu_last.v[cpu] = ts_ns;
	return last == PD_NO_TIME ? begin : last;
}

static void set_gap(struct perfdata *t, struct ww_event *ret, uint64_t lost, int64_t begin_ts_ns)
{
	t->gap[0] = (struct ww_value){.u = lost, .kind = WW_V_UINT};
	t->gap[1] = (struct ww_value){.i = WW_MIN(begin_ts_ns, ret->ts_ns), .kind = WW_V_INT};
	ret->cls = WW_CLS_GAP;
	ret->nval = 2;
	ret->v = t->gap;
	t->pub.stats.lost_events += lost;
}

/* A LOST or LOST_SAMPLES record. Returns false when it tells nothing now. */
static bool gap_of_record(struct perfdata *t, const uint8_t *rec, const struct pd_attr *a,
			  int64_t last_on_cpu, bool has_time, struct ww_event *ret)
{
	uint32_t size = PD_SIZE(t, rec), body = size - WW_MIN(size, a->tr_bytes);

	if (PD_TYPE(t, rec) == PD_REC_LOST) {
		if (body < 24)
			return false;
		uint64_t lost = pd_u64(t, rec + 16);
		t->lost_by_ring += lost;
		set_gap(t, ret, lost, last_on_cpu);
		return true;
	}
	if (body < 16 || PD_MISC(t, rec) & PD_MISC_LOST_BPF)
		return false;
	uint64_t lost = pd_u64(t, rec + 8);
	if (!has_time) { /* perf's count of each event at the end: LOST records told most of it */
		t->lost_by_count += lost;
		return false;
	}
	set_gap(t, ret, lost, last_on_cpu);
	return true;
}

/* What is missing when all was read: what stood behind damage, for perf writes what the CPUs' rings hold in turn, so
 * that there were also events as old as the last ones; and what was lost after a ring's last record, of which only the
 * counters at the end know. Of each CPU it came after its last event; how many were lost is told last, of no CPU. */
static bool gap_at_end(struct perfdata *t, struct ww_event *ret)
{
	const uint64_t lost = t->lost_by_count - WW_MIN(t->lost_by_count, t->lost_by_ring);
	const uint32_t n = WW_MAX((uint32_t)t->cpu_last.n, WW_MIN(t->pub.info.ncpus, PD_MAX_CPUS));

	if (!lost && !t->rest_lost)
		return false;
	*ret = (struct ww_event){.ts_ns = t->pub.stats.end_ts_ns, .cpu = -1};
	t->pub.from = (struct ww_origin){.offset = t->data_end};
	while (t->end_told < n) {
		uint32_t cpu = t->end_told++;
		int64_t last = cpu < t->cpu_last.n ? t->cpu_last.v[cpu] : PD_NO_TIME;
		if (last == PD_NO_TIME)
			last = t->pub.stats.begin_ts_ns;
		if (last >= ret->ts_ns)
			continue;
		ret->cpu = (int32_t)cpu;
		set_gap(t, ret, 0, last);
		return true;
	}
	if (t->end_told > n || !lost)
		return false;
	t->end_told++;
	set_gap(t, ret, lost, ret->ts_ns);
	return true;
}

/* ---- events ---- */

/* A record without a stamp tells what was there before: it is stamped like the first record. */
static inline int64_t stamp(struct perfdata *t, const struct pd_entry *e)
{
	int64_t ts_ns = e->ts_ns;

	if (WW_UNLIKELY(ts_ns == PD_NO_TIME))
		ts_ns = t->last_ts_ns != PD_NO_TIME ? t->last_ts_ns : t->oldest_ts_ns != PD_NO_TIME ? t->oldest_ts_ns : 0;
	t->pub.stats.out_of_order += ts_ns < t->last_ts_ns;
	t->last_ts_ns = ts_ns;
	return ts_ns;
}

int pd_next(struct ww_trace *trace, struct ww_event *ret, struct ww_err *err)
{
	struct perfdata *t = (struct perfdata *)trace;
	const struct pd_entry *e;
	const bool swap = t->swap;

	for (;;) {
		int rc = pd_queue_next(t, &e, err);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return gap_at_end(t, ret);
		const uint8_t *rec = e->rec;
		const struct pd_attr *a = &t->attrs.v[e->attr];
		const uint32_t type = pd_get_u32(rec, swap);
		const bool sample = type == PD_REC_SAMPLE, has_time = e->ts_ns != PD_NO_TIME;
		uint32_t cpu = UINT32_MAX;

		if (WW_LIKELY(sample) && a->off_cpu)
			cpu = pd_get_u32(rec + a->off_cpu, swap);
		else if (!sample && a->tr_cpu)
			cpu = pd_get_u32(rec + pd_get_u16(rec + 6, swap) - a->tr_cpu, swap);
		ret->ts_ns = stamp(t, e);
		ret->cls = sample ? a->cls : t->cls_of_rec[type];
		ret->cpu = cpu < PD_MAX_CPUS ? (int32_t)cpu : -1;
		ret->nval = 0;
		ret->v = NULL;
		trace->from.offset = pd_entry_offset(t, e);
		trace->from.file = t->sources.v[e->source].file;
		trace->from.priv = e;
		int64_t last_on_cpu = cpu_exchange(t, has_time ? ret->cpu : -1, ret->ts_ns);
		if (WW_UNLIKELY(type == PD_REC_LOST || type == PD_REC_LOST_SAMPLES)) {
			if (!gap_of_record(t, rec, a, last_on_cpu, has_time, ret))
				continue;
			return 1;
		}
		const struct pd_class *c = &t->classes.v[ret->cls];
		t->pub.stats.events++;
		if (c->nsteps) {
			struct ww_value *v = trace->values_to ? trace->values_to : t->values;
			fill_values(t, c, a, rec, v);
			ret->nval = c->nsteps;
			ret->v = v;
		}
		return 1;
	}
}
