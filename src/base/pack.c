/* pack.c - frame of reference, by block or by part, or a dictionary.
 *
 * A block begins with struct head. Bits are read as unaligned 64-bit words, so a block ends with PAD bytes more than
 * its bits need. Example of `flat`: 100 103 101 -> base 100, width 2, bits 00 11 01.
 */
#include "base/pack.h"

enum { FLAT, PARTS, WORDS };

#define PAD 9u /* the longest value begins at bit 7 of the last byte */

struct head {
	uint8_t kind;
	uint8_t width;      /* FLAT: of a value; PARTS: of a base; WORDS: of a number */
	uint8_t word_width; /* WORDS: of a value */
	uint8_t zero;
	uint32_t words;
	uint64_t base;
};
_Static_assert(sizeof(struct head) == 16, "the head of a block is 16 bytes on disk");

static unsigned width_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t mask_of(unsigned width)
{
	return width ? UINT64_MAX >> (64 - width) : 0;
}

static uint64_t get_bits(const uint8_t *p, size_t at, unsigned width)
{
	const unsigned shift = at & 7;
	uint64_t v = load64(p + at / 8) >> shift;

	if (shift + width > 64)
		v |= (uint64_t)p[at / 8 + 8] << (64 - shift);
	return v & mask_of(width);
}

/* n values of `width` bits each, of which `first` are passed over, added to base. The common widths need one load a
 * value. */
static void get_from(const uint8_t *p, uint32_t first, uint32_t n, unsigned width, uint64_t base, uint64_t *ret)
{
	const size_t begin = (size_t)first * width;

	const uint64_t mask = mask_of(width);

	if (!width) {
		for (uint32_t i = 0; i < n; i++)
			ret[i] = base;
	} else if (width <= 57) {
		for (size_t i = 0, at = begin; i < n; i++, at += width)
			ret[i] = base + (load64(p + at / 8) >> (at & 7) & mask);
	} else {
		for (size_t i = 0, at = begin; i < n; i++, at += width)
			ret[i] = base + get_bits(p, at, width);
	}
}

static void get_all(const uint8_t *p, uint32_t n, unsigned width, uint64_t base, uint64_t *ret)
{
	get_from(p, 0, n, width, base, ret);
}

#define PUT_AS(type)                                              \
	for (uint32_t i = 0; i < n; i++) {                        \
		const type x = (type)(v[i] - base);               \
		memcpy(p + i * sizeof(x), &x, sizeof(x));         \
	}                                                         \
	return p + n * (width / 8)

/* The value in hand ends in the word that is full, or goes on in the next one. */
WW_FOR_EACH_CPU static uint8_t *put_all(uint8_t *p, const uint64_t *v, uint32_t n, unsigned width, uint64_t base)
{
	uint64_t word = 0;
	unsigned have = 0;

	switch (width) {
	case 0: return p;
	case 8: PUT_AS(uint8_t);
	case 16: PUT_AS(uint16_t);
	case 32: PUT_AS(uint32_t);
	case 64: PUT_AS(uint64_t);
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t x = v[i] - base;

		word |= x << have;
		have += width;
		if (have >= 64) {
			memcpy(p, &word, 8);
			p += 8;
			have -= 64;
			word = have ? x >> (width - have) : 0;
		}
	}
	memcpy(p, &word, 8);
	return p + (have + 7) / 8;
}

static size_t bytes_of(uint32_t n, unsigned width)
{
	return ((size_t)n * width + 7) / 8;
}

/* ---- writing ---- */

struct parts {
	uint64_t min[WW_PACK_PARTS], max, least, most_base;
	uint8_t width[WW_PACK_PARTS];
	uint32_t n;
	size_t bytes; /* of the bits */
};

WW_FOR_EACH_CPU static void measure(const uint64_t *v, uint32_t n, struct parts *ret)
{
	*ret = (struct parts){.least = UINT64_MAX};
	for (uint32_t i = 0; i < n; i += WW_PACK_PART) {
		const uint32_t end = WW_MIN(i + WW_PACK_PART, n);
		uint64_t min = v[i], max = v[i];

		for (uint32_t k = i + 1; k < end; k++) {
			min = WW_MIN(min, v[k]);
			max = WW_MAX(max, v[k]);
		}
		ret->min[ret->n] = min;
		ret->width[ret->n] = (uint8_t)width_of(max - min);
		ret->bytes += bytes_of(end - i, ret->width[ret->n++]);
		ret->least = WW_MIN(ret->least, min);
		ret->most_base = WW_MAX(ret->most_base, min);
		ret->max = WW_MAX(ret->max, max);
	}
}

struct words {
	uint64_t value[WW_PACK_WORDS];
	uint64_t number[WW_PACK_ROWS]; /* of each row */
	uint32_t n;
};

