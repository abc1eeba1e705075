/* facts_file.h - facts that last: one file a trace, packed, checksummed, believed only when all of it fits.
 *
 *   ww_facts_key_make(path, &key);                          before the trace is read
 *   if (ww_facts_open(&f, &key, file, &notes, &err))        not there, of another trace, damaged:
 *           ... make the facts of the trace ...  ww_facts_save(&f, &key, &notes, file, &err);
 *
 * The file is a cache and never the only copy of anything. Its layout: docs/facts.md.
 */
#ifndef WW_FACTS_FILE_H
#define WW_FACTS_FILE_H

#include "facts/facts.h"

/* What a facts file must have in common with a trace and this program to be of use. */
struct ww_facts_key {
	uint64_t trace;   /* names, sizes, times of change and first bytes of all files; of `metadata` every byte */
	uint64_t program; /* this build of the program: another one may make other facts */
	uint64_t layout;  /* names, types and order of all columns; how far marks are apart */
	uint64_t bytes;   /* of the trace */
};

/* Lines for the person that go with the facts (damage); the facts' own strings. */
struct ww_facts_notes {
	char **line;
	uint32_t n;
};
void ww_facts_notes_add(struct ww_facts_notes *n, const char *line);
void ww_facts_notes_release(struct ww_facts_notes *n);

/* Reads the trace's directory, and some of its files. error -WW_EIO, -WW_ENOENT, -WW_EPERM */
int ww_facts_key_make(const char *trace_path, struct ww_facts_key *ret, struct ww_err *err);
bool ww_facts_key_equal(const struct ww_facts_key *a, const struct ww_facts_key *b);

/* Where the facts of this trace are looked for, and may be written: a directory's in TRACE/.whywait/facts, a file's
 * in .whywait/NAME.facts beside it; `cache`, in the user's cache directory, where that cannot be. "" where there is
 * no such place. */
struct ww_facts_places {
	char *beside, *cache;
	bool write_beside; /* beside may be written, not only read */
};
void ww_facts_places_make(const char *trace_path, struct ww_facts_places *ret);
void ww_facts_places_release(struct ww_facts_places *p);

/* Writes sealed facts, all of them or nothing: a file of another name is renamed when it is on the disk. The
 * directory of the file is made.
 * error -WW_EIO (disk full ...), -WW_EPERM; -WW_ELIMIT facts that no reader would believe */
int ww_facts_save(const struct ww_facts *f, const struct ww_facts_key *key, const struct ww_facts_notes *notes,
		  const char *file, struct ww_err *err);

/* For columns that are unpacked only when they are read, which is when their damage is found. */
struct ww_facts_again {
	/* Makes the same facts again, from the trace; what was read of the damaged ones until then was right. Called on a
	 * thread of its own, while another one waits for a row. When it cannot (ww_facts_same_shape) it does not return. */
	void (*make)(void *ctx, const struct ww_facts *damaged, struct ww_facts *ret);
	void *ctx;
	uint64_t min_bytes; /* of all columns: smaller ones are unpacked, and checked, at once. 0: 64 MB */
	uint64_t budget_bytes; /* of unpacked rows in memory; 0: 48 MB, of all facts together */
};
/* As many rows of each fact, threads, CPUs and strings? */
bool ww_facts_same_shape(const struct ww_facts *a, const struct ww_facts *b);

/* Of facts that are unpacked when they are read: how many bytes of rows were, so far; 0 of others. What was given back and
 * came again counts twice. */
uint64_t ww_facts_unpacked_bytes(const struct ww_facts *f);

/* Fills f, which is initialised and empty, with sealed facts. On error f is still empty and initialised.
 * in    again  NULL: all is unpacked at once. Must outlive f
 * error -WW_ENOENT none there; -WW_EFORMAT of another trace, program or layout: to be made anew;
 *       -WW_ECORRUPT damaged, err says where; -WW_EPERM somebody else's, or no regular file
 * cost  of many rows: none until they are read, and then of 4096 rows of a column. No more unpacked rows are kept
 *       in memory than the budget allows */
int ww_facts_open(struct ww_facts *f, const struct ww_facts_key *key, const char *file, const struct ww_facts_again *again,
		  struct ww_facts_notes *ret_notes, struct ww_err *err);

#endif
