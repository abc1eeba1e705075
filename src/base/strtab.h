/* strtab.h - interned strings: equal strings have equal u32 ids.
 *
 * Id 0 is "". Strings stay valid and unmoved until release.
 */
#ifndef WW_STRTAB_H
#define WW_STRTAB_H

#include "base/arena.h"

struct ww_strtab {
	struct ww_arena mem;
	const char **strs;
	uint32_t *lens;
	uint32_t n, cap;
	uint32_t *table; /* ids + 1, open addressing */
	uint32_t table_cap;
};

void ww_strtab_init(struct ww_strtab *t);
void ww_strtab_release(struct ww_strtab *t);
uint32_t ww_strtab_intern(struct ww_strtab *t, const char *s, size_t len);
uint32_t ww_strtab_intern_cstr(struct ww_strtab *t, const char *s);
/* Id of the string when it is interned already, else WW_NONE. */
uint32_t ww_strtab_find(const struct ww_strtab *t, const char *s);
const char *ww_strtab_get(const struct ww_strtab *t, uint32_t id);

#endif
