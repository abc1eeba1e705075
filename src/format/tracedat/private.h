/* private.h - what the files of the trace.dat reader share.
 *
 * file.c      bytes of the file header, sections and options -> struct td_file
 * zip.c       compressed sections and chunks -> bytes
 * classes.c   event format texts -> classes, decode plans
 * stream.c    ring-buffer pages of one CPU -> records in the stream's own order
 * clock.c     raw time stamps -> ns
 * symbols.c   kallsyms -> names of addresses
 * tracedat.c  struct ww_format: opens, merges the streams by time
 *
 * source trace-cmd.dat.v6(5), trace-cmd.dat.v7(5); Linux kernel/trace/ring_buffer.c,
 *        include/linux/ring_buffer.h (enum ring_buffer_type)
 */
#ifndef WW_TRACEDAT_PRIVATE_H
#define WW_TRACEDAT_PRIVATE_H

#include "base/arena.h"
#include "base/span.h"
#include "base/vec.h"
#include "format/format.h"
#include "format/tepfmt/tepfmt.h"

#define TD_MAX_SECTION_BYTES (96u << 20) /* of metadata, uncompressed */
#define TD_MAX_CHUNK_BYTES   (16u << 20)
#define TD_MAX_CHUNKS_BYTES  (128u << 20) /* one chunk of every CPU is in memory */
#define TD_MAX_PAGE_BYTES    (1u << 20)
#define TD_MAX_FORMAT_BYTES  (1u << 20) /* one event's format text */
#define TD_MAX_EVENTS        65536
#define TD_MAX_CPUS          65536
#define TD_MAX_DAMAGE        1000 /* kept; more are only counted */
#define TD_UNKNOWN_ID        UINT64_MAX

enum td_compression { TD_PLAIN, TD_ZSTD, TD_ZLIB };

/* Option and section ids of version 7; version 6 uses the ones below 16. */
enum td_option {
	TD_OPT_DONE, TD_OPT_DATE, TD_OPT_CPUSTAT, TD_OPT_BUFFER, TD_OPT_TRACECLOCK, TD_OPT_UNAME,
	TD_OPT_HOOK, TD_OPT_OFFSET, TD_OPT_CPUCOUNT, TD_OPT_VERSION, TD_OPT_PROCMAPS, TD_OPT_TRACEID,
	TD_OPT_TIME_SHIFT, TD_OPT_GUEST, TD_OPT_TSC2NSEC, TD_OPT_STRINGS, TD_OPT_HEADER_INFO,
	TD_OPT_FTRACE_EVENTS, TD_OPT_EVENT_FORMATS, TD_OPT_KALLSYMS, TD_OPT_PRINTK, TD_OPT_CMDLINES,
	TD_OPT_BUFFER_TEXT,
};

/* One CPU's data of one buffer: a byte range of the file. */
struct td_cpu_data {
	uint32_t buffer; /* index into td_file.buffers */
	int32_t cpu;
	uint64_t offset, size; /* size as the file says; may exceed the file */
};

/* The top buffer (name "") or an instance. */
struct td_buffer {
	const char *name, *clock;
	uint32_t page_bytes;
	bool compressed;
};

/* TIME_SHIFT: what to add to a guest's stamps to get the host's, sampled while recording. */
struct td_shift_sample {
	int64_t time, offset;
	uint64_t scaling, fraction;
};
struct td_shift_cpu {
	struct td_shift_sample *v;
	uint32_t n;
};

struct td_file {
	const char *path;
	const uint8_t *map;
	size_t bytes;
	int version;
	bool swap, big; /* byte order differs from the host's; file is big endian */
	uint32_t page_bytes;
	enum td_compression compression;
	struct ZSTD_DCtx_s *dctx;

	/* header_page */
	uint32_t ts_off, commit_off, commit_size, data_off, sub_buffer_bytes;
	uint8_t long_size;

	WW_VEC(struct td_buffer) buffers;
	WW_VEC(struct td_cpu_data) cpus;
	WW_VEC(struct ww_env) env;
	WW_VEC(struct ww_saved_comm) comms;
	uint32_t cpu_count;
	const char *trace_clock, *uname, *tracer;
	uint64_t trace_id, peer_id;
	bool have_trace_id, have_date;
	int64_t date_ns, offset_ns;
	uint64_t stat_lost; /* overrun + dropped events, by the CPUSTAT options */

	bool tsc;
	uint32_t tsc_mult, tsc_shift;
	uint32_t shift_flags, shift_ncpus;
	struct td_shift_cpu *shift;

	struct ww_span kallsyms; /* v6: in place; v7: from kallsyms_at */
	uint64_t kallsyms_at;    /* offset of the section, 0: none */
};

