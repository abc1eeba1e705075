/* words.h - which row of a constant table has a word, by hash: for tables that are searched for each of a thousand
 * event classes at every start.
 *
 *   static const struct row { int kind; const char *name; } table[] = {...};
 *   static struct ww_words names = WW_WORDS(table, table[0].name);
 *   int row = ww_words_find(&names, "futex");
 */
#ifndef WW_WORDS_H
#define WW_WORDS_H

#include <stdatomic.h>

#include "base/base.h"

struct ww_words {
	const char *const *first;
	size_t n, stride; /* bytes from one word to the next */
	/* Made by the first search, of whatever thread: a row + 1; 0 free. */
	_Atomic(const uint16_t *) slots;
};

/* word0: the word in the table's first row. Rows may have NULL. */
#define WW_WORDS(table, word0) {.first = &(word0), .n = WW_ARRAY_SIZE(table), .stride = sizeof((table)[0])}

/* The first row that has the word; -1 none. */
int ww_words_find(struct ww_words *w, const char *word);

#endif
