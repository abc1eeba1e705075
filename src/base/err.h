/* err.h - errors: a negative code as the return value, and a filled-in struct for the person.
 *
 * Convention in the whole program: int functions return 0 on success and a negative WW_E* code on
 * failure; `next` functions return 1 for a row, 0 at the end, negative on error. The last parameter
 * is `struct ww_err *err`, the caller's, may be NULL. It is filled once, where the offset is known.
 * Only src/cmd prints it.
 */
#ifndef WW_ERR_H
#define WW_ERR_H

#include "base/base.h"

enum ww_code {
	WW_OK = 0,
	WW_EIO = 1,      /* the operating system said no; message has errno's text */
	WW_ENOENT,       /* no such file, thread, event */
	WW_EFORMAT,      /* not a format that we read */
	WW_ECORRUPT,     /* it is the format, but damaged: err->offset says where */
	WW_ETRUNC,       /* it ends in the middle */
	WW_ELIMIT,       /* a count or size in the input is over a limit */
	WW_EUNSUPPORTED, /* valid, but a feature that we do not read */
	WW_ENOTHREAD,    /* the target is not in the trace */
	WW_EPERM,        /* privileges are missing */
	WW_EKERNEL,      /* the kernel lacks something that is needed */
	WW_EUSAGE,       /* wrong arguments */
	WW_EINTERNAL,
};

#define WW_ERR_NO_OFFSET UINT64_MAX

struct ww_err {
	int code;          /* positive enum ww_code, 0 when unset */
	char file[256];    /* path, "" when none */
	uint64_t offset;   /* byte offset in file; WW_ERR_NO_OFFSET when none */
	char message[400]; /* what is wrong, one sentence, no newline */
	char hint[300];    /* what to do about it; may be "" */
};

/* Fill err (may be NULL) and return -code. The first error wins: a filled err is left untouched. */
int ww_err_set(struct ww_err *err, int code, const char *file, uint64_t offset, const char *fmt, ...)
	WW_PRINTF(5, 6);
/* The same with strerror(errno) appended; code WW_EIO, or WW_ENOENT / WW_EPERM by errno. */
int ww_err_errno(struct ww_err *err, const char *file, const char *fmt, ...) WW_PRINTF(3, 4);
/* Adds what to do; returns err->code negated, so that `return ww_err_hint(...)` works. */
int ww_err_hint(struct ww_err *err, const char *fmt, ...) WW_PRINTF(2, 3);
void ww_err_clear(struct ww_err *err);
/* "file: offset 123: message. hint" into buf. */
void ww_err_format(const struct ww_err *err, char *buf, size_t size);
/* "corrupt", "truncated", ...: the token in JSON and tests. */
const char *ww_code_name(int code);

#endif
