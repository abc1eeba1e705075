/* span.h - a bounds-checked cursor over bytes that are not trusted.
 *
 * Reading past the end returns 0 and sets `bad`, which stays set: test it once per record.
 */
#ifndef WW_SPAN_H
#define WW_SPAN_H

#include "base/base.h"

struct ww_span {
	const uint8_t *p;
	size_t len, pos;
	bool bad;
	bool swap; /* the bytes are in the other byte order */
};

static inline struct ww_span ww_span_of(const void *p, size_t len)
{
	return (struct ww_span){.p = p, .len = len};
}

static inline size_t ww_span_left(const struct ww_span *s)
{
	return s->len - s->pos;
}

/* n bytes in place, or NULL (and bad) when fewer are left. */
static inline const void *ww_span_bytes(struct ww_span *s, size_t n)
{
	if (WW_UNLIKELY(s->bad || n > s->len - s->pos)) {
		s->bad = true;
		return NULL;
	}
	const void *p = s->p + s->pos;
	s->pos += n;
	return p;
}

static inline void ww_span_skip(struct ww_span *s, size_t n)
{
	(void)ww_span_bytes(s, n);
}

static inline uint8_t ww_span_u8(struct ww_span *s)
{
	const uint8_t *p = ww_span_bytes(s, 1);
	return p ? *p : 0;
}

#define WW_SPAN_READER(bits)                                                    \
	static inline uint##bits##_t ww_span_u##bits(struct ww_span *s)         \
	{                                                                       \
		uint##bits##_t v;                                               \
		const void *p = ww_span_bytes(s, sizeof(v));                    \
		if (!p)                                                         \
			return 0;                                               \
		memcpy(&v, p, sizeof(v));                                       \
		return s->swap ? __builtin_bswap##bits(v) : v;                  \
	}
WW_SPAN_READER(16)
WW_SPAN_READER(32)
WW_SPAN_READER(64)
#undef WW_SPAN_READER

/* A sub-span of n bytes, and the cursor moves past it. */
static inline struct ww_span ww_span_sub(struct ww_span *s, size_t n)
{
	const void *p = ww_span_bytes(s, n);
	struct ww_span r = {.p = p, .len = p ? n : 0, .bad = !p, .swap = s->swap};
	return r;
}

/* A NUL-terminated string in place, or NULL (and bad) when no NUL is left. */
static inline const char *ww_span_cstr(struct ww_span *s)
{
	const void *e = s->bad ? NULL : memchr(s->p + s->pos, 0, s->len - s->pos);
	if (!e) {
		s->bad = true;
		return NULL;
	}
	const char *r = (const char *)(s->p + s->pos);
	s->pos = (size_t)((const uint8_t *)e - s->p) + 1;
	return r;
}

#endif
