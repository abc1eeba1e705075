/* packet.c - finds the packets of every stream file and sorts them into streams.
 *
 * Only headers are read here. LTTng's index files are asked where a header is damaged, and believed when they
 * agree with every packet before it. Chunks and snapshots repeat or continue a stream of the same UUID and instance
 * id: their packets are put in order, and a packet that two snapshots both hold counts once.
 */
#include <stdarg.h>
#include <stdio.h>

#include "format/ctf/ctf.h"
#include "format/ctf/index.h"

#define CTF_MAGIC 0xC1FC1FC1u

int64_t ctf_cycles_to_ns(const struct ctf_clock *c, uint64_t cycles)
{
	if (!c || c->freq_hz == 1000000000u)
		return (int64_t)cycles;
	return (int64_t)((unsigned __int128)cycles * 1000000000u / c->freq_hz);
}

void ctf_damage_add(struct ctf_reader *r, int code, uint32_t file, uint64_t off, int32_t cpu, const char *fmt, ...)
{
	char msg[300];
	va_list ap;

	r->t.stats.bad_packets++;
	if (r->damage.n >= CTF_MAX_DAMAGE)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	struct ww_damage *d = ww_vec_push(&r->damage);
	d->cpu = cpu;
	(void)ww_err_set(&d->err, code, r->files.v[file].path, off, "%s", msg);
}

/* Header and context of the packet at `off`, into pk and c; `need_sign`: its magic number and UUID must be there. */
static int read_head(struct ctf_reader *r, uint32_t file, struct ctf_packet *pk, struct ctf_cursor *c,
		     uint64_t *slots, bool need_sign, struct ctf_sclass **ret_sc)
{
	struct ctf_file *f = &r->files.v[file];
	struct ctf_sub *sub = f->sub;
	uint64_t left = f->size - pk->off;

	*c = (struct ctf_cursor){.base = f->map + pk->off, .end = left * 8, .slots = slots,
				 .budget = WW_MIN(left, 1u << 20) * 8};
	if (sub->header && ctf_plan_run(sub->header, c))
		return c->rc;
	if (need_sign && (c->role_seen & 1u << CTF_R_MAGIC) && c->role[CTF_R_MAGIC] != CTF_MAGIC) {
		c->pos = 0;
		return ctf_decode_fail(c, WW_ECORRUPT, "not a packet's magic number");
	}
	if (need_sign && (c->role_seen & 1u << CTF_R_UUID) && sub->m->has_uuid &&
	    memcmp(c->base + c->role[CTF_R_UUID], sub->m->uuid, 16)) {
		c->pos = c->role[CTF_R_UUID] * 8;
		return ctf_decode_fail(c, WW_ECORRUPT, "a packet of another trace (UUID)");
	}
	uint64_t id = c->role_seen & 1u << CTF_R_STREAM_ID ? c->role[CTF_R_STREAM_ID] : 0;
	struct ctf_sclass *sc = NULL;
	for (size_t i = 0; i < sub->m->streams.n && !sc; i++)
		if (sub->m->streams.v[i]->id == id || (sub->m->streams.n == 1 && !(c->role_seen & 1u << CTF_R_STREAM_ID)))
			sc = &sub->sclasses[i];
	if (!sc)
		return ctf_decode_fail(c, WW_ECORRUPT, "a packet of a stream that the metadata does not know");
	*ret_sc = sc;
	pk->sclass = (uint16_t)(sc - sub->sclasses);
	return sc->context ? ctf_plan_run(sc->context, c) : 0;
}

/* Sizes: in bits, both optional. Returns bytes to the next packet, 0 when that cannot be known. */
static uint64_t packet_size(struct ctf_reader *r, struct ctf_packet *pk, const struct ctf_cursor *c)
{
	const struct ctf_file *f = &r->files.v[pk->file];
	uint64_t left = (uint64_t)(f->size - pk->off) * 8, packet = left, content;

	if (c->role_seen & 1u << CTF_R_PACKET)
		packet = c->role[CTF_R_PACKET];
	else if (c->role_seen & 1u << CTF_R_CONTENT)
		packet = c->role[CTF_R_CONTENT];
	content = c->role_seen & 1u << CTF_R_CONTENT ? c->role[CTF_R_CONTENT] : packet;
	if (packet < c->pos || packet % 8 || content > packet || content < c->pos) {
		ctf_damage_add(r, WW_ECORRUPT, pk->file, pk->off, pk->cpu,
			       "a packet of %" PRIu64 " bits with %" PRIu64 " bits of content", packet, content);
		return 0;
	}
	if (packet > left) {
		/* What was written before the recorder died is good. */
		ctf_damage_add(r, WW_ETRUNC, pk->file, pk->off, pk->cpu,
			       "the file ends in a packet: %" PRIu64 " of its %" PRIu64 " bytes are there", left / 8, packet / 8);
		pk->cut = content > left;
		content = WW_MIN(content, left);
		packet = left;
	}
	pk->content_bits = content;
	return packet / 8;
}

