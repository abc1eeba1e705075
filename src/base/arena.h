/* arena.h - memory with one lifetime: allocate often, free all at once.
 *
 *   struct ww_arena a; ww_arena_init(&a); p = ww_arena_alloc(&a, n); ww_arena_release(&a);
 * Memory is zeroed, 16-byte aligned, valid until ww_arena_reset or ww_arena_release.
 */
#ifndef WW_ARENA_H
#define WW_ARENA_H

#include "base/base.h"

struct ww_arena_block;
struct ww_arena {
	struct ww_arena_block *head;
	size_t used_bytes; /* handed out since init or reset */
};

void ww_arena_init(struct ww_arena *a);
void ww_arena_release(struct ww_arena *a);
void ww_arena_reset(struct ww_arena *a);
/* What `from` holds is a's from now on, and stays where it is; `from` is empty. */
void ww_arena_adopt(struct ww_arena *a, struct ww_arena *from);
/* Memory of malloc that is the arena's from now on, and is freed with it; not counted in used_bytes. NULL is nothing. */
void ww_arena_own(struct ww_arena *a, void *p);
void *ww_arena_alloc(struct ww_arena *a, size_t bytes);
char *ww_arena_strdup(struct ww_arena *a, const char *s);
char *ww_arena_strndup(struct ww_arena *a, const char *s, size_t n);
char *ww_arena_printf(struct ww_arena *a, const char *fmt, ...) WW_PRINTF(2, 3);

#define WW_ARENA_NEW(a, type) ((type *)ww_arena_alloc((a), sizeof(type)))
#define WW_ARENA_ARRAY(a, type, n) ((type *)ww_arena_alloc((a), sizeof(type) * (size_t)(n)))

#endif
