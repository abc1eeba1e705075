/* perfdata_private.h - what the files of this folder share.
 *
 * perfdata.c   the ww_format functions: open, want, next, visit
 * pd_header.c  file header, attributes, feature sections, event formats, pipe-mode records
 * pd_queue.c   the data section: finds records, decompresses, orders them by time
 * pd_fields.c  one record -> its fields
 */
#ifndef WW_PERFDATA_PRIVATE_H
#define WW_PERFDATA_PRIVATE_H

#include "base/arena.h"
#include "base/span.h"
#include "base/u64map.h"
#include "base/vec.h"
#include "format/format.h"
#include "format/perfdata/perf_wire.h"
#include "format/tepfmt/tepfmt.h"

#define PD_MAX_ATTRS 65536
#define PD_MAX_CPUS 65536
#define PD_DENSE_IDS 65536
#define PD_NO_TIME INT64_MIN /* the record carries no stamp */
#define PD_ABSENT 0          /* offsets in a record: 0 is its header */

/* What a sample carries beside its tracepoint's fields. */
enum pd_sample_field {
	PD_S_IP, PD_S_PID, PD_S_TID, PD_S_ADDR, PD_S_ID, PD_S_STREAM_ID, PD_S_PERIOD, PD_S_CALLCHAIN,
	PD_S_RAW, PD_S_WEIGHT, PD_S_DATA_SRC, PD_S_TRANSACTION, PD_S_PHYS_ADDR, PD_S_CGROUP,
	PD_S_DATA_PAGE_SIZE, PD_S_CODE_PAGE_SIZE, PD_S_N
};

struct pd_attr { /* one event that was opened: perf's evsel */
	uint32_t type;
	uint64_t config, sample_type, read_format, branch_type;
	uint32_t regs_user_count, regs_intr_count;
	bool sample_id_all, use_clockid;
	int32_t clockid;
	const char *name; /* "sched:sched_switch", "cycles" */
	const struct ww_tep_event *tep;
	uint32_t cls;
	/* Byte offsets in a SAMPLE record, PD_ABSENT when it has none. */
	uint16_t off_id, off_ip, off_tid, off_time, off_addr, off_stream, off_cpu, off_period, off_rest;
	bool raw_first; /* the raw data stand at off_rest: nothing of variable size before them */
	/* The trailer of other records: bytes, and offsets back from the record's end. */
	uint16_t tr_bytes, tr_tid, tr_time, tr_id, tr_cpu;
};

struct pd_record_type; /* a kernel record that is not a sample (pd_fields.c) */

struct pd_step { /* one wanted value */
	enum { PD_STEP_NONE, PD_STEP_TEP, PD_STEP_SAMPLE, PD_STEP_RECORD } kind;
	uint32_t index; /* enum pd_sample_field, or of the record type's field */
	const struct ww_tep_field *tep;
};

struct pd_class {
	struct ww_class pub;
	const struct ww_tep_event *tep;
	const struct pd_record_type *rec; /* NULL: samples */
	struct pd_step *steps;
	uint32_t nsteps;
	bool ignored, only_tep; /* only_tep: the wanted values need nothing but the raw data */
};

/* Waiting to be delivered. */
struct pd_entry {
	int64_t ts_ns;
	const uint8_t *rec;
	uint32_t attr;  /* index of the attribute that says how it is laid out */
	uint32_t block; /* index in blocks, WW_NONE: in the file's mapping */
};

struct pd_block { /* one decompressed record's worth of records */
	uint8_t *data;
	size_t len;
	uint64_t file_offset; /* of the COMPRESSED record */
	uint32_t pending;     /* entries that point into it */
};

struct pd_sample {
	uint64_t val[PD_S_N];
	uint32_t have; /* bit per pd_sample_field */
	const uint8_t *raw, *chain;
	uint32_t raw_len, chain_len; /* bytes; elements */
	bool bad;
};

struct perfdata {
	struct ww_trace pub;
	struct ww_arena mem;
	bool strict, swap, big_endian, pipe;
	const uint8_t *map;
	size_t map_len;
	uint64_t data_pos, data_end; /* the walk's place in the mapping */
	uint64_t feat_pos;
	uint8_t features[PD_FEAT_N / 8];

	WW_VEC(struct pd_attr) attrs;
	uint32_t *dense; /* id -> attr index, PD_DENSE_IDS long */
	struct ww_u64map ids;
	uint32_t nids;
	unsigned long_size;
	WW_VEC(struct ww_tep_event *) teps;
	struct ww_u64map tep_of_id;
	WW_VEC(struct pd_class) classes;
	uint32_t cls_of_rec[PD_REC_KERNEL_N];
	WW_VEC(struct ww_env) env;
	WW_VEC(struct ww_damage) damage;
	const char *files[1];