struct td_class {
	struct ww_class pub;
	const struct ww_tep_event *tep; /* NULL: the class of events without a format */
	const struct ww_tep_field **want;
	const uint16_t *elem; /* per wanted field: element of an array + 1, or 0 */
	uint32_t nwant;
	bool ignored;
};

struct td_symbols;

/* One CPU of one buffer. */
struct td_stream {
	uint32_t index;
	const struct td_cpu_data *where;
	const struct td_buffer *buffer;
	uint64_t pos, end; /* file: the next page or chunk; the end of the data */
	uint32_t chunks_left;
	uint8_t *chunk; /* one uncompressed chunk */
	size_t chunk_cap, chunk_len, chunk_pos;
	uint64_t chunk_off;

	const uint8_t *page, *p, *page_end; /* the data of the current page */
	uint64_t page_off;                  /* in the file; of the chunk when compressed */
	uint64_t ts, page_ts;               /* raw; that of the page's begin */

	/* the record that is ready */
	const uint8_t *rec;
	uint32_t rec_bytes, cls;
	int64_t ts_ns, key;
	bool gap;
	uint64_t gap_lost;
	int64_t gap_begin_ns, last_ns;
	bool any;  /* last_ns is set */
	bool tail; /* only a gap is left */
	bool cut;  /* the file ends before the data does */
};

struct td_trace {
	struct ww_trace pub;
	struct ww_arena mem;
	struct td_file file;
	bool strict;

	WW_VEC(struct td_class) classes;
	uint32_t *class_of; /* by common_type; 65536 entries, WW_NONE: none */
	uint32_t unknown_class, type_off;
	struct ww_value *values;
	uint32_t max_want;

	struct td_stream *streams;
	uint32_t nstreams;
	size_t chunks_bytes; /* allocated */
	struct td_stream **heap;
	uint32_t nheap;
	bool started;
	struct td_stream *cur; /* whose record was delivered last */
	int64_t first_ns;
	bool plain_clock;
	int64_t add_ns;
	struct ww_value gap_values[2];

	WW_VEC(struct ww_damage) damage;
	struct td_symbols *symbols;
	bool symbols_tried;
	const char *files[1];
};

/* file.c */
int td_file_open(struct td_trace *t, const char *path, struct ww_err *err);
void td_file_close(struct td_file *f);
bool td_file_probe(const char *path);
void td_env(struct td_trace *t, const char *name, const char *value);

/* options.c */
int td_options_v6(struct td_trace *t, struct ww_span *s, struct ww_err *err);
int td_options_v7(struct td_trace *t, uint64_t offset, struct ww_err *err);
int td_cpu_table_v6(struct td_trace *t, struct ww_span *s, uint32_t buffer, struct ww_err *err);

/* meta.c: the contents of the metadata sections. */
int td_meta_headers(struct td_trace *t, struct ww_span *s, struct ww_err *err);
int td_meta_ftrace(struct td_trace *t, struct ww_span *s, struct ww_err *err);
int td_meta_events(struct td_trace *t, struct ww_span *s, struct ww_err *err);
int td_meta_cmdlines(struct td_trace *t, struct ww_span *s, struct ww_err *err);

/* zip.c: n bytes become exactly `out` bytes; false when they do not. */
bool td_unzip(struct td_file *f, const void *in, size_t n, void *ret, size_t out);
/* The contents of a version 7 section, at `offset` its header. *ret_heap, when not NULL, is the
 * caller's to free and holds what *ret points to. */
int td_section(struct td_file *f, uint64_t offset, uint16_t want_id, struct ww_span *ret, void **ret_heap,
	       struct ww_err *err);

/* classes.c */
int td_class_add(struct td_trace *t, const char *system, const char *text, size_t len, struct ww_err *err);
void td_classes_finish(struct td_trace *t);
int td_class_want(struct td_trace *t, uint32_t cls, const char *const *fields, uint32_t n,
		  struct ww_err *err);

/* stream.c: 1 a record is ready, 0 the end, negative error (strict only). */
int td_stream_next(struct td_trace *t, struct td_stream *s, struct ww_err *err);
int td_damage(struct td_trace *t, int32_t cpu, uint64_t offset, int code, struct ww_err *err,
	      const char *fmt, ...) WW_PRINTF(6, 7);

/* clock.c */
int64_t td_clock_slow(const struct td_trace *t, uint64_t raw, int32_t cpu);
void td_clock_init(struct td_trace *t);

/* symbols.c: the name of an address that a field holds, or NULL: of an address anywhere in a function
 * for the fields that say where something was called, else of one that is a symbol's beginning. */
const char *td_symbol(struct td_trace *t, const struct ww_tep_field *f, const struct ww_value *v);
void td_symbols_free(struct td_symbols *s);

#endif
