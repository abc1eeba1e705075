/* pack_private.h - the layout of a packed block, between pack.c, which writes it, and unpack.c. */
#ifndef WW_PACK_PRIVATE_H
#define WW_PACK_PRIVATE_H

#include "base/pack.h"

enum { FLAT, PARTS, WORDS, STEPS, SQUEEZED };

#define PAD 9u /* the longest value begins at bit 7 of the last byte */
#define HOLES 0x80u /* beside the width of a part */
#define WIDTH_BITS 0x7fu

struct head {
	uint8_t kind;
	uint8_t width;      /* FLAT: of a value; PARTS: of a base; WORDS: of a number; STEPS: of a part's first value;
			     * SQUEEZED: bytes of a value */
	uint8_t word_width; /* WORDS: of a value; STEPS: of a part's least step; SQUEEZED: 1 of steps, 0 of values */
	uint8_t zero;
	uint32_t words;     /* WORDS: how many; SQUEEZED: bytes that zstd made */
	uint64_t base;
};
_Static_assert(sizeof(struct head) == 16, "the head of a block is 16 bytes on disk");

static inline unsigned width_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t mask_of(unsigned width)
{
	return width ? UINT64_MAX >> (64 - width) : 0;
}

static inline size_t bytes_of(uint32_t n, unsigned width)
{
	return ((size_t)n * width + 7) / 8;
}

static inline uint32_t parts_in(uint32_t n)
{
	return (n + WW_PACK_PART - 1) / WW_PACK_PART;
}

static inline uint32_t rows_of_part(uint32_t n, uint32_t part)
{
	return WW_MIN(WW_PACK_PART, n - part * WW_PACK_PART);
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

static inline size_t flat_bytes(uint32_t n, unsigned width)
{
	return sizeof(struct head) + (width ? bytes_of(n, width) + PAD : 0);
}

static inline size_t words_bytes(uint32_t n, uint32_t words, unsigned word_width)
{
	return sizeof(struct head) + bytes_of(words, word_width) + bytes_of(n, width_of(words - 1)) + PAD;
}

/* ---- squeeze.c ---- */
/* A block of kind SQUEEZED, of steps when the values rise, at `out` when it has fewer than `limit` bytes: its length; else 0, and `out` is as it was. */
uint32_t ww_squeeze(const uint64_t *v, uint32_t n, uint64_t least, bool rising, uint8_t *out, uint32_t limit);
bool ww_unsqueeze(const uint8_t *p, const struct head *h, uint32_t n, uint64_t *ret);

#endif
