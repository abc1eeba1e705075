/* ctf.h - the CTF reader's own structures; only files in this folder include it.
 *
 *   discover.c  a path -> directories with a metadata file, their stream files
 *   packet.c    stream files -> packets (headers only), sorted into streams; damage
 *   stream.c    packets of one stream -> its next event, losses; event.h: the same for most of its events
 *   merge.c     the streams merged by time (loser tree), or counted one by one
 *   ctf.c       all of it behind struct ww_format
 */
#ifndef WW_CTF_H
#define WW_CTF_H

#include "format/ctf/decode.h"
#include "format/format.h"

#define CTF_MAX_FILES 65536u
#define CTF_MAX_DAMAGE 1000u /* reports kept; all are counted */

struct ctf_file {
	char *path;
	const uint8_t *map; /* NULL when empty */
	size_t size;
	struct ctf_sub *sub;
};

/* An event class, ready to decode. */
struct ctf_class {
	const struct ctf_event_class *ev;
	struct ctf_sclass *sc;
	struct ctf_plan *plan; /* contexts and payload; NULL until the first event */
	const struct ctf_steps *steps; /* ctf_plan_steps */
	uint64_t bits, need_bits; /* of the steps: where the next event is waits for them; UINT64_MAX: there are none */
	struct ctf_want *wants;
	uint32_t nwants;
	bool ignored, plain; /* plain: no value points anywhere */
};

/* A stream class, ready to decode. */
struct ctf_sclass {
	const struct ctf_stream_class *c;
	struct ctf_plan *context, *header;
	struct ctf_place after_header;
	uint32_t *by_id;    /* WW_NONE: no such id */
	uint32_t nby_id;
	uint32_t class_base;
	/* The two headers that LTTng writes, read without a plan: 5 + 27 bits, 16 + 32 bits. */
	uint8_t fast; /* 0 none, 1 compact, 2 large */
	bool ns;      /* a cycle is a nanosecond */
	const struct ctf_clock *clock;
	int64_t shift_ns; /* to the first trace's clock */
};

/* One CTF trace: a directory. */
struct ctf_sub {
	char *dir;
	struct ctf_meta *m;
	bool owns_meta;
	struct ctf_plan *header; /* NULL: packets have none */
	struct ctf_place after_header;
	struct ctf_sclass *sclasses; /* as m->streams */
	uint32_t class_base;
};

struct ctf_packet {
	uint64_t off;          /* bytes in the file */
	uint64_t content_bits; /* from its begin, of what is there */
	uint64_t body_bits;    /* where the first event's header is */
	uint64_t begin, end;   /* cycles */
	uint64_t seq, discarded;
	uint32_t file;
	int32_t cpu;
	uint16_t sclass;
	uint8_t discarded_bits; /* width of the counter; 0: none */
	bool has_begin, has_end, has_seq, cut;
};

struct ctf_stream {
	struct ctf_reader *r;
	uint32_t index;
	uint64_t sclass_id, instance;
	bool has_instance;
	WW_VEC(struct ctf_packet) packets;
	size_t next;           /* packet to be loaded */
	const struct ctf_packet *pk; /* loaded; NULL before the first */
	uint64_t behind;       /* bytes of its file from which on it still needs the mapping's pages */
	struct ctf_sclass *sc;
	struct ctf_sub *sub;
	struct ctf_cursor c;
	uint64_t clock;        /* cycles, full width */
	uint64_t earliest, span; /* cycles: a stamp of the packet's that is not in [earliest, earliest + span] is damaged */
	uint64_t event_pos;    /* bits: begin of the event at hand */
	uint64_t body_pos;     /* bits: after its header */
	int64_t ts_ns, last_ts_ns;
	struct ww_arena text;  /* of the event at hand: strings converted to UTF-8 */
	uint32_t cls;          /* of the event at hand, WW_CLS_GAP, or WW_NONE: the end */
	struct ww_value gap[WW_GAP_VALUES];
	uint64_t tail_lost;    /* to be told after the packet's last event */
	bool seen_event, gap_due, gap_is_begin;
	bool cut;              /* the packet's rest is not in the file, which is to be told when what is there is read */
};

struct ctf_reader {
	struct ww_trace t; /* first */
	struct ww_arena mem;
	struct ww_open_opts opts;
	WW_VEC(struct ctf_sub *) subs;
	WW_VEC(struct ctf_file) files;
	WW_VEC(const char *) file_names;
	WW_VEC(struct ctf_stream *) streams;
	WW_VEC(struct ctf_class) classes;
	WW_VEC(struct ww_damage) damage;
	struct ww_value *values;
	uint32_t nvalues;
	int64_t *keys;    /* of the stream's event at hand; INT64_MAX at its end */
	uint32_t *tree;   /* losers; tree[0] is the winner */
	uint32_t nleaves; /* a power of two */
	struct ctf_stream *first; /* the winner */
	int64_t second_ts_ns; /* the key of who comes after the winner; before it, the winner goes on alone */
	bool started;
	bool advance;     /* the winner's event was delivered */
	int64_t last_ts_ns; /* of the last event counted */
};

/* ---- discover.c ---- */
int ctf_discover(struct ctf_reader *r, const char *path, struct ww_err *err);
bool ctf_probe(const char *path);

/* ---- packet.c ---- */
int ctf_packets_index(struct ctf_reader *r, struct ww_err *err);
void ctf_damage_add(struct ctf_reader *r, int code, uint32_t file, uint64_t off, int32_t cpu, const char *fmt, ...)
	WW_PRINTF(6, 7);
int64_t ctf_cycles_to_ns(const struct ctf_clock *c, uint64_t cycles);

/* ---- stream.c ---- */
/* Puts the stream on its next event, gap or the end. 0, or negative when strict and damaged. */
int ctf_stream_advance(struct ctf_stream *s);
/* To before its first packet. */
void ctf_stream_rewind(struct ctf_stream *s);
/* Decodes the event at hand, its values to `to`; false: it is damaged (reported), the stream went on. */
bool ctf_stream_decode(struct ctf_stream *s, struct ww_value *to);
/* What stands between the last event and the next is lost: on to the next packet. */
void ctf_stream_skip_packet(struct ctf_stream *s);

/* ---- merge.c: of struct ww_format ---- */
int ctf_next(struct ww_trace *t, struct ww_event *ret, struct ww_err *err);
int ctf_count(struct ww_trace *t, uint64_t *per_class, struct ww_err *err);

#endif
