/* place.h - where the program keeps what it found out about a trace: beside it, else in the user's cache directory.
 *
 * Nothing is ever written into a directory that its owner closed, though root could.
 */
#ifndef WW_PLACE_H
#define WW_PLACE_H

#include "base/base.h"

/* May and should files be made in this directory? */
bool ww_place_writable(const char *dir);
/* Creates the directories of a path, but not its last part; what is there already stays. */
void ww_place_make_parents(char *path);
/* $XDG_CACHE_HOME/whywait/KIND/HASH_OF_REAL.SUFFIX (or ~/.cache/...) into buf; false: nowhere, or too long.
 * in  real  an absolute path: equal paths have equal places */
bool ww_place_cache(const char *kind, const char *real, const char *suffix, char *buf, size_t size);
/* Removes files of this suffix (and half-written ones, SUFFIX.new) from the directory of `file`, those first that
 * were not used for longest (by their time of change), until what is there takes no more than `bytes` of the disk.
 * `file` itself stays, and what was begun within the last hour. What is not one's own regular file stays. */
void ww_place_prune(const char *file, const char *suffix, uint64_t bytes);
/* What a directory of the cache may take: WHYWAIT_CACHE_MB, else 4096 MB. */
uint64_t ww_place_cache_bytes(void);

#endif
