/* facts_private.h - between the files of src/facts only. */
#ifndef WW_FACTS_PRIVATE_H
#define WW_FACTS_PRIVATE_H

#include "facts/facts.h"

void ww_facts_columns_release(struct ww_facts *f);
/* No fact has a row, not even state_more; for who reads them from a file. */
void ww_facts_forget_rows(struct ww_facts *f);

/* ---- facts_seal.c ---- */
/* Row numbers grouped by `key` (a thread or a CPU, < nkeys), by start within the group, into g.
 * Returns first[0 .. nkeys]: group k is rows first[k] .. first[k + 1] - 1; the caller frees it. NULL: a key is too large. */
uint32_t *ww_facts_group(struct ww_pages *g, const uint32_t *key, const int64_t *start, uint32_t n, uint32_t nkeys);
/* Sorts the states by (thread, start), on all threads; fills f->state_first. False: one names a thread that does not exist. */
bool ww_facts_sort_states(struct ww_facts *f);
/* By begin. */
void ww_facts_sort_interrupts(struct ww_facts *f);
/* By (thread, time). */
void ww_facts_sort_cgroup_moves(struct ww_facts *f);

/* ---- facts_openers.c ---- */
/* Fills packet.from_opener. */
void ww_facts_find_openers(struct ww_facts *f);

/* ---- slices.c ---- */
/* Leave the marks, of sorted states and of runs by CPU. */
void ww_facts_mark_states(struct ww_facts *f);
void ww_facts_mark_runs(struct ww_facts *f);
void ww_marks_release(struct ww_marks *m);

#endif
