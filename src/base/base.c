/* base.c - assertion failure and allocation that cannot fail. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>

_Noreturn void ww_assert_fail(const char *expr, const char *file, int line)
{
	fprintf(stderr, "whywait: %s:%d: assertion failed: %s\n", file, line, expr);
	abort();
}

static void *checked(void *p)
{
	if (WW_UNLIKELY(!p)) {
		fputs("whywait: out of memory\n", stderr);
		abort();
	}
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
