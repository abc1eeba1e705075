/* find.h - which trace does a path hold? By content; only format.c asks. */
#ifndef WW_FORMAT_FIND_H
#define WW_FORMAT_FIND_H

#include "format/format.h"

struct ww_found {
	const struct ww_format *fmt;
	char *path; /* heap: the path, or a file somewhere below it */
};

/* ww_trace_find - the one trace at or below `path`, which exists.
 *
 * A directory is a CTF trace, or holds one trace.dat or perf.data by whatever name, perhaps some folders further down.
 * error  -WW_EFORMAT none; -WW_EUNSUPPORTED several, which the hint names. On error *ret is untouched */
int ww_trace_find(const char *path, struct ww_found *ret, struct ww_err *err);

#endif
