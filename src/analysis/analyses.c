/* analyses.c - the table of analyses whose answer is rows. docs/howto/add-analysis.md. */
#include "analysis/analysis.h"

extern const struct ww_analysis ww_analysis_threads, ww_analysis_syscalls;

const struct ww_analysis *const ww_analyses[] = {
	&ww_analysis_threads,
	&ww_analysis_syscalls,
	NULL,
};

const struct ww_analysis *ww_analysis_find(const char *name)
{
	for (const struct ww_analysis *const *a = ww_analyses; *a; a++)
		if (!strcmp((*a)->name, name))
			return *a;
	return NULL;
}
