/* pack.h - up to 4096 integers in few bytes.
 *
 *   bytes = ww_pack(v, n, out, NULL);   ok = ww_unpack(out, bytes, n, ret);
 *
 * A packed block is one of four, whichever is the shortest:
 *   flat   base, width: each value is base + `width` bits
 *   parts  the same for every 128 values: 32 widths, 32 bases (themselves packed), then the bits; a part may have the
 *          block's least value as a number of its own
 *   steps  of what mostly rises: of every 128 values the first one, the least step, then by how much each step is more
 *   words  at most 1024 different values, packed flat, then for each row the number of its value
 * or, where it is asked for and shorter than that:
 *   squeezed  the values, or the steps between them, byte by byte: all lowest bytes, then all of the next ..., by zstd
 * Values are unsigned; what is signed is mapped by the caller so that near numbers are near.
 */
#ifndef WW_PACK_H
#define WW_PACK_H

#include "base/base.h"

/* Compiled for what newer processors can do with 64-bit numbers, too; which one it is, is found out once. */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!defined(__clang__)
#define WW_FOR_EACH_CPU __attribute__((target_clones("avx2", "default"), optimize("O3")))
#else
#define WW_FOR_EACH_CPU
#endif

#define WW_PACK_ROWS 4096u
#define WW_PACK_PART 128u
#define WW_PACK_PARTS (WW_PACK_ROWS / WW_PACK_PART)
#define WW_PACK_WORDS 1024u
#define WW_PACK_MAX_BYTES (16u + WW_PACK_ROWS * 8u + 16u) /* no block is longer */

struct ww_pack_range {
	uint64_t min, max;
};

/* Returns the bytes written at `out`, which has room for WW_PACK_MAX_BYTES. n: 1 .. WW_PACK_ROWS. ret_range: of the
 * values; may be NULL. */
uint32_t ww_pack(const uint64_t *v, uint32_t n, uint8_t *out, struct ww_pack_range *ret_range);
/* The same, squeezed where that helps: about two thirds of the bytes; takes three times as long, and to unpack five. */
uint32_t ww_pack_small(const uint64_t *v, uint32_t n, uint8_t *out, struct ww_pack_range *ret_range);
/* The same for any number of values that are all v. */
uint32_t ww_pack_same(uint64_t v, uint8_t *out);
/* What no value of a block is below or above, as far as its head tells; false: these bytes are not a block of n values. */
bool ww_pack_bounds(const uint8_t *p, size_t bytes, uint32_t n, struct ww_pack_range *ret);
/* Does it take as long to unpack one value as all? */
bool ww_pack_is_squeezed(const uint8_t *p, size_t bytes);
/* Unpacks n values to ret, which has room for WW_PACK_ROWS. false: these bytes are not a block of n values. */
bool ww_unpack(const uint8_t *p, size_t bytes, uint32_t n, uint64_t *ret);
/* The same for `count` of the n values, from `first` on; ret has room for so many. */
bool ww_unpack_some(const uint8_t *p, size_t bytes, uint32_t n, uint32_t first, uint32_t count, uint64_t *ret);

/* A checksum, for damage and not for enemies: 64 bits, several GB/s. */
uint64_t ww_checksum(const void *p, size_t bytes);

#endif
