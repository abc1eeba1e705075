/* classes.h - every event that a recording may hold: id, name and the fields as TSDL text.
 *
 * The shapes whose name LTTng knows are LTTng's own, copied from the metadata of its kernel tracer
 * 2.13; the ids are ours, compact, and fixed at build time. `body` is what stands between
 * "fields := struct {" and "};": a member a line, not indented, "" for no fields.
 */
#ifndef WW_CLASSES_H
#define WW_CLASSES_H

#include "base/base.h"

struct ww_class {
	uint16_t id; /* in the event header */
	const char *name;
	const char *body;
};

extern const struct ww_class ww_classes[];
extern const size_t ww_classes_count;

/* NULL when there is none. */
const struct ww_class *ww_class_find(const char *name);

#endif
