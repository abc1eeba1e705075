/* pd_fields.c - one record of perf.data -> its fields.
 *
 * A SAMPLE is laid out by its attribute's sample_type, one bit a part, in the order of
 * perf_output_sample() in kernel/events/core.c. The parts up to the period have fixed sizes, so their
 * offsets are computed once per attribute (pd_attr_layout); what follows is walked. Other records
 * have a fixed body, given in a table below, and with sample_id_all a trailer of up to six words.
 */
#include "format/perfdata/perfdata_private.h"

const char *const pd_sample_field_names[PD_S_N] = {
	[PD_S_IP] = "ip",
	[PD_S_PID] = "pid",
	[PD_S_TID] = "tid",
	[PD_S_ADDR] = "addr",
	[PD_S_ID] = "id",
	[PD_S_STREAM_ID] = "stream_id",
	[PD_S_PERIOD] = "period",
	[PD_S_CALLCHAIN] = "callchain",
	[PD_S_RAW] = "raw",
	[PD_S_WEIGHT] = "weight",
	[PD_S_DATA_SRC] = "data_src",
	[PD_S_TRANSACTION] = "transaction",
	[PD_S_PHYS_ADDR] = "phys_addr",
	[PD_S_CGROUP] = "cgroup",
	[PD_S_DATA_PAGE_SIZE] = "data_page_size",
	[PD_S_CODE_PAGE_SIZE] = "code_page_size",
};

/* ---- records that are not samples ---- */

enum { F_U16, F_U32, F_I32, F_U64, F_STR, F_MISC, F_BUILD_ID };
#define BUILD_ID_MAX 20

struct pd_record_field {
	const char *name;
	uint8_t kind;
	uint16_t off;    /* from the record's start; F_MISC: the bit mask */
	uint16_t unless; /* absent when this bit of misc is set */
};

#define PD_RECORD_FIELDS_MAX 12

struct pd_record_type {
	const char *name;
	uint8_t types[2]; /* PD_REC_* */
	struct pd_record_field fields[PD_RECORD_FIELDS_MAX];
};

static const struct pd_record_type record_types[] = {
	{"perf_mmap", {PD_REC_MMAP},
	 {{"pid", F_I32, 8}, {"tid", F_I32, 12}, {"addr", F_U64, 16}, {"len", F_U64, 24},
	  {"pgoff", F_U64, 32}, {"filename", F_STR, 40}}},
	{"perf_mmap2", {PD_REC_MMAP2},
	 {{"pid", F_I32, 8}, {"tid", F_I32, 12}, {"addr", F_U64, 16}, {"len", F_U64, 24},
	  {"pgoff", F_U64, 32}, {"maj", F_U32, 40, PD_MISC_MMAP_BUILD_ID},
	  {"min", F_U32, 44, PD_MISC_MMAP_BUILD_ID}, {"ino", F_U64, 48, PD_MISC_MMAP_BUILD_ID},
	  {"build_id", F_BUILD_ID, 40}, {"prot", F_U32, 64}, {"flags", F_U32, 68}, {"filename", F_STR, 72}}},
	{"perf_comm", {PD_REC_COMM},
	 {{"pid", F_I32, 8}, {"tid", F_I32, 12}, {"comm", F_STR, 16},
	  {"exec", F_MISC, PD_MISC_COMM_EXEC}}},
	{"perf_fork", {PD_REC_FORK},
	 {{"pid", F_I32, 8}, {"ppid", F_I32, 12}, {"tid", F_I32, 16}, {"ptid", F_I32, 20}, {"time", F_U64, 24}}},
	{"perf_exit", {PD_REC_EXIT},
	 {{"pid", F_I32, 8}, {"ppid", F_I32, 12}, {"tid", F_I32, 16}, {"ptid", F_I32, 20}, {"time", F_U64, 24}}},
	{"perf_throttle", {PD_REC_THROTTLE}, {{"id", F_U64, 16}, {"stream_id", F_U64, 24}}},
	{"perf_unthrottle", {PD_REC_UNTHROTTLE}, {{"id", F_U64, 16}, {"stream_id", F_U64, 24}}},
	{"perf_aux", {PD_REC_AUX},
	 {{"aux_offset", F_U64, 8}, {"aux_size", F_U64, 16}, {"flags", F_U64, 24}}},
	{"perf_itrace_start", {PD_REC_ITRACE_START}, {{"pid", F_I32, 8}, {"tid", F_I32, 12}}},
	/* out: pid and tid of the trailer leave the CPU (next_prev_* come), else they come */
	{"perf_switch", {PD_REC_SWITCH, PD_REC_SWITCH_CPU_WIDE},
	 {{"out", F_MISC, PD_MISC_SWITCH_OUT}, {"preempt", F_MISC, PD_MISC_SWITCH_PREEMPT},
	  {"next_prev_pid", F_I32, 8}, {"next_prev_tid", F_I32, 12}}},
	{"perf_namespaces", {PD_REC_NAMESPACES},
	 {{"pid", F_I32, 8}, {"tid", F_I32, 12}, {"nr_namespaces", F_U64, 16}}},
	{"perf_ksymbol", {PD_REC_KSYMBOL},
	 {{"addr", F_U64, 8}, {"len", F_U32, 16}, {"ksym_type", F_U16, 20}, {"flags", F_U16, 22},
	  {"name", F_STR, 24}}},
	{"perf_bpf_event", {PD_REC_BPF_EVENT},
	 {{"type", F_U16, 8}, {"flags", F_U16, 10}, {"id", F_U32, 12}}},
	{"perf_cgroup", {PD_REC_CGROUP}, {{"id", F_U64, 8}, {"path", F_STR, 16}}},
	{"perf_text_poke", {PD_REC_TEXT_POKE},
	 {{"addr", F_U64, 8}, {"old_len", F_U16, 16}, {"new_len", F_U16, 18}}},
};

