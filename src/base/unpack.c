/* unpack.c - packed blocks -> values. The bytes are not trusted: what is no block of that many values is refused. */
#include "base/pack_private.h"

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

static struct head head_of(const uint8_t *p)
{
	struct head h;

	memcpy(&h, p, sizeof(h));
	return h;
}

/* less: 1 for steps, of which there is one less than rows. */
static size_t bits_of_parts(const uint8_t *widths, uint32_t n, uint32_t parts, uint32_t less)
{
	size_t bytes = 0;

	for (uint32_t k = 0; k < parts; k++)
		bytes += bytes_of(rows_of_part(n, k) - less, widths[k] & WIDTH_BITS);
	return bytes;
}

static bool are_widths(const uint8_t *widths, uint32_t parts, uint8_t mask)
{
	for (uint32_t k = 0; k < parts; k++)
		if ((widths[k] & mask) > 64)
			return false;
	return true;
}

static bool is_block(const uint8_t *p, size_t bytes, uint32_t n)
{
	if (bytes < sizeof(struct head) || !n || n > WW_PACK_ROWS)
		return false;
	const struct head h = head_of(p);
	const uint8_t *widths = p + sizeof(h);
	const uint32_t parts = parts_in(n);

	if (h.width > 64)
		return false;
	switch (h.kind) {
	case FLAT:
		return flat_bytes(n, h.width) <= bytes;
	case PARTS:
		return sizeof(h) + parts <= bytes && are_widths(widths, parts, WIDTH_BITS) &&
		       sizeof(h) + parts + bytes_of(parts, h.width) + bits_of_parts(widths, n, parts, 0) + PAD <= bytes;
	case STEPS:
		return sizeof(h) + parts <= bytes && are_widths(widths, parts, UINT8_MAX) && h.word_width <= 64 &&
		       sizeof(h) + parts + bytes_of(parts, h.width) + bytes_of(parts, h.word_width) +
				       bits_of_parts(widths, n, parts, 1) + PAD <= bytes;
	case WORDS:
		return h.words && h.words <= WW_PACK_WORDS && h.word_width <= 64 && h.width == width_of(h.words - 1) &&
		       words_bytes(n, h.words, h.word_width) <= bytes;
	case SQUEEZED:
		return h.width && h.width <= 8 && h.word_width <= 1 && h.words <= bytes - sizeof(h);
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

/* Codes of a part with holes -> values. */
WW_FOR_EACH_CPU static void fill_holes(uint64_t *v, uint32_t n, uint64_t base, uint64_t least)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = v[i] ? v[i] + base - 1 : least;
}

static void unpack_parts(const uint8_t *p, const struct head *h, uint32_t n, uint32_t first, uint32_t count, uint64_t *ret)
{
	const uint8_t *widths = p, *bits = p + parts_in(n) + bytes_of(parts_in(n), h->width);
	const uint32_t end = first + count;
	uint64_t base[WW_PACK_PARTS];

	get_all(widths + parts_in(n), parts_in(n), h->width, h->base, base);
	for (uint32_t k = 0, row = 0; row < end; k++, row += WW_PACK_PART) {
		const uint32_t rows = rows_of_part(n, k), from = WW_MAX(row, first), to = WW_MIN(row + rows, end);
		const unsigned width = widths[k] & WIDTH_BITS;
		const bool holes = widths[k] & HOLES;

		if (from < to)
			get_from(bits, from - row, to - from, width, holes ? 0 : base[k], ret + (from - first));
		if (from < to && holes)
			fill_holes(ret + (from - first), to - from, base[k], h->base);
		bits += bytes_of(rows, width);
	}
}

/* `count` values of a part, from `from` on. */
static void sum_steps(const uint8_t *bits, unsigned width, uint64_t first, uint64_t min, uint32_t from, uint32_t count, uint64_t *ret)
{
	uint64_t step[WW_PACK_PART], v = first;

	get_all(bits, from + count - 1, width, min, step);
	for (uint32_t i = 0; i < from; i++)
		v += step[i];
	ret[0] = v;
	for (uint32_t i = 1; i < count; i++)
		ret[i] = v += step[from + i - 1];
}

static void unpack_steps(const uint8_t *p, const struct head *h, uint32_t n, uint32_t first, uint32_t count, uint64_t *ret)
{
	const uint32_t parts = parts_in(n), end = first + count;
	const uint8_t *widths = p, *firsts = p + parts, *mins = firsts + bytes_of(parts, h->width),
		      *bits = mins + bytes_of(parts, h->word_width);
	uint64_t value[WW_PACK_PARTS], min[WW_PACK_PARTS];

	get_all(firsts, parts, h->width, h->base, value);
	get_all(mins, parts, h->word_width, 0, min);
	for (uint32_t k = 0, row = 0; row < end; k++, row += WW_PACK_PART) {
		const uint32_t rows = rows_of_part(n, k), from = WW_MAX(row, first), to = WW_MIN(row + rows, end);

		if (from < to)
			sum_steps(bits, widths[k], value[k], unzigzag(min[k]), from - row, to - from, ret + (from - first));
		bits += bytes_of(rows - 1, widths[k]);
	}
}

/* base + width bits */
static void widen_bounds(struct ww_pack_range *b, uint64_t base, unsigned width)
{
	const uint64_t most = base + mask_of(width);

	b->min = most < base ? 0 : WW_MIN(b->min, base);
	b->max = most < base ? UINT64_MAX : WW_MAX(b->max, most);
}

bool ww_pack_is_squeezed(const uint8_t *p, size_t bytes)
{
	return bytes >= sizeof(struct head) && head_of(p).kind == SQUEEZED;
}

bool ww_pack_bounds(const uint8_t *p, size_t bytes, uint32_t n, struct ww_pack_range *ret)
{
	uint64_t base[WW_PACK_PARTS];

	if (!is_block(p, bytes, n))
		return false;
	const struct head h = head_of(p);
	p += sizeof(h);
	*ret = (struct ww_pack_range){UINT64_MAX, 0};
	if (h.kind == STEPS || h.kind == SQUEEZED) { /* it tells nothing */
		*ret = (struct ww_pack_range){0, UINT64_MAX};
	} else if (h.kind == PARTS) {
		get_all(p + parts_in(n), parts_in(n), h.width, h.base, base);
		for (uint32_t k = 0; k < parts_in(n); k++)
			widen_bounds(ret, base[k], p[k] & WIDTH_BITS);
		widen_bounds(ret, h.base, 0); /* holes */
	} else {
		widen_bounds(ret, h.base, h.kind == WORDS ? h.word_width : h.width);
	}
	return true;
}

static bool unpack_squeezed(const uint8_t *p, const struct head *h, uint32_t n, uint32_t first, uint32_t count, uint64_t *ret)
{
	uint64_t all[WW_PACK_ROWS];

	if (count == n)
		return ww_unsqueeze(p, h, n, ret);
	if (!ww_unsqueeze(p, h, n, all))
		return false;
	memcpy(ret, all + first, count * sizeof(*ret));
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
	if (h.kind == SQUEEZED)
		return unpack_squeezed(p, &h, n, first, count, ret);
	if (h.kind == FLAT)
		get_from(p, first, count, h.width, h.base, ret);
	else if (h.kind == STEPS)
		unpack_steps(p, &h, n, first, count, ret);
	else
		unpack_parts(p, &h, n, first, count, ret);
	return true;
}

bool ww_unpack(const uint8_t *p, size_t bytes, uint32_t n, uint64_t *ret)
{
	return ww_unpack_some(p, bytes, n, 0, n, ret);
}
