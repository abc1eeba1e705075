/* strtab.c - FNV-1a over the bytes, open addressing on ids, strings in an arena. */
#include "base/strtab.h"

static uint32_t hash(const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ (h >> 32));
}

static uint32_t slot_of(const struct ww_strtab *t, const char *s, size_t len)
{
	uint32_t i = hash(s, len) & (t->table_cap - 1);

	for (; t->table[i]; i = (i + 1) & (t->table_cap - 1)) {
		uint32_t id = t->table[i] - 1;

		if (t->lens[id] == len && !memcmp(t->strs[id], s, len))
			break;
	}
	return i;
}

static void grow_table(struct ww_strtab *t)
{
	t->table_cap = t->table_cap ? t->table_cap * 2 : 64;
	free(t->table);
	t->table = ww_xcalloc(t->table_cap, sizeof(*t->table));
	for (uint32_t id = 0; id < t->n; id++)
		t->table[slot_of(t, t->strs[id], t->lens[id])] = id + 1;
}

void ww_strtab_init(struct ww_strtab *t)
{
	*t = (struct ww_strtab){0};
	ww_arena_init(&t->mem);
	ww_strtab_intern(t, "", 0);
}

void ww_strtab_release(struct ww_strtab *t)
{
	ww_arena_release(&t->mem);
	free(t->strs);
	free(t->lens);
	free(t->table);
	*t = (struct ww_strtab){0};
}

uint32_t ww_strtab_intern(struct ww_strtab *t, const char *s, size_t len)
{
	WW_ASSERT(len < UINT32_MAX && t->n < UINT32_MAX - 1);
	if ((t->n + 1) * 2 > t->table_cap)
		grow_table(t);
	uint32_t i = slot_of(t, s, len);

	if (t->table[i])
		return t->table[i] - 1;
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->strs = ww_xrealloc(t->strs, t->cap * sizeof(*t->strs));
		t->lens = ww_xrealloc(t->lens, t->cap * sizeof(*t->lens));
	}
	t->strs[t->n] = ww_arena_strndup(&t->mem, s, len);
	t->lens[t->n] = (uint32_t)len;
	t->table[i] = ++t->n;
	return t->n - 1;
}

uint32_t ww_strtab_intern_cstr(struct ww_strtab *t, const char *s)
{
	return ww_strtab_intern(t, s, strlen(s));
}

uint32_t ww_strtab_find(const struct ww_strtab *t, const char *s)
{
	if (!t->table_cap)
		return WW_NONE;
	uint32_t i = slot_of(t, s, strlen(s));

	return t->table[i] ? t->table[i] - 1 : WW_NONE;
}

const char *ww_strtab_get(const struct ww_strtab *t, uint32_t id)
{
	return id < t->n ? t->strs[id] : "";
}
