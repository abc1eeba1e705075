/* base_pack.c - packed blocks against the values they were made of: all widths, all kinds of block, and bytes that are
 * no block, or a damaged one, which must be refused or unpack to something without touching what is not theirs. */
#include "../tap.h"
#include "base/pack.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t v[WW_PACK_ROWS], got[WW_PACK_ROWS];
static uint8_t block[WW_PACK_MAX_BYTES];

static bool small; /* squeezed where that is shorter */

static uint32_t pack(uint32_t n)
{
	return small ? ww_pack_small(v, n, block, NULL) : ww_pack(v, n, block, NULL);
}

/* Packs, moves to a place that ends where the block ends, unpacks. */
static bool back(uint32_t n, uint32_t *ret_bytes)
{
	uint32_t bytes = pack(n);
	uint8_t *exact = ww_xmalloc(bytes);

	memcpy(exact, block, bytes);
	bool ok = bytes <= WW_PACK_MAX_BYTES && ww_unpack(exact, bytes, n, got) && !memcmp(got, v, n * sizeof(*v));
	for (int k = 0; k < 4 && ok; k++) {
		const uint32_t first = (uint32_t)(rnd() % n), count = (uint32_t)(rnd() % (n - first + 1));
		ok = ww_unpack_some(exact, bytes, n, first, count, got) && !memcmp(got, v + first, count * sizeof(*v)) &&
		     !ww_unpack_some(exact, bytes, n, first, n - first + 1, got);
	}
	if (bytes > 1 && ww_unpack(exact, bytes - 1, n, got))
		ok = false; /* one byte is missing */
	free(exact);
	*ret_bytes = bytes;
	return ok;
}

static void widths(void)
{
	uint32_t wrong = 0, bytes;

	for (unsigned w = 0; w <= 64; w++)
		for (uint32_t n = 1; n <= WW_PACK_ROWS; n += n < 300 ? 13 : 977) {
			const uint64_t mask = w ? UINT64_MAX >> (64 - w) : 0, base = w == 64 ? 0 : rnd() >> 1 & ~mask;

			for (uint32_t i = 0; i < n; i++)
				v[i] = base + (rnd() & mask);
			wrong += !back(n, &bytes);
		}
	is_i64(wrong, 0, "blocks of every width and of many lengths come back");
}

static void kinds(void)
{
	uint32_t bytes, wrong = 0;

	for (uint32_t i = 0; i < WW_PACK_ROWS; i++)
		v[i] = 123456789012345u;
	wrong += !back(WW_PACK_ROWS, &bytes);
	ok(!wrong && bytes == 16, "equal values take 16 bytes: %u", bytes);
	for (uint32_t i = 0; i < WW_PACK_ROWS; i++)
		v[i] = 1000000000000000000u + i * 20000u + rnd() % 10000;
	wrong += !back(WW_PACK_ROWS, &bytes);
	ok(!wrong && bytes < WW_PACK_ROWS * 23 / 8, "rising times take as many bits as 128 of them span: %u bytes", bytes);
	for (uint32_t i = 0; i < WW_PACK_ROWS; i++)
		v[i] = (rnd() % 200) * 0x123456789abcdefu;
	wrong += !back(WW_PACK_ROWS, &bytes);
	ok(!wrong && bytes < WW_PACK_ROWS + 200 * 8 + 64, "200 wide values take a byte each: %u bytes", bytes);
	for (uint32_t i = 0; i < WW_PACK_ROWS; i++)
		v[i] = rnd() % 3 ? 5000000 + i * 3 + rnd() % 40 : 7;
	wrong += !back(WW_PACK_ROWS, &bytes);
	ok(!wrong && bytes < WW_PACK_ROWS * 10 / 8, "rising numbers between others of none take no more bits than without those: %u bytes", bytes);
	for (uint32_t i = 0, at = 1u << 31; i < WW_PACK_ROWS; i++)
		v[i] = at += 1000 + (uint32_t)(rnd() % 8);
	wrong += !back(WW_PACK_ROWS, &bytes);
	ok(!wrong && bytes < WW_PACK_ROWS * 4 / 8, "even steps take the bits by which they differ: %u bytes", bytes);
	for (int round = 0; round < 200; round++) { /* steps of every size, backwards, around the ends of what 64 bits hold */
		const uint32_t n = 2 + (uint32_t)(rnd() % (WW_PACK_ROWS - 1));
		const unsigned w = (unsigned)(rnd() % 64);
		uint64_t at = round & 1 ? UINT64_MAX - (rnd() >> w) : rnd();

		for (uint32_t i = 0; i < n; i++)
			v[i] = rnd() % 5 == 0 && round % 3 ? round % 7 ? 0 : UINT64_MAX : (at += rnd() >> w >> (round & 7), rnd() % 50 ? at : at - 1000);
		wrong += !back(n, &bytes);
	}
	is_i64(wrong, 0, "steps and holes of every size come back");
	for (uint32_t words = 1000; words < 1050; words++) { /* around the limit of the dictionary */
		for (uint32_t i = 0; i < WW_PACK_ROWS; i++)
			v[i] = (i < words ? i : rnd() % words) * 0xabcdef123456789u;
		wrong += !back(WW_PACK_ROWS, &bytes);
	}
	is_i64(wrong, 0, "blocks around the limit of the dictionary come back");
}

