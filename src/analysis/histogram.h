/* histogram.h - durations in buckets of powers of two microseconds, as bcc's histograms draw them, as a table's rows.
 *
 *   struct ww_histogram h = {0};  ww_histogram_add(&h, ns); ...  ww_histogram_table(mem, f, analysis, &h, ret);
 * The analysis has ww_histogram_columns. Rows: from the first bucket in use to the last one, empty ones between.
 */
#ifndef WW_HISTOGRAM_H
#define WW_HISTOGRAM_H

#include "analysis/analysis.h"

#define WW_HISTOGRAM_BUCKETS 40 /* the last one has all that is longer */
#define WW_HISTOGRAM_NCOLUMNS 4

struct ww_histogram {
	uint32_t counts[WW_HISTOGRAM_BUCKETS];
};

/* from_ns, to_ns, count, bar; `what` and `doc` are those of the count. */
#define WW_HISTOGRAM_COLUMNS(what, doc)                                                                          \
	{"from_ns", "from", WW_T_DUR, ""}, {"to_ns", "below", WW_T_DUR, ""}, {"count", what, WW_T_COUNT, doc},   \
	{"bar", "", WW_T_STR, "a star for a fortieth of the most frequent one's"}

void ww_histogram_add(struct ww_histogram *h, int64_t ns);
void ww_histogram_table(struct ww_arena *mem, const struct ww_facts *f, const struct ww_analysis *a,
			const struct ww_histogram *h, struct ww_table *ret);

#endif