#define WORDS_TRIED 256u

/* The different values, in the order in which they come; false: more than `limit` of them, or so it looks: most of the
 * first ones differ. */
static bool find_words(const uint64_t *v, uint32_t n, uint32_t limit, struct words *ret)
{
	enum { SLOTS = WW_PACK_WORDS * 4 };
	uint16_t slot[SLOTS] = {0}; /* number + 1 */

	ret->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t k = v[i] * 0x9e3779b97f4a7c15u >> 52;

		if (i && v[i] == v[i - 1]) {
			ret->number[i] = ret->number[i - 1];
			continue;
		}
		while (slot[k] && ret->value[slot[k] - 1] != v[i])
			k = (k + 1) & (SLOTS - 1);
		if (!slot[k]) {
			if (ret->n == limit || (i < WORDS_TRIED && ret->n > WORDS_TRIED * 3 / 4))
				return false;
			ret->value[ret->n++] = v[i];
			slot[k] = (uint16_t)ret->n;
		}
		ret->number[i] = slot[k] - 1u;
	}
	return true;
}

static size_t flat_bytes(uint32_t n, unsigned width)
{
	return sizeof(struct head) + (width ? bytes_of(n, width) + PAD : 0);
}

static size_t words_bytes(uint32_t n, uint32_t words, unsigned word_width)
{
	return sizeof(struct head) + bytes_of(words, word_width) + bytes_of(n, width_of(words - 1)) + PAD;
}

/* As many words as could still be shorter than `best`. */
static uint32_t words_limit(uint32_t n, unsigned word_width, size_t best)
{
	uint32_t limit = WW_MIN(WW_PACK_WORDS, n / 2);

	while (limit && words_bytes(n, limit, word_width) >= best)
		limit /= 2;
	return limit;
}

static uint32_t finish(struct head *h, uint8_t *out, uint8_t *end)
{
	memcpy(out, h, sizeof(*h));
	memset(end, 0, PAD);
	return (uint32_t)(end - out) + PAD;
}

static uint32_t pack_parts(const uint64_t *v, uint32_t n, const struct parts *m, uint8_t *out)
{
	struct head h = {.kind = PARTS, .width = (uint8_t)width_of(m->most_base - m->least), .base = m->least};
	uint8_t *p = out + sizeof(h);

	memcpy(p, m->width, m->n);
	p = put_all(p + m->n, m->min, m->n, h.width, h.base);
	for (uint32_t k = 0; k < m->n; k++)
		p = put_all(p, v + k * WW_PACK_PART, WW_MIN(WW_PACK_PART, n - k * WW_PACK_PART), m->width[k], m->min[k]);
	return finish(&h, out, p);
}

uint32_t ww_pack_same(uint64_t v, uint8_t *out)
{
	memcpy(out, &(struct head){.kind = FLAT, .base = v}, sizeof(struct head));
	return sizeof(struct head);
}

uint32_t ww_pack(const uint64_t *v, uint32_t n, uint8_t *out, struct ww_pack_range *ret_range)
{
	struct parts m;
	struct words w;

	WW_ASSERT(n && n <= WW_PACK_ROWS);
	measure(v, n, &m);
	if (ret_range)
		*ret_range = (struct ww_pack_range){m.least, m.max};
	const unsigned width = width_of(m.max - m.least);
	if (!width)
		return ww_pack_same(m.least, out);
	const size_t flat = flat_bytes(n, width),
		     parts = sizeof(struct head) + m.n + bytes_of(m.n, width_of(m.most_base - m.least)) + m.bytes + PAD;
	const uint32_t limit = words_limit(n, width, WW_MIN(flat, parts));

	if (limit && find_words(v, n, limit, &w) && words_bytes(n, w.n, width) < WW_MIN(flat, parts)) {
		struct head h = {.kind = WORDS, .width = (uint8_t)width_of(w.n - 1), .word_width = (uint8_t)width,
				 .words = w.n, .base = m.least};
		uint8_t *p = put_all(out + sizeof(h), w.value, w.n, width, m.least);
		return finish(&h, out, put_all(p, w.number, n, h.width, 0));
	}
	if (parts < flat)
		return pack_parts(v, n, &m, out);
	struct head h = {.kind = FLAT, .width = (uint8_t)width, .base = m.least};
	return finish(&h, out, put_all(out + sizeof(h), v, n, width, m.least));
}

/* ---- reading ---- */

static struct head head_of(const uint8_t *p)
{
	struct head h;

	memcpy(&h, p, sizeof(h));
	return h;
}

static uint32_t parts_in(uint32_t n)
{
	return (n + WW_PACK_PART - 1) / WW_PACK_PART;
}

