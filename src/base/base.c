/* base.c - assertion failure and allocation that cannot fail. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>

_Noreturn void ww_assert_fail(const char *expr, const char *file, int line)
{
	fprintf(stderr, "whywait: %s:%d: assertion failed: %s\n", file, line, expr);
	abort();
}

_Noreturn void ww_out_of_memory(void)
{
	fputs("whywait: out of memory\n", stderr);
	abort();
}

static void *checked(void *p)
{
	if (WW_UNLIKELY(!p))
		ww_out_of_memory();
	return p;
}

void *ww_xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *ww_xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *ww_xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

char *ww_xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *ww_xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return checked(s);
}

size_t ww_utf8_len(const char *text, size_t left)
{
	const uint8_t *s = (const uint8_t *)text;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	uint32_t c;

	if (!n || n > left)
		return 0;
	if (n == 1)
		return 1;
	c = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}
