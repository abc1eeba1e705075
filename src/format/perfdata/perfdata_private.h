/* perfdata_private.h - what the files of this folder share.
 *
 * perfdata.c   the ww_format functions: open, want, visit
 * pd_event.c   the next event, gaps too
 * pd_header.c  file header, attributes, feature sections, event formats, pipe-mode records
 * pd_walk.c    the data sections: finds records, decompresses, says what is complete
 * pd_queue.c   orders the records by time
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
#define PD_MAX_FILES 4096 /* of a directory */
#define PD_MAX_SEGS (1u << 20) /* over them records are delivered, complete or not */
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
	bool ignored; /* as its class */
	/* Byte offsets in a SAMPLE record, PD_ABSENT when it has none. */
	uint16_t off_id, off_ip, off_tid, off_time, off_addr, off_stream, off_cpu, off_period, off_rest;
	bool raw_first; /* the raw data stand at off_rest: nothing of variable size before them */
	/* The trailer of other records: bytes, and offsets back from the record's end. */
	uint16_t tr_bytes, tr_tid, tr_time, tr_id, tr_cpu;
};

struct pd_record_type; /* a kernel record that is not a sample (pd_fields.c) */

/* How a value at a fixed place of the raw data is read. */
enum pd_load {
	PD_LOAD_NONE, PD_LOAD_U8, PD_LOAD_I8, PD_LOAD_U16, PD_LOAD_I16, PD_LOAD_U32, PD_LOAD_I32, PD_LOAD_64, PD_LOAD_STR,
	PD_LOAD_BYTES,
};

struct pd_step { /* one wanted value */
	enum { PD_STEP_NONE, PD_STEP_TEP, PD_STEP_SAMPLE, PD_STEP_RECORD } kind;
	uint32_t index; /* enum pd_sample_field, or of the record type's field */
	uint8_t load, value_kind; /* enum pd_load, ww_value_kind; good where the class's fixed_bytes is not 0 */
	struct ww_tep_field tep;
};

struct pd_class {
	struct ww_class pub;
	const struct ww_tep_event *tep;
	const struct pd_record_type *rec; /* NULL: samples */
	struct pd_step *steps;
	uint32_t nsteps;
	bool ignored, only_tep; /* only_tep: the wanted values need nothing but the raw data */
	uint32_t fixed_bytes; /* of raw data that have all of them at fixed places, in the host's order; 0: they are not */
};

/* One of the kernel's records, that is or will be delivered. */
struct pd_entry {
	int64_t ts_ns; /* PD_NO_TIME: it has none */
	const uint8_t *rec;
	uint32_t attr;   /* index of the attribute that says how it is laid out */
	uint32_t block;  /* index in blocks, WW_NONE: in the file's mapping */
	uint32_t source; /* index in sources */
};

struct pd_block { /* one decompressed record's worth of records */
	uint8_t *data;
	size_t len;
	uint64_t file_offset; /* of the COMPRESSED record */
	uint32_t pending;     /* segments that point into it */
	bool walked;          /* it is what its source is at */
};

struct pd_source { /* a file's data section */
	const uint8_t *map; /* the whole file */
	size_t map_len;
	uint32_t file;     /* index in files */
	uint64_t pos, end; /* the walk's place in the mapping */
	uint64_t given;    /* up to here the pages were given back */
	int64_t max_ts_ns, flush_ts_ns; /* the latest stamp walked over; the same at the end of the last round */
	bool ended;
	void *zstd; /* ZSTD_DStream */
	bool zstd_broken;
	uint32_t block; /* the block that is being walked, WW_NONE: the file itself */
	size_t block_pos;
};

/* Records that ascend and stand one behind the other. */
struct pd_seg {
	const uint8_t *p, *end; /* of the first of a run: see there */
	uint64_t order; /* of all segments: by file, and as they stand in it */
	uint32_t block, source;
	uint32_t next; /* of the same run, WW_NONE: the last; of the free ones */
};

