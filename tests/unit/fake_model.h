/* fake_model.h - the facts that the model makes of a trace in memory. */
#ifndef WW_FAKE_MODEL_H
#define WW_FAKE_MODEL_H

#include "../tap.h"
#include "fake_trace.h"
#include "model/model.h"

/* The test ends when the model fails. without: as ww_model_opts.without, may be NULL; ww_facts_release(f) when done. */
static void fake_model(struct fake *k, const char *const *without, struct ww_facts *f)
{
	struct ww_model_opts o = {.without = without};
	struct ww_err err = {0};

	ww_facts_init(f);
	TAP_NEED(ww_model_run(fake_open(k), &o, f, &err) == 0, "the model runs: %s", err.message);
}

#endif