const struct pd_record_type *pd_record_type_of(uint32_t type)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(record_types); i++)
		for (int k = 0; k < 2; k++)
			if (type && record_types[i].types[k] == type)
				return &record_types[i];
	return NULL;
}

const char *pd_record_class_name(const struct pd_record_type *r)
{
	return r->name;
}

uint32_t pd_record_field_names(const struct pd_record_type *r, struct ww_arena *mem,
			       const char *const **ret)
{
	const char **names = WW_ARENA_ARRAY(mem, const char *, PD_RECORD_FIELDS_MAX);
	uint32_t n = 0;

	while (n < PD_RECORD_FIELDS_MAX && r->fields[n].name) {
		names[n] = r->fields[n].name;
		n++;
	}
	*ret = names;
	return n;
}

void pd_record_value(const struct perfdata *t, const struct pd_record_type *r, const struct pd_attr *a,
		     const uint8_t *rec, uint32_t field, struct ww_value *ret)
{
	static const uint8_t sizes[] = {[F_U16] = 2, [F_U32] = 4, [F_I32] = 4, [F_U64] = 8};
	const struct pd_record_field *f = &r->fields[field];
	uint32_t size = PD_SIZE(t, rec), body = size - WW_MIN(size, a->tr_bytes);
	uint16_t misc = PD_MISC(t, rec);

	*ret = (struct ww_value){.kind = WW_V_NONE};
	if (misc & f->unless)
		return;
	if (f->kind == F_MISC) {
		ret->u = (misc & f->off) != 0;
		ret->kind = WW_V_UINT;
		return;
	}
	if (f->kind == F_STR) {
		if (f->off > body)
			return;
		ret->p = (const char *)rec + f->off;
		ret->len = (uint32_t)strnlen(ret->p, body - f->off);
		ret->kind = WW_V_STR;
		return;
	}
	if (f->kind == F_BUILD_ID) { /* in place of the inode: a byte that says how many, three of padding, they */
		if ((misc & PD_MISC_MMAP_BUILD_ID) && f->off + 4u + BUILD_ID_MAX <= body && rec[f->off] <= BUILD_ID_MAX)
			*ret = (struct ww_value){.p = (const char *)rec + f->off + 4, .len = rec[f->off], .kind = WW_V_BYTES};
		return;
	}
	if (f->off + sizes[f->kind] > body)
		return;
	ret->kind = f->kind == F_I32 ? WW_V_INT : WW_V_UINT;
	if (f->kind == F_U16)
		ret->u = pd_u16(t, rec + f->off);
	else if (f->kind == F_U64)
		ret->u = pd_u64(t, rec + f->off);
	else if (f->kind == F_U32)
		ret->u = pd_u32(t, rec + f->off);
	else
		ret->i = (int32_t)pd_u32(t, rec + f->off);
}

