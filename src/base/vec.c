/* vec.c - the one function behind the vector macros. */
#include "base/vec.h"

void *ww_vec_grow_(void *v, size_t *cap, size_t need, size_t elem_size)
{
	size_t n = *cap ? *cap : 8;

	while (n < need) {
		WW_ASSERT(n <= SIZE_MAX / 2);
		n *= 2;
	}
	WW_ASSERT(n <= SIZE_MAX / elem_size);
	*cap = n;
	return ww_xrealloc(v, n * elem_size);
}
