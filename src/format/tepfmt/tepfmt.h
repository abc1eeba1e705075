/* tepfmt.h - the kernel's tracepoint format texts: bytes of a raw event -> named fields.
 *
 * tracefs' events/SYSTEM/NAME/format files travel inside trace.dat and perf.data; both readers
 * parse them here, once per class, and then extract fields without looking at text again.
 *
 *   struct ww_tep_event *e; ww_tep_parse(&mem, text, len, "sched", &opts, &e, err);
 *   const struct ww_tep_field *f = ww_tep_field_find(e, "prev_pid");
 *   ww_tep_get(f, raw, raw_len, swap, &value);
 *
 * source Documentation/trace/events.rst section 2.1; include/trace/stages (__data_loc, __rel_loc)
 */
#ifndef WW_TEPFMT_H
#define WW_TEPFMT_H

#include "base/arena.h"
#include "format/format.h"

enum ww_tep_kind {
	WW_TEP_INT,   /* integer, enum, bool or pointer of 1, 2, 4 or 8 bytes */
	WW_TEP_CHARS, /* char name[n]; n = 0: to the end of the record */
	WW_TEP_BYTES, /* array of 8-bit integers, or a structure by value */
	WW_TEP_ARRAY, /* array of wider integers */
};

enum ww_tep_where {
	WW_TEP_FIXED,    /* at offset */
	WW_TEP_DATA_LOC, /* at offset stands u32: length << 16 | offset from the record's start */
	WW_TEP_REL_LOC,  /* the same, offset from the end of the u32 */
};

struct ww_tep_field {
	const char *name;
	uint32_t offset, size; /* bytes in the record; size 0: to its end */
	uint8_t kind, where;   /* enum ww_tep_kind, enum ww_tep_where */
	uint8_t elem_size;     /* WW_TEP_ARRAY: 2, 4 or 8 */
	uint8_t base;          /* 16 for pointers, else 10: how people read it */
	bool is_signed;        /* of the integer or the elements */
	bool is_common;        /* common_type, common_pid ... */
};

struct ww_tep_event {
	const char *system, *name;
	const char *print_fmt; /* "" when there is none */
	uint32_t id;
	uint32_t nfields, ncommon; /* the first ncommon fields are the common ones */
	struct ww_tep_field *fields;
};

/* ww_tep_parse - reads one format text.
 *
 * in     text, len   need not end in NUL
 *        system      "sched"; copied
 *        long_size   bytes of `long` in the traced kernel, 4 or 8
 * owner  mem
 * error  -WW_ECORRUPT no name, no ID or a line that is no field; -WW_ELIMIT over 4096 fields. The
 *        offset in err is that within the text. */
int ww_tep_parse(struct ww_arena *mem, const char *text, size_t len, const char *system,
		 unsigned long_size, struct ww_tep_event **ret, struct ww_err *err);

/* NULL when there is none. */
const struct ww_tep_field *ww_tep_field_find(const struct ww_tep_event *e, const char *name);

/* Everything but plain integers; called by ww_tep_get. */
void ww_tep_get_slow(const struct ww_tep_field *f, const uint8_t *raw, size_t len, bool swap,
		     struct ww_value *ret);

/* ww_tep_get - one field of a raw record.
 *
 * in     raw, len  the record, from its common_type on
 *        swap      its byte order is not the host's
 * out    ret       UINT, INT, STR (without the NUL), BYTES, ARRAY (p = the elements as they stand, len
 *                  = their number); NONE when the record is too short. Points into raw */
static inline void ww_tep_get(const struct ww_tep_field *f, const uint8_t *raw, size_t len, bool swap,
			      struct ww_value *ret)
{
	if (WW_UNLIKELY(f->kind != WW_TEP_INT)) {
		ww_tep_get_slow(f, raw, len, swap, ret);
		return;
	}
	uint64_t u = 0;
	ret->len = 0;
	if (WW_UNLIKELY((uint64_t)f->offset + f->size > len)) {
		ret->u = 0;
		ret->kind = WW_V_NONE;
		return;
	}
	switch (f->size) {
	case 1:
		u = raw[f->offset];
		if (f->is_signed)
			u = (uint64_t)(int64_t)(int8_t)u;
		break;
	case 2: {
		uint16_t x;
		memcpy(&x, raw + f->offset, 2);
		x = swap ? __builtin_bswap16(x) : x;
		u = f->is_signed ? (uint64_t)(int64_t)(int16_t)x : x;
		break;
	}
	case 4: {
		uint32_t x;
		memcpy(&x, raw + f->offset, 4);
		x = swap ? __builtin_bswap32(x) : x;
		u = f->is_signed ? (uint64_t)(int64_t)(int32_t)x : x;
		break;
	}
	default:
		memcpy(&u, raw + f->offset, 8);
		u = swap ? __builtin_bswap64(u) : u;
		break;
	}
	ret->u = u;
	ret->kind = f->is_signed ? WW_V_INT : WW_V_UINT;
}

/* Element i of an ARRAY value that ww_tep_get returned. */
void ww_tep_elem(const struct ww_tep_field *f, const struct ww_value *array, uint32_t i, bool swap,
		 struct ww_value *ret);

/* As a wanted value, an array of 64-bit integers in the host's order is BYTES: it can be read where it stands. */
static inline void ww_tep_get_wanted(const struct ww_tep_field *f, const uint8_t *raw, size_t len, bool swap,
				     struct ww_value *ret)
{
	ww_tep_get(f, raw, len, swap, ret);
	if (WW_UNLIKELY(ret->kind == WW_V_ARRAY) && f->elem_size == 8 && !swap) {
		ret->kind = WW_V_BYTES;
		ret->len *= 8;
	}
}

/* Gives the visitor one field, arrays with their elements. */
void ww_tep_visit_field(const struct ww_tep_field *f, const uint8_t *raw, size_t len, bool swap,
			const struct ww_visitor *v, void *ctx);

/* Gives the visitor all fields: the payload, or (common = true) the common ones only. Fields that
 * the record is too short for are left out. */
void ww_tep_visit(const struct ww_tep_event *e, const uint8_t *raw, size_t len, bool swap, bool common,
		  const struct ww_visitor *v, void *ctx);

#endif