static void fill_packet(struct ctf_packet *pk, const struct ctf_cursor *c)
{
	pk->body_bits = c->pos;
	pk->has_begin = c->role_seen & 1u << CTF_R_BEGIN;
	pk->has_end = c->role_seen & 1u << CTF_R_END;
	pk->has_seq = c->role_seen & 1u << CTF_R_SEQ;
	pk->begin = c->role[CTF_R_BEGIN];
	pk->end = c->role[CTF_R_END];
	pk->seq = c->role[CTF_R_SEQ];
	pk->discarded = c->role[CTF_R_DISCARDED];
	pk->discarded_bits = c->role_seen & 1u << CTF_R_DISCARDED ? c->role_size[CTF_R_DISCARDED] : 0;
	pk->cpu = c->role_seen & 1u << CTF_R_CPU && c->role[CTF_R_CPU] < 1u << 20 ? (int32_t)c->role[CTF_R_CPU] : -1;
}

/* The stream that a packet belongs to: of this file, or of the same instance in another chunk. */
static struct ctf_stream *stream_of(struct ctf_reader *r, const struct ctf_packet *pk, const struct ctf_cursor *c,
				    const struct ctf_sclass *sc, struct ctf_stream *of_file)
{
	struct ctf_sub *sub = r->files.v[pk->file].sub;
	bool has = c->role_seen & 1u << CTF_R_INSTANCE_ID;
	uint64_t instance = c->role[CTF_R_INSTANCE_ID];

	if (of_file && of_file->sclass_id == sc->c->id && (!has || of_file->instance == instance))
		return of_file;
	for (size_t i = 0; has && sub->m->has_uuid && i < r->streams.n; i++) {
		struct ctf_stream *s = r->streams.v[i];
		if (s->has_instance && s->instance == instance && s->sclass_id == sc->c->id &&
		    s->sub->m->has_uuid && !memcmp(s->sub->m->uuid, sub->m->uuid, 16))
			return s;
	}
	struct ctf_stream *s = ww_xcalloc(1, sizeof(*s));
	s->r = r;
	s->index = (uint32_t)r->streams.n;
	s->sub = sub;
	s->sclass_id = sc->c->id;
	s->instance = instance;
	s->has_instance = has;
	s->cls = WW_NONE;
	ww_arena_init(&s->text);
	*ww_vec_push(&r->streams) = s;
	return s;
}

/* The next place that looks like a packet, for reading on after damage; the end when there is none. */
static uint64_t resync(const struct ctf_file *f, uint64_t from)
{
	uint8_t sign[20];
	uint32_t magic = CTF_MAGIC;
	const struct ctf_meta *m = f->sub->m;
	size_t n = m->sign_bytes;

	if (m->order == CTF_BE)
		magic = __builtin_bswap32(magic);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		magic = __builtin_bswap32(magic);
	memcpy(sign, &magic, 4);
	memcpy(sign + 4, m->uuid, 16);
	const uint8_t *p = n && from < f->size ? memmem(f->map + from, f->size - from, sign, n) : NULL;
	return p ? (uint64_t)(p - f->map) : f->size;
}

/* ---- a file ---- */

struct walk {
	struct ctf_reader *r;
	uint32_t file;
	uint64_t *slots;
	struct ctf_stream *s; /* of the last packet */
	struct ctf_index index;
};

/* An index that has this good packet otherwise is never asked again. */
static void check_index(struct walk *w, const struct ctf_packet *pk)
{
	const struct ctf_index_entry *e = ctf_index_find(&w->index, pk->off);

	if (!e || e->content_bits != pk->content_bits || (pk->has_begin && e->begin != pk->begin))
		ww_vec_clear(&w->index.entries);
}

/* What the index says of the damaged packet at `off`; NULL: nothing, or it was wrong before. */
static const struct ctf_index_entry *ask_index(struct walk *w, uint64_t off)
{
	const struct ctf_file *f = &w->r->files.v[w->file];

	if (!w->index.tried) {
		ctf_index_read(f->path, f->size, &w->index);
		for (size_t i = 0; w->index.entries.n && w->s && i < w->s->packets.n; i++)
			if (w->s->packets.v[i].file == w->file)
				check_index(w, &w->s->packets.v[i]);
	}
	return ctf_index_find(&w->index, off);
}

/* A packet without its magic number or UUID, all else of which is as the index has it. */
static bool read_unsigned(struct walk *w, struct ctf_packet *pk, struct ctf_cursor *c, struct ctf_sclass **ret_sc)
{
	const struct ctf_index_entry *e = ask_index(w, pk->off);
	const uint32_t need = 1u << CTF_R_CONTENT | 1u << CTF_R_PACKET | 1u << CTF_R_BEGIN;

	return e && !read_head(w->r, w->file, pk, c, w->slots, false, ret_sc) && (c->role_seen & need) == need &&
	       c->role[CTF_R_CONTENT] == e->content_bits && c->role[CTF_R_PACKET] == e->packet_bits &&
	       c->role[CTF_R_BEGIN] == e->begin && (*ret_sc)->c->id == e->stream_id;
}

