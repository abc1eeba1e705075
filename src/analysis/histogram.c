/* histogram.c - bucket b > 0 is [2^(b-1), 2^b) us, bucket 0 what is shorter than one. */
#include "analysis/histogram.h"
#include "analysis/rows.h"

#define BAR "****************************************"

void ww_histogram_add(struct ww_histogram *h, int64_t ns)
{
	const uint64_t us = (uint64_t)WW_MAX(ns, 0) / 1000;

	h->counts[us ? WW_MIN(64 - (uint32_t)__builtin_clzll(us), WW_HISTOGRAM_BUCKETS - 1u) : 0]++;
}

void ww_histogram_table(struct ww_arena *mem, const struct ww_facts *f, const struct ww_analysis *a,
			const struct ww_histogram *h, struct ww_table *ret)
{
	uint32_t first = WW_HISTOGRAM_BUCKETS, last = 0, most = 1;

	WW_ASSERT(a->ncolumns == WW_HISTOGRAM_NCOLUMNS);
	for (uint32_t b = 0; b < WW_HISTOGRAM_BUCKETS; b++) {
		if (!h->counts[b])
			continue;
		most = WW_MAX(most, h->counts[b]);
		first = WW_MIN(first, b);
		last = b;
	}
	const uint32_t n = first < WW_HISTOGRAM_BUCKETS ? last - first + 1 : 0;
	union ww_cell *c = ww_table_init(mem, ret, a, f, n);
	for (uint32_t b = first; b < first + n; b++, c += WW_HISTOGRAM_NCOLUMNS) {
		c[0].i = b ? 1000ll << (b - 1) : 0;
		c[1].i = 1000ll << b;
		c[2].i = h->counts[b];
		c[3].s = &BAR[sizeof(BAR) - 1 - (size_t)((uint64_t)(sizeof(BAR) - 1) * h->counts[b] / most)];
	}
}
