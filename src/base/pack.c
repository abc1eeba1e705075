/* pack.c - frame of reference, by block or by part, steps, or a dictionary.
 *
 * A block begins with struct head. Bits are read as unaligned 64-bit words, so a block ends with PAD bytes more than
 * its bits need. Example of `flat`: 100 103 101 -> base 100, width 2, bits 00 11 01.
 *
 * An index that is none in every other row spans from 0 to itself: a part may have holes, which is the block's least
 * value as code 0, and the part's own base is that of the others: 0 7001 0 7002 -> base 7001, bits 00 01 00 10.
 * Steps, of what rises: 100 103 107 -> first 100, least step 3, width 1, bits 0 1.
 */
#include "base/pack_private.h"

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

/* ---- writing ---- */

struct parts {
	uint64_t min[WW_PACK_PARTS], max, least, most_base;
	uint64_t part_max[WW_PACK_PARTS];
	uint8_t width[WW_PACK_PARTS];
	uint32_t n;
	size_t bytes; /* of the bits */
};

WW_FOR_EACH_CPU static void measure(const uint64_t *v, uint32_t n, struct parts *ret)
{
	ret->n = parts_in(n);
	ret->least = UINT64_MAX;
	ret->max = ret->most_base = ret->bytes = 0;
	for (uint32_t k = 0; k < ret->n; k++) {
		const uint64_t *p = v + k * WW_PACK_PART;
		const uint32_t rows = rows_of_part(n, k);
		uint64_t min = p[0], max = p[0];

		for (uint32_t i = 1; i < rows; i++) {
			min = WW_MIN(min, p[i]);
			max = WW_MAX(max, p[i]);
		}
		ret->min[k] = min;
		ret->part_max[k] = max;
		ret->least = WW_MIN(ret->least, min);
		ret->max = WW_MAX(ret->max, max);
	}
}

/* The least value of a part that is not `least`; UINT64_MAX: all are that. */
WW_FOR_EACH_CPU static uint64_t next_least(const uint64_t *p, uint32_t rows, uint64_t least)
{
	uint64_t min = UINT64_MAX;

	for (uint32_t i = 0; i < rows; i++) {
		const uint64_t x = p[i] - least - 1; /* that of `least` is the greatest */
		min = WW_MIN(min, x);
	}
	return min == UINT64_MAX ? min : min + least + 1;
}

/* Width and base of each part, with holes where that is shorter. */
static void choose_widths(const uint64_t *v, uint32_t n, struct parts *m)
{
	for (uint32_t k = 0; k < m->n; k++) {
		const uint32_t rows = rows_of_part(n, k);
		unsigned width = width_of(m->part_max[k] - m->min[k]), flag = 0;

		if (width > 2 && m->min[k] == m->least) {
			const uint64_t next = next_least(v + k * WW_PACK_PART, rows, m->least);
			const unsigned w = width_of(m->part_max[k] - next + 1);

			if (w < width) {
				width = w;
				flag = HOLES;
				m->min[k] = next;
			}
		}
		m->width[k] = (uint8_t)(width | flag);
		m->bytes += bytes_of(rows, width);
		m->most_base = WW_MAX(m->most_base, m->min[k]);
	}
}

struct steps {
	uint64_t min[WW_PACK_PARTS]; /* least step, zigzag */
	uint8_t width[WW_PACK_PARTS];
	unsigned min_width, first_width;
	uint64_t least_first;
	size_t bytes; /* of all of the block */
};

#define RISING_TRIED 256u

/* Do the first ones mostly rise? */
WW_FOR_EACH_CPU static bool rises(const uint64_t *v, uint32_t n)
{
	const uint32_t tried = WW_MIN(n - 1, RISING_TRIED);
	uint64_t ups = 0, downs = 0;

	for (uint32_t i = 0; i < tried; i++) {
		ups += v[i + 1] > v[i];
		downs += v[i + 1] < v[i];
	}
	return ups * 4 > tried && downs * 4 < tried;
}

