/* bits.h - integers at any bit offset, in either byte order.
 *
 * Little endian: bit 0 of a byte comes first. Big endian: bit 7 comes first. pos counts bits from
 * `base`; the caller has checked that [pos, pos + size) is inside the content.
 * source CTF 1.8.3 specification, section 4.1.5
 */
#ifndef WW_CTF_BITS_H
#define WW_CTF_BITS_H

#include "base/base.h"

static inline uint64_t ctf_bits_bytes(const uint8_t *p, unsigned size, bool be)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (size) {
	case 8:
		return *p;
	case 16:
		memcpy(&v16, p, 2);
		return be ? __builtin_bswap16(v16) : v16;
	case 32:
		memcpy(&v32, p, 4);
		return be ? __builtin_bswap32(v32) : v32;
	default:
		memcpy(&v64, p, 8);
		return be ? __builtin_bswap64(v64) : v64;
	}
}

static inline uint64_t ctf_bits_odd(const uint8_t *base, uint64_t pos, unsigned size, bool be)
{
	const uint8_t *p = base + (pos >> 3);
	unsigned at = pos & 7, got;
	uint64_t v;

	if (!be) {
		v = *p++ >> at;
		for (got = 8 - at; got < size; got += 8)
			v |= (uint64_t)*p++ << got;
	} else {
		v = *p++ & (0xffu >> at);
		got = 8 - at;
		if (size <= got)
			return v >> (got - size);
		for (; size - got >= 8; got += 8)
			v = v << 8 | *p++;
		if (size > got)
			v = v << (size - got) | *p >> (8 - (size - got));
		return v;
	}
	return size < 64 ? v & (((uint64_t)1 << size) - 1) : v;
}

static inline uint64_t ctf_bits_get(const uint8_t *base, uint64_t pos, unsigned size, bool be)
{
	if ((pos & 7) == 0 && (size == 8 || size == 16 || size == 32 || size == 64))
		return ctf_bits_bytes(base + (pos >> 3), size, be);
	return ctf_bits_odd(base, pos, size, be);
}

static inline uint64_t ctf_bits_reverse(uint64_t v, unsigned size)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < size; i++)
		r |= (v >> i & 1) << (size - 1 - i);
	return r;
}

static inline uint64_t ctf_bits_extend(uint64_t v, unsigned size)
{
	return size < 64 ? (uint64_t)((int64_t)(v << (64 - size)) >> (64 - size)) : v;
}

#endif
