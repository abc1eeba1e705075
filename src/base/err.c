/* err.c - filling and printing struct ww_err. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const code_names[] = {
	[WW_OK] = "ok",
	[WW_EIO] = "io",
	[WW_ENOENT] = "not-found",
	[WW_EFORMAT] = "unknown-format",
	[WW_ECORRUPT] = "corrupt",
	[WW_ETRUNC] = "truncated",
	[WW_ELIMIT] = "over-limit",
	[WW_EUNSUPPORTED] = "unsupported",
	[WW_ENOTHREAD] = "no-such-thread",
	[WW_EPERM] = "not-permitted",
	[WW_EKERNEL] = "kernel-lacks",
	[WW_EUSAGE] = "usage",
	[WW_EINTERNAL] = "internal",
};

const char *ww_code_name(int code)
{
	if (code < 0)
		code = -code;
	return (size_t)code < WW_ARRAY_SIZE(code_names) ? code_names[code] : "unknown";
}

static void fill(struct ww_err *err, int code, const char *file, uint64_t offset, const char *fmt,
		 va_list ap)
{
	if (!err || err->code)
		return;
	err->code = code;
	err->offset = offset;
	snprintf(err->file, sizeof(err->file), "%s", file ? file : "");
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	err->hint[0] = 0;
}

int ww_err_set(struct ww_err *err, int code, const char *file, uint64_t offset, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, file, offset, fmt, ap);
	va_end(ap);
	return -code;
}

static int code_of_errno(int e)
{
	switch (e) {
	case ENOENT:
	case ENOTDIR:
		return WW_ENOENT;
	case EPERM:
	case EACCES:
		return WW_EPERM;
	default:
		return WW_EIO;
	}
}

int ww_err_errno(struct ww_err *err, const char *file, const char *fmt, ...)
{
	int saved = errno, code = code_of_errno(saved);
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ww_err_set(err, code, file, WW_ERR_NO_OFFSET, "%s: %s", text, strerror(saved));
}

int ww_err_hint(struct ww_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -WW_EINTERNAL;
	va_start(ap, fmt);
	if (!err->hint[0])
		vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -err->code;
}

void ww_err_clear(struct ww_err *err)
{
	if (err)
		*err = (struct ww_err){.offset = WW_ERR_NO_OFFSET};
}

void ww_err_format(const struct ww_err *err, char *buf, size_t size)
{
	char where[320] = "";

	if (err->file[0] && err->offset != WW_ERR_NO_OFFSET)
		snprintf(where, sizeof(where), "%s: offset %" PRIu64 ": ", err->file, err->offset);
	else if (err->file[0])
		snprintf(where, sizeof(where), "%s: ", err->file);
	snprintf(buf, size, "%s%s%s%s", where, err->message, err->hint[0] ? "; " : "", err->hint);
}
