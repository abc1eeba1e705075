/* doctor.h - what this kernel lets this user record, and what to do about what it does not.
 *
 * Each check looks at one thing and gives one row; nothing is changed: our programs are loaded, which tells the
 * truth about this kernel, but not attached, and closed again.
 */
#ifndef WW_DOCTOR_H
#define WW_DOCTOR_H

#include "base/base.h"

enum ww_doctor_level {
	WW_DOCTOR_OK,
	WW_DOCTOR_NOTE, /* recording works, something is missing or slower */
	WW_DOCTOR_BAD,  /* recording does not work */
};

struct ww_doctor_row {
	const char *id; /* token: "user", "btf", ... */
	enum ww_doctor_level level;
	char found[300];
	char todo[300]; /* "" when there is nothing to do */
};

#define WW_DOCTOR_MAX 24

struct ww_doctor {
	struct ww_doctor_row rows[WW_DOCTOR_MAX];
	uint32_t n;
	bool can_record; /* no row is BAD */
};

void ww_doctor_examine(struct ww_doctor *ret);
const char *ww_doctor_level_name(enum ww_doctor_level l); /* "ok", "note", "bad" */

#endif