static size_t bits_of_parts(const uint8_t *widths, uint32_t n, uint32_t parts)
{
	size_t bytes = 0;

	for (uint32_t k = 0; k < parts; k++)
		bytes += bytes_of(WW_MIN(WW_PACK_PART, n - k * WW_PACK_PART), widths[k]);
	return bytes;
}

static bool is_block(const uint8_t *p, size_t bytes, uint32_t n)
{
	if (bytes < sizeof(struct head) || !n || n > WW_PACK_ROWS)
		return false;
	const struct head h = head_of(p);
	const uint8_t *widths = p + sizeof(h);

	if (h.width > 64)
		return false;
	switch (h.kind) {
	case FLAT:
		return flat_bytes(n, h.width) <= bytes;
	case PARTS:
		if (sizeof(h) + parts_in(n) > bytes)
			return false;
		for (uint32_t k = 0; k < parts_in(n); k++)
			if (widths[k] > 64)
				return false;
		return sizeof(h) + parts_in(n) + bytes_of(parts_in(n), h.width) + bits_of_parts(widths, n, parts_in(n)) + PAD <= bytes;
	case WORDS:
		return h.words && h.words <= WW_PACK_WORDS && h.word_width <= 64 && h.width == width_of(h.words - 1) &&
		       words_bytes(n, h.words, h.word_width) <= bytes;
	}
	return false;
}

static bool unpack_words(const uint8_t *p, const struct head *h, uint32_t first, uint32_t count, uint64_t *ret)
{
	uint64_t value[WW_PACK_WORDS], most = 0;

	get_all(p, h->words, h->word_width, h->base, value);
	get_from(p + bytes_of(h->words, h->word_width), first, count, h->width, 0, ret);
	for (uint32_t i = 0; i < count; i++)
		most = WW_MAX(most, ret[i]);
	if (most >= h->words)
		return false;
	for (uint32_t i = 0; i < count; i++)
		ret[i] = value[ret[i]];
	return true;
}

static void unpack_parts(const uint8_t *p, const struct head *h, uint32_t n, uint32_t first, uint32_t count, uint64_t *ret)
{
	const uint8_t *widths = p, *bits = p + parts_in(n) + bytes_of(parts_in(n), h->width);
	const uint32_t end = first + count;
	uint64_t base[WW_PACK_PARTS];

	get_all(widths + parts_in(n), parts_in(n), h->width, h->base, base);
	for (uint32_t k = 0, row = 0; row < end; k++, row += WW_PACK_PART) {
		const uint32_t rows = WW_MIN(WW_PACK_PART, n - row), from = WW_MAX(row, first), to = WW_MIN(row + rows, end);

		if (from < to)
			get_from(bits, from - row, to - from, widths[k], base[k], ret + (from - first));
		bits += bytes_of(rows, widths[k]);
	}
}

/* base + width bits */
static void widen_bounds(struct ww_pack_range *b, uint64_t base, unsigned width)
{
	const uint64_t most = base + mask_of(width);

	b->min = most < base ? 0 : WW_MIN(b->min, base);
	b->max = most < base ? UINT64_MAX : WW_MAX(b->max, most);
}

bool ww_pack_bounds(const uint8_t *p, size_t bytes, uint32_t n, struct ww_pack_range *ret)
{
	uint64_t base[WW_PACK_PARTS];

	if (!is_block(p, bytes, n))
		return false;
	const struct head h = head_of(p);
	p += sizeof(h);
	*ret = (struct ww_pack_range){UINT64_MAX, 0};
	if (h.kind == PARTS) {
		get_all(p + parts_in(n), parts_in(n), h.width, h.base, base);
		for (uint32_t k = 0; k < parts_in(n); k++)
			widen_bounds(ret, base[k], p[k]);
	} else {
		widen_bounds(ret, h.base, h.kind == WORDS ? h.word_width : h.width);
	}
	return true;
}

bool ww_unpack_some(const uint8_t *p, size_t bytes, uint32_t n, uint32_t first, uint32_t count, uint64_t *ret)
{
	if (!is_block(p, bytes, n) || count > n || first > n - count)
		return false;
	const struct head h = head_of(p);

	p += sizeof(h);
	if (h.kind == WORDS)
		return unpack_words(p, &h, first, count, ret);
	if (h.kind == FLAT)
		get_from(p, first, count, h.width, h.base, ret);
	else
		unpack_parts(p, &h, n, first, count, ret);
	return true;
}

bool ww_unpack(const uint8_t *p, size_t bytes, uint32_t n, uint64_t *ret)
{
	return ww_unpack_some(p, bytes, n, 0, n, ret);
}

/* ---- checksum ---- */

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
