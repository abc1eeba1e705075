/* writer.h - writes CTF 1.8 as LTTng's kernel tracer lays it out: the metadata, and packets of events
 * that user space makes itself (state dump, clocks).
 *
 * Order of calls:
 *   ww_ctf_meta_write once; then for each stream file that user space fills:
 *   ww_ctf_out_open -> { ww_ctf_rec_begin, ww_ctf_rec_*, ww_ctf_rec_end }* -> ww_ctf_out_flush -> _close.
 * The recorder's per-CPU streams are not written here: the kernel side fills their packets in place; the
 * packet layout below is what they share.
 *
 * source CTF 1.8.3 sections 5 (packets), 7.1 (metadata packets), C (TSDL); layout of the blocks: traces of
 *        LTTng 2.13.
 */
#ifndef WW_CTF_WRITER_H
#define WW_CTF_WRITER_H

#include "format/ctf/packet_file.h"

/* Bytes before the first event of a packet: magic, uuid, stream_id, stream_instance_id, then
 * timestamp_begin, timestamp_end, content_size, packet_size (bits), packet_seq_num, events_discarded,
 * cpu_id. Packed, little endian. */
struct ww_ctf_packet_header {
	uint32_t magic; /* WW_CTF_MAGIC */
	uint8_t uuid[16];
	uint32_t stream_id; /* 0: there is one stream class */
	uint64_t stream_instance_id;
	uint64_t begin_ts_ns, end_ts_ns;
	uint64_t content_bits, packet_bits;
	uint64_t seq;
	uint64_t discarded; /* events lost in this stream up to the end of this packet */
	uint32_t cpu;
} __attribute__((packed));
_Static_assert(sizeof(struct ww_ctf_packet_header) == 84, "on-disk layout");

#define WW_CTF_MAGIC 0xC1FC1FC1u
#define WW_CTF_META_MAGIC 0x75D11D57u

/* One event class. `fields` is TSDL: the members of the payload structure, each "TYPE _name;", separated
 * by newlines, no indentation; "" when it has none. */
struct ww_ctf_class {
	uint32_t id;
	const char *name;
	const char *fields;
};

struct ww_ctf_meta {
	uint8_t uuid[16];       /* of the trace */
	const char *clock_uuid; /* boot id, text */
	int64_t clock_offset_ns;
	const char *trace_name;
	const char *creation;   /* "20261129T145118+0000" */
	const struct ww_ctf_class *classes;
	uint32_t nclasses;
	/* Written after LTTng's environment: name = "value" pairs; ends with a NULL name; may be NULL */
	const struct ww_ctf_env { const char *name, *value; } *env;
};

/* ww_ctf_meta_write - creates `name` ("metadata") in dirfd and writes the packetised TSDL text.
 * error -WW_EIO ... with err->file = name. The host's name and kernel come from uname. The name appears when
 * all of it is written: no kill leaves half of the metadata. */
int ww_ctf_meta_write(int dirfd, const char *name, const struct ww_ctf_meta *m, struct ww_err *err);

/* A random (version 4) uuid for a trace. */
int ww_ctf_uuid_make(uint8_t uuid[16], struct ww_err *err);

/* One stream file. Not thread-safe: callers hold their own lock. */
struct ww_ctf_out {
	struct ww_packet_file file;
	uint32_t cpu;
	uint64_t instance;
	uint8_t uuid[16];
	uint64_t seq, last_ts_ns, begin_ts_ns;
	uint64_t bytes; /* written so far */
	uint8_t *buf;   /* one packet, aligned for direct writes */
	size_t len, cap, rec_at; /* rec_at: where the open record begins */
	bool rec_bad;            /* the open record outgrew a packet */
	uint64_t discarded;
};

/* Creates `name` in dirfd (it must not exist). */
int ww_ctf_out_open(struct ww_ctf_out *o, int dirfd, const char *name, const uint8_t uuid[16],
		    uint64_t instance, uint32_t cpu, struct ww_err *err);
/* Begins an event; a stamp older than the last one is raised to it, since a stream's stamps must not go
 * back. A full packet is written first. */
int ww_ctf_rec_begin(struct ww_ctf_out *o, uint32_t class_id, uint64_t ts_ns, struct ww_err *err);
void ww_ctf_rec_u8(struct ww_ctf_out *o, uint8_t v);
void ww_ctf_rec_u16(struct ww_ctf_out *o, uint16_t v);
void ww_ctf_rec_u32(struct ww_ctf_out *o, uint32_t v);
void ww_ctf_rec_i32(struct ww_ctf_out *o, int32_t v);
void ww_ctf_rec_u64(struct ww_ctf_out *o, uint64_t v);
void ww_ctf_rec_bytes(struct ww_ctf_out *o, const void *p, size_t n);
void ww_ctf_rec_str(struct ww_ctf_out *o, const char *s);            /* with its NUL */
void ww_ctf_rec_text(struct ww_ctf_out *o, const char *s, size_t n); /* an array of n, NUL-padded */
void ww_ctf_rec_end(struct ww_ctf_out *o); /* a record too large for a packet is counted as discarded */
/* Writes what is buffered as one packet, padded; nothing buffered: does nothing. See packet_file.h for a full
 * disk and for kills. */
int ww_ctf_out_flush(struct ww_ctf_out *o, struct ww_err *err);
int ww_ctf_out_close(struct ww_ctf_out *o, struct ww_err *err); /* flushes; frees; a zeroed one is fine */

#endif