void pd_record_visit(const struct perfdata *t, const struct pd_record_type *r, const struct pd_attr *a,
		     const uint8_t *rec, const struct ww_visitor *v, void *ctx)
{
	struct ww_value val;

	for (uint32_t i = 0; i < PD_RECORD_FIELDS_MAX && r->fields[i].name; i++) {
		pd_record_value(t, r, a, rec, i, &val);
		if (val.kind != WW_V_NONE)
			v->value(ctx, r->fields[i].name, &val, NULL, 10);
	}
}

static void sample_set(struct pd_sample *s, uint32_t field, uint64_t v)
{
	s->val[field] = v;
	s->have |= 1u << field;
}

void pd_trailer_parse(const struct perfdata *t, const struct pd_attr *a, const uint8_t *rec,
		      struct pd_sample *ret)
{
	uint32_t size = PD_SIZE(t, rec);
	const uint8_t *end = rec + size;

	ret->have = 0;
	if (!a->tr_bytes || size < PD_REC_HEADER_BYTES + (uint32_t)a->tr_bytes)
		return;
	if (a->tr_tid) {
		sample_set(ret, PD_S_PID, (uint64_t)(int64_t)(int32_t)pd_u32(t, end - a->tr_tid));
		sample_set(ret, PD_S_TID, (uint64_t)(int64_t)(int32_t)pd_u32(t, end - a->tr_tid + 4));
	}
	if (a->tr_id)
		sample_set(ret, PD_S_ID, pd_u64(t, end - a->tr_id));
}

/* ---- samples ---- */

void pd_attr_layout(struct pd_attr *a)
{
	uint64_t s = a->sample_type;
	uint16_t off = PD_REC_HEADER_BYTES, tr = 0;
	const struct {
		uint32_t bit;
		uint16_t *field;
	} head[] = {
		{PD_SAMPLE_IDENTIFIER, &a->off_id}, {PD_SAMPLE_IP, &a->off_ip},
		{PD_SAMPLE_TID, &a->off_tid},       {PD_SAMPLE_TIME, &a->off_time},
		{PD_SAMPLE_ADDR, &a->off_addr},     {PD_SAMPLE_ID, &a->off_id},
		{PD_SAMPLE_STREAM_ID, &a->off_stream}, {PD_SAMPLE_CPU, &a->off_cpu},
		{PD_SAMPLE_PERIOD, &a->off_period},
	}, tail[] = { /* from the record's end backwards */
		{PD_SAMPLE_IDENTIFIER, &a->tr_id}, {PD_SAMPLE_CPU, &a->tr_cpu},
		{PD_SAMPLE_STREAM_ID, NULL},       {PD_SAMPLE_ID, &a->tr_id},
		{PD_SAMPLE_TIME, &a->tr_time},     {PD_SAMPLE_TID, &a->tr_tid},
	};
	for (size_t i = 0; i < WW_ARRAY_SIZE(head); i++) {
		if (!(s & head[i].bit))
			continue;
		if (*head[i].field == PD_ABSENT)
			*head[i].field = off;
		off += 8;
	}
	a->off_rest = off;
	a->raw_first = (s & PD_SAMPLE_RAW) && !(s & (PD_SAMPLE_READ | PD_SAMPLE_CALLCHAIN));
	for (size_t i = 0; a->sample_id_all && i < WW_ARRAY_SIZE(tail); i++) {
		if (!(s & tail[i].bit))
			continue;
		tr += 8;
		if (tail[i].field && *tail[i].field == 0)
			*tail[i].field = tr;
	}
	a->tr_bytes = tr;
}

