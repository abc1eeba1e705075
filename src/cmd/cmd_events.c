/* cmd_events.c - `whywait events`: the raw events, one a line. */
#include <fnmatch.h>
#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/event_print.h"
#include "cmd/load.h"
#include "cmd/when.h"

struct options {
	struct ww_opts common;
	bool offsets;
	const char *name; /* shell pattern */
	uint64_t limit;   /* 0: all */
};

enum { X_OFFSETS, X_NAME, X_LIMIT };

static const struct ww_opt_extra extra[] = {
	[X_OFFSETS] = {"offsets", 'o', NULL, "where each event stands: file and byte offset"},
	[X_NAME] = {"name", 'e', "PATTERN", "only events with such a name (sched_*, *_entry_read)"},
	[X_LIMIT] = {"limit", 'l', "N", "stop after N events"},
	{NULL, 0, NULL, NULL},
};

static bool on_extra(void *ctx, int index, const char *arg)
{
	struct options *o = ctx;
	char *end;

	if (index == X_OFFSETS)
		o->offsets = true;
	else if (index == X_NAME)
		o->name = arg;
	else if (index == X_LIMIT) {
		o->limit = strtoull(arg, &end, 10);
		return end != arg && !*end && *arg != '-' && o->limit;
	}
	return true;
}

struct run {
	const struct options *o;
	struct ww_trace *t;
	int64_t from_ts_ns, to_ts_ns;
	struct ww_json json;
	uint64_t shown;
};

/* Time of the first event: what +1.5s counts from. */
static int begin_of(const char *path, int64_t *ret, struct ww_err *err)
{
	struct ww_trace *t = NULL;
	struct ww_event ev;
	int rc = ww_trace_open(path, NULL, &t, err);

	if (rc)
		return rc;
	while ((rc = ww_trace_next(t, &ev, err)) == 1 && ev.cls == WW_CLS_GAP)
		;
	if (rc == 1)
		*ret = ev.ts_ns;
	ww_trace_close(t);
	return WW_MIN(rc, 0);
}

static int range(struct run *r, const char *path, struct ww_err *err)
{
	const struct ww_opts *o = &r->o->common;
	const int64_t offset = ww_event_offset_ns(ww_trace_info(r->t));
	int64_t begin = 0;
	int rc = 0;

	r->from_ts_ns = INT64_MIN;
	r->to_ts_ns = INT64_MAX;
	if (o->from || o->to)
		rc = begin_of(path, &begin, err);
	if (!rc && o->from)
		rc = ww_time_resolve(path, begin, offset, o->from, &r->from_ts_ns, err);
	if (!rc && o->to)
		rc = ww_time_resolve(path, begin, offset, o->to, &r->to_ts_ns, err);
	return rc;
}

static void json_head(struct run *r)
{
	const struct ww_trace_info *i = ww_trace_info(r->t);
	struct ww_json *j = &r->json;

	ww_json_init(j, stdout, false);
	ww_json_obj(j, NULL);
	ww_json_str(j, "whywait", "events");
	ww_json_i64(j, "version", 1);
	ww_json_str(j, "trace", i->path);
	ww_json_str(j, "format", i->format);
	ww_json_str(j, "host", i->hostname);
	ww_json_obj(j, "clock");
	ww_json_str(j, "name", i->clock.name);
	ww_json_i64(j, "offset_ns", ww_event_offset_ns(i));
	ww_json_bool(j, "epoch_known", i->clock.epoch_known);
	ww_json_end(j);
	ww_json_arr(j, "events");
}

static void json_tail(struct run *r)
{
	const struct ww_trace_stats *st = ww_trace_stats(r->t);
	struct ww_json *j = &r->json;

	ww_json_end(j);
	ww_json_obj(j, "loss");
	ww_json_u64(j, "lost_events", st->lost_events);
	ww_json_u64(j, "bad_packets", st->bad_packets);
	ww_json_u64(j, "out_of_order", st->out_of_order);
	ww_json_end(j);
	ww_json_end(j);
	ww_json_finish(j);
}

static bool *names_wanted(const struct run *r)
{
	uint32_t n = ww_trace_info(r->t)->nclasses;
	bool *on = ww_xcalloc(n + 1, sizeof(*on));

	for (uint32_t i = 0; i < n; i++)
		on[i] = !r->o->name || fnmatch(r->o->name, ww_trace_class(r->t, i)->name, 0) == 0;
	return on;
}

static int print_events(struct run *r, struct ww_err *err)
{
	const struct options *o = r->o;
	bool *on = names_wanted(r);
	struct ww_event ev;
	int rc;

	while ((rc = ww_trace_next(r->t, &ev, err)) == 1) {
		if (ev.ts_ns < r->from_ts_ns || ww_gap_is_begin(&ev) || (ev.cls == WW_CLS_GAP ? o->name != NULL : !on[ev.cls]))
			continue;
		/* Streams whose stamps go back make "after --to" no reason to stop. */
		if (ev.ts_ns >= r->to_ts_ns)
			continue;
		rc = o->common.json ? ww_event_print_json(&r->json, r->t, &ev, o->offsets, err) :
				      ww_event_print_text(stdout, r->t, &ev, o->offsets, err);
		if (rc < 0 || ferror(stdout) || (o->limit && ++r->shown >= o->limit))
			break;
	}
	free(on);
	return WW_MIN(rc, 0);
}

int cmd_events(int argc, char **argv)
{
	struct options o = {0};
	const struct ww_opts_spec spec = {
		.name = "events", .args = "[TRACE]", .summary = "The raw events in time order, one a line.",
		.groups = WW_OG_RANGE | WW_OG_JSON, .max_traces = 1, .extra = extra, .on_extra = on_extra, .ctx = &o,
	};
	struct run r = {.o = &o};
	struct ww_err err = {0};
	int rc = ww_opts_parse(&o.common, argc, argv, &spec);

	if (rc >= 0)
		return rc;
	if (ww_trace_open(o.common.traces[0], NULL, &r.t, &err))
		return ww_opts_fail(&err);
	rc = range(&r, o.common.traces[0], &err);
	if (!rc && o.common.json)
		json_head(&r);
	if (!rc)
		rc = print_events(&r, &err);
	if (r.json.out)
		json_tail(&r);
	if (rc < 0 && !ferror(stdout))
		rc = ww_opts_fail(&err);
	else if (fflush(stdout) || ferror(stdout))
		rc = WW_EXIT_FAILED;
	else
		rc = ww_trace_note_damage(r.t, o.common.quiet, o.common.verbose);
	ww_trace_close(r.t);
	return rc;
}
