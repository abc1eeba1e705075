/* pieces.h - a clock over another one where its speed changes: a line that bends.
 *
 *   ww_points line = {0};  int64_t bound;
 *   if (ww_pieces_find(messages, n, 0, end, &line, &bound)) ... ww_bent_apply(&line, x) ...   ww_vec_free(&line);
 *
 * Where no single line satisfies all messages (hull.h), a clock was slewed (NTP) and the truth is a line that bends
 * somewhere. The first piece goes as far as one line can. The extreme line that the message which breaks it rules out
 * touches a hull at a last point; from there on the next piece begins, so that the whole has no steps, and every
 * message is satisfied:
 *
 *      y |                     u          one line cannot pass below the last u and above the l before it:
 *        |          u    l  ,-'           the flattest one that satisfied all until then bends at that l
 *        |      u  _l__,-'
 *        |   ,-'l
 *        +---------------- x
 *
 * assumes the clock was never faster or slower than the fastest and the slowest piece by more than these two differ;
 *         that is what the bound holds for
 */
#ifndef WW_PIECES_H
#define WW_PIECES_H

#include "clock/hull.h"

struct ww_message {
	int64_t x, y;
	bool received; /* WW_RECEIVED, else WW_SENT */
};

/* Through points, rising in both; beyond the ends as between the two next to them. At least 2 points. */
int64_t ww_bent_apply(const ww_points *line, int64_t x);
/* The line of the inverse; into `ret`, which is empty. */
void ww_bent_invert(const ww_points *line, ww_points *ret);
/* first, then second. */
void ww_bent_compose(const ww_points *first, const ww_points *second, ww_points *ret);

/* The straight line from its one end to the other. */
struct ww_fit ww_bent_chord(const ww_points *line);

/* in     messages by rising x; [from, to] is where the line is wanted
 * out    false: no clock that anybody would slew like that (a piece differs from the other clock's speed by more than
 *        a percent, or there are very many): it was set, or messages were matched wrongly */
bool ww_pieces_find(const struct ww_message *messages, size_t n, int64_t from, int64_t to, ww_points *ret_line,
		    int64_t *ret_bound_ns);

#endif