static void squeezed(void)
{
	uint32_t bytes, plain, wrong = 0;
	struct ww_pack_range range;

	for (uint32_t i = 0; i < WW_PACK_ROWS; i++)
		v[i] = (i * 7919u % 12) * 1000003u + (i % 12 == 5 ? rnd() % 9 : 0);
	small = false;
	wrong += !back(WW_PACK_ROWS, &plain);
	small = true;
	wrong += !back(WW_PACK_ROWS, &bytes) || !ww_pack_is_squeezed(block, bytes);
	ok(!wrong && bytes < plain / 2, "what repeats itself is squeezed to less than half: %u of %u", bytes, plain);
	ww_pack_small(v, WW_PACK_ROWS, block, &range);
	ok(range.min == 0 && range.max >= 11 * 1000003u && range.max < 11 * 1000003u + 9, "its range is that of its values");
	for (uint32_t i = 0; i < WW_PACK_ROWS; i++)
		v[i] = rnd();
	wrong += !back(WW_PACK_ROWS, &bytes) || ww_pack_is_squeezed(block, bytes);
	is_i64(wrong, 0, "and noise is not");
}

static void damage(void)
{
	uint32_t same = 0, refused = 0, other = 0;

	for (int round = 0; round < 3000; round++) {
		const uint32_t n = 1 + (uint32_t)(rnd() % WW_PACK_ROWS);
		const unsigned w = (unsigned)(rnd() % 64);

		for (uint32_t i = 0; i < n; i++)
			v[i] = round % 3 == 0 ? rnd() >> w : round % 3 == 1 ? i * 1000u + (rnd() >> (w | 48)) : (rnd() % 50) << 40;
		uint32_t bytes = pack(n);
		uint8_t *p = ww_xmalloc(bytes);
		memcpy(p, block, bytes);
		for (int k = 0; k < 3; k++)
			p[rnd() % WW_MIN(bytes, round & 1 ? 64u : bytes)] = (uint8_t)rnd();
		if (!ww_unpack(p, bytes, n, got))
			refused++;
		else if (memcmp(got, v, n * sizeof(*v)))
			other++;
		else
			same++;
		free(p);
	}
	ok(refused && other && refused + other + same == 3000, "damaged blocks are refused or unpack to something: %u, %u", refused, other);
}

static void checksums(void)
{
	uint8_t data[200];
	uint32_t equal = 0;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)rnd();
	for (size_t n = 1; n <= sizeof(data); n++) {
		const uint64_t sum = ww_checksum(data, n);

		equal += ww_checksum(data, n - 1) == sum;
		for (size_t bit = 0; bit < n * 8; bit++) {
			data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			equal += (uint32_t)ww_checksum(data, n) == (uint32_t)sum;
			data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
	ok(equal < 3, "every single bit that changes changes 32 bits of the checksum: %u did not, of 160000", equal);
}

int main(void)
{
	widths();
	kinds();
	damage();
	squeezed();
	widths();
	kinds();
	damage();
	small = false;
	checksums();
	return done_testing();
}
