/* packed.c - events as a run of bytes. */
#include "format/packed.h"

#define KINDS_IN_HEAD 5u
#define IS_INLINE 0x80u /* of a kind: its bytes stand behind the values */

struct head {
	int64_t ts_ns;
	uint64_t offset;
	uint32_t cls, stream, file;
	int32_t cpu;
	uint16_t nval;
	bool has_priv;
	uint8_t kinds[KINDS_IN_HEAD]; /* and on behind the head */
};
_Static_assert(sizeof(struct head) == 40, "of whole words, without holes");
_Static_assert(offsetof(struct head, kinds) + KINDS_IN_HEAD == sizeof(struct head), "the kinds go on behind it");

/* Words of kinds that are behind the head. */
static inline uint32_t more_kinds(uint32_t nval)
{
	return nval > KINDS_IN_HEAD ? (nval - KINDS_IN_HEAD + 7) / 8 : 0;
}

static inline uint64_t *put_bytes(uint64_t *tail, const struct ww_value *v)
{
	tail[v->len / 8] = 0; /* the last word: what the bytes leave of it, and the NUL */
	memcpy(tail, v->p, v->len);
	return tail + v->len / 8 + 1;
}

char *ww_packed_put(char *at, const struct ww_event *ev)
{
	struct head *h = (struct head *)at;
	const uint32_t n = ev->nval;
	uint8_t *kind = h->kinds;
	uint64_t *to = (uint64_t *)(h + 1) + more_kinds(n), *tail = to + n;

	h->ts_ns = ev->ts_ns;
	h->offset = ev->offset;
	h->cls = ev->cls;
	h->stream = ev->stream;
	h->file = ev->file;
	h->cpu = ev->cpu;
	h->nval = (uint16_t)n;
	h->has_priv = ev->priv;
	if (WW_UNLIKELY(ev->priv))
		*tail++ = (uintptr_t)ev->priv;
	for (uint32_t i = 0; i < n; i++) {
		const struct ww_value *v = &ev->v[i];

		kind[i] = v->kind;
		to[i] = v->u;
		if (WW_LIKELY(v->kind != WW_V_STR && v->kind != WW_V_BYTES && v->kind != WW_V_ARRAY))
			continue;
		*tail++ = v->len;
		if (v->kind != WW_V_ARRAY && v->len <= WW_PACKED_INLINE && v->p) {
			kind[i] |= IS_INLINE;
			tail = put_bytes(tail, v);
		}
	}
	return (char *)tail;
}

const char *ww_packed_get(const char *at, struct ww_event *ret, struct ww_value *v)
{
	const struct head *h = (const struct head *)at;
	const uint32_t n = h->nval;
	const uint8_t *kind = h->kinds;
	const uint64_t *from = (const uint64_t *)(h + 1) + more_kinds(n), *tail = from + n;

	*ret = (struct ww_event){.ts_ns = h->ts_ns, .cls = h->cls, .stream = h->stream, .cpu = h->cpu, .nval = n, .v = v,
				 .offset = h->offset, .file = h->file};
	if (WW_UNLIKELY(h->has_priv))
		ret->priv = (const void *)(uintptr_t)*tail++;
	for (uint32_t i = 0; i < n; i++) {
		v[i].kind = kind[i];
		v[i].u = from[i];
		if (WW_LIKELY(kind[i] != WW_V_ARRAY && (kind[i] & ~IS_INLINE) != WW_V_STR && (kind[i] & ~IS_INLINE) != WW_V_BYTES))
			continue;
		v[i].len = (uint32_t)*tail++;
		if (kind[i] & IS_INLINE) {
			v[i].kind = kind[i] & (uint8_t)~IS_INLINE;
			v[i].p = (const char *)tail;
			tail += v[i].len / 8 + 1;
		}
	}
	return (const char *)tail;
}
