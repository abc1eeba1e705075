/* checksum.c - ww_checksum: four lanes of multiply and rotate. */
#include "base/pack_private.h"

#define ODD1 0x9e3779b97f4a7c15u
#define ODD2 0xc2b2ae3d27d4eb4fu

static uint64_t stir(uint64_t h, uint64_t v)
{
	h ^= v * ODD2;
	h = h << 29 | h >> 35;
	return h * ODD1 + 1;
}

uint64_t ww_checksum(const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t lane[4] = {bytes, ODD1, ODD2, bytes ^ ODD1}, h = 0;
	size_t left = bytes;

	for (; left >= 32; left -= 32, p += 32)
		for (int i = 0; i < 4; i++)
			lane[i] = stir(lane[i], load64(p + 8 * i));
	for (int i = 0; left; i = (i + 1) & 3) {
		uint64_t v = 0;
		const size_t n = WW_MIN(left, 8u);

		memcpy(&v, p, n);
		lane[i] = stir(lane[i], v);
		p += n;
		left -= n;
	}
	for (int i = 0; i < 4; i++)
		h = stir(h, lane[i]);
	h ^= h >> 32;
	h *= ODD2;
	return h ^ h >> 29;
}