/* To the next packet behind the damaged one at `off`. */
static uint64_t next_packet(struct walk *w, uint64_t off)
{
	const struct ctf_index_entry *e = ask_index(w, off);

	return e ? off + e->packet_bits / 8 : resync(&w->r->files.v[w->file], off + 1);
}

/* The sizes of a packet that says impossible ones, as the index has them; 0: it does not. */
static uint64_t indexed_size(struct walk *w, struct ctf_packet *pk)
{
	const struct ctf_index_entry *e = ask_index(w, pk->off);

	if (!e || e->content_bits < pk->body_bits || (pk->has_begin && e->begin != pk->begin))
		return 0;
	pk->content_bits = e->content_bits;
	return e->packet_bits / 8;
}

static void index_file(struct ctf_reader *r, uint32_t file, uint64_t *slots)
{
	struct walk w = {.r = r, .file = file, .slots = slots};
	const uint64_t size = r->files.v[file].size;

	for (uint64_t off = 0; off < size;) {
		struct ctf_packet pk = {.off = off, .file = file, .cpu = -1};
		struct ctf_cursor c;
		struct ctf_sclass *sc = NULL;
		if (read_head(r, file, &pk, &c, slots, true, &sc)) {
			ctf_damage_add(r, -c.rc, file, off + c.bad_pos / 8, -1, "%s",
				       c.rc == -WW_ETRUNC ? "the file ends in a packet's header" : c.why);
			if (!read_unsigned(&w, &pk, &c, &sc)) {
				off = next_packet(&w, off);
				continue;
			}
		}
		fill_packet(&pk, &c);
		uint64_t n = packet_size(r, &pk, &c);
		if (!n)
			n = indexed_size(&w, &pk);
		if (!n) {
			off = next_packet(&w, off);
			continue;
		}
		w.s = stream_of(r, &pk, &c, sc, w.s);
		*ww_vec_push(&w.s->packets) = pk;
		if (WW_UNLIKELY(w.index.entries.n))
			check_index(&w, &pk);
		if (pk.cpu >= 0 && (uint32_t)pk.cpu >= r->t.info.ncpus)
			r->t.info.ncpus = (uint32_t)pk.cpu + 1;
		off += n;
	}
	ctf_index_release(&w.index);
}

static int by_begin(const void *a, const void *b)
{
	const struct ctf_packet *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static bool same_packet(const struct ctf_packet *a, const struct ctf_packet *b)
{
	return a->file != b->file && a->has_seq && b->has_seq && a->seq == b->seq && a->begin == b->begin &&
	       a->end == b->end && a->content_bits == b->content_bits;
}

/* Several files: by time. One file: its own order is the stream's order, whatever the stamps say. */
static void sort_packets(struct ctf_stream *s)
{
	bool many = false;
	size_t n = 0;

	for (size_t i = 1; i < s->packets.n; i++)
		many |= s->packets.v[i].file != s->packets.v[0].file;
	if (!many)
		return;
	qsort(s->packets.v, s->packets.n, sizeof(s->packets.v[0]), by_begin);
	for (size_t i = 0; i < s->packets.n; i++)
		if (!n || !same_packet(&s->packets.v[n - 1], &s->packets.v[i]))
			s->packets.v[n++] = s->packets.v[i];
	s->packets.n = n;
}

/* LTTng makes a stream's file before its first packet, so an empty one is nothing but for its index. */
static void note_lost(struct ctf_reader *r, uint32_t file)
{
	struct ctf_index x = {0};

	ctf_index_read(r->files.v[file].path, UINT64_MAX, &x);
	if (x.entries.n)
		ctf_damage_add(r, WW_ETRUNC, file, 0, -1, "the stream is not there, of whose packets its index has %zu", x.entries.n);
	ctf_index_release(&x);
}

int ctf_packets_index(struct ctf_reader *r, struct ww_err *err)
{
	uint32_t nslots = 0;

	for (size_t i = 0; i < r->subs.n; i++)
		nslots = WW_MAX(nslots, r->subs.v[i]->m->nslots);
	uint64_t *slots = ww_xcalloc(nslots + 1, sizeof(*slots));
	for (uint32_t i = 0; i < r->files.n; i++)
		if (r->files.v[i].size)
			index_file(r, i, slots);
		else
			note_lost(r, i);
	free(slots);
	for (size_t i = 0; i < r->streams.n; i++) {
		sort_packets(r->streams.v[i]);
		r->streams.v[i]->c.slots = ww_xcalloc(nslots + 1, sizeof(uint64_t));
	}
	return 0;
}
