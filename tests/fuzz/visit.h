/* visit.h - reads a trace to its end and touches every byte of every value, so that a sanitizer sees one that is
 * out of bounds. */
#ifndef FUZZ_VISIT_H
#define FUZZ_VISIT_H

#include "format/format.h"

static uint64_t visit_sum;

static void visit_begin(void *ctx, const char *name, bool array)
{
	(void)ctx;
	(void)array;
	visit_sum += name ? strlen(name) : 0;
}

static void visit_end(void *ctx)
{
	(void)ctx;
}

static void visit_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	(void)ctx;
	(void)name;
	(void)base;
	if (v->kind == WW_V_STR || v->kind == WW_V_BYTES)
		for (uint32_t i = 0; i < v->len; i++)
			visit_sum += (uint8_t)v->p[i];
	else
		visit_sum += v->u;
	visit_sum += label ? strlen(label) : 0;
}

static const struct ww_visitor visit_visitor = {visit_begin, visit_end, visit_value};

/* What the wanted values could be read of, the visitor can read. */
static inline void visit_all(struct ww_trace *t)
{
	struct ww_event ev;

	while (ww_trace_next(t, &ev, NULL) == 1) {
		for (uint32_t i = 0; i < ev.nval; i++)
			visit_value(NULL, NULL, &ev.v[i], NULL, 10);
		WW_ASSERT(ww_trace_visit(t, &ev, &visit_visitor, NULL, NULL) == 0);
	}
}

#endif
