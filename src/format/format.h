/* format.h - one interface to every trace format: bytes -> events, in time order.
 *
 * Order of calls:
 *   ww_trace_open -> ww_trace_info / ww_trace_class -> ww_trace_want for the fields that are needed
 *   -> ww_trace_next until 0 -> ww_trace_stats -> ww_trace_close.
 * A trace is everything that one host recorded at one place: for CTF a directory tree may hold
 * several CTF traces (kernel, user space); their classes share one index space and their streams
 * are merged. This layer does not know what an event means; names are as the producer wrote them
 * (CTF: with the one leading underscore that TSDL escapes with removed, as babeltrace2 does).
 *
 * A new format is one folder, one struct ww_format, one row in formats.c.
 */
#ifndef WW_FORMAT_H
#define WW_FORMAT_H

#include "base/err.h"

enum ww_value_kind {
	WW_V_NONE,  /* the event has no such field (absent variant, short record) */
	WW_V_UINT,
	WW_V_INT,
	WW_V_FLOAT,
	WW_V_STR,   /* p, len: without the NUL; not trusted to be UTF-8 */
	WW_V_BYTES, /* p, len: array of 8-bit integers in place, or a blob; wanted of trace.dat and perf.data, an array
		     * of 64-bit integers in the host's order, too; of CTF, one of 16-bit big-endian integers (addresses) */
	WW_V_ARRAY, /* array of other elements: only the visitor can look inside; len = elements */
};

/* 16 bytes. Integers are already in host byte order, sign-extended for WW_V_INT. */
struct ww_value {
	union {
		uint64_t u;
		int64_t i;
		double f;
		const char *p;
	};
	uint32_t len;
	uint8_t kind; /* enum ww_value_kind */
};

/* Class index of a loss record: between the last event of the stream and ts_ns, `lost` events are
 * missing; v[0] = lost (UINT), v[1] = begin of the gap, ns (INT). It comes in time order.
 * See ww_gap_is_begin. */
#define WW_CLS_GAP (UINT32_MAX - 1)
#define WW_GAP_VALUES 3u

struct ww_event {
	int64_t ts_ns;   /* in the trace's clock (ww_clock), without its offset to the epoch */
	const struct ww_value *v; /* what ww_trace_want asked for, in that order; until next call */
	uint32_t cls;    /* index for ww_trace_class, or WW_CLS_GAP */
	int32_t cpu;     /* -1: the producer does not say */
	uint32_t nval;   /* number of wanted values */
	uint32_t bytes;  /* to the next one of a batch: ww_event_next */
};
_Static_assert(sizeof(struct ww_event) == 32, "each byte goes from one CPU to another (ahead.c)");

/* Where an event was read: for messages and --offsets. */
struct ww_origin {
	uint64_t offset; /* byte offset of the record in its file */
	uint32_t file;   /* index into ww_trace_stats.files */
	uint32_t stream; /* index of the stream it came from */
	const void *priv; /* the reader's, for ww_trace_visit */
};

/* The gap lies before the first event of its stream, whose ring was overwritten or whose earlier packets are in
 * another trace (v[2] = 1): what its CPU did till then is not known, but nothing is missing from the trace. */
static inline bool ww_gap_is_begin(const struct ww_event *ev)
{
	return ev->cls == WW_CLS_GAP && ev->nval > 2 && ev->v[2].u;
}

struct ww_clock {
	const char *name; /* "monotonic", "perf", "local", ... ; "" unknown */
	const char *uuid; /* text form; "" unknown. Equal uuids: the same clock */
	uint64_t freq_hz; /* 0: not known; if it has a name, its times count cycles, not ns */
	int64_t offset_ns; /* ts_ns + offset_ns = ns since the epoch, when epoch_known */
	bool epoch_known;
};

static inline bool ww_clock_counts_cycles(const struct ww_clock *c)
{
	return !c->freq_hz && *c->name;
}

struct ww_env {
	const char *name, *value; /* integers are printed as decimal */
};

/* A thread's name that the recording saved beside its events (trace.dat). */
struct ww_saved_comm {
	int32_t tid;
	const char *comm;
};