bool pd_sample_raw(const struct perfdata *t, const struct pd_attr *a, const uint8_t *rec,
		   const uint8_t **ret, uint32_t *ret_len)
{
	uint32_t size = PD_SIZE(t, rec);

	if (WW_UNLIKELY(size < a->off_rest + 4u))
		return false;
	uint32_t n = pd_u32(t, rec + a->off_rest);
	if (WW_UNLIKELY(n > size - a->off_rest - 4))
		return false;
	*ret = rec + a->off_rest + 4;
	*ret_len = n;
	return true;
}

static void skip_counted(struct ww_span *s, uint64_t n, uint64_t each)
{
	if (n > ww_span_left(s) / each)
		s->bad = true;
	else
		ww_span_skip(s, n * each);
}

static void skip_read(struct ww_span *s, uint64_t fmt)
{
	unsigned times = !!(fmt & PD_READ_ENABLED) + !!(fmt & PD_READ_RUNNING);
	unsigned each = 1 + !!(fmt & PD_READ_ID) + !!(fmt & PD_READ_LOST);

	if (!(fmt & PD_READ_GROUP)) {
		ww_span_skip(s, 8 * (each + times));
		return;
	}
	uint64_t n = ww_span_u64(s);
	ww_span_skip(s, 8 * times);
	skip_counted(s, n, 8 * each);
}

static void skip_branches(struct ww_span *s, uint64_t branch_type)
{
	uint64_t n = ww_span_u64(s);

	if (branch_type & PD_BRANCH_HW_INDEX)
		ww_span_skip(s, 8);
	skip_counted(s, n, 24);
	if (branch_type & PD_BRANCH_COUNTERS)
		skip_counted(s, n, 8);
}

static void skip_regs(struct ww_span *s, uint32_t count)
{
	if (ww_span_u64(s)) /* the ABI; 0: no registers follow */
		ww_span_skip(s, 8 * (size_t)count);
}

/* The parts behind the raw data, in the kernel's order. */
static void parse_tail(const struct pd_attr *a, struct ww_span *s, struct pd_sample *ret)
{
	uint64_t st = a->sample_type;
	static const struct {
		uint32_t bit, field;
	} words[] = {
		{PD_SAMPLE_PHYS_ADDR, PD_S_PHYS_ADDR},
		{PD_SAMPLE_CGROUP, PD_S_CGROUP},
		{PD_SAMPLE_DATA_PAGE_SIZE, PD_S_DATA_PAGE_SIZE},
		{PD_SAMPLE_CODE_PAGE_SIZE, PD_S_CODE_PAGE_SIZE},
	};

	if (st & PD_SAMPLE_BRANCH_STACK)
		skip_branches(s, a->branch_type);
	if (st & PD_SAMPLE_REGS_USER)
		skip_regs(s, a->regs_user_count);
	if (st & PD_SAMPLE_STACK_USER) {
		uint64_t n = ww_span_u64(s);
		skip_counted(s, n, 1);
		if (n)
			ww_span_skip(s, 8);
	}
	if (st & (PD_SAMPLE_WEIGHT | PD_SAMPLE_WEIGHT_STRUCT))
		sample_set(ret, PD_S_WEIGHT, ww_span_u64(s));
	if (st & PD_SAMPLE_DATA_SRC)
		sample_set(ret, PD_S_DATA_SRC, ww_span_u64(s));
	if (st & PD_SAMPLE_TRANSACTION)
		sample_set(ret, PD_S_TRANSACTION, ww_span_u64(s));
	if (st & PD_SAMPLE_REGS_INTR)
		skip_regs(s, a->regs_intr_count);
	for (size_t i = 0; i < WW_ARRAY_SIZE(words); i++)
		if (st & words[i].bit)
			sample_set(ret, words[i].field, ww_span_u64(s));
}

