/* text.c - strings in UTF-16 and UTF-32 (CTF 2) -> UTF-8. */
#include "format/ctf/decode.h"

static uint32_t unit_at(uint8_t enc, const uint8_t *p)
{
	switch (enc) {
	case CTF_UTF16LE:
	case CTF_UTF16BE:
		return (uint32_t)ctf_bits_bytes(p, 16, enc == CTF_UTF16BE);
	case CTF_UTF32LE:
	case CTF_UTF32BE:
		return (uint32_t)ctf_bits_bytes(p, 32, enc == CTF_UTF32BE);
	default:
		return *p;
	}
}

uint64_t ctf_text_length(uint8_t enc, const uint8_t *p, uint64_t nbytes)
{
	unsigned unit = ctf_text_unit(enc);

	if (unit == 1) {
		const uint8_t *e = nbytes ? memchr(p, 0, nbytes) : NULL;
		return e ? (uint64_t)(e - p) : UINT64_MAX;
	}
	for (uint64_t i = 0; nbytes - i >= unit; i += unit)
		if (!unit_at(enc, p + i))
			return i;
	return UINT64_MAX;
}

static char *put_utf8(char *o, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		*o++ = (char)c;
	} else if (c < 0x800) {
		*o++ = (char)(0xc0 | c >> 6);
		*o++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*o++ = (char)(0xe0 | c >> 12);
		*o++ = (char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (char)(0x80 | (c & 0x3f));
	} else {
		*o++ = (char)(0xf0 | c >> 18);
		*o++ = (char)(0x80 | (c >> 12 & 0x3f));
		*o++ = (char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (char)(0x80 | (c & 0x3f));
	}
	return o;
}

struct ww_value ctf_text_convert(struct ww_arena *mem, uint8_t enc, const uint8_t *p, uint64_t nbytes)
{
	unsigned unit = ctf_text_unit(enc);
	uint64_t len = ctf_text_length(enc, p, nbytes), n = WW_MIN(len, nbytes) / unit;
	/* One unit of UTF-16 is at most 3 bytes, one of UTF-32 4. */
	char *text = ww_arena_alloc(mem, n * (unit == 2 ? 3 : 4) + 1), *o = text;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t c = unit_at(enc, p + i * unit), d;
		if (unit == 2 && c >= 0xd800 && c < 0xdc00 && i + 1 < n &&
		    (d = unit_at(enc, p + (i + 1) * unit)) >= 0xdc00 && d < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (d - 0xdc00);
			i++;
		}
		o = put_utf8(o, c);
	}
	return (struct ww_value){.p = text, .len = (uint32_t)(o - text), .kind = WW_V_STR};
}
