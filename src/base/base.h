/* base.h - the few things C lacks, included by every file.
 *
 * Assertions, compiler hints, small integer helpers. Nothing here knows about traces.
 */
#ifndef WW_BASE_H
#define WW_BASE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WW_LIKELY(x)   __builtin_expect(!!(x), 1)
#define WW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WW_ALWAYS_INLINE inline __attribute__((always_inline)) /* of a hot loop: measured to gain */
#define WW_PRINTF(a, b) __attribute__((format(printf, a, b)))
#define WW_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define WW_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WW_MAX(a, b) ((a) > (b) ? (a) : (b))

/* The line will be written: it is taken from the CPU that has it before it is needed. Harmless wherever it is. */
static inline void ww_prefetch_write(const void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p)); /* the builtin asks for a line to write only with -mprfchw */
#else
	__builtin_prefetch(p, 1);
#endif
}

/* "None" for every dense u32 index and id in the program. */
#define WW_NONE UINT32_MAX

_Noreturn void ww_out_of_memory(void);
_Noreturn void ww_assert_fail(const char *expr, const char *file, int line);

/* WW_ASSERT is for programming errors and is always on; WW_DASSERT is for hot paths. */
#define WW_ASSERT(x) (WW_LIKELY(x) ? (void)0 : ww_assert_fail(#x, __FILE__, __LINE__))
#ifdef WW_DEBUG
#define WW_DASSERT(x) WW_ASSERT(x)
#else
#define WW_DASSERT(x) ((void)0)
#endif

/* Allocation that ends the process when memory is exhausted: the sizes passed here are bounded by
 * limits that the parsers check first, so running out is not something a caller can mend. */
void *ww_xmalloc(size_t size);
void *ww_xcalloc(size_t n, size_t size);
void *ww_xrealloc(void *p, size_t size);
char *ww_xstrdup(const char *s);
char *ww_xasprintf(const char *fmt, ...) WW_PRINTF(1, 2);

/* Length of the valid UTF-8 sequence at the begin of so many bytes, 0 when there is none. */
size_t ww_utf8_len(const char *text, size_t left);

#endif