void pd_sample_parse(const struct perfdata *t, const struct pd_attr *a, const uint8_t *rec,
		     struct pd_sample *ret)
{
	struct ww_span s = ww_span_of(rec, PD_SIZE(t, rec));
	const struct {
		uint16_t off;
		uint32_t field;
	} head[] = {
		{a->off_ip, PD_S_IP},         {a->off_addr, PD_S_ADDR},     {a->off_id, PD_S_ID},
		{a->off_stream, PD_S_STREAM_ID}, {a->off_period, PD_S_PERIOD},
	};

	ret->have = 0;
	ret->bad = s.len < a->off_rest;
	if (ret->bad)
		return;
	s.swap = t->swap;
	for (size_t i = 0; i < WW_ARRAY_SIZE(head); i++)
		if (head[i].off)
			sample_set(ret, head[i].field, pd_u64(t, rec + head[i].off));
	if (a->off_tid) {
		sample_set(ret, PD_S_PID, (uint64_t)(int64_t)(int32_t)pd_u32(t, rec + a->off_tid));
		sample_set(ret, PD_S_TID, (uint64_t)(int64_t)(int32_t)pd_u32(t, rec + a->off_tid + 4));
	}
	s.pos = a->off_rest;
	if (a->sample_type & PD_SAMPLE_READ)
		skip_read(&s, a->read_format);
	if (a->sample_type & PD_SAMPLE_CALLCHAIN) {
		uint64_t n = ww_span_u64(&s);
		ret->chain = s.p + s.pos;
		skip_counted(&s, n, 8);
		ret->chain_len = (uint32_t)n;
		if (!s.bad)
			ret->have |= 1u << PD_S_CALLCHAIN;
	}
	if (a->sample_type & PD_SAMPLE_RAW) {
		ret->raw_len = ww_span_u32(&s);
		ret->raw = ww_span_bytes(&s, ret->raw_len);
		if (ret->raw)
			ret->have |= 1u << PD_S_RAW;
	}
	uint32_t before = ret->have;
	parse_tail(a, &s, ret);
	ret->bad = s.bad;
	if (s.bad) /* zeros of a cursor past the end are not values */
		ret->have = before;
}

void pd_sample_value(const struct pd_sample *s, uint32_t field, struct ww_value *ret)
{
	*ret = (struct ww_value){.kind = WW_V_NONE};
	if (!(s->have & (1u << field)))
		return;
	switch (field) {
	case PD_S_CALLCHAIN:
		ret->p = (const char *)s->chain;
		ret->len = s->chain_len;
		ret->kind = WW_V_ARRAY;
		break;
	case PD_S_RAW:
		ret->p = (const char *)s->raw;
		ret->len = s->raw_len;
		ret->kind = WW_V_BYTES;
		break;
	case PD_S_PID:
	case PD_S_TID:
		ret->u = s->val[field];
		ret->kind = WW_V_INT;
		break;
	default:
		ret->u = s->val[field];
		ret->kind = WW_V_UINT;
	}
}

void pd_sample_visit(const struct perfdata *t, const struct pd_sample *s, uint32_t mask,
		     const struct ww_visitor *v, void *ctx)
{
	const uint32_t hex = 1u << PD_S_IP | 1u << PD_S_ADDR | 1u << PD_S_PHYS_ADDR;
	struct ww_value val;

	for (uint32_t i = 0; i < PD_S_N; i++) {
		if (!(mask & (1u << i)))
			continue;
		pd_sample_value(s, i, &val);
		if (val.kind == WW_V_NONE)
			continue;
		if (val.kind != WW_V_ARRAY) {
			v->value(ctx, pd_sample_field_names[i], &val, NULL, hex & (1u << i) ? 16 : 10);
			continue;
		}
		v->begin(ctx, pd_sample_field_names[i], true);
		for (uint32_t k = 0; k < s->chain_len; k++) {
			struct ww_value e = {.u = pd_u64(t, s->chain + 8 * (size_t)k), .kind = WW_V_UINT};
			v->value(ctx, NULL, &e, NULL, 16);
		}
		v->end(ctx);
	}
}