struct pd_run { /* segments that ascend */
	struct pd_entry first; /* the next to be delivered */
	const uint8_t *p, *end; /* of the first segment, what is still to be looked at */
	uint32_t head, tail;   /* segments; head links the free ones */
	int64_t tail_ts_ns;    /* the last record's */
};

struct pd_head { /* a run in the heap */
	int64_t ts_ns;
	uint64_t order;
	uint32_t run;
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
	const uint8_t *map; /* of the file with the header */
	size_t map_len;
	uint64_t data_pos, data_end;
	bool dir; /* of a directory: more data are in the files beside it */
	uint64_t feat_pos;
	uint8_t features[PD_FEAT_N / 8];

	WW_VEC(struct pd_attr) attrs;
	uint32_t *dense; /* id - dense_from -> attr index, PD_DENSE_IDS long */
	uint64_t dense_from;
	struct ww_u64map ids;
	uint32_t nids;
	unsigned long_size;
	WW_VEC(struct ww_tep_event *) teps;
	struct ww_u64map tep_of_id;
	WW_VEC(struct pd_class) classes;
	uint32_t cls_of_rec[PD_REC_KERNEL_N];
	WW_VEC(struct ww_env) env;
	WW_VEC(struct ww_damage) damage;
	WW_VEC(const char *) files;

	/* pd_queue.c */
	WW_VEC(struct pd_seg) segs;
	WW_VEC(struct pd_run) runs;
	WW_VEC(struct pd_head) heap;
	uint32_t free_seg, free_run, nsegs; /* nsegs: that are in use */
	uint64_t order;
	uint32_t open_seg, open_run; /* the segment that the walk adds to, WW_NONE none: its end and last stamp are here */
	const uint8_t *open_end;
	int64_t open_ts_ns;
	bool taken; /* the first of the heap was handed out */

	/* pd_walk.c */
	WW_VEC(struct pd_source) sources;
	WW_VEC(struct pd_block) blocks;
	uint64_t block_bytes; /* of all blocks */
	int64_t limit_ts_ns;  /* up to here all is complete */
	bool ended, pressed;
	uint32_t walked_file; /* index in files; where damage is */
	uint16_t id_off;      /* of the id in every sample; PD_ABSENT: all are of the first attribute */
	bool sampled;         /* a sample's stamp was seen */
	int64_t oldest_ts_ns; /* of all stamps, PD_NO_TIME before the first; the trace begins with the oldest sample */
	uint64_t lost_by_ring, lost_by_count; /* sums of LOST and of LOST_SAMPLES records */

	/* perfdata.c */
	int64_t last_ts_ns; /* of the last event delivered, PD_NO_TIME before the first */
	bool rest_lost; /* damage ended a file: what came behind it is not there */
	uint32_t end_told; /* gaps at the end that were delivered, or need not be */
	struct ww_value gap[2];
	WW_VEC(int64_t) cpu_last; /* ts + 1 of the last event on the CPU; 0 none */
	struct ww_value *values;
	uint32_t nvalues;
};

/* `swap` is t->swap; where it is known to be false once, the others are not asked. */
static inline uint16_t pd_get_u16(const uint8_t *p, bool swap)
{
	uint16_t v;
	memcpy(&v, p, 2);
	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t pd_get_u32(const uint8_t *p, bool swap)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t pd_get_u64(const uint8_t *p, bool swap)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return swap ? __builtin_bswap64(v) : v;
}

#define pd_u16(t, p) pd_get_u16((p), (t)->swap)
#define pd_u32(t, p) pd_get_u32((p), (t)->swap)
#define pd_u64(t, p) pd_get_u64((p), (t)->swap)
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

enum pd_look { PD_TAKE, PD_COUNT /* of an ignored class */, PD_SKIP, PD_BAD };

