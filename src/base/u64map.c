/* u64map.c - linear probing with backward-shift deletion (Knuth, TAOCP 3, 6.4, algorithm R). */
#include "base/u64map.h"

/* The finaliser of SplitMix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

uint64_t ww_hash_mix(uint64_t a, uint64_t b)
{
	return mix(a + 0x9e3779b97f4a7c15u * (mix(b) | 1));
}

void ww_u64map_release(struct ww_u64map *m)
{
	free(m->slots);
	*m = (struct ww_u64map){0};
}

void ww_u64map_clear(struct ww_u64map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->n = 0;
	m->has_zero = false;
}

/* Where the key is, or would be. */
static struct ww_u64map_slot *probe(const struct ww_u64map *m, uint64_t key)
{
	size_t i = mix(key) & (m->cap - 1);

	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

uint64_t *ww_u64map_find(const struct ww_u64map *m, uint64_t key)
{
	if (!key)
		return m->has_zero ? (uint64_t *)&m->zero : NULL;
	if (!m->cap)
		return NULL;
	struct ww_u64map_slot *s = probe(m, key);
	return s->key ? &s->value : NULL;
}

static void grow(struct ww_u64map *m)
{
	const struct ww_u64map old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->slots = ww_xcalloc(m->cap, sizeof(*m->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].key)
			*probe(m, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

static uint64_t *get_zero(struct ww_u64map *m, uint64_t init, bool *ret_new)
{
	*ret_new = !m->has_zero;
	if (*ret_new) {
		m->has_zero = true;
		m->zero = init;
		m->n++;
	}
	return &m->zero;
}

uint64_t *ww_u64map_get(struct ww_u64map *m, uint64_t key, uint64_t init, bool *ret_new)
{
	bool unused, *is_new = ret_new ? ret_new : &unused;

	if (!key)
		return get_zero(m, init, is_new);
	if ((m->n + 1) * 4 > m->cap * 3)
		grow(m);
	struct ww_u64map_slot *s = probe(m, key);
	*is_new = !s->key;
	if (*is_new) {
		*s = (struct ww_u64map_slot){.key = key, .value = init};
		m->n++;
	}
	return &s->value;
}

void ww_u64map_put(struct ww_u64map *m, uint64_t key, uint64_t value)
{
	*ww_u64map_get(m, key, value, NULL) = value;
}

bool ww_u64map_del(struct ww_u64map *m, uint64_t key)
{
	uint64_t *value = ww_u64map_find(m, key);

	if (value)
		ww_u64map_del_found(m, value);
	return value != NULL;
}

void ww_u64map_del_found(struct ww_u64map *m, uint64_t *value)
{
	m->n--;
	if (value == &m->zero) {
		m->has_zero = false;
		return;
	}
	const struct ww_u64map_slot *s = (const void *)((char *)value - offsetof(struct ww_u64map_slot, value));
	size_t mask = m->cap - 1, hole = (size_t)(s - m->slots);

	for (size_t i = (hole + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
		size_t home = mix(m->slots[i].key) & mask;

		/* Move i into the hole unless its home lies cyclically in (hole, i]. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].key = 0;
}