struct ww_trace_info {
	const char *path;
	const char *format;         /* "ctf 1.8", "trace.dat v7", "perf.data" */
	const char *hostname;       /* "" unknown; so for all strings */
	const char *tracer;         /* "lttng-modules 2.13.9", "whywait 0.1", "trace-cmd", "perf" */
	const char *kernel_release;
	const char *arch;           /* "x86_64", "aarch64"; "" unknown */
	struct ww_clock clock;
	const struct ww_env *env;
	uint32_t nenv, nclasses, nstreams, ncpus;
	const struct ww_saved_comm *comms;
	uint32_t ncomms;
};

struct ww_class {
	const char *name;
	uint64_t id;        /* the producer's id, for people */
	uint32_t nfields;   /* top-level payload fields */
	const char *const *field_names;
	bool no_context;    /* its events have no field "ctx.", for certain */
};

struct ww_trace_stats { /* grows while reading; complete after ww_trace_next returned 0 */
	uint64_t events, lost_events, bad_packets, out_of_order;
	uint64_t bytes; /* of all files */
	int64_t begin_ts_ns, end_ts_ns; /* of the events seen; 0, 0 when none */
	const char *const *files;
	uint32_t nfiles;
};

/* Damage that reading went past: where, what, how much was lost by it. */
struct ww_damage {
	struct ww_err err;
	int32_t cpu;
};

/* Receives the fields of one event in declaration order. name is NULL in array elements.
 * label: text of an enumeration value or NULL. base: 2, 8, 10, 16. */
struct ww_visitor {
	void (*begin)(void *ctx, const char *name, bool array); /* struct, variant choice or array */
	void (*end)(void *ctx);
	void (*value)(void *ctx, const char *name, const struct ww_value *v, const char *label, int base);
};

struct ww_trace;

struct ww_open_opts {
	bool strict; /* ww_trace_next stops at the first damage instead of reading on (check) */
};

/* Opens a directory or file; the format is found by content.
 * error -WW_ENOENT, -WW_EFORMAT (no format knows it; the hint says what to do), -WW_ECORRUPT ... */
int ww_trace_open(const char *path, const struct ww_open_opts *opts, struct ww_trace **ret,
		  struct ww_err *err);
void ww_trace_close(struct ww_trace *t);

const struct ww_trace_info *ww_trace_info(const struct ww_trace *t);
const struct ww_class *ww_trace_class(const struct ww_trace *t, uint32_t cls);
const struct ww_trace_stats *ww_trace_stats(const struct ww_trace *t);
uint32_t ww_trace_damage(const struct ww_trace *t, const struct ww_damage **ret);

/* Says which fields of a class are decoded into ww_event.v; call before the first ww_trace_next.
 * A class not wanted is delivered with nval = 0. `fields` are payload field names; a dotted path
 * descends into structures and selected variants ("network_header.ipv4.saddr", where the name of a
 * variant's chosen option is a path step); "ctx.NAME" is a stream- or event-context field,
 * "common_pid" and the like are trace.dat's and perf.data's common fields. A field that the class
 * does not have gives WW_V_NONE at every event. The strings must outlive the trace. */
int ww_trace_want(struct ww_trace *t, uint32_t cls, const char *const *fields, uint32_t n,
		  struct ww_err *err);
/* Not delivered at all by ww_trace_next (still counted in stats). */
void ww_trace_ignore(struct ww_trace *t, uint32_t cls);

/* 1 an event, 0 the end, negative error. Events come by time; of equal stamps the lower stream
 * index comes first, and within a stream the stream's own order is always kept. */
int ww_trace_next(struct ww_trace *t, struct ww_event *ret, struct ww_err *err);
/* The same for many at once: the number of events, 0 the end, negative error. *ret is the first of them, from which
 * ww_event_next leads to the others; they, and what they point to, are good until the next call. */
