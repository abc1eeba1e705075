/* facts_private.h - between the files of src/facts only. */
#ifndef WW_FACTS_PRIVATE_H
#define WW_FACTS_PRIVATE_H

#include "facts/facts.h"

void ww_facts_columns_release(struct ww_facts *f);
/* No fact has a row, not even state_more; for who reads them from a file. */
void ww_facts_forget_rows(struct ww_facts *f);

/* ---- facts_seal.c ---- */
/* Row numbers grouped by `key` (a thread or a CPU, < nkeys), by start within the group, into g.
 * Returns first[0 .. nkeys]: group k is rows first[k] .. first[k + 1] - 1; the caller frees it. */
uint32_t *ww_facts_group(struct ww_pages *g, const uint32_t *key, const int64_t *start, uint32_t n, uint32_t nkeys);
/* Sorts the states by (thread, start), their columns in parallel; fills f->state_first. */
void ww_facts_sort_states(struct ww_facts *f);
/* By begin. */
void ww_facts_sort_interrupts(struct ww_facts *f);
/* By (thread, time). */
void ww_facts_sort_cgroup_moves(struct ww_facts *f);

/* ---- facts_openers.c ---- */
/* Fills packet.from_opener. */
void ww_facts_find_openers(struct ww_facts *f);

/* ---- slices.c ---- */
/* Leaves the marks; the rest is sealed. */
void ww_facts_mark(struct ww_facts *f);
void ww_marks_release(struct ww_marks *m);

#endif