WW_FOR_EACH_CPU static void measure_steps(const uint64_t *v, uint32_t n, struct steps *ret)
{
	const uint32_t parts = parts_in(n);
	uint64_t most_first = v[0], most_min = 0;

	ret->least_first = v[0];
	ret->bytes = sizeof(struct head) + parts + PAD;
	for (uint32_t k = 0; k < parts; k++) {
		const uint64_t *p = v + k * WW_PACK_PART;
		const uint32_t rows = rows_of_part(n, k);
		int64_t min = rows > 1 ? INT64_MAX : 0, max = rows > 1 ? INT64_MIN : 0;

		for (uint32_t i = 1; i < rows; i++) {
			const int64_t step = (int64_t)(p[i] - p[i - 1]);
			min = WW_MIN(min, step);
			max = WW_MAX(max, step);
		}
		ret->min[k] = zigzag(min);
		ret->width[k] = (uint8_t)width_of((uint64_t)max - (uint64_t)min);
		ret->bytes += bytes_of(rows - 1, ret->width[k]);
		ret->least_first = WW_MIN(ret->least_first, p[0]);
		most_first = WW_MAX(most_first, p[0]);
		most_min = WW_MAX(most_min, ret->min[k]);
	}
	ret->first_width = width_of(most_first - ret->least_first);
	ret->min_width = width_of(most_min);
	ret->bytes += bytes_of(parts, ret->first_width) + bytes_of(parts, ret->min_width);
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

static uint8_t *put_part(uint8_t *p, const uint64_t *v, uint32_t n, const struct parts *m, uint32_t k)
{
	uint64_t code[WW_PACK_PART];

	if (!(m->width[k] & HOLES))
		return put_all(p, v, n, m->width[k], m->min[k]);
	for (uint32_t i = 0; i < n; i++)
		code[i] = v[i] == m->least ? 0 : v[i] - m->min[k] + 1;
	return put_all(p, code, n, m->width[k] & WIDTH_BITS, 0);
}

static uint32_t pack_parts(const uint64_t *v, uint32_t n, const struct parts *m, uint8_t *out)
{
	struct head h = {.kind = PARTS, .width = (uint8_t)width_of(m->most_base - m->least), .base = m->least};
	uint8_t *p = out + sizeof(h);

	memcpy(p, m->width, m->n);
	p = put_all(p + m->n, m->min, m->n, h.width, h.base);
	for (uint32_t k = 0; k < m->n; k++)
		p = put_part(p, v + k * WW_PACK_PART, rows_of_part(n, k), m, k);
	return finish(&h, out, p);
}

static uint32_t pack_steps(const uint64_t *v, uint32_t n, const struct steps *s, uint8_t *out)
{
	const uint32_t parts = parts_in(n);
	struct head h = {.kind = STEPS, .width = (uint8_t)s->first_width, .word_width = (uint8_t)s->min_width, .base = s->least_first};
	uint64_t first[WW_PACK_PARTS], step[WW_PACK_PART];
	uint8_t *p = out + sizeof(h);

	for (uint32_t k = 0; k < parts; k++)
		first[k] = v[k * WW_PACK_PART];
	memcpy(p, s->width, parts);
	p = put_all(p + parts, first, parts, h.width, h.base);
	p = put_all(p, s->min, parts, h.word_width, 0);
	for (uint32_t k = 0; k < parts; k++) {
		const uint64_t *from = v + k * WW_PACK_PART;
		const uint32_t rows = rows_of_part(n, k);

		for (uint32_t i = 1; i < rows; i++)
			step[i - 1] = from[i] - from[i - 1];
		p = put_all(p, step, rows - 1, s->width[k], unzigzag(s->min[k]));
	}
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
	struct steps s = {.bytes = SIZE_MAX};
	struct words w;

	WW_ASSERT(n && n <= WW_PACK_ROWS);
	measure(v, n, &m);
	if (ret_range)
		*ret_range = (struct ww_pack_range){m.least, m.max};
	const unsigned width = width_of(m.max - m.least);
	if (!width)
		return ww_pack_same(m.least, out);
	choose_widths(v, n, &m);
	const size_t flat = flat_bytes(n, width),
		     parts = sizeof(struct head) + m.n + bytes_of(m.n, width_of(m.most_base - m.least)) + m.bytes + PAD;
	if (rises(v, n))
		measure_steps(v, n, &s);
	const size_t steps = s.bytes < parts - parts / 8 ? s.bytes : SIZE_MAX, /* they take longer to unpack */
		     best = WW_MIN(WW_MIN(flat, parts), steps);
	const uint32_t limit = words_limit(n, width, best);

	if (limit && find_words(v, n, limit, &w) && words_bytes(n, w.n, width) < best) {
		struct head h = {.kind = WORDS, .width = (uint8_t)width_of(w.n - 1), .word_width = (uint8_t)width,
				 .words = w.n, .base = m.least};
		uint8_t *p = put_all(out + sizeof(h), w.value, w.n, width, m.least);
		return finish(&h, out, put_all(p, w.number, n, h.width, 0));
	}
	if (steps == best)
		return pack_steps(v, n, &s, out);
	if (parts < flat)
		return pack_parts(v, n, &m, out);
	struct head h = {.kind = FLAT, .width = (uint8_t)width, .base = m.least};
	return finish(&h, out, put_all(out + sizeof(h), v, n, width, m.least));
}

uint32_t ww_pack_small(const uint64_t *v, uint32_t n, uint8_t *out, struct ww_pack_range *ret_range)
{
	struct ww_pack_range range;
	const uint32_t bytes = ww_pack(v, n, out, &range), limit = bytes - bytes / 16;
	const uint32_t small = bytes > 4 * sizeof(struct head) ? ww_squeeze(v, n, range.min, rises(v, n), out, limit) : 0;

	if (ret_range)
		*ret_range = range;
	return small ? small : bytes;
}
