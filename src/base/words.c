/* words.c - open addressing on rows, FNV-1a over the letters. */
#include "base/words.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of making slots */

static const char *word_at(const struct ww_words *w, size_t row)
{
	return *(const char *const *)((const char *)w->first + row * w->stride);
}

static size_t slots_count(const struct ww_words *w)
{
	return (size_t)1 << (64 - __builtin_clzll(w->n * 2));
}

/* The word's slot, or the free one where it would be. */
static size_t slot_of(const struct ww_words *w, const uint16_t *slots, const char *word)
{
	const size_t mask = slots_count(w) - 1;
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *s = word; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	size_t i = (h ^ (h >> 32)) & mask;
	while (slots[i] && strcmp(word_at(w, slots[i] - 1u), word))
		i = (i + 1) & mask;
	return i;
}

static const uint16_t *make_slots(struct ww_words *w)
{
	pthread_mutex_lock(&lock);
	const uint16_t *made = atomic_load(&w->slots);
	if (!made) {
		uint16_t *slots = ww_xcalloc(slots_count(w), sizeof(*slots));

		WW_ASSERT(w->n < UINT16_MAX);
		for (size_t row = 0; row < w->n; row++) {
			const char *word = word_at(w, row);
			uint16_t *slot = word ? &slots[slot_of(w, slots, word)] : NULL;

			if (slot && !*slot)
				*slot = (uint16_t)(row + 1);
		}
		atomic_store(&w->slots, made = slots);
	}
	pthread_mutex_unlock(&lock);
	return made;
}

int ww_words_find(struct ww_words *w, const char *word)
{
	const uint16_t *slots = atomic_load(&w->slots);

	if (!slots)
		slots = make_slots(w);
	return slots[slot_of(w, slots, word)] - 1;
}
