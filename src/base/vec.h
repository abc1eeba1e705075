/* vec.h - a growable array of any type.
 *
 *   WW_VEC(struct row) rows = {0}; *ww_vec_push(&rows) = r; rows.v[i]; rows.n; ww_vec_free(&rows);
 * ww_vec_push returns a pointer to the new, zeroed element; it moves when the vector grows.
 */
#ifndef WW_VEC_H
#define WW_VEC_H

#include "base/base.h"

#define WW_VEC(type)    \
	struct {        \
		type *v; \
		size_t n, cap; \
	}

void *ww_vec_grow_(void *v, size_t *cap, size_t need, size_t elem_size);

#define ww_vec_reserve(vec, need)                                                                  \
	((void)((need) > (vec)->cap                                                                \
			? ((vec)->v = ww_vec_grow_((vec)->v, &(vec)->cap, (need), sizeof(*(vec)->v)), 0) \
			: 0))
#define ww_vec_push(vec)                                                                           \
	(ww_vec_reserve((vec), (vec)->n + 1),                                                      \
	 (__typeof__((vec)->v))memset(&(vec)->v[(vec)->n++], 0, sizeof(*(vec)->v)))
#define ww_vec_clear(vec) ((void)((vec)->n = 0))
#define ww_vec_free(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0, (void)0)

#endif