/* The attribute of a record's id; WW_NONE when it is not known. */
static inline uint32_t pd_attr_of_id(const struct perfdata *t, uint64_t id)
{
	if (WW_LIKELY(id - t->dense_from < PD_DENSE_IDS))
		return t->dense[id - t->dense_from];
	const uint64_t *v = ww_u64map_find(&t->ids, id);
	return v ? (uint32_t)*v : WW_NONE;
}

static inline uint32_t pd_sample_attr(const struct perfdata *t, const uint8_t *rec, uint32_t size, bool swap)
{
	if (t->id_off == PD_ABSENT)
		return t->attrs.n ? 0 : WW_NONE;
	if (WW_UNLIKELY(t->id_off + 8u > size))
		return WW_NONE;
	uint64_t id = pd_get_u64(rec + t->id_off, swap);
	uint32_t attr = pd_attr_of_id(t, id);
	return WW_UNLIKELY(attr == WW_NONE && !id) ? 0 : attr;
}

/* pd_walk.c: what to do with a record of the kernel of `size` bytes: sets time, place and attribute in *ret. */
enum pd_look pd_look_other(const struct perfdata *t, const uint8_t *rec, uint32_t size, struct pd_entry *ret);
static inline enum pd_look pd_look(const struct perfdata *t, const uint8_t *rec, uint32_t size, struct pd_entry *ret,
				   bool swap)
{
	if (WW_UNLIKELY(pd_get_u32(rec, swap) != PD_REC_SAMPLE))
		return pd_look_other(t, rec, size, ret);
	uint32_t attr = pd_sample_attr(t, rec, size, swap);
	if (WW_UNLIKELY(attr == WW_NONE))
		return PD_BAD;
	const struct pd_attr *a = &t->attrs.v[attr];
	if (WW_UNLIKELY(size < a->off_rest))
		return PD_BAD;
	uint64_t ts = a->off_time ? pd_get_u64(rec + a->off_time, swap) : UINT64_MAX;
	ret->ts_ns = ts > INT64_MAX ? PD_NO_TIME : (int64_t)ts;
	ret->rec = rec;
	ret->attr = attr;
	return a->ignored ? PD_COUNT : PD_TAKE;
}

/* pd_walk.c: goes on till more can be delivered, or to the end. */
int pd_walk(struct perfdata *t, struct ww_err *err);
/* So much waits that some has to be delivered, complete or not. */
bool pd_walk_pressed(struct perfdata *t);
void pd_block_unuse(struct perfdata *t, uint32_t block);
void pd_walk_release(struct perfdata *t);

/* pd_queue.c: 1 and the next entry by time, good until the next call; 0 the end, negative error. */
int pd_queue_next(struct perfdata *t, const struct pd_entry **ret, struct ww_err *err);
void pd_queue_release(struct perfdata *t);
/* A record that the last one's segment cannot take. */
void pd_queue_begin(struct perfdata *t, const struct pd_entry *e, uint32_t size);
/* The next record does not stand behind the last one. */
void pd_queue_cut(struct perfdata *t);
static inline void pd_queue_add(struct perfdata *t, const struct pd_entry *e, uint32_t size)
{
	if (WW_UNLIKELY(t->open_seg == WW_NONE || e->ts_ns < t->open_ts_ns)) {
		pd_queue_begin(t, e, size);
		return;
	}
	t->open_end = e->rec + size;
	t->open_ts_ns = e->ts_ns;
}

/* Where it is in its file; of a decompressed one, where its block is. */
static inline uint64_t pd_entry_offset(const struct perfdata *t, const struct pd_entry *e)
{
	if (WW_UNLIKELY(e->block != WW_NONE))
		return t->blocks.v[e->block].file_offset;
	return (uint64_t)(e->rec - t->sources.v[e->source].map);
}

/* pd_event.c */
int pd_next(struct ww_trace *trace, struct ww_event *ret, struct ww_err *err);
/* How the step's value is read where it stands at a fixed place of the raw data, and to where these have to reach. */
bool pd_step_fix(struct pd_step *st, uint32_t *ret_bytes);

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