	/* pd_queue.c */
	WW_VEC(struct pd_entry) queue; /* [head, ready) may be delivered, [ready, n) wait for a round */
	size_t head, ready;
	WW_VEC(struct pd_entry) scratch;
	WW_VEC(uint32_t) runs; /* where ascending runs of the queue begin */
	int64_t round_max_ts, flush_ts;
	bool ended;
	void *zstd; /* ZSTD_DStream */
	bool zstd_broken;
	WW_VEC(struct pd_block) blocks;
	uint32_t walk_block; /* the block that is being walked, WW_NONE: the file itself */
	size_t walk_pos;
	uint64_t block_bytes; /* of all blocks */
	uint32_t out_block; /* of the entry last handed out: it may be freed at the next call */
	uint64_t lost_by_ring, lost_by_count; /* sums of LOST and of LOST_SAMPLES records */

	/* perfdata.c */
	struct pd_entry cur;
	uint32_t cur_cls;
	int64_t last_ts_ns; /* of the last event delivered, PD_NO_TIME before the first */
	bool any; /* a stamp was seen */
	bool end_told; /* losses that no LOST record told were delivered */
	struct ww_value gap[2];
	WW_VEC(int64_t) cpu_last; /* ts + 1 of the last event on the CPU; 0 none */
	struct ww_value *values;
	uint32_t nvalues;
};

static inline uint16_t pd_u16(const struct perfdata *t, const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, 2);
	return t->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t pd_u32(const struct perfdata *t, const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return t->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t pd_u64(const struct perfdata *t, const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return t->swap ? __builtin_bswap64(v) : v;
}

#define PD_TYPE(t, rec) pd_u32((t), (rec))
#define PD_MISC(t, rec) pd_u16((t), (rec) + 4)
#define PD_SIZE(t, rec) pd_u16((t), (rec) + 6)

/* perfdata.c: remembers damage; returns the negative code when reading has to stop (strict). */
int pd_damage(struct perfdata *t, int code, uint64_t offset, struct ww_err *err, const char *fmt, ...)
	WW_PRINTF(5, 6);

/* pd_header.c: everything before the first event; fills info, attrs, teps, data_pos and data_end. */
int pd_header_read(struct perfdata *t, struct ww_err *err);
/* Reads one of perf's own records (type >= 64) in pipe mode; *ret_extra = bytes that follow it. */
int pd_header_record(struct perfdata *t, const uint8_t *rec, uint64_t offset, struct ww_err *err);
/* Bytes that follow a record of this type outside its size; 0 for most. */
uint64_t pd_record_extra(const struct perfdata *t, const uint8_t *rec, uint32_t size);

/* pd_queue.c: 1 and the next entry by time, 0 the end, negative error. */
int pd_queue_next(struct perfdata *t, struct pd_entry *ret, struct ww_err *err);
void pd_queue_release(struct perfdata *t);
uint64_t pd_entry_offset(const struct perfdata *t, const struct pd_entry *e);
/* The attribute of a record's id; WW_NONE when it is not known. */
uint32_t pd_attr_of_id(const struct perfdata *t, uint64_t id);

/* pd_fields.c */
extern const char *const pd_sample_field_names[PD_S_N];
const struct pd_record_type *pd_record_type_of(uint32_t type);
const char *pd_record_class_name(const struct pd_record_type *r);
uint32_t pd_record_field_names(const struct pd_record_type *r, struct ww_arena *mem,
			       const char *const **ret);
void pd_attr_layout(struct pd_attr *a);
void pd_sample_parse(const struct perfdata *t, const struct pd_attr *a, const uint8_t *rec,
		     struct pd_sample *ret);
/* The raw data only, where their place is fixed; false when the record is too short. */
bool pd_sample_raw(const struct perfdata *t, const struct pd_attr *a, const uint8_t *rec,
		   const uint8_t **ret, uint32_t *ret_len);
void pd_sample_value(const struct pd_sample *s, uint32_t field, struct ww_value *ret);
void pd_record_value(const struct perfdata *t, const struct pd_record_type *r, const struct pd_attr *a,
		     const uint8_t *rec, uint32_t field, struct ww_value *ret);
void pd_record_visit(const struct perfdata *t, const struct pd_record_type *r, const struct pd_attr *a,
		     const uint8_t *rec, const struct ww_visitor *v, void *ctx);
/* The sample_id trailer as a sample: pid, tid, id. */
void pd_trailer_parse(const struct perfdata *t, const struct pd_attr *a, const uint8_t *rec,
		      struct pd_sample *ret);
void pd_sample_visit(const struct perfdata *t, const struct pd_sample *s, uint32_t mask,
		     const struct ww_visitor *v, void *ctx);

#endif