int ww_trace_batch(struct ww_trace *t, const struct ww_event **ret, struct ww_err *err);
/* Of all but the last one of a batch. */
static inline const struct ww_event *ww_event_next(const struct ww_event *ev)
{
	const char *next = (const char *)ev + ev->bytes;

	__builtin_prefetch(next + 2048); /* another CPU has written it */
	__builtin_prefetch(next + 2048 + 64);
	return (const struct ww_event *)next;
}
/* From now on a thread of its own reads ahead of ww_trace_batch, which alone is then called; nothing changes where
 * the process has one CPU. Call after ww_trace_want and ww_trace_ignore, before the first event. stats and damage
 * are good at the end only. */
void ww_trace_read_ahead(struct ww_trace *t);
/* stats.begin_ts_ns as it was at the first event, for who must know it before the end; INT64_MAX when
 * that was no event but a gap. */
int64_t ww_trace_begin(const struct ww_trace *t);
/* ww_trace_visit will be called for events of this class, or for those only of which a wanted value is an ARRAY:
 * needed before ww_trace_read_ahead, else it fails. */
void ww_trace_will_visit(struct ww_trace *t, uint32_t cls, bool arrays_only);
/* Of the event that ww_trace_next has just delivered. */
const struct ww_origin *ww_trace_origin(const struct ww_trace *t);
/* Counts the events of each class, to the end; instead of ww_trace_next.
 * in    per_class  info.nclasses counts, which are added to
 * error as ww_trace_next; what was counted up to there stands */
int ww_trace_count(struct ww_trace *t, uint64_t *per_class, struct ww_err *err);
/* All fields of the event just delivered; scope "payload" first, contexts under "ctx", "pkt". */
int ww_trace_visit(struct ww_trace *t, const struct ww_event *ev, const struct ww_visitor *v, void *ctx,
		   struct ww_err *err);

/* ---- for the readers below src/format ---- */

struct ww_format {
	const char *name;    /* "ctf" */
	const char *summary; /* for --help */
	bool stable; /* what values point to stays where it is until close */
	/* Does this path hold the format, by content? Cheap; never fails. */
	bool (*probe)(const char *path);
	int (*open)(const char *path, const struct ww_open_opts *opts, struct ww_trace **ret,
		    struct ww_err *err);
	void (*close)(struct ww_trace *t);
	const struct ww_class *(*get_class)(const struct ww_trace *t, uint32_t cls);
	uint32_t (*damage)(const struct ww_trace *t, const struct ww_damage **ret);
	int (*want)(struct ww_trace *t, uint32_t cls, const char *const *fields, uint32_t n,
		    struct ww_err *err);
	void (*ignore)(struct ww_trace *t, uint32_t cls);
	int (*next)(struct ww_trace *t, struct ww_event *ret, struct ww_err *err);
	int (*visit)(struct ww_trace *t, const struct ww_event *ev, const struct ww_visitor *v,
		     void *ctx, struct ww_err *err);
	/* Does what ww_trace_count says without merging; 1: it cannot here, nothing was read. May be NULL. */
	int (*count)(struct ww_trace *t, uint64_t *per_class, struct ww_err *err);
};

struct ww_ahead;

/* First member of every reader's own struct. */
struct ww_trace {
	const struct ww_format *fmt;
	struct ww_trace_info info;
	struct ww_trace_stats stats;
	struct ww_origin from;  /* of the event that the reader delivered last */
	struct ww_event one;    /* format.c's: what ww_trace_batch delivers without a thread */
	struct ww_ahead *ahead; /* ahead.c's */
	int64_t first_ts_ns;    /* stats.begin_ts_ns as the first event was read; ahead.c's */
	uint32_t max_want;      /* values of one event, at most */
	struct ww_value *values_to; /* room for max_want: where the reader may put the next event's values; NULL none */
	bool plain;             /* the reader's: no value of the event that it delivered last points anywhere */
	uint8_t *will_visit;    /* by class: 0 no, 1 each, 2 those with arrays; NULL none */
	bool converts; /* some values are made while reading: they do not stay, whatever fmt->stable says */
};

extern const struct ww_format ww_format_ctf, ww_format_tracedat, ww_format_perfdata;
/* NULL-terminated table (formats.c). */
extern const struct ww_format *const ww_formats[];

#endif
