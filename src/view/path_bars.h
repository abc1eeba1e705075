/* path_bars.h - between the text views of the critical path: classes of segments, the bars over time. */
#ifndef WW_PATH_BARS_H
#define WW_PATH_BARS_H

#include "view/text.h"

enum ww_path_class { WW_PC_NONE, WW_PC_RUN, WW_PC_READY, WW_PC_DISK, WW_PC_TIMER, WW_PC_NET, WW_PC_WAIT, WW_PC_UNKNOWN, WW_PC_N };

extern const uint8_t ww_path_class_of_state[WW_ST_N]; /* WW_PC_NONE: the cause tells */
enum ww_path_class ww_path_class_of_cause(uint8_t cause);

/* Asked several times of every segment. */
static inline enum ww_path_class ww_path_class_of(const struct ww_segment *s)
{
	uint8_t c = s->state < WW_ST_N ? ww_path_class_of_state[s->state] : WW_PC_UNKNOWN;

	return c != WW_PC_NONE ? (enum ww_path_class)c : ww_path_class_of_cause(s->cause);
}

char ww_path_class_letter(enum ww_path_class c);

/* A line for each thread with its share of the path and when it had it. */
void ww_path_bars(struct ww_text *t, const struct ww_path *p, const struct ww_path_sum *sum);

#endif
