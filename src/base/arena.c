/* arena.c - blocks in a list, newest first; each at least 64 KiB. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#define BLOCK_BYTES (64u << 10)
#define ALIGN 16u

struct ww_arena_block {
	struct ww_arena_block *next;
	size_t size, used; /* of data */
	void *owned;       /* ww_arena_own: then size is 0 */
	_Alignas(ALIGN) uint8_t data[];
};

void ww_arena_init(struct ww_arena *a)
{
	*a = (struct ww_arena){0};
}

static void free_first(struct ww_arena *a)
{
	struct ww_arena_block *b = a->head;

	a->head = b->next;
	free(b->owned);
	free(b);
}

void ww_arena_release(struct ww_arena *a)
{
	while (a->head)
		free_first(a);
	a->used_bytes = 0;
}

/* Keeps the oldest block, so that a loop that resets does not go to malloc each time. */
void ww_arena_reset(struct ww_arena *a)
{
	while (a->head && (a->head->next || a->head->owned))
		free_first(a);
	if (a->head) {
		memset(a->head->data, 0, a->head->used);
		a->head->used = 0;
	}
	a->used_bytes = 0;
}

void ww_arena_adopt(struct ww_arena *a, struct ww_arena *from)
{
	struct ww_arena_block **end = &a->head;

	while (*end)
		end = &(*end)->next;
	*end = from->head;
	a->used_bytes += from->used_bytes;
	*from = (struct ww_arena){0};
}

void ww_arena_own(struct ww_arena *a, void *p)
{
	if (!p)
		return;
	struct ww_arena_block *b = ww_xcalloc(1, sizeof(*b));

	b->owned = p;
	if (a->head) { /* behind the block that is being filled */
		b->next = a->head->next;
		a->head->next = b;
	} else {
		a->head = b;
	}
}

void *ww_arena_alloc(struct ww_arena *a, size_t bytes)
{
	size_t need = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	struct ww_arena_block *b = a->head;

	WW_ASSERT(need >= bytes);
	if (!b || b->size - b->used < need) {
		size_t size = WW_MAX(need, (size_t)BLOCK_BYTES - sizeof(*b));

		b = ww_xcalloc(1, sizeof(*b) + size);
		b->size = size;
		b->next = a->head;
		a->head = b;
	}
	void *p = b->data + b->used;
	b->used += need;
	a->used_bytes += need;
	return p;
}

char *ww_arena_strndup(struct ww_arena *a, const char *s, size_t n)
{
	char *p = ww_arena_alloc(a, n + 1);

	memcpy(p, s, n);
	return p;
}

char *ww_arena_strdup(struct ww_arena *a, const char *s)
{
	return ww_arena_strndup(a, s, strlen(s));
}

char *ww_arena_printf(struct ww_arena *a, const char *fmt, ...)
{
	char few[160]; /* most need not be formatted twice */
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(few, sizeof(few), fmt, ap);
	va_end(ap);
	WW_ASSERT(n >= 0);
	char *p = ww_arena_alloc(a, (size_t)n + 1);
	if ((size_t)n < sizeof(few))
		memcpy(p, few, (size_t)n);
	else
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}
